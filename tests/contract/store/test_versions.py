"""Which version is in force, and lists of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from citemesh.rpc.errors import ServiceError
from citemesh.store.contract import StoreReader, StoreWriter
from citemesh.v1 import errors_pb2
from tests.contract.store.library import ANNA, OTHER_TENANT, day, found, nearest, only, put


def test_the_version_in_force_answers(writer: StoreWriter, reader: StoreReader, tmp_path: Path) -> None:
    put(writer, tmp_path, "policy", ["Rule of 2024."], start="2024-01-01")
    put(writer, tmp_path, "policy", ["Rule of 2025."], start="2025-01-01", end="2026-01-01")
    expected = {
        "2023-12-31": set(),
        "2024-01-01": {"Rule of 2024."},
        "2024-12-31": {"Rule of 2024."},
        "2025-01-01": {"Rule of 2025."},
        "2026-01-01": set(),
    }
    for moment, texts in expected.items():
        assert found(reader, ANNA, "rule", day(moment)) == texts
        assert set(nearest(reader, ANNA, "Rule of 2024.", day(moment))) == texts
        document = reader.get_document(ANNA, "policy", as_of=day(moment))
        assert (document is not None) == bool(texts)
    first, second = reversed(reader.document_versions(ANNA, "policy"))
    assert first.superseded
    assert not second.superseded
    old = reader.get_document(ANNA, "policy", 1)
    assert old is not None
    assert old.document_version == 1


def test_a_later_correction_of_the_same_start_wins(writer: StoreWriter, reader: StoreReader, tmp_path: Path) -> None:
    put(writer, tmp_path, "policy", ["Rule, misprinted."], start="2024-01-01")
    put(writer, tmp_path, "policy", ["Rule, corrected."], start="2024-01-01")
    assert found(reader, ANNA, "rule", day("2024-06-01")) == {"Rule, corrected."}


def test_a_superseded_passage_is_known_as_such(writer: StoreWriter, reader: StoreReader, tmp_path: Path) -> None:
    put(writer, tmp_path, "policy", ["Rule of 2024."], start="2024-01-01")
    put(writer, tmp_path, "policy", ["Rule of 2025."], start="2025-01-01")
    assert reader.passages_by_id(["policy@1#0"], reader.allowed_versions(ANNA)) == {}
    assert reader.passages_not_in_force(["policy@1#0"], ANNA).keys() == {"policy@1#0"}
    assert reader.passages_not_in_force(["policy@1#0"], OTHER_TENANT) == {}


def test_lists_come_in_pages(writer: StoreWriter, reader: StoreReader, tmp_path: Path) -> None:
    for number in range(5):
        put(writer, tmp_path, f"doc{number}", [f"Text {number}."], access=only("hr") if number == 2 else None)
    put(writer, tmp_path, "doc1", ["Text 1, revised."])
    seen: list[tuple[str, int]] = []
    after = ""
    while True:
        page, after = reader.list_documents(ANNA, include_superseded=True, after=after, limit=2)
        assert len(page) <= 2
        seen += [(each.document_id, each.document_version) for each in page]
        if not after:
            break
    assert seen == [("doc0", 1), ("doc1", 2), ("doc1", 1), ("doc3", 1), ("doc4", 1)]
    page, after = reader.list_documents(ANNA)
    assert [each.document_id for each in page] == ["doc0", "doc1", "doc3", "doc4"]
    assert after == ""
    with pytest.raises(ServiceError) as raised:
        reader.list_documents(ANNA, after="nonsense")
    assert raised.value.reason == errors_pb2.ERROR_REASON_INVALID_FIELD
