"""Whether the supported claims answer every part of the question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from citemesh.v1.answer_pb2 import AnswerWithEvidence
from citemesh.v1.question_pb2 import ParsedQuestion


@dataclass(frozen=True, slots=True)
class Completeness:
    """`complete`, and the parts without a supported claim, from 0. `reason` is empty where it is complete."""

    complete: bool
    uncovered_sub_questions: list[int]
    reason: str = ""


def measure_completeness(
    question: ParsedQuestion, answer: AnswerWithEvidence, supported: Mapping[str, bool], cited_items: Sequence[bool]
) -> Completeness:
    """`supported` by claim_id; `cited_items` says for each item of a listing whether its citations are sound."""
    part_count = max(1, len(question.sub_questions))
    covered = {
        min(max(0, claim.sub_question_index), part_count - 1)
        for claim in answer.claims
        if supported.get(claim.claim_id, False)
    }
    uncovered = [part for part in range(part_count) if part not in covered]
    wanted = max(
        answer.expected_count if answer.HasField("expected_count") else 0,
        question.requested_count if question.HasField("requested_count") else 0,
    )
    given = sum(cited_items) if answer.items else sum(supported.values())
    short = given < max(wanted, len(answer.items))
    if uncovered:
        named = ", ".join(str(part + 1) for part in uncovered)
        return Completeness(False, uncovered, f"No supported claim answers part {named} of {part_count}.")
    if short:
        return Completeness(False, [], f"{given} of {max(wanted, len(answer.items))} items are cited.")
    return Completeness(True, [])
