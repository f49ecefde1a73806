"""A recorded answer decided again: the activations, each step of the loop, the stop and the outcome."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from google.protobuf.message import Message

from citemesh.v1 import activation_pb2, answer_pb2, budget_pb2, dispatcher_pb2, history_pb2
from services.dispatcher.loop import decide
from services.dispatcher.outcome import best_pass, message_for, outcome_of_pass, outcome_without_pass
from services.dispatcher.record import build_record
from services.dispatcher.resolve import Facts, resolve
from services.dispatcher.state import FIRST_PASS, Case, Proposal
from services.dispatcher.stop import Stop
from services.dispatcher.words import pattern_name

_NEEDED: Final = ("parsed_question", "scope_profile", "policy", "activations")


@dataclass(slots=True)
class Comparison:
    """Decisions compared so far, and where they differ."""

    decision_count: int = 0
    differences: list[dispatcher_pb2.ReplayDifference] = field(default_factory=list)

    def compare(self, path: str, recorded: object, replayed: object) -> None:
        """Count one decision; keep it where the two differ."""
        self.decision_count += 1
        if recorded != replayed:
            self.differences.append(
                dispatcher_pb2.ReplayDifference(path=path, recorded=_say(recorded), replayed=_say(replayed))
            )


def find_missing(recorded: dispatcher_pb2.AnswerResponse) -> list[str]:
    """The fields without which nothing can be replayed; empty where the record is complete."""
    present = {descriptor.name for descriptor, _ in recorded.ListFields()}
    missing = [name for name in _NEEDED if name not in present]
    if recorded.stop_reason != history_pb2.STOP_REASON_NO_PASS_NEEDED and not recorded.history:
        missing.append("history")
    for place, record in enumerate(recorded.history):
        if not record.HasField("signals"):
            missing.append(f"history[{place}].signals")
    return missing


def replay(recorded: dispatcher_pb2.AnswerResponse) -> dispatcher_pb2.ReplayResponse:
    """Make every decision again from what it read. The record must be complete (see find_missing)."""
    comparison = Comparison()
    activations = _replay_activations(recorded, comparison)
    case = Case(recorded.parsed_question, recorded.scope_profile, activations, recorded.policy)
    _replay_loop(recorded, case, comparison)
    _replay_outcome(recorded, comparison)
    return dispatcher_pb2.ReplayResponse(
        agrees=not comparison.differences,
        differences=comparison.differences,
        decision_count=comparison.decision_count,
    )


def _replay_activations(recorded: dispatcher_pb2.AnswerResponse, comparison: Comparison) -> activation_pb2.Activations:
    looked = recorded.HasField("keyword_leg_can_match")
    facts = Facts(recorded.parsed_question, recorded.scope_profile, recorded.keyword_leg_can_match if looked else True)
    replayed = resolve(facts)
    kept = {activation.pattern: activation for activation in recorded.activations.activations}
    for activation in replayed.activations:
        path = f"activations.{pattern_name(activation.pattern)}"
        was = kept.get(activation.pattern)
        comparison.compare(path, _say_activation(was), _say_activation(activation))
    comparison.compare("activations", len(recorded.activations.activations), len(replayed.activations))
    return replayed


def _replay_loop(recorded: dispatcher_pb2.AnswerResponse, case: Case, comparison: Comparison) -> None:
    proposal: Proposal | None = FIRST_PASS
    stop = Stop(history_pb2.STOP_REASON_NO_PASS_NEEDED)
    for place, record in enumerate(recorded.history):
        path = f"history[{place}]"
        if proposal is None:
            comparison.compare(path, "a pass", "the loop had ended")
            continue
        before = recorded.history[place - 1].signals if place else None
        _compare_records(path, record, build_record(place + 1, proposal, before, record.signals), comparison)
        decision = decide(case, recorded.history[: place + 1])
        proposal = decision if isinstance(decision, Proposal) else None
        stop = decision if isinstance(decision, Stop) else stop
    if recorded.history and proposal is not None:
        comparison.compare("stop_reason", _say_stop(recorded.stop_reason), f"another pass: {proposal.words}")
        return
    comparison.compare("stop_reason", _say_stop(recorded.stop_reason), _say_stop(stop.reason))
    comparison.compare("exhausted", recorded.exhausted, stop.exhausted)


def _compare_records(
    path: str, recorded: history_pb2.IterationRecord, replayed: history_pb2.IterationRecord, comparison: Comparison
) -> None:
    for descriptor in history_pb2.IterationRecord.DESCRIPTOR.fields:
        if descriptor.name == "signals":
            continue
        was, now = getattr(recorded, descriptor.name), getattr(replayed, descriptor.name)
        if descriptor.enum_type is not None:
            was, now = (descriptor.enum_type.values_by_number[value].name for value in (was, now))
        comparison.compare(f"{path}.{descriptor.name}", was, now)


def _replay_outcome(recorded: dispatcher_pb2.AnswerResponse, comparison: Comparison) -> None:
    if recorded.history:
        outcome = outcome_of_pass(best_pass(recorded.history))
    else:
        found = outcome_without_pass(
            recorded.parsed_question,
            recorded.scope_profile,
            scope_is_known=not _profile_failed(recorded),
            unreadable_count=recorded.unreadable_document_count,
        )
        outcome = answer_pb2.ANSWER_OUTCOME_UNSPECIFIED if found is None else found
    comparison.compare("outcome", _say_outcome(recorded.outcome), _say_outcome(outcome))
    if outcome != answer_pb2.ANSWER_OUTCOME_UNSPECIFIED:
        comparison.compare("message", recorded.message, message_for(outcome, recorded.parsed_question))


def _profile_failed(recorded: dispatcher_pb2.AnswerResponse) -> bool:
    return any(report.stage == budget_pb2.STAGE_PROFILE and report.error_reason for report in recorded.stage_reports)


def _say(value: object) -> str:
    if isinstance(value, Message):
        return " ".join(str(value).split())
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return value
    return ", ".join(str(item) for item in value) if isinstance(value, list) else str(value)


def _say_activation(activation: activation_pb2.Activation | None) -> str:
    if activation is None:
        return "missing"
    return f"{'on' if activation.active else 'off'} by {activation.rule_id}"


def _say_stop(reason: history_pb2.StopReason.ValueType) -> str:
    return history_pb2.StopReason.Name(reason)


def _say_outcome(outcome: answer_pb2.AnswerOutcome.ValueType) -> str:
    return answer_pb2.AnswerOutcome.Name(outcome)
