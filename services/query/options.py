"""The options that an answer offered, so that "the second one", "both" and "the latter" can be resolved."""

from __future__ import annotations

import re
from typing import Final

_ORDINALS: Final = {
    "first": 0, "former": 0, "1st": 0, "erste": 0, "ersten": 0, "premier": 0, "première": 0, "primero": 0, "primera": 0,
    "second": 1, "2nd": 1, "zweite": 1, "zweiten": 1, "deuxième": 1, "second one": 1, "segundo": 1, "segunda": 1,
    "third": 2, "3rd": 2, "dritte": 2, "dritten": 2, "troisième": 2, "tercero": 2, "tercera": 2,
    "fourth": 3, "4th": 3, "vierte": 3, "fifth": 4, "5th": 4, "last": -1, "latter": -1, "letzte": -1, "dernier": -1,
}  # fmt: skip
ORDINAL: Final = re.compile(
    r"\b(?:the|der|die|das|den|le|la|el)\s+(first|second|third|fourth|fifth|last|former|latter|[1-5](?:st|nd|rd|th)"
    r"|ersten?|zweiten?|dritten?|letzte|vierte"
    r"|premi(?:er|ère)|deuxième|troisième|dernier|primer[oa]|segund[oa]|tercer[oa])"
    r"(?:\s+(?:one|option|way|method|possibility|choice|approach|alternative|mode|kind|type|item|point|step|reason"
    r"|of (?:them|these|those|the two)))?(?=\W*(?:$|[?,.;])|\s+(?!\w+s?\b\s+of\b)(?:is|was|does|do|did|has|have|can"
    r"|need|work|mean|one)\b)",
    re.I,
)
ALL_OPTIONS: Final = re.compile(
    r"\b(?:(?:neither|either|both|each|any|which|none) of (?:the two|them|these|those|the three)"
    r"|the two(?: of them)?|both(?=\W*$))\b",
    re.I,
)

_NUMBERED: Final = re.compile(r"(?m)^[^\S\n]*+(?:\d++[.)]|[-*•])\s++(.+)$")
_ENUMERATED: Final = re.compile(
    r"\(?\b(?:\d|[a-c]|i{1,3})\)\s*+([^;()]{1,400}?)(?=[;,.]|\s++(?:and|or)\s|\s*+\(?\b(?:\d|[a-c]|i{1,3})\)|$)"
)
_EITHER: Final = re.compile(
    r"\b(?:either|entweder|soit)\s++(.{1,300}?),?(?<!\s)\s++(?:or|oder|soit)\s++([^.;?!]{1,300})", re.I | re.S
)
_SERIES: Final = re.compile(r",\s*+(?:(?:and|or|und|oder|et|ou|y|o)\s++)?|(?<!\s)\s++(?:and|or|und|oder|et|ou)\s++")
_LONGEST_OPTION: Final = 160
_BY: Final = re.compile(r"^(?:by|to|with|using|via|through)\s+", re.I)


def find_options(answer: str) -> list[str]:
    """The options of an answer in their order: list items, "either A or B", or the members of a short series."""
    for items in (_NUMBERED.findall(answer), _ENUMERATED.findall(answer)):
        if len(items) > 1:
            return [_tidy(item) for item in items]
    either = _EITHER.search(answer)
    if either is not None:
        return [_tidy(either.group(1)), _tidy(either.group(2))]
    first_sentence = re.split(r"(?<=[.;!?])\s", answer.strip(), maxsplit=1)[0]
    after_colon = first_sentence.rpartition(":")[2]
    members = [_tidy(member) for member in _SERIES.split(after_colon.strip().rstrip("."))]
    return members if len(members) > 1 and all(0 < len(member.split()) <= 8 for member in members) else []


def pick_option(ordinal: str, options: list[str]) -> str | None:
    """The option that an ordinal word names; None where there are not as many."""
    position = _ORDINALS.get(ordinal.lower(), -2)
    if position == -1:
        return options[-1] if options else None
    return options[position] if 0 <= position < len(options) else None


def _tidy(option: str) -> str:
    return _BY.sub("", " ".join(option.split()).strip(" .;,:"))[:_LONGEST_OPTION]
