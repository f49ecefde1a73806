"""GetPassages: passages by id, and how each one stands now."""

from __future__ import annotations

from citemesh.auth.principal import Principal
from citemesh.store.contract import StoreReader
from citemesh.v1 import retrieval_pb2
from citemesh.v1.evidence_pb2 import Passage
from citemesh.v1.retrieval_pb2 import GetPassagesRequest, GetPassagesResponse, PassageCheck
from services.retrieval.query_checks import check_get_passages, read_time


def get_passages(store: StoreReader, request: GetPassagesRequest, principal: Principal) -> GetPassagesResponse:
    """The passages that `principal` may read and that are in force, and a check for each id. Raises INVALID_FIELD."""
    check_get_passages(request)
    scope = request.scope if request.HasField("scope") else None
    as_of = read_time(request.as_of_time) if request.HasField("as_of_time") else None
    versions = store.allowed_versions(principal, scope, as_of)
    current = store.passages_by_id(request.passage_ids, versions)
    others = [passage_id for passage_id in request.passage_ids if passage_id not in current]
    readable = store.passages_not_in_force(others, principal, scope) if others else {}
    response = GetPassagesResponse(permission_version=versions.permission_version)
    for passage_id in request.passage_ids:
        passage = current.get(passage_id)
        response.checks.append(_check(passage_id, passage, readable.get(passage_id)))
        if passage is not None and not request.statuses_only:
            response.passages.append(passage)
    return response


def _check(passage_id: str, passage: Passage | None, readable_hash: str | None) -> PassageCheck:
    if passage is not None:
        status = retrieval_pb2.PASSAGE_STATUS_CURRENT
        return PassageCheck(passage_id=passage_id, status=status, content_hash=passage.content_hash)
    if readable_hash is not None:
        status = retrieval_pb2.PASSAGE_STATUS_NOT_IN_FORCE
        return PassageCheck(passage_id=passage_id, status=status, content_hash=readable_hash)
    return PassageCheck(passage_id=passage_id, status=retrieval_pb2.PASSAGE_STATUS_NOT_FOUND)
