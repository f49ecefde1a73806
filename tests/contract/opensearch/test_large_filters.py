"""Where a filter reaches many passages or many sections."""

from __future__ import annotations

from pathlib import Path

import pytest

from citemesh.store.contract import StoreReader, StoreWriter
from citemesh.store.opensearch import connection as connections
from citemesh.store.opensearch import legs
from citemesh.v1.document_pb2 import Section
from tests.contract.store.library import ANNA, HANNA, embed, make_passage, nearest, only, put


def test_the_graph_finds_what_comparing_finds(
    writer: StoreWriter, reader: StoreReader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        texts = [f"Rule {number} of {part}." for part in range(10)]
        put(writer, tmp_path, f"d{number}", texts, access=only("hr") if number % 2 else None)
    versions = reader.allowed_versions(HANNA)
    compared = reader.dense_search(embed("Rule 3 of 3."), versions, 5)
    compared_by_anna = nearest(reader, ANNA, "Rule 3 of 3.")
    monkeypatch.setattr(legs, "_MAX_EXACT", 0)
    followed = reader.dense_search(embed("Rule 3 of 3."), versions, 5)
    assert [hit.passage_key for hit in followed] == [hit.passage_key for hit in compared]
    assert [hit.leg_score for hit in followed] == pytest.approx([hit.leg_score for hit in compared], abs=1e-5)
    assert followed[0].leg_score == pytest.approx(1.0, abs=1e-5)
    assert nearest(reader, ANNA, "Rule 3 of 3.") == compared_by_anna


def test_more_than_one_answer_holds_is_read_in_parts(
    writer: StoreWriter, reader: StoreReader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sections = [Section(section_id=f"s{number}", number=str(number), title=f"Part {number}") for number in range(12)]
    texts = [make_passage(f"Text {number}.", section=f"s{number}") for number in range(12)]
    put(writer, tmp_path, "long", texts, sections=sections)
    monkeypatch.setattr(connections, "MAX_READ", 5)
    versions = reader.allowed_versions(ANNA)
    assert [each.text for each in reader.document_passages(versions, "long")] == [each.text for each in texts]
    assert [each.section_id for each in reader.sections(ANNA, "long", 1)] == [each.section_id for each in sections]


def test_a_rare_title_is_found_among_many_alike(writer: StoreWriter, reader: StoreReader, tmp_path: Path) -> None:
    alike = [Section(section_id=f"s{number}", title=f"Security policy {number}") for number in range(600)]
    rare = Section(section_id="rare", title="Security of turbines")
    put(writer, tmp_path, "long", ["Text."], sections=[*alike, rare])
    versions = reader.allowed_versions(ANNA)
    found = reader.toc_search("what is the security policy for turbines?", versions, 600)
    assert "rare" in {hit.section.section_id for hit in found}
