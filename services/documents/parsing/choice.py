"""The parser of each format that needs no settings of its own; only the one asked for is imported."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Final

from services.documents.parsing.blocks import ParsedDocument
from services.documents.parsing.request import ParseRequest

_PARSERS: Final = {
    "docx": ("docx", "parse_docx"),
    "xlsx": ("xlsx", "parse_xlsx"),
    "epub": ("epub", "parse_epub"),
    "mail": ("mail", "parse_mail"),
    "html": ("html", "parse_html"),
    "markdown": ("markdown", "parse_markdown"),
    "csv": ("delimited", "parse_delimited"),
    "json": ("json_data", "parse_json"),
    "text": ("plain", "parse_plain"),
}


def choose_parser(kind: str) -> Callable[[ParseRequest], ParsedDocument]:
    """The parser of a format; the others cost nothing. PDF is the child's own."""
    if kind == "pptx":
        from services.documents.parsing.pptx import parse_pptx

        return lambda job: parse_pptx(Path(job.path), job.max_pages)
    module, function = _PARSERS[kind]
    parse: Callable[[Path], ParsedDocument] = getattr(
        importlib.import_module(f"services.documents.parsing.{module}"), function
    )
    return lambda job: parse(Path(job.path))
