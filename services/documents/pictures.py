"""Pictures of pages with quotes marked, drawn in the parser's process."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from citemesh.auth.principal import Principal
from citemesh.rpc.errors import invalid_argument
from citemesh.store.contract import StoreReader
from citemesh.v1.document_pb2 import Document
from citemesh.v1.documents_pb2 import RenderPageRequest, RenderPageResponse
from citemesh.v1.question_pb2 import DocumentIds, Scope
from services.documents.access import check_document_id, not_found
from services.documents.page_plan import page_not_found
from services.documents.parsing.refusal import ParseRefused
from services.documents.parsing.request import RenderRequest
from services.documents.parsing.sandbox import ParserSandbox, SandboxLimits
from services.documents.quote_boxes import Mark, find_quote_boxes
from services.documents.refusals import to_service_error

_PDF = "application/pdf"
_DEFAULT_DPI = 110
_LEAST_DPI, _MOST_DPI = 36, 300
_MAX_QUOTE_LENGTH = 4_000


class PictureMaker:
    """Draws pages of stored PDFs."""

    def __init__(
        self, reader: StoreReader, sandbox: ParserSandbox, limits: SandboxLimits, max_highlight_count: int
    ) -> None:
        self._reader = reader
        self._sandbox = sandbox
        self._limits = limits
        self._max_highlight_count = max_highlight_count

    async def draw(self, principal: Principal, request: RenderPageRequest) -> RenderPageResponse:
        """The PNG of a page. Raises DOCUMENT_NOT_FOUND, PAGE_NOT_FOUND, INVALID_FIELD, and the FILE_ errors."""
        check_document_id(request.document_id)
        self._check(request)
        document = await asyncio.to_thread(
            self._reader.get_document, principal, request.document_id, request.document_version
        )
        if document is None:
            raise not_found(request.document_id)
        if document.media_type != _PDF or not 1 <= request.page_number <= document.profile.page_count:
            raise page_not_found(request.page_number, document.profile.page_count)
        file = await asyncio.to_thread(
            self._reader.original_file, principal, request.document_id, document.document_version
        )
        if file is None:
            raise not_found(request.document_id)
        marks: list[Mark] = []
        if request.highlights:
            marks = await asyncio.to_thread(self._find_marks, principal, document, request)
        png, found = await self._draw(file, request, marks)
        if not png:
            raise page_not_found(request.page_number, document.profile.page_count)
        return RenderPageResponse(png=png, highlighted_indices=found)

    def _find_marks(self, principal: Principal, document: Document, request: RenderPageRequest) -> list[Mark]:
        """Boxes of the quotes as they were read: for scanned pages, and for rows of tables, which a page's own text
        may give in another order. Only of the version in force: others are marked by the page's text alone."""
        versions = self._reader.allowed_versions(
            principal, Scope(documents=DocumentIds(document_ids=[document.document_id])), None
        )
        passages = self._reader.document_passages(versions, document.document_id)
        if any(passage.document_version != document.document_version for passage in passages):
            return []
        return find_quote_boxes(passages, request.page_number, [each.quote for each in request.highlights])

    async def _draw(self, file: Path, request: RenderPageRequest, marks: Sequence[Mark]) -> tuple[bytes, list[int]]:
        job = RenderRequest(
            path=str(file),
            output_path="",
            page_number=request.page_number,
            resolution_dpi=request.resolution_dpi or _DEFAULT_DPI,
            quotes=tuple(highlight.quote for highlight in request.highlights),
            marks=tuple(marks),
        )
        try:
            png, found, _ = await self._sandbox.render(job)
        except ParseRefused as refusal:
            size_bytes = (await asyncio.to_thread(file.stat)).st_size
            raise to_service_error(refusal, self._limits, size_bytes=size_bytes, max_size_bytes=size_bytes) from refusal
        return png, found

    def _check(self, request: RenderPageRequest) -> None:
        if request.resolution_dpi and not _LEAST_DPI <= request.resolution_dpi <= _MOST_DPI:
            raise invalid_argument("resolution_dpi", f"must be 0, or between {_LEAST_DPI} and {_MOST_DPI}")
        if len(request.highlights) > self._max_highlight_count:
            raise invalid_argument("highlights", f"must be at most {self._max_highlight_count}")
        if any(len(highlight.quote) > _MAX_QUOTE_LENGTH for highlight in request.highlights):
            raise invalid_argument("highlights.quote", f"must have at most {_MAX_QUOTE_LENGTH} characters")
