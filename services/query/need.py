"""Whether to search: small talk, work on an earlier turn, a question that lacks its object, or a search."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from citemesh.text.scripts import is_unspaced
from citemesh.text.word_lists import word_set
from citemesh.v1.question_pb2 import RetrievalNeed
from services.query.hints import Hints
from services.query.lexicon import GENERIC_WORDS
from services.query.small_talk import is_small_talk
from services.query.telling import find_telling_words
from services.query.transform import is_transform_request
from services.query.words import Word, is_question, split_sentences, split_words

_LONGEST_PRONOUN_QUESTION: Final = 7  # words; a longer question carries enough to search with
_REFERRING: Final = re.compile(
    r"\b(?:it|its|they|them|their|he|she|him|his|this|that|these|those|the (?:former|latter|first one|second one"
    r"|other one|other))\b",
    re.I,
)
_EXPLETIVE: Final = re.compile(
    r"\b(?:is|was|does|will|would|can|could|should|might|may) it (?:\w+ ){0,2}?(?:to|that|if|when|for|possible|ok"
    r"|okay|true|take|matter)\b"
    r"|\bit (?:is|was|will be|would be|takes?|took|costs?) (?:\w+ ){0,3}?(?:to|that|if|when)\b"
    r"|\b(?:that|this|these|those) (?=\w+)(?!flag|option|setting|value|one|limit|rule|is|was|are|were|does|do|did"
    r"|still|the|a)\w+"
    r"|\bwhat time is it\b",
    re.I,
)
_LABEL_ONLY: Final = word_set("""say says show shows state states describe describes contain contains mean means tell
    explain ask require list table figure section chapter appendix article paragraph page""")


@dataclass(frozen=True, slots=True)
class Need:
    """The decision, why (one line for people), and what to ask back where it is CLARIFY."""

    value: RetrievalNeed.ValueType
    reason: str
    clarification_question: str = ""


def decide_need(question: str, standalone: str, language: str, hints: Hints, *, has_answer: bool) -> Need:
    """Decide by the question as asked and by its standalone form; `has_answer`: an assistant's turn comes before it."""
    if is_small_talk(question):
        return Need(RetrievalNeed.RETRIEVAL_NEED_SMALL_TALK, "A greeting, thanks, or about the assistant.")
    if is_transform_request(question):
        if has_answer:
            return Need(
                RetrievalNeed.RETRIEVAL_NEED_TRANSFORM_TURN, "Asks for something to be done with the last answer."
            )
        return Need(
            RetrievalNeed.RETRIEVAL_NEED_CLARIFY,
            "Asks for work on an earlier answer, and there is none.",
            "What would you like to have that done with?",
        )
    missing = find_missing_object(standalone, language, hints)
    if missing is not None:
        return Need(RetrievalNeed.RETRIEVAL_NEED_CLARIFY, missing.reason, missing.clarification_question)
    return Need(RetrievalNeed.RETRIEVAL_NEED_RETRIEVE, "Asks for something that documents may say.")


def find_missing_object(question: str, language: str, hints: Hints) -> Need | None:
    """What a question lacks to be searched for, as a Need; None where it has enough. Says little rather than too
    much."""
    if is_unspaced(question):
        return None
    words = split_words(question)
    if not any(character.isalpha() for character in question):
        return _clarify("Holds no words.", "What would you like to know?")
    telling = find_telling_words(question, language)
    if hints.references and not hints.document_hints and _names_only_a_label(telling, hints):
        surface = hints.references[0].surface
        return _clarify(f"Names {surface} but no document.", f"Which document's {surface} do you mean?")
    if hints.references or hints.section_hint is not None or hints.document_hints:
        return None
    if not telling:
        return _clarify("Names nothing to search for.", _ask_back(question))
    if len(telling) == 1 and _hangs_on_a_pronoun(question, words, telling[0]):
        pronoun = _REFERRING.search(_EXPLETIVE.sub(" ", question))
        surface = pronoun.group() if pronoun is not None else "it"
        return _clarify(
            f'Says "{surface}" without saying what that is.', f'What does "{surface}" stand for in your question?'
        )
    return None


def _clarify(reason: str, question: str) -> Need:
    return Need(RetrievalNeed.RETRIEVAL_NEED_CLARIFY, reason, question)


def _names_only_a_label(telling: list[Word], hints: Hints) -> bool:
    labelled = {part.lower for reference in hints.references for part in split_words(reference.surface)}
    return all(
        {part.lower for part in split_words(word.text)} <= labelled | _LABEL_ONLY or word.lower in labelled
        for word in telling
    )


def _hangs_on_a_pronoun(question: str, words: list[Word], telling: Word) -> bool:
    if len(words) > _LONGEST_PRONOUN_QUESTION or len(split_sentences(question)) > 1 or not is_question(question):
        return False
    if telling.is_identifier or (telling.is_capitalised and telling.start > 0):
        return False
    match = _REFERRING.search(_EXPLETIVE.sub(lambda found: " " * len(found.group()), question))
    # A word before the pronoun may be what it stands for: "Is a learner safe when it restarts?"
    return match is not None and not (telling.end <= match.start() and _can_be_subject(question, telling))


def _can_be_subject(question: str, word: Word) -> bool:
    return bool(
        re.search(r"\b(?:the|a|an|my|our|your|their|of|for|with|in)\s+(?:\w+\s+)?$", question[: word.start], re.I)
    )


def _ask_back(question: str) -> str:
    lowered = question.strip().rstrip("?!. ")
    words = [word for word in split_words(lowered) if word.lower in GENERIC_WORDS and len(word.text) > 3]
    noun = next((word.lower for word in words if word.lower not in _VERBS), "")
    return f"Which {noun} do you mean: for what, or in which document?" if noun else "What is your question about?"


_VERBS: Final = word_set("""accept adjust affect allow answer apply approve available avoid become begin bring call
    called change check choose close come complete configure configured consider contain control correct create decide
    define defined delete deliver depend describe disable enable enter exist expect explain fill find follow following
    give given going handle happen happens help include included increase keep know make manage matter mean move
    often open provide reach read receive remove replace request require required return select send show shows start
    stay stop store submit suggest support supposed take takes talk tell think turn understand update used using want
    went work works write long longer large larger high higher small much many some have does soon late later fast
    good great sure still aktivieren machen stellen setzen nehmen gilt gelten brauche geben mettre faire activer hacer
    poner activar hoch lange groß""")
