"""What a request must hold, checked before any work; every wrong field is reported at once."""

from __future__ import annotations

from collections.abc import Iterator

from citemesh.rpc.errors import invalid_fields
from citemesh.v1 import rerank_pb2
from services.rerank.evidence import read_evidence_number

MAX_QUERY_COUNT = 4
MAX_PASSAGE_COUNT = 200
MAX_CANDIDATE_COUNT = 1000
MIN_CONTEXT_TOKEN_COUNT = 64
MAX_EVIDENCE_COUNT = 100

Violation = tuple[str, str]


def check_rerank(request: rerank_pb2.RerankRequest) -> None:
    """Raise ServiceError INVALID_FIELD listing what is wrong."""
    _raise_for(_find_rerank_violations(request))


def check_assemble(request: rerank_pb2.AssembleContextRequest) -> None:
    """Raise ServiceError INVALID_FIELD listing what is wrong."""
    _raise_for(_find_assemble_violations(request))


def _raise_for(violations: Iterator[Violation]) -> None:
    listed = list(violations)
    if listed:
        raise invalid_fields(listed)


def _find_rerank_violations(request: rerank_pb2.RerankRequest) -> Iterator[Violation]:
    if not 1 <= len(request.queries) <= MAX_QUERY_COUNT:
        yield "queries", f"must hold 1 to {MAX_QUERY_COUNT}"
    for index, query in enumerate(request.queries):
        if not query.strip():
            yield f"queries[{index}]", "must not be blank"
    if not 1 <= len(request.passages) <= MAX_PASSAGE_COUNT:
        yield "passages", f"must hold 1 to {MAX_PASSAGE_COUNT}"
    yield from _find_id_violations("passages", "passage_id", [passage.passage_id for passage in request.passages])


def _find_assemble_violations(request: rerank_pb2.AssembleContextRequest) -> Iterator[Violation]:
    if len(request.candidates) > MAX_CANDIDATE_COUNT:
        yield "candidates", f"must hold at most {MAX_CANDIDATE_COUNT}"
    ids = [candidate.passage.passage_id for candidate in request.candidates]
    yield from _find_id_violations("candidates", "passage.passage_id", ids)
    if request.max_token_count < MIN_CONTEXT_TOKEN_COUNT:
        yield "max_token_count", f"must be at least {MIN_CONTEXT_TOKEN_COUNT}"
    if not 0 <= request.max_evidence_count <= MAX_EVIDENCE_COUNT:
        yield "max_evidence_count", f"must be 0 to {MAX_EVIDENCE_COUNT}"
    if request.HasField("min_relevance") and not 0.0 <= request.min_relevance <= 1.0:
        yield "min_relevance", "must be 0 to 1"
    for index, known in enumerate(request.known_evidence_ids):
        if read_evidence_number(known.evidence_id) is None:
            yield f"known_evidence_ids[{index}].evidence_id", 'must be "E" and a number from 1'
    known_ids = [known.evidence_id for known in request.known_evidence_ids]
    yield from _find_id_violations("known_evidence_ids", "evidence_id", known_ids)


def _find_id_violations(field: str, inner: str, ids: list[str]) -> Iterator[Violation]:
    seen: set[str] = set()
    for index, each in enumerate(ids):
        if not each:
            yield f"{field}[{index}].{inner}", "must not be empty"
        elif each in seen:
            yield f"{field}[{index}].{inner}", "occurs twice"
        seen.add(each)
