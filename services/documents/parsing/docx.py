"""DOCX as blocks: mammoth turns its styles into HTML, which is read like any other."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.parsers.expat import ExpatError
from xml.sax import SAXException

import mammoth  # type: ignore[import-untyped]  # it ships no types

from services.documents.parsing.blocks import ParsedDocument
from services.documents.parsing.html import read_markup
from services.documents.parsing.packages import open_package, read_core_title
from services.documents.parsing.refusal import ParseRefused, RefusalReason

_STYLES = ("p[style-name='Title'] => h1:fresh", "p[style-name='Subtitle'] => p:fresh", "br[type='page'] => ")
# Word's own styles for deeper lists say nothing of their depth but in their names.
_DEEPER_LISTS = tuple(
    f"p[style-name='List {name} {depth}'] => {'ul|ol > li > ' * (depth - 1)}{tag} > li:fresh"
    for name, tag in (("Bullet", "ul"), ("Number", "ol"))
    for depth in range(2, 6)
)
_STYLE_MAP = "\n".join(_STYLES + _DEEPER_LISTS)


def parse_docx(path: Path) -> ParsedDocument:
    """A DOCX file as blocks. Raises ParseRefused where it is damaged, without text or unpacks to too much."""
    with open_package(path, "DOCX") as package:
        title = read_core_title(package)
        try:
            with path.open("rb") as stream:
                markup = mammoth.convert_to_html(
                    stream, style_map=_STYLE_MAP, convert_image=mammoth.images.img_element(_no_image)
                ).value
        except RecursionError as error:
            raise ParseRefused(
                RefusalReason.TOO_LARGE, "The file's tables or texts are nested too deeply to be read whole."
            ) from error
        except (ExpatError, SAXException, AttributeError, IndexError, TypeError) as error:
            # mammoth trips over parts that are missing or misshapen in these ways.
            raise ParseRefused(RefusalReason.UNREADABLE, "The file is damaged: it is not a readable DOCX.") from error
    document = read_markup(f"<html><body>{markup}</body></html>", "docx", guess_headers=True)
    document.title = title or document.title
    return document


def _no_image(_image: Any) -> dict[str, str]:
    return {"src": ""}
