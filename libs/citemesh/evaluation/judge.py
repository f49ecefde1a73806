"""Judges one answer against its row. Pure: the answer and the row decide, nothing else."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from dataclasses import dataclass

from citemesh.evaluation.question_set import Gold, Question
from citemesh.v1 import answer_pb2, dispatcher_pb2

ANSWERED = "ANSWERED"
_SAME_AS_ANSWERED = {"ANSWERED_WITH_CORRECTIONS": ANSWERED}
# To someone who may not read a document, "not confirmed" and "not authorised" are equally honest.
_REFUSALS = {"ABSTAINED_INSUFFICIENT_EVIDENCE", "NOT_AUTHORIZED"}
# Quotes are compared by their first or last characters, so that a passage that ends inside one still counts.
_QUOTE_LENGTH = 50


@dataclass(frozen=True, slots=True)
class Judgement:
    """What came of one question. `None` where a measure does not apply to the row."""

    question: Question
    outcome: str
    outcome_right: bool
    strings_right: bool
    gold_cited: bool | None
    gold_quoted: bool | None
    leaks: tuple[str, ...]
    count_right: bool | None
    duration_s: float
    iteration_count: int
    answer_text: str

    @property
    def right(self) -> bool:
        """The outcome is right, every required string is there, no forbidden one is, and nothing leaked."""
        return self.outcome_right and self.strings_right and not self.leaks


def judge_answer(
    question: Question, response: dispatcher_pb2.AnswerResponse, duration_s: float, now: datetime.datetime
) -> Judgement:
    """Judge `response` as the answer to `question`.

    `duration_s` is the caller's wall time; `now` is the as-of time of a question without one.
    """
    outcome = answer_pb2.AnswerOutcome.Name(response.outcome).removeprefix("ANSWER_OUTCOME_")
    return Judgement(
        question=question,
        outcome=outcome,
        outcome_right=_outcome_right(question, outcome),
        strings_right=_strings_right(question, response),
        gold_cited=_gold_cited(question, response),
        gold_quoted=_gold_quoted(question, response),
        leaks=tuple(_find_leaks(question, response, question.as_of or now)),
        count_right=_count_right(question, response),
        duration_s=duration_s,
        iteration_count=len(response.history),
        answer_text=response.answer.text or response.message,
    )


def _outcome_right(question: Question, outcome: str) -> bool:
    outcome = _SAME_AS_ANSWERED.get(outcome, outcome)
    if question.expected_outcome in _REFUSALS and question.kind == "access":
        return outcome in _REFUSALS
    return outcome == question.expected_outcome


def _strings_right(question: Question, response: dispatcher_pb2.AnswerResponse) -> bool:
    """Required and forbidden strings, case and white space ignored, in the released answer."""
    spoken = [response.answer.text, *(c.text for c in response.answer.claims), *response.answer.caveats]
    text = _tighten(" ".join(spoken))
    required = question.expected_outcome != ANSWERED or all(
        any(_tighten(option) in text for option in group) for group in question.must_contain
    )
    return required and not any(_tighten(option) in text for group in question.must_not_contain for option in group)


def _gold_cited(question: Question, response: dispatcher_pb2.AnswerResponse) -> bool | None:
    """Whether the gold passages (all, or any where the row says so) are among the cited evidence."""
    if not question.gold:
        return None
    cited = {c.evidence_id for claim in response.answer.claims for c in claim.citations}
    texts = [_words(e.text) for e in response.evidence if e.evidence_id in cited]
    return _combine(question, [any(_holds(text, gold) for text in texts) for gold in question.gold])


def _gold_quoted(question: Question, response: dispatcher_pb2.AnswerResponse) -> bool | None:
    """The stricter measure: the gold words and the words of a citation's quote overlap."""
    if not question.gold:
        return None
    quotes = [_words(c.quote) for claim in response.answer.claims for c in claim.citations]
    return _combine(question, [any(_overlaps(quote, _words(gold.quote)) for quote in quotes) for gold in question.gold])


def _combine(question: Question, hits: Iterable[bool]) -> bool:
    return any(hits) if question.any_gold else all(hits)


def _holds(text: str, gold: Gold) -> bool:
    words = _words(gold.quote)
    return words[:_QUOTE_LENGTH] in text or words[-_QUOTE_LENGTH:] in text


def _overlaps(quote: str, gold: str) -> bool:
    return bool(quote) and (gold[:_QUOTE_LENGTH] in quote or quote[:_QUOTE_LENGTH] in gold)


def _find_leaks(question: Question, response: dispatcher_pb2.AnswerResponse, as_of: datetime.datetime) -> Iterable[str]:
    """Evidence of documents that the asker may not read, or of versions that are not in force."""
    names = {question.user, *question.groups}
    for evidence in response.evidence:
        stored = [f for f in question.files if f.document_id == evidence.document_id]
        start = (
            evidence.effective_from_time.ToDatetime(datetime.UTC) if evidence.HasField("effective_from_time") else None
        )
        version = [f for f in stored if f.effective_from == start] or stored
        if not any(f.readable_by(names) for f in version):
            yield f"{evidence.document_id} may not be read by {question.user}"
        elif not any(f.in_force(as_of) for f in version):
            yield f"{evidence.document_id} of {start} is not in force at {as_of.date()}"


def _count_right(question: Question, response: dispatcher_pb2.AnswerResponse) -> bool | None:
    if question.expected_count is None:
        return None
    return len(response.answer.items) == question.expected_count


def _tighten(text: str) -> str:
    return re.sub(r"\s+", "", text).lower()


def _words(text: str) -> str:
    return re.sub(r"\W+", " ", text.lower()).strip()
