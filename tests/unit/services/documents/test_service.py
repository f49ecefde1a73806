"""The service over its real store, parsers and handler: access, deletion, pictures, restarts."""

from __future__ import annotations

from pathlib import Path

import pytest

from citemesh.v1 import documents_pb2 as pb
from citemesh.v1.document_pb2 import AccessPolicy, AllowedPrincipals
from citemesh.v1.question_pb2 import DocumentIds, Scope
from tests.unit.services.documents.conftest import NewPdf
from tests.unit.services.documents.serving import (
    ADA,
    BO,
    EVERYONE,
    ONLY_HR,
    RULES,
    STRANGER,
    Mesh,
    reason_of,
    start,
)


async def test_an_ingested_document_is_there_with_sections_and_passages(mesh: Mesh) -> None:
    response = await mesh.ingest(RULES)
    assert response.result == pb.INGEST_RESULT_CREATED
    document = response.document
    assert (document.document_id, document.document_version, document.title) == ("rules", 1, "Rules")
    assert (document.media_type, document.passage_count) == ("text/markdown", 1)
    got = await mesh.call("Get", pb.GetRequest(document_id="rules"))
    assert [section.title for section in got.sections] == ["Rules", "Lamp"]
    assert await mesh.service.check() is None
    assert mesh.ingested("ok") == 1


async def test_what_may_not_be_read_is_not_there(mesh: Mesh) -> None:
    await mesh.ingest(RULES, principal=BO, access=ONLY_HR)
    scope = Scope(documents=DocumentIds(document_ids=["rules"]))
    for principal in (ADA, STRANGER):
        assert not (await mesh.call("List", pb.ListRequest(), principal)).documents
        profile = await mesh.call("Profile", pb.ProfileRequest(scope=scope), principal)
        assert profile.scope_profile.document_count == 0
        for method, request in (
            ("Get", pb.GetRequest(document_id="rules")),
            ("Delete", pb.DeleteRequest(document_id="rules")),
            ("SetAccess", pb.SetAccessRequest(document_id="rules", access=EVERYONE)),
            ("RenderPage", pb.RenderPageRequest(document_id="rules", page_number=1)),
            ("Reparse", pb.ReparseRequest(document_id="rules", page_numbers=[1])),
        ):
            assert await reason_of(mesh.call(method, request, principal)) == "DOCUMENT_NOT_FOUND", method
    assert (await mesh.call("Get", pb.GetRequest(document_id="rules"), BO)).document.title == "Rules"


async def test_nobody_overwrites_or_opens_a_document_that_he_may_not_read(mesh: Mesh) -> None:
    await mesh.ingest(RULES, principal=BO, access=ONLY_HR)
    assert await reason_of(mesh.ingest("# Mine\n\nAll mine.\n", access=EVERYONE)) == "PERMISSION_DENIED"
    assert await reason_of(mesh.ingest(RULES, access=EVERYONE)) == "PERMISSION_DENIED"
    assert (await mesh.ingest("# Mine\n\nAll mine.\n", principal=STRANGER)).result == pb.INGEST_RESULT_CREATED
    got = await mesh.call("Get", pb.GetRequest(document_id="rules"), BO)
    assert (got.document.title, len(got.versions)) == ("Rules", 1)


async def test_a_revoke_holds_from_the_next_request_on(mesh: Mesh) -> None:
    await mesh.ingest(RULES)
    first = await mesh.call("SetAccess", pb.SetAccessRequest(document_id="rules", access=ONLY_HR))
    assert await reason_of(mesh.call("Get", pb.GetRequest(document_id="rules"))) == "DOCUMENT_NOT_FOUND"
    second = await mesh.call("SetAccess", pb.SetAccessRequest(document_id="rules", access=EVERYONE), BO)
    assert second.permission_version > first.permission_version
    assert (await mesh.call("Get", pb.GetRequest(document_id="rules"))).document.document_id == "rules"


async def test_a_deleted_document_is_gone_with_all_versions(mesh: Mesh) -> None:
    await mesh.ingest(RULES)
    await mesh.ingest(RULES + "More.\n")
    assert (await mesh.call("Delete", pb.DeleteRequest(document_id="rules"))).version_count == 2
    assert await reason_of(mesh.call("Get", pb.GetRequest(document_id="rules"))) == "DOCUMENT_NOT_FOUND"
    assert (await mesh.ingest(RULES)).document.document_version == 1


