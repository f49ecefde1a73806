"""How good rankings are: nDCG, recall, reciprocal rank, characters found; means with bootstrap intervals. Pure."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

_ROUNDS: Final = 1_000
_SEED: Final = 7
"""Fixed, so that the same rankings have the same intervals."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over queries and its 95 % interval (percentile bootstrap over the queries, Efron 1979)."""

    mean: float
    low: float
    high: float
    count: int


def ndcg(ranked: Sequence[str], grades: Mapping[str, float], depth: int = 10) -> float:
    """Normalised discounted cumulative gain, linear gain, as trec_eval computes it; 0 to 1."""
    gained = _discounted(grades.get(item, 0.0) for item in ranked[:depth])
    best = _discounted(sorted(grades.values(), reverse=True)[:depth])
    return gained / best if best else 0.0


def recall(ranked: Sequence[str], grades: Mapping[str, float], depth: int) -> float:
    """The share of the relevant documents among the first `depth`."""
    return sum(1 for item in grades if item in set(ranked[:depth])) / len(grades) if grades else 0.0


def has_all(ranked: Sequence[str], grades: Mapping[str, float], depth: int = 10) -> float:
    """1 where every relevant document is among the first `depth`, else 0."""
    return float(bool(grades) and set(grades) <= set(ranked[:depth]))


def reciprocal_rank(ranked: Sequence[str], grades: Mapping[str, float], depth: int = 10) -> float:
    """1 / rank of the first relevant document among the first `depth`; 0 where there is none."""
    return next((1 / rank for rank, item in enumerate(ranked[:depth], 1) if item in grades), 0.0)


def character_recall(wanted: Iterable[tuple[int, int]], found: Iterable[tuple[int, int]]) -> tuple[int, int]:
    """Of the characters in the spans `wanted` how many are in the spans `found`, and how many are wanted."""
    wanted_characters = {position for start, end in wanted for position in range(start, end)}
    found_characters: set[int] = set()
    for start, end in found:
        found_characters.update(range(start, end))
    return len(wanted_characters & found_characters), len(wanted_characters)


def estimate(values: Sequence[float]) -> Estimate:
    """The mean of one value per query, with its interval."""
    if not values:
        return Estimate(math.nan, math.nan, math.nan, 0)
    chosen = random.Random(_SEED)  # noqa: S311  # resampling, no secret
    size = len(values)
    means = sorted(sum(chosen.choices(values, k=size)) / size for _ in range(_ROUNDS))
    low, high = means[int(0.025 * _ROUNDS)], means[int(0.975 * _ROUNDS)]
    return Estimate(sum(values) / size, low, high, size)


def _discounted(gains: Iterable[float]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))
