"""`citemesh ingest --engine ray` over a local Ray: the same documents as by the mesh, files that fail, going on."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from citemesh.auth.principal import Principal
from citemesh.store.embedded.open import open_reader
from tests.conftest import REPO

pytestmark = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="the extra `ray` is not installed")
CORPUS = REPO / "demo" / "corpus"
ANA = Principal("default", "ana", frozenset({"staff"}))


def ingest(state_dir: Path, *arguments: str) -> tuple[int, list[dict[str, Any]], str]:
    """Run the command as its own process: Ray's threads and warnings stay out of the tests' process."""
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "citemesh.cli",
            "ingest",
            *arguments,
            "--state-dir",
            str(state_dir),
            "--json",
            "--as",
            "ana:staff",
        ],
        cwd=REPO,
        env=os.environ | {"ORT_DISABLE_TELEMETRY": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=100)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    return process.returncode, [json.loads(line) for line in out.splitlines()], err


def read_store(state_dir: Path) -> dict[str, list[str]]:
    """The texts of each document."""
    reader = open_reader(state_dir)
    try:
        versions = reader.allowed_versions(ANA)
        documents, _ = reader.list_documents(ANA)
        return {
            each.document_id: [passage.text for passage in reader.document_passages(versions, each.document_id)]
            for each in documents
        }
    finally:
        reader.close()


@pytest.mark.timeout(240)
def test_ray_stores_what_the_mesh_stores(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    for name in ("leave-policy.md", "expenses.html", "onboarding.docx"):
        (folder / name).write_bytes((CORPUS / name).read_bytes())
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7 and nothing else")
    (folder / "empty.md").write_bytes(b"")
    code, by_mesh, _ = ingest(tmp_path / "mesh", str(folder))
    assert code == 2
    code, by_ray, err = ingest(tmp_path / "ray", str(folder), "--engine", "ray", "--allow", "staff")
    assert code == 2, err
    assert "broken.pdf was not ingested" in err
    assert "empty.md was not ingested" in err
    assert [row["document"]["contentHash"] for row in by_ray] == [row["document"]["contentHash"] for row in by_mesh]
    assert [row["result"] for row in by_ray] == ["INGEST_RESULT_CREATED"] * 3
    assert read_store(tmp_path / "ray") == read_store(tmp_path / "mesh")
    good = [str(folder / name) for name in ("leave-policy.md", "expenses.html", "onboarding.docx")]
    code, again, err = ingest(tmp_path / "ray", *good, "--engine", "ray")
    assert code == 0, err
    assert [row["result"] for row in again] == ["INGEST_RESULT_UNCHANGED"] * 3
    assert "3 of them known already" in err
