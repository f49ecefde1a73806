"""What a reader has in memory of passages, and what it may not bring back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import opensearchpy
import pytest

from citemesh.store.contract import StoreReader, StoreWriter
from citemesh.v1.evidence_pb2 import Passage
from tests.contract.store.library import ANNA, HANNA, OTHER_TENANT, embed, make_passage, only, put


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The indexes that searches were sent to."""
    sent: list[str] = []
    search = opensearchpy.OpenSearch.search

    def record(client: opensearchpy.OpenSearch, **given: Any) -> Any:
        sent.append(given.get("index", ""))
        return search(client, **given)

    monkeypatch.setattr(opensearchpy.OpenSearch, "search", record)
    return sent


def test_what_was_found_is_not_asked_for_again(
    writer: StoreWriter, reader: StoreReader, tmp_path: Path, searched: list[str]
) -> None:
    put(writer, tmp_path, "policy", [make_passage("Travel rules.", section="s1"), "Salary rules."])
    versions = reader.allowed_versions(ANNA)
    keys = [hit.passage_key for hit in reader.keyword_search("rules", versions, 5)]
    searched.clear()
    places = {each.passage_id: each for each in reader.places(keys, ["policy@1#0"], versions)}
    assert searched == []
    assert set(places) == {"policy@1#0", "policy@1#1"}
    assert (places["policy@1#0"].document_id, places["policy@1#0"].section_id) == ("policy", "s1")
    first = reader.passages_by_id(list(places), versions)
    first["policy@1#0"].text = "Changed by a caller."
    assert _texts(reader.passages_by_key(keys, versions)) == {"Travel rules.", "Salary rules."}
    assert searched == []


def test_what_was_read_once_is_not_asked_for_again(
    writer: StoreWriter, reader: StoreReader, tmp_path: Path, searched: list[str]
) -> None:
    put(writer, tmp_path, "policy", ["Travel rules.", "Salary rules."])
    versions = reader.allowed_versions(ANNA)
    ids = ["policy@1#0", "policy@1#1"]
    searched.clear()
    assert _texts(reader.passages_by_id(ids, versions)) == {"Travel rules.", "Salary rules."}
    assert len(searched) == 1
    keys = [place.passage_key for place in reader.places([], ids, versions)]
    assert _texts(reader.passages_by_key(keys, versions)) == {"Travel rules.", "Salary rules."}
    assert len(searched) == 1


def test_what_may_not_be_read_stays_unread(writer: StoreWriter, reader: StoreReader, tmp_path: Path) -> None:
    put(writer, tmp_path, "pay", ["Salary bands."], access=only("hr"))
    allowed = reader.allowed_versions(HANNA)
    keys = [hit.passage_key for hit in reader.keyword_search("salary", allowed, 5)]
    assert reader.passages_by_key(keys, allowed)
    for principal in (ANNA, OTHER_TENANT):
        versions = reader.allowed_versions(principal)
        assert reader.passages_by_key(keys, versions) == {}
        assert reader.passages_by_id(["pay@1#0"], versions) == {}
        assert reader.places(keys, ["pay@1#0"], versions) == []


def test_what_was_replaced_or_removed_is_left_out(writer: StoreWriter, reader: StoreReader, tmp_path: Path) -> None:
    put(writer, tmp_path, "policy", ["Old rule.", make_passage("Kept rule.", page=2)])
    before = reader.allowed_versions(ANNA)
    keys = [hit.passage_key for hit in reader.keyword_search("rule", before, 5)]
    assert _texts(reader.passages_by_key(keys, before)) == {"Old rule.", "Kept rule."}
    new = make_passage("New rule.")
    writer.replace_pages("acme", "policy", 1, [1], passages=[new], vectors=embed(new.text)[None, :])
    after = reader.allowed_versions(ANNA)
    assert reader.passages_by_key(keys, before) == {}
    assert reader.places(keys, ["policy@1#0"], after) == []
    assert _texts(reader.passages_by_id(["policy@1#0", "policy@1#1", "policy@1#2"], after)) == {
        "Kept rule.",
        "New rule.",
    }
    writer.delete("acme", "policy")
    reader.allowed_versions(ANNA)
    assert reader.passages_by_id(["policy@1#1", "policy@1#2"], after) == {}


def _texts(found: dict[int, Passage] | dict[str, Passage]) -> set[str]:
    return {each.text for each in found.values()}
