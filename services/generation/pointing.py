"""Sentences that say where the answer stands ("the delays are listed in Table 10"): that place is quoted too."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from services.generation.layout import LineKind
from services.generation.places import holds_place
from services.generation.scene import Scene
from services.generation.selection import Pick

Matrix = npt.NDArray[np.float32]

MAX_ROWS = 6
ROW_MARGIN = 2.0
"""Merit by which a row may be below the best one of its table."""


def follow_pointers(scene: Scene, merit: Matrix, picks: Sequence[Pick], excluded: frozenset[int]) -> list[Pick]:
    """The picks, and behind them the best rows of the tables that they point to, where the evidence holds those."""
    taken = {pick.unit for pick in picks} | excluded
    found: list[Pick] = []
    for index in _find_targets(scene, picks):
        rows = [
            number
            for number, unit in enumerate(scene.units)
            if unit.evidence_index == index and unit.kind is LineKind.TABLE_ROW and number not in taken
        ]
        best = max((float(merit[number]) for number in rows), default=0.0)
        near = [number for number in rows if merit[number] >= best - ROW_MARGIN]
        chosen = sorted(sorted(near, key=lambda number: -float(merit[number]))[:MAX_ROWS])
        taken.update(chosen)
        found += [Pick(number, scene.units[number].start, scene.units[number].end) for number in chosen]
    return [*picks, *found[:MAX_ROWS]]


def _find_targets(scene: Scene, picks: Sequence[Pick]) -> list[int]:
    """Evidence that references within the picked words lead to, each once."""
    targets: dict[int, None] = {}
    for pick in picks:
        index = scene.units[pick.unit].evidence_index
        source = scene.evidence[index]
        quote = source.text[pick.start : pick.end]
        labels = [each.label for each in source.references if each.surface and each.surface in quote]
        for other, evidence in enumerate(scene.evidence):
            same_document = evidence.document_id == source.document_id and other != index
            if same_document and any(holds_place(label, evidence) for label in labels):
                targets.setdefault(other)
    return list(targets)
