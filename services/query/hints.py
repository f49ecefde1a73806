"""Places that a question points to: sections, tables, figures, kinds of layout, and documents by name."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from citemesh.text.function_words import is_function_word
from citemesh.text.mentions import find_mentions
from citemesh.text.word_lists import word_set
from citemesh.v1.question_pb2 import LayoutHint, Reference, ReferenceKind

# The store knows chapters, articles and clauses by the name of sections too.
_SECTION_WORDS: Final = frozenset({"chapter", "article", "clause"})
_SECTION_BY_TOPIC: Final = re.compile(
    r"\b(?:the\s+)?(?:part|section|chapter|paragraph|passage|heading|subsection)\s+(?:on|about|covering|dealing with"
    r"|titled|called|named|entitled)\s+"
    r"[\"“'‘]?(.{1,160}?)[\"”'’]?(?=\s++(?:say|says|state|states|tell|tells|ask|asks|require|requires|describe|describes"
    r"|mention|mentions"
    r"|cover|covers|recommend|recommends|list|lists|show|shows|explain|explains|in the|of the|mean|means)\b|[,;:?.]|$)",
    re.I,
)
_NAMED_SECTION: Final = re.compile(
    r"\b(?:the\s+)?[\"“'‘]([^\"”'’]{3,60})[\"”'’]\s+(?:section|part|chapter|heading|paragraph)\b", re.I
)
_TITLED_SECTION: Final = re.compile(r"\bthe\s+((?:[A-Z][\w-]*\s+){1,5})(?:section|chapter|part)\b")

_TABLE: Final = re.compile(
    r"\b(?:in|from|per|to) (?:the|a|that|this|which|its) (?:\w+ ){0,2}?table\b|\btable\s+[0-9IVX]|\b(?:the|a|that"
    r"|this|which) table\b"
    r"|\b(?:the|which|that|top|bottom|first|last|base) (?:rows?|columns?)\b|\brows? \(?[a-z0-9]\)?\b|\brow of (?:a"
    r"|the) table\b|\bcolumn\b"
    r"|\btabelle\b|\btableau\b|\btabla\b",
    re.I,
)
_FIGURE: Final = re.compile(
    r"\b(?:figures?|fig\.|diagrams?|charts?|graphs?|plots?|screenshots?|abbildung|schaubild|graphique)\b(?!\s+out)",
    re.I,
)
_CODE: Final = re.compile(
    r"\b(?:which command|what command|command line|code (?:block|snippet|sample|example)|snippet|sample program"
    r"|what (?:\w+ )?do i type"
    r"|which flags? do i pass)\b",
    re.I,
)
_LIST: Final = re.compile(
    r"\b(?:in|from) the (?:\w+ )?(?:bullet |bulleted |numbered )?list\b|\bbullet points? (?:in|of)\b|\bchecklist\b",
    re.I,
)
# Measured effects stand in tables: "where do they show the impact on ..", "where are the results reported".
_CLAUSE_END: Final = re.compile(r"[?.;]")
_WHERE: Final = re.compile(r"\bwhere\b", re.I)
_MEASURING = (
    re.compile(
        r"\b(?:show|shows|shown|report|reports|reported|present|presents|presented|list|lists|listed|give|gives|given"
        r"|compare|compares|compared|measure|measures|measured|evaluate|evaluated|quantif\w+|demonstrate|demonstrated"
        r"|summari[sz]ed?)\b",
        re.I,
    ),
    re.compile(
        r"\b(?:impact|impacts|effects?|influence|results?|scores?|performance|accuracy|figures|numbers|measurements?"
        r"|metrics?|comparison|ablations?|difference|values|rates?|benchmarks?|costs?|prices?)\b",
        re.I,
    ),
)
_MEASURED = (
    re.compile(r"\b(?:results?|scores?|figures|numbers|measurements?|values)\b", re.I),
    re.compile(r"\b(?:shown|reported|listed|given|presented|compared|found)\b", re.I),
)

_DOCUMENT_NOUN = (
    r"(?:paper|sheet|cheat sheet|manual|policy|handbook|guide|guidelines?|report|regulation|document|docs?|page|note"
    r"|notes|faq|thesis|book"
    r"|plan|standard|specification|spec|article|memo|brochure|contract|agreement|pdf|readme|changelog|release notes"
    r"|upgrade notes|datasheet"
    r"|white ?paper|tutorial|playbook|runbook|directive|act|filing|letter|presentation|slides|spreadsheet|survey"
    r"|study|text|law|playbook)"
)
_DOCUMENT: Final = re.compile(
    rf"\b(?:the|our|your)\s+((?:[\w&+./-]+\s+){{1,4}}?){_DOCUMENT_NOUN}s?\b(?!\s*(?:on|about)\s)", re.I
)
_DOCUMENT_AUTHORS: Final = re.compile(r"\bthe\s+((?:[A-Z][\w-]*\s+){1,4})authors\b")
_BARE_DOCUMENT: Final = re.compile(
    r"\b(?:the|our)\s+(faq|handbook|manual|readme|changelog|upgrade notes|release notes)\b", re.I
)
_TWO_DOCUMENTS: Final = re.compile(
    rf"\b(?:the\s+)?((?:[A-Z][\w-]{{0,60}}\s++){{1,4}})and\s++(?:the\s++)?((?:[A-Z][\w-]{{0,60}}\s++){{1,4}})"
    rf"{_DOCUMENT_NOUN}s\b"
)
_NUMBERED_DOCUMENT: Final = re.compile(
    r"\b(?:Regulation|Directive|RFC|ISO(?:/IEC)?|NIST(?: SP)?|PEP|IEEE|EN|DIN|FIPS|CVE|Reg|Law|Act|Form|Circular"
    r"|Order)[ -](?:[A-Z]{1,3}|\d[\d./-]*)(?!\w)"
)
_FILE: Final = re.compile(r"\b[\w-]{1,100}\.(?:pdf|docx?|md|html?|txt|xlsx?|pptx?)\b", re.I)
# Words that make a pointer of what looks like a name: "the other sheet", "the same page".
_DEICTIC: Final = word_set(
    "other same next last first second third previous above following right whole entire new old current"
)
_EVERYDAY_PAGES: Final = word_set("which what that this on in of to for")


@dataclass(frozen=True, slots=True)
class Hints:
    """What a question points to. `section_hint` is a number ("5.4"), a label ("rule 10") or words of a title."""

    section_hint: str | None = None
    layout_hint: LayoutHint.ValueType = LayoutHint.LAYOUT_HINT_UNSPECIFIED
    references: tuple[Reference, ...] = ()
    document_hints: tuple[str, ...] = field(default=())


def find_hints(question: str) -> Hints:
    """The hints of a question, in the order in which they stand."""
    references = _find_references(question)
    return Hints(
        section_hint=_find_section_hint(question, references),
        layout_hint=_find_layout_hint(question),
        references=tuple(references),
        document_hints=tuple(find_document_hints(question)),
    )


def _find_references(question: str) -> list[Reference]:
    """The places in the order of mention, each once; "paragraph (a)" alone is a place in no document."""
    found: dict[str, Reference] = {}
    for mention in find_mentions(question, everyday=True):
        if mention.word != "paragraph":
            word = "section" if mention.word in _SECTION_WORDS else mention.word
            label = f"{word} {mention.number}".lower()
            found.setdefault(label, Reference(kind=mention.kind, label=label, surface=mention.surface))
    return list(found.values())


def _find_section_hint(question: str, references: list[Reference]) -> str | None:
    for pattern in (_SECTION_BY_TOPIC, _NAMED_SECTION, _TITLED_SECTION):
        match = pattern.search(question)
        if match is not None:
            words = match.group(1).strip()
            if not is_function_word(words.lower()):
                return words
    for reference in references:
        if reference.kind == ReferenceKind.REFERENCE_KIND_SECTION:
            return reference.label.removeprefix("section ")
    for reference in references:
        if reference.kind in (ReferenceKind.REFERENCE_KIND_APPENDIX, ReferenceKind.REFERENCE_KIND_OTHER):
            return reference.surface
    return None


def _find_layout_hint(question: str) -> LayoutHint.ValueType:
    if _TABLE.search(question) or _asks_where_measured(question):
        return LayoutHint.LAYOUT_HINT_TABLE
    if _FIGURE.search(question):
        return LayoutHint.LAYOUT_HINT_FIGURE
    if _CODE.search(question):
        return LayoutHint.LAYOUT_HINT_CODE
    return LayoutHint.LAYOUT_HINT_LIST if _LIST.search(question) else LayoutHint.LAYOUT_HINT_UNSPECIFIED


def _asks_where_measured(question: str) -> bool:
    """Whether a clause holds "where" and behind it, in this order, the words of _MEASURING or of _MEASURED."""
    for clause in _CLAUSE_END.split(question):
        where = _WHERE.search(clause)
        for first, second in (_MEASURING, _MEASURED) if where is not None else ():
            found = first.search(clause, where.end()) if where is not None else None
            if found is not None and second.search(clause, found.end()):
                return True
    return False


def find_document_hints(question: str) -> list[str]:
    """Names of documents as they stand in the question, such as "the Docker sheet" or "Regulation B"; no repeats."""
    hints: list[str] = []
    taken: list[tuple[int, int]] = []
    for match in _TWO_DOCUMENTS.finditer(question):
        hints += [match.group(1).strip(), match.group(2).strip()]
        taken.append(match.span())
    for pattern in (_NUMBERED_DOCUMENT, _FILE, _DOCUMENT, _DOCUMENT_AUTHORS, _BARE_DOCUMENT):
        for match in pattern.finditer(question):
            inside = any(start < match.end() and match.start() < end for start, end in taken)
            if inside or (match.re is _DOCUMENT and not _is_name(match.group(1))):
                continue
            taken.append(match.span())
            hints.append(" ".join(match.group().split()))
    return list(dict.fromkeys(hints))


def _is_name(modifiers: str) -> bool:
    words = modifiers.lower().split()
    return not any(word in _DEICTIC or word in _EVERYDAY_PAGES or is_function_word(word) for word in words)
