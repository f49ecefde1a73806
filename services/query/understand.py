"""A question understood by rules: each concern's module, in the order in which they need one another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from citemesh.v1.question_pb2 import Intent, ParsedQuestion, RetrievalMode, RetrievalNeed, RetrievalPlan, Role, Turn
from services.query.answer_type import find_answer_type
from services.query.counts import find_requested_count
from services.query.decompose import decompose
from services.query.hints import find_hints
from services.query.intent import find_intent
from services.query.keywords import find_anchors, find_keywords
from services.query.language import Identify, detect_language
from services.query.need import decide_need
from services.query.resolve import Resolution, resolve
from services.query.rewrites import strip_shell, write_rewrites
from services.query.rule_text import read_turns, single_space
from services.query.words import is_question, split_sentences

MOST_ANCHORS: Final = 8  # of 15, so that discovered vocabulary finds room beside the originals

_SEARCHED: Final = (RetrievalNeed.RETRIEVAL_NEED_RETRIEVE, RetrievalNeed.RETRIEVAL_NEED_CLARIFY)


def understand(question: str, history: Sequence[Turn] = (), identify: Identify | None = None) -> ParsedQuestion:
    """The parsed question; the same bytes for the same question and history.

    Where the need is CLARIFY the plan is filled all the same, so that a caller who knows more (a scope of one document,
    say) can search with it. The original question stays as sent; all else is read from it with single white space.
    """
    original, question, history = question, single_space(question), read_turns(history)
    language = detect_language(question, [turn.text for turn in history if turn.role == Role.ROLE_USER], identify)
    resolution = resolve(question, history, language)
    hints = find_hints(resolution.standalone_question)
    has_answer = any(turn.role == Role.ROLE_ASSISTANT for turn in history)
    need = decide_need(question, resolution.standalone_question, language, hints, has_answer=has_answer)
    parsed = ParsedQuestion(
        original_question=original,
        language=language,
        intent=Intent.INTENT_CONVERSATIONAL,
        need=need.value,
        need_reason=need.reason,
        clarification_question=need.clarification_question,
        standalone_question=question,
    )
    if need.value in _SEARCHED:
        _plan(parsed, resolution, language)
    else:
        parsed.retrieval.mode = RetrievalMode.RETRIEVAL_MODE_NONE
    return parsed


def _plan(parsed: ParsedQuestion, resolution: Resolution, language: str) -> None:
    """Fill what a search needs, from the standalone question."""
    standalone = resolution.standalone_question
    hints = find_hints(standalone)
    parts = decompose(standalone, language)
    keywords = find_keywords(standalone, language, hints)
    parsed.standalone_question = standalone
    parsed.resolved_references.extend(resolution.references)
    parsed.intent = find_intent(standalone, hints)
    parsed.answer_type = find_answer_type(strip_shell(_last_sentence(parts[0] if parts else standalone)), parsed.intent)
    parsed.keywords.extend(keywords)
    parsed.sub_questions.extend(parts)
    count = find_requested_count(standalone)
    if count is not None:
        parsed.requested_count = count
    plan = RetrievalPlan(
        main_query=strip_shell(standalone),
        rewrites=write_rewrites(standalone, language),
        anchor_keywords=find_anchors(keywords, MOST_ANCHORS),
        section_hint=hints.section_hint,
        layout_hint=hints.layout_hint,
        references=hints.references,
        mode=RetrievalMode.RETRIEVAL_MODE_ALL,
        document_hints=hints.document_hints,
    )
    parsed.retrieval.CopyFrom(plan)


def _last_sentence(text: str) -> str:
    """The last sentence that asks; the text itself where none does."""
    asking = [sentence for sentence in split_sentences(text) if is_question(sentence)]
    return asking[-1] if asking else text
