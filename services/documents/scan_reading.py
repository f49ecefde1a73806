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
from services.documents.scanned import LEAST_OCR_S

_MAX_ENDINGS: Final = 3  # of the parser, in one call


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
    """Reads `pages` by OCR within `ocr_s` seconds. Pages whose turn does not come, because the time is over or the
    parser has ended too often, are in neither result: a later call goes on with them."""
    ends_at = time.monotonic() + ocr_s
    left, limit_s = list(pages), ocr_s
    ended: dict[int, tuple[OcrOutcome, float]] = {}
    while left and len(ended) < _MAX_ENDINGS and (not ended or limit_s >= LEAST_OCR_S):
        try:
            document = await sandbox.parse(path, file_name, password, layout_pages, tuple(left), limit_s)
        except ParseRefused as refusal:
            outcome = outcome_of_refusal(refusal.reason)
            if refusal.page_number not in left:
                # Nobody knows which page it was: each of them would end the parser again.
                return ScansRead(None, ended | dict.fromkeys(left, (outcome, limit_s)))
            ended[refusal.page_number] = (outcome, limit_s)
            left.remove(refusal.page_number)
            limit_s = ends_at - time.monotonic()
        else:
            return ScansRead(document, ended)
    return ScansRead(None, ended)
