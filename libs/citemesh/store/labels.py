"""Canonical labels of places in documents: "table 3", "section 5.4", "appendix b"."""

from __future__ import annotations

import re

from citemesh.v1.document_pb2 import Section

_NUMBERED_WORDS = "section|chapter|part|article|clause|paragraph|rule|appendix|annex|annexe|schedule|exhibit|attachment"
_TITLE_START = re.compile(rf"^\s*({_NUMBERED_WORDS}|§)\s*([0-9]+(?:[.-][0-9]+)*[a-z]?|[a-z]|[ivxlc]+)\b", re.IGNORECASE)
_APPENDIX_WORDS = frozenset({"appendix", "annex", "annexe", "schedule", "exhibit", "attachment"})
_NUMBER = re.compile(r"\d+[a-z]?(?:[.-]\d+[a-z]?)*", re.IGNORECASE)
_LETTERS = re.compile(r"[a-z]|[ivxlc]+", re.IGNORECASE)


def canonical_label(label: str) -> str:
    """`label` in lower case with single spaces, "§ 5" and "sec. 5" read as "section 5", "fig. 2" as "figure 2"."""
    tidy = _strip_end(" ".join(label.lower().replace("§", " section ").split()))
    tidy = re.sub(r"^(?:sections?|secs?\.?)\s+", "section ", tidy)
    tidy = re.sub(r"^(?:figures?|figs?\.?)\s+", "figure ", tidy)
    return re.sub(r"^(?:tables?|tabs?\.)\s+", "table ", tidy)


def _strip_end(text: str) -> str:
    """`text` without punctuation after it; the ")" of "1003.2(g)" is a part of the label, one never opened is not."""
    while text and (text[-1] in ".:;, " or (text[-1] == ")" and text.count(")") > text.count("("))):
        text = text[:-1]
    return text


def section_labels(section: Section) -> set[str]:
    """Every label that a reference to `section` may bear, from its number and from how its title begins."""
    labels: set[str] = set()
    number = section.number.strip().rstrip(".").lower()
    if _NUMBER.fullmatch(number):
        labels.add(f"section {number}")
    elif _LETTERS.fullmatch(number):
        labels.update(f"{word} {number}" for word in ("section", "appendix", "annex"))
    elif number:
        labels.update(_word_labels(number))
        # "A.2" of an appendix.
        labels.add(f"section {number}")
    labels.update(_word_labels(section.title))
    return {canonical_label(label) for label in labels}


def _word_labels(text: str) -> set[str]:
    start = _TITLE_START.match(text)
    if start is None:
        return set()
    word, number = start.group(1).lower(), start.group(2).lower()
    if word in _APPENDIX_WORDS:
        return {f"{word} {number}", f"appendix {number}", f"annex {number}"}
    return {f"{word} {number}", f"section {number}"} if number[0].isdigit() else {f"{word} {number}"}
