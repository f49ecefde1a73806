"""When the loop ceases: ordered rules over the history and what the triggers propose. The first that applies decides.

"Never confidence alone, never a model's say-so": an answer satisfies only where validation released it, and a fall of
confidence can only end the loop, never start a pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from citemesh.v1 import activation_pb2, answer_pb2, budget_pb2, history_pb2
from services.dispatcher.budget import is_spent
from services.dispatcher.state import Case, Proposal
from services.dispatcher.triggers import unvisited
from services.dispatcher.words import active_patterns, fold


@dataclass(frozen=True, slots=True)
class Moment:
    """The end of a pass: what is known when the loop decides whether to go on."""

    case: Case
    history: Sequence[history_pb2.IterationRecord]
    proposal: Proposal | None

    @property
    def now(self) -> history_pb2.PassSignals:
        """What the last pass reported."""
        return self.history[-1].signals

    @property
    def before(self) -> history_pb2.PassSignals | None:
        """What the pass before reported; None after the first."""
        return self.history[-2].signals if len(self.history) > 1 else None


@dataclass(frozen=True, slots=True)
class Stop:
    """The end of the loop. `exhausted`: something was left to try, and passes, budget or time were not."""

    reason: history_pb2.StopReason.ValueType
    exhausted: bool = False


@dataclass(frozen=True, slots=True)
class StopRule:
    """One row: where `applies` holds the loop ends for `reason`."""

    reason: history_pb2.StopReason.ValueType
    applies: Callable[[Moment], bool]
    exhausted: bool = False


def find_stop(moment: Moment) -> Stop | None:
    """Why the loop ends here; None where it goes on with the proposal."""
    rule = next((rule for rule in STOPS if rule.applies(moment)), None)
    return None if rule is None else Stop(rule.reason, rule.exhausted)


def is_satisfactory(signals: history_pb2.PassSignals) -> bool:
    """Whether every part is answered, every announced item found, and validation released the whole."""
    announced = signals.expected_count if signals.HasField("expected_count") else signals.item_count
    return (
        signals.gate == history_pb2.GATE_DECISION_PASS
        and signals.claim_count > 0
        and signals.complete_answer_found
        and signals.item_count == announced
        and signals.release_decision == answer_pb2.RELEASE_DECISION_RELEASE
    )


def _satisfied(moment: Moment) -> bool:
    """Satisfactory, with no place left to visit that the answer asked for: one that led nowhere does not count."""
    return is_satisfactory(moment.now) and not unvisited(moment.history)


def _no_time_at_all(moment: Moment) -> bool:
    return _time_left_s(moment.now) == 0.0


def _stage_failed(moment: Moment) -> bool:
    return moment.now.failed_stage != budget_pb2.STAGE_UNSPECIFIED


def _feedback_off(moment: Moment) -> bool:
    return activation_pb2.PATTERN_ITERATIVE_FEEDBACK not in active_patterns(moment.case.activations)


def _repeats_itself(moment: Moment) -> bool:
    last, next_up = moment.history[-1], moment.proposal
    return next_up is not None and (last.trigger, last.action, last.action_taken) == (
        next_up.trigger,
        next_up.action,
        next_up.words,
    )


def _same_candidates(moment: Moment) -> bool:
    now, before = moment.now, moment.before
    return (
        before is not None
        and not _names_a_place(moment.proposal)
        and set(now.candidate_ids) == set(before.candidate_ids)
        and set(now.evidence_ids) == set(before.evidence_ids)
    )


def _same_keywords(moment: Moment) -> bool:
    if moment.before is None or _names_a_place(moment.proposal):
        return False
    suggested = {fold(keyword) for keyword in moment.now.discovered_keywords}
    return bool(suggested) and suggested == {fold(keyword) for keyword in moment.before.discovered_keywords}


def _names_a_place(proposal: Proposal | None) -> bool:
    """Whether the proposal goes to places it can name, which searching the same again could not reach."""
    return proposal is not None and bool(proposal.references or proposal.pages)


def _confidence_fell(moment: Moment) -> bool:
    if moment.before is None:
        return False
    return moment.now.confidence < moment.before.confidence - moment.case.policy.max_confidence_drop


def _drifted(moment: Moment) -> bool:
    return moment.now.HasField("anchor_overlap") and moment.now.anchor_overlap < moment.case.policy.min_anchor_overlap


def _nothing_to_try(moment: Moment) -> bool:
    return moment.proposal is None


def _all_passes_used(moment: Moment) -> bool:
    return len(moment.history) >= moment.case.policy.max_iterations


def _budget_spent(moment: Moment) -> bool:
    return is_spent(moment.case.policy, moment.now.budget_left)


def _too_little_time(moment: Moment) -> bool:
    """The next pass is expected to take what the last one took."""
    left_s = _time_left_s(moment.now)
    return left_s is not None and left_s < moment.now.pass_duration.ToNanoseconds() / 1e9


def _time_left_s(signals: history_pb2.PassSignals) -> float | None:
    if not signals.HasField("time_left_duration"):
        return None
    return max(0.0, signals.time_left_duration.ToNanoseconds() / 1e9)


STOPS: Final[tuple[StopRule, ...]] = (
    StopRule(history_pb2.STOP_REASON_SATISFIED, _satisfied),
    StopRule(history_pb2.STOP_REASON_DEADLINE_SPENT, _no_time_at_all, exhausted=True),
    StopRule(history_pb2.STOP_REASON_STAGE_FAILED, _stage_failed),
    StopRule(history_pb2.STOP_REASON_FEEDBACK_OFF, _feedback_off),
    StopRule(history_pb2.STOP_REASON_REPEATED_ACTION, _repeats_itself),
    StopRule(history_pb2.STOP_REASON_SAME_CANDIDATES, _same_candidates),
    StopRule(history_pb2.STOP_REASON_SAME_KEYWORDS, _same_keywords),
    StopRule(history_pb2.STOP_REASON_CONFIDENCE_DROP, _confidence_fell),
    StopRule(history_pb2.STOP_REASON_DRIFT, _drifted),
    StopRule(history_pb2.STOP_REASON_NO_TRIGGER, _nothing_to_try),
    StopRule(history_pb2.STOP_REASON_ITERATION_CAP, _all_passes_used, exhausted=True),
    StopRule(history_pb2.STOP_REASON_BUDGET_SPENT, _budget_spent, exhausted=True),
    StopRule(history_pb2.STOP_REASON_DEADLINE_SPENT, _too_little_time, exhausted=True),
)
"""Success first, then what makes going on pointless, then what forbids it."""
