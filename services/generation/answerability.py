"""Whether the evidence answers an ask at all: an estimate between 0 and 1 that is compared with a setting."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from services.generation.answer_types import STRICT_TYPES, has_shape
from services.generation.asks import Ask
from services.generation.features import NAMES
from services.generation.scene import Scene
from services.generation.selection import Pick
from services.generation.words import find_terms, find_words

Matrix = npt.NDArray[np.float32]

SIGNAL_NAMES = (
    "meaning",  # the largest "meaning" among the picked units (see features.py)
    "meaning_evidence",  # the same of their evidence as a whole
    "specifics_missing",  # share of the question's codes, names and numbers that no picked evidence holds
    "shape_missing",  # 1 where the asked figure, date, sum or duration is in no picked unit
)
WEIGHTS = (5.0, 4.0, -0.9, -2.0)
BIAS = -5.1
"""Fitted by logistic regression, rounded, with answerable and unanswerable questions of each collection weighted alike.

On six collections of 725 questions, each left out in turn, the area under the curve is 0.76 to 0.85. It tells evidence
on another subject from an answer; it cannot tell a passage that speaks of the very thing and leaves the answer out
(0.55 on news where one sentence was taken away): that is left to validation.
"""


def find_signals(scene: Scene, ask: Ask, features: Matrix, picks: Sequence[Pick]) -> tuple[float, ...]:
    """SIGNAL_NAMES of one ask; `picks` must not be empty."""
    numbers = [pick.unit for pick in picks]
    evidence_indices = {scene.units[number].evidence_index for number in numbers[:3]}
    return (
        float(features[numbers, NAMES.index("meaning")].max()),
        float(features[numbers, NAMES.index("meaning_evidence")].max()),
        _share_missing(scene, ask, evidence_indices),
        float(_lacks_shape(scene, ask, numbers)),
    )


def estimate_answerability(signals: Sequence[float]) -> float:
    """0 to 1 by a logistic model of the signals."""
    total = BIAS + sum(weight * value for weight, value in zip(WEIGHTS, signals, strict=True))
    return 1.0 / (1.0 + math.exp(-total))


def _share_missing(scene: Scene, ask: Ask, evidence_indices: set[int]) -> float:
    """Share of the ask's specifics that are nowhere in these evidences, titles and sections included."""
    if not ask.specifics:
        return 0.0
    held: set[str] = set()
    for index in evidence_indices:
        evidence = scene.evidence[index]
        place = " ".join([evidence.title, *evidence.section_path, evidence.heading_context, evidence.label])
        held.update(find_words(f"{evidence.text} {place}"))
        held.update(find_terms(f"{evidence.text} {place}", scene.language))
    missing = 0
    for specific in ask.specifics:
        words = find_words(specific)
        missing += not words or not all(
            word in held or any(term in held for term in find_terms(word, scene.language)) for word in words[:1]
        )
    return missing / len(ask.specifics)


def _lacks_shape(scene: Scene, ask: Ask, numbers: Sequence[int]) -> bool:
    if ask.answer_type not in STRICT_TYPES:
        return False
    return not any(has_shape(ask.answer_type, scene.units[number].plain) for number in numbers)
