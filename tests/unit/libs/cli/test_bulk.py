"""Many files: what is known is not sent again, an overloaded or vanished mesh, what the Ray engine refuses."""

from __future__ import annotations

import errno
import hashlib
import io
from pathlib import Path

import pytest

from citemesh.cli.connection import connect
from citemesh.cli.known import compare
from citemesh.cli.options import read_common
from citemesh.cli.output import Output
from citemesh.cli.sending import send_files
from citemesh.rpc.errors import ServiceError
from citemesh.v1 import document_pb2, documents_pb2, errors_pb2
from tests.unit.libs.cli.scripted_mesh import Command, Script


@pytest.fixture
def many(tmp_path: Path) -> Path:
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(12):
        (folder / f"file {number}.md").write_text(f"text {number}")
    return folder


def stored(text: str, **fields: object) -> document_pb2.Document:
    document = document_pb2.Document(
        document_id="file-1",
        document_version=1,
        size_bytes=len(text),
        content_hash=hashlib.sha256(text.encode()).hexdigest(),
    )
    document.access.everyone.SetInParent()
    for name, value in fields.items():
        setattr(document, name, value)
    return document


def header(**fields: object) -> documents_pb2.IngestHeader:
    return documents_pb2.IngestHeader(file_name="file 1.md", **fields)  # type: ignore[arg-type]  # fields by name


def test_the_same_file_is_known_by_its_content(many: Path) -> None:
    found = compare([stored("text 1")], many / "file 1.md", header())
    assert found is not None
    assert found.result == documents_pb2.INGEST_RESULT_UNCHANGED
    assert found.document.document_version == 1


@pytest.mark.parametrize(
    ("document", "asked"),
    [
        (stored("text 2"), header()),
        (stored("other length"), header()),
        (stored("text 1", title="One"), header(title="Two")),
        (
            stored("text 1"),
            header(access=document_pb2.AccessPolicy(only=document_pb2.AllowedPrincipals(groups=["hr"]))),
        ),
    ],
    ids=["content", "size", "title", "access"],
)
def test_what_differs_is_sent(many: Path, document: document_pb2.Document, asked: documents_pb2.IngestHeader) -> None:
    assert compare([document], many / "file 1.md", asked) is None


def test_another_date_makes_another_version(many: Path) -> None:
    asked = header()
    asked.effective_from_time.FromJsonString("2026-01-01T00:00:00Z")
    assert compare([stored("text 1")], many / "file 1.md", asked) is None


async def test_a_second_ingest_sends_only_what_is_missing(command: Command, script: Script, many: Path) -> None:
    script.documents = [stored("text 1")]
    ended = await command("ingest", str(many))
    assert ended.code == 0
    assert "12 files in the mesh, 1 of them known already" in ended.err
    assert len(script.ingested) == 11
    assert "file 1.md → file-1, version 1 (unchanged)" in ended.out
    asked = [request.document_id for request in script.requests if isinstance(request, documents_pb2.GetRequest)]
    assert sorted(asked) == sorted(f"file-{number}" for number in range(12))
    assert not [request for request in script.requests if isinstance(request, documents_pb2.ListRequest)]


@pytest.mark.parametrize("rpc", ["Get", "Ingest"])
async def test_an_overloaded_mesh_is_asked_again(command: Command, script: Script, many: Path, rpc: str) -> None:
    script.passing[rpc] = [ServiceError(errors_pb2.ERROR_REASON_OVERLOADED, "Send this one later.")] * 2
    ended = await command("ingest", str(many / "file 1.md"))
    assert ended.code == 0
    kinds = {"Get": documents_pb2.GetRequest, "Ingest": documents_pb2.IngestHeader}
    counts = {name: sum(isinstance(request, kind) for request in script.requests) for name, kind in kinds.items()}
    assert counts == {"Get": 1, "Ingest": 1} | {rpc: 3}


async def test_a_vanished_mesh_ends_the_ingest_and_says_how_to_go_on(
    command: Command, script: Script, many: Path
) -> None:
    script.errors["Ingest"] = ServiceError(errors_pb2.ERROR_REASON_UPSTREAM_UNAVAILABLE, "Nobody answers.")
    ended = await command("ingest", str(many), "--jobs", "1")
    assert ended.code == 5
    assert "10 files not tried. The same command again goes on" in ended.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(("--target", "localhost:1"), "leave out --target"), ((), "A mesh runs on this store")],
)
async def test_ray_writes_no_store_that_a_mesh_holds(
    command: Command, script: Script, many: Path, arguments: tuple[str, ...], words: str
) -> None:
    pytest.importorskip("ray", reason="the extra `ray` is not installed")
    ended = await command("ingest", str(many), "--engine", "ray", *arguments)
    assert ended.code in (2, 5)
    assert words in ended.err
    assert script.requests == []


class FailingLater(io.BytesIO):
    """A file whose second read fails."""

    def read(self, size: int | None = -1, /) -> bytes:
        if self.tell():
            raise OSError(errno.EIO, "Input/output error")
        return super().read(size)


async def test_a_file_whose_read_fails_on_the_way_is_named(
    state_dir: Path, many: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = many / "file 1.md"
    monkeypatch.setattr(Path, "open", lambda *_: FailingLater(b"x" * 600_000))
    output = Output(False)
    async with connect(read_common(None, False, None, 30.0, state_dir), output) as connection:
        tally = await send_files(connection, output, [(failing, header())])
    assert [(failure.path, failure.reason) for failure in tally.failures] == [(failing, "Input/output error")]
    assert tally.responses == []
