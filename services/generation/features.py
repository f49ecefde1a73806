"""What is measured of each unit against what is asked: meaning, words, shape, place."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from citemesh.v1 import question_pb2
from services.generation.answer_types import defines, has_shape
from services.generation.asks import Ask
from services.generation.layout import LineKind
from services.generation.scene import Scene
from services.generation.token_match import TokenEncoder, weigh_tokens
from services.generation.words import find_words

Matrix = npt.NDArray[np.float32]

NAMES = (
    "meaning",  # MaxSim of the question with the unit and what it stands under
    "meaning_alone",  # the same with the unit alone
    "meaning_around",  # the same with its neighbours, section and title too
    "meaning_evidence",  # the same with the whole evidence
    "words",  # share of the question's words, weighted by rarity, in the unit and what it stands under
    "words_around",  # the same with neighbours, section and title
    "rank",  # 1 for the first evidence, falling to 0
    "shape",  # 1: holds what the answer's type asks for; -1: does not; 0: nothing to look for
    "defines",  # 1: says what the asked term is, where a definition is asked for
    "is_question",
    "is_heading",
    "is_short",
    "is_code",
    "is_row",
    "is_item",
)
"""The columns, in order."""


def measure(scene: Scene, ask: Ask, encoder: TokenEncoder) -> Matrix:
    """[units, NAMES] of one ask."""
    if not scene.units:
        return np.zeros((0, len(NAMES)), dtype=np.float32)
    asked = encoder.encode_tokens([ask.text])[0]
    weights = weigh_tokens(encoder, ask.text, ask.language, len(asked))
    alone = [_best(asked, vectors) for vectors in scene.vectors]
    under = [np.maximum(own, _best(asked, lead)) for own, lead in zip(alone, scene.lead_vectors, strict=True)]
    places = [_best(asked, vectors) for vectors in scene.place_vectors]
    rarity = weigh_terms(scene, ask)
    wants_definition = ask.answer_type == question_pb2.ANSWER_TYPE_DEFINITION
    asked_words = frozenset(find_words(ask.text))
    rows = []
    for number, unit in enumerate(scene.units):
        neighbours = _find_neighbours(scene, number)
        around = _maximum([under[number], places[unit.evidence_index], *(alone[each] for each in neighbours)])
        around_terms = scene.terms[number].union(
            scene.lead_terms[number],
            scene.place_terms[unit.evidence_index],
            *(scene.terms[each] for each in neighbours),
        )
        shape = has_shape(ask.answer_type, unit.plain)
        rows.append(
            [
                float(weights @ under[number]),
                float(weights @ alone[number]),
                float(weights @ around),
                0.0,
                share_of(rarity, scene.terms[number] | scene.lead_terms[number]),
                share_of(rarity, around_terms),
                1.0 / (1.0 + unit.evidence_index),
                0.0 if shape is None else 1.0 if shape else -1.0,
                float(wants_definition and defines(unit.plain, asked_words)),
                float(unit.plain.endswith("?")),
                float(unit.kind is LineKind.HEADING),
                float(len(unit.plain) < 25),
                float(unit.kind is LineKind.CODE),
                float(unit.kind is LineKind.TABLE_ROW),
                float(unit.kind is LineKind.LIST_ITEM),
            ]
        )
    table = np.array(rows, dtype=np.float32)
    for evidence_index in {unit.evidence_index for unit in scene.units}:
        members = [number for number, unit in enumerate(scene.units) if unit.evidence_index == evidence_index]
        whole = _maximum([places[evidence_index], *(under[number] for number in members)])
        table[members, NAMES.index("meaning_evidence")] = float(weights @ whole)
    return table


def weigh_terms(scene: Scene, ask: Ask) -> dict[str, float]:
    """Each stem of the ask with its rarity among the units (the idf of BM25)."""
    total = max(1, len(scene.units))
    return {
        term: math.log(1.0 + (total - min(total, scene.frequency[term]) + 0.5) / (scene.frequency[term] + 0.5))
        for term in ask.terms
    }


def share_of(rarity: dict[str, float], found: Iterable[str]) -> float:
    """The weighted share of the asked stems that are among `found`, 0 to 1; 0 where nothing is asked."""
    total = sum(rarity.values())
    present = set(found)
    return sum(weight for term, weight in rarity.items() if term in present) / total if total else 0.0


def _best(asked: Matrix, vectors: Matrix) -> Matrix:
    """For each token of the question its largest cosine with a token of the text; -1 where there is none."""
    if not len(vectors):
        return np.full(len(asked), -1.0, dtype=np.float32)
    best: Matrix = (asked @ vectors.T).max(axis=1)
    return best


def _maximum(rows: list[Matrix]) -> Matrix:
    result: Matrix = np.max(np.stack(rows), axis=0)
    return result


def _find_neighbours(scene: Scene, number: int) -> list[int]:
    own = scene.units[number].evidence_index
    return [
        each
        for each in (number - 1, number + 1)
        if 0 <= each < len(scene.units) and scene.units[each].evidence_index == own
    ]
