"""Which units make the answer to one ask: the best, what belongs to them, and nothing twice."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from citemesh.v1 import question_pb2
from services.generation.asks import Ask
from services.generation.layout import LineKind
from services.generation.scene import Scene
from services.generation.settings import GenerationSettings
from services.generation.units import NO_GROUP, Unit, announces
from services.generation.words import find_words

Matrix = npt.NDArray[np.float32]

MERIT_MARGIN = 3.0
"""A unit this much below the best one is another subject."""
SAME_WORDS = 0.75
"""Two units that share this much of their words (Jaccard) say the same."""
LONGEST_CHAIN_CHARACTERS = 420
"""A quote grows backwards over what its pronouns stand for up to this length."""
MAX_ATTACHED_COUNT = 8
"""Items quoted after an announcement where the question does not ask for a list."""

_LEANS_BACK = re.compile(
    r"^(?:this|these|those|it|they|he|she|that|such|then|however|but|otherwise|instead"
    r"|in (?:this|that) case|for example"
    r"|(?:above|below|beyond|over|under|after|before|until|without) (?:this|that|these|those)"
    r"|also|therefore|thus|dies\w*|er|sie|es|jedoch|ce(?:la|ci)?|ces|il|elle|esto|este|estos)\b",
    re.IGNORECASE,
)
_WIDE_INTENTS = frozenset(
    {
        question_pb2.INTENT_OPEN_SCOPED,
        question_pb2.INTENT_OPEN_CORPUS_WIDE,
        question_pb2.INTENT_COMPARISON,
        question_pb2.INTENT_LISTING,
        question_pb2.INTENT_SECTION_RETRIEVAL,
    }
)
_WIDE_TYPES = frozenset(
    {
        question_pb2.ANSWER_TYPE_LIST,
        question_pb2.ANSWER_TYPE_PROCEDURE,
        question_pb2.ANSWER_TYPE_REASON,
    }
)


@dataclass(frozen=True, slots=True)
class Pick:
    """A span to quote, and the unit that it was chosen for."""

    unit: int
    """Index in the scene."""
    start: int
    end: int
    is_item: bool = False
    """One of several items of the same list."""


def wants_list(ask: Ask) -> bool:
    """Whether the ask is for several things of one kind."""
    return ask.intent == question_pb2.INTENT_LISTING or ask.answer_type == question_pb2.ANSWER_TYPE_LIST


def wants_steps(ask: Ask) -> bool:
    """Whether the ask is for how something is done."""
    return ask.answer_type == question_pb2.ANSWER_TYPE_PROCEDURE


def pick_units(
    scene: Scene, ask: Ask, merit: Matrix, settings: GenerationSettings, excluded: frozenset[int] = frozenset()
) -> list[Pick]:
    """Spans that answer `ask`, the best first, a list's items in their order behind its announcement."""
    wide = ask.intent in _WIDE_INTENTS or ask.answer_type in _WIDE_TYPES
    limit = settings.max_open_claim_count if wide else settings.max_factoid_claim_count
    order = [int(number) for number in np.argsort(-merit, kind="stable")]
    eligible = [number for number in order if number not in excluded and _can_answer(scene.units[number])]
    picks: list[Pick] = []
    taken: set[int] = set()
    counted = 0
    for number in eligible:
        if counted >= limit or merit[number] < merit[eligible[0]] - MERIT_MARGIN:
            break
        if number in taken or any(_says_the_same(scene, number, pick.unit) for pick in picks):
            continue
        if picks and not wide and _is_other_case(scene, ask, number, eligible[0]):
            continue
        added = _expand(scene, ask, number, settings)
        added = [pick for pick in added if pick.unit not in taken and pick.unit not in excluded]
        taken.update(pick.unit for pick in added)
        picks += added
        counted += 1
    return picks


def _can_answer(unit: Unit) -> bool:
    return unit.kind is not LineKind.HEADING and len(unit.plain) > 2


