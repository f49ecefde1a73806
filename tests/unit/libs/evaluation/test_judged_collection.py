"""Collections in the BEIR layout, with judgements as a table, as lines or as spans."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from citemesh.evaluation.judged_collection import CollectionError, read_collection
from citemesh.evaluation.retrieval_run import find_spans, store_id
from citemesh.v1 import evidence_pb2


def write_lines(path: Path, *rows: object) -> None:
    text = "".join(json.dumps(row) + "\n" for row in rows)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_lines(
        tmp_path / "corpus.jsonl.gz",
        {"_id": "d1", "title": "Leave", "text": "Line\u2028one."},
        {"doc_id": "d2", "text": "Two."},
    )
    write_lines(
        tmp_path / "queries.jsonl",
        {"_id": "q1", "text": "one?", "split": "test"},
        {"_id": "q2", "text": "two?", "split": "dev"},
        {"_id": "q3", "text": "unjudged?"},
    )
    return tmp_path


def test_a_table_of_judgements(folder: Path) -> None:
    (folder / "qrels").mkdir()
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\n")
    collection = read_collection(folder)
    assert [document.document_id for document in collection.documents] == ["d1", "d2"]
    assert [(query.query_id, dict(query.grades)) for query in collection.queries] == [("q1", {"d1": 2.0})]


def test_judgements_as_lines_and_one_split(folder: Path) -> None:
    write_lines(
        folder / "qrels.jsonl",
        {"query_id": "q1", "doc_id": "d1", "rel": 1},
        {"query_id": "q2", "doc_id": "d2", "rel": 1},
    )
    assert [query.query_id for query in read_collection(folder, "dev").queries] == ["q2"]


def test_spans_stand_for_judgements(folder: Path) -> None:
    write_lines(folder / "queries.jsonl", {"_id": "q", "text": "?", "spans": [{"doc_id": "d1", "start": 0, "end": 4}]})
    (query,) = read_collection(folder).queries
    assert (query.spans[0].start, query.spans[0].end) == (0, 4)


def test_what_is_wrong_is_named(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(CollectionError, match="0 judged queries"):
        read_collection(folder)
    (folder / "queries.jsonl").write_text("{\n")
    with pytest.raises(CollectionError, match=r"queries\.jsonl, line 1"):
        read_collection(folder)
    (folder / "queries.jsonl").unlink()
    with pytest.raises(CollectionError, match=r"no queries\.jsonl"):
        read_collection(folder)


def test_ids_that_the_mesh_refuses_are_told_apart() -> None:
    assert store_id("CACM-0001") == "CACM-0001"
    ids = {store_id(name) for name in ("José", "Jose!", "...x", "a b", "a-b")}
    assert len(ids) == 5
    assert all(name.isascii() for name in ids)


def test_passages_are_found_in_their_text_whatever_the_white_space() -> None:
    text = "One  two\nthree. Four five."
    passages = [evidence_pb2.Passage(text="two three."), evidence_pb2.Passage(text="not there")]
    assert [text[start:end] for start, end in find_spans(text, passages)] == ["two\nthree."]
