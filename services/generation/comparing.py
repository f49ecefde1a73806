"""Comparisons: each of the compared things gets a unit of its own, so that neither side is missing."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from citemesh.v1 import question_pb2
from services.generation.asks import Ask
from services.generation.scene import Scene
from services.generation.selection import Pick, pick_units
from services.generation.settings import GenerationSettings
from services.generation.words import find_terms

Matrix = npt.NDArray[np.float32]

THING_WEIGHT = 3.0
"""Merit for a unit that is about the compared thing in its own words, half of it where only its section is."""
OTHER_WEIGHT = 1.0
"""Taken off a unit that is about the other things as well or instead."""

_JOINED = re.compile(
    r"(?<!\s)\s++(?:or|versus|vs\.?|and|than|oder|und|als|ou|et|que|y|o)\s++"
    r"(?:(?:of|what|what\s++of|with|the|an?|my|der|die|das)\s++)*+",
    re.IGNORECASE,
)
_BREAK = re.compile(
    r"[,;:?()]|\b(?:between|of|for|does|do|is|are|from|with|how|which|what|much|take|compare|differ)\b", re.IGNORECASE
)
_LONGEST_THING_WORDS = 6
_LONGEST_THING = 300  # characters


def find_compared(text: str, language: str) -> list[tuple[str, ...]]:
    """The two things on both sides of "or", "and", "than" or "versus", as stems; empty where none can be told."""
    found: list[tuple[str, ...]] = []
    for match in _JOINED.finditer(text):
        before = text[max(0, match.start() - _LONGEST_THING) : match.start()]
        left = _BREAK.split(before)[-1].split()[-_LONGEST_THING_WORDS:]
        right = _BREAK.split(text[match.end() : match.end() + _LONGEST_THING])[0].split()[:_LONGEST_THING_WORDS]
        first, second = (tuple(dict.fromkeys(find_terms(" ".join(side), language))) for side in (left, right))
        # What both sides share ("comp time", "travel comp time") tells them apart on one side at most.
        if first and second and first != second:
            found = [first, second]
            break
    return found


def pick_compared(
    scene: Scene, ask: Ask, merit: Matrix, settings: GenerationSettings, excluded: frozenset[int]
) -> list[Pick]:
    """The best units for each compared thing; empty where the ask compares nothing that its words name."""
    if ask.intent != question_pb2.INTENT_COMPARISON:
        return []
    things = find_compared(ask.text, ask.language)
    if not things:
        return []
    share = max(1, settings.max_open_claim_count // len(things))
    picks: list[Pick] = []
    for number, thing in enumerate(things):
        others = {term for place, other in enumerate(things) if place != number for term in other} - set(thing)
        shifted = merit + np.array([_lean(scene, unit, thing, others) for unit in range(len(scene.units))], np.float32)
        taken = {(scene.units[pick.unit].evidence_index, pick.start, pick.end) for pick in picks}
        for pick in pick_units(scene, ask, shifted, settings, excluded)[:share]:
            if (scene.units[pick.unit].evidence_index, pick.start, pick.end) not in taken:
                picks.append(pick)
    return picks


def _lean(scene: Scene, number: int, thing: tuple[str, ...], others: set[str]) -> float:
    own = scene.terms[number] | scene.lead_terms[number]
    place = scene.place_terms[scene.units[number].evidence_index]
    direct = sum(term in own for term in thing) / len(thing)
    near = sum(term in own or term in place for term in thing) / len(thing)
    distracted = bool(others) and any(term in own for term in others)
    return THING_WEIGHT * (direct + near) / 2 - (OTHER_WEIGHT if distracted else 0.0)
