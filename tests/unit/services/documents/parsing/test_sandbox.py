# ruff: noqa: ASYNC240, ASYNC110 - tests wait for files that a child writes; nothing else runs in their loop
"""The parser's process: what it may not do, how it ends, and that a bad file costs itself alone."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import structlog

from services.documents.parsing import sandbox as sandbox_module
from services.documents.parsing.refusal import ParseRefused, RefusalReason
from services.documents.parsing.request import BEGUN_PAGE_NAME, RenderRequest
from services.documents.parsing.sandbox import ParserSandbox, SandboxLimits
from services.documents.refusals import to_service_error
from tests.unit.services.documents.conftest import NewPdf


async def test_markdown_is_read_in_the_child(sandbox: ParserSandbox, tmp_path: Path) -> None:
    path = tmp_path / "upload"
    path.write_text("# Rules\n\nBring a lamp.\n")
    document = await sandbox.parse(path, "rules.md")
    assert document.title == "Rules"
    assert [block.text for block in document.blocks] == ["Rules", "Bring a lamp."]


async def test_the_child_leaves_nothing_behind(sandbox: ParserSandbox, tmp_path: Path) -> None:
    path = tmp_path / "upload"
    path.write_text("Some text.")
    await sandbox.parse(path, "a.txt")
    assert list((tmp_path / "sandbox").iterdir()) == []


CHILD = """
import sys
from services.documents.parsing import child, limits
{body}
child.main()
"""


def run_instead(monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    """Starts a child whose parser does `body` (a function `act`) when it is asked to read."""
    start = asyncio.create_subprocess_exec
    code = CHILD.format(body=f"{body}\nchild._choose_parser = lambda job: act")

    async def create(*arguments: str, **options: Any) -> asyncio.subprocess.Process:
        return await start(arguments[0], "-c", code, **options)

    monkeypatch.setattr(asyncio, "create_subprocess_exec", create)


async def refuse(sandbox: ParserSandbox, path: Path) -> ParseRefused:
    path.write_text("text")
    with pytest.raises(ParseRefused) as refused:
        await sandbox.parse(path, "a.txt")
    return refused.value


async def test_a_hang_is_cut_off(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    run_instead(monkeypatch, "import time\ndef act(job): time.sleep(60)")
    sandbox = ParserSandbox(SandboxLimits(wall_s=1.5), 1, tmp_path)
    started = time.monotonic()
    refusal = await refuse(sandbox, tmp_path / "a")
    assert refusal.reason is RefusalReason.TOO_SLOW
    assert time.monotonic() - started < 10


async def test_a_busy_loop_is_cut_off_by_processor_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    run_instead(monkeypatch, "def act(job):\n    while True: pass")
    sandbox = ParserSandbox(SandboxLimits(cpu_s=1, wall_s=60), 1, tmp_path)
    assert (await refuse(sandbox, tmp_path / "a")).reason is RefusalReason.TOO_SLOW


async def test_too_much_memory_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    run_instead(monkeypatch, "def act(job): return bytearray(2 << 30)")
    sandbox = ParserSandbox(SandboxLimits(memory_bytes=512 << 20, wall_s=40, cpu_s=20), 1, tmp_path)
    assert (await refuse(sandbox, tmp_path / "a")).reason is RefusalReason.TOO_MUCH_MEMORY


async def test_too_long_a_reply_is_told_as_too_large(
    monkeypatch: pytest.MonkeyPatch, sandbox: ParserSandbox, tmp_path: Path
) -> None:
    run_instead(
        monkeypatch,
        "from services.documents.parsing.blocks import ParsedDocument\n"
        "def act(job): return ParsedDocument('text', title='x' * 9000)",
    )
    monkeypatch.setattr(sandbox_module, "_MAX_REPLY_BYTES", 5000)
    assert (await refuse(sandbox, tmp_path / "a")).reason is RefusalReason.TOO_LARGE


async def test_replies_are_decoded_away_from_the_event_loop(
    monkeypatch: pytest.MonkeyPatch, sandbox: ParserSandbox, tmp_path: Path
) -> None:
    threads: list[threading.Thread] = []
    decode = sandbox_module._read_reply

    def note(*arguments: Any) -> dict[str, Any]:
        threads.append(threading.current_thread())
        return decode(*arguments)

    monkeypatch.setattr(sandbox_module, "_read_reply", note)
    (tmp_path / "a").write_text("Some text.")
    await sandbox.parse(tmp_path / "a", "a.txt")
    assert threads
    assert threading.main_thread() not in threads


@pytest.mark.parametrize(
    "body", ["import os\ndef act(job): os.kill(os.getpid(), 11)", "import sys\ndef act(job): sys.exit(3)"]
)
async def test_a_crash_is_told_in_words(
    monkeypatch: pytest.MonkeyPatch, sandbox: ParserSandbox, tmp_path: Path, body: str
) -> None:
    run_instead(monkeypatch, body)
    refusal = await refuse(sandbox, tmp_path / "a")
    assert refusal.reason is RefusalReason.CRASHED
    assert "Error" not in refusal.message


async def test_a_fault_of_the_parser_is_told_to_the_log_without_the_file_s_words(
    monkeypatch: pytest.MonkeyPatch, sandbox: ParserSandbox, tmp_path: Path
) -> None:
    run_instead(monkeypatch, "def act(job): raise KeyError('words of the file')")
    with structlog.testing.capture_logs() as logs:
        refusal = await refuse(sandbox, tmp_path / "a")
    assert refusal.reason is RefusalReason.CRASHED
    assert [line["error"] for line in logs if line["event"] == "parser_raised"] == ["KeyError at <string>:4"]
    assert "words of the file" not in str(logs)


@pytest.mark.parametrize(("noted", "page_number"), [("7", 7), ("no number", 0)])
async def test_the_page_that_ended_the_parser_is_told(
    monkeypatch: pytest.MonkeyPatch, sandbox: ParserSandbox, tmp_path: Path, noted: str, page_number: int
) -> None:
    note = f"pathlib.Path(os.environ['TMPDIR'], {BEGUN_PAGE_NAME!r}).write_text({noted!r})"
    run_instead(monkeypatch, f"import os, pathlib\ndef act(job):\n    {note}\n    os.kill(os.getpid(), 11)")
    assert (await refuse(sandbox, tmp_path / "a")).page_number == page_number


@pytest.mark.parametrize(
    "attempt",
    [
        "import socket; socket.socket()",
        "import socket; socket.create_connection(('127.0.0.1', 9))",
        "import subprocess; subprocess.run(['true'])",
        "import os; os.system('true')",
        "import os; os.fork()",
        "import ctypes; ctypes.CDLL(None)",
    ],
)
async def test_no_network_and_no_programs(
    monkeypatch: pytest.MonkeyPatch, sandbox: ParserSandbox, tmp_path: Path, attempt: str
) -> None:
    body = f"""
