"""Bulk ingest as a program: `python -m services.documents.bulk_ingest`, which `citemesh ingest --engine ray` starts.

One JSON object on stdin says what to read: {"files": [{"path", "header"}], "state_dir", "metadata", "ray_address",
"at_once", "timeout_s"}. On stdout comes one JSON object a line: {"event": "begun" | "known" | "stored" | "failed" |
"refused", "path"}, with the "response", or why not as "reason", "message" and "metadata" (reason 0: the system's).
"refused" is the only one where nothing could be begun. Messages stand in base64. The program ends when its stdin does.
"""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import os
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from citemesh.auth.authenticate import make_authenticator
from citemesh.auth.principal import Principal
from citemesh.config.load import ConfigurationError
from citemesh.config.paths import STATE_DIR_VARIABLE
from citemesh.models.errors import ModelError
from citemesh.rpc.errors import ServiceError
from citemesh.store.open import open_reader, open_writer
from citemesh.telemetry.logs import configure_logging
from citemesh.v1 import errors_pb2
from citemesh.v1.documents_pb2 import INGEST_RESULT_UNCHANGED, IngestHeader, IngestResponse
from services.documents.bulk import BulkStore, FileResult, read_files

_UNSPECIFIED = errors_pb2.ERROR_REASON_UNSPECIFIED


class Telling:
    """Writes events where the program that started this one reads them."""

    def __init__(self) -> None:
        # What libraries print must not mix with the events.
        self._stream = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)

    def tell(self, event: str, path: Path | None = None, **fields: object) -> None:
        """One event."""
        named = {} if path is None else {"path": str(path)}
        self._stream.write(json.dumps({"event": event, **named, **fields}) + "\n")
        self._stream.flush()

    def tell_response(self, event: str, path: Path, response: IngestResponse) -> None:
        """A file that is in the store."""
        self.tell(event, path, response=base64.b64encode(response.SerializeToString()).decode())

    def tell_error(self, event: str, path: Path | None, error: Exception) -> None:
        """Why a file, or all of them, could not be read."""
        if isinstance(error, ServiceError):
            self.tell(event, path, reason=int(error.reason), message=error.message, metadata=dict(error.metadata))
        elif isinstance(error, OSError):
            self.tell(event, path, reason=int(_UNSPECIFIED), message=error.strerror or "it cannot be read", metadata={})
        else:
            self.tell(event, path, reason=int(_UNSPECIFIED), message=str(error), metadata={})


async def ingest(job: Mapping[str, Any], telling: Telling) -> None:
    """Read and store the files of a job; known content is not read again."""
    state_dir = Path(job["state_dir"])
    # The user who can write the store's files is believed.
    environ = {**os.environ, STATE_DIR_VARIABLE: str(state_dir), "CITEMESH_AUTH_MODE": "open"}
    metadata = tuple((str(key), str(value)) for key, value in job["metadata"])
    try:
        principal = make_authenticator(environ).authenticate(metadata).principal
        writer = open_writer(state_dir, environ)
        try:
            reader = open_reader(state_dir, environ)
            try:
                store = BulkStore(environ, reader, writer)
                await _ingest_all(job, environ, principal, store, telling)
            finally:
                reader.close()
        finally:
            writer.close()
    except (ServiceError, ConfigurationError, ModelError, ModuleNotFoundError) as error:
        telling.tell_error("refused", None, error)


async def _ingest_all(
    job: Mapping[str, Any], environ: Mapping[str, str], principal: Principal, store: BulkStore, telling: Telling
) -> None:
    headers = {Path(file["path"]): IngestHeader.FromString(base64.b64decode(file["header"])) for file in job["files"]}
    new = []
    for path, header in headers.items():
        try:
            known = await asyncio.to_thread(store.find_known, principal, path, header)
        except (OSError, ServiceError):
            known = None  # said when it is its turn
        if known is None:
            new.append((path, header))
        else:
            telling.tell_response("known", path, IngestResponse(document=known, result=INGEST_RESULT_UNCHANGED))
    if not new:
        return
    results = read_files(new, environ, job["ray_address"], job["at_once"], job["timeout_s"])
    try:
        while (result := await asyncio.to_thread(next, results, None)) is not None:
            telling.tell("begun", result.path)
            await _put(store, principal, result, headers[result.path], telling)
    finally:
        await asyncio.to_thread(results.close)


async def _put(
    store: BulkStore, principal: Principal, result: FileResult, header: IngestHeader, telling: Telling
) -> None:
    try:
        stored = await store.put(principal, result, header)
    except (OSError, ServiceError) as error:
        telling.tell_error("failed", result.path, error)
    else:
        telling.tell_response("stored", result.path, IngestResponse(document=stored.document, result=stored.result))


def _end_with_parent() -> None:
    """Ends this process when the other end of stdin is gone: the command was killed, and its lock must not stay."""
    # Not through sys.stdin, which cannot be closed at the end while a thread waits in it.
    while os.read(0, 1):
        pass
    os._exit(1)


def main() -> int:
    """Serve one job."""
    logging.disable(logging.WARNING)  # Ray tells much of itself, over the command's bar
    configure_logging(level=os.environ.get("CITEMESH_LOG_LEVEL") or "error", request_id=str)
    telling = Telling()
    job = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    asyncio.run(ingest(job, telling))
    return 0


if __name__ == "__main__":
    sys.exit(main())
