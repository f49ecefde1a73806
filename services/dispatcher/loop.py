"""The bounded loop: run a pass, record it, decide, adjust, run the next. It neither waits nor calls by itself.

`decide` is the whole of the decision, and it is all that a replay needs.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from citemesh.v1 import history_pb2
from services.dispatcher.outcome import rank_pass
from services.dispatcher.record import build_record
from services.dispatcher.state import Case, LoopState, PassResult, Proposal
from services.dispatcher.stop import Moment, Stop, find_stop
from services.dispatcher.triggers import propose

RunPass = Callable[[LoopState], Awaitable[PassResult]]
Adjust = Callable[[LoopState, Proposal, PassResult], LoopState]


@dataclass(slots=True)
class Loop:
    """A loop as it stands: readable at any time, so that a deadline in the middle of a pass finds the best so far."""

    case: Case
    history: list[history_pb2.IterationRecord] = field(default_factory=list)
    best: PassResult | None = None
    last: PassResult | None = None
    stop: Stop | None = None


def decide(case: Case, history: Sequence[history_pb2.IterationRecord]) -> Proposal | Stop:
    """What follows the last pass of `history`: another pass, or the end."""
    proposal = propose(case, history)
    stop = find_stop(Moment(case, history, proposal))
    if stop is not None:
        return stop
    assert proposal is not None, "a pass without a proposal is ended by the rule NO_TRIGGER"
    return proposal


async def iterate(
    loop: Loop,
    state: LoopState,
    *,
    run_pass: RunPass,
    adjust: Adjust,
    after_pass: Callable[[PassResult], None] = lambda _: None,
) -> None:
    """Run passes from `state` until a stop rule applies; `loop` holds the history, the best pass and the reason.

    `after_pass` hears of each pass once it is recorded and before the next begins.
    """
    while loop.stop is None:
        result = await run_pass(state)
        record_pass(loop, state, result)
        after_pass(result)
        decision = decide(loop.case, loop.history)
        if isinstance(decision, Stop):
            loop.stop = decision
        else:
            state = adjust(state, decision, result)


def record_pass(loop: Loop, state: LoopState, result: PassResult) -> None:
    """Add the pass to the history and keep it where it is at least as good as the best so far."""
    before = loop.history[-1].signals if loop.history else None
    loop.history.append(build_record(state.number, state.proposal, before, result.signals))
    loop.last = result
    if loop.best is None or rank_pass(result.signals) >= rank_pass(loop.best.signals):
        loop.best = result
