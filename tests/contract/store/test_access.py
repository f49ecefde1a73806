"""Tenants, names, revokes and scopes; every way to read is in test_every_way_to_read."""

from __future__ import annotations

from pathlib import Path

import pytest

from citemesh.auth.principal import Principal
from citemesh.rpc.errors import ServiceError
from citemesh.store.contract import StoreReader, StoreWriter
from citemesh.v1 import document_pb2, errors_pb2, question_pb2
from tests.contract.store.library import (
    ANNA,
    HANNA,
    OTHER_TENANT,
    documents,
    everyone,
    found,
    make_passage,
    nearest,
    only,
    put,
)


def test_tenants_do_not_see_each_other(writer: StoreWriter, reader: StoreReader, tmp_path: Path) -> None:
    put(writer, tmp_path, "policy", ["Travel of acme."])
    put(writer, tmp_path, "policy", ["Travel of umbrella."], tenant_id="umbrella")
    assert found(reader, ANNA, "travel") == {"Travel of acme."}
    assert nearest(reader, OTHER_TENANT, "Travel of acme.") == ["Travel of umbrella."]
    (mine,) = reader.document_passages(reader.allowed_versions(ANNA), "policy")
    theirs = reader.allowed_versions(OTHER_TENANT)
    assert reader.passages_by_id([mine.passage_id], theirs)[mine.passage_id].text == "Travel of umbrella."
    assert reader.count(theirs).passage_count == 1


def test_a_name_with_a_nul_stands_for_nothing_else(writer: StoreWriter, reader: StoreReader, tmp_path: Path) -> None:
    section = document_pb2.Section(section_id="s1", level=1, number="1", title="Salary")
    passage = make_passage("Salary bands.", section="s1", label="table 1")
    put(writer, tmp_path, "pay", [passage], access=only("hr", users=["anna"]), sections=[section])
    for longer in (Principal("acme", "x", frozenset({"hr\0x"})), Principal("acme", "anna\0x", frozenset())):
        assert reader.allowed_versions(longer).is_empty
        assert reader.get_document(longer, "pay") is None
        assert reader.list_documents(longer)[0] == []
        assert reader.passages_not_in_force(["pay@1#0"], longer) == {}
    versions = reader.allowed_versions(HANNA)
    assert reader.passages_by_id(["pay@1#0"], versions)
    assert reader.allowed_versions(HANNA, documents("pay\0x")).is_empty
    assert reader.get_document(HANNA, "pay\0x") is None
    assert reader.document_versions(HANNA, "pay\0x") == []
    assert reader.sections(HANNA, "pay\0x", 1) == []
    assert reader.original_file(HANNA, "pay\0x", 1) is None
    assert reader.document_passages(versions, "pay\0x") == []
    assert reader.section_passages(versions, "pay", ["s1\0x"]) == []
    assert reader.passages_by_id(["pay@1#0\0x"], versions) == {}
    assert reader.places([], ["pay@1#0\0x"], versions) == []
    assert reader.passages_not_in_force(["pay@1#0\0x"], HANNA) == {}
    assert reader.passages_by_label(["table 1\0x"], versions) == {}
    assert not writer.exists("acme", "pay\0x")
    assert writer.delete("acme", "pay\0x") == 0
    assert reader.get_document(HANNA, "pay") is not None


def test_a_revoke_holds_in_the_next_request(writer: StoreWriter, reader: StoreReader, tmp_path: Path) -> None:
    put(writer, tmp_path, "pay", ["Salary bands."])
    before = reader.allowed_versions(ANNA)
    assert found(reader, ANNA, "salary")
    permission_version = writer.set_access("acme", "pay", only("hr"))
    after = reader.allowed_versions(ANNA)
    assert after.is_empty
    assert after.key != before.key
    assert after.permission_version == permission_version == reader.permission_version("acme")
    assert permission_version > before.permission_version
    assert found(reader, ANNA, "salary") == set()
    assert nearest(reader, ANNA, "Salary bands.") == []
    writer.set_access("acme", "pay", everyone())
    assert found(reader, ANNA, "salary")


def test_access_must_be_said(writer: StoreWriter, tmp_path: Path) -> None:
    put(writer, tmp_path, "pay", ["Salary bands."])
    with pytest.raises(ServiceError) as raised:
        writer.set_access("acme", "pay", document_pb2.AccessPolicy())
    assert raised.value.reason == errors_pb2.ERROR_REASON_INVALID_FIELD
    with pytest.raises(ServiceError) as raised:
        writer.set_access("acme", "unknown", everyone())
    assert raised.value.reason == errors_pb2.ERROR_REASON_DOCUMENT_NOT_FOUND


def test_a_scope_narrows_and_an_empty_one_is_refused(writer: StoreWriter, reader: StoreReader, tmp_path: Path) -> None:
    for name in ("one", "two", "three"):
        put(writer, tmp_path, name, [f"Shared word, {name}."])
    versions = reader.allowed_versions(ANNA, documents("one", "two", "unknown"))
    hits = reader.keyword_search("shared", versions, 10)
    assert {each.document_id for each in reader.passages_by_key([h.passage_key for h in hits], versions).values()} == {
        "one",
        "two",
    }
    assert reader.allowed_versions(ANNA, documents("unknown")).is_empty
    for wrong in (question_pb2.Scope(), documents()):
        with pytest.raises(ServiceError) as raised:
            reader.allowed_versions(ANNA, wrong)
        assert raised.value.reason == errors_pb2.ERROR_REASON_INVALID_FIELD
