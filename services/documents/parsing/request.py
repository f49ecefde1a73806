"""What the parent asks of the child, and what comes back: one JSON object each way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypedDict

BEGUN_PAGE_NAME: Final = "begun-page"
"""A file in the child's temporary folder: the number of the page that it began to read by OCR last."""


@dataclass(frozen=True, slots=True)
class ParseRequest:
    """Read a file into blocks.

    `file_name` helps to tell the kind; `password` opens an encrypted file; `layout_pages` of a PDF are read by where
    their words stand instead of the file's own order; `ocr_pages` are read as pictures, with `ocr_thread_count`
    threads, as many of them as `ocr_s` seconds allow.
    """

    path: str
    file_name: str
    password: str = ""
    max_pages: int = 5_000
    layout_pages: tuple[int, ...] = ()
    ocr_pages: tuple[int, ...] = ()
    ocr_s: float = 0.0
    ocr_thread_count: int = 1


@dataclass(frozen=True, slots=True)
class RenderRequest:
    """Draw a page as PNG into `output_path`, with the quotes marked.

    `marks` are boxes (index of the quote, left, bottom, right, top) for quotes that the page's text does not hold.
    """

    path: str
    output_path: str
    page_number: int
    resolution_dpi: int
    quotes: tuple[str, ...] = ()
    marks: tuple[tuple[int, float, float, float, float], ...] = ()
    password: str = ""


class Reply(TypedDict, total=False):
    """Either `document` (see `blocks.to_json`), or `highlighted` indices, or a refusal, or a fault."""

    document: dict[str, object]
    highlighted: list[int]
    page_count: int
    reason: str
    message: str
    raised: str
    """The exception and its place, where the parser itself failed."""
