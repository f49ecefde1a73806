"""What a PDF holds beside its text: the fields of its forms with their values, notes typed on it, attached files."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from services.documents.parsing.blocks import Block, BlockKind, Box, Line

_MAX_ANNOTATIONS = 2_000  # of a page
_MAX_ATTACHMENTS = 50  # named; the others are counted
_MAX_LENGTH = 4_000  # characters of a name or value
_CHOSEN = frozenset({pdfium_c.FPDF_FORMFIELD_CHECKBOX, pdfium_c.FPDF_FORMFIELD_RADIOBUTTON})
_UNREAD = frozenset({pdfium_c.FPDF_FORMFIELD_PUSHBUTTON, pdfium_c.FPDF_FORMFIELD_SIGNATURE})
PlacePoint = Callable[[float, float], tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a form: what a reader calls it, and what is filled in ("" where nothing is)."""

    name: str
    value: str
    box: Box


def read_annotations(page: pdfium.PdfPage, page_number: int, form: Any, place: PlacePoint) -> list[Block]:
    """Form fields of a page as a list "name: value", and text boxes typed onto it as paragraphs.

    `form` is pdfium's form environment, None where the file has no form.
    """
    fields: list[Field] = []
    notes: list[Block] = []
    for number in range(min(pdfium_c.FPDFPage_GetAnnotCount(page.raw), _MAX_ANNOTATIONS)):
        annotation = pdfium_c.FPDFPage_GetAnnot(page.raw, number)
        if not annotation:
            continue
        try:
            kind = pdfium_c.FPDFAnnot_GetSubtype(annotation)
            if kind == pdfium_c.FPDF_ANNOT_WIDGET and form is not None:
                fields.extend(_read_field(annotation, form, place))
            elif kind == pdfium_c.FPDF_ANNOT_FREETEXT:
                text = _read_text(lambda *a: pdfium_c.FPDFAnnot_GetStringValue(annotation, b"Contents", *a))  # noqa: B023  # called at once
                if text:
                    notes.append(Block(BlockKind.PARAGRAPH, [Line(text, page_number, _box(annotation, place))]))
        finally:
            pdfium_c.FPDFPage_CloseAnnot(annotation)
    return [*_list_fields(fields, page_number), *notes]


def add_annotations(blocks: list[Block], annotations: Sequence[Block]) -> None:
    """Puts fields and notes behind the text of their pages."""
    for annotation in annotations:
        after = [number for number, block in enumerate(blocks) if block.first_page <= annotation.first_page]
        blocks.insert(after[-1] + 1 if after else 0, annotation)


def name_attachments(document: pdfium.PdfDocument) -> list[str]:
    """Names of the attached files, the first fifty. They are not read."""
    count = min(document.count_attachments(), _MAX_ATTACHMENTS)
    return [document.get_attachment(number).get_name()[:200] for number in range(count)]


def describe_attachments(names: Sequence[str], count: int) -> list[str]:
    """One sentence that names the attached files; none where there are none."""
    if not count:
        return []
    quoted = ", ".join(f'"{name}"' for name in names) + (" …" if count > _MAX_ATTACHMENTS else "")
    return [f"{count} attached file{'s' if count > 1 else ''}, named but not read: {quoted}"]


def _read_field(annotation: Any, form: Any, place: PlacePoint) -> Iterator[Field]:
    kind = pdfium_c.FPDFAnnot_GetFormFieldType(form, annotation)
    if kind in _UNREAD:
        return
    # The name that is shown to people, where the form gives one besides the technical one.
    name = _read_text(lambda *a: pdfium_c.FPDFAnnot_GetFormFieldAlternateName(form, annotation, *a)) or _read_text(
        lambda *a: pdfium_c.FPDFAnnot_GetFormFieldName(form, annotation, *a)
    )
    if kind in _CHOSEN:
        chosen = bool(pdfium_c.FPDFAnnot_IsChecked(form, annotation))
        option = _read_text(lambda *a: pdfium_c.FPDFAnnot_GetFormFieldExportValue(form, annotation, *a))
        if kind == pdfium_c.FPDF_FORMFIELD_RADIOBUTTON:
            if not chosen:
                return
            value = option or "chosen"
        else:
            value = "yes" if chosen else "no"
    else:
        value = _read_text(lambda *a: pdfium_c.FPDFAnnot_GetFormFieldValue(form, annotation, *a))
    if name or value:
        yield Field(name, value, _box(annotation, place))


def _list_fields(fields: list[Field], page_number: int) -> list[Block]:
    if not fields:
        return []
    lines = [
        Line(f"{field.name}: {field.value}" if field.name else field.value, page_number, field.box) for field in fields
    ]
    return [Block(BlockKind.LIST, lines, items=list(range(len(lines))), levels=[0] * len(lines))]


def _read_text(read: Callable[..., int]) -> str:
    """A string by one of pdfium's functions that fill a UTF-16 buffer and return its size in bytes."""
    size = read(None, 0)
    if size <= 2:
        return ""
    buffer = (ctypes.c_ushort * (size // 2 + 1))()
    read(buffer, size)
    text = bytes(buffer)[: size - 2].decode("utf-16-le", "replace")
    return " ".join(text.replace("\x00", " ").split())[:_MAX_LENGTH]


def _box(annotation: Any, place: PlacePoint) -> Box:
    rect = pdfium_c.FS_RECTF()
    pdfium_c.FPDFAnnot_GetRect(annotation, rect)
    (x0, y0), (x1, y1) = place(rect.left, rect.bottom), place(rect.right, rect.top)
    return (round(min(x0, x1), 1), round(min(y0, y1), 1), round(max(x0, x1), 1), round(max(y0, y1), 1))
