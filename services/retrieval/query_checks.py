"""What a request may hold; every problem of it is reported at once."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from google.protobuf.timestamp_pb2 import Timestamp

from citemesh.rpc.errors import invalid_fields
from citemesh.v1 import activation_pb2
from citemesh.v1.question_pb2 import Scope
from citemesh.v1.retrieval_pb2 import (
    FollowReferencesRequest,
    GetPassagesRequest,
    ListItemsRequest,
    RetrieveRequest,
)

MAX_QUERIES = 32
MAX_QUERY_CHARACTERS = 20_000
MAX_CANDIDATES = 500
MAX_REFERENCES = 20
MAX_HOPS = 3
MAX_REFERENCE_PASSAGES = 100
MAX_ANCHORS = 50
MAX_PASSAGE_IDS = 200
MAX_SCOPE_DOCUMENTS = 1000

FIRST_STAGE_LEGS = (activation_pb2.PATTERN_TOC, activation_pb2.PATTERN_KEYWORD, activation_pb2.PATTERN_DENSE)

_EARLIEST = datetime(1, 1, 1, tzinfo=UTC)
_Problems = list[tuple[str, str]]


def check_retrieve(request: RetrieveRequest) -> None:
    """Raise INVALID_FIELD for a Retrieve request that cannot be answered."""
    problems: _Problems = []
    if not request.queries and not request.prior_rankings:
        problems.append(("queries", "must hold a query, unless prior_rankings holds a ranking"))
    if len(request.queries) > MAX_QUERIES:
        problems.append(("queries", f"must hold at most {MAX_QUERIES}"))
    for place, query in enumerate(request.queries):
        if query.leg not in FIRST_STAGE_LEGS:
            problems.append((f"queries[{place}].leg", "must be TOC, KEYWORD or DENSE"))
        if not query.text.strip():
            problems.append((f"queries[{place}].text", "must not be empty"))
        elif len(query.text) > MAX_QUERY_CHARACTERS:
            problems.append((f"queries[{place}].text", f"must have at most {MAX_QUERY_CHARACTERS} characters"))
    for place, ranking in enumerate(request.prior_rankings):
        if ranking.leg not in FIRST_STAGE_LEGS:
            problems.append((f"prior_rankings[{place}].leg", "must be TOC, KEYWORD or DENSE"))
    _check_range(problems, "max_candidates", request.max_candidates, MAX_CANDIDATES)
    _check_scope(problems, request.scope if request.HasField("scope") else None)
    _check_time(problems, request.as_of_time if request.HasField("as_of_time") else None)
    _raise(problems)


def check_follow_references(request: FollowReferencesRequest) -> None:
    """Raise INVALID_FIELD for a FollowReferences request that cannot be answered."""
    problems: _Problems = []
    if not request.references and not request.from_passage_ids:
        problems.append(("references", "must not be empty where from_passage_ids is"))
    if len(request.references) > MAX_REFERENCES:
        problems.append(("references", f"must hold at most {MAX_REFERENCES}"))
    for place, reference in enumerate(request.references):
        if not (reference.label.strip() or reference.surface.strip() or reference.document_id):
            problems.append((f"references[{place}].label", "must not be empty"))
    if len(request.from_passage_ids) > MAX_PASSAGE_IDS:
        problems.append(("from_passage_ids", f"must hold at most {MAX_PASSAGE_IDS}"))
    _check_range(problems, "max_hops", request.max_hops, MAX_HOPS)
    _check_range(problems, "max_passages", request.max_passages, MAX_REFERENCE_PASSAGES)
    _check_scope(problems, request.scope if request.HasField("scope") else None)
    _check_time(problems, request.as_of_time if request.HasField("as_of_time") else None)
    _raise(problems)


def check_list_items(request: ListItemsRequest) -> None:
    """Raise INVALID_FIELD for a ListItems request that cannot be answered."""
    problems: _Problems = []
    if not request.anchor_passage_ids:
        problems.append(("anchor_passage_ids", "must not be empty"))
    if len(request.anchor_passage_ids) > MAX_ANCHORS:
        problems.append(("anchor_passage_ids", f"must hold at most {MAX_ANCHORS}"))
    if len(request.question) > MAX_QUERY_CHARACTERS:
        problems.append(("question", f"must have at most {MAX_QUERY_CHARACTERS} characters"))
    if request.HasField("requested_count") and request.requested_count < 1:
        problems.append(("requested_count", "must be at least 1 where it is given"))
    _check_scope(problems, request.scope if request.HasField("scope") else None)
    _check_time(problems, request.as_of_time if request.HasField("as_of_time") else None)
    _raise(problems)


def check_get_passages(request: GetPassagesRequest) -> None:
    """Raise INVALID_FIELD for a GetPassages request that cannot be answered."""
    problems: _Problems = []
    if not 1 <= len(request.passage_ids) <= MAX_PASSAGE_IDS:
        problems.append(("passage_ids", f"must hold 1 to {MAX_PASSAGE_IDS}"))
    _check_scope(problems, request.scope if request.HasField("scope") else None)
    _check_time(problems, request.as_of_time if request.HasField("as_of_time") else None)
    _raise(problems)


def read_time(time: Timestamp) -> datetime:
    """A checked timestamp as an aware datetime."""
    return time.ToDatetime(UTC)


def _check_range(problems: _Problems, field: str, value: int, largest: int) -> None:
    if not 0 <= value <= largest:
        problems.append((field, f"must be 1 to {largest}, or 0 for the default"))


def _check_scope(problems: _Problems, scope: Scope | None) -> None:
    if scope is None:
        return
    if scope.WhichOneof("scope") is None:
        problems.append(("scope", "must name documents, or all of them"))
    elif scope.HasField("documents") and not 1 <= len(scope.documents.document_ids) <= MAX_SCOPE_DOCUMENTS:
        problems.append(("scope.documents.document_ids", f"must hold 1 to {MAX_SCOPE_DOCUMENTS}"))


def _check_time(problems: _Problems, time: Timestamp | None) -> None:
    if time is None:
        return
    try:
        in_range = time.ToDatetime(UTC) >= _EARLIEST
    except (ValueError, OverflowError):
        in_range = False
    if not in_range:
        problems.append(("as_of_time", "must be a time between the years 1 and 9999"))


def _raise(problems: Sequence[tuple[str, str]]) -> None:
    if problems:
        raise invalid_fields(problems)
