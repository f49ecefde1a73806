"""Who may read what, in every way to read: beside a document for all, so that no filter is empty."""

from __future__ import annotations

import shutil
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import pytest

from citemesh.auth.principal import Principal
from citemesh.store.contract import StoreReader, StoreWriter, VersionFilter
from citemesh.store.embedded.keyword_index import index_directory
from citemesh.store.open import open_reader
from citemesh.v1 import document_pb2
from tests.contract.store.library import (
    ANNA,
    HANNA,
    OTHER_TENANT,
    day,
    documents,
    embed,
    everyone,
    make_passage,
    only,
    put,
)


@dataclass(frozen=True)
class Stored:
    """A version whose word, title, section and label no other one has."""

    document_id: str
    document_version: int
    word: str
    number: str
    start: str = ""

    @property
    def passage_id(self) -> str:
        return f"{self.document_id}@{self.document_version}#0"

    @property
    def section_id(self) -> str:
        return f"s{self.number}"

    @property
    def text(self) -> str:
        return f"All about {self.word}."

    @property
    def labels(self) -> list[str]:
        return [f"table {self.number}", f"section {self.number}"]


OLD = Stored("pay", 1, "stipend", "3", "2024-01-01")
PAY = Stored("pay", 2, "salary", "1", "2025-01-01")
OPEN = Stored("open", 1, "travel", "2")
EVERY = (OLD, PAY, OPEN)
IN_2024 = day("2024-06-01")

CASES = [
    (everyone(), ANNA, True),
    (everyone(), Principal("acme", "", frozenset()), True),
    (only("hr"), ANNA, False),
    (only("hr"), HANNA, True),
    (only(users=["anna"]), ANNA, True),
    (only(users=["anna"]), HANNA, False),
    (only("anna"), ANNA, False),  # a group of the same name is not the user
    (only(users=["hr"]), HANNA, False),
    (only(), HANNA, False),
    (only("", users=[""]), Principal("acme", "", frozenset({""})), False),
]


def store(writer: StoreWriter, tmp_path: Path, version: Stored, access: document_pb2.AccessPolicy) -> None:
    """Two passages of a section, of which the first bears the label."""
    section = document_pb2.Section(
        section_id=version.section_id, level=1, number=version.number, title=version.word.title()
    )
    first = make_passage(version.text, section=version.section_id, label=version.labels[0])
    second = make_passage(f"More of {version.word}.", section=version.section_id)
    title = version.word.title()
    passages = [first, second]
    put(
        writer,
        tmp_path,
        version.document_id,
        passages,
        access=access,
        sections=[section],
        title=title,
        start=version.start,
    )


def assert_filter_holds(
    reader: StoreReader, versions: VersionFilter, expected: Collection[Stored], keys: dict[Stored, int]
) -> None:
    """Every way to read by a filter yields the expected versions, and nothing of the others."""
    assert not versions.is_empty, "an empty filter is answered without a search"
    count = reader.count(versions)
    assert (count.document_count, count.passage_count) == (len(expected), 2 * len(expected))
    assert reader.profile_counts(versions).document_count == len(expected)
    assert len(reader.profiles(versions, 10)) == len(expected)
    every_word = " ".join(each.word for each in EVERY)
    for each in EVERY:
        assert bool(reader.keyword_search(each.word, versions, 1)) == (each in expected)
    texts = {text for each in expected for text in (each.text, f"More of {each.word}.")}
    hits = reader.keyword_search(every_word, versions, 50)
    assert {hit.passage_key for hit in hits} >= {keys[each] for each in expected if each in keys}
    assert {each.text for each in reader.passages_by_key([hit.passage_key for hit in hits], versions).values()} == texts
    assert len(hits) == len(texts)
    places = reader.places([hit.passage_key for hit in hits], [], versions)
    assert {each.document_id for each in places} == {each.document_id for each in expected}
    ids = {each.passage_id for each in expected}
    every_id = [each.passage_id for each in EVERY]
    assert reader.passages_by_id(every_id, versions).keys() == ids
    assert {each.passage_id for each in reader.places([], every_id, versions)} == ids
    known = {each.passage_id for each in expected if each in keys}
    assert {each.passage_id for each in reader.passages_by_key(list(keys.values()), versions).values()} == known
    assert {each.passage_id for each in reader.places(list(keys.values()), [], versions)} == known
    assert {each.section.section_id for each in reader.toc_search(every_word, versions, 9)} == {
        each.section_id for each in expected
    }
    assert {each.section.section_id for each in reader.toc_search("section 1, section 2, section 3", versions, 9)} == {
        each.section_id for each in expected
    }
    for each in EVERY:
        shown = each in expected
        near = reader.dense_search(embed(each.text), versions, 50)
        assert len(near) == len(texts)
        assert (near[0].leg_score > 0.99) == shown
        assert bool(reader.toc_search(each.word, versions, 5)) == shown
        labelled = reader.passages_by_label(each.labels, versions)
        assert set(labelled) == (set(each.labels) if shown else set())
        narrowed = reader.passages_by_label(each.labels, versions, [each.document_id])
        assert set(narrowed) == (set(each.labels) if shown else set())
        assert bool(reader.section_passages(versions, each.document_id, [each.section_id])) == shown
        assert (each.text in {one.text for one in reader.document_passages(versions, each.document_id)}) == shown
        sections = {section.section_id for section in reader.version_sections(versions, each.document_id)}
        assert (each.section_id in sections) == shown
        assert (each.document_id in reader.documents_by_title(each.word, versions, 5)) == shown


