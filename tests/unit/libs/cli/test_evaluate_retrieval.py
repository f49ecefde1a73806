"""`citemesh eval retrieval` against a scripted mesh: the shape of its JSON, its tenant, runs in slices, bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from citemesh.v1 import retrieval_pb2
from tests.unit.libs.cli.scripted_mesh import Command, Script

WAYS = {"keyword", "dense", "fused", "two_hop", "reranked"}


def write_collection(folder: Path, text: str = "EUR 64") -> Path:
    """Two documents and two queries; the scripted mesh finds d1, d2, d3 for each, and reranking turns them round."""
    folder.mkdir(parents=True)
    rows = {
        "corpus": [{"_id": "d1", "title": "Meals", "text": text}, {"_id": "d3", "title": "Hotels", "text": "EUR 90"}],
        "queries": [{"_id": "q1", "text": "meals?"}, {"_id": "q2", "text": "hotels?"}],
        "qrels": [{"query_id": "q1", "doc_id": "d1"}, {"query_id": "q2", "doc_id": "d3"}],
    }
    for name, lines in rows.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return folder


async def test_the_shape_of_the_json(command: Command, script: Script, tmp_path: Path) -> None:
    ended = await command("eval", "retrieval", str(write_collection(tmp_path / "small")), "--json")
    assert ended.code == 0, ended.err
    assert ended.json["legs"].keys() == ended.json["intervals"].keys() == WAYS
    assert ended.json["legs"]["keyword"].keys() == {"ndcg@10", "mrr@10", "recall@10", "recall@100", "all@10"}
    assert ended.json["legs"]["fused"]["ndcg@10"] == 0.75
    assert ended.json["intervals"]["fused"]["ndcg@10"] == [0.5, 1.0]
    assert (ended.json["collection"], ended.json["document_count"], ended.json["query_count"]) == ("small", 2, 2)
    assert script.ingested == {"d1": b"EUR 64", "d3": b"EUR 90"}


async def test_reranking_may_be_left_out(command: Command, tmp_path: Path) -> None:
    folder = write_collection(tmp_path / "small")
    ended = await command("eval", "retrieval", str(folder), "--json", "--no-rerank", "--sample", "1")
    assert ended.json["legs"].keys() == WAYS - {"reranked"}
    assert ended.json["query_count"] == 1


async def test_folders_of_one_name_have_tenants_of_their_own(command: Command, script: Script, tmp_path: Path) -> None:
    for folder in (write_collection(tmp_path / "a" / "small"), write_collection(tmp_path / "b" / "small", "EUR 65")):
        assert (await command("eval", "retrieval", str(folder))).code == 0
    first = {principal.tenant_id for principal in script.principals}
    assert len(first) == 2
    await command("eval", "retrieval", str(write_collection(tmp_path / "moved")))
    assert {principal.tenant_id for principal in script.principals} == first


async def test_a_run_goes_on_with_its_rows(command: Command, script: Script, tmp_path: Path) -> None:
    folder, rows = str(write_collection(tmp_path / "small")), str(tmp_path / "rows.jsonl")
    ended = await command("eval", "retrieval", folder, "--json", "--rows", rows, "--sample", "1")
    assert ended.code == 0, ended.err
    script.requests.clear()
    ended = await command("eval", "retrieval", folder, "--json", "--rows", rows)
    assert ended.json["query_count"] == 2
    assert len({r.queries[0].text for r in script.requests if isinstance(r, retrieval_pb2.RetrieveRequest)}) == 1
    script.requests.clear()
    ended = await command("eval", "retrieval", folder, "--rows", rows, "--max-seconds", "0")
    assert ended.code == 0, ended.err
    assert not [request for request in script.requests if isinstance(request, retrieval_pb2.RetrieveRequest)]


async def test_what_the_time_did_not_suffice_for_is_said(command: Command, tmp_path: Path) -> None:
    folder = write_collection(tmp_path / "small")
    ended = await command("eval", "retrieval", str(folder), "--json", "--max-seconds", "0")
    assert ended.code == 0, ended.err
    assert ended.json["query_count"] < 2
    assert "not searched for" in ended.err


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("queries.jsonl", '{"_id": "q", "text": "?", "spans": [{"doc_id": "x", "start": 0, "end": 1}]}\n', "line 1"),
        ("qrels.jsonl", "", "0 judged queries"),
        ("corpus.jsonl", "{\n", "line 1"),
        ("rows.jsonl", "{}\n", "rows cannot be read"),
    ],
)
async def test_bad_input_is_named(command: Command, tmp_path: Path, name: str, content: str, problem: str) -> None:
    folder = write_collection(tmp_path / "small")
    (folder / name).write_text(content, encoding="utf-8")
    ended = await command("eval", "retrieval", str(folder), "--json", "--rows", str(folder / "rows.jsonl"))
    assert ended.code == 2
    assert not ended.out
    assert problem in ended.err
    assert "Traceback" not in ended.err
