"""What is remembered of how a page was read, so that no strategy is tried on the same content in vain again; pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from google.protobuf.duration_pb2 import Duration

from citemesh.v1.document_pb2 import PageReading, PageReadingOutcome, ParsingStrategy
from services.documents.parsing.blocks import OcrOutcome, Page
from services.documents.parsing.refusal import RefusalReason

LAYOUT: Final = ParsingStrategy.PARSING_STRATEGY_LAYOUT
OCR: Final = ParsingStrategy.PARSING_STRATEGY_OCR
READ: Final = PageReadingOutcome.PAGE_READING_OUTCOME_READ
NOTHING_FOUND: Final = PageReadingOutcome.PAGE_READING_OUTCOME_NOTHING_FOUND
OUT_OF_TIME: Final = PageReadingOutcome.PAGE_READING_OUTCOME_OUT_OF_TIME
OUT_OF_MEMORY: Final = PageReadingOutcome.PAGE_READING_OUTCOME_OUT_OF_MEMORY
FAILED: Final = PageReadingOutcome.PAGE_READING_OUTCOME_FAILED

_OUTCOMES: Final = {
    OcrOutcome.READ: READ,
    OcrOutcome.NOTHING_FOUND: NOTHING_FOUND,
    OcrOutcome.OUT_OF_TIME: OUT_OF_TIME,
    OcrOutcome.OUT_OF_MEMORY: OUT_OF_MEMORY,
    OcrOutcome.FAILED: FAILED,
}
_MUCH_MORE: Final = 1.5  # times the time that was not enough
_WITNESS_COUNT: Final = 2


def outcome_of_refusal(reason: RefusalReason) -> OcrOutcome:
    """What a parser that ended early says of every page that it was to read by OCR."""
    if reason is RefusalReason.TOO_SLOW:
        return OcrOutcome.OUT_OF_TIME
    return OcrOutcome.OUT_OF_MEMORY if reason is RefusalReason.TOO_MUCH_MEMORY else OcrOutcome.FAILED


def record_readings(pages: Iterable[Page], layout_pages: Iterable[int] = ()) -> list[PageReading]:
    """One record for each page that a heavier strategy was tried on, in rising order; none for pages whose turn did
    not come."""
    readings = {
        number: PageReading(page_number=number, strategy=LAYOUT, outcome=READ) for number in sorted(layout_pages)
    }
    for page in pages:
        outcome = _OUTCOMES.get(page.ocr)
        if outcome is None:
            continue
        reading = PageReading(page_number=page.number, strategy=OCR, outcome=outcome)
        if outcome == OUT_OF_TIME:
            reading.limit_duration.CopyFrom(to_duration(page.ocr_limit_s))
        readings[page.number] = reading
    return [readings[number] for number in sorted(readings)]


def merge_readings(
    stored: Iterable[PageReading], new: Iterable[PageReading], read_plainly: Iterable[int] = ()
) -> list[PageReading]:
    """The stored records with the new ones, by page: one for each page and strategy, and one READ for each page.

    What was read by one strategy has taken the place of another's text, as has the first reading on the pages
    `read_plainly`.
    """
    plain = set(read_plainly)
    merged = {
        (each.page_number, each.strategy): each
        for each in stored
        if not (each.outcome == READ and each.page_number in plain)
    }
    for reading in new:
        stands = merged.get((reading.page_number, reading.strategy))
        if stands is not None and stands.outcome == READ != reading.outcome:
            continue  # the text of an earlier reading is still there
        if reading.outcome == READ:
            merged = {
                key: each
                for key, each in merged.items()
                if not (each.page_number == reading.page_number and each.outcome == READ)
            }
        merged[reading.page_number, reading.strategy] = reading
    return [merged[key] for key in sorted(merged)]


def find_outcomes(
    readings: Iterable[PageReading], strategy: ParsingStrategy.ValueType = OCR
) -> Mapping[int, PageReadingOutcome.ValueType]:
    """By page, what came of one strategy."""
    return {each.page_number: each.outcome for each in readings if each.strategy == strategy}


def is_worth_trying(
    readings: Iterable[PageReading], page: int, strategy: ParsingStrategy.ValueType, limit_s: float | None
) -> bool:
    """Whether a strategy can give more than it gave: it was not tried, or had much less than `limit_s` seconds (None:
    no end)."""
    for each in readings:
        if each.page_number == page and each.strategy == strategy:
            return each.outcome == OUT_OF_TIME and not _ran_out_of(each, limit_s)
    return True


def is_too_short(readings: Iterable[PageReading], limit_s: float | None) -> bool:
    """Whether OCR gave up two pages of the document in about `limit_s` seconds: its other pages are like them."""
    return sum(each.strategy == OCR and _ran_out_of(each, limit_s) for each in readings) >= _WITNESS_COUNT


def _ran_out_of(reading: PageReading, limit_s: float | None) -> bool:
    """Whether a page was given up with as much time as `limit_s` seconds (None: no end), or not much less."""
    enough_s = reading.limit_duration.ToTimedelta().total_seconds() * _MUCH_MORE
    return reading.outcome == OUT_OF_TIME and limit_s is not None and limit_s <= enough_s


def to_duration(seconds: float) -> Duration:
    """Seconds, to the millisecond."""
    duration = Duration()
    duration.FromMilliseconds(round(max(0.0, seconds) * 1000))
    return duration
