"""How numbered places are written: the words for each kind of place, and the numbers that may follow them; pure.

This is the one grammar of places. Documents, questions and answers are read with it (`citemesh.text.mentions`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from citemesh.v1.question_pb2 import ReferenceKind

MARK: Final = r"\((?:[a-z]{1,5}|[A-Z]{1,2}|\d{1,3})\)"
SECTION_NUMBER: Final = rf"(?:\d+[a-z]?(?:\.\d+[a-z]?)*(?:{MARK})*|[A-Z](?:\.\d+)+)"
_CAPTION_NUMBER: Final = r"(?:(?:[A-Z]{1,2}[-.]?)?\d+(?:[.-]\d+)*[a-z]?)"
_ROMAN: Final = r"[IVXLC]{1,6}(?:\.\d+)*"
# A capital alone is a number behind a word that has its capital too: "Section B", but not "the table I made".
_CAPITAL: Final = rf"(?:{_ROMAN}|[A-Z])(?![.-]\d)"
# "I.C.6" and "9.iv" are numbers of paragraphs only.
_PARAGRAPH_NUMBER: Final = rf"(?:(?:[A-Z]+\.)+\d+|\d+[a-z]?(?:{MARK})+|(?:{MARK})+|\d+(?:\.(?:\d+|[ivx]+))*)"

# A document by its number: "RFC 2616", "ISO/IEC 27001", "Directive 2014/65/EU".
DOCUMENT_NUMBER: Final = (
    r"(?:RFC|ISO(?:/IEC)?|IEC|NIST(?:\s+SP)?|FIPS(?:\s+PUB)?|IEEE|ITU-T|PEP|DIN|EN|BS|[Dd]irective|[Rr]egulation|Circular)"
    r"\s+(?:\((?:EU|EC)\)\s+)?(?:No\.?\s+)?(?:\d+(?:[./:-]\w+)*)"
)

_TABLE: Final = ReferenceKind.REFERENCE_KIND_TABLE
_FIGURE: Final = ReferenceKind.REFERENCE_KIND_FIGURE
_SECTION: Final = ReferenceKind.REFERENCE_KIND_SECTION
_APPENDIX: Final = ReferenceKind.REFERENCE_KIND_APPENDIX
_OTHER: Final = ReferenceKind.REFERENCE_KIND_OTHER


@dataclass(frozen=True, slots=True)
class Form:
    """One way to write a place: a head, such as "Tables ", and the number behind it."""

    kind: ReferenceKind.ValueType
    word: str
    """What the place is called in labels, in English and in the singular."""
    head: re.Pattern[str]
    number: re.Pattern[str]
    needs_plural: bool = False
    """Whether a series follows a plural only: "in step 3 and 4 people" names one step."""


def _form(
    kind: ReferenceKind.ValueType,
    word: str,
    head: str,
    number: str,
    *,
    keeps_case: bool = False,
    needs_plural: bool = False,
) -> Form:
    head_flags = re.NOFLAG if keeps_case else re.IGNORECASE
    return Form(kind, word, re.compile(head, head_flags), re.compile(rf"(?:{number})(?![\w%])"), needs_plural)


FORMS: Final = (
    _form(_TABLE, "table", r"\b(?:tables?|tableaux?|tabellen?|tablas?|tab\.)\s+", _CAPTION_NUMBER),
    _form(_TABLE, "table", r"\b(?:T(?:ables?|ABLES?|ableaux?|abellen?))\s+", _CAPITAL, keeps_case=True),
    _form(_FIGURE, "figure", r"\b(?:figures?|figs?\.|abbildung(?:en)?|abb\.|figuras?)\s*", _CAPTION_NUMBER),
    _form(_FIGURE, "figure", r"\b(?:F(?:igures?|IGURES?|igs?\.))\s+", _CAPITAL, keeps_case=True),
    _form(
        _SECTION,
        "section",
        r"(?:\b(?:sub-?)?(?:sections?|sect?s?\.|abschnitte?s?|secci(?:ón|ones))\s*+|(?<!§)§++\s*+)(?=[\dA-Z])",
        SECTION_NUMBER,
    ),
    _form(
        _SECTION,
        "section",
        r"(?:\b(?:S(?:ections?|ECTIONS?|ec\.)|Abschnitt)\s++|(?<!§)§++\s*+)",
        _CAPITAL,
        keeps_case=True,
    ),
    _form(
        _SECTION,
        "article",
        r"\b(?:articles?|arts?\.|artikeln?|artículos?)\s+(?=\d)",
        rf"\d+[a-z]?(?:\.\d+)*(?:{MARK})*",
    ),
    _form(_SECTION, "article", r"\b(?:A(?:rticles?|RTICLES?|rt\.|rtikel))\s+", _ROMAN, keeps_case=True),
    _form(_SECTION, "clause", r"\bclauses?\s+(?=\d)", SECTION_NUMBER),
    _form(_SECTION, "paragraph", r"\bparagraphs?\s*(?=[(\dA-Z])", _PARAGRAPH_NUMBER),
    _form(
        _SECTION,
        "chapter",
        r"\b(?:chapters?|chapitres?|kapiteln?|capítulos?)\s+",
        r"(?:\d+(?:\.\d+)*|[IVXLC]+)",
    ),
    # "part of", "title of" and the like are no places, so these want their capital.
    _form(_SECTION, "part", r"\b(?:Parts?|PARTS?)\s+", r"(?:\d+|[IVXLC]+)", keeps_case=True),
    _form(_SECTION, "title", r"\b(?:Titles?|TITLE)\s+", r"(?:\d+|[IVXLC]+)", keeps_case=True),
    _form(
        _APPENDIX,
        "appendix",
        r"\b(?:[Aa]ppendix|[Aa]ppendices|APPENDI(?:X|CES)|[Aa]nnex(?:es)?|ANNEX|[Aa]nnexe|[Aa]nhang|[Aa]nexo)\s+",
        r"(?:[A-Z]|[IVX]+|\d+)(?!\.\d)",
        keeps_case=True,
    ),
    _form(_SECTION, "section", r"\b(?:appendix|app\.)\s+(?=[A-Z]\.\d)", r"[A-Z](?:\.\d+)+"),
    # The official comments on a regulation: "comment 4(a)(8)(i)-6".
    _form(
        _OTHER,
        "comment",
        r"\bcomments?\s+(?=\d)",
        rf"\d+(?:{MARK})*-\d+(?:\.[ivxlc]+(?:\.[A-Z])?)?",
    ),
    _form(_OTHER, "form", r"\bforms?\s+(?=[A-Z])", r"[A-Z]{1,2}-\d+[A-Z]?"),
    _form(_OTHER, "equation", r"\b(?:equations?|eqs?\.)\s*\(?(?=\d)", r"\d+(?:\.\d+)*"),
    _form(_OTHER, "algorithm", r"\balgorithms?\s+", r"\d+"),
    _form(_OTHER, "example", r"\bexamples?\s+", r"\d+[-.]\d+"),
)

_EVERYDAY_NOUNS: Final = (
    "rule", "play", "step", "principle", "requirement", "control", "recommendation", "guideline", "topic", "theorem",
    "lemma", "item", "simulation", "experiment", "example", "exhibit", "schedule", "form", "listing", "part",
    "module", "lesson", "phase", "level",
)  # fmt: skip

# In running text "step 3" or "level 2" is seldom a place to look up; who asks for "rule 10" or credits it means one.
EVERYDAY_FORMS: Final = tuple(
    _form(
        _OTHER,
        noun,
        rf"\b{noun}s?\s+#?\s?(?=[\dA-Z])",
        r"(?:\d+(?:\.\d+)*|[A-Z]-\d+)",
        needs_plural=True,
    )
    for noun in _EVERYDAY_NOUNS
)
