"""The loop with passes made by hand: it is bounded, it records each pass, and it brings back the best."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from citemesh.v1 import answer_pb2, budget_pb2, history_pb2
from services.dispatcher.adjust import adjust, open_state
from services.dispatcher.loop import Loop, iterate
from services.dispatcher.outcome import best_pass, rank_pass
from services.dispatcher.state import LoopState, PassResult, Proposal
from tests.unit.services.dispatcher.records import FAILED, SATISFIED, TABLE_3, TABLE_4, make_case, make_signals


async def run(passes: Sequence[history_pb2.PassSignals], **question: Any) -> tuple[Loop, list[LoopState]]:
    case = make_case(**question)
    loop, states = Loop(case), list[LoopState]()

    async def run_pass(state: LoopState) -> PassResult:
        states.append(state)
        return PassResult(gathered=state.gathered, signals=passes[min(len(states), len(passes)) - 1])

    def move(state: LoopState, proposal: Proposal, result: PassResult) -> LoopState:
        return adjust(case, state, proposal, result)

    await iterate(loop, open_state(case, None), run_pass=run_pass, adjust=move)
    return loop, states


async def test_a_satisfactory_answer_takes_one_pass() -> None:
    loop, states = await run([make_signals(**SATISFIED)])
    assert len(states) == len(loop.history) == 1
    assert loop.stop is not None
    assert loop.stop.reason == history_pb2.STOP_REASON_SATISFIED


async def test_each_pass_has_its_record_with_before_and_after() -> None:
    first = make_signals(pending_references=[TABLE_3])
    second = make_signals(**SATISFIED, candidate_ids=["p1", "p2", "p9"], followed_references=[TABLE_3])
    loop, states = await run([first, second])
    record = loop.history[1]
    assert [item.iteration_number for item in loop.history] == [1, 2]
    assert (record.confidence_before, record.confidence_after) == (0.6, 0.9)
    assert list(record.candidate_ids_before) == ["p1", "p2"]
    assert list(record.candidate_ids_after) == ["p1", "p2", "p9"]
    assert record.result_summary == "3 candidates, 1 new; complete answer of 1 claim; confidence 0.60 -> 0.90"
    assert states[1].references == (TABLE_3,)


async def test_the_best_answer_comes_back_not_the_last() -> None:
    good = make_signals(pending_references=[TABLE_3], confidence=0.8)
    worse = make_signals(
        confidence=0.5,
        release_decision=answer_pb2.RELEASE_DECISION_WITHHOLD,
        failed_verdicts=[FAILED],
        candidate_ids=["p1", "p2", "p3"],
    )
    loop, _ = await run([good, worse])
    assert loop.best is not None
    assert loop.last is not None
    assert loop.best.signals == good
    assert loop.last.signals == worse
    assert loop.stop is not None
    assert loop.stop.reason == history_pb2.STOP_REASON_CONFIDENCE_DROP


async def test_the_hard_cap_is_four_passes_and_says_that_something_was_left() -> None:
    tables = [TABLE_3, TABLE_4]
    for number in range(5, 9):
        table = type(TABLE_3)()
        table.CopyFrom(TABLE_3)
        table.label = table.surface = f"table {number}"
        tables.append(table)
    passes = [
        make_signals(pending_references=[table], followed_references=tables[:place])
        for place, table in enumerate(tables)
    ]
    loop, states = await run(passes)
    assert len(states) == 4
    assert loop.stop is not None
    assert (loop.stop.reason, loop.stop.exhausted) == (history_pb2.STOP_REASON_ITERATION_CAP, True)


async def test_a_failed_stage_ends_the_loop_and_keeps_what_there_was() -> None:
    first = make_signals(pending_references=[TABLE_3])
    failed = make_signals(claim_count=0, confidence=0.6, failed_stage=budget_pb2.STAGE_GENERATE)
    loop, _ = await run([first, failed])
    assert loop.stop is not None
    assert loop.stop.reason == history_pb2.STOP_REASON_STAGE_FAILED
    assert loop.best is not None
    assert loop.best.signals == first


SIGNALS = st.builds(
    make_signals,
    gate=st.sampled_from([history_pb2.GATE_DECISION_PASS, history_pb2.GATE_DECISION_TOO_WEAK]),
    complete_answer_found=st.booleans(),
    confidence=st.floats(0, 1),
    claim_count=st.integers(0, 2),
    release_decision=st.sampled_from(answer_pb2.ReleaseDecision.values()),
    discovered_keywords=st.lists(st.sampled_from("abcd"), max_size=2),
    candidate_ids=st.lists(st.sampled_from(["p1", "p2", "p3", "p4"]), unique=True),
    failed_verdicts=st.lists(st.just(FAILED), max_size=1),
)


@given(st.lists(SIGNALS, min_size=1, max_size=6))
async def test_any_passes_end_within_the_cap_with_the_best_of_them(passes: list[history_pb2.PassSignals]) -> None:
    loop, states = await run(passes)
    assert 1 <= len(states) == len(loop.history) <= 4
    assert loop.stop is not None
    assert loop.best is not None
    seen = [record.signals for record in loop.history]
    assert rank_pass(loop.best.signals) == max(rank_pass(signals) for signals in seen)
    assert best_pass(loop.history) == loop.best.signals
