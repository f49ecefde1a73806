"""What was found: ids as the mesh takes them, places of passages, and the file that a run goes on with."""

from __future__ import annotations

from pathlib import Path

import pytest

from citemesh.evaluation.collection_files import CollectionError
from citemesh.evaluation.collection_ingest import store_id
from citemesh.evaluation.found_passages import FoundPassage, PassagePlaces, Searched, find_passages
from citemesh.evaluation.found_rows import FoundRows
from citemesh.evaluation.judged_collection import CorpusDocument, JudgedQuery, Span
from citemesh.v1 import evidence_pb2

TEXT = "One  two\nthree. Four five."
QUERY = JudgedQuery("q1", "Which\u2028one?", "small", {}, (Span("d1", 0, 4),))
ORIGIN = {"corpus": "aa", "encoder": "model@1", "store": "embedded"}
OTHER = JudgedQuery("q2", "Another?", "small", {"d1": 1.0})


def make_passage(passage_id: str, text: str, document_id: str = "d1") -> evidence_pb2.Passage:
    return evidence_pb2.Passage(passage_id=passage_id, document_id=document_id, text=text)


def test_ids_that_the_mesh_refuses_are_told_apart() -> None:
    assert store_id("CACM-0001") == "CACM-0001"
    ids = {store_id(name) for name in ("José", "Jose!", "...x", "a b", "a-b")}
    assert len(ids) == 5
    assert all(name.isascii() for name in ids)


def test_passages_are_found_in_their_text_whatever_the_white_space() -> None:
    places = PassagePlaces([CorpusDocument("d1", "", TEXT)])
    span = places.find(make_passage("p1", "two three."))
    assert span is not None
    assert TEXT[slice(*span)] == "two\nthree."
    assert places.find(make_passage("p2", "not there")) is None
    assert places.find(make_passage("p3", "")) is None
    assert places.find(make_passage("p4", "One", document_id="gone")) is None


def test_places_are_looked_for_in_wanted_documents_alone() -> None:
    places = PassagePlaces([CorpusDocument("d1", "", TEXT), CorpusDocument("d2", "", TEXT)])
    passages = [make_passage("p1", "One"), make_passage("p2", "One", "d2")]
    assert find_passages(QUERY, passages, places) == [FoundPassage("p1", "d1", (0, 3)), FoundPassage("p2", "d2")]


@pytest.fixture
def rows(tmp_path: Path) -> FoundRows:
    rows = FoundRows(tmp_path / "rows.jsonl", ORIGIN)
    rows.add(Searched(QUERY, {"keyword": [FoundPassage("p1", "d1", (0, 3)), FoundPassage("p2", "d2")], "dense": []}))
    rows.add(Searched(OTHER, {"keyword": [FoundPassage("p2", "d2")]}))
    return rows


def test_what_was_found_is_read_again(rows: FoundRows) -> None:
    read = rows.read([QUERY, OTHER], ["keyword"])
    assert read.keys() == {"q1", "q2"}
    assert read["q1"].passages["keyword"] == [FoundPassage("p1", "d1", (0, 3)), FoundPassage("p2", "d2")]
    assert read["q1"].documents("keyword") == ["d1", "d2"]


def test_what_was_not_searched_for_in_every_way_is_searched_for_again(rows: FoundRows) -> None:
    assert rows.read([QUERY, OTHER], ["keyword", "dense"]).keys() == {"q1"}


def test_a_query_in_other_words_is_another_query(rows: FoundRows) -> None:
    changed = JudgedQuery("q2", "Something else?", "small", {"d1": 1.0})
    assert rows.read([QUERY, changed], ["keyword"]).keys() == {"q1"}


def test_a_line_cut_off_is_left_out_and_the_file_goes_on_behind_it(rows: FoundRows, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(path.read_text(encoding="utf-8")[:-20], encoding="utf-8")
    assert rows.read([QUERY, OTHER], ["keyword"]).keys() == {"q1"}
    rows.add(Searched(OTHER, {"keyword": []}))
    assert rows.read([QUERY, OTHER], ["keyword"]).keys() == {"q1", "q2"}


def test_a_line_cut_off_inside_a_character_is_left_out_too(rows: FoundRows, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"corpus": "aa", "text": "' + "Ü".encode()[:1])
    assert rows.read([QUERY, OTHER], ["keyword"]).keys() == {"q1", "q2"}
    assert path.read_bytes() == whole


def test_rows_of_another_system_are_refused(rows: FoundRows, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    with pytest.raises(CollectionError, match=r"rows of 'model@1', and the encoder is now 'model@2'"):
        FoundRows(path, ORIGIN | {"encoder": "model@2"}).read([QUERY], ["keyword"])
    with pytest.raises(CollectionError, match=r"does not say, and the index is now"):
        FoundRows(path, ORIGIN | {"index": "2 documents"}).read([QUERY], ["keyword"])
    assert FoundRows(path, {"corpus": "aa"}).read([QUERY], ["keyword"]).keys() == {"q1"}
    for line in ("[]", "1", '"text"'):
        path.write_text(line + "\n", encoding="utf-8")
        with pytest.raises(CollectionError, match="line 1"):
            rows.read([QUERY], ["keyword"])


def test_rows_of_other_documents_and_other_files_are_refused(rows: FoundRows, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    with pytest.raises(CollectionError, match="other documents"):
        FoundRows(path, ORIGIN | {"corpus": "bb"}).read([QUERY], ["keyword"])
    path.write_text('{"id": "a row of something else"}\n', encoding="utf-8")
    with pytest.raises(CollectionError, match="line 1"):
        rows.read([QUERY], ["keyword"])
    assert FoundRows(tmp_path / "none.jsonl", ORIGIN).read([QUERY], ["keyword"]) == {}
