"""Questions understood: intent, parts, hints, keywords, counts."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citemesh.v1.question_pb2 import AnswerType, Intent, LayoutHint, RetrievalMode, RetrievalNeed
from services.query.counts import find_requested_count
from services.query.decompose import decompose
from services.query.hints import find_document_hints, find_hints
from services.query.keywords import find_keywords
from services.query.language import detect_language
from services.query.understand import understand


def test_a_compound_listing_question_about_a_named_paper() -> None:
    question = (
        "What regularization techniques does the Transformer paper use, and where do they show the impact on BLEU?"
    )
    parsed = understand(question)
    assert parsed.original_question == parsed.standalone_question == question
    assert parsed.need == RetrievalNeed.RETRIEVAL_NEED_RETRIEVE
    assert parsed.intent == Intent.INTENT_LISTING
    assert parsed.answer_type == AnswerType.ANSWER_TYPE_LIST
    assert len(parsed.sub_questions) == 2
    assert "regularization techniques" in parsed.sub_questions[1]
    assert parsed.retrieval.layout_hint == LayoutHint.LAYOUT_HINT_TABLE
    assert list(parsed.retrieval.document_hints) == ["the Transformer paper"]
    assert parsed.retrieval.mode == RetrievalMode.RETRIEVAL_MODE_ALL
    assert 0 < len(parsed.retrieval.anchor_keywords) <= 15


@pytest.mark.parametrize(
    ("question", "intent"),
    [
        ("Which feature gates can I toggle?", Intent.INTENT_LISTING),
        ("List all supported platforms.", Intent.INTENT_LISTING),
        ("What types of leave are there?", Intent.INTENT_LISTING),
        ("What must be included in an advisory?", Intent.INTENT_LISTING),
        ("Welches sind die drei Arten von Alarm?", Intent.INTENT_LISTING),
        ("Quels projets le plan prévoit-il ?", Intent.INTENT_LISTING),
        ("Which script builds the binaries?", Intent.INTENT_FACTOID),
        ("What is the notice period?", Intent.INTENT_FACTOID),
        ("How many pumps are there?", Intent.INTENT_FACTOID),
        ("Which cookie prefix is recommended?", Intent.INTENT_FACTOID),
        ("What does section 5.4 say about dropout?", Intent.INTENT_SECTION_RETRIEVAL),
        ("According to the part on relocation, who pays?", Intent.INTENT_SECTION_RETRIEVAL),
        ("How do the settings of Argon2id and of scrypt compare?", Intent.INTENT_COMPARISON),
        ("What is the difference between leave and furlough?", Intent.INTENT_COMPARISON),
        ("Gateway or proxy: which caches reads?", Intent.INTENT_COMPARISON),
        ("Why does the leader change?", Intent.INTENT_OPEN_SCOPED),
        ("Explain how compaction works", Intent.INTENT_OPEN_SCOPED),
        ("Summarise what we know about outages across all documents", Intent.INTENT_OPEN_CORPUS_WIDE),
        ("hello", Intent.INTENT_CONVERSATIONAL),
    ],
)
def test_intents(question: str, intent: Intent.ValueType) -> None:
    assert Intent.Name(understand(question).intent) == Intent.Name(intent)


@pytest.mark.parametrize(
    ("question", "answer_type"),
    [
        ("How many pumps are there?", AnswerType.ANSWER_TYPE_NUMBER),
        ("How long may I stay?", AnswerType.ANSWER_TYPE_DURATION),
        ("How many days of notice are needed?", AnswerType.ANSWER_TYPE_DURATION),
        ("When is the review due?", AnswerType.ANSWER_TYPE_DATE),
        ("How much is the penalty?", AnswerType.ANSWER_TYPE_MONEY),
        ("Who approves travel?", AnswerType.ANSWER_TYPE_PERSON),
        ("Where do I park?", AnswerType.ANSWER_TYPE_PLACE),
        ("May I bring a dog?", AnswerType.ANSWER_TYPE_YES_NO),
        ("We switched auth on. Is scraping closed now?", AnswerType.ANSWER_TYPE_YES_NO),
        ("What is a relying party?", AnswerType.ANSWER_TYPE_DEFINITION),
        ("What does quorum mean?", AnswerType.ANSWER_TYPE_DEFINITION),
        ("Why was it removed from the office?", AnswerType.ANSWER_TYPE_REASON),
        ("How do I restore a snapshot?", AnswerType.ANSWER_TYPE_PROCEDURE),
    ],
)
def test_answer_types(question: str, answer_type: AnswerType.ValueType) -> None:
    assert AnswerType.Name(understand(question).answer_type) == AnswerType.Name(answer_type)


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("What is a learner in etcd?", []),
        ("Which salts and hashes are allowed?", []),
        (
            "Which state had the most checks, and how many?",
            ["Which state had the most checks?", "How many (checks)?"],
        ),
        (
            "Idle timeout versus absolute timeout: what makes each of them fire?",
            ["What makes idle timeout fire?", "What makes absolute timeout fire?"],
        ),
        (
            "Gateway or proxy: which of them caches reads, and which only passes bytes on?",
            ["Gateway or proxy: which of them caches reads?", "Gateway or proxy: which only passes bytes on?"],
        ),
        (
            "How high are damages in individual actions and in class actions?",
            ["How high are damages in individual actions?", "How high are damages in class actions?"],
        ),
        (
            "Both the red and the blue papers train with Adam. How does the rate change in each?",
            ["How does the rate change in red?", "How does the rate change in blue?"],
        ),
    ],
)
def test_decomposition(question: str, parts: list[str]) -> None:
    assert decompose(question) == parts


@pytest.mark.parametrize(
    ("question", "section_hint", "layout_hint", "labels"),
    [
        ("What does section 5.4 say?", "5.4", LayoutHint.LAYOUT_HINT_UNSPECIFIED, ["section 5.4"]),
        ("What is under § 1003.2(g)?", "1003.2(g)", LayoutHint.LAYOUT_HINT_UNSPECIFIED, ["section 1003.2(g)"]),
        ("What does Table 3 show?", None, LayoutHint.LAYOUT_HINT_TABLE, ["table 3"]),
        ("Which drug is in the last row of the table?", None, LayoutHint.LAYOUT_HINT_TABLE, []),
        ("Where are the results reported?", None, LayoutHint.LAYOUT_HINT_TABLE, []),
        ("Where do I report a fire?", None, LayoutHint.LAYOUT_HINT_UNSPECIFIED, []),
        ("What does Figure 2 show?", None, LayoutHint.LAYOUT_HINT_FIGURE, ["figure 2"]),
        ("See Appendix B for what?", "Appendix B", LayoutHint.LAYOUT_HINT_UNSPECIFIED, ["appendix b"]),
        (
            "What does RULE #10 of the Docker sheet ask for?",
            "RULE #10",
            LayoutHint.LAYOUT_HINT_UNSPECIFIED,
            ["rule 10"],
        ),
        (
            "What does the part on short-term relocation say?",
            "short-term relocation",
            LayoutHint.LAYOUT_HINT_UNSPECIFIED,
            [],
        ),
    ],
)
def test_hints(question: str, section_hint: str | None, layout_hint: LayoutHint.ValueType, labels: list[str]) -> None:
    hints = find_hints(question)
    assert hints.section_hint == section_hint
    assert hints.layout_hint == layout_hint
    assert [reference.label for reference in hints.references] == labels


@pytest.mark.parametrize(
    ("question", "hints"),
    [
        ("What does the Docker sheet say?", ["the Docker sheet"]),
        ("Who is elderly under Regulation B?", ["Regulation B"]),
        ("What does RFC 2616 require?", ["RFC 2616"]),
        ("Compare the red team report with the travel policy", ["the red team report", "the travel policy"]),
        ("What does report-2024.pdf say?", ["report-2024.pdf"]),
        ("What does the other sheet say?", []),
        ("What is the highest rate?", []),
    ],
)
def test_document_hints(question: str, hints: list[str]) -> None:
    assert find_document_hints(question) == hints


def test_keywords_keep_what_must_not_be_cut_and_put_it_first() -> None:
    question = 'Does "use or lose" follow --snapshot-count, RFC 2616 and § 1003.2(g) in the yearly review?'
    keywords = find_keywords(question, "en", find_hints(question))
    assert keywords[0] == "use or lose"
    assert "--snapshot-count" in keywords[:4]
    assert "§ 1003.2(g)" in keywords
    assert "review" in keywords
    assert not {"does", "the", "in"} & set(keywords)


def test_a_verb_behind_its_subject_is_no_part_of_a_phrase() -> None:
    question = "Which kinds of alarm does the CX-200 monitor raise?"
    keywords = find_keywords(question, "en", find_hints(question))
    assert "CX-200 monitor" in keywords
    assert "CX-200 monitor raise" not in keywords


@pytest.mark.parametrize(
    ("question", "count"),
    [
        ("Which three kinds of alarm are there?", 3),
        ("Give me 5 reasons for the delay", 5),
        ("Nenne die vier Arten von Urlaub", 4),
        ("What happens after three years?", None),
        ("Which two hours are free?", None),
        ("Which rate applies to 25 people?", None),
    ],
)
def test_requested_counts(question: str, count: int | None) -> None:
    assert find_requested_count(question) == count


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("How long may I stay?", "en"),
        ("Wie lange darf ich bleiben?", "de"),
        ("Combien de temps puis-je rester ?", "fr"),
        ("¿Cuánto tiempo puedo quedarme?", "es"),
        ("Quanto tempo posso restare nella casa?", "it"),
        ("年假有多少天？", "zh"),
        ("休暇は何日ありますか", "ja"),
        ("Сколько дней отпуска?", "ru"),
        ("hello", "en"),
        ("12345", "und"),
    ],
)
def test_languages(text: str, language: str) -> None:
    assert detect_language(text) == language


def test_a_word_without_language_takes_that_of_the_turn_before() -> None:
    assert detect_language("MFA?", ["Wie lange darf ich bleiben?"]) == "de"
    assert detect_language("Xylograph Quartz", identify=lambda _: "xx") == "und"
    assert detect_language("Pracownicy otrzymują wynagrodzenie", identify=lambda _: "pl") == "pl"


def test_rewrites_add_and_never_replace() -> None:
    parsed = understand("How many vacation days do I get per year?")
    assert parsed.retrieval.main_query == parsed.original_question
    assert parsed.original_question not in parsed.retrieval.rewrites
    assert any("annual leave" in rewrite for rewrite in parsed.retrieval.rewrites)


def test_courtesy_is_left_out_of_the_query() -> None:
    parsed = understand("Could you please tell me who approves travel to Norway?")
    assert parsed.retrieval.main_query == "Who approves travel to Norway?"
    assert parsed.original_question.startswith("Could")


@settings(max_examples=200, deadline=None)
@given(st.text(min_size=1, max_size=300))
def test_any_text_is_understood_the_same_way_twice(text: str) -> None:
    parsed = understand(text)
    assert parsed.original_question == text
    assert parsed.need != RetrievalNeed.RETRIEVAL_NEED_UNSPECIFIED
    assert parsed.intent != Intent.INTENT_UNSPECIFIED
    assert len(parsed.retrieval.anchor_keywords) <= 15
    assert parsed.SerializeToString(deterministic=True) == understand(text).SerializeToString(deterministic=True)


@pytest.mark.parametrize(
    "text", ["a " * 2000, "?" * 4000, "the " * 1000, "A and B, " * 400, "which of " * 440, "-" * 4000]
)
def test_long_texts_do_not_take_long(text: str) -> None:
    start = time.thread_time()
    understand(text[:4000])
    assert time.thread_time() - start < 1.0
