"""Whether to search."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from citemesh.v1.question_pb2 import RetrievalNeed, Role, Turn
from services.query.small_talk import is_small_talk
from services.query.transform import is_transform_request
from services.query.understand import understand

ANSWERED = [
    Turn(role=Role.ROLE_USER, text="Above what cost does a trip need approval?"),
    Turn(role=Role.ROLE_ASSISTANT, text="Above EUR 800."),
]


@pytest.mark.parametrize(
    "text",
    [
        "hello",
        "Hi there!",
        "Good morning, how are you?",
        "Thanks a lot, that was exactly what I needed!",
        "Who are you?",
        "Danke, das war sehr hilfreich!",
        "Guten Tag",
        "Merci beaucoup, c'est parfait !",
        "Bonjour",
        "¡Hola! ¿Qué tal?",
        "Muchas gracias por la ayuda",
        "谢谢你的帮助！",
        "早上好",
        "ありがとうございます",
        "Спасибо большое!",
        "ok, got it",
    ],
)
def test_small_talk_is_recognised_in_many_languages(text: str) -> None:
    parsed = understand(text)
    assert parsed.need == RetrievalNeed.RETRIEVAL_NEED_SMALL_TALK
    assert not parsed.keywords


@pytest.mark.parametrize(
    "text",
    [
        "Hi, how many vacation days do I get?",
        "Thanks! And what about sick leave?",
        "Good morning, is the office closed on Monday?",
        "Hello world program in Rust",
        "Merci, mais quel est le délai de remboursement ?",
        "你好，年假有多少天？",
        "",
        "Thank you letter template",
    ],
)
def test_a_greeting_does_not_hide_a_question(text: str) -> None:
    assert not is_small_talk(text)


@pytest.mark.parametrize(
    "text",
    [
        "Translate that into German",
        "Can you make it shorter?",
        "Kürzer bitte",
        "Repeat your last answer, please",
        "Traduis ça en anglais",
        "Resume eso en español",
        "Put it in bullet points",
        "翻译成英文",
    ],
)
def test_work_on_the_last_answer_needs_no_search(text: str) -> None:
    assert understand(text, ANSWERED).need == RetrievalNeed.RETRIEVAL_NEED_TRANSFORM_TURN


@pytest.mark.parametrize(
    "text", ["Summarise the travel policy", "How do I translate the user interface?", "What is a table lock?"]
)
def test_work_on_documents_is_no_work_on_the_last_answer(text: str) -> None:
    assert not is_transform_request(text)


def test_work_on_an_answer_that_was_not_given_is_asked_back() -> None:
    parsed = understand("Translate this")
    assert parsed.need == RetrievalNeed.RETRIEVAL_NEED_CLARIFY
    assert parsed.clarification_question.endswith("?")


@pytest.mark.parametrize(
    "text",
    [
        "How many days do we have?",
        "What is the limit?",
        "How do I enable it?",
        "When is it due?",
        "Is that flag still there?",
        "How much faster was it?",
        "What does Table 2 show?",
        "What does section 4.1 say?",
        "Wie hoch ist das Limit?",
        "Quelle est la limite ?",
        "why?",
    ],
)
def test_a_question_without_its_object_is_asked_back(text: str) -> None:
    parsed = understand(text)
    assert parsed.need == RetrievalNeed.RETRIEVAL_NEED_CLARIFY
    assert parsed.clarification_question.endswith("?")
    assert parsed.need_reason


@pytest.mark.parametrize(
    "text",
    [
        "What is the daily meal allowance for trips abroad?",
        "What does Table 2 of the travel policy show?",
        "Is it OK to mount the socket read-only?",
        "What is Use or Lose?",
        "What does --snapshot-count do?",
        "MFA?",
        "Does it support TLS and gRPC?",
        "What's a learner?",
        "Wie viele Urlaubstage habe ich?",
    ],
)
def test_a_question_with_an_object_is_searched(text: str) -> None:
    assert understand(text).need == RetrievalNeed.RETRIEVAL_NEED_RETRIEVE


def test_a_question_to_be_asked_back_is_planned_all_the_same() -> None:
    parsed = understand("What does Table 2 show?")
    assert [reference.label for reference in parsed.retrieval.references] == ["table 2"]


def test_history_gives_an_object_to_a_question_that_lacks_one() -> None:
    parsed = understand("What are the requirements?", ANSWERED)
    assert parsed.need == RetrievalNeed.RETRIEVAL_NEED_RETRIEVE
    assert "trip" in parsed.standalone_question


def test_decisions_over_the_question_sets(shared_data: Path) -> None:
    """At most one answerable question in a hundred is asked back or greeted; most of the others are recognised."""
    wanted = {
        "underspecified": RetrievalNeed.RETRIEVAL_NEED_CLARIFY,
        "smalltalk": RetrievalNeed.RETRIEVAL_NEED_SMALL_TALK,
    }
    right = wrong = total = searched = 0
    for path in sorted((shared_data / "qa").glob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            row = json.loads(line)
            history = [
                Turn(role=Role.ROLE_USER if turn["role"] == "user" else Role.ROLE_ASSISTANT, text=turn["text"])
                for turn in row.get("history", [])
            ]
            need = understand(row["question"], history).need
            if row["type"] in wanted:
                total += 1
                right += need == wanted[row["type"]]
            else:
                searched += 1
                wrong += need != RetrievalNeed.RETRIEVAL_NEED_RETRIEVE
    assert right / total >= 0.7
    assert wrong / searched <= 0.01
