"""The default backend: the pair scorer's logits from vectors that are computed once for each text."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest

from citemesh.models import load_encoder, load_pair_scorer
from citemesh.models.tokenizer import TokenizedText
from citemesh.rpc.errors import ServiceError
from citemesh.v1 import errors_pb2
from services.rerank.late_interaction import LateInteractionBackend, VectorCache
from services.rerank.local import LocalBackend
from services.rerank.settings import RerankSettings

QUESTION = "Within how many days are vouchers handed in?"
PASSAGES = (
    "Vouchers are handed in within five business days of the return.",
    "The monitor raises an alarm when a door has been left open for three minutes.",
    "Leave is requested in the calendar, at the latest two weeks before it begins, and approved by the manager. " * 12,
)
PAIRS = [(QUESTION, passage) for passage in PASSAGES]


@pytest.fixture
async def backend(installed_models: Path) -> AsyncIterator[LateInteractionBackend]:
    scorer = load_pair_scorer(installed_models)
    started = LateInteractionBackend(scorer.card, load_encoder(installed_models), RerankSettings(), lambda _: None)
    yield started
    await started.close()


async def test_logits_are_those_of_the_pair_scorer(backend: LateInteractionBackend, installed_models: Path) -> None:
    expected = load_pair_scorer(installed_models).score(QUESTION, PASSAGES)
    assert await backend.score(PAIRS, None) == pytest.approx(expected.tolist(), abs=0.03)


async def test_a_cross_encoder_that_gives_no_number_is_a_failed_model(
    installed_models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = LocalBackend(load_pair_scorer(installed_models), RerankSettings(), lambda _: None)
    monkeypatch.setattr(backend._scorer, "score_batch", lambda pairs: np.full(len(pairs), np.nan, dtype=np.float32))
    with pytest.raises(ServiceError) as caught:
        await backend.score(PAIRS, None)
    await backend.close()
    assert caught.value.reason == errors_pb2.ERROR_REASON_MODEL_UNAVAILABLE


async def test_a_text_that_comes_again_is_not_encoded_again(
    backend: LateInteractionBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded: list[TokenizedText] = []
    run_tokens = backend._encoder.run_tokens

    def count(text: TokenizedText) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        encoded.append(text)
        return run_tokens(text)

    monkeypatch.setattr(backend._encoder, "run_tokens", count)
    first = await backend.score(PAIRS, None)
    assert len(encoded) == 1 + len(PASSAGES)
    assert await backend.score(PAIRS, None) == first
    await backend.score([("Who approves leave?", passage) for passage in PASSAGES], None)
    assert len(encoded) == 2 + len(PASSAGES)


async def test_requests_at_once_get_their_own_logits(backend: LateInteractionBackend) -> None:
    alone = await backend.score(PAIRS, None)
    together = await asyncio.gather(*(backend.score([pair], None) for pair in PAIRS))
    assert [logit for (logit,) in together] == pytest.approx(alone)


async def test_an_empty_side_scores_least(backend: LateInteractionBackend) -> None:
    assert await backend.score([(QUESTION, ""), ("", PASSAGES[0])], None) == [-1.0, -1.0]


def test_the_cache_is_bounded_by_tokens_and_drops_the_oldest_use() -> None:
    cache = VectorCache(max_token_count=10)
    vectors = np.zeros((4, 2), dtype=np.float16)
    cache.put("a", vectors)
    cache.put("b", vectors)
    assert cache.get("a") is not None
    cache.put("c", vectors)
    assert cache.get("b") is None
    assert cache.get("a") is not None
    assert cache.get("c") is not None
    assert VectorCache(0).get("a") is None
