"""The release decision, from the verdicts alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from citemesh.v1.answer_pb2 import ReleaseDecision, Verdict

# These say nothing against the answer's honesty: the claim is dropped, and there is nothing for a person to review.
_DROPPED_ONLY: Final = frozenset({Verdict.VERDICT_NOT_AUTHORIZED, Verdict.VERDICT_WRONG_VERSION})


def decide_release(
    verdicts: Sequence[Verdict.ValueType], *, claims_completeness: bool
) -> tuple[ReleaseDecision.ValueType, str]:
    """(the decision, one line for people) for one verdict per claim.

    `claims_completeness`: the answer says of itself that it answers every part of the question.
    """
    failed = [verdict for verdict in verdicts if verdict != Verdict.VERDICT_SUPPORTED]
    if not verdicts:
        if claims_completeness:
            return ReleaseDecision.RELEASE_DECISION_WITHHOLD, "The answer calls itself complete and makes no claim."
        return ReleaseDecision.RELEASE_DECISION_RELEASE, "The answer makes no claim."
    if not failed:
        return ReleaseDecision.RELEASE_DECISION_RELEASE, f"All {len(verdicts)} claims are supported."
    if len(failed) < len(verdicts):
        reason = f"{len(failed)} of {len(verdicts)} claims failed and can be left out."
        return ReleaseDecision.RELEASE_DECISION_CORRECT, reason
    if claims_completeness and not set(failed) <= _DROPPED_ONLY:
        return ReleaseDecision.RELEASE_DECISION_WITHHOLD, "No claim is supported, yet the answer calls itself complete."
    return ReleaseDecision.RELEASE_DECISION_CORRECT, "No claim is supported; leaving them out leaves nothing."
