"""RPC in, one domain call, RPC out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any

import grpc.aio
from google.protobuf.message import Message

from citemesh.auth.principal import current_principal
from citemesh.rpc.deadline import remaining_s
from citemesh.v1 import documents_pb2, documents_pb2_grpc
from services.documents.catalogue import Catalogue
from services.documents.headers import read_time
from services.documents.ingest import Ingester
from services.documents.pictures import PictureMaker
from services.documents.reparse import Reparser
from services.documents.uploads import UploadFolder

Context = grpc.aio.ServicerContext[Any, Any]


class DocumentsHandler(documents_pb2_grpc.DocumentsServiceServicer):
    """citemesh.v1.DocumentsService."""

    def __init__(
        self,
        uploads: UploadFolder,
        ingester: Ingester,
        catalogue: Catalogue,
        reparser: Reparser,
        pictures: PictureMaker,
    ) -> None:
        self._uploads = uploads
        self._ingester = ingester
        self._catalogue = catalogue
        self._reparser = reparser
        self._pictures = pictures

    async def Ingest(  # noqa: N802  # the RPC's name
        self, request_iterator: AsyncIterator[documents_pb2.IngestRequest], context: Context
    ) -> documents_pb2.IngestResponse:
        """Store one file."""
        async with self._ingester.admit(), self._uploads.receive(request_iterator) as upload:
            stored = await self._ingester.ingest(current_principal(), upload, remaining_s(context))
        return documents_pb2.IngestResponse(document=stored.document, result=stored.result)

    async def Profile(  # noqa: N802  # the RPC's name
        self, request: documents_pb2.ProfileRequest, context: Context
    ) -> documents_pb2.ProfileResponse:
        """Sum up a scope."""
        scope = request.scope if request.HasField("scope") else None
        profile = await asyncio.to_thread(self._catalogue.profile, current_principal(), scope, _as_of(request))
        return documents_pb2.ProfileResponse(scope_profile=profile)

    async def Reparse(  # noqa: N802  # the RPC's name
        self, request: documents_pb2.ReparseRequest, context: Context
    ) -> documents_pb2.ReparseResponse:
        """Read pages again."""
        return await self._reparser.reparse(current_principal(), request, _as_of(request), remaining_s(context))

    async def Get(  # noqa: N802  # the RPC's name
        self, request: documents_pb2.GetRequest, context: Context
    ) -> documents_pb2.GetResponse:
        """Return one document."""
        return await asyncio.to_thread(
            self._catalogue.get, current_principal(), request.document_id, request.document_version
        )

    async def List(  # noqa: N802  # the RPC's name
        self, request: documents_pb2.ListRequest, context: Context
    ) -> documents_pb2.ListResponse:
        """Return one page of documents."""
        return await asyncio.to_thread(self._catalogue.list, current_principal(), request, _as_of(request))

    async def Delete(  # noqa: N802  # the RPC's name
        self, request: documents_pb2.DeleteRequest, context: Context
    ) -> documents_pb2.DeleteResponse:
        """Remove a document."""
        count = await asyncio.to_thread(self._catalogue.delete, current_principal(), request.document_id)
        return documents_pb2.DeleteResponse(version_count=count)

    async def SetAccess(  # noqa: N802  # the RPC's name
        self, request: documents_pb2.SetAccessRequest, context: Context
    ) -> documents_pb2.SetAccessResponse:
        """Say who may read a document."""
        version = await asyncio.to_thread(
            self._catalogue.set_access, current_principal(), request.document_id, request.access
        )
        return documents_pb2.SetAccessResponse(permission_version=version)

    async def RenderPage(  # noqa: N802  # the RPC's name
        self, request: documents_pb2.RenderPageRequest, context: Context
    ) -> documents_pb2.RenderPageResponse:
        """Draw a page."""
        return await self._pictures.draw(current_principal(), request)


def _as_of(request: Message) -> datetime | None:
    """The time whose versions count; None for now."""
    return read_time(request.as_of_time, "as_of_time") if request.HasField("as_of_time") else None  # type: ignore[attr-defined]  # three messages have it