from services.documents.parsing.blocks import ParsedDocument
def act(job):
    try:
        {attempt}
    except PermissionError:
        return ParsedDocument("text", title="refused")
    return ParsedDocument("text", title="allowed")
"""
    run_instead(monkeypatch, body)
    (tmp_path / "a").write_text("x")
    assert (await sandbox.parse(tmp_path / "a", "a.txt")).title == "refused"


async def test_what_a_parser_starts_dies_with_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    body = f"""
import subprocess, time
sleeper = subprocess.Popen(["sleep", "60"])
open({str(note)!r}, "w").write(str(sleeper.pid))
def act(job): time.sleep(60)
"""
    run_instead(monkeypatch, body)
    sandbox = ParserSandbox(SandboxLimits(wall_s=3), 1, tmp_path)
    await refuse(sandbox, tmp_path / "a")
    pid = int(note.read_text())
    for _ in range(50):
        if not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text().split()[2]:
            return
        await asyncio.sleep(0.05)
    os.kill(pid, 9)
    pytest.fail("a process outlived its parser")


async def test_a_cancelled_parse_kills_its_child(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    run_instead(
        monkeypatch, f"import os, time\nopen({str(note)!r}, 'w').write(str(os.getpid()))\ndef act(job): time.sleep(60)"
    )
    sandbox = ParserSandbox(SandboxLimits(), 1, tmp_path)
    (tmp_path / "a").write_text("x")
    task = asyncio.create_task(sandbox.parse(tmp_path / "a", "a.txt"))
    while not (note.exists() and note.read_text()):
        await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not Path(f"/proc/{note.read_text()}").exists()


async def test_a_password_opens_and_its_lack_is_told(shared_data: Path, sandbox: ParserSandbox) -> None:
    path = shared_data / "pdfs" / "encrypted" / "password-example.pdf"
    with pytest.raises(ParseRefused) as refused:
        await sandbox.parse(path, path.name)
    assert refused.value.reason is RefusalReason.PASSWORD_NEEDED
    with pytest.raises(ParseRefused) as refused:
        await sandbox.parse(path, path.name, "wrong")
    assert refused.value.reason is RefusalReason.PASSWORD_WRONG
    assert len((await sandbox.parse(path, path.name, "test")).pages) == 4


async def test_a_rendered_page_marks_the_quotes_it_holds(pdf: NewPdf, sandbox: ParserSandbox) -> None:
    page = pdf("a.pdf")
    page.line("The lamp shall burn from the setting of the sun.")
    request = RenderRequest(str(page.save()), "", 1, 72, ("shall burn from the set-\nting", "something else"))
    png, found, count = await sandbox.render(request)
    assert png.startswith(b"\x89PNG")
    assert (found, count) == ([0], 1)


def children_cpu_s() -> float:
    """Processor time of all children so far: what the time limit means on a machine that is doing nothing else."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


