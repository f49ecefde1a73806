"""Which candidates a pass is about, and which places it leaves to two-hop retrieval."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from citemesh.v1 import activation_pb2, evidence_pb2, question_pb2
from services.dispatcher.context import choose_candidates, find_held_back

TWO_HOP = frozenset({activation_pb2.PATTERN_TWO_HOP_REFERENCES})
TABLE = question_pb2.LAYOUT_HINT_TABLE


def candidate(
    passage_id: str, *, table: str = "", refers_to: str = "", document_id: str = "d"
) -> evidence_pb2.Candidate:
    passage = evidence_pb2.Passage(passage_id=passage_id, document_id=document_id, label=table)
    if table:
        passage.kind = evidence_pb2.PASSAGE_KIND_TABLE
    if refers_to:
        passage.references.add(label=refers_to)
    return evidence_pb2.Candidate(passage=passage)


@given(
    st.lists(st.sampled_from("abcdefgh"), unique=True),
    st.lists(st.sampled_from("abcxyz")),
    st.sets(st.sampled_from("abcdefgh")),
    st.integers(1, 6),
)
def test_required_first_then_the_best_and_never_more_than_needed(
    found: list[str], required: list[str], held_back: set[str], max_count: int
) -> None:
    candidates = {name: candidate(name) for name in found}
    chosen = choose_candidates(candidates, required, held_back, max_count)
    known = [name for name in dict.fromkeys(required) if name in candidates]
    assert list(chosen[: len(known)]) == known
    assert len(chosen) == len(set(chosen)) <= max(max_count, len(known))
    assert not (set(chosen) - set(known)) & held_back
    others = [name for name in chosen if name not in known]
    assert others == [name for name in found if name in others], "in the order of the candidates"


def held(
    *candidates: evidence_pb2.Candidate,
    hint: question_pb2.LayoutHint.ValueType = TABLE,
    patterns: frozenset[activation_pb2.Pattern.ValueType] = TWO_HOP,
) -> frozenset[str]:
    question = question_pb2.ParsedQuestion(retrieval=question_pb2.RetrievalPlan(layout_hint=hint))
    return find_held_back(question, patterns, {item.passage.passage_id: item for item in candidates})


def test_a_hinted_place_is_left_to_the_text_that_refers_to_it() -> None:
    text, table = candidate("text", refers_to="table 3"), candidate("table", table="table 3")
    assert held(text, table) == {"table"}
    assert not held(text, table, hint=question_pb2.LAYOUT_HINT_UNSPECIFIED), "the question hints at no table"
    assert not held(text, table, patterns=frozenset()), "references are not followed"
    assert not held(table), "nothing leads there"
    assert not held(candidate("text", refers_to="table 3", document_id="other"), table)
    assert not held(candidate("table", table="table 3", refers_to="table 3")), "a caption is no reference to itself"
