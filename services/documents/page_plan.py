"""Which of the pages named are read again, how, and in what time; what was tried before on the same content is not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from citemesh.rpc.errors import ServiceError, invalid_argument
from citemesh.v1 import errors_pb2
from citemesh.v1.document_pb2 import Document, ParsingStrategy
from citemesh.v1.evidence_pb2 import Passage
from services.documents.page_readings import LAYOUT, OCR, READ, find_outcomes, is_too_short, is_worth_trying
from services.documents.scanned import LEAST_OCR_S

_PDF = "application/pdf"
_MAX_PAGES = 200


@dataclass(frozen=True, slots=True)
class PagePlan:
    """Pages read in the file's own order, by where their words stand, and by OCR in at most `ocr_s` seconds; and those
    that only OCR could read, which is not asked for or cannot be tried now."""

    plain: tuple[int, ...]
    layout: tuple[int, ...]
    ocr: tuple[int, ...]
    ocr_s: float
    untried: tuple[int, ...] = ()

    @property
    def pages(self) -> set[int]:
        """All pages that are read."""
        return {*self.plain, *self.layout, *self.ocr}


def make_plan(
    document: Document,
    pages: Sequence[int],
    strategy: ParsingStrategy.ValueType,
    old: Sequence[Passage],
    ocr_s: float,
    no_ocr: str = "",
    even_if_tried: bool = False,
) -> PagePlan:
    """How the pages are read. Raises NOT_CONFIGURED where only OCR could help and does not work here (`no_ocr`).

    A page without a text layer is read by OCR, others by where their words stand; OCR asked for by name reads both, and
    the native text asked for by name is that of pages which have some.
    A page that the strategy was tried on is left out, unless it ended for want of time and has much more now; pages
    like two that were given up are not begun in as little time.
    """
    blank = set(document.profile.pages_without_text)
    written = [page for page in pages if page not in blank]
    if strategy == ParsingStrategy.PARSING_STRATEGY_NATIVE_TEXT:
        return PagePlan(tuple(written), (), (), ocr_s, tuple(page for page in pages if page in blank))
    by_name = strategy == OCR
    pictures = [
        page
        for page in pages
        if page in blank and (even_if_tried or not any(stands_on(passage, page) for passage in old))
    ]
    if by_name:
        pictures = sorted([*pictures, *written])
    layout = [] if by_name else written
    if not even_if_tried:
        readings = document.profile.page_readings
        pictures = [page for page in pictures if is_worth_trying(readings, page, OCR, ocr_s)]
        # One that was given up, because its neighbours need OCR, waits until OCR works.
        layout = [page for page in layout if is_worth_trying(readings, page, LAYOUT, 0.0 if no_ocr else ocr_s)]
    if no_ocr and pictures and (by_name or not written):
        raise _reads_no_scans(no_ocr)
    hopeless = not even_if_tried and is_too_short(document.profile.page_readings, ocr_s)
    if no_ocr or hopeless or ocr_s < LEAST_OCR_S:
        return PagePlan((), tuple(layout), (), ocr_s, tuple(pictures))
    return PagePlan((), tuple(layout), tuple(pictures), ocr_s)


def find_recognised(document: Document, old: Sequence[Passage]) -> set[int]:
    """Pages whose stored text is that of OCR: recorded so, or without a text layer and yet with words."""
    outcomes = find_outcomes(document.profile.page_readings)
    recorded = {page for page, outcome in outcomes.items() if outcome == READ}
    blank = document.profile.pages_without_text
    return recorded | {page for page in blank if any(stands_on(passage, page) for passage in old)}


def find_laid_out(document: Document) -> set[int]:
    """Pages whose stored text was read by where its words stand."""
    outcomes = find_outcomes(document.profile.page_readings, LAYOUT)
    return {page for page, outcome in outcomes.items() if outcome == READ}


def stands_on(passage: Passage, page: int) -> bool:
    """Whether words of it stand on a page: a blank page between two others is touched, but holds nothing."""
    return any(line.page_number == page for line in passage.lines)


def check_pages(document: Document, page_numbers: Sequence[int]) -> list[int]:
    """The pages in order, once each. Raises INVALID_FIELD, or PAGE_NOT_FOUND for what the document does not have."""
    if not page_numbers:
        raise invalid_argument("page_numbers", "must name at least one page")
    if len(page_numbers) > _MAX_PAGES:
        raise invalid_argument("page_numbers", f"must name at most {_MAX_PAGES} pages")
    count = document.profile.page_count
    for page in page_numbers:
        if not 1 <= page <= count:
            raise page_not_found(page, count)
    if document.media_type != _PDF:
        raise page_not_found(page_numbers[0], 0)
    return sorted(set(page_numbers))


def page_not_found(page_number: int, page_count: int) -> ServiceError:
    """The error for a page that the document does not have."""
    return ServiceError(
        errors_pb2.ERROR_REASON_PAGE_NOT_FOUND,
        f"There is no page {page_number}: the document has {page_count} pages.",
        page_number=page_number,
        page_count=page_count,
    )


def _reads_no_scans(no_ocr: str) -> ServiceError:
    return ServiceError(
        errors_pb2.ERROR_REASON_NOT_CONFIGURED,
        f"{no_ocr} here (the extra `ocr`, CITEMESH_DOCUMENTS_PARSE_OCR_S): a page that is a picture stays without"
        " text. Ingest a file that has a text layer, such as one made by an OCR program.",
    )
