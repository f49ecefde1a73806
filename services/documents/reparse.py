"""Reads some pages of a stored document again, with a heavier strategy, and replaces their passages only."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from citemesh.auth.principal import Principal
from citemesh.store.contract import StoreReader, StoreWriter
from citemesh.v1.document_pb2 import Document, DocumentProfile, PageReading
from citemesh.v1.documents_pb2 import ReparseRequest, ReparseResponse
from citemesh.v1.evidence_pb2 import Passage
from citemesh.v1.question_pb2 import DocumentIds, Scope
from services.documents.access import check_document_id, not_found
from services.documents.encoding import PassageEncoder
from services.documents.page_plan import PagePlan, check_pages, find_laid_out, find_recognised, make_plan
from services.documents.page_readings import (
    LAYOUT,
    OCR,
    OUT_OF_TIME,
    READ,
    find_outcomes,
    merge_readings,
    to_duration,
)
from services.documents.page_replacement import (
    Replacement,
    choose_replaced,
    choose_without_loss,
    place_in_sections,
    touches,
)
from services.documents.reading import DocumentReader, ReadDocument
from services.documents.scanned import describe_scans, share_for_ocr, tells_of_scans
from services.documents.turns import Turns

_NAME = "file.pdf"


@dataclass(frozen=True, slots=True)
class _Stored:
    """A document as it is before its pages are read again."""

    principal: Principal
    document: Document
    passages: list[Passage]


class Reparser:
    """Pages that were read by the heavier strategy once are not read again: nothing heavier is left."""

    def __init__(
        self, reader: StoreReader, writer: StoreWriter, documents: DocumentReader, encoder: PassageEncoder
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._documents = documents
        self._encoder = encoder
        self._turns = Turns()

    async def reparse(
        self,
        principal: Principal,
        request: ReparseRequest,
        as_of: datetime | None,
        remaining_s: float | None = None,
    ) -> ReparseResponse:
        """Reads the pages again that the strategy was not tried on; OCR stops in time for the rest within
        `remaining_s`.

        Raises DOCUMENT_NOT_FOUND, PAGE_NOT_FOUND, INVALID_FIELD; NOT_CONFIGURED where only OCR could help and does not
        work here.
        """
        check_document_id(request.document_id)
        ends_at = None if remaining_s is None else time.monotonic() + remaining_s
        async with self._turns.take((principal.tenant_id, request.document_id)):
            stored = await asyncio.to_thread(self._read_stored, principal, request.document_id, as_of)
            pages = check_pages(stored.document, request.page_numbers)
            plan = make_plan(
                stored.document,
                pages,
                request.strategy,
                stored.passages,
                self._ocr_time(ends_at),
                self._documents.why_no_ocr,
                request.even_if_tried,
            )
            skipped = [page for page in pages if page not in plan.pages and page not in plan.untried]
            if not plan.pages:
                return _answer(pages, stored.passages, stored.document.profile.page_readings, skipped)
            return await self._reparse(stored, pages, plan, skipped, ends_at)

    def _ocr_time(self, ends_at: float | None) -> float:
        """Seconds that OCR may take now, for the whole to end at `ends_at` by the monotonic clock (None: no end)."""
        left_s = None if ends_at is None else ends_at - time.monotonic()
        return self._documents.limit_ocr(share_for_ocr(left_s))

    def _read_stored(self, principal: Principal, document_id: str, as_of: datetime | None) -> _Stored:
        document = self._reader.get_document(principal, document_id, 0, as_of)
        if document is None:
            raise not_found(document_id)
        scope = Scope(documents=DocumentIds(document_ids=[document_id]))
        versions = self._reader.allowed_versions(principal, scope, as_of)
        return _Stored(principal, document, self._reader.document_passages(versions, document_id))

    async def _reparse(
        self,
        stored: _Stored,
        pages: Sequence[int],
        plan: PagePlan,
        skipped: Sequence[int],
        ends_at: float | None,
    ) -> ReparseResponse:
        document, old = stored.document, stored.passages
        file = await asyncio.to_thread(
            self._reader.original_file, stored.principal, document.document_id, document.document_version
        )
        if file is None:
            raise not_found(document.document_id)
        read = await self._read(file, document, plan)
        done, recognised = _find_done(plan, read), find_recognised(document, old)
        lost = choose_replaced(old, read.passages, done, recognised - done).lost
        asked = plan.pages
        if lost and not self._documents.why_no_ocr:
            # The cuts move into pages that OCR has read before: it reads them again, so that nothing of them is lost.
            wider = replace(plan, ocr=tuple(sorted({*plan.ocr, *lost})), ocr_s=self._ocr_time(ends_at))
            read = await self._read(file, document, wider)
            done = _find_done(wider, read)
        chosen, given_up = choose_without_loss(old, read.passages, done, recognised)
        readings = merge_readings(
            document.profile.page_readings,
            [
                *(each for each in read.profile.page_readings if _holds(each, asked, given_up)),
                *_give_up(plan, given_up, 0.0 if self._documents.why_no_ocr else plan.ocr_s),
            ],
            set(plan.plain).difference(given_up),
        )
        sections = await asyncio.to_thread(
            self._reader.sections, stored.principal, document.document_id, document.document_version
        )
        place_in_sections(chosen.passages, read.sections, sections)
        changed = await self._store(stored, chosen, readings, read)
        now = [*(passage for passage in old if not touches(passage, chosen.pages)), *chosen.passages]
        return _answer(pages, now, readings, skipped, changed)

    async def _read(self, file: Path, document: Document, plan: PagePlan) -> ReadDocument:
        """Reads the file as planned, and pages laid out before so again: their passages may be cut anew with those of
        neighbours."""
        layout = find_laid_out(document).difference(plan.plain, plan.ocr).union(plan.layout)
        return await self._documents.read(file, _NAME, "", tuple(sorted(layout)), plan.ocr, plan.ocr_s)

    async def _store(
        self, stored: _Stored, chosen: Replacement, readings: Sequence[PageReading], read: ReadDocument
    ) -> bool:
        document = stored.document
        for passage in chosen.passages:
            passage.title = document.title
        vectors = await self._encoder.encode(chosen.passages)
        profile = DocumentProfile()
        profile.CopyFrom(document.profile)
        del profile.page_readings[:]
        profile.page_readings.extend(readings)
        return await asyncio.to_thread(
            lambda: self._writer.replace_pages(
                stored.principal.tenant_id,
                document.document_id,
                document.document_version,
                chosen.pages,
                passages=chosen.passages,
                vectors=vectors,
                profile=profile,
                warnings=_warn_anew(stored, readings, read, self._documents.why_no_ocr),
            )
        )


def _find_done(plan: PagePlan, read: ReadDocument) -> set[int]:
    """The pages on which the reading came to its end: those that OCR could not read stay as they are."""
    return {*plan.plain, *plan.layout, *(set(plan.ocr) & set(read.recognised_pages))}


def _holds(reading: PageReading, asked: Collection[int], given_up: Collection[int]) -> bool:
    """Whether a record of this reading is true of what is stored after it: that of a page given up is not, and a page
    that was read beside those asked for keeps its text where it could not be read again."""
    page = reading.page_number
    return page not in given_up if reading.outcome == READ else page in asked


def _give_up(plan: PagePlan, given_up: Collection[int], ocr_s: float) -> list[PageReading]:
    """Records of pages that cannot be replaced, because the time is too short to read their neighbours by OCR too."""
    strategies = [(page, LAYOUT) for page in plan.layout] + [(page, OCR) for page in plan.ocr]
    return [
        PageReading(page_number=page, strategy=strategy, outcome=OUT_OF_TIME, limit_duration=to_duration(ocr_s))
        for page, strategy in strategies
        if page in given_up
    ]


def _warn_anew(stored: _Stored, readings: Sequence[PageReading], read: ReadDocument, no_ocr: str) -> list[str]:
    """The stored warnings, those about scanned pages as they are after this reading."""
    outcomes = find_outcomes(readings)
    # Stored before readings were recorded: words on a page without a text layer are OCR's.
    unrecorded = [page for page in find_recognised(stored.document, stored.passages) if page not in outcomes]
    known = [*readings, *(PageReading(page_number=page, strategy=OCR, outcome=READ) for page in unrecorded)]
    kept = [warning for warning in stored.document.warnings if not tells_of_scans(warning)]
    return [*kept, *describe_scans(read.scanned_pages, known, no_ocr)]


def _answer(
    pages: Sequence[int],
    passages: Sequence[Passage],
    readings: Sequence[PageReading],
    skipped: Sequence[int],
    changed: bool = False,
) -> ReparseResponse:
    return ReparseResponse(
        passage_count=sum(touches(passage, set(pages)) for passage in passages),
        changed=changed,
        page_readings=[reading for reading in readings if reading.page_number in pages],
        skipped_page_numbers=skipped,
    )
