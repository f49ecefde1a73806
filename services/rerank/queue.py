"""The in-process queue of model runs: one thread per core, earliest deadline first, longest text first, bounded.

A padded batch wastes work on its shorter texts and one-thread runs side by side beat one run on all cores, so each
worker takes single texts (or a few of like length). Work that cannot finish in time is refused when it arrives.
"""

from __future__ import annotations

import asyncio
import itertools
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import structlog

from citemesh.models.tokenizer import TokenizedText
from citemesh.rpc.errors import ServiceError
from citemesh.v1 import errors_pb2
from services.rerank.admission import Pace, Workload, is_feasible

_log = structlog.get_logger(__name__)

Result = TypeVar("Result")
Indexed = tuple[int, TokenizedText]


@dataclass(eq=False, slots=True)
class _Job(Generic[Result]):
    """One caller's texts."""

    order: int
    deadline: float
    waiting: deque[Indexed]
    waiting_token_count: int
    unfinished_count: int
    loop: asyncio.AbstractEventLoop
    done: asyncio.Future[None]
    results: dict[int, Result] = field(default_factory=dict)
    running_token_count: int = 0

    def need(self, s_per_token: float) -> Workload:
        return Workload(self.deadline, (self.waiting_token_count + self.running_token_count) * s_per_token)


