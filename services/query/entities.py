"""What a pronoun most likely stands for, from the turn before."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from citemesh.text.function_words import is_function_word
from citemesh.v1.question_pb2 import Role, Turn
from services.query.decompose import find_topic

_NAME: Final = re.compile(r"\b[A-Z][\w.'-]*(?:\s+(?:(?:of|the|de|van|von|da|del)\s+)?[A-Z][\w.'-]*){0,4}")
_PERSON_NAME: Final = re.compile(r"\b[A-Z][\w.'-]+(?:\s+[A-Z][\w.'-]*){0,3}")
_ASKS_FOR_ENTITY: Final = re.compile(
    r"^\W*(?:which|who|whom|what (?!is|are|was|were|does|do|did|happens|makes))\s*([\w-]*)", re.I
)
_ASKS_WHO: Final = re.compile(r"^\W*(?:who|whom|wer|qui|quién)\b", re.I)
_DEFINED: Final = re.compile(
    r"^\W*(?:what|who)(?:'s|'re| is| are| was| were) (?:the |a |an )?([\w .'/-]{2,50}?)\W*$", re.I
)
_SUBJECT: Final = re.compile(
    r"\b(?:is|are|was|were|do|does|did|can|could|may|must|should|will|would|has|have)\s+((?:the|a|an|my|our"
    r"|your)\s+(?:[\w'/-]++\s++){0,3}?[\w'/-]++)"
    r"(?=\s++(?:in|of|for|on|at|by|with|to|from|have|has|be|get|use|make|do|need|take|run|work|go|come|start|end"
    r"|called|made|used)\b|\W*$)",
    re.I,
)
_OBJECT: Final = re.compile(
    r"\b(?:(?:the|a|an)\s+(?:[\w'/-]++\s++){0,3}?[\w'/-]++)(?=\s++(?:in|of|for|on|at|by|with|to|from|is|are|was|were)\b"
    r"|\W*$)",
    re.I,
)
_LONGEST_ANSWER_ENTITY: Final = 8  # words


def find_entity(asked: str, answer: str, language: str) -> tuple[str, bool]:
    """(what "it" stands for, whether it comes from the answer); ("", False) where nothing suggests itself."""
    if _ASKS_FOR_ENTITY.match(asked):
        named = _answer_entity(answer)
        if named:
            return named, True
    for pattern in (_DEFINED, _SUBJECT):
        match = pattern.search(asked)
        if match is not None:
            return match.group(1).strip(), False
    names = [name for name in _NAME.findall(_without_first_word(asked)) if not is_function_word(name.lower())]
    if names:
        return names[-1], False
    things = _OBJECT.findall(asked)
    if things:
        return things[-1], False
    topic = find_topic(asked, language).split(", ")
    return (topic[-1], False) if topic[-1] else ("", False)


def find_person(history: Sequence[Turn], last_index: int) -> tuple[str, int]:
    """The person most talked of, the latest of equals, with the turn of the last mention; ("", 0) where none is named.

    Where the question before asks "who", it is the name that its answer begins with.
    """
    if _ASKS_WHO.match(history[last_index].text) and last_index + 1 < len(history):
        named = _PERSON_NAME.search(history[last_index + 1].text)
        if named is not None:
            return named.group().removesuffix("'s"), last_index + 1
    mentions: Counter[str] = Counter()
    turns: dict[str, int] = {}
    for index, turn in enumerate(history):
        text = turn.text if turn.role == Role.ROLE_ASSISTANT else _without_first_word(turn.text)
        for name in _PERSON_NAME.findall(text):
            if not is_function_word(name.lower()) and not is_function_word(name.split()[0].lower()):
                plain = name.removesuffix("'s")
                mentions[plain] += 2 if turn.role == Role.ROLE_USER else 1
                turns[plain] = index
    if not mentions:
        return "", 0
    mentions = Counter({name: count for name, count in mentions.items() if not name.isupper()}) or mentions
    best = max(mentions, key=lambda name: (mentions[name], turns[name]))
    return best, min(turns[best], max(last_index + 1, turns[best]))


def _answer_entity(answer: str) -> str:
    """The thing that a short answer names: its first phrase up to a comma, a verb or a relative clause."""
    first = re.split(
        r"(?<=[.;!?])\s|,|;|\s(?:with|of|which|that|who|is|are|was|were|has|have|at|in)\s", answer.strip(), maxsplit=1
    )[0]
    words = first.strip(" .").split()
    if (
        not 0 < len(words) <= _LONGEST_ANSWER_ENTITY
        or is_function_word(" ".join(words).lower())
        or words[0].lower() in {"yes", "no", "up"}
    ):
        return ""
    phrase = " ".join(words)
    return "the " + phrase.split(" ", 1)[1] if words[0].lower() in {"a", "an"} and len(words) > 1 else phrase


def _without_first_word(text: str) -> str:
    return text.strip().partition(" ")[2]
