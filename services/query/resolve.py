"""What the words of a follow-up stand for, and the question made complete.

Only the turn before is used, and of it only what the question lacks: joining all earlier turns to a question makes
retrieval worse than leaving it alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from citemesh.text.function_words import is_function_word
from citemesh.v1.question_pb2 import ResolvedReference, Role, Turn
from services.query.decompose import find_topic
from services.query.ellipsis import OPENER, fill_ellipsis
from services.query.entities import find_entity, find_person
from services.query.options import ALL_OPTIONS, ORDINAL, find_options, pick_option
from services.query.small_talk import is_small_talk, strip_small_talk
from services.query.telling import find_telling_words
from services.query.transform import is_transform_request
from services.query.words import split_words, upper_first

_LONGEST_CHAIN: Final = 4  # follow-ups of follow-ups; beyond, the conversation has moved on
_THING: Final = re.compile(
    r"\b(?:it|its|they|them|their|theirs|(?:this|that|these|those)(?=\W*(?:$|[?,.;]|\b(?:is|are|was|were|do|does|did"
    r"|has|have|can|could|will|would|mean|work|apply|count|in|to|for|be|as|on|by)\b)))\b",
    re.I,
)
_PERSON: Final = re.compile(r"\b(?:he|she|him|his|her|hers)\b", re.I)
_EXPLETIVE: Final = re.compile(
    r"\b(?:is|was|does|will|would|can|could|should|might|may) it (?:\w+ ){0,2}?(?:to|that|if|when|for|possible|ok"
    r"|okay|true|matter)\b"
    r"|\bit (?:is|was|will be|would be|takes?|took) (?:\w+ ){0,3}?(?:to|that)\b|\b(?:say|believe|think|know|mean"
    r"|said|so|sure|ensure|given|such) that\b"
    r"|\bthat (?:is|are|was|were|has|have|can|will|do|does|did)\b(?<=\w \w{4} )",
    re.I,
)
# Characters. A turn may be longer than a question; what a question leans on stands at its beginning.
_LONGEST_ASKED: Final = 4_000
_LONGEST_STANDALONE: Final = 12_000

_DEMONSTRATIVE: Final = re.compile(r"\b(this|that|these|those) ([a-z]+)\b", re.I)


@dataclass(frozen=True, slots=True)
class Resolution:
    """The question complete in itself, with what was put in for what."""

    standalone_question: str
    references: tuple[ResolvedReference, ...] = field(default=())


def resolve(question: str, history: Sequence[Turn], language: str = "en") -> Resolution:
    """Complete `question` from its history; unchanged where it leans on nothing or the history has nothing to offer."""
    previous = _find_previous(history)
    if previous is None:
        return Resolution(question)
    user_index, answer_index = previous
    question = strip_small_talk(question)
    asked = history[user_index].text[:_LONGEST_ASKED]
    earlier = history[max(0, user_index - _LONGEST_CHAIN) : user_index]
    before = _Before(
        asked=resolve(asked, earlier, language).standalone_question,
        answer=history[answer_index].text if answer_index is not None else "",
        user_index=user_index,
        answer_index=user_index if answer_index is None else answer_index,
        history=history,
        language=language,
    )
    completed = _complete(question, before)
    # What an answer's endless "option" would make of the question is no question any more.
    return completed if len(completed.standalone_question) <= _LONGEST_STANDALONE else Resolution(question)


@dataclass(frozen=True, slots=True)
class _Before:
    """The turn before: what was asked (complete), what was answered, and where both stand."""

    asked: str
    answer: str
    user_index: int
    answer_index: int
    history: Sequence[Turn]
    language: str

    @property
    def topics(self) -> list[str]:
        """The phrases of the question before, in their order."""
        return [phrase for phrase in find_topic(self.asked, self.language).split(", ") if phrase]


def _find_previous(history: Sequence[Turn]) -> tuple[int, int | None] | None:
    """Indices of the last question of substance and of the answer to it."""
    for index in range(len(history) - 1, -1, -1):
        turn = history[index]
        if (
            turn.role == Role.ROLE_USER
            and turn.text.strip()
            and not is_small_talk(turn.text)
            and not is_transform_request(turn.text)
        ):
            answers = (later for later in range(index + 1, len(history)) if history[later].role == Role.ROLE_ASSISTANT)
            return index, next(answers, None)
    return None


def _complete(question: str, before: _Before) -> Resolution:
    chosen = _resolve_options(question, before)
    if chosen is not None:
        return chosen
    elided = fill_ellipsis(question, before.asked)
    if elided is not None:
        return Resolution(elided, (_reference(question.strip(" ?!."), before.asked, before.user_index),))
    return _resolve_pronouns(question, before)


def _resolve_options(question: str, before: _Before) -> Resolution | None:
    """ "The second one" and "neither of the two" over the options of the last answer."""
    options = find_options(before.answer)
    ordinal = ORDINAL.search(question)
    if ordinal is not None:
        option = pick_option(ordinal.group(1), options)
        if option is not None:
            text = question[: ordinal.start()] + option + question[ordinal.end() :]
            return Resolution(
                _add_topic(text, before.topics), (_reference(ordinal.group(), option, before.answer_index),)
            )
    every = ALL_OPTIONS.search(question)
    if every is not None:
        named = " and ".join(options) if options else before.answer.strip().rstrip(".")
        if named:
            text = f"{before.asked} {question}"
            text = text if not options else f"{text.rstrip('?')} ({named})?"
            return Resolution(text, (_reference(every.group(), named, before.answer_index),))
    return None


def _resolve_pronouns(question: str, before: _Before) -> Resolution:
    references: list[ResolvedReference] = []
    masked = _EXPLETIVE.sub(lambda found: "\0" * len(found.group()), question)
    text = question
    person = _PERSON.search(masked)
    if person is not None:
        name, turn = find_person(before.history, before.user_index)
        if name:
            text = _put_in(text, person, name)
            references.append(_reference(person.group(), name, turn))
    thing = _THING.search(masked)
    if thing is not None and not references and not _has_own_antecedent(question, thing):
        entity, from_answer = find_entity(before.asked, before.answer, before.language)
        if entity:
            text = _put_in(text, thing, entity)
            references.append(
                _reference(thing.group(), entity, before.answer_index if from_answer else before.user_index)
            )
    demonstrative = _DEMONSTRATIVE.search(masked)
    pointed = (
        demonstrative is not None
        and not is_function_word(demonstrative.group(2).lower())
        and _follows(before, demonstrative.group(2))
    )
    if demonstrative is not None and pointed and not references:
        pointed_at = _reference(demonstrative.group(), ", ".join(before.topics), before.user_index)
        return Resolution(_add_topic(text, before.topics), (pointed_at,))
    if any(reference.turn_index == before.answer_index != before.user_index for reference in references):
        return Resolution(_add_topic(text, before.topics), tuple(references))
    if references:
        return Resolution(upper_first(OPENER.sub("", text, count=1)), tuple(references))
    if not OPENER.match(question) and find_telling_words(question, before.language):
        return Resolution(question)
    whole = _add_topic(text, before.topics)
    return Resolution(whole, (_reference(question.strip(" ?!."), before.asked, before.user_index),))


def _follows(before: _Before, noun: str) -> bool:
    stem = noun.lower()[:5]
    return any(word.lower.startswith(stem) for word in split_words(f"{before.asked} {before.answer}"))


def _has_own_antecedent(question: str, pronoun: re.Match[str]) -> bool:
    """Whether a noun phrase before the pronoun, in the question itself, may be what it stands for."""
    head = question[: pronoun.start()]
    return (
        bool(re.search(r"\b(?:the|a|an|my|our|your|any|each|every)\s+[\w-]{3,}(?:\s+\S+){2,}\s*$", head, re.I))
        and len(head.split()) > 5
    )


def _put_in(text: str, match: re.Match[str], name: str) -> str:
    possessive = match.group().lower() in {"its", "their", "theirs", "his", "hers"} or (
        match.group().lower() == "her" and re.match(r"\s+[a-z]", text[match.end() :]) is not None
    )
    owned = f"{name}'s" if possessive and not name.endswith("s") else f"{name}'" if possessive else name
    return text[: match.start()] + owned + text[match.end() :]


def _add_topic(text: str, topics: list[str]) -> str:
    """The text with the topic of the question before in brackets, as far as its words are missing."""
    plain = OPENER.sub("", text, count=1)
    have = {word.lower for word in split_words(plain)}
    missing = [phrase for phrase in topics if not {part.lower() for part in phrase.split()} <= have]
    stem = upper_first(plain.strip())
    if not missing:
        return stem
    return f"{stem.rstrip('?!. ')} ({', '.join(missing)}){'?' if stem.endswith('?') else ''}"


def _reference(surface: str, antecedent: str, turn_index: int) -> ResolvedReference:
    return ResolvedReference(surface=surface, antecedent=antecedent, turn_index=turn_index)