def assert_principal_holds(reader: StoreReader, principal: Principal, *, readable: bool) -> None:
    """Every way to read as a principal yields the closed document's two versions, or nothing of them."""
    allowed = EVERY if readable else (OPEN,)
    now = reader.allowed_versions(principal, documents("pay", "open"))
    assert now.version_keys == reader.allowed_versions(principal).version_keys
    assert reader.allowed_versions(principal, documents("pay")).is_empty != readable
    not_in_force = reader.passages_not_in_force([each.passage_id for each in EVERY], principal)
    assert not_in_force.keys() == {each.passage_id for each in allowed}
    assert bool(reader.passages_not_in_force([OLD.passage_id], principal, documents("pay"))) == readable
    assert not reader.passages_not_in_force([OLD.passage_id], principal, documents("open"))
    listed, _ = reader.list_documents(principal)
    assert [each.document_id for each in listed] == (["open", "pay"] if readable else ["open"])
    listed, _ = reader.list_documents(principal, include_superseded=True)
    assert {(each.document_id, each.document_version) for each in listed} == {
        (each.document_id, each.document_version) for each in allowed
    }
    assert len(reader.document_versions(principal, "pay")) == (2 if readable else 0)
    assert (reader.get_document(principal, "pay") is not None) == readable
    assert (reader.get_document(principal, "pay", as_of=IN_2024) is not None) == readable
    for each in EVERY:
        shown, place = each in allowed, (each.document_id, each.document_version)
        assert (reader.get_document(principal, *place) is not None) == shown
        assert bool(reader.sections(principal, *place)) == shown
        assert (reader.original_file(principal, *place) is not None) == shown


def assert_access_holds(reader: StoreReader, principal: Principal, keys: dict[Stored, int], *, readable: bool) -> None:
    now, then = reader.allowed_versions(principal), reader.allowed_versions(principal, as_of=IN_2024)
    assert_filter_holds(reader, now, {PAY, OPEN} if readable else {OPEN}, keys)
    assert_filter_holds(reader, then, {OLD, OPEN} if readable else {OPEN}, keys)
    assert_principal_holds(reader, principal, readable=readable)


def read_keys(reader: StoreReader) -> dict[Stored, int]:
    """The key of each version's first passage, read by one who may: what the reader keeps of them, it knows now."""
    keys: dict[Stored, int] = {}
    for moment in (None, IN_2024):
        versions = reader.allowed_versions(ANNA, as_of=moment)
        places = reader.places([], [each.passage_id for each in EVERY], versions)
        found = {place.passage_id: place.passage_key for place in places}
        keys |= {each: found[each.passage_id] for each in EVERY if each.passage_id in found}
        assert reader.passages_by_key(list(found.values()), versions).keys() == set(found.values())
    assert keys.keys() == set(EVERY)
    return keys


@pytest.mark.parametrize(("access", "principal", "readable"), CASES)
def test_access_holds_in_every_way_to_read(
    writer: StoreWriter,
    reader: StoreReader,
    tmp_path: Path,
    access: document_pb2.AccessPolicy,
    principal: Principal,
    readable: bool,
) -> None:
    store(writer, tmp_path, OLD, access)
    store(writer, tmp_path, PAY, access)
    store(writer, tmp_path, OPEN, everyone())
    assert_access_holds(reader, principal, {}, readable=readable)
    writer.set_access("acme", "pay", everyone())
    keys = read_keys(reader)
    writer.set_access("acme", "pay", access)
    assert_access_holds(reader, principal, keys, readable=readable)


@pytest.mark.parametrize("environ", ["embedded"], indirect=True)
def test_access_holds_where_the_keyword_index_lags(
    writer: StoreWriter, tmp_path: Path, environ: dict[str, str]
) -> None:
    """What the index in files does not hold yet is searched in memory, by a filter of its own."""
    for version, access in ((OLD, only("hr")), (PAY, only("hr")), (OPEN, everyone())):
        store(writer, tmp_path, version, access)
    shutil.rmtree(index_directory(tmp_path / "state" / "store", "acme"))
    late = open_reader(tmp_path / "state", environ)
    for principal, readable in ((ANNA, False), (HANNA, True)):
        assert_access_holds(late, principal, {}, readable=readable)
    late.close()


def test_no_key_or_id_leads_into_another_tenant(writer: StoreWriter, reader: StoreReader, tmp_path: Path) -> None:
    for each in EVERY:
        store(writer, tmp_path, each, everyone())
    keys = read_keys(reader)
    put(writer, tmp_path, "theirs", ["Theirs alone."], tenant_id=OTHER_TENANT.tenant_id)
    theirs = reader.allowed_versions(OTHER_TENANT)
    ids = [each.passage_id for each in EVERY]
    found = reader.passages_by_key(list(keys.values()), theirs).values()
    assert {each.text for each in found} <= {"Theirs alone."}
    assert {each.document_id for each in reader.places(list(keys.values()), ids, theirs)} <= {"theirs"}
    assert reader.passages_by_id(ids, theirs) == {}
    assert reader.keyword_search("salary stipend travel", theirs, 10) == []
    assert len(reader.dense_search(embed(PAY.text), theirs, 10)) == 1
    assert reader.toc_search("salary stipend travel", theirs, 5) == []
    assert reader.passages_by_label(["table 1", "section 1"], theirs) == {}
