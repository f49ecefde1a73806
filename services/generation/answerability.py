"""Whether the evidence answers an ask at all: an estimate between 0 and 1 that is compared with a setting."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from citemesh.text.stems import stem
from services.generation.answer_types import lacks_asked_shape
from services.generation.asks import Ask
from services.generation.features import NAMES
from services.generation.scene import Scene
from services.generation.selection import Pick
from services.generation.words import find_words, is_stop_word

Matrix = npt.NDArray[np.float32]

SIGNAL_NAMES = (
    "meaning",  # the largest "meaning" among the picked units (see features.py)
    "meaning_evidence",  # the same of their evidence as a whole
    "specifics_missing",  # share of the question's codes, names and numbers that the picked documents do not hold
    "specific_unknown",  # 1 where one of them is in no evidence at all
    "shape_missing",  # 1 where the asked figure, date, sum or duration is in no picked unit
)
WEIGHTS = (5.0, 4.0, -0.9, -0.8, -2.0)
BIAS = -5.1
"""Fitted by logistic regression, rounded, with answerable and unanswerable questions of each collection weighted alike.

On six collections of 725 questions, each left out in turn, the area under the curve is 0.76 to 0.85. It tells evidence
on another subject from an answer; it cannot tell a passage that speaks of the very thing and leaves the answer out
(0.55 on news where one sentence was taken away): that is left to validation. The weight of an unknown specific is set
by hand: too few questions have one, and of those most have no answer.
"""

GATHERED_WEIGHT = 1.2
"""A list that retrieval chose for its announcement, and that ranks with the best here, has two witnesses. Set by
hand."""


def find_signals(scene: Scene, ask: Ask, features: Matrix, picks: Sequence[Pick]) -> tuple[float, ...]:
    """SIGNAL_NAMES of one ask; `picks` must not be empty."""
    numbers = [pick.unit for pick in picks]
    evidence_indices = {scene.units[number].evidence_index for number in numbers[:3]}
    return (
        float(features[numbers, NAMES.index("meaning")].max()),
        float(features[numbers, NAMES.index("meaning_evidence")].max()),
        len(_find_missing(scene, ask, _find_same_documents(scene, evidence_indices))) / max(1, len(ask.specifics)),
        float(any(_names(each) for each in _find_missing(scene, ask, range(len(scene.evidence))))),
        float(_lacks_shape(scene, ask, numbers)),
    )


def estimate_answerability(signals: Sequence[float], *, is_gathered: bool = False) -> float:
    """0 to 1 by a logistic model of the signals; `is_gathered` where the picks are a list that retrieval found."""
    total = (
        BIAS
        + (GATHERED_WEIGHT if is_gathered else 0.0)
        + sum(weight * value for weight, value in zip(WEIGHTS, signals, strict=True))
    )
    return 1.0 / (1.0 + math.exp(-total))


def _find_same_documents(scene: Scene, evidence_indices: Iterable[int]) -> list[int]:
    """All evidence of the same documents: a document names its subject once, not in every passage."""
    documents = {scene.evidence[index].document_id for index in evidence_indices}
    return [index for index, evidence in enumerate(scene.evidence) if evidence.document_id in documents]


def _find_missing(scene: Scene, ask: Ask, evidence_indices: Iterable[int]) -> list[str]:
    """The ask's specifics that are nowhere in these evidences, titles and sections included."""
    if not ask.specifics:
        return []
    held: set[str] = set()
    for index in evidence_indices:
        evidence = scene.evidence[index]
        place = " ".join([evidence.title, *evidence.section_path, evidence.heading_context, evidence.label])
        words = find_words(f"{evidence.text} {place}")
        held.update(words)
        held.update(stem(word, scene.language) for word in words)
    return [specific for specific in ask.specifics if not _is_held(specific, held, scene.language)]


def _names(specific: str) -> bool:
    """Whether it names something; a number alone may describe the asker's own case ("we run 250 nodes")."""
    return any(character.isalpha() for character in specific)


def _is_held(specific: str, held: set[str], language: str) -> bool:
    """A code must be there as it stands; of a phrase or a joined name each word, in any form."""
    words = find_words(specific)
    if specific.startswith("-") or any(mark in specific for mark in "_/."):
        return not words or words[0] in held
    single = [word for word in words if word.isalnum()]
    return all(word in held or stem(word, language) in held or is_stop_word(word, language) for word in single)


def _lacks_shape(scene: Scene, ask: Ask, numbers: Sequence[int]) -> bool:
    return lacks_asked_shape(ask.answer_type, ask.text, [scene.units[number].plain for number in numbers])
