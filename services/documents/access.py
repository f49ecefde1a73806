"""Who may change a document: those who may read it, and administrators. What may not be changed is not found."""

from __future__ import annotations

from citemesh.auth.principal import Principal
from citemesh.rpc.errors import ServiceError, invalid_argument
from citemesh.store.contract import StoreReader, StoreWriter
from citemesh.v1 import errors_pb2
from citemesh.v1.document_pb2 import Document
from services.documents.headers import is_document_id


def check_document_id(document_id: str) -> None:
    """Raises INVALID_FIELD where a request names no document, DOCUMENT_NOT_FOUND where none can have this id.

    No store is asked for such an id: one that reads it up to a NUL would find another document.
    """
    if not document_id.strip():
        raise invalid_argument("document_id", "must name a document")
    if not is_document_id(document_id):
        raise not_found(document_id)


def find_versions(reader: StoreReader, principal: Principal, document_id: str) -> list[Document]:
    """All versions that the caller may read, newest first. Raises DOCUMENT_NOT_FOUND where there is none."""
    versions = reader.document_versions(principal, document_id)
    if not versions:
        raise not_found(document_id)
    return versions


def find_changeable(
    reader: StoreReader, writer: StoreWriter, principal: Principal, document_id: str, admin_groups: frozenset[str]
) -> None:
    """Raises DOCUMENT_NOT_FOUND where the caller may not say who reads a document, or remove it.

    Members of `admin_groups` may, of every document of their tenant, though they see none of its text: a document that
    nobody may read is not locked for good.
    """
    if principal.groups & admin_groups and writer.exists(principal.tenant_id, document_id):
        return
    find_versions(reader, principal, document_id)


def not_found(document_id: str) -> ServiceError:
    """The same for what does not exist and what may not be read."""
    return ServiceError(
        errors_pb2.ERROR_REASON_DOCUMENT_NOT_FOUND, "There is no such document for you.", document_id=document_id[:200]
    )


def refuse_hidden(reader: StoreReader, writer: StoreWriter, principal: Principal, document_id: str) -> list[Document]:
    """The versions of a document that the caller is about to write; empty for a new one.

    Raises PERMISSION_DENIED where a document of this id exists that the caller may not read: a new version would
    replace it, and could open its older versions.
    """
    versions = reader.document_versions(principal, document_id)
    if not versions and writer.exists(principal.tenant_id, document_id):
        raise ServiceError(errors_pb2.ERROR_REASON_PERMISSION_DENIED, "This document id is taken: choose another one.")
    return versions
