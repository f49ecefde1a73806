"""Takes in one file: read, encoded and stored as a whole, or not at all."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import structlog

from citemesh.auth.principal import Principal
from citemesh.files.repeats import changes_access, find_stored, takes_effect_now
from citemesh.rpc.errors import ServiceError, invalid_argument, reason_name
from citemesh.store.contract import StoredVersion, StoreReader, StoreWriter
from citemesh.telemetry import names
from citemesh.telemetry.metrics import MetricFactory
from citemesh.v1 import errors_pb2
from citemesh.v1.document_pb2 import Document
from citemesh.v1.documents_pb2 import INGEST_RESULT_UNCHANGED, IngestHeader
from services.documents.access import refuse_hidden
from services.documents.encoding import PassageEncoder, Vectors
from services.documents.headers import title_from_name
from services.documents.reading import DocumentReader, ReadDocument
from services.documents.scanned import share_for_ocr
from services.documents.turns import Turns
from services.documents.uploads import Upload

_LOG = structlog.get_logger(__name__)


class Ingester:
    """Stores uploads. Files of one document are taken one after the other, others side by side."""

    def __init__(
        self,
        reader: StoreReader,
        writer: StoreWriter,
        documents: DocumentReader,
        encoder: PassageEncoder,
        metrics: MetricFactory,
        max_pending: int,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._documents = documents
        self._encoder = encoder
        self._max_pending = max_pending
        self._pending = 0
        self._turns = Turns()
        self._ingested = metrics.counter(names.INGESTED_DOCUMENTS, result=("ok",))
        self._durations = metrics.histogram(names.INGEST_DURATION_SECONDS)
        self._passages = metrics.counter(names.INDEXED_PASSAGES)

    @asynccontextmanager
    async def admit(self) -> AsyncIterator[None]:
        """Counts one ingest from its first byte to its end. Raises OVERLOADED where too many are under way."""
        if self._pending >= self._max_pending:
            raise ServiceError(
                errors_pb2.ERROR_REASON_OVERLOADED, f"{self._pending} files are being taken in: send this one later."
            )
        self._pending += 1
        try:
            yield
        except ServiceError as error:
            self._ingested.labels(reason_name(error.reason)).inc()
            raise
        finally:
            self._pending -= 1

    async def ingest(self, principal: Principal, upload: Upload, remaining_s: float | None = None) -> StoredVersion:
        """Stores an upload as a new document or version; what is stored already changes at most the access.

        OCR of scanned pages stops in time for the rest within `remaining_s`.

        Raises PERMISSION_DENIED, the FILE_ and PARSE_ errors and those of the store. Until the store has committed
        nothing of the file is visible.
        """
        started = time.monotonic()
        async with self._turns.take((principal.tenant_id, upload.header.document_id)):
            left = None if remaining_s is None else started + remaining_s - time.monotonic()
            stored = await self._ingest(principal, upload, share_for_ocr(left))
        self._ingested.labels("ok").inc()
        self._durations.labels(stored.document.media_type).observe(time.monotonic() - started)
        return stored

    async def _ingest(self, principal: Principal, upload: Upload, ocr_s: float | None) -> StoredVersion:
        header = upload.header
        versions = await asyncio.to_thread(refuse_hidden, self._reader, self._writer, principal, header.document_id)
        known = find_stored(versions, header, upload.content_hash)
        if known is not None:
            if changes_access(header, known):
                await asyncio.to_thread(self._set_access, principal, header)
                known.access.CopyFrom(header.access)
            return StoredVersion(known, INGEST_RESULT_UNCHANGED)
        begins_now = takes_effect_now(versions, header)
        if begins_now:
            _refuse_ended(header)
        read = await self._documents.read(upload.path, header.file_name, header.password, ocr_s=ocr_s)
        document = _describe(header, upload, read)
        if begins_now:
            document.effective_from_time.GetCurrentTime()
        for passage in read.passages:
            passage.title = document.title
        vectors = await self._encoder.encode(read.passages)
        stored = await asyncio.to_thread(self._store, principal, document, read, vectors, upload.path)
        if stored.result != INGEST_RESULT_UNCHANGED:
            self._passages.inc(len(read.passages))
            _LOG.info(
                "document_stored",
                version=stored.document.document_version,
                passages=len(read.passages),
                pages=read.profile.page_count,
                media_type=read.media_type,
            )
        return stored

    def _set_access(self, principal: Principal, header: IngestHeader) -> None:
        refuse_hidden(self._reader, self._writer, principal, header.document_id)
        self._writer.set_access(principal.tenant_id, header.document_id, header.access)

    def _store(
        self, principal: Principal, document: Document, read: ReadDocument, vectors: Vectors, file: Path
    ) -> StoredVersion:
        # Reading took a while: access may have been revoked meanwhile.
        refuse_hidden(self._reader, self._writer, principal, document.document_id)
        return self._writer.put_version(
            principal.tenant_id,
            document,
            sections=read.sections,
            passages=read.passages,
            vectors=vectors,
            file=file,
        )


def _refuse_ended(header: IngestHeader) -> None:
    """Raises INVALID_FIELD where a version that begins now would have ended already."""
    if header.HasField("effective_to_time") and header.effective_to_time.ToDatetime(tzinfo=UTC) <= datetime.now(UTC):
        raise invalid_argument(
            "header.effective_to_time",
            "must be in the future: without effective_from_time, this version of a dated document begins now",
        )


def _describe(header: IngestHeader, upload: Upload, read: ReadDocument) -> Document:
    document = Document(
        document_id=header.document_id,
        title=header.title or read.title or title_from_name(header.file_name),
        media_type=read.media_type,
        content_hash=upload.content_hash,
        size_bytes=upload.size_bytes,
        profile=read.profile,
        warnings=read.warnings,
    )
    document.profile.document_id = document.document_id
    document.profile.title = document.title
    for field in ("effective_from_time", "effective_to_time", "access"):
        if header.HasField(field):
            getattr(document, field).CopyFrom(getattr(header, field))
    return document
