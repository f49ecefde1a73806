"""Which places a text refers to ("see Table 3", "§ 1003.2(g)") and which place a caption is."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from citemesh.store.labels import canonical_label
from citemesh.v1.question_pb2 import Reference, ReferenceKind

_NUMBER = r"(?:[A-Z]{1,2}[-.])?\d+(?:[.-]\d+)*[a-z]?"
_PARAGRAPHS = r"(?:\((?:[a-z]{1,4}|[A-Z]{1,2}|\d{1,3})\))*"
_MORE = r"(?:,?\s*(?:and|or|to|through|&|et|und)|\s*–)\s*"
_SERIES = rf"({_NUMBER}(?:{_MORE}{_NUMBER}(?![\d)%]))*)"
_MENTIONS: tuple[tuple[ReferenceKind.ValueType, str, re.Pattern[str]], ...] = (
    (
        ReferenceKind.REFERENCE_KIND_TABLE,
        "table",
        re.compile(rf"\b(?:tables?|tableaux?|tabellen?)\s+{_SERIES}\b", re.IGNORECASE),
    ),
    (
        ReferenceKind.REFERENCE_KIND_FIGURE,
        "figure",
        re.compile(rf"\b(?:figures?|figs?\.|abbildung(?:en)?)\s*{_SERIES}\b", re.IGNORECASE),
    ),
    (
        ReferenceKind.REFERENCE_KIND_SECTION,
        "section",
        re.compile(
            rf"(?:\b(?:sections?|sect?s?\.|abschnitt)\s+|§§?\s*)"
            rf"(\d+(?:\.\d+)*{_PARAGRAPHS}(?:{_MORE}(?:§\s*)?\d+(?:\.\d+)*{_PARAGRAPHS}(?![\d%]))*)",
            re.IGNORECASE,
        ),
    ),
    (
        ReferenceKind.REFERENCE_KIND_SECTION,
        "section",
        re.compile(r"\b(?:sections?|appendix|app\.)\s+([A-Z]\.\d+(?:\.\d+)*)\b", re.IGNORECASE),
    ),
    (
        ReferenceKind.REFERENCE_KIND_SECTION,
        "chapter",
        re.compile(r"\b(?:chapters?|chapitres?|kapitel)\s+(\d+|[IVX]+)\b", re.IGNORECASE),
    ),
    (
        ReferenceKind.REFERENCE_KIND_APPENDIX,
        "appendix",
        re.compile(
            r"\b(?:[Aa]ppendix|[Aa]ppendices|APPENDIX|[Aa]nnexe?|ANNEX|[Aa]nhang)\s+([A-Z]|[IVX]+|\d+)\b(?!\.\d)"
        ),
    ),
    (
        ReferenceKind.REFERENCE_KIND_OTHER,
        "equation",
        re.compile(r"\b(?:equations?|eqs?\.)\s*\(?(\d+)\)?", re.IGNORECASE),
    ),
    (ReferenceKind.REFERENCE_KIND_OTHER, "algorithm", re.compile(r"\balgorithms?\s+(\d+)\b", re.IGNORECASE)),
    (ReferenceKind.REFERENCE_KIND_OTHER, "example", re.compile(r"\bexamples?\s+(\d+[-.]\d+)\b", re.IGNORECASE)),
)
_BETWEEN = re.compile(_MORE, re.IGNORECASE)
_OWN_PARAGRAPH = re.compile(
    r"\bparagraphs?\s+((?:\((?:[a-z]{1,4}|[A-Z]|\d{1,3})\))+)\s+of\s+this\s+section", re.IGNORECASE
)
_LINK = re.compile(r"\[([^\]\n]{1,120})\]\((?!\w+:|//)([^)\s#]*\.(?:md|html?|pdf|docx))(?:#[^)\s]*)?\)")
_CAPTION = re.compile(
    r"^\W*(table|tableau|tabelle|figure|fig\.?|abbildung|algorithm|example|listing)\s*((?:[A-Z]{1,2}[-.]?)?(?:\d+(?:[-.]\d+)*|[IVX]+))\b",
    re.IGNORECASE,
)
_CAPTION_WORDS = {"tableau": "table", "tabelle": "table", "fig": "figure", "fig.": "figure", "abbildung": "figure"}
_MAX_REFERENCES = 30


def find_label(caption: str) -> str:
    """The label that a caption gives to what it stands by, such as "table 3"; empty where it gives none."""
    match = _CAPTION.match(caption)
    if match is None:
        return ""
    word = match.group(1).lower()
    return canonical_label(f"{_CAPTION_WORDS.get(word, word)} {match.group(2)}")


def find_references(
    text: str,
    *,
    own_labels: Collection[str] = (),
    section_number: str = "",
    known_section: Callable[[str], str] = lambda number: number,
) -> list[Reference]:
    """Places that a text refers to, each label once, in the order of mention.

    `own_labels` are the text's own place and no references. `section_number` completes "paragraph (a) of this
    section". `known_section` gives the document's section that a number means, or nothing: "Section 23 of the Wall
    Street Journal" is none of ours, and § 1003.2(g)(1) is found in § 1003.2(g).
    """
    found: dict[str, Reference] = {}
    for kind, word, number, surface in _mentions(text, section_number):
        known = number
        if kind == ReferenceKind.REFERENCE_KIND_SECTION:
            known = known_section(number)
        label = canonical_label(f"{word} {known}")
        if known and label not in own_labels and label not in found and len(found) < _MAX_REFERENCES:
            found[label] = Reference(kind=kind, label=label, surface=surface[:200])
    for match in _LINK.finditer(text):
        stem = match.group(2).rpartition("/")[2].rpartition(".")[0]
        label = f"document {stem.lower()}"
        if stem and label not in found and len(found) < _MAX_REFERENCES:
            found[label] = Reference(
                kind=ReferenceKind.REFERENCE_KIND_DOCUMENT, label=label, surface=match.group(1), document_id=stem
            )
    return list(found.values())


def _mentions(text: str, section_number: str) -> list[tuple[ReferenceKind.ValueType, str, str, str]]:
    """Kind, word, number and surface of each mention, in the order of the text."""
    places: list[tuple[int, ReferenceKind.ValueType, str, str, str]] = []
    for kind, word, pattern in _MENTIONS:
        for match in pattern.finditer(text):
            for number in _BETWEEN.split(match.group(1)):
                number = number.lstrip("§ ")
                places.append((match.start(), kind, word, number, match.group()))
    if section_number:
        base = section_number.partition("(")[0]
        for match in _OWN_PARAGRAPH.finditer(text):
            number = f"{base}{match.group(1)}"
            places.append((match.start(), ReferenceKind.REFERENCE_KIND_SECTION, "section", number, match.group()))
    return [place[1:] for place in sorted(places, key=lambda place: place[0])]
