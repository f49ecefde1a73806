"""When the loop goes on: ordered triggers over what the last pass reported. Each proposes at most one action.

An action may use a pattern that was off in the first pass: activations decide what runs unasked, triggers what runs
because an answer asked for it. Nothing here is decided by a model; its reports are read, its wishes are not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from citemesh.v1 import activation_pb2, answer_pb2, document_pb2, history_pb2, question_pb2, retrieval_pb2
from services.dispatcher.state import Case, Proposal
from services.dispatcher.words import active_patterns, fold, reference_words

History = Sequence[history_pb2.IterationRecord]
Trigger = Callable[[Case, History], Proposal | None]

MAX_REFERENCES: Final = 20
MAX_REPARSED_PAGES: Final = 8

_EVIDENCE_FAULTS: Final = (answer_pb2.VERDICT_WRONG_VERSION, answer_pb2.VERDICT_NOT_AUTHORIZED)

_LISTING_SCOPES: Final = (
    retrieval_pb2.LISTING_SCOPE_PASSAGE,
    retrieval_pb2.LISTING_SCOPE_SECTION,
    retrieval_pb2.LISTING_SCOPE_PARENT_SECTION,
    retrieval_pb2.LISTING_SCOPE_DOCUMENT,
)
_FIRST_LISTING_SCOPE: Final = 1

_SCOPE_WORDS: Final = {
    retrieval_pb2.LISTING_SCOPE_PASSAGE: "the passages themselves",
    retrieval_pb2.LISTING_SCOPE_SECTION: "their sections",
    retrieval_pb2.LISTING_SCOPE_PARENT_SECTION: "the sections around them",
    retrieval_pb2.LISTING_SCOPE_DOCUMENT: "the whole document",
}


def propose(case: Case, history: History) -> Proposal | None:
    """What the first trigger that fires proposes after the last pass of `history`; None where none fires."""
    return next((proposal for trigger in TRIGGERS if (proposal := trigger(case, history))), None)


def unstructured_context(case: Case, history: History) -> Proposal | None:
    """The evidence came without readable structure: parse the flagged pages again, and only those.

    Where adaptive parsing is on from the start and nothing usable was found, pages without text count as flagged.
    """
    now = history[-1].signals
    flagged = () if now.context_structured else tuple(now.unstructured_pages)
    pages = (flagged or _pages_without_text(case, now))[:MAX_REPARSED_PAGES]
    if not pages:
        return None
    words = ", ".join(f"page {page.page_number} of {page.document_id}" for page in pages)
    return Proposal(
        history_pb2.TRIGGER_UNSTRUCTURED_CONTEXT, history_pb2.ACTION_REPARSE_PAGES, f"parse {words} again", pages=pages
    )


def discovered_vocabulary(_: Case, history: History) -> Proposal | None:
    """The evidence uses other words for what the question asks: search with them too."""
    now = history[-1].signals
    searched = {fold(keyword) for keyword in now.keywords}
    new = tuple(keyword for keyword in now.discovered_keywords if fold(keyword) and fold(keyword) not in searched)
    if not new:
        return None
    words = "search also with " + ", ".join(f'"{keyword}"' for keyword in new)
    return Proposal(history_pb2.TRIGGER_DISCOVERED_VOCABULARY, history_pb2.ACTION_EXPAND_KEYWORDS, words, keywords=new)


def pending_references(_: Case, history: History) -> Proposal | None:
    """The answer needs a place that the evidence points to: go there. Places not yet visited come first."""
    references = unvisited(history) or tuple(history[-1].signals.pending_references)
    references = references[:MAX_REFERENCES]
    if not references:
        return None
    words = f"follow {reference_words(references)}"
    return Proposal(
        history_pb2.TRIGGER_PENDING_REFERENCES, history_pb2.ACTION_FOLLOW_REFERENCES, words, references=references
    )


def incomplete_answer(case: Case, history: History) -> Proposal | None:
    """Parts of the question have no answer: search for those parts, gather more of the list, or search by meaning."""
    now = history[-1].signals
    if now.complete_answer_found or _count_differs(now):
        return None
    return _search_for_parts(case, now) or _widen_open_listing(case, history) or _search_by_meaning(case)


def cardinality_mismatch(_: Case, history: History) -> Proposal | None:
    """The text announces another number of items than were found: gather over more of the document, or over less."""
    now = history[-1].signals
    if not _count_differs(now):
        return None
    widen = now.item_count < now.expected_count
    return _move_listing(history, history_pb2.TRIGGER_CARDINALITY_MISMATCH, widen=widen)


def failed_validation(_: Case, history: History) -> Proposal | None:
    """Claims failed: have the answer corrected; where that was tried, or the evidence is at fault, retrieve again."""
    failed = history[-1].signals.failed_verdicts
    if not failed:
        return None
    evidence_at_fault = any(verdict.verdict in _EVIDENCE_FAULTS for verdict in failed)
    corrected_before = any(record.action == history_pb2.ACTION_CORRECT_ANSWER for record in history)
    if evidence_at_fault or corrected_before:
        action, words = history_pb2.ACTION_RETRIEVE_AGAIN, "search again without the evidence that failed"
    else:
        action, words = history_pb2.ACTION_CORRECT_ANSWER, "have the answer corrected"
    return Proposal(history_pb2.TRIGGER_FAILED_VALIDATION, action, words)


TRIGGERS: Final[tuple[Trigger, ...]] = (
    unstructured_context,
    discovered_vocabulary,
    pending_references,
    incomplete_answer,
    cardinality_mismatch,
    failed_validation,
)
"""In this order: reading badly parsed pages again comes before searching them, better words before more places."""


def _pages_without_text(case: Case, now: history_pb2.PassSignals) -> tuple[answer_pb2.PageRef, ...]:
    is_on = activation_pb2.PATTERN_ADAPTIVE_PARSING in active_patterns(case.activations)
    if not is_on or now.gate == history_pb2.GATE_DECISION_PASS:
        return ()
    return tuple(
        answer_pb2.PageRef(document_id=profile.document_id, page_number=number)
        for profile in case.scope.profiles
        for number in sorted({*profile.pages_without_text} - _read_in_vain(profile))
    )


def _read_in_vain(profile: document_pb2.DocumentProfile) -> set[int]:
    """Pages that OCR was tried on; those that it had no time for may still be read."""
    out_of_time = document_pb2.PAGE_READING_OUTCOME_OUT_OF_TIME
    return {
        reading.page_number
        for reading in profile.page_readings
        if reading.strategy == document_pb2.PARSING_STRATEGY_OCR and reading.outcome != out_of_time
    }


def _search_for_parts(case: Case, now: history_pb2.PassSignals) -> Proposal | None:
    parts = case.question.sub_questions
    missing = tuple(parts[index] for index in now.unanswered_sub_questions if 0 <= index < len(parts))
    if not missing and now.gate != history_pb2.GATE_DECISION_PASS:
        missing = tuple(parts)
    if not missing:
        return None
    words = "search for " + ", ".join(f'"{part}"' for part in missing)
    return _incomplete(history_pb2.ACTION_RETRIEVE_SUB_QUESTIONS, words, questions=missing)


def _widen_open_listing(case: Case, history: History) -> Proposal | None:
    found_something = history[-1].signals.gate == history_pb2.GATE_DECISION_PASS
    if case.question.intent != question_pb2.INTENT_LISTING or not found_something:
        return None
    return _move_listing(history, history_pb2.TRIGGER_INCOMPLETE_ANSWER, widen=True)


def _search_by_meaning(case: Case) -> Proposal | None:
    """The one way to widen a simple question: a leg that the rules had left off."""
    if activation_pb2.PATTERN_DENSE in active_patterns(case.activations):
        return None
    question = case.question.standalone_question or case.question.original_question
    return _incomplete(history_pb2.ACTION_RETRIEVE_SUB_QUESTIONS, "search by meaning too", questions=(question,))


def _incomplete(action: history_pb2.Action.ValueType, words: str, questions: tuple[str, ...]) -> Proposal:
    return Proposal(history_pb2.TRIGGER_INCOMPLETE_ANSWER, action, words, questions=questions)


def _move_listing(history: History, trigger: history_pb2.Trigger.ValueType, *, widen: bool) -> Proposal | None:
    place = listing_step(history) + (1 if widen else -1)
    if not 0 <= place < len(_LISTING_SCOPES):
        return None
    scope = _LISTING_SCOPES[place]
    action = history_pb2.ACTION_WIDEN_LISTING if widen else history_pb2.ACTION_NARROW_LISTING
    return Proposal(trigger, action, f"gather the list over {_SCOPE_WORDS[scope]}", listing_scope=scope)


def listing_step(history: History) -> int:
    """How wide the last listing was gathered: a place in the order passage, section, parent section, document."""
    moves = [record.action for record in history]
    widened = moves.count(history_pb2.ACTION_WIDEN_LISTING)
    narrowed = moves.count(history_pb2.ACTION_NARROW_LISTING)
    return _FIRST_LISTING_SCOPE + widened - narrowed


def unvisited(history: History) -> tuple[question_pb2.Reference, ...]:
    """The pending references of the last pass that no pass has followed yet."""
    followed = {_place(reference) for record in history for reference in record.signals.followed_references}
    return tuple(item for item in history[-1].signals.pending_references if _place(item) not in followed)


def _count_differs(now: history_pb2.PassSignals) -> bool:
    return now.HasField("expected_count") and now.item_count != now.expected_count


def _place(reference: question_pb2.Reference) -> tuple[str, str]:
    return reference.document_id, reference.label or reference.surface
