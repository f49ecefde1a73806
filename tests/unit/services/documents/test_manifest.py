"""Every file of the evaluation's manifest through the real sandbox: profile exact, in time, no crash."""

from __future__ import annotations

import json
import resource
import time
from pathlib import Path
from typing import Any

from citemesh.v1.document_pb2 import DocumentProfile
from services.documents.parsing.refusal import ParseRefused, RefusalReason
from services.documents.parsing.sandbox import ParserSandbox, SandboxLimits
from services.documents.profile import make_profile
from services.documents.sections import build_sections

LONGEST_S = 10.0
# Whether the outline can be used: its titles stand on the pages that it names. Files without one are left out.
USABLE = {
    "attention/1706.03762v7.pdf": True,
    "attention/1706.03762v5_resaved.pdf": True,
    "outline/chelsea_pdta.pdf": True,
    "outline/freeculture.pdf": True,
    "outline/pdflatex-outline.pdf": True,
    "outline/nested_outline.pdf": True,
    "outline/Binarized.pdf": True,
    "outline/outlines_for_editor.pdf": False,
    "encrypted/2206.01062_pg3.pdf": False,
    "encrypted/print_protection.pdf": None,  # its one page has eleven characters
    "hostile/evaljs.pdf": False,
}
SCANNED = {
    "scanned/nemotron_multipage.pdf",
    "scanned/ocr_test.pdf",
    "scanned/ocr_test_rotated_180.pdf",
    "scanned/issue7229.pdf",
    "scanned/kohonen1982.pdf",
    "corrupt/malformed-from-issue-932.pdf",
}


async def profile(sandbox: ParserSandbox, path: Path, password: str) -> DocumentProfile:
    """The profile of a file."""
    document = await sandbox.parse(path, path.name, password)
    tree = build_sections(document)
    return make_profile(document, has_usable_toc=tree.has_usable_toc, toc_entry_count=tree.toc_entry_count)


def work_s() -> float:
    """Processor seconds of this process and of the parsers that have ended: they do not depend on who else works."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


async def check(sandbox: ParserSandbox, folder: Path, row: dict[str, Any]) -> list[str]:
    """What is wrong with one file, in words."""
    name, path = row["file"], folder / row["file"]
    if "password" in row:
        for password, reason in (("", RefusalReason.PASSWORD_NEEDED), ("no", RefusalReason.PASSWORD_WRONG)):
            try:
                await sandbox.parse(path, path.name, password)
            except ParseRefused as refused:
                if refused.reason != reason:
                    return [f"{name}: refused for {refused.reason}, not {reason}"]
            else:
                return [f"{name}: opened with the password {password!r}"]
    if "pages" not in row:
        try:
            await sandbox.parse(path, path.name, "")
        except ParseRefused as refused:
            wanted = RefusalReason.EMPTY if not row["bytes"] else RefusalReason.UNREADABLE
            return [] if refused.reason == wanted else [f"{name}: refused for {refused.reason}"]
        return [f"{name}: read, though no page can be"]
    found = await profile(sandbox, path, row.get("password", ""))
    usable = USABLE.get(name, False)
    got = {
        "pages": found.page_count,
        "outline entries": found.toc_entry_count,
        "usable": found.has_usable_toc if usable is not None else None,
        "scanned": found.likely_scanned,
        "encrypted": found.encrypted,
        "without text": len(found.pages_without_text),
    }
    want = {
        "pages": row["pages"],
        "outline entries": row["toc_entries"],
        "usable": usable,
        "scanned": name in SCANNED,
        "encrypted": row.get("pypdf_encrypted", False),
        # A page that cannot be opened has no text to anyone.
        "without text": row.get("pages_without_text", 1),
    }
    return [f"{name}: {key} {got[key]}, not {want[key]}" for key in want if got[key] != want[key]]


async def test_every_profile_is_exact_and_in_time(shared_data: Path, tmp_path: Path) -> None:
    folder = shared_data / "pdfs"
    sandbox = ParserSandbox(SandboxLimits(), 2, tmp_path)
    rows = [json.loads(line) for line in (folder / "manifest.jsonl").read_text().splitlines()]
    wrong: list[str] = []
    for row in rows:
        before = work_s()
        wrong += await check(sandbox, folder, row)
        if work_s() - before > LONGEST_S:
            wrong.append(f"{row['file']}: took more than {LONGEST_S:.0f} seconds")
    assert len(rows) >= 38
    assert not wrong, "\n".join(wrong)