@pytest.mark.timeout(300)
async def test_every_file_of_the_collection_is_read_as_measured_or_refused_in_time(
    shared_data: Path, sandbox: ParserSandbox
) -> None:
    """Pages, outline entries and pages without text are those that two other engines agree on."""
    wrong = []
    for row in (json.loads(line) for line in (shared_data / "pdfs" / "manifest.jsonl").read_text().splitlines()):
        path = shared_data / "pdfs" / row["file"]
        before = children_cpu_s()
        try:
            document = await sandbox.parse(path, path.name, row.get("password", ""))
        except ParseRefused as refusal:
            if "pages" in row:
                wrong.append((row["file"], refusal.message))
        else:
            empty = sum(page.char_count < 20 for page in document.pages)
            facts = (len(document.pages), len(document.outline), empty)
            expected = (row.get("pages"), row.get("toc_entries"), row.get("pages_without_text", empty))
            if facts != expected:
                wrong.append((row["file"], f"{facts} instead of {expected}"))
        if children_cpu_s() - before > 8:
            wrong.append((row["file"], "took longer than 8 s"))
    assert wrong == []


async def test_a_parser_killed_from_outside_is_told_as_that(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    run_instead(monkeypatch, "import os\ndef act(job): os.kill(os.getpid(), 9)")
    refusal = await refuse(ParserSandbox(SandboxLimits(), 1, tmp_path), tmp_path / "a")
    assert refusal.reason is RefusalReason.CRASHED
    assert "killed from outside" in refusal.message


async def test_the_limit_told_is_the_one_that_was_passed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    run_instead(monkeypatch, "import time\ndef act(job): time.sleep(60)")
    limits = SandboxLimits(wall_s=2.0, cpu_s=9.0)
    refusal = await refuse(ParserSandbox(limits, 1, tmp_path), tmp_path / "a")
    error = to_service_error(refusal, limits, size_bytes=1, max_size_bytes=1)
    assert "more than the 2 seconds" in error.message
    assert error.metadata["limit_s"] == "2.0"
