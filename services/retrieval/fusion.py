"""Reciprocal rank fusion (Cormack, Clarke and Büttcher 2009) of several rankings; pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class WeightedRanking(Generic[Key]):
    """One ranking, best first, and what it counts; `group` names the leg it comes from."""

    group: str
    keys: Sequence[Key]
    weight: float


def fuse(
    rankings: Sequence[WeightedRanking[Key]],
    k: float,
    boost: Callable[[Key], float] = lambda _key: 1.0,
) -> dict[Key, float]:
    """Key -> fused value, best first; equal values keep the order in which the rankings name the keys.

    A key gains weight / (k + rank) from each ranking. The rankings of one group share its weight, so that a leg that
    is asked with many wordings does not outvote one that is asked with one. `boost` multiplies a key's sum.
    """
    sizes = Counter(ranking.group for ranking in rankings if ranking.keys)
    fused: dict[Key, float] = {}
    for ranking in rankings:
        for rank, key in enumerate(dict.fromkeys(ranking.keys), 1):
            gain = ranking.weight / sizes[ranking.group] / (k + rank)
            fused[key] = fused.get(key, 0.0) + gain
    boosted = {key: value * boost(key) for key, value in fused.items()}
    return dict(sorted(boosted.items(), key=lambda item: -item[1]))
