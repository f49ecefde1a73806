"""Receives a file piece by piece to disk, hashing as it comes; nothing of it stays unless it is stored."""

from __future__ import annotations

import asyncio
import hashlib
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from citemesh.rpc.errors import ServiceError, invalid_argument
from citemesh.v1 import errors_pb2
from citemesh.v1.documents_pb2 import IngestHeader, IngestRequest
from services.documents.headers import check_header

_MAX_CHUNK_SIZE_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Upload:
    """A received file."""

    header: IngestHeader
    path: Path
    size_bytes: int
    content_hash: str


class UploadFolder:
    """Where files wait while they are read. What an earlier process left behind is removed."""

    def __init__(self, folder: Path, max_size_bytes: int) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder
        self._max_size_bytes = max_size_bytes

    @asynccontextmanager
    async def receive(self, requests: AsyncIterator[IngestRequest]) -> AsyncIterator[Upload]:
        """The upload of one stream: header first, then pieces. The file is gone when the context ends.

        Raises INVALID_FIELD for messages out of order, FILE_TOO_LARGE, FILE_EMPTY.
        """
        folder = Path(await asyncio.to_thread(tempfile.mkdtemp, dir=self.path))
        try:
            header = await _read_header(requests)
            path = folder / "file"
            size_bytes, content_hash = await self._write(requests, path)
            if size_bytes == 0:
                raise ServiceError(errors_pb2.ERROR_REASON_FILE_EMPTY, "The file is empty (0 bytes).")
            yield Upload(header, path, size_bytes, content_hash)
        finally:
            # Not awaited: a cancelled call must leave nothing behind.
            shutil.rmtree(folder, ignore_errors=True)

    async def _write(self, requests: AsyncIterator[IngestRequest], path: Path) -> tuple[int, str]:
        digest = hashlib.sha256()
        size_bytes = 0
        with path.open("wb") as stream:
            async for request in requests:
                if request.WhichOneof("part") != "chunk":
                    raise invalid_argument("part", "must be a piece of the file after the header")
                if len(request.chunk) > _MAX_CHUNK_SIZE_BYTES:
                    raise invalid_argument("chunk", "must hold at most 1 MiB")
                size_bytes += len(request.chunk)
                if size_bytes > self._max_size_bytes:
                    raise ServiceError(
                        errors_pb2.ERROR_REASON_FILE_TOO_LARGE,
                        f"The file is larger than {self._max_size_bytes // (1024 * 1024)} MiB.",
                        max_size_bytes=self._max_size_bytes,
                    )
                await asyncio.to_thread(_append, stream, digest, request.chunk)
        return size_bytes, digest.hexdigest()


def _append(stream: BinaryIO, digest: hashlib._Hash, chunk: bytes) -> None:
    stream.write(chunk)
    digest.update(chunk)


async def _read_header(requests: AsyncIterator[IngestRequest]) -> IngestHeader:
    async for request in requests:
        if request.WhichOneof("part") != "header":
            break
        return check_header(request.header)
    raise invalid_argument("header", "must come in the first message")
