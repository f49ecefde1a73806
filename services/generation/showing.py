"""Questions about where something is shown: the answer is the tables or figures themselves, by their captions."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from citemesh.v1 import question_pb2
from services.generation.asks import Ask
from services.generation.scene import Scene
from services.generation.selection import Pick

Matrix = npt.NDArray[np.float32]

MAX_SHOWN = 3
MAX_ROWS = 2
"""Rows quoted beside the captions."""

SHOWN_IN: dict[question_pb2.LayoutHint.ValueType, question_pb2.ReferenceKind.ValueType] = {
    question_pb2.LAYOUT_HINT_TABLE: question_pb2.REFERENCE_KIND_TABLE,
    question_pb2.LAYOUT_HINT_FIGURE: question_pb2.REFERENCE_KIND_FIGURE,
}
_LABEL_WORDS = {
    question_pb2.LAYOUT_HINT_TABLE: "table ",
    question_pb2.LAYOUT_HINT_FIGURE: "figure ",
}
_ASKS_FOR_PLACE = re.compile(
    r"\b(?:where|which (?:table|figure|section|part|chapter|appendix))\b.{0,60}\b(?:show\w*|report\w*"
    r"|list\w*|present\w*|given|document\w*"
    r"|describ\w*|illustrat\w*|compar\w*|summari\w*|find|found|see|stand)\b"
    r"|\b(?:in|of|per|according to) (?:the )?(?:table|figure|appendix|chart)\b",
    re.IGNORECASE,
)


def asks_for_place(ask: Ask) -> bool:
    """Whether the ask is for the place where something stands."""
    return _ASKS_FOR_PLACE.search(ask.text) is not None


def pick_shown(
    scene: Scene, ask: Ask, plan: question_pb2.RetrievalPlan, merit: Matrix, picks: Sequence[Pick]
) -> list[Pick]:
    """The captions of the labelled places of the kind that is asked for, then the best rows that stand in them.

    Empty where the ask is for no such place, or where the evidence holds none.
    """
    prefix = _LABEL_WORDS.get(plan.layout_hint)
    if prefix is None or not asks_for_place(ask):
        return []
    places = [index for index, evidence in enumerate(scene.evidence) if evidence.label.startswith(prefix)]
    places.sort(key=lambda index: -_best_merit(scene, merit, index))
    captions = [pick for index in places[:MAX_SHOWN] if (pick := _pick_caption(scene, merit, index)) is not None]
    shown = {scene.units[pick.unit].evidence_index for pick in captions}
    taken = {pick.unit for pick in captions}
    rows = [pick for pick in picks if scene.units[pick.unit].evidence_index in shown and pick.unit not in taken]
    return [*captions, *rows[:MAX_ROWS]] if captions else []


def _units_of(scene: Scene, index: int) -> list[int]:
    return [number for number, unit in enumerate(scene.units) if unit.evidence_index == index]


def _best_merit(scene: Scene, merit: Matrix, index: int) -> float:
    return max((float(merit[number]) for number in _units_of(scene, index)), default=float("-inf"))


def _pick_caption(scene: Scene, merit: Matrix, index: int) -> Pick | None:
    """The unit with the label in it; where the caption is no part of the text, the best row."""
    units = _units_of(scene, index)
    label = scene.evidence[index].label
    named = [number for number in units if label in scene.units[number].plain.lower()]
    chosen = named[:1] or sorted(units, key=lambda number: -float(merit[number]))[:1]
    return next((Pick(number, scene.units[number].start, scene.units[number].end) for number in chosen), None)
