"""The scoring queue: order, bounds, deadlines, cancellation, faults."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citemesh.models.tokenizer import TokenizedText
from citemesh.rpc.errors import ServiceError
from citemesh.v1 import errors_pb2
from services.rerank.admission import Pace, Workload, is_feasible
from services.rerank.queue import ScoringQueue

Batches = list[list[int]]


def make_pair(token_count: int) -> TokenizedText:
    return TokenizedText((1,) * token_count, (0,) * token_count)


class Model:
    """Scores a pair by its length; holds every run until `gate` is open, and notes what it ran."""

    def __init__(self, seconds_per_token: float = 0.0) -> None:
        self.gate = threading.Event()
        self.gate.set()
        self.started = threading.Event()
        self.batches: Batches = []
        self.fault: Exception | None = None
        self._seconds_per_token = seconds_per_token

    def score(self, pairs: Sequence[TokenizedText]) -> list[float]:
        self.started.set()
        self.gate.wait(5)
        self.batches.append([pair.token_count for pair in pairs])
        threading.Event().wait(self._seconds_per_token * sum(pair.token_count for pair in pairs))
        if self.fault is not None:
            raise self.fault
        return [float(pair.token_count) for pair in pairs]


@asynccontextmanager
async def running(
    model: Model,
    worker_count: int = 1,
    batch_size: int = 1,
    max_queued_pair_count: int = 100,
    s_per_token: float = 1e-6,
    on_length: Callable[[int], None] = lambda _: None,
) -> AsyncIterator[ScoringQueue[float]]:
    queue = ScoringQueue(
        model.score,
        worker_count=worker_count,
        batch_size=batch_size,
        max_queued_pair_count=max_queued_pair_count,
        pace=Pace(s_per_token, memory=1.0),
        on_length=on_length,
    )
    try:
        yield queue
    finally:
        model.gate.set()
        await queue.close()


async def wait_until(is_true: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not is_true():  # noqa: ASYNC110  # what is waited for happens on another thread
            await asyncio.sleep(0.002)


async def test_logits_come_in_the_callers_order_longest_pair_first() -> None:
    model = Model()
    async with running(model) as queue:
        assert await queue.run([make_pair(size) for size in (3, 9, 1, 5)], None) == [3, 9, 1, 5]
        assert await queue.run([], None) == []
    assert model.batches == [[9], [5], [3], [1]]


async def test_batches_hold_pairs_of_like_length() -> None:
    model = Model()
    async with running(model, batch_size=2) as queue:
        await queue.run([make_pair(size) for size in (1, 8, 2, 9, 5)], None)
    assert model.batches == [[9, 8], [5, 2], [1]]


async def test_workers_run_at_the_same_time() -> None:
    model = Model(seconds_per_token=0.01)
    async with running(model, worker_count=4) as queue:
        started = time.monotonic()
        await queue.run([make_pair(20)] * 4, None)
        assert time.monotonic() - started < 0.6  # one after the other they take 0.8 s


async def test_earliest_deadline_goes_first() -> None:
    model = Model()
    model.gate.clear()
    async with running(model) as queue:
        now = time.monotonic()
        tasks = [asyncio.create_task(queue.run([make_pair(7)], None))]
        await wait_until(model.started.is_set)
        tasks += [
            asyncio.create_task(queue.run([make_pair(size), make_pair(size)], deadline))
            for size, deadline in ((1, None), (2, now + 60), (3, now + 30))
        ]
        await wait_until(lambda: queue.queued_pair_count == 6)
        model.gate.set()
        await asyncio.gather(*tasks)
    assert model.batches == [[7], [3], [3], [2], [2], [1], [1]]


async def test_work_that_cannot_finish_is_refused_at_once() -> None:
    async with running(Model(), s_per_token=0.01) as queue:
        with pytest.raises(ServiceError) as caught:
            await queue.run([make_pair(100)], time.monotonic() + 0.5)
        assert caught.value.reason == errors_pb2.ERROR_REASON_DEADLINE_TOO_SHORT
        with pytest.raises(ServiceError):
            await queue.run([make_pair(1)], time.monotonic() - 1)


async def test_work_that_would_make_accepted_work_late_is_refused() -> None:
    model = Model()
    model.gate.clear()
    async with running(model, s_per_token=0.01) as queue:
        now = time.monotonic()
        accepted = asyncio.create_task(queue.run([make_pair(100)], now + 1.5))
        await wait_until(model.started.is_set)
        with pytest.raises(ServiceError) as caught:
            await queue.run([make_pair(60)], now + 1.0)
        assert caught.value.reason == errors_pb2.ERROR_REASON_OVERLOADED
        later = asyncio.create_task(queue.run([make_pair(60)], now + 60))
        await wait_until(lambda: queue.queued_pair_count == 1)
        model.gate.set()
        assert await accepted == [100]
        assert await later == [60]


async def test_queue_is_bounded() -> None:
    model = Model()
    model.gate.clear()
    lengths: list[int] = []
    async with running(model, max_queued_pair_count=3, on_length=lengths.append) as queue:
        first = asyncio.create_task(queue.run([make_pair(1)] * 3, None))
        await wait_until(model.started.is_set)
        with pytest.raises(ServiceError) as caught:
            await queue.run([make_pair(1)] * 2, None)
        assert caught.value.reason == errors_pb2.ERROR_REASON_OVERLOADED
        model.gate.set()
        await first
    assert max(lengths) == 3
    assert lengths[-1] == 0


async def test_pairs_of_a_cancelled_caller_are_dropped() -> None:
    model = Model()
    model.gate.clear()
    async with running(model) as queue:
        leaving = asyncio.create_task(queue.run([make_pair(9)] * 20, None))
        await wait_until(model.started.is_set)
        staying = asyncio.create_task(queue.run([make_pair(2)], None))
        await wait_until(lambda: queue.queued_pair_count == 20)
        leaving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaving
        assert queue.queued_pair_count == 1
        model.gate.set()
        assert await staying == [2]
    assert model.batches == [[9], [2]]


async def test_deadline_is_kept_where_the_model_is_slower_than_thought() -> None:
    model = Model()
    model.gate.clear()
    async with running(model) as queue:
        started = time.monotonic()
        with pytest.raises(ServiceError) as caught:
            await queue.run([make_pair(5)] * 3, started + 0.2)
        assert caught.value.reason == errors_pb2.ERROR_REASON_DEADLINE_EXCEEDED
        assert time.monotonic() - started < 0.3
        assert queue.queued_pair_count == 0


async def test_a_failing_model_fails_its_caller_and_not_the_next() -> None:
    model = Model()
    async with running(model) as queue:
        model.fault = RuntimeError("text that no caller may see")
        with pytest.raises(ServiceError, match="pair scorer failed") as caught:
            await queue.run([make_pair(1)] * 3, None)
        assert caught.value.reason == errors_pb2.ERROR_REASON_MODEL_UNAVAILABLE
        assert "no caller" not in str(caught.value)
        model.fault = None
        assert await queue.run([make_pair(4)], None) == [4]


async def test_too_few_results_fail_their_caller_and_not_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Model()
    with monkeypatch.context() as patch:
        patch.setattr(model, "score", lambda pairs: [1.0] if len(pairs) == 1 else [])
        async with running(model, batch_size=2) as queue:
            with pytest.raises(ServiceError) as caught:
                await asyncio.wait_for(queue.run([make_pair(1)] * 2, None), 5)
            assert caught.value.reason == errors_pb2.ERROR_REASON_MODEL_UNAVAILABLE
            assert await asyncio.wait_for(queue.run([make_pair(4)], None), 5) == [1.0]


async def test_close_ends_waiting_callers_and_refuses_new_ones() -> None:
    model = Model()
    model.gate.clear()
    async with running(model) as queue:
        waiting = asyncio.create_task(queue.run([make_pair(1)] * 5, None))
        await wait_until(model.started.is_set)
        closing = asyncio.create_task(queue.close())
        with pytest.raises(ServiceError) as caught:
            await waiting
        assert caught.value.reason == errors_pb2.ERROR_REASON_CANCELLED
        model.gate.set()
        await closing
        with pytest.raises(ServiceError):
            await queue.run([make_pair(1)], None)


def test_pace_learns_and_survives_odd_measurements() -> None:
    pace = Pace(1e-4, memory=0.5)
    pace.observe(100, 0.03)
    assert pace.s_per_token == pytest.approx(2e-4)
    pace.observe(0, 1.0)
    pace.observe(10, float("inf"))
    assert pace.s_per_token == pytest.approx(2e-4)


WORK = st.builds(Workload, deadline=st.floats(0, 20), needed_s=st.floats(0, 5))


@given(accepted=st.lists(WORK, max_size=6), new=WORK)
def test_admitted_work_meets_every_deadline_in_deadline_order(accepted: list[Workload], new: Workload) -> None:
    feasible = is_feasible(accepted, new, 0.0, 1)
    finished = 0.0
    late = False
    for each in sorted([*accepted, new], key=lambda workload: workload.deadline):
        finished += each.needed_s
        late = late or finished > each.deadline - 0.01
    assert feasible is not late
    assert not feasible or is_feasible(accepted[1:], new, 0.0, 1)  # less work never makes it impossible
