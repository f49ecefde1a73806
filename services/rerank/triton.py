"""The backend that scores pairs on a Triton server, by its gRPC interface.

The server is not asked to be ready: it says so even where every call fails. A breaker and a probe pair judge it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

import grpc
import numpy as np
from tritonclient.grpc import InferInput, InferRequestedOutput  # type: ignore[import-untyped]  # it ships no types
from tritonclient.grpc.aio import InferenceServerClient  # type: ignore[import-untyped]  # it ships no types
from tritonclient.utils import InferenceServerException  # type: ignore[import-untyped]  # it ships no types

from citemesh.models.scorer_card import ScorerCard
from citemesh.models.tokenizer import PairTokenizer, TokenizedText, pad
from citemesh.rpc.errors import ServiceError
from citemesh.v1 import errors_pb2
from services.rerank.backend import Pair, tokenize_pairs
from services.rerank.breaker import Breaker
from services.rerank.settings import RerankSettings

LENGTH_BUCKETS = (64, 128, 256, 512)
"""Pairs are padded to one of these: the server batches only equal lengths."""
PROBE_PAIR: Pair = ("Is the scorer well?", "The scorer is well.")
PROBE_INTERVAL_S = 10.0
# Codes that tell of the server: gone, broken, or draining (which it reports as NOT_FOUND).
_FAULTS = frozenset(f"StatusCode.{code.name}" for code in (
    grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN, grpc.StatusCode.NOT_FOUND,
    grpc.StatusCode.DEADLINE_EXCEEDED,
))  # fmt: skip
_RETRYABLE = frozenset({"StatusCode.UNAVAILABLE", "StatusCode.NOT_FOUND"})
_TIMED_OUT = "StatusCode.DEADLINE_EXCEEDED"


class TritonBackend:
    """A PairBackend over a Triton server that serves the model described by `card`."""

    branch = "triton"

    def __init__(self, card: ScorerCard, tokenizer: PairTokenizer, settings: RerankSettings) -> None:
        self.card = card
        self._tokenizer = tokenizer
        self._model_name = settings.triton_model_name
        self._timeout_s = settings.triton_timeout_ms / 1000
        self._batch_size = settings.triton_batch_size
        self._in_flight = 0
        self._max_in_flight_count = settings.triton_max_in_flight_count
        self._breaker = Breaker(settings.breaker_failure_count, settings.breaker_rest_ms / 1000)
        self._client = InferenceServerClient(settings.triton_target)
        self._heard_at = -PROBE_INTERVAL_S

    async def score(self, pairs: Sequence[Pair], deadline: float | None) -> list[float]:
        """As in PairBackend."""
        tokenized = await asyncio.to_thread(tokenize_pairs, self._tokenizer, pairs)
        batches = plan_batches(tokenized, self._batch_size)
        if self._in_flight and self._in_flight + len(batches) > self._max_in_flight_count:
            raise ServiceError(errors_pb2.ERROR_REASON_OVERLOADED, "Too many requests wait for the scoring server.")
        tasks = [
            asyncio.create_task(self._infer([tokenized[place] for place in places], length, deadline))
            for length, places in batches
        ]
        try:
            results = await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
        logits: dict[int, float] = {}
        for (_, places), values in zip(batches, results, strict=True):
            logits |= zip(places, values, strict=True)
        return [logits[place] for place in range(len(pairs))]

    async def check(self) -> str | None:
        """Score a probe pair where nothing was heard of the server for a while."""
        if time.monotonic() - self._heard_at < PROBE_INTERVAL_S and not self._breaker.is_open:
            return None
        try:
            await self.score([PROBE_PAIR], time.monotonic() + self._timeout_s)
        except ServiceError as error:
            return f"the Triton model {self._model_name} does not score: {error.message}"
        return None

    async def close(self) -> None:
        """Close the connection."""
        await self._client.close()

    async def _infer(self, batch: Sequence[TokenizedText], length: int, deadline: float | None) -> list[float]:
        """Logits of one batch, tried twice where the server was gone or draining."""
        for is_last in (False, True):
            timeout_s = self._share_time(deadline)
            if not self._breaker.allows():
                raise _make_unavailable("is resting after failures", self.card)
            self._in_flight += 1
            told = False
            try:
                logits = await self._call(batch, length, timeout_s)
                self._breaker.succeed()
                told, self._heard_at = True, time.monotonic()
                return logits
            except ServiceError:  # an answer that makes no sense
                self._breaker.fail()
                told = True
                raise
            except InferenceServerException as error:
                code = str(error.status())
                if code in _FAULTS:
                    self._breaker.fail()
                    told = True
                if code == _TIMED_OUT:
                    raise ServiceError(
                        errors_pb2.ERROR_REASON_DEADLINE_EXCEEDED, "The scoring server did not answer in time."
                    ) from error
                if is_last or code not in _RETRYABLE:
                    raise _make_unavailable(f"answered {code.removeprefix('StatusCode.')}", self.card) from error
            finally:
                self._in_flight -= 1
                if not told:
                    self._breaker.abandon()
        raise AssertionError("the loop above returns or raises")

    async def _call(self, batch: Sequence[TokenizedText], length: int, timeout_s: float) -> list[float]:
        inputs = []
        for name, values in pad(batch, self._tokenizer.pad_id, length).items():
            tensor = InferInput(name, list(values.shape), "INT64")
            tensor.set_data_from_numpy(values)
            inputs.append(tensor)
        result = await self._client.infer(
            self._model_name, inputs, outputs=[InferRequestedOutput("logits")], client_timeout=timeout_s
        )
        logits = result.as_numpy("logits")
        if logits is None or logits.size != len(batch) or not np.isfinite(logits).all():
            raise _make_unavailable("answered with something that is not one logit per pair", self.card)
        return [float(logit) for logit in logits.reshape(len(batch))]

    def _share_time(self, deadline: float | None) -> float:
        """The timeout of one call in seconds; raises where none is left."""
        if deadline is None:
            return self._timeout_s
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            raise ServiceError(
                errors_pb2.ERROR_REASON_DEADLINE_EXCEEDED, "The deadline passed while pairs were scored."
            )
        return min(self._timeout_s, left_s)


def plan_batches(pairs: Sequence[TokenizedText], batch_size: int) -> list[tuple[int, list[int]]]:
    """Which pairs go together: (length to pad to, places in `pairs`), longest first."""
    by_length: dict[int, list[int]] = {}
    for place, pair in enumerate(pairs):
        length = next((bucket for bucket in LENGTH_BUCKETS if pair.token_count <= bucket), pair.token_count)
        by_length.setdefault(length, []).append(place)
    return [
        (length, places[start : start + batch_size])
        for length, places in sorted(by_length.items(), reverse=True)
        for start in range(0, len(places), batch_size)
    ]


def _make_unavailable(what: str, card: ScorerCard) -> ServiceError:
    return ServiceError(
        errors_pb2.ERROR_REASON_MODEL_UNAVAILABLE,
        f"The scoring server {what}.",
        model=f"{card.model_id}@{card.revision}",
    )
