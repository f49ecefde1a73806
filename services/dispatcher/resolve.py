"""Which patterns a question runs: a table of named rules over the parsed question and the profile of its scope.

For each pattern the first rule that applies decides; the last one of each pattern always applies. To teach the
dispatcher something new about questions, add a row here and its case to tests/rules.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from citemesh.v1 import activation_pb2, document_pb2, question_pb2

_ON: Final = True
_OFF: Final = False

TOC: Final = activation_pb2.PATTERN_TOC
KEYWORD: Final = activation_pb2.PATTERN_KEYWORD
DENSE: Final = activation_pb2.PATTERN_DENSE
TWO_HOP: Final = activation_pb2.PATTERN_TWO_HOP_REFERENCES
LISTING: Final = activation_pb2.PATTERN_LISTING_AGGREGATION
ADAPTIVE: Final = activation_pb2.PATTERN_ADAPTIVE_PARSING
FEEDBACK: Final = activation_pb2.PATTERN_ITERATIVE_FEEDBACK

PATTERNS: Final = (TOC, KEYWORD, DENSE, TWO_HOP, LISTING, ADAPTIVE, FEEDBACK)


@dataclass(frozen=True, slots=True)
class Facts:
    """All that the rules may read."""

    question: question_pb2.ParsedQuestion
    scope: document_pb2.ScopeProfile
    keyword_can_match: bool = True
    """Whether any content word of the question occurs in the documents in scope; True where nobody has looked."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One row: where `applies` holds, `pattern` is on or off, for `reason`."""

    rule_id: str
    pattern: activation_pb2.Pattern.ValueType
    active: bool
    applies: Callable[[Facts], bool]
    reason: str


def resolve(facts: Facts) -> activation_pb2.Activations:
    """The seven decisions, in the order of Pattern, each with its rule and reason. Same facts, same bytes."""
    return activation_pb2.Activations(activations=[_decide(pattern, facts) for pattern in PATTERNS])


def _decide(pattern: activation_pb2.Pattern.ValueType, facts: Facts) -> activation_pb2.Activation:
    rule = next(rule for rule in RULES if rule.pattern == pattern and rule.applies(facts))
    return activation_pb2.Activation(pattern=pattern, active=rule.active, rule_id=rule.rule_id, reason=rule.reason)


def _always(_: Facts) -> bool:
    return True


def _needs_no_documents(facts: Facts) -> bool:
    need = facts.question.need
    return need not in (question_pb2.RETRIEVAL_NEED_UNSPECIFIED, question_pb2.RETRIEVAL_NEED_RETRIEVE)


def _has_usable_toc(facts: Facts) -> bool:
    return facts.scope.usable_toc_count > 0


def _is_open(facts: Facts) -> bool:
    return facts.question.intent in (question_pb2.INTENT_OPEN_SCOPED, question_pb2.INTENT_OPEN_CORPUS_WIDE)


def _spans_documents(facts: Facts) -> bool:
    return facts.scope.document_count > 1


def _scope_is_unknown(facts: Facts) -> bool:
    return facts.scope.document_count == 0


def _speaks_another_language(facts: Facts) -> bool:
    known = [language for language in facts.scope.languages if language != "und"]
    return bool(known) and facts.question.language not in ("", "und", *known)


def _shares_no_word(facts: Facts) -> bool:
    return not facts.keyword_can_match


def _names_a_section(facts: Facts) -> bool:
    return bool(facts.question.retrieval.section_hint)


def _points_to_a_layout(facts: Facts) -> bool:
    return facts.question.retrieval.layout_hint != question_pb2.LAYOUT_HINT_UNSPECIFIED


def _names_a_place(facts: Facts) -> bool:
    return len(facts.question.retrieval.references) > 0


def _asks_for_a_section(facts: Facts) -> bool:
    return facts.question.intent == question_pb2.INTENT_SECTION_RETRIEVAL


def _is_open_scoped(facts: Facts) -> bool:
    return facts.question.intent == question_pb2.INTENT_OPEN_SCOPED


def _asks_for_a_list(facts: Facts) -> bool:
    return facts.question.intent == question_pb2.INTENT_LISTING


def _holds_scans(facts: Facts) -> bool:
    return facts.scope.likely_scanned_count > 0


RULES: Final[tuple[Rule, ...]] = (
    *(
        Rule("all.no_documents_needed", pattern, _OFF, _needs_no_documents, "the question needs no documents")
        for pattern in PATTERNS
    ),
    Rule("toc.usable", TOC, _ON, _has_usable_toc, "a document in scope has a usable table of contents"),
    Rule("toc.none", TOC, _OFF, _always, "no document in scope has a usable table of contents"),
    Rule("keyword.default", KEYWORD, _ON, _always, "keywords are always searched"),
    Rule("dense.open_question", DENSE, _ON, _is_open, "an open question may use other words than the documents"),
    Rule("dense.several_documents", DENSE, _ON, _spans_documents, "several documents are in scope"),
    Rule("dense.other_language", DENSE, _ON, _speaks_another_language, "no document in scope is in its language"),
    Rule("dense.no_shared_word", DENSE, _ON, _shares_no_word, "no word of the question occurs in the documents"),
    Rule("dense.unknown_scope", DENSE, _ON, _scope_is_unknown, "nothing is known of the documents in scope"),
    Rule("dense.keywords_suffice", DENSE, _OFF, _always, "keywords can find this in the one document in scope"),
    Rule("two_hop.section_hint", TWO_HOP, _ON, _names_a_section, "the question names a section"),
    Rule("two_hop.layout_hint", TWO_HOP, _ON, _points_to_a_layout, "the question points to a table, figure or list"),
    Rule("two_hop.named_place", TWO_HOP, _ON, _names_a_place, "the question names a labelled place"),
    Rule("two_hop.section_question", TWO_HOP, _ON, _asks_for_a_section, "the question asks what a section says"),
    Rule("two_hop.open_scoped", TWO_HOP, _ON, _is_open_scoped, "an open question often spans linked places"),
    Rule("two_hop.not_asked_for", TWO_HOP, _OFF, _always, "the question points to no other place"),
    Rule("listing.listing_question", LISTING, _ON, _asks_for_a_list, "the question asks for a list"),
    Rule("listing.not_asked_for", LISTING, _OFF, _always, "the question asks for no list"),
    Rule("adaptive.likely_scanned", ADAPTIVE, _ON, _holds_scans, "a document in scope is likely scanned"),
    Rule("adaptive.by_feedback_only", ADAPTIVE, _OFF, _always, "pages are parsed again only on an answer's report"),
    Rule("feedback.default", FEEDBACK, _ON, _always, "an answer that reports something missing is improved"),
)
