"""Runs the parser's process: bounded in number, memory, CPU and time, killed as a group, its failures told in words."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog

from citemesh.rpc.errors import ServiceError
from citemesh.v1 import errors_pb2
from services.documents.parsing.blocks import ParsedDocument, from_json
from services.documents.parsing.refusal import ParseRefused, RefusalReason
from services.documents.parsing.request import BEGUN_PAGE_NAME, ParseRequest, RenderRequest

_LOG = structlog.get_logger(__name__)
_CODE_ROOT = Path(__file__).resolve().parents[3]
_MAX_REPLY_BYTES = 256 * 1024 * 1024
_MAX_PICTURE_BYTES = 256 * 1024 * 1024
_MIB = 1024 * 1024
_READ_SIZE = 256 * 1024


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """What one file may cost. Time grows with the file: `cpu_s` and `wall_s` hold for one of up to 1 MiB.

    Parsers work without waiting, so `cpu_s` is what ends one that burns time; `wall_s` is wide, for busy machines.
    Where pages are read by OCR, `ocr_memory_bytes` holds instead, and `ocr_s` seconds on each of `ocr_thread_count`
    threads are added: the parser itself stops reading pages before they are over.
    """

    memory_bytes: int = 1024 * _MIB
    cpu_s: float = 8.0
    wall_s: float = 30.0
    extra_s_per_mib: float = 1.0
    max_extra_s: float = 110.0
    max_pages: int = 5_000
    ocr_memory_bytes: int = 2048 * _MIB
    ocr_s: float = 30.0
    ocr_thread_count: int = 2

    def times_for(self, size_bytes: int) -> tuple[float, float]:
        """CPU and wall seconds for a file of this size."""
        extra = min(self.max_extra_s, max(0.0, size_bytes / _MIB - 1.0) * self.extra_s_per_mib)
        return self.cpu_s + extra, self.wall_s + extra

    def with_ocr(self, ocr_s: float) -> SandboxLimits:
        """The limits of a parse that may spend `ocr_s` seconds on pictures of text."""
        return dataclasses.replace(
            self,
            memory_bytes=max(self.memory_bytes, self.ocr_memory_bytes),
            cpu_s=self.cpu_s + ocr_s * self.ocr_thread_count,
            wall_s=self.wall_s + ocr_s,
        )


class ParserSandbox:
    """Starts at most `max_children` parsers at a time; up to `max_waiting` others wait their turn.

    Calls beyond raise ServiceError OVERLOADED.
    """

    def __init__(self, limits: SandboxLimits, max_children: int, temp_dir: Path, max_waiting: int = 256) -> None:
        self._limits = limits
        self._turns = asyncio.Semaphore(max_children)
        self._temp_dir = temp_dir
        self._max_waiting = max_waiting
        self._waiting = 0

    async def parse(
        self,
        path: Path,
        file_name: str,
        password: str = "",
        layout_pages: tuple[int, ...] = (),
        ocr_pages: tuple[int, ...] = (),
        ocr_s: float | None = None,
    ) -> ParsedDocument:
        """Reads a file; `ocr_pages` of a PDF by OCR, as many as `ocr_s` seconds allow (None: those of the limits).

        Raises ParseRefused with a reason and a sentence for the sender.
        """
        limits = self._limits
        request = ParseRequest(str(path), file_name, password, limits.max_pages, layout_pages)
        if ocr_pages:
            ocr_s = min(limits.ocr_s, ocr_s) if ocr_s is not None else limits.ocr_s
            request = dataclasses.replace(
                request, ocr_pages=ocr_pages, ocr_s=ocr_s, ocr_thread_count=limits.ocr_thread_count
            )
            limits = limits.with_ocr(ocr_s)
        reply = await self._serve("parse", dataclasses.asdict(request), path, limits)
        try:
            document = await asyncio.to_thread(from_json, reply["document"])
        except (KeyError, TypeError, ValueError) as error:
            raise _crashed() from error
        return document

    async def render(self, request: RenderRequest) -> tuple[bytes, list[int], int]:
        """PNG, indices of the quotes found, and the page count; the PNG is empty where there is no such page."""
        with tempfile.TemporaryDirectory(dir=self._temp_dir) as folder:
            output = Path(folder) / "page.png"
            asked = dataclasses.asdict(dataclasses.replace(request, output_path=str(output)))
            reply = await self._serve("render", asked, Path(request.path), self._limits)
            png = await asyncio.to_thread(output.read_bytes) if output.exists() else b""
        return png, [int(index) for index in reply.get("highlighted", [])], int(reply.get("page_count", 0))

    async def _serve(self, task: str, request: dict[str, Any], path: Path, limits: SandboxLimits) -> dict[str, Any]:
        async with self._take_turn():
            size_bytes = (await asyncio.to_thread(path.stat)).st_size
            cpu_s, wall_s = limits.times_for(size_bytes)
            message = {
                "task": task,
                "request": request,
                "limits": {
                    "memory_bytes": limits.memory_bytes,
                    "cpu_s": max(1, round(cpu_s)),
                    "output_bytes": _MAX_PICTURE_BYTES,
                },
            }
            with tempfile.TemporaryDirectory(dir=self._temp_dir, prefix="parse-") as folder:
                data, code = await _run_child(json.dumps(message).encode(), Path(folder), wall_s)
                begun_page = _read_begun_page(Path(folder))
        try:
            # Away from the event loop: a reply may have hundreds of MiB.
            return await asyncio.to_thread(_read_reply, data, code, limits, cpu_s, wall_s)
        except ParseRefused as refusal:
            refusal.page_number = begun_page
            raise

    @contextlib.asynccontextmanager
    async def _take_turn(self) -> AsyncIterator[None]:
        if self._turns.locked() and self._waiting >= self._max_waiting:
            raise ServiceError(
                errors_pb2.ERROR_REASON_OVERLOADED, f"{self._waiting} files wait to be read: ask again later."
            )
        self._waiting += 1
        try:
            await self._turns.acquire()
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            self._turns.release()


async def _run_child(message: bytes, folder: Path, wall_s: float) -> tuple[bytes, int | None]:
    """What the child wrote and its exit code; the code is None where it ran out of time."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-s",
        "-B",
        "-m",
        "services.documents.parsing.child",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        cwd=folder,
        env=_environment(folder),
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(wall_s):
            data = await _exchange(process, message)
            return data, await process.wait()
    except TimeoutError:
        return b"", None
    finally:
        # The whole group, whatever happened: nothing of a parser outlives its file.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        await asyncio.shield(process.wait())


