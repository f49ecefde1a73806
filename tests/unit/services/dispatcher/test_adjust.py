"""What each action changes, and what it never does."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from citemesh.v1 import activation_pb2, answer_pb2, evidence_pb2, history_pb2, question_pb2, retrieval_pb2
from services.dispatcher.adjust import adjust, expand_keywords, open_state
from services.dispatcher.queries import first_queries, named_references
from services.dispatcher.state import NO_LISTING, Case, Gathered, LoopState, PassResult, Proposal
from services.dispatcher.words import active_patterns, fold
from tests.unit.services.dispatcher.records import PAGE, TABLE_3, make_case
from tests.unit.services.dispatcher.scripts import claim

WORD = st.text(st.characters(categories=["Ll", "Lu", "Nd"]), min_size=1, max_size=8)


@given(
    st.lists(WORD, max_size=20), st.lists(WORD, max_size=20), st.lists(WORD, max_size=20), st.integers(1, 15), st.data()
)
def test_originals_are_never_pruned_and_the_cap_holds(
    originals: list[str], earlier: list[str], discovered: list[str], cap: int, data: st.DataObject
) -> None:
    counts = {fold(word): data.draw(st.integers(0, 5)) for word in {*earlier, *discovered}}
    expanded = expand_keywords(originals, earlier, discovered, lambda word: counts[fold(word)], cap)
    folded = [fold(word) for word in expanded]
    own = list(dict.fromkeys(fold(word) for word in originals))
    assert folded[: len(own)] == own, "originals first, all of them"
    assert len(folded) == len(set(folded))
    assert len(expanded) <= max(cap, len(own))
    assert set(folded) <= {fold(word) for word in (*originals, *earlier, *discovered)}


def test_the_least_informative_addition_goes_first() -> None:
    counts = {"everywhere": 40, "rare": 1, "some": 5, "nowhere": 0}
    expanded = expand_keywords(["own"], ["everywhere"], ["rare", "some", "nowhere"], counts.__getitem__, 3)
    assert expanded == ("own", "rare", "some")


def candidate(passage_id: str, page: int = 3) -> evidence_pb2.Candidate:
    passage = evidence_pb2.Passage(
        passage_id=passage_id, document_id="d", text=f"The alarms of {passage_id}", page_first=page, page_last=page
    )
    return evidence_pb2.Candidate(passage=passage, fused_score=0.1)


def after_first_pass(case: Case) -> tuple[LoopState, PassResult]:
    gathered = Gathered(
        candidates={"p1": candidate("p1"), "p2": candidate("p2", page=5)},
        evidence_ids={"p1": "E1", "p2": "E2"},
        rankings=(retrieval_pb2.Ranking(query="q"),),
    )
    evidence = (evidence_pb2.Evidence(evidence_id="E1", passage_id="p1", text="The alarms of p1"),)
    result = PassResult(gathered=gathered, evidence=evidence)
    result.answer = answer_pb2.AnswerWithEvidence(claims=[claim("C1", evidence[0])])
    return open_state(case, None), result


def move(case: Case, action: history_pb2.Action.ValueType, **payload: object) -> LoopState:
    state, result = after_first_pass(case)
    result.failed_claims = tuple(result.answer.claims)
    proposal = Proposal(history_pb2.TRIGGER_INCOMPLETE_ANSWER, action, "words", **payload)  # type: ignore[arg-type]  # fields of Proposal
    return adjust(case, state, proposal, result)


def test_the_first_state_asks_for_what_is_active() -> None:
    plan = question_pb2.RetrievalPlan(main_query="alarm kinds", anchor_keywords=["alarm"], references=[TABLE_3])
    case = make_case(intent=question_pb2.INTENT_LISTING, retrieval=plan)
    state = open_state(case, retrieval_pb2.RetrieveResponse(rankings=[retrieval_pb2.Ranking(query="Which alarms?")]))
    assert {query.leg for query in state.queries} == {activation_pb2.PATTERN_KEYWORD}
    assert "Which alarms?" not in [query.text for query in state.queries], "that is being searched already"
    assert state.references == (TABLE_3,)
    assert state.listing_scope == retrieval_pb2.LISTING_SCOPE_SECTION


def test_nothing_is_searched_again_to_follow_a_reference() -> None:
    state = move(make_case(), history_pb2.ACTION_FOLLOW_REFERENCES, references=(TABLE_3,))
    assert state.references == (TABLE_3,)
    assert not state.queries
    assert state.listing_scope == NO_LISTING
    assert activation_pb2.PATTERN_TWO_HOP_REFERENCES in state.patterns
    assert state.required_passage_ids == ("p1",), "what is cited stays in the context"
    assert state.gathered.evidence_ids == {"p1": "E1", "p2": "E2"}


def test_more_keywords_are_searched_beside_the_question() -> None:
    state = move(make_case(), history_pb2.ACTION_EXPAND_KEYWORDS, keywords=("siren",))
    assert state.keywords == ("alarms", "siren")
    assert [query.text for query in state.queries] == ["alarms siren"]
    assert state.gathered.rankings, "the rankings of the original question are fused again"


def test_parsed_again_pages_are_forgotten_and_everything_is_searched_again() -> None:
    state = move(make_case(), history_pb2.ACTION_REPARSE_PAGES, pages=(PAGE,))
    assert state.pages == (PAGE,)
    assert list(state.gathered.candidates) == ["p2"]
    assert not state.gathered.rankings
    assert state.queries


def test_parts_are_searched_by_words_and_by_meaning() -> None:
    state = move(make_case(), history_pb2.ACTION_RETRIEVE_SUB_QUESTIONS, questions=("How long?",))
    assert [(query.leg, query.text) for query in state.queries] == [
        (activation_pb2.PATTERN_KEYWORD, "How long?"),
        (activation_pb2.PATTERN_DENSE, "How long?"),
    ]


def test_retrieving_again_leaves_out_what_failed() -> None:
    state = move(make_case(), history_pb2.ACTION_RETRIEVE_AGAIN)
    assert state.excluded_passage_ids == ("p1",)
    assert list(state.gathered.candidates) == ["p2"]
    assert not state.required_passage_ids
    assert state.gathered.evidence_ids["p1"] == "E1", "an id, once given, stays taken"


def test_a_correction_searches_nothing_and_shows_what_failed() -> None:
    state = move(make_case(), history_pb2.ACTION_CORRECT_ANSWER)
    assert not state.queries
    assert not state.references
    assert [item.claim_id for item in state.failed_claims] == ["C1"]


def test_a_wider_listing() -> None:
    scope = retrieval_pb2.LISTING_SCOPE_DOCUMENT
    state = move(make_case(), history_pb2.ACTION_WIDEN_LISTING, listing_scope=scope)
    assert state.listing_scope == scope
    assert activation_pb2.PATTERN_LISTING_AGGREGATION in state.patterns


PLANS = st.builds(
    question_pb2.RetrievalPlan,
    main_query=st.text(max_size=20),
    rewrites=st.lists(st.text(max_size=20), max_size=12),
    anchor_keywords=st.lists(WORD, max_size=15),
)


@given(PLANS, st.frozensets(st.sampled_from([1, 2, 3])), st.lists(st.text(max_size=20), max_size=12))
def test_queries_are_few_distinct_and_only_for_legs_that_are_on(
    plan: question_pb2.RetrievalPlan, legs: frozenset[activation_pb2.Pattern.ValueType], parts: list[str]
) -> None:
    question = question_pb2.ParsedQuestion(original_question="Which alarms?", retrieval=plan, sub_questions=parts)
    queries = first_queries(question, legs)
    assert len(queries) <= 32
    assert {query.leg for query in queries} <= legs
    keys = [(query.leg, fold(query.text)) for query in queries]
    assert len(keys) == len(set(keys))
    assert all(text for _, text in keys)
    if activation_pb2.PATTERN_KEYWORD in legs:
        assert (activation_pb2.PATTERN_KEYWORD, fold("Which alarms?")) in keys, "the original is always searched"


def test_a_numbered_section_hint_is_a_place_to_go() -> None:
    def places(hint: str) -> list[str]:
        plan = question_pb2.RetrievalPlan(section_hint=hint, references=[TABLE_3])
        return [item.label for item in named_references(question_pb2.ParsedQuestion(retrieval=plan))]

    assert places("5.4") == ["table 3", "section 5.4"]
    assert places("Regularization") == ["table 3"]


def test_active_patterns_are_those_switched_on() -> None:
    assert activation_pb2.PATTERN_KEYWORD in active_patterns(make_case().activations)
