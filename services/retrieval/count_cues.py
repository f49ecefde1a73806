"""Where a text announces how many things follow: "three types of", "the following 4 steps"; pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_NUMBER_TEXT = """
two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
nineteen twenty
"""
NUMBER_WORDS = {word: value for value, word in enumerate(_NUMBER_TEXT.split(), 2)}
_LARGEST = 99

# Nouns that are counted in order to be listed.
_LISTED_TEXT = """
activities actions advantages approaches areas arguments articles aspects assumptions attacks attributes aims benefits
capabilities cases categories causes challenges changes characteristics checks choices circumstances classes commitments
components concepts concerns conditions considerations constraints contributions controls criteria datasets decisions
defences defenses definitions differences dimensions disadvantages documents drawbacks duties effects elements
environments events examples exceptions exemptions experiments factors failures families features fields findings flaws
forms functions goals grounds groups guidelines ideas indicators ingredients inputs instances interfaces issues items
kinds layers lessons levels limitations limits locations measures mechanisms messages methods metrics mistakes models
modes modules motivations objectives obligations observations occasions operations options outcomes outputs parameters
parties parts patterns people phases pieces pillars places points policies possibilities practices prerequisites
principles priorities problems procedures processes products programs properties provisions purposes qualities questions
reasons recommendations regimes remedies requirements responsibilities results rights risks roles routes rules
safeguards scenarios sections services settings situations skills sources stages standards states steps strands
strategies strengths sub-layers sublayers subtypes systems tasks teams techniques technologies templates tenets tests
themes things threats tiers times tips tools topics traits triggers types uses values variables variants variations
varieties versions vulnerabilities warnings ways weaknesses words
"""
_LISTED = frozenset(_LISTED_TEXT.split())

_COUNT = rf"(?P<count>{'|'.join(NUMBER_WORDS)}|[2-9]|[1-9][0-9])"
_CUE = re.compile(
    rf"(?<![\w.,$€£%-]){_COUNT}\s+(?P<between>(?:[a-z][\w-]*\s+){{0,3}}?)(?P<noun>[a-z][a-z-]*s|criteria|people)\b",
    re.IGNORECASE,
)
# "Version 3 types" counts nothing.
_LABEL_BEFORE = re.compile(
    r"\b(?:version|section|table|figure|chapter|step|part|level|phase|article|appendix|page|no\.?|number)\s+$",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<=[.!?:])(?=\s)|\n")
_OPENING = re.compile(r"\b(?:following|below|as follows|these)\b|:\s*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Announcement:
    """Words that announce a listing."""

    start: int
    """First character of the sentence."""
    end: int
    """One past its last character."""
    count: int | None
    """How many things; None where the text only says that some follow."""


def find_announcements(text: str) -> list[Announcement]:
    """The sentences of `text` that announce a listing, in order."""
    found = []
    for start, end in _sentences(text):
        sentence = text[start:end]
        count = find_count(sentence)
        if count is not None or _OPENING.search(sentence):
            found.append(Announcement(start, end, count))
    return found


def find_count(sentence: str) -> int | None:
    """The number of things that `sentence` announces; None where it counts nothing that is listed."""
    opens = _OPENING.search(sentence) is not None
    for match in _CUE.finditer(sentence):
        if _LABEL_BEFORE.search(sentence, 0, match.start()):
            continue
        if match.group("noun").lower() in _LISTED or (opens and not _is_measure(match.group("noun"))):
            return read_number(match.group("count"))
    return None


def is_listed_noun(word: str) -> bool:
    """Whether `word` is a plural that lists of any kind are announced by: "ways", "cases", "options"."""
    return word.lower() in _LISTED


def read_number(written: str) -> int | None:
    """A number of things in digits or in words, 2 to 99; None for anything else."""
    written = written.lower()
    if written.isdigit():
        value = int(written)
        return value if 2 <= value <= _LARGEST else None
    return NUMBER_WORDS.get(written)


def _is_measure(noun: str) -> bool:
    return re.fullmatch(_MEASURES, noun.lower()) is not None


_MEASURES = (
    r"(?:second|minute|hour|day|week|month|quarter|year|percent|dollar|euro|pound|cent|meter|metre|mile|foot|byte|bit|"
    r"page|character|token|gpu|cpu|node|core|thread|replica|machine|million|billion|thousand|hundred|degree|point)s"
)


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for stop in (*(match.start() for match in _SENTENCE_END.finditer(text)), len(text)):
        begin = start
        while begin < stop and text[begin].isspace():
            begin += 1
        if begin < stop:
            yield begin, stop
        start = stop
