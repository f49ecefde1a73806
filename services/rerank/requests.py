"""What a request must hold, checked before any work; every wrong field is reported at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from citemesh.evidence.ids import read_evidence_number
from citemesh.rpc.request_checks import (
    MAX_QUERY_LENGTH,
    MAX_TEXT_LENGTH,
    Violation,
    find_count_violations,
    find_id_violations,
    find_length_violations,
    find_text_violations,
    raise_for,
)
from citemesh.v1 import rerank_pb2

MAX_QUERY_COUNT: Final = 4
MAX_PASSAGE_COUNT: Final = 200
MAX_PAIR_TEXT_LENGTH: Final = MAX_TEXT_LENGTH + 20_000
"""A passage's text with its title and headings."""
MAX_CANDIDATE_COUNT: Final = 1_000
MIN_CONTEXT_TOKEN_COUNT: Final = 64
MAX_EVIDENCE_COUNT: Final = 100


def check_rerank(request: rerank_pb2.RerankRequest) -> None:
    """Raise ServiceError INVALID_FIELD listing what is wrong."""
    raise_for(_find_rerank_violations(request))


def check_assemble(request: rerank_pb2.AssembleContextRequest) -> None:
    """Raise ServiceError INVALID_FIELD listing what is wrong."""
    raise_for(_find_assemble_violations(request))


def _find_rerank_violations(request: rerank_pb2.RerankRequest) -> Iterator[Violation]:
    yield from find_count_violations("queries", len(request.queries), MAX_QUERY_COUNT, min_count=1)
    for index, query in enumerate(request.queries[:MAX_QUERY_COUNT]):
        yield from find_text_violations(f"queries[{index}]", query, MAX_QUERY_LENGTH)
    yield from find_count_violations("passages", len(request.passages), MAX_PASSAGE_COUNT, min_count=1)
    passages = request.passages[:MAX_PASSAGE_COUNT]
    yield from find_id_violations("passages", "passage_id", [passage.passage_id for passage in passages])
    for index, passage in enumerate(passages):
        yield from find_length_violations(f"passages[{index}].text", passage.text, MAX_PAIR_TEXT_LENGTH)


def _find_assemble_violations(request: rerank_pb2.AssembleContextRequest) -> Iterator[Violation]:
    yield from find_count_violations("candidates", len(request.candidates), MAX_CANDIDATE_COUNT)
    candidates = request.candidates[:MAX_CANDIDATE_COUNT]
    ids = [candidate.passage.passage_id for candidate in candidates]
    yield from find_id_violations("candidates", "passage.passage_id", ids)
    for index, candidate in enumerate(candidates):
        yield from find_length_violations(f"candidates[{index}].passage.text", candidate.passage.text, MAX_TEXT_LENGTH)
    if request.max_token_count < MIN_CONTEXT_TOKEN_COUNT:
        yield "max_token_count", f"must be at least {MIN_CONTEXT_TOKEN_COUNT}"
    if not 0 <= request.max_evidence_count <= MAX_EVIDENCE_COUNT:
        yield "max_evidence_count", f"must be 0 to {MAX_EVIDENCE_COUNT}"
    if request.HasField("min_relevance") and not 0.0 <= request.min_relevance <= 1.0:
        yield "min_relevance", "must be 0 to 1"
    yield from find_count_violations("required_passage_ids", len(request.required_passage_ids), MAX_CANDIDATE_COUNT)
    yield from find_count_violations("known_evidence_ids", len(request.known_evidence_ids), MAX_CANDIDATE_COUNT)
    known = request.known_evidence_ids[:MAX_CANDIDATE_COUNT]
    for index, each in enumerate(known):
        if read_evidence_number(each.evidence_id) is None:
            yield f"known_evidence_ids[{index}].evidence_id", 'must be "E" and a number from 1'
    yield from find_id_violations("known_evidence_ids", "evidence_id", [each.evidence_id for each in known])
