"""Memory of ingest, service and parsers together: one PDF of 300 MB, then a thousand files, and how it grows."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import grpc

from citemesh.v1 import documents_pb2, documents_pb2_grpc
from tests.bench.processes import resident_mib, started
from tests.bench.report import Figure
from tests.mesh.calling import WRITER

MAX_MIB: Final = 1024.0
MAX_GROWTH_MIB: Final = 100.0
_LARGE_SIZE_BYTES: Final = 300 * 1000 * 1000
_FILE_COUNT: Final = 1_000
_FILES_AT_ONCE: Final = 4
_PICTURE_EDGE: Final = 1448
_TIMEOUT_S: Final = 600.0
_CHUNK_SIZE_BYTES: Final = 256 * 1024


class Watch:
    """The largest resident memory of a process and of its children together, looked at several times a second."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self.most_mib = 0.0

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._ended.wait(0.1):
            self.most_mib = max(self.most_mib, sum(map(_read_mib, [self._pid, *_children(self._pid)])))


def run() -> list[Figure]:
    """Measure the documents service alone."""
    return measure(_LARGE_SIZE_BYTES, _FILE_COUNT)


def measure(large_size_bytes: int, file_count: int) -> list[Figure]:
    """Ingest one PDF of about `large_size_bytes`, then `file_count` small files."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        target = f"unix:{folder}/documents.sock"
        environ = {
            "CITEMESH_HOST_LISTEN_ADDRESS": target,
            "CITEMESH_STATE_DIR": str(folder / "state"),
            "CITEMESH_DOCUMENTS_MAX_FILE_SIZE_MIB": "512",
        }
        with started("services", "documents", log=folder / "log", **environ) as process:
            large = write_large_pdf(folder / "large.pdf", large_size_bytes)
            with Watch(process.pid) as watch:
                _send_all(target, [large])
            figures = [Figure(f"one PDF of {large.stat().st_size // 10**6} MB, most", watch.most_mib, "MiB", MAX_MIB)]
            tenth = write_files(folder / "files", file_count)
            warm, rest = tenth[: max(1, file_count // 10)], tenth[max(1, file_count // 10) :]
            with Watch(process.pid) as watch:
                _send_all(target, warm)
                before, _ = resident_mib(process.pid)
                _send_all(target, rest)
                after, _ = resident_mib(process.pid)
            figures.append(Figure(f"{file_count} files, most", watch.most_mib, "MiB", MAX_MIB))
            figures.append(Figure("growth from a tenth of them to all", after - before, "MiB", MAX_GROWTH_MIB))
    return figures


def write_large_pdf(path: Path, size_bytes: int) -> Path:
    """A PDF of pages with text and a picture of noise, written piece by piece."""
    picture = _PICTURE_EDGE * _PICTURE_EDGE
    pages = max(1, size_bytes // picture)
    offsets: list[int] = []
    with path.open("wb") as stream:
        stream.write(b"%PDF-1.4\n")

        def add(body: bytes) -> None:
            offsets.append(stream.tell())
            stream.write(b"%d 0 obj\n%s\nendobj\n" % (len(offsets), body))

        def add_stream(head: bytes, data: bytes) -> None:
            add(b"<< %s /Length %d >>\nstream\n%s\nendstream" % (head, len(data), data))

        add(b"<< /Type /Catalog /Pages 2 0 R >>")
        kids = b" ".join(b"%d 0 R" % (4 + 3 * number) for number in range(pages))
        add(b"<< /Type /Pages /Count %d /Kids [%s] >>" % (pages, kids))
        add(b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
        for number in range(pages):
            own = 4 + 3 * number
            add(
                b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R /Resources"
                b" << /Font << /F 3 0 R >> /XObject << /P %d 0 R >> >> >>" % (own + 1, own + 2)
            )
            # In the middle of the page: what every page has at its edges is left out as a running header.
            text = b"BT /F 11 Tf 72 %d Td (Keeper %d burns the oil of lamp %d.) Tj ET" % (
                450 - number % 90,
                number,
                number,
            )
            add_stream(b"", text + b" q 100 0 0 100 72 600 cm /P Do Q")
            size = b"/Width %d /Height %d /ColorSpace /DeviceGray /BitsPerComponent 8" % ((_PICTURE_EDGE,) * 2)
            add_stream(b"/Type /XObject /Subtype /Image " + size, os.urandom(picture))
        start = stream.tell()
        stream.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(offsets) + 1))
        stream.writelines(b"%010d 00000 n \n" % offset for offset in offsets)
        stream.write(b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(offsets) + 1, start))
    return path


def write_files(folder: Path, count: int) -> list[Path]:
    """Small files of text, no two alike."""
    folder.mkdir()
    paths = []
    for number in range(count):
        path = folder / f"file-{number}.md"
        sentences = " ".join(f"Keeper {number} lights lamp {lamp} at dusk and writes it down." for lamp in range(12))
        path.write_text(f"# Orders {number}\n\n{sentences}\n", encoding="utf-8")
        paths.append(path)
    return paths


def _send_all(target: str, paths: list[Path]) -> None:
    with grpc.insecure_channel(target) as channel, ThreadPoolExecutor(_FILES_AT_ONCE) as senders:
        stub = documents_pb2_grpc.DocumentsServiceStub(channel)
        for response in senders.map(
            lambda path: stub.Ingest(_parts(path), timeout=_TIMEOUT_S, metadata=WRITER, wait_for_ready=True), paths
        ):
            assert response.document.passage_count


def _parts(path: Path) -> Iterator[documents_pb2.IngestRequest]:
    yield documents_pb2.IngestRequest(header=documents_pb2.IngestHeader(document_id=path.stem, file_name=path.name))
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK_SIZE_BYTES):
            yield documents_pb2.IngestRequest(chunk=chunk)


def _read_mib(pid: int) -> float:
    """Resident memory; 0 for a process that has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:")), 0.0)


def _children(pid: int) -> list[int]:
    """The children of all threads of a process."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found.extend(map(int, task.read_text(encoding="utf-8").split()))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found
