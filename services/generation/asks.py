"""What is asked: the question, or each part of a compound one, made ready to be held against evidence."""

from __future__ import annotations

import re
from dataclasses import dataclass

from citemesh.v1 import question_pb2
from services.generation.words import find_terms

MAX_ASKS = 4
"""Parts of a compound question that are answered; more make a wall of text."""

_SPECIFIC = re.compile(
    r"`[^`]+`|\"[^\"]{2,60}\"|“[^”]{2,60}”|(?<![\w])--?[a-z][\w-]{2,}|\b\w+(?:[._/:-]\w+)+\b|\b[A-Z][A-Za-z]*\d[\w-]*\b"
    r"|\b[A-Z]{2,}[\w-]*\b|\b\w+[a-z][A-Z]\w*\b|\d[\d.,'’]*\d|\d"
)
# A first word with a capital is a sentence's beginning, and "Table 3" is a place.
_NAME = re.compile(r"(?<=[^\s.?!:;\"“(]\s)[A-Z][a-z]\w+\b(?!\s+\d)")


@dataclass(frozen=True, slots=True)
class Ask:
    """One part of a question."""

    index: int
    """Its place among the sub-questions, from 0."""
    text: str
    language: str
    intent: question_pb2.Intent.ValueType
    answer_type: question_pb2.AnswerType.ValueType
    terms: tuple[str, ...]
    """Stems of its content words, each once."""
    specifics: tuple[str, ...]
    """Codes, quoted words, names with capitals or figures, and numbers, as they stand: what cannot be reworded."""


def read_asks(question: question_pb2.ParsedQuestion) -> list[Ask]:
    """The parts to answer, at least one; a comparison or listing stays whole, its parts come from other fields."""
    whole = question.standalone_question or question.original_question
    parts = list(question.sub_questions) if len(question.sub_questions) > 1 else [whole]
    return [_read_ask(number, part, question, len(parts) > 1) for number, part in enumerate(parts[:MAX_ASKS])]


def _read_ask(index: int, text: str, question: question_pb2.ParsedQuestion, is_part: bool) -> Ask:
    language = question.language if question.language not in ("", "und") else "en"
    terms = tuple(dict.fromkeys(find_terms(text, language)))
    return Ask(
        index=index,
        text=text,
        language=language,
        intent=_read_intent(index, question.intent, is_part=is_part),
        # The type was read off the whole question: of its parts only the first is sure to ask for such a thing.
        answer_type=question.answer_type if not is_part or index == 0 else question_pb2.ANSWER_TYPE_UNSPECIFIED,
        terms=terms,
        specifics=tuple(dict.fromkeys(find_specifics(text, language))),
    )


def _read_intent(index: int, whole: question_pb2.Intent.ValueType, *, is_part: bool) -> question_pb2.Intent.ValueType:
    """The intent of a part: once a comparison is split, each part asks for a fact; a listing is the first part's."""
    if not is_part:
        return whole
    is_fact = whole == question_pb2.INTENT_COMPARISON or (index > 0 and whole == question_pb2.INTENT_LISTING)
    return question_pb2.INTENT_FACTOID if is_fact else whole


def find_specifics(text: str, language: str = "en") -> list[str]:
    """Words of `text` that name one thing exactly, without quotes and ticks."""
    found = [match.group(0).strip('`"“”') for match in _SPECIFIC.finditer(text)]
    # In German every noun has a capital.
    names = [] if language == "de" else [match.group(0) for match in _NAME.finditer(text)]
    return [*found, *(name for name in names if not any(name in each for each in found))]
