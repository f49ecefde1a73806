"""Pages read by OCR in the sandbox: a page that ends the parser's process is left out, and costs no other."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from services.documents.page_readings import outcome_of_refusal
from services.documents.parsing.blocks import OcrOutcome, ParsedDocument
from services.documents.parsing.refusal import ParseRefused
from services.documents.parsing.sandbox import ParserSandbox

_MAX_ENDINGS: Final = 3  # of the parser, for one file
_LEAST_S: Final = 3.0  # of which loading the models takes half


@dataclass(frozen=True, slots=True)
class ScansRead:
    """The document with what OCR read of it, None where no reading came to its end; and the pages that ended one, each
    with the outcome and the seconds that it had."""

    document: ParsedDocument | None
    ended: dict[int, tuple[OcrOutcome, float]]


async def read_scanned_pages(
    sandbox: ParserSandbox,
    path: Path,
    file_name: str,
    password: str,
    layout_pages: tuple[int, ...],
    pages: Sequence[int],
    ocr_s: float,
) -> ScansRead:
    """Reads `pages` by OCR within `ocr_s` seconds. Pages for which no time is left are in neither result."""
    ends_at = time.monotonic() + ocr_s
    left, limit_s = list(pages), ocr_s
    ended: dict[int, tuple[OcrOutcome, float]] = {}
    while left and (not ended or limit_s >= _LEAST_S):
        try:
            document = await sandbox.parse(path, file_name, password, layout_pages, tuple(left), limit_s)
        except ParseRefused as refusal:
            outcome = outcome_of_refusal(refusal.reason)
            if refusal.page_number not in left or len(ended) + 1 >= _MAX_ENDINGS:
                # Nobody knows which page it was, or it is the file that is bad.
                return ScansRead(None, ended | dict.fromkeys(left, (outcome, limit_s)))
            ended[refusal.page_number] = (outcome, limit_s)
            left.remove(refusal.page_number)
            limit_s = ends_at - time.monotonic()
        else:
            return ScansRead(document, ended)
    return ScansRead(None, ended)