def _is_other_case(scene: Scene, ask: Ask, number: int, best: int) -> bool:
    """Whether a unit stands in the best one's list or table and lacks the name by which the ask tells them apart."""
    unit, best_unit = scene.units[number], scene.units[best]
    siblings = best_unit.group != NO_GROUP and (unit.evidence_index, unit.group) == (
        best_unit.evidence_index,
        best_unit.group,
    )
    if not siblings:
        return False
    words, best_words = set(find_words(unit.plain)), set(find_words(best_unit.plain))
    named = {word for specific in ask.specifics for word in find_words(specific)} & best_words
    return bool(named - words)


def _says_the_same(scene: Scene, first: int, second: int) -> bool:
    if scene.units[first].plain == scene.units[second].plain:
        return True
    if LineKind.TABLE_ROW in (scene.units[first].kind, scene.units[second].kind):
        return False
    one, other = scene.terms[first], scene.terms[second]
    return bool(one and other) and len(one & other) / len(one | other) >= SAME_WORDS


def _expand(scene: Scene, ask: Ask, number: int, settings: GenerationSettings) -> list[Pick]:
    """The unit with what it cannot do without: the list it announces or is part of, what "this" stands for."""
    unit = scene.units[number]
    if announces(unit):
        wanted = settings.max_item_count if wants_list(ask) or wants_steps(ask) else MAX_ATTACHED_COUNT
        return [_whole(scene, number), *_find_announced(scene, number, wanted)]
    if unit.kind is LineKind.LIST_ITEM and (wants_list(ask) or wants_steps(ask)):
        return _whole_list(scene, number, settings.max_item_count)
    return [_chain_back(scene, number)]


def _whole(scene: Scene, number: int, is_item: bool = False) -> Pick:
    unit = scene.units[number]
    return Pick(number, unit.start, unit.end, is_item)


def _find_announced(scene: Scene, number: int, limit: int) -> list[Pick]:
    """The items, rows or code that the unit announces, here or at the beginning of the next passage."""
    unit = scene.units[number]
    found: list[Pick] = []
    for each, follower in enumerate(scene.units):
        announced = scene.announcers[each] == number and follower.depth == 0
        nested = (
            each > number
            and unit.kind is follower.kind is LineKind.LIST_ITEM
            and (follower.evidence_index, follower.group) == (unit.evidence_index, unit.group)
            and follower.depth == unit.depth + 1
            and unit.plain[:100] in follower.lead
        )
        if announced or nested:
            found.append(_whole(scene, each, is_item=True))
    return found[:limit]


def _whole_list(scene: Scene, number: int, limit: int) -> list[Pick]:
    """Every item of the list that holds the unit, at its depth and under its parent, with the announcement."""
    unit = scene.units[number]
    members = [
        each
        for each, other in enumerate(scene.units)
        if (other.evidence_index, other.group, other.depth) == (unit.evidence_index, unit.group, unit.depth)
        and (other.lead == unit.lead or other.lead.startswith(unit.lead) or unit.lead.startswith(other.lead))
    ]
    announcer = scene.announcers[number]
    announcement = [announcer] if announcer >= 0 and scene.units[announcer].kind is not LineKind.HEADING else []
    picks = [_whole(scene, each, is_item=True) for each in members[:limit]]
    return [*(_whole(scene, each) for each in announcement), *picks]


def _chain_back(scene: Scene, number: int) -> Pick:
    """The unit, from the sentence on that its first pronoun leans on."""
    unit = scene.units[number]
    start = unit.start
    each = number
    while (
        each > 0
        and scene.units[each].kind is LineKind.TEXT
        and _LEANS_BACK.match(scene.units[each].plain)
        and _is_next_to(scene.units[each - 1], scene.units[each])
        and unit.end - scene.units[each - 1].start <= LONGEST_CHAIN_CHARACTERS
    ):
        each -= 1
        start = scene.units[each].start
    return Pick(number, start, unit.end)


def _is_next_to(before: Unit, unit: Unit) -> bool:
    return (
        before.evidence_index == unit.evidence_index and before.kind is LineKind.TEXT and unit.start - before.end <= 2
    )
