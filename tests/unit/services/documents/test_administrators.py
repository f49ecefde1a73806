"""A document that nobody may read is not locked for good: administrators open it again, and see none of its text."""

from __future__ import annotations

from pathlib import Path

import pytest

from citemesh.auth.principal import Principal
from citemesh.v1 import documents_pb2 as pb
from citemesh.v1.document_pb2 import AccessPolicy, AllowedPrincipals
from tests.unit.services.documents.serving import ADA, EVERYONE, RULES, reason_of, start

ADMIN = Principal("acme", "root", frozenset({"admins"}))
ELSEWHERE = Principal("other", "root", frozenset({"admins"}))
CLOSE = pb.SetAccessRequest(document_id="rules", access=AccessPolicy(only=AllowedPrincipals()))
OPEN = pb.SetAccessRequest(document_id="rules", access=EVERYONE)
GET = pb.GetRequest(document_id="rules")
DELETE = pb.DeleteRequest(document_id="rules")


async def test_administrators_open_and_delete_what_nobody_may_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    mesh = await start(monkeypatch, tmp_path, CITEMESH_DOCUMENTS_ADMIN_GROUPS="ops, admins")
    await mesh.ingest(RULES)
    await mesh.call("SetAccess", CLOSE)
    for principal in (ADA, ELSEWHERE):
        for method, request in (("Get", GET), ("SetAccess", OPEN), ("Delete", DELETE)):
            assert await reason_of(mesh.call(method, request, principal)) == "DOCUMENT_NOT_FOUND", method
    assert await reason_of(mesh.call("Get", GET, ADMIN)) == "DOCUMENT_NOT_FOUND"
    await mesh.call("SetAccess", OPEN, ADMIN)
    assert (await mesh.call("Get", GET)).document.title == "Rules"
    await mesh.call("SetAccess", CLOSE)
    assert (await mesh.call("Delete", DELETE, ADMIN)).version_count == 1
    assert await reason_of(mesh.call("Delete", DELETE, ADMIN)) == "DOCUMENT_NOT_FOUND"
    await mesh.service.close()


async def test_without_the_setting_a_group_of_any_name_opens_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    mesh = await start(monkeypatch, tmp_path, CITEMESH_DOCUMENTS_ADMIN_GROUPS=" , ")
    await mesh.ingest(RULES)
    await mesh.call("SetAccess", CLOSE)
    nameless = Principal("acme", "x", frozenset({"", "admins"}))
    assert await reason_of(mesh.call("SetAccess", OPEN, nameless)) == "DOCUMENT_NOT_FOUND"
    await mesh.service.close()
