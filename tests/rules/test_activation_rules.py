"""One case for each activation rule: the least facts in which the rule decides, and what it decides."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citemesh.v1 import activation_pb2, document_pb2, question_pb2
from services.dispatcher.resolve import (
    ADAPTIVE,
    DENSE,
    FEEDBACK,
    KEYWORD,
    LISTING,
    PATTERNS,
    RULES,
    TOC,
    TWO_HOP,
    Facts,
    resolve,
)

ONE_DOCUMENT = document_pb2.ScopeProfile(document_count=1, languages=["en"])


def facts(
    *,
    scope: document_pb2.ScopeProfile = ONE_DOCUMENT,
    keyword_can_match: bool = True,
    need: question_pb2.RetrievalNeed.ValueType = question_pb2.RETRIEVAL_NEED_RETRIEVE,
    intent: question_pb2.Intent.ValueType = question_pb2.INTENT_FACTOID,
    language: str = "en",
    **plan: object,
) -> Facts:
    question = question_pb2.ParsedQuestion(
        need=need,
        intent=intent,
        language=language,
        retrieval=question_pb2.RetrievalPlan(**plan),  # type: ignore[arg-type]  # fields of the message
    )
    return Facts(question, scope, keyword_can_match)


def scope(**fields: object) -> document_pb2.ScopeProfile:
    return document_pb2.ScopeProfile(**{"document_count": 1, "languages": ["en"], **fields})  # type: ignore[arg-type]  # fields of the message


CASES = [
    ("all.no_documents_needed", KEYWORD, False, facts(need=question_pb2.RETRIEVAL_NEED_SMALL_TALK)),
    ("toc.usable", TOC, True, facts(scope=scope(usable_toc_count=1))),
    ("toc.none", TOC, False, facts()),
    ("keyword.default", KEYWORD, True, facts()),
    ("dense.open_question", DENSE, True, facts(intent=question_pb2.INTENT_OPEN_CORPUS_WIDE)),
    ("dense.several_documents", DENSE, True, facts(scope=scope(document_count=2))),
    ("dense.other_language", DENSE, True, facts(language="de")),
    ("dense.no_shared_word", DENSE, True, facts(keyword_can_match=False)),
    ("dense.unknown_scope", DENSE, True, facts(scope=document_pb2.ScopeProfile())),
    ("dense.keywords_suffice", DENSE, False, facts()),
    ("two_hop.section_hint", TWO_HOP, True, facts(section_hint="5.4")),
    ("two_hop.layout_hint", TWO_HOP, True, facts(layout_hint=question_pb2.LAYOUT_HINT_TABLE)),
    ("two_hop.named_place", TWO_HOP, True, facts(references=[question_pb2.Reference(label="table 3")])),
    ("two_hop.section_question", TWO_HOP, True, facts(intent=question_pb2.INTENT_SECTION_RETRIEVAL)),
    ("two_hop.open_scoped", TWO_HOP, True, facts(intent=question_pb2.INTENT_OPEN_SCOPED)),
    ("two_hop.not_asked_for", TWO_HOP, False, facts()),
    ("listing.listing_question", LISTING, True, facts(intent=question_pb2.INTENT_LISTING)),
    ("listing.not_asked_for", LISTING, False, facts()),
    ("adaptive.likely_scanned", ADAPTIVE, True, facts(scope=scope(likely_scanned_count=1))),
    ("adaptive.by_feedback_only", ADAPTIVE, False, facts()),
    ("feedback.default", FEEDBACK, True, facts()),
]


def decision(activations: activation_pb2.Activations, pattern: int) -> activation_pb2.Activation:
    return next(item for item in activations.activations if item.pattern == pattern)


@pytest.mark.parametrize(("rule_id", "pattern", "active", "given_facts"), CASES, ids=[case[0] for case in CASES])
def test_rule(rule_id: str, pattern: activation_pb2.Pattern.ValueType, active: bool, given_facts: Facts) -> None:
    activation = decision(resolve(given_facts), pattern)
    assert (activation.rule_id, activation.active) == (rule_id, active)
    assert activation.reason


def test_every_rule_has_its_case() -> None:
    assert {rule.rule_id for rule in RULES} == {case[0] for case in CASES}


def test_the_worked_example_of_a_listing_over_one_document_with_contents() -> None:
    """A list question that points to a table, over one document with a usable table of contents."""
    activations = resolve(
        facts(
            scope=scope(usable_toc_count=1),
            intent=question_pb2.INTENT_LISTING,
            section_hint="5.4",
            layout_hint=question_pb2.LAYOUT_HINT_TABLE,
        )
    )
    on = [item.pattern for item in activations.activations if item.active]
    assert on == [TOC, KEYWORD, TWO_HOP, LISTING, FEEDBACK]


FACTS = st.builds(
    facts,
    scope=st.builds(
        scope,
        document_count=st.integers(0, 5),
        usable_toc_count=st.integers(0, 2),
        likely_scanned_count=st.integers(0, 2),
        languages=st.lists(st.sampled_from(["en", "de", "und"]), max_size=2),
    ),
    keyword_can_match=st.booleans(),
    need=st.sampled_from(question_pb2.RetrievalNeed.values()),
    intent=st.sampled_from(question_pb2.Intent.values()),
    language=st.sampled_from(["en", "de", "und", ""]),
    layout_hint=st.sampled_from(question_pb2.LayoutHint.values()),
)


@given(FACTS)
def test_same_facts_same_bytes_and_one_decision_for_each_pattern(given_facts: Facts) -> None:
    first, second = resolve(given_facts), resolve(given_facts)
    assert first.SerializeToString(deterministic=True) == second.SerializeToString(deterministic=True)
    assert tuple(item.pattern for item in first.activations) == PATTERNS
    assert all(item.rule_id and item.reason for item in first.activations)


@given(FACTS)
def test_keywords_are_searched_whenever_documents_are(given_facts: Facts) -> None:
    needs = given_facts.question.need in (
        question_pb2.RETRIEVAL_NEED_UNSPECIFIED,
        question_pb2.RETRIEVAL_NEED_RETRIEVE,
    )
    assert decision(resolve(given_facts), KEYWORD).active == needs
