"""Who may read: the entries of a document and those of a principal meet, and empty names never do."""

from __future__ import annotations

import pytest

from citemesh.auth.principal import Principal
from citemesh.rpc.errors import ServiceError
from citemesh.store.access import allowed_readers, check_access, reader_entries, scope_documents
from citemesh.v1.document_pb2 import AccessPolicy, AllowedPrincipals
from citemesh.v1.question_pb2 import AllDocuments, DocumentIds, Scope


def test_a_group_is_not_the_user_of_the_same_name() -> None:
    access = AccessPolicy(only=AllowedPrincipals(groups=["hr", ""], users=["anna", ""]))
    assert allowed_readers(access) == {"user:anna", "group:hr"}
    assert reader_entries(Principal("acme", "hr", frozenset({"anna", ""}))) == {"user:hr", "group:anna"}
    assert reader_entries(Principal("acme", "", frozenset({""}))) == frozenset()


def test_access_and_scope_must_be_said() -> None:
    with pytest.raises(ServiceError):
        check_access(AccessPolicy())
    check_access(AccessPolicy(only=AllowedPrincipals()))
    for wrong in (Scope(), Scope(documents=DocumentIds())):
        with pytest.raises(ServiceError):
            scope_documents(wrong)
    assert scope_documents(None) is None
    assert scope_documents(Scope(all_documents=AllDocuments())) is None
    assert scope_documents(Scope(documents=DocumentIds(document_ids=["a", "a"]))) == frozenset("a")
