"""What is kept of a pass: the signals that decisions read, and the record that people and replays read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from citemesh.v1 import answer_pb2, budget_pb2, evidence_pb2, history_pb2
from services.dispatcher.state import Proposal
from services.dispatcher.words import count, fold, stage_name

_GATE_WORDS: Final = {
    history_pb2.GATE_DECISION_UNSPECIFIED: "the gate was not reached",
    history_pb2.GATE_DECISION_NO_EVIDENCE: "nothing was found",
    history_pb2.GATE_DECISION_TOO_WEAK: "what was found is not relevant enough",
    history_pb2.GATE_DECISION_NOT_AUTHORIZED: "what was found may not be read",
    history_pb2.GATE_DECISION_NOT_IN_FORCE: "what was found is not in force",
}


def build_record(
    number: int, proposal: Proposal, before: history_pb2.PassSignals | None, now: history_pb2.PassSignals
) -> history_pb2.IterationRecord:
    """The record of pass `number`. Everything in it follows from the arguments, so a replay can build it again."""
    record = history_pb2.IterationRecord(
        iteration_number=number,
        trigger=proposal.trigger,
        action=proposal.action,
        action_taken=proposal.words,
        result_summary=summarize(before, now),
        confidence_after=now.confidence,
        candidate_ids_after=now.candidate_ids,
        budget_left=now.budget_left,
        duration=now.pass_duration,
        signals=now,
    )
    if before is not None:
        record.confidence_before = before.confidence
        record.candidate_ids_before.extend(before.candidate_ids)
        record.keywords_added.extend(_added(before.keywords, now.keywords))
    return record


def summarize(before: history_pb2.PassSignals | None, now: history_pb2.PassSignals) -> str:
    """What came of a pass: one line for people, without text of the question or of a document."""
    known = set(before.candidate_ids) if before is not None else set()
    new_count = sum(1 for candidate_id in now.candidate_ids if candidate_id not in known)
    parts = [f"{count(len(now.candidate_ids), 'candidate')}, {new_count} new", _ending(now)]
    if before is not None:
        parts.append(f"confidence {before.confidence:.2f} -> {now.confidence:.2f}")
    return "; ".join(parts)


def _ending(now: history_pb2.PassSignals) -> str:
    if now.failed_stage != budget_pb2.STAGE_UNSPECIFIED:
        return f"{stage_name(now.failed_stage)} failed"
    if now.gate != history_pb2.GATE_DECISION_PASS:
        return _GATE_WORDS[now.gate]
    if now.claim_count == 0:
        return "the evidence confirms no answer"
    state = "complete" if now.complete_answer_found else "incomplete"
    failed = f", {count(len(now.failed_verdicts), 'claim')} failed validation" if now.failed_verdicts else ""
    return f"{state} answer of {count(now.claim_count, 'claim')}{failed}"


def describe_answer(signals: history_pb2.PassSignals, answer: answer_pb2.AnswerWithEvidence) -> None:
    """Write into `signals` what the generator reports of its answer."""
    signals.complete_answer_found = answer.complete_answer_found
    signals.confidence = answer.confidence
    signals.discovered_keywords.extend(answer.discovered_keywords)
    signals.context_structured = answer.context_structured
    signals.unstructured_pages.extend(answer.unstructured_pages)
    signals.pending_references.extend(answer.pending_references)
    signals.item_count = len(answer.items)
    signals.unanswered_sub_questions.extend(answer.unanswered_sub_questions)
    signals.claim_count = len(answer.claims)
    if answer.HasField("expected_count"):
        signals.expected_count = answer.expected_count


def anchor_overlap(
    anchors: Sequence[str], known_ids: Iterable[str], candidates: Iterable[evidence_pb2.Candidate]
) -> float | None:
    """The share of the new first-stage candidates that hold at least one anchor keyword, 0 to 1.

    None where there is nothing to measure: no anchors, or no new candidates. Places reached by a reference are left
    out: a table named by the evidence is no drift, whatever words it holds.
    """
    known = set(known_ids)
    new = [item for item in candidates if item.passage.passage_id not in known and item.hop_count == 0]
    if not anchors or not new:
        return None
    return sum(1 for candidate in new if holds_any(anchors, candidate.passage)) / len(new)


def holds_any(keywords: Iterable[str], passage: evidence_pb2.Passage) -> bool:
    """Whether the passage, with its title and headings, holds any of the keywords: all words of one, by their stems."""
    text = fold(" ".join((passage.title, *passage.section_path, passage.heading_context, passage.text)))
    return any(all(_stem(word) in text for word in fold(keyword).split()) for keyword in keywords if fold(keyword))


def _stem(word: str) -> str:
    """A crude stem, enough to see "techniques" in "technique": longer words lose their last letters."""
    return word[: max(4, len(word) - 3)]


def _added(before: Iterable[str], now: Iterable[str]) -> list[str]:
    known = {fold(keyword) for keyword in before}
    return [keyword for keyword in now if fold(keyword) not in known]
