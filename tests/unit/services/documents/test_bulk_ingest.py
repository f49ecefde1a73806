"""The program of the bulk ingest: what it tells line by line, and that a store which another holds is left alone."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from citemesh.rpc.errors import reason_name
from citemesh.store.open import open_writer
from citemesh.v1 import errors_pb2
from citemesh.v1.documents_pb2 import INGEST_RESULT_UNCHANGED, IngestHeader, IngestResponse
from services.documents import bulk_ingest
from services.documents.bulk import Failure, FileResult
from tests.unit.services.documents.serving import RULES, Mesh
from tests.unit.services.documents.word_encoder import WordEncoder


class Recorded(bulk_ingest.Telling):
    """Keeps the events."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    def tell(self, event: str, path: Path | None = None, **fields: object) -> None:
        self.events.append({"event": event, "path": path, **fields})


def make_job(state_dir: Path, *paths: Path) -> dict[str, Any]:
    header = base64.b64encode(IngestHeader(file_name="rules.md").SerializeToString()).decode()
    return {
        "files": [{"path": str(path), "header": header} for path in paths],
        "state_dir": str(state_dir),
        "metadata": [["x-citemesh-tenant", "acme"], ["x-citemesh-user", "ada"], ["x-citemesh-groups", "staff"]],
        "ray_address": None,
        "at_once": None,
        "timeout_s": 10.0,
    }


async def test_a_store_that_another_process_writes_is_refused(mesh: Mesh, tmp_path: Path) -> None:
    recorded = Recorded()
    await bulk_ingest.ingest(make_job(mesh.state_dir, tmp_path / "a.md"), recorded)
    (event,) = recorded.events
    assert event["event"] == "refused"
    assert reason_name(event["reason"]) == "STORE_UNAVAILABLE"


async def test_known_files_are_told_and_bad_ones_stop_no_other(
    mesh: Mesh, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await mesh.ingest(RULES)
    await mesh.service.close()
    paths = [tmp_path / name for name in ("known.md", "gone.md", "slow.md")]
    paths[0].write_text(RULES)
    paths[2].write_text("Another text.")
    encoder = WordEncoder()
    monkeypatch.setattr("services.documents.encoding.load_encoder", lambda *_: encoder)

    def read_files(files: Any, environ: Any, address: Any, at_once: Any, timeout_s: Any) -> Any:
        assert [path.name for path, _ in files] == ["gone.md", "slow.md"]
        assert timeout_s == 10.0
        for path, _ in files:
            known = errors_pb2.ERROR_REASON_DEADLINE_EXCEEDED
            reason = known if path.exists() else errors_pb2.ERROR_REASON_UNSPECIFIED
            yield FileResult(path, failure=Failure(reason, "It did not work.", {}))

    monkeypatch.setattr(bulk_ingest, "read_files", read_files)
    recorded = Recorded()
    await bulk_ingest.ingest(make_job(mesh.state_dir, *paths), recorded)
    kinds = [(event["event"], event["path"].name) for event in recorded.events]
    assert kinds[0] == ("known", "known.md")
    assert kinds[1:] == [("begun", "gone.md"), ("failed", "gone.md"), ("begun", "slow.md"), ("failed", "slow.md")]
    response = IngestResponse.FromString(base64.b64decode(recorded.events[0]["response"]))
    assert (response.document.document_id, response.result) == ("rules", INGEST_RESULT_UNCHANGED)
    assert recorded.events[2]["reason"] == errors_pb2.ERROR_REASON_UNSPECIFIED
    assert reason_name(recorded.events[4]["reason"]) == "DEADLINE_EXCEEDED"
    # Nothing holds the store any more.
    open_writer(mesh.state_dir).close()
