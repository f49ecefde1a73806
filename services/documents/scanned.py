"""Scanned pages of a document: which of them OCR should read, and what is said of those that it did not."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Collection, Iterable, Sequence

from citemesh.v1.document_pb2 import PageReading
from services.documents.page_readings import FAILED, NOTHING_FOUND, OUT_OF_MEMORY, READ, find_outcomes
from services.documents.parsing.blocks import ParsedDocument

LEAST_OCR_S = 3.0
"""Seconds that a reading by OCR needs at least: loading its models takes half of that."""

_LEAST_PICTURE_SHARE = 0.2
_MAX_NAMED_PAGES = 10
_OCR_SHARE = 0.7  # of the time left; encoding and storing come after
_READING_S = 2.0  # for the reading without OCR
_BY_OCR = ": read by OCR, which may have mistaken letters"
_UNREAD = ": a picture without text"
_NOTHING_FOUND = "OCR found no text on it"
_NO_TIME = "not read in the time allowed"
_CAUSES = {
    NOTHING_FOUND: _NOTHING_FOUND,
    OUT_OF_MEMORY: "not read: OCR needs more memory than is allowed",
    FAILED: "not read: OCR failed",
}


@functools.cache
def ocr_is_installed() -> bool:
    """Whether the extra `ocr` is there. Its libraries are loaded in the parser's process only."""
    return importlib.util.find_spec("rapidocr_onnxruntime") is not None


def why_no_ocr(ocr_s: float) -> str:
    """Why OCR reads nothing here, given the seconds that it may take of a file; empty where it works."""
    if not ocr_is_installed():
        return "OCR is not installed"
    return "" if ocr_s > 0 else "OCR is switched off"


def find_scanned_pages(document: ParsedDocument) -> tuple[int, ...]:
    """Pages of a PDF without a text layer that pictures cover in part: what OCR may find words on."""
    return tuple(
        page.number
        for page in document.pages
        if document.format == "pdf" and not page.has_text and page.image_share >= _LEAST_PICTURE_SHARE
    )


def share_for_ocr(remaining_s: float | None) -> float | None:
    """Seconds that OCR may take of those that a call has left; None, as much as the settings allow, where it has no
    end."""
    return None if remaining_s is None else max(0.0, _OCR_SHARE * remaining_s - _READING_S)


def describe_scans(scanned: Sequence[int], readings: Iterable[PageReading], no_ocr: str = "") -> list[str]:
    """Warnings, in words: pages read by OCR, and pages that are pictures and were not read, by the cause.

    `no_ocr` says why no page can be read by OCR here, empty where it can.
    """
    outcomes = find_outcomes(readings)
    recognised = [page for page, outcome in outcomes.items() if outcome == READ]
    warnings = [f"{name_pages(recognised)}{_BY_OCR}"] if recognised else []
    causes: dict[str, list[int]] = {}
    for page in scanned:
        if page in outcomes and outcomes[page] != READ:
            causes.setdefault(_CAUSES.get(outcomes[page], _NO_TIME), []).append(page)
        elif page not in outcomes:
            causes.setdefault(f"not read: {no_ocr}" if no_ocr else _NO_TIME, []).append(page)
    return [*warnings, *(f"{name_pages(pages)}{_UNREAD}, {cause}" for cause, pages in causes.items())]


def tells_of_scans(warning: str) -> bool:
    """Whether a stored warning is one of `describe_scans`."""
    return _BY_OCR in warning or _UNREAD in warning


def name_pages(numbers: Collection[int]) -> str:
    """The words "page 3" or "pages 1-4, 7", in rising order, long lists cut."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    named = ", ".join(f"{first}" if first == last else f"{first}-{last}" for first, last in runs[:_MAX_NAMED_PAGES])
    more = " …" if len(runs) > _MAX_NAMED_PAGES else ""
    return f"{'pages' if len(numbers) > 1 else 'page'} {named}{more}"