async def test_a_page_is_drawn_with_its_quotes(mesh: Mesh, pdf: NewPdf) -> None:
    page = pdf("a.pdf")
    page.line("The lamp shall burn from the setting of the sun.")
    await mesh.ingest(page.save().read_bytes(), "a.pdf")
    request = pb.RenderPageRequest(
        document_id="a", page_number=1, highlights=[pb.Highlight(quote="not there"), pb.Highlight(quote="lamp shall")]
    )
    drawn = await mesh.call("RenderPage", request)
    assert drawn.png.startswith(b"\x89PNG")
    assert list(drawn.highlighted_indices) == [1]
    request.page_number = 2
    assert await reason_of(mesh.call("RenderPage", request)) == "PAGE_NOT_FOUND"
    request.resolution_dpi = 1000
    assert await reason_of(mesh.call("RenderPage", request)) == "INVALID_FIELD"


async def test_an_encrypted_file_is_read_with_its_password_and_drawn_never(mesh: Mesh, shared_data: Path) -> None:
    data = (shared_data / "pdfs" / "encrypted" / "password-example.pdf").read_bytes()
    assert await reason_of(mesh.ingest(data, "p.pdf")) == "FILE_ENCRYPTED"
    assert await reason_of(mesh.ingest(data, "p.pdf", password="no")) == "FILE_PASSWORD_WRONG"
    assert (await mesh.ingest(data, "p.pdf", password="test")).document.profile.page_count == 4
    drawn = mesh.call("RenderPage", pb.RenderPageRequest(document_id="p", page_number=1))
    assert await reason_of(drawn) == "FILE_ENCRYPTED"


async def test_another_encoder_is_told_and_reindexed_only_when_asked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    mesh = await start(monkeypatch, tmp_path)
    await mesh.ingest(RULES)
    await mesh.service.close()
    mesh = await start(monkeypatch, tmp_path, revision="2")
    reason = await mesh.service.check()
    assert reason is not None
    assert reason.count("CITEMESH_DOCUMENTS_REINDEX_AT_START=true") == 1
    await mesh.service.close()
    mesh = await start(monkeypatch, tmp_path, revision="2", CITEMESH_DOCUMENTS_REINDEX_AT_START="true")
    assert await mesh.service.check() is None
    assert (await mesh.call("Get", pb.GetRequest(document_id="rules"))).document.passage_count == 1
    await mesh.service.close()


async def test_documents_survive_a_restart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    mesh = await start(monkeypatch, tmp_path)
    await mesh.ingest(RULES)
    await mesh.service.close()
    mesh = await start(monkeypatch, tmp_path)
    assert len((await mesh.call("List", pb.ListRequest())).documents) == 1
    await mesh.service.close()


@pytest.mark.parametrize(
    ("document_id", "reason"),
    [
        ("", "INVALID_FIELD"),
        (" \t", "INVALID_FIELD"),
        ("rules\0zzz", "DOCUMENT_NOT_FOUND"),
        ("a b", "DOCUMENT_NOT_FOUND"),
    ],
)
async def test_an_id_that_no_document_has_finds_and_removes_none(mesh: Mesh, document_id: str, reason: str) -> None:
    await mesh.ingest(RULES)
    for method, request in (
        ("Get", pb.GetRequest(document_id=document_id)),
        ("Delete", pb.DeleteRequest(document_id=document_id)),
        ("SetAccess", pb.SetAccessRequest(document_id=document_id, access=ONLY_HR)),
        ("RenderPage", pb.RenderPageRequest(document_id=document_id, page_number=1)),
        ("Reparse", pb.ReparseRequest(document_id=document_id, page_numbers=[1])),
    ):
        assert await reason_of(mesh.call(method, request)) == reason, method
    assert (await mesh.call("Get", pb.GetRequest(document_id="rules"))).document.document_version == 1


async def test_names_of_readers_hold_no_control_characters(mesh: Mesh) -> None:
    for name in ("hr\0evil", "hr\n", " ", "x" * 257):
        access = AccessPolicy(only=AllowedPrincipals(groups=[name]))
        assert await reason_of(mesh.ingest(RULES, access=access)) == "INVALID_FIELD", name
    await mesh.ingest(RULES)
    access = AccessPolicy(only=AllowedPrincipals(users=["ada\0"]))
    changed = mesh.call("SetAccess", pb.SetAccessRequest(document_id="rules", access=access))
    assert await reason_of(changed) == "INVALID_FIELD"
    long = AccessPolicy(only=AllowedPrincipals(users=["ada"], groups=["x" * 256]))
    assert (await mesh.ingest(RULES, access=long)).document.access == long
