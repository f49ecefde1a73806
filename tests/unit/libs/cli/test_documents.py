"""`citemesh ingest`, `documents`, `search`, `check` and `doctor` against a scripted mesh."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from citemesh.v1.document_pb2 import Document
from tests.unit.libs.cli.scripted_mesh import Command, Script, run_command


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with documents, things that are none, and the same name twice in different places."""
    root = tmp_path / "handbook"
    (root / "it").mkdir(parents=True)
    (root / ".git").mkdir()
    (root / "readme.md").write_text("one")
    (root / "it" / "readme.md").write_text("two")
    (root / "it" / "photo.raw").write_text("three")
    (root / ".git" / "notes.md").write_text("four")
    return root


async def test_folders_are_walked_and_files_named_by_their_way(command: Command, script: Script, folder: Path) -> None:
    ended = await command("ingest", str(folder))
    assert ended.code == 0
    assert set(script.ingested) == {"readme", "it/readme"}
    assert "2 files in the mesh, 10 passages." in ended.err
    again = await command("ingest", str(folder))
    assert "2 of them known already" in again.err


async def test_json_is_one_response_a_line(command: Command, folder: Path) -> None:
    ended = await command("ingest", str(folder), "--json")
    rows = [json.loads(line) for line in ended.out.splitlines()]
    assert {row["document"]["documentId"] for row in rows} == {"readme", "it/readme"}


async def test_options_reach_the_header(command: Command, script: Script, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("open sesame\n")
    await command(
        "ingest", str(folder / "readme.md"), "--allow", "hr", "--effective-from", "2026-01-01", "--effective-to",
        "2027-01-01", "--document-id", "policy", "--title", "Policy", "--password-file", "secret",
    )  # fmt: skip
    header = script.requests[-1]
    assert (header.document_id, header.title, header.file_name) == ("policy", "Policy", "readme.md")
    assert list(header.access.only.groups) == ["hr"]
    assert header.effective_from_time.ToJsonString() == "2026-01-01T00:00:00Z"
    assert header.password == "open sesame"


async def test_without_allow_the_mesh_decides_who_may_read(command: Command, script: Script, folder: Path) -> None:
    await command("ingest", str(folder / "readme.md"))
    assert not script.requests[-1].HasField("access")


async def test_a_broken_file_stops_no_other_and_is_exit_code_2(command: Command, script: Script, folder: Path) -> None:
    (folder / "broken.md").write_text("broken")
    ended = await command("ingest", str(folder))
    assert ended.code == 2
    assert "broken.md was not ingested: The file is damaged beyond reading. (FILE_CORRUPT)" in ended.err
    assert set(script.ingested) == {"readme", "it/readme"}


async def test_results_come_in_the_order_of_the_files(command: Command, tmp_path: Path) -> None:
    names = [f"{letter}.md" for letter in "hgfedcba"]
    for name in names:
        (tmp_path / name).write_text(name)
    ended = await command("ingest", *names)
    assert [line.split()[0] for line in ended.out.splitlines()] == names


async def test_two_files_that_would_become_one_document_are_refused_before_anything_is_sent(
    command: Command, script: Script, folder: Path
) -> None:
    (folder / "readme.html").write_text("five")
    ended = await command("ingest", str(folder))
    assert ended.code == 2
    assert "two versions of one document" in ended.err
    assert script.requests == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("ingest", "missing.pdf"),
        ("ingest", "handbook", "--document-id", "one"),
        ("ingest", "handbook", "--title", "One"),
        ("ingest", "handbook", "--allow", " "),
        ("ingest", "handbook", "--ray-address", "head:6379"),
        ("ingest", "handbook", "--allow", "hr", "--everyone"),
        ("documents", "delete", "a"),
        ("documents", "set-access", "a"),
        ("documents", "set-access", "a", "--nobody", "--everyone"),
    ],
)
async def test_bad_usage_sends_nothing(
    command: Command, script: Script, folder: Path, arguments: tuple[str, ...]
) -> None:
    ended = await command(*arguments)
    assert (ended.code, ended.out, script.requests) == (2, "", [])


async def test_the_list_goes_through_all_pages_and_steers_no_terminal(command: Command) -> None:
    ended = await command("documents", "list")
    assert ended.code == 0
    assert "doc1" in ended.out
    assert "doc2" in ended.out
    assert "\x1b" not in ended.out
    as_json = await command("documents", "list", "--json")
    assert [document["documentId"] for document in as_json.json["documents"]] == ["doc1", "doc2"]


async def test_a_document_that_is_not_there_is_bad_input(command: Command) -> None:
    ended = await command("documents", "show", "nothing")
    assert (ended.code, ended.out) == (2, "")
    assert "DOCUMENT_NOT_FOUND: document_id nothing" in ended.err


async def test_delete_and_set_access(command: Command, script: Script) -> None:
    assert "2 versions" in (await command("documents", "delete", "a", "--yes")).out
    ended = await command("documents", "set-access", "a", "--allow", "hr", "--allow-user", "ana", "--json")
    assert ended.json == {"permissionVersion": "7"}
    assert script.requests[-1].access.only.groups == ["hr"]
    assert "You are not among them" not in ended.err
    ended = await command("documents", "set-access", "a", "--allow", "hr", "--as", "ben:staff")
    assert "You are not among them" in ended.err
    ended = await command("documents", "set-access", "a", "--allow", "hr", "--as", "ben:hr")
    assert "You are not among them" not in ended.err
    await command("documents", "set-access", "a", "--nobody", "--yes")
    assert script.requests[-1].access.WhichOneof("access") == "only"


