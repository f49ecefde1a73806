"""Other labels under which a place may be known, and the place of a label by the text alone; pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

_SECTION_WORDS = ("section", "chapter", "part", "article", "clause", "rule", "paragraph")
_APPENDIX_WORDS = ("appendix", "annex", "annexe", "schedule", "exhibit", "attachment")
_CAPTION_WORDS = ("table", "figure", "algorithm", "listing", "example", "equation", "box", "form")
_ROMAN_VALUES = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}


def label_alternatives(label: str) -> Iterator[str]:
    """`label` itself, then what it is called elsewhere, nearest first: "article 5" is "section 5" in an outline.

    A paragraph that is no section of its own is looked for in the section that holds it: "section 2.1(b)(1)" in
    "section 2.1(b)", then in "section 2.1"; and a part of a figure, "figure 2a", in "figure 2".
    """
    word, _, number = label.partition(" ")
    seen: set[str] = set()
    for each in (*_shorten(number), *_without_part(word, number)):
        for known_word in _synonyms(word):
            for known_number in (each, _from_roman(each)):
                alternative = f"{known_word} {known_number}"
                if known_number and alternative not in seen:
                    seen.add(alternative)
                    yield alternative


def has_caption(label: str) -> bool:
    """Whether what `label` names stands under a caption, as tables and figures do."""
    word, _, number = label.partition(" ")
    return word in _CAPTION_WORDS and bool(number)


def stands_at(label: str, text: str) -> bool:
    """Whether a line of `text` begins as the caption of `label` ("Table 3: Sizes"); a mention does not count."""
    word, _, number = label.partition(" ")
    if not has_caption(label):
        return False
    written = rf"(?:{word}|{word[:3]}\.)"
    # Where a sentence goes on ("Table 3 shows") it is a mention.
    caption = rf"^\W*{written}\s*{re.escape(number)}\s*(?:[:.|—–-]|\n|$|\s(?-i:(?=[A-Z(])))"
    return re.search(caption, text, re.IGNORECASE | re.MULTILINE) is not None


def _synonyms(word: str) -> tuple[str, ...]:
    for family in (_SECTION_WORDS, _APPENDIX_WORDS):
        if word in family:
            return (word, family[0], *family[1:])
    return (word,)


def _shorten(number: str) -> Iterator[str]:
    """`number`, then without its last "(...)", and so on."""
    yield number
    while number.endswith(")") and "(" in number:
        number = number[: number.rindex("(")].rstrip()
        if number:
            yield number


def _without_part(word: str, number: str) -> Iterator[str]:
    whole = number.rstrip("abcdefgh")
    if word in _CAPTION_WORDS and whole != number and whole[-1:].isdigit():
        yield whole


def _from_roman(number: str) -> str:
    """The Arabic form of a Roman number of up to 399; empty for anything else."""
    if not number or any(digit not in _ROMAN_VALUES for digit in number):
        return ""
    values = [_ROMAN_VALUES[digit] for digit in number]
    total = 0
    for value, following in zip(values, [*values[1:], 0], strict=True):
        total += value if value >= following else -value
    return str(total)
