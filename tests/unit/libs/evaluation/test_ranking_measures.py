"""Measures of rankings: known values, and what always holds."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citemesh.evaluation.ranking_measures import character_recall, estimate, has_all, ndcg, recall, reciprocal_rank

GRADES = {"a": 2.0, "b": 1.0}


def test_known_values() -> None:
    assert ndcg(["x", "a", "b"], GRADES) == pytest.approx((2 / math.log2(3) + 1 / 2) / (2 + 1 / math.log2(3)))
    assert reciprocal_rank(["x", "b", "a"], GRADES) == 0.5
    assert recall(["x", "b"], GRADES, 2) == 0.5
    assert has_all(["b", "x", "a"], GRADES, 3) == 1.0
    assert has_all(["b", "x", "a"], GRADES, 2) == 0.0
    assert character_recall([(0, 10)], [(5, 8), (7, 20)]) == (5, 10)


@given(st.permutations(["a", "b", "c", "d"]))
def test_the_best_order_is_best(ranked: list[str]) -> None:
    assert 0.0 <= ndcg(ranked, GRADES) <= ndcg(["a", "b", "c", "d"], GRADES) == 1.0


def test_nothing_relevant_is_no_success() -> None:
    assert (ndcg(["a"], {}), recall(["a"], {}, 5), has_all(["a"], {})) == (0.0, 0.0, 0.0)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_the_interval_holds_what_the_values_allow(values: list[float]) -> None:
    measured = estimate(values)
    assert min(values) - 1e-9 <= measured.low <= measured.high <= max(values) + 1e-9
    assert measured == estimate(values)
    assert measured.count == len(values)
