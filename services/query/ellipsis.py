"""Follow-ups that leave out what the question before said: "And for managers?", "What about the big ones?"."""

from __future__ import annotations

import re
from typing import Final

from citemesh.text.function_words import is_function_word
from citemesh.text.word_lists import word_set
from services.query.words import split_words, upper_first

OPENER: Final = re.compile(
    r"^\W*(?:(?:and |but |so )?(?:what about|how about)|und was ist mit|et qu'en est-il de|y qué hay de|qué hay de"
    r"|and|but|so|then|also|und|aber|et|mais|y|pero|e)\s++(?=\w)",
    re.I,
)
_OPENER_ALONE: Final = re.compile(r"^\W*(?:what about|how about|was ist mit|qué hay de)\b", re.I)
_ONE: Final = re.compile(r"^(?:the |a |an )?(?P<modifiers>(?:[\w-]+ ){0,3}?)(?P<one>ones?)(?P<rest>\s+.*)?$", re.I)
_PREPOSITION: Final = re.compile(
    r"^(in|for|of|on|by|with|under|at|from|to|as|after|before|during|without|für|bei|mit|in|pour|dans|avec|chez|para"
    r"|en|con)\s+(?P<object>.+)$",
    re.I,
)
_CONDITION: Final = re.compile(r"^(?:what )?(?:if|when|once|unless|wenn|falls|si|quand)\b", re.I)
_FINITE: Final = re.compile(
    r"\b(?:is|are|was|were|do|does|did|has|have|had|can|could|may|might|must|shall|should|will|would|ist|sind|hat"
    r"|haben|kann|darf|muss|gilt|est|sont|a|ont|peut|doit"
    r"|es|son|puede|debe|happens|means|counts|applies)\b",
    re.I,
)
_NOUN_PHRASE: Final = re.compile(
    r"\b(?:the|a|an|our|my|your|their|this|that|which|what(?!\s+(?:is|are|was|were|do|does|did)\b)"
    r"|how many)\s+((?:[\w'/-]++\s++){0,4}?[\w'/-]++)(?=\s++(?:in|of|for|on|at|by|with|to|from|is|are|was|were|do|does"
    r"|did|can|must|should|will|would|may|has|have)\b|\W*[?.,;]|$)",
    re.I,
)
_KEPT_MODIFIERS: Final = word_set(
    "default maximum minimum max min average total annual recommended standard highest lowest largest smallest typical"
)
_LONGEST_FRAGMENT: Final = 9  # words


def fill_ellipsis(question: str, asked: str) -> str | None:
    """The question with what it leaves out taken from `asked`, the complete question before; None where it is whole."""
    opener = OPENER.match(question)
    fragment = question[opener.end() :] if opener is not None else question
    fragment = fragment.strip().rstrip("?!. ").strip()
    if not fragment or len(split_words(fragment)) > _LONGEST_FRAGMENT + 6:
        return None
    stem = asked.strip().rstrip("?!. ")
    condition = _CONDITION.match(fragment)
    if condition is not None and opener is not None and not re.search(r",\s*\S", fragment):
        fragment = re.sub(r"^what (?=if|when)", "", fragment, flags=re.I)
        return f"{stem}, {fragment}?"
    if _FINITE.search(fragment) or (opener is None and not _OPENER_ALONE.match(question)):
        return None
    if len(split_words(fragment)) > _LONGEST_FRAGMENT:
        return None
    one = _ONE.match(fragment)
    if one is not None:
        return _replace_noun(
            stem, one["modifiers"].strip(), (one["rest"] or "").strip(), plural=one["one"].lower() == "ones"
        )
    preposition = _PREPOSITION.match(fragment)
    if preposition is not None:
        return _replace_object(stem, preposition.group(1), fragment)
    return _replace_like(stem, fragment)


def _replace_noun(stem: str, modifiers: str, rest: str, *, plural: bool) -> str:
    """ "The big ones" after "the base models" is "the big models"; "the one for elections" keeps the noun alone."""
    for match in _NOUN_PHRASE.finditer(stem):
        words = match.group(1).split()
        if plural:
            # The pattern may run into a verb: "the small pumps run".
            nouns = [position for position, word in enumerate(words) if word.endswith("s")]
            words = words[: nouns[-1] + 1] if nouns else []
        if not words:
            continue
        end = match.start(1) + len(" ".join(words))
        kept = [word for word in words[:-1] if word.lower() in _KEPT_MODIFIERS]
        phrase = " ".join([*kept, *([modifiers] if modifiers else []), words[-1], *([rest] if rest else [])])
        return f"{stem[: match.start(1)]}{phrase}{stem[end:]}?"
    return f"{stem}: the {' '.join(part for part in (modifiers, 'ones' if plural else 'one', rest) if part)}?"


def _replace_object(stem: str, preposition: str, fragment: str) -> str:
    """ "For managers" replaces "for employees" at the end of the question before; else it is added."""
    same = re.search(rf"\b{preposition}\s+(?:the |a |an |my |our )?[\w'-]++(?:\s++[\w'-]++){{0,2}}$", stem, re.I)
    if same is not None:
        return f"{stem[: same.start()]}{fragment}?"
    return f"{stem}, {fragment}?"


def _replace_like(stem: str, fragment: str) -> str:
    """A bare noun phrase takes the place of the phrase before with the same last word; else it is added."""
    last = fragment.split()[-1].lower()
    for match in _NOUN_PHRASE.finditer(stem):
        if match.group(1).split()[-1].lower().rstrip("s") == last.rstrip("s") and not is_function_word(last):
            plain = re.sub(r"^(?:the|a|an)\s+", "", fragment, flags=re.I)
            return f"{stem[: match.start(1)]}{plain}{stem[match.end(1) :]}?"
    return upper_first(f"{stem}: {fragment}?")
