from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.retrieval.fusion import WeightedRanking, fuse

RANKINGS = st.lists(
    st.builds(
        WeightedRanking,
        group=st.sampled_from(["KEYWORD", "DENSE", "TOC"]),
        keys=st.lists(st.integers(0, 20), unique=True, max_size=10),
        weight=st.floats(0.1, 3),
    ),
    max_size=6,
)


def test_a_key_gains_from_every_ranking_by_its_place() -> None:
    fused = fuse([WeightedRanking("a", ["x", "y"], 1.0), WeightedRanking("b", ["y"], 2.0)], k=60)
    assert fused == {"y": pytest.approx(1 / 62 + 2 / 61), "x": pytest.approx(1 / 61)}
    assert list(fused) == ["y", "x"]


def test_many_wordings_of_one_leg_do_not_outvote_another() -> None:
    many = [WeightedRanking("KEYWORD", ["k"], 1.0) for _ in range(9)]
    fused = fuse([*many, WeightedRanking("DENSE", ["d"], 1.1)], k=60)
    assert list(fused) == ["d", "k"]


def test_an_empty_ranking_takes_no_share() -> None:
    assert fuse([WeightedRanking("a", [], 1.0), WeightedRanking("a", ["x"], 1.0)], 60) == {"x": pytest.approx(1 / 61)}


def test_a_boost_lifts_and_adds_nothing() -> None:
    rankings = [WeightedRanking("a", ["x", "y", "z"], 1.0)]
    fused = fuse(rankings, 60, lambda key: 1.5 if key == "z" else 1.0)
    assert list(fused) == ["z", "x", "y"]


@given(RANKINGS, st.floats(1, 100))
def test_everything_named_is_there_once_best_first(rankings: list[WeightedRanking[int]], k: float) -> None:
    fused = fuse(rankings, k)
    assert set(fused) == {key for ranking in rankings for key in ranking.keys}
    values = list(fused.values())
    assert values == sorted(values, reverse=True)
    assert all(value > 0 for value in values)


@given(RANKINGS, st.floats(1, 100))
def test_the_order_of_the_rankings_does_not_matter(rankings: list[WeightedRanking[int]], k: float) -> None:
    assert fuse(rankings, k) == pytest.approx(fuse(rankings[::-1], k))
