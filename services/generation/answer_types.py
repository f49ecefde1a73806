"""Whether a piece of text has the shape that a question asks for: a figure, a date, a permission, a definition."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import TypeAlias

from citemesh.text.numbers import MONTHS, numbers_between
from citemesh.v1 import question_pb2
from services.generation.words import find_words

_Type: TypeAlias = question_pb2.AnswerType.ValueType

_NUMBER_WORDS = "|".join(
    [*numbers_between(0, 99), "one", "hundred", "thousand", "million", "billion", "half", "twice", "double", "dozen"]
)
_NUMBER = re.compile(rf"\d|\b(?:{_NUMBER_WORDS})\b|[一二三四五六七八九十百千万亿]", re.IGNORECASE)
_TIME_UNITS = (
    r"(?:milli|micro|nano)?seconds?|secs?|ms|minutes?|mins?|hours?|hrs?|days?|weeks?|months?|quarters?|years?|yrs?|decades?"
    r"|sekunden?|minuten?|stunden?|tage?n?|wochen?|monate?n?|jahre?n?|secondes?|heures?|jours?|semaines?|mois|ans?|années?"
    r"|segundos?|minutos?|horas?|d[ií]as?|semanas?|mes(?:es)?|años?|[年月日天周小时分钟秒]"
)
_DURATION = re.compile(
    rf"(?:\d[\d.,']{{0,20}}+|\b(?:{_NUMBER_WORDS}|an?|several|few))"
    r"(?:\s{0,9}+(?:-|–|to|or|bis|à|a)\s{0,9}+\d[\d.,]{0,20}+)?"
    r"[\s\-]{0,30}+(?:\([^()]{0,60}+\)\s{0,9}+)?(?:\w{1,40}+\s{1,9}+)?"
    rf"(?:{_TIME_UNITS})(?![^\W\d_])|\d(?:ms|s|m|h|d)\b|\b(?:immediately|indefinitely|permanently|forever)\b",
    re.IGNORECASE,
)
_MONTHS = "|".join(sorted(MONTHS, key=len, reverse=True))
_DATE = re.compile(
    rf"\b(?:{_MONTHS})\.?\s+\d|\d\.?\s+(?:de\s+)?(?:{_MONTHS})\b|\b(?:19|20)\d\d\b"
    # Two numbers with a point between are a version or a section more often than a day.
    r"|\b\d{1,2}/\d{1,2}(?:/\d{2,4})?\b|\b\d{1,2}\.\s?\d{1,2}\.\s?\d{4}\b|\b\d{2}\.\d{2}\.\d{2}\b"
    r"|\d{4}-\d{2}|\d年|\d月|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|\b(?:deadline|fiscal year|quarter|midnight|noon)\b"
    r"|\b(?:first|last|second|third)\s+(?:\w+\s+)?(?:day|week|month|quarter)\b|\b\d{1,2}(?::\d\d)?\s*[ap]\.?m\b",
    re.IGNORECASE,
)
_MONEY = re.compile(
    r"[$€£¥₹]\s?\d|\d[\d.,' ]{0,30}+\s?(?:[$€£¥]|usd|eur|gbp|chf|dollars?|euros?|cents?|pounds?|francs?|yuan"
    r"|万元|元|percent|%)"
    r"|\b(?:free of charge|no (?:cost|charge)|kostenlos|gratuit)",
    re.IGNORECASE,
)
_PERCENT = re.compile(r"%|\bper\s?cent(?:age)?s?\b|\bprozent|\bpour\s?cent|\bpor\s?ciento\b|\bpct\b", re.IGNORECASE)
_ASKS_PERCENT = re.compile(
    r"\b(?:how many|what|which|welche\w*|wie\s?viele?|quels?|quelle|combien de|qué|cuánto)\s+(?:\w+\s+)?"
    r"(?:per\s?cent(?:age)?|prozent\w*|pour\s?cent\w*|porcentaje)\b",
    re.IGNORECASE,
)
_POLAR = re.compile(
    r"\b(?:may|must|shall|should|can|cannot|can't|could|will|won't|not|never|no|yes|only|always|n't|prohibit\w*|forbid\w*"
    r"|allow\w*|permit\w*|requir\w*|eligible|able|unable|mandatory|optional|support\w*|exempt\w*|avoid|does|do|nicht|kein\w*"
    r"|darf|dürfen|muss|kann|pas|jamais|peut|doit|interdit\w*|autoris\w*|debe|puede|nunca|prohibid\w*)\b|n't\b|不|可以|必须|禁止",
    re.IGNORECASE,
)
_DEFINITION = re.compile(
    r"\b(?:is|are|was)\s+(?:an?|the|any|one|when|where|how|what|slang)\b|\bmeans?\b|\brefers?\s+to\b|\bstands?\s+for\b|\bknown\s+as\b"
    r"|\bcalled\b|\bdefined?\b|\bdefinition\b|\bdescribes?\b|\bis\s+\w+(?:ed|ing)?\b|\bist\s+ein|\bbedeutet\b|\bbezeichnet\b"
    r"|\best\s+une?\b|\bsignifie\b|\bdésigne\b|\bes\s+una?\b|\bsignifica\b|^[^.:]{2,60}(?::|\s[-–—])\s|是|指",
    re.IGNORECASE,
)
_PLACE = re.compile(
    r"https?://|\bwww\.|[\w\-]\.(?:com|org|gov|net|edu|io|html?|md|ya?ml|json|txt|conf|db|log)\b|(?:^|[\s`(\"'])[~.]?/[\w.\-]"
    r"|[\w.]@[\w.]|#[\w\-]{3}|\b(?:room|floor|building|street|avenue|road|suite|office|city|state|country|channel|directory|folder"
    r"|file|page|section|menu|tab|site|portal|link|located|found|under|inside)\b|\b(?:in|at|on|near|from)\s+(?:the\s+)?[A-Z]",
)
_PERSON = re.compile(
    r"\b[A-Z][\w’'\-]{1,40}+\s{1,9}+(?:[A-Z]\.?\s{1,9}+)?[A-Z][\w’'\-]|[\w.]@[\w.]|\b(?:supervisor|manager|director|officer|lead|team|office"
    r"|administrator|owner|board|committee|council|department|agency|staff|employee|author|chief|head|president|secretary"
    r"|contact|bureau|creditor|institution|person)s?\b|\bby\s+[A-Z]",
)
_REASON = re.compile(
    r"\b(?:because|since|due\s+to|so\s+that|in\s+order\s+to|therefore|thus|hence|reason|otherwise|as\s+a\s+result|causes?|caused"
    r"|prevents?|avoids?|ensures?|protects?|allows?|leads?\s+to|results?\s+in|weil|damit|denn|deshalb|car|parce|afin|porque|para\s+que)\b"
    r"|因为|所以|由于",
    re.IGNORECASE,
)
_PROCEDURE = re.compile(
    r"^\W*(?:(?:step\s+)?\d+[.)]\s|first|then|next|finally|to\s+\w+|please|if\s+you)|^\W*(?:add|ask|attach|book|call|change|check|choose"
    r"|click|complete|contact|copy|create|delete|download|email|enable|enter|file|fill|find|follow|go|install|log|make|notify|open"
    r"|post|press|put|read|remove|replace|request|run|save|select|send|set|sign|start|stop|submit|take|tell|turn|type|update|use"
    r"|visit|wait|write)\b|\b(?:you\s+(?:must|should|can|need|will)|by\s+\w+ing|must\s+be|should\s+be)\b|\$\s|--\w",
    re.IGNORECASE,
)

_PATTERNS: dict[_Type, re.Pattern[str]] = {
    question_pb2.ANSWER_TYPE_NUMBER: _NUMBER,
    question_pb2.ANSWER_TYPE_DATE: _DATE,
    question_pb2.ANSWER_TYPE_DURATION: _DURATION,
    question_pb2.ANSWER_TYPE_MONEY: _MONEY,
    question_pb2.ANSWER_TYPE_YES_NO: _POLAR,
    question_pb2.ANSWER_TYPE_DEFINITION: _DEFINITION,
    question_pb2.ANSWER_TYPE_PLACE: _PLACE,
    question_pb2.ANSWER_TYPE_PERSON: _PERSON,
    question_pb2.ANSWER_TYPE_REASON: _REASON,
    question_pb2.ANSWER_TYPE_PROCEDURE: _PROCEDURE,
}

_DEFINES = re.compile(
    r"^(?:(?:the|an?|d(?:er|ie|as)|eine?|l[ae]s?|une?)\s++|l['’])?(?P<term>[^.:;,?!]{2,60}?)(?:\s{0,30}+\([^)]{1,40}+\))?"
    r"\s{0,30}+(?:\b(?:is|are|means?|refers?\s+to|stands?\s+for|describes?|ist|sind|bedeutet|bezeichnet|est|sont|signifie|désigne)\b"
    r"|:\s|(?<=\s)[-–—]\s)",
    re.IGNORECASE,
)

STRICT_TYPES: frozenset[_Type] = frozenset(
    {
        question_pb2.ANSWER_TYPE_NUMBER,
        question_pb2.ANSWER_TYPE_DATE,
        question_pb2.ANSWER_TYPE_DURATION,
        question_pb2.ANSWER_TYPE_MONEY,
    }
)
"""Types whose shape cannot be missing from an answer: without a figure nothing says how many."""


def has_shape(answer_type: _Type, text: str) -> bool | None:
    """Whether `text` holds something of the asked shape; None where the type has no shape to look for."""
    pattern = _PATTERNS.get(answer_type)
    return None if pattern is None else pattern.search(text) is not None


def lacks_asked_shape(answer_type: _Type, question: str, texts: Sequence[str]) -> bool:
    """Whether none of `texts` holds the figure, date, sum or duration that the question cannot do without.

    A question for a percentage wants one, whatever other figures there are. False for all other types.
    """
    if answer_type not in STRICT_TYPES:
        return False
    wants_percent = _ASKS_PERCENT.search(question) is not None
    return not any(has_shape(answer_type, text) and (not wants_percent or _PERCENT.search(text)) for text in texts)


def defines(text: str, asked_words: Collection[str]) -> bool:
    """Whether `text` begins by saying what something is, and that something is named in the question."""
    match = _DEFINES.match(text)
    words = find_words(match.group("term")) if match else []
    return bool(words) and all(word in asked_words for word in words)
