"""SPEC: how the documents service is wired."""

from __future__ import annotations

import asyncio

import grpc.aio
import structlog

from citemesh.config.load import ConfigurationError, load_settings
from citemesh.models import load_encoder
from citemesh.models.errors import ModelError
from citemesh.models.paths import models_dir
from citemesh.rpc.errors import ServiceError
from citemesh.rpc.spec import ServiceSpec, StartContext
from citemesh.store.contract import StoreReader, StoreWriter
from citemesh.store.encoder_match import describe_encoder
from citemesh.store.open import open_reader, open_writer
from citemesh.v1 import documents_pb2_grpc, errors_pb2
from citemesh.v1.retrieval_pb2 import EncoderContract
from services.documents.catalogue import Catalogue
from services.documents.encoding import PassageEncoder
from services.documents.handler import DocumentsHandler
from services.documents.ingest import Ingester
from services.documents.memory import limit_arenas
from services.documents.parsing.sandbox import ParserSandbox
from services.documents.pictures import PictureMaker
from services.documents.reading import DocumentReader
from services.documents.reparse import Reparser
from services.documents.settings import DocumentsSettings
from services.documents.uploads import UploadFolder

_LOG = structlog.get_logger(__name__)


class DocumentsService:
    """The running service."""

    def __init__(
        self, handler: DocumentsHandler, reader: StoreReader, writer: StoreWriter, mismatch: str | None
    ) -> None:
        self._handler = handler
        self._reader = reader
        self._writer = writer
        self._mismatch = mismatch

    def register(self, server: grpc.aio.Server) -> None:
        """Add the handler."""
        documents_pb2_grpc.add_DocumentsServiceServicer_to_server(self._handler, server)

    async def check(self) -> str | None:
        """Not serving where the store cannot be used, or where its vectors are another encoder's."""
        if self._mismatch is not None:
            return self._mismatch
        return await asyncio.to_thread(lambda: self._writer.check() or self._reader.check())

    async def close(self) -> None:
        """Close the store."""
        await asyncio.to_thread(self._writer.close)
        await asyncio.to_thread(self._reader.close)


async def start(context: StartContext) -> DocumentsService:
    """Load settings and encoder, open the store. Raises ConfigurationError naming what to see to."""
    limit_arenas()
    settings = load_settings(DocumentsSettings, context.environ)
    try:
        loaded = await asyncio.to_thread(load_encoder, models_dir(context.environ), settings.encoder_path)
    except ModelError as error:
        raise ConfigurationError(str(error)) from error
    encoder = PassageEncoder(loaded, settings.encode_batch_size)
    uploads = UploadFolder(context.state_dir / "uploads", settings.max_file_size_bytes)
    limits = settings.sandbox_limits()
    sandbox = ParserSandbox(limits, settings.parsers(), uploads.path, settings.max_waiting_parses)
    documents = DocumentReader(sandbox, limits, settings.lengths(), encoder.count_tokens, settings.max_file_size_bytes)
    writer = await asyncio.to_thread(open_writer, context.state_dir, context.environ)
    reader = await asyncio.to_thread(open_reader, context.state_dir, context.environ)
    contract = await asyncio.to_thread(describe_encoder, loaded)
    mismatch = await asyncio.to_thread(_agree, writer, contract, encoder, settings.reindex_at_start)
    handler = DocumentsHandler(
        uploads,
        Ingester(reader, writer, documents, encoder, context.metrics, settings.max_pending_ingests),
        Catalogue(reader, writer, settings.admins()),
        Reparser(reader, writer, documents, encoder),
        PictureMaker(reader, sandbox, limits, settings.render_max_highlight_count),
    )
    return DocumentsService(handler, reader, writer, mismatch)


def _agree(writer: StoreWriter, contract: EncoderContract, encoder: PassageEncoder, reindex: bool) -> str | None:
    """Tells the store which encoder this is; why it does not fit the index, or None where it does."""
    try:
        writer.set_encoder(contract)
    except ServiceError as error:
        if error.reason != errors_pb2.ERROR_REASON_ENCODER_MISMATCH:
            raise
        if not reindex:
            return error.message
        count = writer.replace_vectors(contract, encoder.encode_blocking)
        _LOG.info("passages_encoded_anew", passages=count)
    return None


SPEC = ServiceSpec(name="documents", full_name="citemesh.v1.DocumentsService", needs=(), start=start)
