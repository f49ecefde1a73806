"""Evidence as it is made of candidates."""

from __future__ import annotations

from google.protobuf.timestamp_pb2 import Timestamp

from citemesh.evidence.units import make_evidence, measure_token_count
from citemesh.v1 import evidence_pb2, question_pb2


def test_heading_context_takes_room_and_unknown_counts_are_estimated() -> None:
    passage = evidence_pb2.Passage(text="x" * 35, heading_context="y" * 7)
    assert measure_token_count(passage) == 12
    passage.token_count = 5
    assert measure_token_count(passage) == 7


def test_all_that_both_messages_hold_is_carried_over() -> None:
    passage = evidence_pb2.Passage(
        passage_id="p", document_id="d", document_version=2, title="T", text="Text.", content_hash="h",
        section_path=["A", "B"], section_number="1.2", parent_id="s", page_first=3, page_last=4,
        kind=evidence_pb2.PASSAGE_KIND_LIST, effective_from_time=Timestamp(seconds=5), label="list 1",
        lines=[evidence_pb2.LineBox(start_offset=0, end_offset=5, page_number=3)], heading_context="Items:",
        references=[question_pb2.Reference(label="table 3")], token_count=7,
    )  # fmt: skip
    candidate = evidence_pb2.Candidate(passage=passage, relevance=0.0, hop_count=1)
    evidence = make_evidence(candidate, "E4")
    assert (evidence.evidence_id, evidence.hop_count, evidence.token_count) == ("E4", 1, 7)
    assert evidence.HasField("relevance")
    assert not evidence.HasField("effective_to_time")
    shared = [
        field.name
        for field in evidence_pb2.Evidence.DESCRIPTOR.fields
        if field.name in evidence_pb2.Passage.DESCRIPTOR.fields_by_name
    ]
    assert len(shared) >= 18
    for name in shared:
        assert getattr(evidence, name) == getattr(passage, name), name


def test_an_absent_relevance_stays_absent_and_tokens_are_estimated() -> None:
    evidence = make_evidence(evidence_pb2.Candidate(passage=evidence_pb2.Passage(text="x" * 35)), "E1")
    assert not evidence.HasField("relevance")
    assert evidence.token_count == 10
