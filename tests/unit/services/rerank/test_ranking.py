"""Ranking: best logit over the queries, stable order, pairs scored once, the model's calibration only."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from citemesh.models.scorer_card import ScorerCard
from citemesh.rpc.errors import ServiceError
from citemesh.v1 import errors_pb2, rerank_pb2
from services.rerank.backend import Pair
from services.rerank.calibration import Calibration
from services.rerank.logit_cache import LogitCache
from services.rerank.ranking import Ranker

CALIBRATION = Calibration("m", "r", "1", ((0.0, 0.1), (10.0, 0.9)))


class Backend:
    """Scores a pair by the words that its sides share, and notes what it was asked."""

    branch = "fixed"

    def __init__(self) -> None:
        self.card = ScorerCard("m", "r")
        self.asked: list[Pair] = []

    async def score(self, pairs: Sequence[Pair], deadline: float | None) -> list[float]:
        self.asked += pairs
        return [float(len(set(question.split()) & set(text.split()))) for question, text in pairs]

    async def check(self) -> str | None:
        return None

    async def close(self) -> None:
        pass


def make_ranker(backend: Backend, cached_logit_count: int = 100) -> Ranker:
    return Ranker(backend, CALIBRATION, LogitCache(cached_logit_count))


def make_passages(*texts: str) -> list[rerank_pb2.PairText]:
    return [rerank_pb2.PairText(passage_id=f"p{place}", text=text) for place, text in enumerate(texts)]


async def test_best_first_over_queries_and_ties_keep_their_order() -> None:
    ranking = await make_ranker(Backend()).rank(["a b", "x y z"], make_passages("q", "a", "b", "x y z"), None)
    assert [score.passage_id for score in ranking.scores] == ["p3", "p1", "p2", "p0"]
    assert [score.rerank_score for score in ranking.scores] == [3, 1, 1, 0]
    assert ranking.scores[0].relevance == pytest.approx(0.34)
    assert ranking.scored_pair_count == 8


async def test_pairs_are_scored_once() -> None:
    backend = Backend()
    ranker = make_ranker(backend)
    passages = make_passages("a", "a", "b")
    first = await ranker.rank(["a", "a"], passages, None)
    assert backend.asked == [("a", "a"), ("a", "b")]
    again = await ranker.rank(["a"], [*passages, rerank_pb2.PairText(passage_id="new", text="c")], None)
    assert backend.asked[2:] == [("a", "c")]
    assert (first.scored_pair_count, again.scored_pair_count) == (2, 1)
    assert [score.rerank_score for score in again.scores] == [1, 1, 0, 0]


async def test_another_models_calibration_is_refused() -> None:
    backend = Backend()
    backend.card = ScorerCard("m", "other")
    with pytest.raises(ServiceError) as caught:
        await make_ranker(backend).rank(["a"], make_passages("a"), None)
    assert caught.value.reason == errors_pb2.ERROR_REASON_CALIBRATION_MISMATCH
    assert backend.asked == []


def test_cache_forgets_what_was_used_longest_ago_and_keeps_sides_apart() -> None:
    cache = LogitCache(2)
    cache.put(("ab", "c"), 1.0)
    assert cache.get(("a", "bc")) is None
    cache.put(("q", "two"), 2.0)
    assert cache.get(("ab", "c")) == 1.0
    cache.put(("q", "three"), 3.0)
    assert [cache.get(pair) for pair in (("ab", "c"), ("q", "two"), ("q", "three"))] == [1.0, None, 3.0]
    nothing = LogitCache(0)
    nothing.put(("a", "b"), 1.0)
    assert nothing.get(("a", "b")) is None