class ScoringQueue(Generic[Result]):
    """Runs a model over texts (or pairs) on `worker_count` threads.

    `run_batch` returns one result per text, and raises where the model fails; `on_length` hears how many texts wait,
    whenever that changes.
    """

    def __init__(
        self,
        run_batch: Callable[[Sequence[TokenizedText]], Sequence[Result]],
        *,
        worker_count: int,
        batch_size: int = 1,
        max_queued_pair_count: int = 2000,
        pace: Pace | None = None,
        on_length: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._run_batch = run_batch
        self._worker_count = worker_count
        self._batch_size = batch_size
        self._max_queued_pair_count = max_queued_pair_count
        self._pace = pace or Pace()
        self._on_length = on_length
        self._orders = itertools.count()
        self._jobs: list[_Job[Result]] = []
        self._queued_pair_count = 0
        self._closed = False
        self._changed = threading.Condition()
        self._workers = [
            threading.Thread(target=self._work, name=f"rerank-{number}", daemon=True) for number in range(worker_count)
        ]
        for worker in self._workers:
            worker.start()

    @property
    def queued_pair_count(self) -> int:
        """Pairs that wait for a worker."""
        return self._queued_pair_count

    async def run(self, pairs: Sequence[TokenizedText], deadline: float | None) -> list[Result]:
        """One result for each of `pairs`, in their order; `deadline` in monotonic seconds.

        Errors as in PairBackend.score.
        Cancelling the await drops the pairs that no worker has taken yet.
        """
        if not pairs:
            return []
        job = self._make_job(pairs, deadline)
        self._admit(job)
        timeout_s = None if deadline is None else max(0.0, deadline - time.monotonic())
        try:
            async with asyncio.timeout(timeout_s):
                await job.done
        except TimeoutError:
            raise ServiceError(
                errors_pb2.ERROR_REASON_DEADLINE_EXCEEDED, "The deadline passed while pairs were being scored."
            ) from None
        finally:
            self._drop(job)
        return [job.results[index] for index in range(len(pairs))]

    async def close(self) -> None:
        """Refuse new work, end the workers after the pair they are at, and end what still waits as cancelled."""
        with self._changed:
            self._closed = True
            for job in list(self._jobs):
                self._fail(job, ServiceError(errors_pb2.ERROR_REASON_CANCELLED, "The service is shutting down."))
            self._changed.notify_all()
        for worker in self._workers:
            await asyncio.to_thread(worker.join)

    def _make_job(self, pairs: Sequence[TokenizedText], deadline: float | None) -> _Job[Result]:
        longest_first = sorted(enumerate(pairs), key=lambda indexed: -indexed[1].token_count)
        loop = asyncio.get_running_loop()
        return _Job(
            order=next(self._orders),
            deadline=math.inf if deadline is None else deadline,
            waiting=deque(longest_first),
            waiting_token_count=sum(pair.token_count for pair in pairs),
            unfinished_count=len(pairs),
            loop=loop,
            done=loop.create_future(),
        )

    def _admit(self, job: _Job[Result]) -> None:
        with self._changed:
            if self._closed:
                raise ServiceError(errors_pb2.ERROR_REASON_CANCELLED, "The service is shutting down.")
            if self._queued_pair_count + len(job.waiting) > self._max_queued_pair_count:
                raise ServiceError(errors_pb2.ERROR_REASON_OVERLOADED, "Too many pairs are waiting to be scored.")
            now, pace = time.monotonic(), self._pace.s_per_token
            new = job.need(pace)
            if not is_feasible((), new, now, self._worker_count):
                raise ServiceError(
                    errors_pb2.ERROR_REASON_DEADLINE_TOO_SHORT, "The time left is too short to score these pairs."
                )
            if not is_feasible((each.need(pace) for each in self._jobs), new, now, self._worker_count):
                raise ServiceError(
                    errors_pb2.ERROR_REASON_OVERLOADED, "The queue is too long to score these pairs in time."
                )
            self._jobs.append(job)
            self._count(len(job.waiting))
            self._changed.notify(len(job.waiting))

    def _drop(self, job: _Job[Result]) -> None:
        """Forget a job that its caller no longer waits for, or that is done."""
        with self._changed:
            if job in self._jobs:
                self._jobs.remove(job)
                self._count(-len(job.waiting))
            job.waiting.clear()

    def _fail(self, job: _Job[Result], error: ServiceError) -> None:
        """End a job with an error; the lock is held."""
        self._jobs.remove(job)
        self._count(-len(job.waiting))
        job.waiting.clear()
        job.loop.call_soon_threadsafe(_set_error, job.done, error)

    def _count(self, change: int) -> None:
        self._queued_pair_count += change
        self._on_length(self._queued_pair_count)

    def _work(self) -> None:
        while True:
            taken = self._take()
            if taken is None:
                return
            job, batch = taken
            started = time.monotonic()
            try:
                results = self._run_batch([pair for _, pair in batch])
                if len(results) != len(batch):
                    raise ValueError(f"{len(results)} results for {len(batch)} pairs")
            except Exception as error:  # noqa: BLE001  # the runtime's share no base; a worker outlives any
                _log.error("rerank.model_failed", error_type=type(error).__name__)
                self._finish(job, batch, None)
                continue
            self._pace.observe(sum(pair.token_count for _, pair in batch), time.monotonic() - started)
            self._finish(job, batch, results)

    def _take(self) -> tuple[_Job[Result], list[Indexed]] | None:
        """The next pairs to score, waiting for some; None when the queue is closed."""
        with self._changed:
            while not self._closed:
                job = min(
                    (job for job in self._jobs if job.waiting),
                    key=lambda job: (job.deadline, job.order),
                    default=None,
                )
                if job is None:
                    self._changed.wait()
                    continue
                batch = [job.waiting.popleft() for _ in range(min(self._batch_size, len(job.waiting)))]
                token_count = sum(pair.token_count for _, pair in batch)
                job.waiting_token_count -= token_count
                job.running_token_count += token_count
                self._count(-len(batch))
                return job, batch
        return None

    def _finish(self, job: _Job[Result], batch: list[Indexed], results: Sequence[Result] | None) -> None:
        with self._changed:
            if job not in self._jobs:
                return  # its caller left while the pairs were being scored
            if results is None:
                self._fail(
                    job, ServiceError(errors_pb2.ERROR_REASON_MODEL_UNAVAILABLE, "The pair scorer failed on a pair.")
                )
                return
            job.running_token_count -= sum(pair.token_count for _, pair in batch)
            job.unfinished_count -= len(batch)
            for (index, _), result in zip(batch, results, strict=True):
                job.results[index] = result
            if job.unfinished_count == 0:
                self._jobs.remove(job)
                job.loop.call_soon_threadsafe(_set_done, job.done)


def _set_done(done: asyncio.Future[None]) -> None:
    if not done.done():
        done.set_result(None)


def _set_error(done: asyncio.Future[None], error: ServiceError) -> None:
    if not done.done():
        done.set_exception(error)