def _read_begun_page(folder: Path) -> int:
    """The page that the child noted; 0 where it noted none, or something else."""
    try:
        return int((folder / BEGUN_PAGE_NAME).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return 0


async def _exchange(process: asyncio.subprocess.Process, message: bytes) -> bytes:
    assert process.stdin is not None
    assert process.stdout is not None
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        process.stdin.write(message)
        await process.stdin.drain()
    process.stdin.close()
    parts: list[bytes] = []
    size = 0
    while part := await process.stdout.read(_READ_SIZE):
        size += len(part)
        if size > _MAX_REPLY_BYTES:
            raise ParseRefused(
                RefusalReason.TOO_LARGE, f"The file holds more than the {_MAX_REPLY_BYTES // _MIB} MiB that are read."
            )
        parts.append(part)
    return b"".join(parts)


def _environment(folder: Path) -> dict[str, str]:
    """Nothing of ours but what Python needs: no credentials, no proxies, a folder of its own for temporary files."""
    return {
        "PATH": os.defpath,
        "PYTHONPATH": str(_CODE_ROOT),
        "PYTHONHASHSEED": "0",
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "LANG": "C.UTF-8",
        "MALLOC_ARENA_MAX": "1",
    }


def _read_reply(data: bytes, code: int | None, limits: SandboxLimits, cpu_s: float, wall_s: float) -> dict[str, Any]:
    if code is None or code == -signal.SIGXCPU:
        limit = f"{wall_s:.0f} seconds" if code is None else f"{cpu_s:.0f} seconds of work"
        refusal = ParseRefused(
            RefusalReason.TOO_SLOW, f"Reading the file takes more than the {limit} allowed for its size."
        )
        refusal.limit_s = wall_s if code is None else cpu_s
        raise refusal
    if code == -signal.SIGKILL:
        # Its own limits end a parser by other signals.
        _LOG.warning("parser_killed")
        raise ParseRefused(
            RefusalReason.CRASHED,
            "The parser was killed from outside, as systems short of memory do: nothing is known against the file.",
        )
    try:
        reply: dict[str, Any] = json.loads(data) if code == 0 else {}
    except ValueError:
        reply = {}
    if "reason" in reply:
        raise ParseRefused(RefusalReason(reply["reason"]), str(reply["message"]))
    if "raised" in reply:
        _LOG.error("parser_raised", error=reply["raised"])
        raise _crashed()
    if not reply:
        _LOG.warning("parser_died", exit_code=code)
        if code == -signal.SIGABRT:
            megabytes = limits.memory_bytes // _MIB
            raise ParseRefused(
                RefusalReason.TOO_MUCH_MEMORY,
                f"Reading the file needs more than the {megabytes} MiB of memory allowed.",
            )
        raise _crashed()
    return reply


def _crashed() -> ParseRefused:
    return ParseRefused(RefusalReason.CRASHED, "The parser failed on the file, which may be damaged.")
