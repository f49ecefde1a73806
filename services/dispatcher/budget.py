"""What a request may spend: counted down pass by pass, summed in one place, and shared out as time among the stages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from citemesh.v1 import budget_pb2, dispatcher_pb2

MAX_ITERATIONS: Final = 4
"""No policy and no request may ask for more passes."""

STAGE_SHARES: Final[dict[budget_pb2.Stage.ValueType, float]] = {
    budget_pb2.STAGE_UNDERSTAND: 0.3,
    budget_pb2.STAGE_PROFILE: 0.3,
    budget_pb2.STAGE_RETRIEVE: 0.4,
    budget_pb2.STAGE_FOLLOW_REFERENCES: 0.3,
    budget_pb2.STAGE_LIST_ITEMS: 0.3,
    budget_pb2.STAGE_RERANK: 0.4,
    budget_pb2.STAGE_ASSEMBLE: 0.3,
    budget_pb2.STAGE_GENERATE: 0.6,
    budget_pb2.STAGE_RECHECK: 0.3,
    budget_pb2.STAGE_VALIDATE: 0.6,
    budget_pb2.STAGE_REPARSE: 0.5,
    budget_pb2.STAGE_DECIDE_FOLLOW_UP: 0.2,
}
"""The part of the time that is left which one call of a stage may take, so that its fallback still has some."""

_RESERVE_SHARE: Final = 0.05
_MIN_RESERVE_S: Final = 0.05
_MAX_RESERVE_S: Final = 0.5


def limit_policy(policy: dispatcher_pb2.Policy, requested: budget_pb2.Budget) -> dispatcher_pb2.Policy:
    """The policy with the request's own, lower limits in it. A request cannot raise a limit."""
    limited = dispatcher_pb2.Policy()
    limited.CopyFrom(policy)
    limited.max_iterations = min(MAX_ITERATIONS, policy.max_iterations)
    for name in ("max_iterations", "max_model_calls", "max_model_token_count"):
        if requested.HasField(name):
            setattr(limited, name, min(getattr(limited, name), getattr(requested, name)))
    return limited


def open_budget(policy: dispatcher_pb2.Policy) -> budget_pb2.Budget:
    """What a request may spend before its first pass."""
    return budget_pb2.Budget(
        max_iterations=policy.max_iterations,
        max_model_calls=policy.max_model_calls,
        max_model_token_count=policy.max_model_token_count,
    )


def left_after(policy: dispatcher_pb2.Policy, cost: budget_pb2.Cost, passes: int) -> budget_pb2.Budget:
    """What is left of the policy after `cost` and so many passes; never below 0."""
    tokens = cost.prompt_token_count + cost.completion_token_count
    return budget_pb2.Budget(
        max_iterations=max(0, policy.max_iterations - passes),
        max_model_calls=max(0, policy.max_model_calls - cost.model_call_count),
        max_model_token_count=max(0, policy.max_model_token_count - tokens),
    )


def is_spent(policy: dispatcher_pb2.Policy, left: budget_pb2.Budget) -> bool:
    """Whether model calls or tokens are used up. A limit of 0 from the start ends nothing: no model is called then."""
    calls_spent = policy.max_model_calls > 0 and left.max_model_calls == 0
    tokens_spent = policy.max_model_token_count > 0 and left.max_model_token_count == 0
    return calls_spent or tokens_spent


def sum_costs(costs: Iterable[budget_pb2.Cost]) -> budget_pb2.Cost:
    """The one place where costs are added up."""
    total = budget_pb2.Cost()
    for cost in costs:
        total.model_call_count += cost.model_call_count
        total.prompt_token_count += cost.prompt_token_count
        total.completion_token_count += cost.completion_token_count
        total.scored_pair_count += cost.scored_pair_count
    return total


def reserve_s(total_s: float) -> float:
    """Seconds of the caller's time that no stage may use: in them the best answer so far is made ready and sent."""
    return min(_MAX_RESERVE_S, max(_MIN_RESERVE_S, total_s * _RESERVE_SHARE))


def stage_timeout_s(stage: budget_pb2.Stage.ValueType, left_s: float) -> float:
    """Seconds that one call of `stage` may take of the `left_s` that are left; 0 means: do not start."""
    return max(0.0, left_s * STAGE_SHARES[stage])
