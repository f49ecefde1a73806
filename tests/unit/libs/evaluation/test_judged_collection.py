"""Collections in the BEIR layout, with judgements as a table, as lines or as spans."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest

from citemesh.evaluation.collection_files import CollectionError
from citemesh.evaluation.judged_collection import CorpusDocument, digest_documents, read_collection


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


@pytest.mark.parametrize(
    ("name", "row", "problem"),
    [
        ("queries.jsonl", {"_id": "q", "text": "?", "spans": [{"doc_id": "d9", "start": 0, "end": 4}]}, "'d9', which"),
        ("queries.jsonl", {"_id": "q", "text": "?", "spans": [{"doc_id": "d1", "start": 4, "end": 99}]}, "not within"),
        ("queries.jsonl", {"_id": "q", "text": "?", "spans": [{"doc_id": "d1", "start": 4}]}, 'needs "doc_id"'),
        ("queries.jsonl", {"_id": "q", "spans": [{"doc_id": "d1", "start": 0, "end": 4}]}, 'no "text"'),
        ("queries.jsonl", {"text": "?"}, 'neither "_id" nor "query_id"'),
        ("queries.jsonl", ["q", "?"], "no JSON object"),
        ("corpus.jsonl.gz", {"_id": "d1"}, 'no "text"'),
        ("qrels.jsonl", {"query_id": "q1"}, 'needs "query_id"'),
        ("qrels.jsonl", {"query_id": "q1", "doc_id": "d1", "rel": "high"}, 'needs "query_id"'),
    ],
)
def test_a_bad_row_is_named(folder: Path, name: str, row: object, problem: str) -> None:
    write_lines(folder / name, row)
    with pytest.raises(CollectionError, match=rf"{re.escape(name)}, line 1: .*{re.escape(problem)}"):
        read_collection(folder)


@pytest.mark.parametrize("name", ["corpus.jsonl.gz", "queries.jsonl"])
def test_an_id_stands_for_one_thing(folder: Path, name: str) -> None:
    row = {"_id": "x", "text": "once"}
    write_lines(folder / name, row, row)
    with pytest.raises(CollectionError, match=r"line 2: .*there twice"):
        read_collection(folder)


def test_a_bad_line_of_a_table_is_named(folder: Path) -> None:
    (folder / "qrels").mkdir()
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\thigh\n")
    with pytest.raises(CollectionError, match=r"test\.tsv, line 2"):
        read_collection(folder)


def test_a_corpus_is_known_by_what_it_holds() -> None:
    one, other = CorpusDocument("a", "Leave", "One."), CorpusDocument("b", "", "Two.")
    assert digest_documents([one, other]) == digest_documents([other, one])
    changed = [
        CorpusDocument("a", "Leave", "One"),
        CorpusDocument("a", "Leave One.", ""),
        CorpusDocument("a", "", "One."),
    ]
    assert len({digest_documents([each, other]) for each in (one, *changed)}) == 4
