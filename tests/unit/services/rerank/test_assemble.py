"""Context assembly: whole units, within the budget, once each, always in the same order."""

from __future__ import annotations

import hashlib

from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given
from hypothesis import strategies as st

from citemesh.v1 import evidence_pb2, question_pb2, rerank_pb2
from services.rerank.assemble import Limits, assemble_context

WIDE = Limits(max_token_count=10_000, max_evidence_count=100, min_relevance=0.1)


def make_candidate(
    passage_id: str, text: str = "", token_count: int = 10, relevance: float | None = 0.5, parent_id: str = "s1"
) -> evidence_pb2.Candidate:
    text = text or f"Text of {passage_id}."
    candidate = evidence_pb2.Candidate(
        passage=evidence_pb2.Passage(
            passage_id=passage_id,
            document_id="d",
            document_version=1,
            text=text,
            content_hash=hashlib.sha256(text.encode()).hexdigest(),
            parent_id=parent_id,
            token_count=token_count,
        )
    )
    if relevance is not None:
        candidate.relevance = relevance
    return candidate


def list_ids(response: rerank_pb2.AssembleContextResponse) -> list[str]:
    return [evidence.passage_id for evidence in response.evidence]


def list_dropped(response: rerank_pb2.AssembleContextResponse) -> dict[str, str]:
    return {
        each.passage_id: rerank_pb2.DropReason.Name(each.reason).removeprefix("DROP_REASON_")
        for each in response.dropped
    }


def test_best_first_with_ids_in_order() -> None:
    response = assemble_context([make_candidate("b"), make_candidate("a")], WIDE)
    assert [(each.evidence_id, each.passage_id) for each in response.evidence] == [("E1", "b"), ("E2", "a")]
    assert response.token_count == 20


def test_a_unit_that_does_not_fit_is_left_out_whole_and_named() -> None:
    candidates = [
        make_candidate("big", token_count=70),
        make_candidate("bigger", token_count=90),
        make_candidate("small"),
    ]
    response = assemble_context(candidates, Limits(100, 100, 0.0))
    assert list_ids(response) == ["big", "small"]
    assert list_dropped(response) == {"bigger": "TOKEN_BUDGET"}
    assert response.evidence[0].text == candidates[0].passage.text


def test_required_units_come_first_and_need_no_relevance() -> None:
    candidates = [make_candidate("best", relevance=0.9), make_candidate("table", relevance=0.01, token_count=60)]
    response = assemble_context(candidates, Limits(64, 100, 0.1), required_passage_ids=["table", "not-found"])
    assert list_ids(response) == ["table"]
    assert list_dropped(response) == {"best": "TOKEN_BUDGET"}


def test_least_relevance_spares_what_was_not_calibrated() -> None:
    candidates = [make_candidate("low", relevance=0.05), make_candidate("unscored", relevance=None)]
    response = assemble_context(candidates, WIDE)
    assert list_ids(response) == ["unscored"]
    assert not response.evidence[0].HasField("relevance")
    assert list_dropped(response) == {"low": "RELEVANCE"}


def test_same_text_and_contained_text_of_one_section_count_once() -> None:
    candidates = [
        make_candidate("long", "First sentence. Second sentence."),
        make_candidate("copy", "First sentence. Second sentence.", parent_id="other"),
        make_candidate("part", "Second  sentence."),
        make_candidate("elsewhere", "Second sentence.", parent_id="other"),
    ]
    response = assemble_context(candidates, WIDE)
    assert list_ids(response) == ["long", "elsewhere"]
    assert list_dropped(response) == {"copy": "DUPLICATE", "part": "DUPLICATE"}


def test_count_limit() -> None:
    response = assemble_context([make_candidate(each) for each in "abc"], Limits(1000, 2, 0.0))
    assert list_dropped(response) == {"c": "COUNT"}


def test_passages_keep_their_ids_from_pass_to_pass() -> None:
    known = [rerank_pb2.EvidenceId(passage_id=each, evidence_id=f"E{number}") for number, each in enumerate("xyz", 1)]
    response = assemble_context([make_candidate(each) for each in ("new", "z", "x")], WIDE, ["new"], known)
    assert [(each.evidence_id, each.passage_id) for each in response.evidence] == [
        ("E1", "x"),
        ("E3", "z"),
        ("E4", "new"),
    ]


def test_evidence_carries_the_passage_unchanged() -> None:
    candidate = make_candidate("p", relevance=0.75)
    passage = candidate.passage
    passage.title, passage.section_number, passage.label, passage.heading_context = (
        "T",
        "5.4",
        "table 3",
        "Table 3: head",
    )
    passage.section_path.extend(["5", "5.4 Regularization"])
    passage.page_first, passage.page_last, passage.ordinal = 7, 8, 41
    passage.kind = evidence_pb2.PASSAGE_KIND_TABLE
    passage.lines.add(page_number=7, x0=1.5, end_offset=4)
    passage.references.add()
    passage.effective_from_time.CopyFrom(Timestamp(seconds=100))
    candidate.hop_count = 1
    [evidence] = assemble_context([candidate], WIDE).evidence
    shared = set(evidence_pb2.Evidence.DESCRIPTOR.fields_by_name) & set(evidence_pb2.Passage.DESCRIPTOR.fields_by_name)
    for name in shared:
        assert getattr(evidence, name) == getattr(passage, name), name
    assert not evidence.HasField("effective_to_time")
    assert (evidence.relevance, evidence.hop_count) == (0.75, 1)
    assert isinstance(evidence.references[0], question_pb2.Reference)


CANDIDATES = st.lists(
    st.builds(
        make_candidate,
        passage_id=st.text("abcdefgh", min_size=1, max_size=2),
        text=st.sampled_from(["", "One.", "One. Two.", "Two.", "Three and more."]),
        token_count=st.integers(1, 90),
        relevance=st.one_of(st.none(), st.floats(0, 1)),
        parent_id=st.sampled_from(["s1", "s2"]),
    ),
    max_size=12,
    unique_by=lambda candidate: candidate.passage.passage_id,
)


@given(
    candidates=CANDIDATES,
    budget=st.integers(64, 200),
    count=st.integers(1, 5),
    required=st.sets(st.sampled_from("abc")),
)
def test_every_candidate_is_selected_whole_or_named(
    candidates: list[evidence_pb2.Candidate], budget: int, count: int, required: set[str]
) -> None:
    limits = Limits(budget, count, 0.2)
    response = assemble_context(candidates, limits, sorted(required))
    ids = list_ids(response)
    assert sorted([*ids, *list_dropped(response)]) == sorted(each.passage.passage_id for each in candidates)
    assert response.token_count <= budget
    assert len(ids) <= count
    by_id = {each.passage.passage_id: each.passage for each in candidates}
    assert all(each.text == by_id[each.passage_id].text for each in response.evidence)
    hashes = [each.content_hash for each in response.evidence]
    assert len(hashes) == len(set(hashes))
    assert [each.evidence_id for each in response.evidence] == [f"E{number}" for number in range(1, len(ids) + 1)]
    assert response == assemble_context(candidates, limits, sorted(required, reverse=True))
