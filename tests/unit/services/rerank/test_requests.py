"""What a request may hold: what is too large is named and refused before any work."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from citemesh.rpc.errors import ServiceError
from citemesh.v1 import evidence_pb2, rerank_pb2
from services.rerank.requests import check_assemble, check_rerank

Rerank = rerank_pb2.RerankRequest
Assemble = rerank_pb2.AssembleContextRequest


def make_rerank() -> Rerank:
    return Rerank(queries=["What is due?"], passages=[rerank_pb2.PairText(passage_id="a", text="Fees are due.")])


def make_assemble() -> Assemble:
    candidate = evidence_pb2.Candidate(passage=evidence_pb2.Passage(passage_id="a", text="Fees are due."))
    return Assemble(candidates=[candidate], max_token_count=64)


def test_sound_requests_pass() -> None:
    check_rerank(make_rerank())
    check_assemble(make_assemble())


@pytest.mark.parametrize(
    ("field", "spoil"),
    [
        ("queries", lambda sent: sent.queries.extend("bcde")),
        ("queries[1]", lambda sent: sent.queries.append("x" * 20_001)),
        ("passages", lambda sent: sent.passages.extend(rerank_pb2.PairText(passage_id=f"p{n}") for n in range(200))),
        ("passages[0].text", lambda sent: setattr(sent.passages[0], "text", "x" * 120_001)),
    ],
)
def test_a_rerank_request_that_is_too_large(field: str, spoil: Callable[[Rerank], None]) -> None:
    sent = make_rerank()
    spoil(sent)
    with pytest.raises(ServiceError) as raised:
        check_rerank(sent)
    assert [name for name, _ in raised.value.field_violations] == [field]


def add_candidates(sent: Assemble) -> None:
    for number in range(1_000):
        sent.candidates.add().passage.passage_id = f"p{number}"


@pytest.mark.parametrize(
    ("field", "spoil"),
    [
        ("candidates", add_candidates),
        ("candidates[0].passage.text", lambda sent: setattr(sent.candidates[0].passage, "text", "x" * 100_001)),
        ("required_passage_ids", lambda sent: sent.required_passage_ids.extend(["a"] * 1_001)),
        (
            "known_evidence_ids",
            lambda sent: sent.known_evidence_ids.extend(
                rerank_pb2.EvidenceId(passage_id=str(number), evidence_id=f"E{number}") for number in range(1, 1_002)
            ),
        ),
    ],
)
def test_an_assembly_that_is_too_large(field: str, spoil: Callable[[Assemble], None]) -> None:
    sent = make_assemble()
    spoil(sent)
    with pytest.raises(ServiceError) as raised:
        check_assemble(sent)
    assert [name for name, _ in raised.value.field_violations] == [field]
