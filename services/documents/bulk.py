"""Bulk ingest by Ray Data: files are read and encoded on many machines by the service's code, and stored from one."""

from __future__ import annotations

import asyncio
import errno
import importlib
import logging
import os
import pickle
import sys
import tempfile
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from prometheus_client import CollectorRegistry

from citemesh.auth.principal import Principal
from citemesh.config.load import load_settings
from citemesh.files.regular import measure_regular
from citemesh.files.repeats import find_repeated
from citemesh.models.files import hash_file
from citemesh.models.runtime import limit_cores
from citemesh.rpc.errors import ServiceError
from citemesh.store.contract import StoredVersion, StoreReader, StoreWriter
from citemesh.telemetry.metrics import MetricFactory
from citemesh.v1 import errors_pb2
from citemesh.v1.document_pb2 import Document
from citemesh.v1.documents_pb2 import IngestHeader
from citemesh.v1.evidence_pb2 import Passage
from services.documents.encoding import PassageEncoder, Vectors, open_passage_encoder
from services.documents.headers import check_header
from services.documents.ingest import Ingester
from services.documents.parsing.sandbox import ParserSandbox
from services.documents.reading import DocumentReader, ReadDocument
from services.documents.scanned import share_for_ocr
from services.documents.settings import DocumentsSettings
from services.documents.uploads import Upload

