"""Reads and changes what is stored about documents: profile, get, list, delete, access."""

from __future__ import annotations

from datetime import datetime

from citemesh.auth.principal import Principal
from citemesh.rpc.errors import invalid_argument, invalid_fields
from citemesh.store.contract import StoreReader, StoreWriter
from citemesh.v1.document_pb2 import AccessPolicy, ScopeProfile
from citemesh.v1.documents_pb2 import GetResponse, ListRequest, ListResponse
from citemesh.v1.question_pb2 import Scope
from services.documents.access import check_document_id, find_changeable, find_versions, not_found
from services.documents.headers import check_access

_NARROW_SCOPE = 20
_DEFAULT_PAGE_SIZE = 100
_MAX_PAGE_SIZE = 1_000


class Catalogue:
    """Blocking calls of a few milliseconds; every answer holds only what the caller may read."""

    def __init__(self, reader: StoreReader, writer: StoreWriter, admin_groups: frozenset[str] = frozenset()) -> None:
        self._reader = reader
        self._writer = writer
        self._admin_groups = admin_groups

    def profile(self, principal: Principal, scope: Scope | None, as_of: datetime | None) -> ScopeProfile:
        """Counts of a scope, and the profiles where it holds at most 20 documents."""
        versions = self._reader.allowed_versions(principal, scope, as_of)
        counts = self._reader.profile_counts(versions)
        narrow = 0 < counts.document_count <= _NARROW_SCOPE
        return ScopeProfile(
            document_count=counts.document_count,
            profiles=self._reader.profiles(versions, _NARROW_SCOPE) if narrow else [],
            usable_toc_count=counts.usable_toc_count,
            likely_scanned_count=counts.likely_scanned_count,
            languages=counts.languages,
        )

    def get(self, principal: Principal, document_id: str, document_version: int) -> GetResponse:
        """One version with its sections, and all versions. Raises DOCUMENT_NOT_FOUND, INVALID_FIELD."""
        check_document_id(document_id)
        versions = find_versions(self._reader, principal, document_id)
        document = self._reader.get_document(principal, document_id, document_version)
        if document is None and not document_version:
            # None is in force now: the newest still says what there is.
            document = versions[0]
        if document is None:
            raise not_found(document_id)
        sections = self._reader.sections(principal, document_id, document.document_version)
        return GetResponse(document=document, sections=sections, versions=versions)

    def list(self, principal: Principal, request: ListRequest, as_of: datetime | None) -> ListResponse:
        """One page of the documents. Raises INVALID_FIELD for a wrong size or token."""
        if not 0 <= request.page_size <= _MAX_PAGE_SIZE:
            raise invalid_argument("page_size", f"must be between 0 and {_MAX_PAGE_SIZE}")
        documents, after = self._reader.list_documents(
            principal,
            as_of=as_of,
            include_superseded=request.include_superseded,
            after=request.page_token,
            limit=request.page_size or _DEFAULT_PAGE_SIZE,
        )
        return ListResponse(documents=documents, next_page_token=after)

    def delete(self, principal: Principal, document_id: str) -> int:
        """Removes a document; returns its number of versions. Raises DOCUMENT_NOT_FOUND, INVALID_FIELD."""
        check_document_id(document_id)
        find_changeable(self._reader, self._writer, principal, document_id, self._admin_groups)
        count = self._writer.delete(principal.tenant_id, document_id)
        if not count:
            # Another call was quicker.
            raise not_found(document_id)
        return count

    def set_access(self, principal: Principal, document_id: str, access: AccessPolicy) -> int:
        """Changes who may read a document; returns the permission version. Raises DOCUMENT_NOT_FOUND, INVALID_FIELD."""
        check_document_id(document_id)
        wrong = check_access(access, "access")
        if wrong:
            raise invalid_fields(wrong)
        find_changeable(self._reader, self._writer, principal, document_id, self._admin_groups)
        return self._writer.set_access(principal.tenant_id, document_id, access)
