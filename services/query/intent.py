"""The kind of question: one table of patterns, read from the top."""

from __future__ import annotations

import re
from typing import Final

from citemesh.text.function_words import is_function_word
from citemesh.text.word_lists import word_set
from citemesh.v1.question_pb2 import Intent
from services.query.counts import find_requested_count
from services.query.hints import Hints

_I: Final = re.I

_COMPARISON: Final = re.compile(
    r"\bcompar(?:e|es|ed|ing|ison)\b|\bversus\b|\bvs\.?(?=\s)|\bdifferences?\b.{0,300}\bbetween\b|\bdiffer(?:s"
    r"|ent)? from\b|\bhow (?:do|does|did) .{1,300}\bdiffer\b"
    r"|\bhow much \w+(?:er|more|less)\b.{1,300}\bthan\b|\bwhich (?:one )?is (?:\w+er|more \w+|less \w+|better"
    r"|worse)\b.{0,300}\bor\b"
    r"|^[^?:]{3,80}\bor\b[^?:]{3,80}:\s*(?:which|what|who)|\bboth (?:the )?\w.{1,150}\band\b.{1,150}\b(?:in|of"
    r"|for|by|with) each\b"
    r"|\bwhat (?:becomes|happens|is|are) .{1,300}\band what (?:of|about)\b"
    r"|^\W*(?:is|are|was|were) .+\b(?:better|worse|faster|slower|larger|smaller|bigger|cheaper|safer|stronger|weaker"
    r"|stricter) than (?!\d)"
    r"|\b(?:unterschied|vergleich|verglichen)\w*\b|\bdifférence entre\b|\bcomparer\b|\bdiferencia entre\b|\bcomparar\b",
    _I,
)
_ACROSS_ALL: Final = re.compile(
    r"\b(?:across|over|in|from) (?:all|every|any of|the whole|our) (?:\w+ )?(?:documents|files|papers|reports"
    r"|sources|corpus|collection|library|archive)\b"
    r"|\bwhat do we know\b|\beverything (?:we|you|that|about|on)\b|\boverview of (?:all|everything|the (?:documents"
    r"|collection))\b"
    r"|\b(?:summari[sz]e|sum up|outline) (?:all|everything|what we|our)\b|\bmain (?:themes|topics)\b.{0,300}\b(?:"
    r"documents|corpus|collection)\b",
    _I,
)
_OPEN: Final = re.compile(
    r"^\W*(?:why|explain|describe|summari[sz]e|sum up|outline|discuss|elaborate|tell me (?:more )?about"
    r"|give (?:me )?an overview|what happens|what happened"
    r"|what is (?:wrong|special|the (?:point|purpose|idea|role|reason|rationale|background|impact|effect|catch)\b)"
    r"|what'?s the catch|what makes"
    r"|warum|wieso|erkläre?|beschreibe?|pourquoi|explique[rz]?|décri[st]\w*|por qué|explica|describe)\b"
    r"|\bhow (?:do|does|did|can|could|should|would|is|are|was|were|to|might|must|will|well)\b|\bwhy (?:do|does|did"
    r"|is|are|was|were|can|should|would|not)\b"
    r"|^\W*(?:wie (?:funktioniert|kann|macht|geht|werden|wird)|comment|cómo)\b",
    _I,
)
_LISTING: Final = re.compile(
    r"^\W*(?:list|enumerate|name) (?:all|the|every|each|some|any|me|them|[a-z]+ (?:\w+ )?\w+s)\b|\blist (?:all"
    r"|every)\b|\bwhat are (?:all |the (?!meaning|difference|point|purpose|chance|status))"
    r"|\bwhat (?:else )?(?:has to|must|should|needs to|have to) be (?:in|included|contained|part of|stated|checked"
    r"|listed|provided|present)\b"
    r"|\bgive (?:me )?(?:all|the|a list|examples|some|two|three|four|five|\d)\b"
    r"|\b(?:types|kinds|sorts|categories|forms|classes"
    r"|varieties) of\b(?=[^?\n]*+\?)(?<!how many types of)(?<!how many kinds of)"
    r"|\bwelches sind\b|\bnenne?\b|\bliste\b|\bquel(?:le)?s (?:sont|\w+s)\b|\bcuáles\b|\bqué \w+s\b|\bquali\b"
    r"|\bquais\b",
    _I,
)
# Of a last line that asks.
_ALL_THAT: Final = re.compile(r"\ball (?:of )?the\b.{0,300}\bthat\b", _I)
_WH_NOUN: Final = re.compile(r"\b(?:which|what|welche)\s+((?:[\w'’/-]+\s+){0,4}[\w'’/-]+)", _I)
_SECTION_SAYS: Final = re.compile(
    r"\bwhat (?:does|do|did|is in|stands in|is said in|'s in)\b.{0,300}\b(?:say|says|show|shows|state|states|ask|asks"
    r"|require|requires|describe|describes|contain|contains"
    r"|cover|covers|mention|mentions|recommend|recommends|define|defines|prescribe|list|lists)\b|^\W*(?:summari[sz]e"
    r"|show|read|quote|open|explain)\b"
    r"|\baccording to (?:the )?(?:part|section|chapter|paragraph|passage|rule|play|step|table|figure|appendix"
    r"|article|§)",
    _I,
)
_NOT_PLURAL: Final = word_set("""is was does has this its us process address access class status basis analysis
    business less bus gas always perhaps news loss press stress progress success guess across cross address boss mass
    pass bonus focus census virus corpus canvas bias species series dns https tls aws kubernetes os sms css ms pros
    plus minus yes as thus previous various famous serious canvas chaos lens emphasis hypothesis thesis crisis""")


def find_intent(question: str, hints: Hints) -> Intent.ValueType:
    """The intent of a question that is to be searched for; `question` is standalone."""
    if _COMPARISON.search(question):
        return Intent.INTENT_COMPARISON
    if (hints.section_hint is not None or hints.references) and _SECTION_SAYS.search(question):
        return Intent.INTENT_SECTION_RETRIEVAL
    if _ACROSS_ALL.search(question):
        return Intent.INTENT_OPEN_CORPUS_WIDE
    if is_listing(question):
        return Intent.INTENT_LISTING
    return Intent.INTENT_OPEN_SCOPED if _OPEN.search(question) else Intent.INTENT_FACTOID


def is_listing(question: str) -> bool:
    """Whether several items of one kind are asked for."""
    if _LISTING.search(question) or find_requested_count(question) is not None:
        return True
    if question.endswith("?") and _ALL_THAT.search(question.rpartition("\n")[2]):
        return True
    return any(_asks_for_plural(match.group(1).lower().split()) for match in _WH_NOUN.finditer(question))


def _asks_for_plural(words: list[str]) -> bool:
    """Whether the noun that follows "which" or "what" directly, before any verb, is a plural."""
    for position, word in enumerate(words):
        if is_function_word(word):
            return False
        if word.endswith("s") and not word.endswith(("ss", "'s", "’s")) and len(word) > 3 and word not in _NOT_PLURAL:
            following = words[position + 1] if position + 1 < len(words) else ""
            # "which script builds the ..": a verb has an object, a noun has a verb.
            return word not in _VERBS and not (position > 0 and following in _OBJECT_STARTS)
    return False


_VERBS: Final = word_set("""happens says means makes does shows gets goes comes takes gives works needs counts becomes
    remains causes uses applies exists follows holds keeps matters runs sets stands starts stops tells caches passes
    requires controls determines defines describes contains""")
_OBJECT_STARTS: Final = word_set(
    "the a an its their our my your his her this that these out up back on between from as to into"
)