# Small, so that results arrive while others are read, and a worker that dies costs little.
_FILES_PER_BLOCK: Final = 2
# Variables that workers get: models are found by the last two.
_OURS: Final = ("CITEMESH_", "HOME", "XDG_CACHE_HOME")


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a file could not be read, as it travels from a worker: a ServiceError's reason, 0 for the system's."""

    reason: errors_pb2.ErrorReason.ValueType
    message: str
    metadata: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class FileResult:
    """One file as a worker read it; `failure` instead where it could not be read."""

    path: Path
    content_hash: str = ""
    read: ReadDocument | None = None
    vectors: Vectors | None = None
    failure: Failure | None = None


class FileReader:
    """Reads and encodes files as the documents service does. One per worker process, each on one core."""

    def __init__(self, environ: Mapping[str, str], timeout_s: float | None = None) -> None:
        limit_cores(1)
        self._timeout_s = timeout_s
        settings = load_settings(DocumentsSettings, environ)
        _, self._encoder = open_passage_encoder(environ)
        self._folder = tempfile.TemporaryDirectory(prefix="citemesh-bulk-")
        limits = settings.sandbox_limits()
        self._reader = DocumentReader(
            ParserSandbox(limits, 1, Path(self._folder.name)),
            limits,
            settings.lengths(),
            self._encoder.count_tokens,
            settings.max_file_size_bytes,
        )
        self._max_size_bytes = settings.max_file_size_bytes
        # The sandbox and the encoder's turn belong to one event loop.
        self._runner = asyncio.Runner()

    def __call__(self, row: dict[str, Any]) -> dict[str, bytes]:
        """From {"path", "header"} to {"result"}: a FileResult as bytes."""
        path = Path(row["path"])
        try:
            result = self._runner.run(self._read_in_time(path, IngestHeader.FromString(row["header"])))
        except OSError as error:
            result = FileResult(
                path, failure=Failure(errors_pb2.ERROR_REASON_UNSPECIFIED, error.strerror or "it cannot be read", {})
            )
        except ServiceError as error:
            result = FileResult(path, failure=Failure(error.reason, error.message, dict(error.metadata)))
        return {"result": pickle.dumps(result)}

    async def _read_in_time(self, path: Path, header: IngestHeader) -> FileResult:
        try:
            async with asyncio.timeout(self._timeout_s):
                return await self._read(path, header)
        except TimeoutError:
            reason = errors_pb2.ERROR_REASON_DEADLINE_EXCEEDED
            message = f"Reading the file takes more than the {self._timeout_s:g} seconds allowed."
            return FileResult(path, failure=Failure(reason, message, {}))

    async def _read(self, path: Path, header: IngestHeader) -> FileResult:
        content_hash, _ = _measure(path, self._max_size_bytes)
        read = await self._reader.read(path, header.file_name, header.password, ocr_s=share_for_ocr(self._timeout_s))
        return FileResult(path, content_hash, read, await self._encoder.encode(read.passages))


def read_files(
    files: Sequence[tuple[Path, IngestHeader]],
    environ: Mapping[str, str],
    address: str | None,
    at_once: int | None = None,
    timeout_s: float | None = None,
) -> Generator[FileResult, None, None]:
    """Read files on a local Ray (`address` None) or a cluster, and give each as soon as it is there, in any order.

    At most `at_once` are read at a time (None: one for each core), each in at most `timeout_s` seconds.

    The paths must lead to the files on every machine of the cluster, and the same citemesh be installed there. Blocks;
    Ray is stopped when the iteration ends. Raises ModuleNotFoundError where Ray is not installed.
    """
    # Ray calls home and tells much of itself, unless it is told not to before it is imported.
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_BACKEND_LOG_LEVEL": "fatal"}
    ray = importlib.import_module("ray")
    data = importlib.import_module("ray.data")
    logging.getLogger("ray").setLevel(logging.ERROR)
    options: dict[str, Any] = {"include_dashboard": False, "_node_ip_address": "127.0.0.1"} if address is None else {}
    ray.init(address=address, log_to_driver=False, configure_logging=False, runtime_env=_environment(), **options)
    try:
        context = data.DataContext.get_current()
        context.enable_progress_bars = False
        rows = [{"path": str(path), "header": header.SerializeToString()} for path, header in files]
        core_count = int(ray.cluster_resources().get("CPU", 1))
        worker_count = max(1, min(core_count, at_once or core_count, len(rows)))
        dataset = data.from_items(rows, override_num_blocks=max(1, len(rows) // _FILES_PER_BLOCK)).map(
            FileReader,
            fn_constructor_args=({k: value for k, value in environ.items() if k.startswith(_OURS)}, timeout_s),
            compute=data.ActorPoolStrategy(size=worker_count),
            num_cpus=1,
        )
        for row in dataset.iter_rows():
            # Made by our own workers, of a cluster that runs this code.
            yield pickle.loads(row["result"])  # noqa: S301 - as above
    finally:
        ray.shutdown()


class BulkStore:
    """Stores what workers read, by the rules of the Ingest RPC: access, versions, the same content once."""

    def __init__(self, environ: Mapping[str, str], reader: StoreReader, writer: StoreWriter) -> None:
        contract, _ = open_passage_encoder(environ)
        writer.set_encoder(contract)
        self._reader = reader
        self._results: dict[Path, FileResult] = {}
        self._ingester = Ingester(
            reader,
            writer,
            _AlreadyRead(self._results),
            _AlreadyEncoded(self._results),
            MetricFactory(CollectorRegistry()),
            1,
        )
        self._max_size_bytes = load_settings(DocumentsSettings, environ).max_file_size_bytes

    def find_known(self, principal: Principal, path: Path, header: IngestHeader) -> Document | None:
        """The stored version that the file repeats, so that it need not be read; None where it is new or changes.

        Raises OSError where the file cannot be read, ServiceError where the header is wrong.
        """
        checked = check_header(header)
        versions = self._reader.document_versions(principal, checked.document_id)
        if not versions:
            return None
        return find_repeated(versions, checked, _measure(path, self._max_size_bytes)[0])

    async def put(self, principal: Principal, result: FileResult, header: IngestHeader) -> StoredVersion:
        """Store one file. Raises OSError or ServiceError with what kept it from being read, or as the Ingest RPC."""
        if result.failure is not None:
            if not result.failure.reason:
                raise OSError(errno.EIO, result.failure.message)
            raise ServiceError(result.failure.reason, result.failure.message, **result.failure.metadata)
        content_hash, size_bytes = await asyncio.to_thread(_measure, result.path, self._max_size_bytes)
        if content_hash != result.content_hash:
            raise OSError(errno.EIO, "it was changed while it was read")
        self._results[result.path] = result
        try:
            return await self._ingester.ingest(
                principal, Upload(check_header(header), result.path, size_bytes, content_hash)
            )
        finally:
            del self._results[result.path]


class _AlreadyRead(DocumentReader):
    """Stands for reading, which a worker has done."""

    def __init__(self, results: Mapping[Path, FileResult]) -> None:
        self._results = results

    async def read(
        self,
        path: Path,
        file_name: str,
        password: str = "",
        layout_pages: tuple[int, ...] = (),
        ocr_pages: tuple[int, ...] | None = None,
        ocr_s: float | None = None,
    ) -> ReadDocument:
        """What the worker read of `path`."""
        read = self._results[path].read
        assert read is not None
        return read


class _AlreadyEncoded(PassageEncoder):
    """Stands for encoding, which a worker has done."""

    def __init__(self, results: Mapping[Path, FileResult]) -> None:
        self._results = results

    async def encode(self, passages: Sequence[Passage]) -> Vectors:
        """The worker's vectors of these very passages."""
        for result in self._results.values():
            if result.read is not None and result.read.passages is passages and result.vectors is not None:
                return result.vectors
        raise LookupError("these passages were not read by a worker")


def _measure(path: Path, max_size_bytes: int) -> tuple[str, int]:
    """The file's sha256 and size in bytes. Raises FILE_EMPTY, FILE_TOO_LARGE."""
    size_bytes = measure_regular(path)
    if size_bytes == 0:
        raise ServiceError(errors_pb2.ERROR_REASON_FILE_EMPTY, "The file is empty (0 bytes).")
    if size_bytes > max_size_bytes:
        limit = max_size_bytes // (1024 * 1024)
        raise ServiceError(errors_pb2.ERROR_REASON_FILE_TOO_LARGE, f"The file is larger than {limit} MiB.")
    return hash_file(path), size_bytes


def _environment() -> dict[str, Any]:
    """What workers need beside Ray's own: this code on their path, and nothing that calls home."""
    variables = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "ORT_DISABLE_TELEMETRY": "1"}
    return {"env_vars": variables}
