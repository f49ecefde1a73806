"""Draws one page of a PDF as PNG and marks quotes on it, as pdfium finds their words."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c
from PIL import Image, ImageDraw

from services.documents.parsing.pdf import open_pdf
from services.documents.parsing.refusal import ParseRefused, RefusalReason
from services.documents.parsing.request import RenderRequest, Reply

_MAX_PIXELS = 40_000_000
_MARK = (255, 221, 51, 110)
_DIVIDED = "￾"


def render_page(job: RenderRequest) -> Reply:
    """Writes the PNG to `output_path`; the reply names the quotes that were found and the number of pages."""
    document = open_pdf(Path(job.path), job.password)
    try:
        count = len(document)
        if not 1 <= job.page_number <= count:
            return {"page_count": count, "highlighted": []}
        try:
            page = document[job.page_number - 1]
        except pdfium.PdfiumError as error:
            raise ParseRefused(RefusalReason.UNREADABLE, "This page of the PDF is damaged.") from error
        width, height = page.get_size()
        # A poster is drawn at a lower resolution rather than refused.
        scale = min(job.resolution_dpi / 72.0, (_MAX_PIXELS / max(width * height, 1.0)) ** 0.5)
        picture = page.render(scale=scale, draw_annots=False).to_pil().convert("RGB")
        found = _mark(page, picture, scale, job)
    finally:
        document.close()
    picture.save(job.output_path, "PNG", optimize=False)
    return {"page_count": count, "highlighted": found}


def _mark(page: pdfium.PdfPage, picture: Image.Image, scale: float, job: RenderRequest) -> list[int]:
    textpage = page.get_textpage()
    layer = Image.new("RGBA", picture.size, (0, 0, 0, 0))
    draw = ImageDraw.Draw(layer)
    height = page.get_size()[1]
    found = []
    letters, indices = _letters(textpage)
    for number, quote in enumerate(job.quotes):
        span = _find(letters, _condense(quote))
        if span is None:
            boxes = [box for index, *box in job.marks if index == number]
            for left, bottom, right, top in boxes:
                draw.rectangle(
                    (left * scale, (height - top) * scale, right * scale, (height - bottom) * scale), fill=_MARK
                )
            if boxes:
                found.append(number)
            continue
        found.append(number)
        first, last = indices[span[0]], indices[span[1] - 1]
        for box in _boxes(textpage, page, first, last - first + 1, scale):
            draw.rectangle(box, fill=_MARK)
    if found:
        picture.paste(Image.alpha_composite(picture.convert("RGBA"), layer).convert("RGB"))
    return found


def _letters(textpage: pdfium.PdfTextPage) -> tuple[str, list[int]]:
    """The page's letters and figures in small letters, and pdfium's index of each."""
    letters: list[str] = []
    indices: list[int] = []
    raw = textpage.raw
    for index in range(textpage.count_chars()):
        code = pdfium_c.FPDFText_GetUnicode(raw, index)
        character = chr(code) if 0 < code < 0xD800 or 0xDFFF < code < 0x110000 else " "
        for letter in _condense(character):
            letters.append(letter)
            indices.append(index)
    return "".join(letters), indices


def _condense(text: str) -> str:
    """Letters and figures only, so that line ends, hyphens and spaces need not agree."""
    return re.sub(r"[\W_]+", "", text.replace(_DIVIDED, "").casefold())


def _find(letters: str, wanted: str) -> tuple[int, int] | None:
    """The span of a quote on the page; where it runs over from or to another page, of the part that is here."""
    if not wanted:
        return None
    at = letters.find(wanted)
    if at >= 0:
        return (at, at + len(wanted))
    least = min(len(wanted), 24)
    for size in range(len(wanted) - 1, least - 1, -1):
        if letters.endswith(wanted[:size]):
            return (len(letters) - size, len(letters))
        if letters.startswith(wanted[-size:]):
            return (0, size)
    return None


def _boxes(
    textpage: pdfium.PdfTextPage, page: pdfium.PdfPage, first: int, count: int, scale: float
) -> list[tuple[float, float, float, float]]:
    boxes = []
    width, height = page.get_size()
    size_x, size_y = round(width * scale), round(height * scale)
    for number in range(textpage.count_rects(first, count)):
        left, bottom, right, top = textpage.get_rect(number)
        corners = [_to_device(page, size_x, size_y, x, y) for x, y in ((left, bottom), (right, top))]
        xs, ys = sorted(x for x, _ in corners), sorted(y for _, y in corners)
        boxes.append((xs[0] - 1, ys[0] - 1, xs[1] + 1, ys[1] + 1))
    return boxes


def _to_device(page: pdfium.PdfPage, size_x: int, size_y: int, x: float, y: float) -> tuple[float, float]:
    device_x, device_y = ctypes.c_int(), ctypes.c_int()
    pdfium_c.FPDF_PageToDevice(page.raw, 0, 0, size_x, size_y, 0, x, y, device_x, device_y)
    return (float(device_x.value), float(device_y.value))
