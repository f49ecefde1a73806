"""Reads some pages of a stored document again, with a heavier strategy, and replaces their passages only."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from citemesh.auth.principal import Principal
from citemesh.rpc.errors import ServiceError, invalid_argument
from citemesh.store.contract import StoreReader, StoreWriter
from citemesh.v1 import errors_pb2
from citemesh.v1.document_pb2 import Document, ParsingStrategy
from citemesh.v1.documents_pb2 import ReparseRequest, ReparseResponse
from citemesh.v1.evidence_pb2 import Passage
from citemesh.v1.question_pb2 import DocumentIds, Scope
from services.documents.access import not_found
from services.documents.encoding import PassageEncoder
from services.documents.reading import DocumentReader, ReadDocument
from services.documents.scanned import describe_scans, ocr_is_installed, share_for_ocr, tells_of_scans
from services.documents.turns import Turns

_PDF = "application/pdf"
_MAX_PAGES = 200


@dataclass(frozen=True, slots=True)
class _Plan:
    """Pages read by where their words stand, and pages read by OCR in at most `ocr_s` seconds (None: as usual)."""

    layout: tuple[int, ...]
    ocr: tuple[int, ...]
    ocr_s: float | None


class Reparser:
    """Pages that were read by the heavier strategy once give the same passages when asked again."""

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
        """Reads the pages again; OCR stops in time for the rest within `remaining_s`.

        Raises DOCUMENT_NOT_FOUND, PAGE_NOT_FOUND, INVALID_FIELD; NOT_CONFIGURED where only OCR could help and is not
        installed.
        """
        document = await asyncio.to_thread(self._reader.get_document, principal, request.document_id, 0, as_of)
        if document is None:
            raise not_found(request.document_id)
        named = _check_pages(document, request.page_numbers)
        async with self._turns.take((principal.tenant_id, request.document_id)):
            old = await asyncio.to_thread(self._old_passages, principal, document, as_of)
            plan = _make_plan(document, named, request.strategy, old, remaining_s)
            if plan is None:
                # All of them are pictures that OCR has read: there is nothing heavier.
                return _unchanged(old, named)
            return await self._reparse(principal, document, named, plan, old)

    async def _reparse(
        self, principal: Principal, document: Document, pages: Sequence[int], plan: _Plan, old: Sequence[Passage]
    ) -> ReparseResponse:
        file = await asyncio.to_thread(
            self._reader.original_file, principal, document.document_id, document.document_version
        )
        if file is None:
            raise not_found(document.document_id)
        read = await self._documents.read(file, "file.pdf", "", plan.layout, plan.ocr, plan.ocr_s)
        touched, replacing = choose_replaced(old, read.passages, pages)
        lost = _find_lost(document, old, touched, read.recognised_pages)
        if lost:
            # The cuts move into pages that OCR has read before: it reads them again, so that nothing of them is lost.
            read = await self._documents.read(file, "file.pdf", "", plan.layout, (*plan.ocr, *lost), plan.ocr_s)
            touched, replacing = choose_replaced(old, read.passages, pages)
            if _find_lost(document, old, touched, read.recognised_pages):
                return _unchanged(old, pages)
        for passage in replacing:
            passage.title = document.title
        vectors = await self._encoder.encode(replacing)
        warnings = _warn_anew(document, old, replacing, read)
        changed = await asyncio.to_thread(
            lambda: self._writer.replace_pages(
                principal.tenant_id,
                document.document_id,
                document.document_version,
                touched,
                passages=replacing,
                vectors=vectors,
                warnings=warnings,
            )
        )
        on_pages = sum(_touches(passage, set(pages)) for passage in replacing)
        return ReparseResponse(passage_count=on_pages, changed=changed)

    def _old_passages(self, principal: Principal, document: Document, as_of: datetime | None) -> list[Passage]:
        scope = Scope(documents=DocumentIds(document_ids=[document.document_id]))
        versions = self._reader.allowed_versions(principal, scope, as_of)
        return self._reader.document_passages(versions, document.document_id)


def _make_plan(
    document: Document,
    pages: Sequence[int],
    strategy: ParsingStrategy.ValueType,
    old: Sequence[Passage],
    remaining_s: float | None,
) -> _Plan | None:
    """How the pages are read; None where OCR has read all of them. Raises NOT_CONFIGURED where it is missing.

    A page without a text layer is read by OCR, others by where their words stand; OCR asked for by name reads both.
    """
    blank = [page for page in pages if page in document.profile.pages_without_text]
    unread = [page for page in blank if not any(_stands_on(passage, page) for passage in old)]
    written = [page for page in pages if page not in blank]
    ocr_s = share_for_ocr(remaining_s)
    if strategy == ParsingStrategy.PARSING_STRATEGY_NATIVE_TEXT and written:
        return _Plan((), (), ocr_s)
    by_name = strategy == ParsingStrategy.PARSING_STRATEGY_OCR
    pictures = tuple([*unread, *written] if by_name else unread)
    if (pictures or by_name) and not ocr_is_installed():
        if by_name or not written:
            raise _reads_no_scans()
        pictures = ()
    layout = () if by_name else tuple(written)
    return _Plan(layout, pictures, ocr_s) if layout or pictures else None


def _find_lost(
    document: Document, old: Sequence[Passage], touched: Sequence[int], recognised: Sequence[int]
) -> list[int]:
    """Pages without a text layer whose stored passages would go, and that this reading has nothing of."""
    unread = set(touched) & set(document.profile.pages_without_text) - set(recognised)
    return sorted(page for page in unread if any(_stands_on(passage, page) for passage in old))


def _warn_anew(
    document: Document, old: Sequence[Passage], replacing: Sequence[Passage], read: ReadDocument
) -> list[str]:
    """The stored warnings, those about scanned pages as they are after this reading."""
    pages = set(document.profile.pages_without_text) | set(read.recognised_pages)
    recognised = {page for page in pages if any(_stands_on(passage, page) for passage in (*old, *replacing))}
    kept = [warning for warning in document.warnings if not tells_of_scans(warning)]
    return [*kept, *describe_scans(read.scanned_pages, recognised | set(read.recognised_pages))]


def _unchanged(old: Sequence[Passage], pages: Sequence[int]) -> ReparseResponse:
    return ReparseResponse(passage_count=sum(_touches(passage, set(pages)) for passage in old))


def _reads_no_scans() -> ServiceError:
    return ServiceError(
        errors_pb2.ERROR_REASON_NOT_CONFIGURED,
        "OCR is not installed here (the extra `ocr`): a page that is a picture stays without text. Ingest a file that "
        "has a text layer, such as one made by an OCR program.",
    )


def choose_replaced(
    old: Sequence[Passage], new: Sequence[Passage], pages: Sequence[int]
) -> tuple[list[int], list[Passage]]:
    """The pages whose passages are replaced, and what replaces them.

    Reading a page anew can move the cut between passages on its neighbours: where a passage there comes or goes, its
    pages are replaced too. Passages beyond stay as they are, so an earlier heavier reading of them is kept.
    """
    touched = set(pages)
    old_hashes = {passage.content_hash for passage in old}
    new_hashes = {passage.content_hash for passage in new}
    grown = True
    while grown:
        grown = False
        moved = [p for p in old if p.content_hash not in new_hashes] + [
            p for p in new if p.content_hash not in old_hashes
        ]
        for passage in moved:
            span = set(range(passage.page_first, passage.page_last + 1))
            if span & touched and not span <= touched:
                touched |= span
                grown = True
    return sorted(touched), [passage for passage in new if _touches(passage, touched)]


def _touches(passage: Passage, pages: set[int]) -> bool:
    return any(page in pages for page in range(passage.page_first, passage.page_last + 1))


def _stands_on(passage: Passage, page: int) -> bool:
    """Whether words of it stand on a page: a blank page between two others is touched, but holds nothing."""
    return any(line.page_number == page for line in passage.lines)


def _check_pages(document: Document, page_numbers: Sequence[int]) -> list[int]:
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
