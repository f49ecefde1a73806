"""Sources that say different things of the same: reported, not chosen from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from citemesh.evidence.citing import cite
from citemesh.v1 import answer_pb2
from services.generation.layout import LineKind
from services.generation.scene import Scene
from services.generation.selection import Pick

Matrix = npt.NDArray[np.float32]

SAME_SUBJECT = 0.6
"""Share of the shorter unit's words, figures left out, that the other must hold."""
SAME_MEANING = 0.8
"""MaxSim of the two units, the smaller of both directions, above which they speak of the same."""
MIN_SHARED_WORDS = 3
MERIT_MARGIN = 2.0
"""Units further than this below the best one are not asked about."""
MAX_CONFLICTS = 3

_FIGURE = re.compile(r"(?<![\w.])\d[\d,.'’]*\d|(?<![\w.])\d")
_NEGATION = re.compile(
    r"\b(?:not|no|never|cannot|can't|won't|don't|doesn't|isn't|aren't|nicht|kein\w*|ne|pas|jamais|nunca)\b|n't\b|不",
    re.IGNORECASE,
)


def find_conflicts(scene: Scene, parts: Sequence[tuple[Matrix, Sequence[Pick]]]) -> list[answer_pb2.Conflict]:
    """Pairs of units from different documents on one subject whose figures differ, or of which one denies.

    Looked for among the picked units and those that rank beside them. Both sides are cited.
    """
    found: list[answer_pb2.Conflict] = []
    for merit, picks in parts:
        if not picks:
            continue
        best = max(float(merit[pick.unit]) for pick in picks)
        near = {pick.unit for pick in picks}
        near |= {int(number) for number in np.argsort(-merit)[:8] if merit[number] >= best - MERIT_MARGIN}
        for first, second in combinations(sorted(near), 2):
            described = _describe(scene, first, second)
            if described and len(found) < MAX_CONFLICTS:
                found.append(_make_conflict(scene, first, second, described))
    return found


def _describe(scene: Scene, first: int, second: int) -> str:
    """What two units disagree on; empty where they do not."""
    one, other = scene.units[first], scene.units[second]
    sources = scene.evidence[one.evidence_index], scene.evidence[other.evidence_index]
    if sources[0].document_id == sources[1].document_id or LineKind.CODE in (one.kind, other.kind):
        return ""
    terms = [{term for term in scene.terms[number] if not term[:1].isdigit()} for number in (first, second)]
    shared = terms[0] & terms[1]
    smaller = min(len(terms[0]), len(terms[1]))
    if (
        len(shared) < MIN_SHARED_WORDS
        or len(shared) / smaller < SAME_SUBJECT
        or not _means_the_same(scene, first, second)
    ):
        return ""
    figures = [_read_figures(unit.plain) for unit in (one, other)]
    names = " and ".join(f"“{source.title or source.document_id}”" for source in sources)
    if figures[0] and figures[1] and not figures[0] & figures[1]:
        return f"{names} give different figures for the same."
    if not figures[0] ^ figures[1] and bool(_NEGATION.search(one.plain)) != bool(_NEGATION.search(other.plain)):
        return f"{names} say opposite things of the same."
    return ""


def _means_the_same(scene: Scene, first: int, second: int) -> bool:
    one, other = scene.vectors[first], scene.vectors[second]
    if not len(one) or not len(other):
        return False
    similarity = one @ other.T
    return float(min(similarity.max(axis=1).mean(), similarity.max(axis=0).mean())) >= SAME_MEANING


def _read_figures(text: str) -> frozenset[str]:
    return frozenset(re.sub(r"[,'’]", "", match.group(0)).rstrip(".") for match in _FIGURE.finditer(text))


def _make_conflict(scene: Scene, first: int, second: int, description: str) -> answer_pb2.Conflict:
    units = (scene.units[first], scene.units[second])
    return answer_pb2.Conflict(
        description=description,
        citations=[cite(scene.evidence[unit.evidence_index], unit.start, unit.end) for unit in units],
    )
