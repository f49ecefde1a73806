"""Places that a question names, such as "Table 3" or "RULE #10": which evidence is that place."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from citemesh.v1 import evidence_pb2, question_pb2
from services.generation.asks import Ask
from services.generation.scene import Scene
from services.generation.selection import wants_list
from services.generation.words import find_words

Matrix = npt.NDArray[np.float32]

NAMED_PLACE_MERIT = 2.0
"""Merit for the units of a place that the question names."""
HINTED_KIND_MERIT = 0.7
"""Merit for the units of the kind of place that it hints at, such as any table."""

_KINDS = {
    question_pb2.LAYOUT_HINT_TABLE: evidence_pb2.PASSAGE_KIND_TABLE,
    question_pb2.LAYOUT_HINT_FIGURE: evidence_pb2.PASSAGE_KIND_FIGURE_CAPTION,
    question_pb2.LAYOUT_HINT_LIST: evidence_pb2.PASSAGE_KIND_LIST,
    question_pb2.LAYOUT_HINT_CODE: evidence_pb2.PASSAGE_KIND_CODE,
}


def holds_place(label: str, evidence: evidence_pb2.Evidence) -> bool:
    """Whether the evidence is, or stands in, the place of this label, by label, section number or section title."""
    if label == evidence.label:
        return True
    number = evidence.section_number.lower()
    if number and (label == f"section {number}" or f"section {number}".startswith((f"{label}.", f"{label}("))):
        return True
    wanted = set(find_words(label))
    return any(wanted <= set(find_words(title)) for title in evidence.section_path)


def weigh_places(scene: Scene, ask: Ask, plan: question_pb2.RetrievalPlan) -> Matrix:
    """[units]: what to add to the merit of each for standing where the ask points to."""
    words = set(find_words(ask.text))
    named = [reference.label for reference in plan.references if set(find_words(reference.label)) <= words]
    kind = _KINDS.get(plan.layout_hint)
    added = []
    for evidence in scene.evidence:
        is_named = any(holds_place(label, evidence) for label in named)
        # "Which techniques, and in which table": the list that is asked for does not stand in the table.
        is_hinted = kind is not None and evidence.kind == kind and not wants_list(ask)
        added.append(NAMED_PLACE_MERIT * is_named + HINTED_KIND_MERIT * is_hinted)
    return np.array([added[unit.evidence_index] for unit in scene.units], dtype=np.float32)