async def test_search_reranks_and_cuts(command: Command, script: Script) -> None:
    ended = await command("search", "meals", "--top", "2", "--json")
    assert [candidate["passage"]["passageId"] for candidate in ended.json["candidates"]] == ["p3", "p2"]
    assert ended.json["candidates"][0]["relevance"] == pytest.approx(0.2)
    one_leg = await command("search", "meals", "--leg", "keyword")
    assert "text 1" in one_leg.out
    assert [query.leg for query in script.requests[-1].queries] == [2]


async def test_check_gives_a_verdict_for_each_line(command: Command, tmp_path: Path) -> None:
    rows = [
        {"id": "a", "claim": "It is 64", "evidence": "It is 64 euros."},
        {"id": "b", "claim": "It is 70", "evidence": ["It is 64 euros.", "Half of it."]},
    ]
    lines = "\n".join(json.dumps(row) for row in rows)
    ended = await command("check", "-", stdin=lines.encode())
    assert ended.code == 3
    assert "a  supported" in ended.out
    assert "b  unsupported" in ended.out
    (tmp_path / "good.jsonl").write_text(json.dumps(rows[0]) + "\n")
    good = await command("check", "good.jsonl", "--json")
    assert good.code == 0
    assert good.json["verdicts"][0]["verdict"] == "VERDICT_SUPPORTED"


async def test_check_names_the_line_that_is_wrong(command: Command) -> None:
    ended = await command("check", "-", stdin=b'{"claim": "x", "evidence": "x"}\n{"claim": "x"}\n')
    assert (ended.code, ended.out) == (2, "")
    assert "line 2" in ended.err


async def test_doctor_looks_at_the_mesh_it_is_pointed_to(command: Command, state_dir: Path) -> None:
    target = f"unix:{state_dir / 'run' / 'mesh.sock'}"
    ended = await command("doctor", "--target", target)
    assert ended.code == 0, ended.out
    assert "is serving" in ended.out
    assert "2 documents and 9 passages for this caller" in ended.out


async def test_an_address_where_nobody_listens_is_exit_code_5(tmp_path: Path) -> None:
    ended = await run_command("ask", "x", "--target", "127.0.0.1:1", "--timeout", "3", cwd=tmp_path, environ={})
    assert (ended.code, ended.out) == (5, "")
    doctor = await run_command("doctor", "--target", "127.0.0.1:1", "--timeout", "3", cwd=tmp_path, environ={})
    assert doctor.code == 5
    assert "does not answer" in doctor.out


async def test_closing_a_document_to_everyone_asks_first(command: Command, script: Script) -> None:
    ended = await command("documents", "set-access", "a", "--nobody")
    assert ended.code == 2
    assert "CITEMESH_DOCUMENTS_ADMIN_GROUPS" in ended.err
    assert "add --yes" in ended.err
    assert script.requests == []


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("pipe.md", "pipe.md: it is a pipe, not a file"),
        ("loop.md", "loop.md: Too many levels of symbolic links"),
        ("/dev/zero", "/dev/zero: it is a device, not a file"),
        ("gone.md", "gone.md: there is no such file or folder"),
    ],
)
async def test_what_is_no_file_is_named_and_never_opened(
    command: Command, script: Script, tmp_path: Path, name: str, said: str
) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "loop.md").symlink_to("loop.md")
    ended = await command("ingest", name)
    assert (ended.code, ended.out, script.requests) == (2, "", [])
    assert said in ended.err
    assert "Traceback" not in ended.err


async def test_what_is_no_file_in_a_folder_stops_no_other(command: Command, script: Script, folder: Path) -> None:
    os.mkfifo(folder / "pipe.md")
    (folder / "loop.md").symlink_to("loop.md")
    ended = await command("ingest", str(folder))
    assert ended.code == 2
    assert "pipe.md was not ingested: it is a pipe, not a file" in ended.err
    assert "loop.md was not ingested: Too many levels of symbolic links" in ended.err
    assert set(script.ingested) == {"readme", "it/readme"}


async def test_a_file_whose_read_fails_is_named(command: Command, script: Script) -> None:
    ended = await command("ingest", "/proc/self/mem")
    assert ended.code == 2
    assert "/proc/self/mem was not ingested: Input/output error" in ended.err
    assert "Traceback" not in ended.err
    assert script.ingested == {}


async def test_a_file_that_takes_the_place_of_another_says_so(command: Command, script: Script, tmp_path: Path) -> None:
    before = Document(document_id="q-1", document_version=1, title="Opening hours", media_type="text/markdown")
    script.documents = [before]
    script.stored = Document(document_id="q-1", document_version=2, title="Prices", media_type="text/markdown")
    script.stored.effective_from_time.FromJsonString("2026-01-01T00:00:00Z")
    (tmp_path / "q-1.md").write_text("# Prices")
    ended = await command("ingest", "q-1.md")
    assert 'q-1.md replaces "Opening hours" (text/markdown) as version 2 of q-1; give --document-id' in ended.err
    assert "version 2 (new version): 0 passages, in force from 2026-01-01" in ended.out

    script.stored.title = before.title
    ended = await command("ingest", "q-1.md")
    assert "replaces" not in ended.err
    script.stored.title = "Prices"
    ended = await command("ingest", "q-1.md", "--document-id", "prices")
    assert "replaces" not in ended.err
