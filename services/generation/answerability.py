"""Whether the evidence answers an ask at all: an estimate between 0 and 1 that is compared with a setting."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from services.generation.answer_types import STRICT_TYPES, has_shape
from services.generation.asks import Ask
from services.generation.features import NAMES, share_of, weigh_terms
from services.generation.scene import Scene
from services.generation.selection import Pick
from services.generation.words import find_terms, find_words

Matrix = npt.NDArray[np.float32]

SIGNAL_NAMES = (
    "meaning_best",  # the largest "meaning" among the picked units
    "meaning_around_best",
    "meaning_evidence_best",
    "words_picked",  # share of the question's words in the picked units and what stands around them
    "words_evidence",  # share of them in the best evidence as a whole
    "specifics_missing",  # share of the question's codes, names and numbers that no picked evidence holds
    "shape_missing",  # 1 where the asked figure, date or duration is in no picked unit
)


def find_signals(scene: Scene, ask: Ask, features: Matrix, picks: Sequence[Pick]) -> list[float]:
    """SIGNAL_NAMES of one ask; all at their worst where nothing was picked."""
    if not picks:
        return [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0]
    numbers = [pick.unit for pick in picks]
    rarity = weigh_terms(scene, ask)
    evidence_indices = {scene.units[number].evidence_index for number in numbers[:3]}
    near = {term for number in numbers for term in scene.terms[number] | scene.lead_terms[number]}
    near |= {term for index in evidence_indices for term in scene.place_terms[index]}
    whole = near | {
        term
        for number, unit in enumerate(scene.units)
        if unit.evidence_index in evidence_indices
        for term in scene.terms[number]
    }
    columns = [NAMES.index(name) for name in ("meaning", "meaning_around", "meaning_evidence")]
    return [
        *(float(features[numbers, column].max()) for column in columns),
        share_of(rarity, near),
        share_of(rarity, whole),
        _share_missing(scene, ask, evidence_indices),
        float(_lacks_shape(scene, ask, numbers)),
    ]


WEIGHTS = (4.0, 2.0, 4.0, 1.0, 2.0, -0.8, -1.0)
BIAS = -6.5


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
