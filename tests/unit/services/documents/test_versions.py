"""The same content, new content and new dates; what is listed at which time."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from citemesh.v1 import documents_pb2 as pb
from services.documents.reading import DocumentReader
from tests.unit.services.documents.serving import (
    BO,
    EVERYONE,
    NEW_YEAR,
    ONLY_HR,
    RULES,
    Mesh,
    reason_of,
)


async def test_the_same_content_again_changes_nothing(mesh: Mesh) -> None:
    await mesh.ingest(RULES)
    again = await mesh.ingest(RULES)
    assert again.result == pb.INGEST_RESULT_UNCHANGED
    assert again.document.document_version == 1


async def test_what_is_stored_already_is_not_read_again(mesh: Mesh, monkeypatch: pytest.MonkeyPatch) -> None:
    await mesh.ingest(RULES, access=EVERYONE, effective_from_time=NEW_YEAR)
    await mesh.ingest(RULES + "\nAnd by day.\n", access=EVERYONE)

    async def refuse(*_: object) -> None:
        raise AssertionError("the file was read again")

    monkeypatch.setattr(DocumentReader, "read", refuse)
    headers: list[dict[str, Any]] = [{"effective_from_time": NEW_YEAR}, {}]
    for content, header in zip((RULES, RULES + "\nAnd by day.\n"), headers, strict=True):
        again = await mesh.ingest(content, access=EVERYONE, **header)
        assert again.result == pb.INGEST_RESULT_UNCHANGED


async def test_content_that_was_corrected_since_is_a_correction_again(mesh: Mesh) -> None:
    for content, version in ((RULES, 1), (RULES + "\nAnd by day.\n", 2), (RULES, 3)):
        assert (await mesh.ingest(content)).document.document_version == version


async def test_content_that_another_end_replaced_is_a_correction_again(mesh: Mesh) -> None:
    await mesh.ingest(RULES, effective_from_time=NEW_YEAR)
    later = Timestamp(seconds=NEW_YEAR.seconds + 86400)
    await mesh.ingest(RULES + "\nAnd by day.\n", effective_from_time=NEW_YEAR, effective_to_time=later)
    again = await mesh.ingest(RULES, effective_from_time=NEW_YEAR)
    assert (again.result, again.document.document_version) == (pb.INGEST_RESULT_NEW_VERSION, 3)


async def test_another_title_is_a_new_version_and_none_keeps_the_title(mesh: Mesh) -> None:
    await mesh.ingest(RULES)
    renamed = await mesh.ingest(RULES, title="Lamp rules")
    assert (renamed.result, renamed.document.title) == (pb.INGEST_RESULT_NEW_VERSION, "Lamp rules")
    again = await mesh.ingest(RULES, access=ONLY_HR)
    assert (again.result, again.document.title) == (pb.INGEST_RESULT_UNCHANGED, "Lamp rules")
    assert again.document.access == ONLY_HR


async def test_the_same_content_with_an_access_policy_changes_access_only(mesh: Mesh) -> None:
    await mesh.ingest(RULES)
    again = await mesh.ingest(RULES, access=ONLY_HR)
    assert again.result == pb.INGEST_RESULT_UNCHANGED
    assert await reason_of(mesh.call("Get", pb.GetRequest(document_id="rules"))) == "DOCUMENT_NOT_FOUND"
    assert (await mesh.call("Get", pb.GetRequest(document_id="rules"), BO)).document.document_version == 1


async def test_new_content_or_dates_are_a_new_version(mesh: Mesh) -> None:
    await mesh.ingest(RULES)
    changed = await mesh.ingest(RULES + "\nAnd by day.\n")
    assert (changed.result, changed.document.document_version) == (pb.INGEST_RESULT_NEW_VERSION, 2)
    dated = await mesh.ingest(RULES + "\nAnd by day.\n", effective_from_time=Timestamp(seconds=1893456000))
    assert dated.document.document_version == 3
    got = await mesh.call("Get", pb.GetRequest(document_id="rules"))
    assert got.document.document_version == 2
    assert [version.document_version for version in got.versions] == [3, 2, 1]


async def test_lists_and_profiles_follow_the_time_asked_for(mesh: Mesh) -> None:
    await mesh.ingest(RULES, effective_to_time=Timestamp(seconds=1577836800))
    listed = await mesh.call("List", pb.ListRequest())
    assert not listed.documents
    before = pb.ListRequest(as_of_time=Timestamp(seconds=1546300800))
    assert len((await mesh.call("List", before)).documents) == 1
    profile = await mesh.call("Profile", pb.ProfileRequest(as_of_time=Timestamp(seconds=1546300800)))
    assert profile.scope_profile.document_count == 1
    assert profile.scope_profile.profiles[0].has_usable_toc


async def test_an_older_period_sent_again_stays_as_it_is(mesh: Mesh, monkeypatch: pytest.MonkeyPatch) -> None:
    last_year: dict[str, Any] = {
        "effective_from_time": Timestamp(seconds=NEW_YEAR.seconds - 365 * 86400),
        "effective_to_time": NEW_YEAR,
    }
    await mesh.ingest(RULES, **last_year)
    await mesh.ingest(RULES + "\nAnd by day.\n", effective_from_time=NEW_YEAR)
    monkeypatch.setattr(DocumentReader, "read", lambda *_: pytest.fail("the file was read again"))
    again = await mesh.ingest(RULES, **last_year)
    assert (again.result, again.document.document_version) == (pb.INGEST_RESULT_UNCHANGED, 1)


async def test_new_content_without_a_date_takes_effect_now_where_a_version_has_one(mesh: Mesh) -> None:
    await mesh.ingest(RULES, effective_from_time=NEW_YEAR)
    before = Timestamp()
    before.GetCurrentTime()
    changed = await mesh.ingest(RULES + "\nAnd by day.\n")
    assert (changed.result, changed.document.document_version) == (pb.INGEST_RESULT_NEW_VERSION, 2)
    assert changed.document.effective_from_time.ToMicroseconds() >= before.ToMicroseconds()
    got = await mesh.call("Get", pb.GetRequest(document_id="rules"))
    assert got.document.document_version == 2
    then = await mesh.call("List", pb.ListRequest(as_of_time=before))
    assert [document.document_version for document in then.documents] == [1]

    again = await mesh.ingest(RULES + "\nAnd by day.\n")
    assert (again.result, again.document.document_version) == (pb.INGEST_RESULT_UNCHANGED, 2)
    back = await mesh.ingest(RULES)
    assert (back.result, back.document.document_version) == (pb.INGEST_RESULT_NEW_VERSION, 3)
    assert (await mesh.call("Get", pb.GetRequest(document_id="rules"))).document.document_version == 3


async def test_the_content_in_force_without_its_dates_changes_nothing(mesh: Mesh) -> None:
    await mesh.ingest(RULES, effective_from_time=NEW_YEAR, effective_to_time=Timestamp(seconds=4_102_444_800))
    assert (await mesh.ingest(RULES)).result == pb.INGEST_RESULT_UNCHANGED


async def test_a_dated_version_to_come_leaves_corrections_as_they_are(mesh: Mesh) -> None:
    await mesh.ingest(RULES, effective_from_time=Timestamp(seconds=4_102_444_800))
    changed = await mesh.ingest(RULES + "\nAnd by day.\n")
    assert not changed.document.HasField("effective_from_time")
    assert (await mesh.call("Get", pb.GetRequest(document_id="rules"))).document.document_version == 2


async def test_a_version_that_would_begin_now_and_has_ended_is_refused(mesh: Mesh) -> None:
    await mesh.ingest(RULES, effective_from_time=Timestamp(seconds=NEW_YEAR.seconds - 365 * 86400))
    ended = mesh.ingest(RULES + "\nAnd by day.\n", effective_to_time=Timestamp(seconds=NEW_YEAR.seconds - 86400))
    assert await reason_of(ended) == "INVALID_FIELD"
