"""DOCX as blocks: mammoth turns its styles into HTML, which is read like any other."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import mammoth  # type: ignore[import-untyped]  # it ships no types

from services.documents.parsing.blocks import ParsedDocument
from services.documents.parsing.html import read_markup
from services.documents.parsing.refusal import ParseRefused, RefusalReason

_MAX_UNPACKED_BYTES = 300 * 1024 * 1024
_STYLE_MAP = "p[style-name='Title'] => h1:fresh\np[style-name='Subtitle'] => p:fresh"


def parse_docx(path: Path) -> ParsedDocument:
    """A DOCX file as blocks. Raises ParseRefused where it is damaged, without text or unpacks to too much."""
    title = ""
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(member.file_size for member in archive.infolist()) > _MAX_UNPACKED_BYTES:
                raise ParseRefused(RefusalReason.TOO_LARGE, "The document unpacks to more than 300 MiB.")
            title = _core_title(archive)
        with path.open("rb") as stream:
            markup = mammoth.convert_to_html(
                stream, style_map=_STYLE_MAP, convert_image=mammoth.images.img_element(_no_image)
            ).value
    except (zipfile.BadZipFile, KeyError, ValueError, OSError) as error:
        raise ParseRefused(RefusalReason.UNREADABLE, "The file is damaged: it is not a readable DOCX.") from error
    document = read_markup(f"<html><body>{markup}</body></html>", "docx")
    document.title = title or document.title
    return document


def _no_image(_image: Any) -> dict[str, str]:
    return {"src": ""}


def _core_title(archive: zipfile.ZipFile) -> str:
    """The title of the document's properties; empty where there is none."""
    if "docProps/core.xml" not in archive.namelist():
        return ""
    from lxml import etree  # type: ignore[import-untyped]  # it ships no types

    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    try:
        root = etree.fromstring(archive.read("docProps/core.xml"), parser)
    except etree.XMLSyntaxError:
        return ""
    found = root.find("{http://purl.org/dc/elements/1.1/}title")
    return (found.text or "").strip()[:300] if found is not None else ""
