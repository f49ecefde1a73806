"""Enum values as people and paths say them: PATTERN_TWO_HOP_REFERENCES is "two_hop_references"."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from citemesh.v1 import activation_pb2, answer_pb2, budget_pb2, history_pb2, question_pb2


@cache
def pattern_name(pattern: activation_pb2.Pattern.ValueType) -> str:
    """Such as "toc"."""
    return activation_pb2.Pattern.Name(pattern).removeprefix("PATTERN_").lower()


@cache
def stage_name(stage: budget_pb2.Stage.ValueType) -> str:
    """Such as "follow_references"."""
    return budget_pb2.Stage.Name(stage).removeprefix("STAGE_").lower()


@cache
def trigger_name(trigger: history_pb2.Trigger.ValueType) -> str:
    """Such as "pending_references"."""
    return history_pb2.Trigger.Name(trigger).removeprefix("TRIGGER_").lower()


@cache
def stop_name(reason: history_pb2.StopReason.ValueType) -> str:
    """Such as "satisfied"."""
    return history_pb2.StopReason.Name(reason).removeprefix("STOP_REASON_").lower()


@cache
def outcome_name(outcome: answer_pb2.AnswerOutcome.ValueType) -> str:
    """Such as "answered"."""
    return answer_pb2.AnswerOutcome.Name(outcome).removeprefix("ANSWER_OUTCOME_").lower()


def active_patterns(activations: activation_pb2.Activations) -> frozenset[activation_pb2.Pattern.ValueType]:
    """The patterns that are on."""
    return frozenset(activation.pattern for activation in activations.activations if activation.active)


def reference_words(references: Iterable[question_pb2.Reference]) -> str:
    """References as they stand in the text, in order: "Table 3, Section 5.4"."""
    return ", ".join(dict.fromkeys(reference.surface or reference.label for reference in references))


def fold(keyword: str) -> str:
    """A keyword without case and spare white space, for comparison."""
    return " ".join(keyword.casefold().split())


def count(number: int, noun: str) -> str:
    """A number with its noun: "1 claim", "2 claims"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
