"""The evidence of one request, read once: its units, their words and the vectors of their tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from citemesh.v1 import evidence_pb2
from services.generation.asks import Ask
from services.generation.layout import LineKind
from services.generation.token_match import TokenEncoder
from services.generation.units import FIRST_GROUP, Unit, announces, read_units
from services.generation.words import find_terms

Matrix = npt.NDArray[np.float32]

ANNOUNCING_UNITS = 3
"""How far before a passage's end the sentence may stand that announces the next passage's list."""


@dataclass(slots=True)
class Scene:
    """Units in the order of the evidence, and what is known of each; lists run parallel to `units`."""

    evidence: list[evidence_pb2.Evidence]
    units: list[Unit]
    terms: list[frozenset[str]]
    lead_terms: list[frozenset[str]]
    vectors: list[Matrix]
    """[tokens, dimensions] of each unit."""
    lead_vectors: list[Matrix]
    place_terms: list[frozenset[str]]
    """For each evidence the stems of its title and section path."""
    place_vectors: list[Matrix]
    announcers: list[int]
    """For each unit the index of the unit that announces it; -1 where none does."""
    language: str = "en"
    frequency: Counter[str] = field(default_factory=Counter)
    """In how many units each stem occurs."""


def read_scene(
    evidence: Sequence[evidence_pb2.Evidence], asks: Sequence[Ask], encoder: TokenEncoder, max_unit_count: int
) -> Scene:
    """Cut the evidence into units and encode the most promising `max_unit_count` of them.

    The others are left out: they share no word with the question and stand in evidence that was ranked low.
    """
    language = asks[0].language if asks else "en"
    read = [unit for number, each in enumerate(evidence) for unit in read_units(number, each)]
    units, leading = _join_passages(evidence, read)
    terms = [frozenset(find_terms(unit.plain, language)) for unit in units]
    places = [" ".join([each.title, *each.section_path]) for each in evidence]
    place_terms = [frozenset(find_terms(place, language)) for place in places]
    frequency = Counter(term for each in terms for term in each)
    kept = _choose_units(units, terms, place_terms, asks, max_unit_count)
    units, terms = [units[number] for number in kept], [terms[number] for number in kept]
    leads = list(dict.fromkeys(unit.lead for unit in units if unit.lead))
    texts = [*(unit.plain for unit in units), *leads, *places]
    vectors = encoder.encode_tokens(texts) if texts else []
    lead_vectors = dict(zip(leads, vectors[len(units) :], strict=False))
    nothing = np.zeros((0, vectors[0].shape[1] if vectors else 0), dtype=np.float32)
    return Scene(
        evidence=list(evidence),
        units=units,
        terms=terms,
        lead_terms=[frozenset(find_terms(unit.lead, language)) for unit in units],
        vectors=vectors[: len(units)],
        lead_vectors=[lead_vectors.get(unit.lead, nothing) for unit in units],
        place_terms=place_terms,
        place_vectors=vectors[len(units) + len(leads) :],
        announcers=_find_announcers(units, leading),
        language=language,
        frequency=frequency,
    )


def _find_announcers(units: list[Unit], leading: dict[int, tuple[int, int]]) -> list[int]:
    places = {(unit.evidence_index, unit.start): number for number, unit in enumerate(units)}
    found = []
    for unit in units:
        place = (unit.evidence_index, unit.lead_span[0]) if unit.lead_span else (-1, -1)
        if unit.lead_span is None and unit.group == FIRST_GROUP and unit.evidence_index in leading:
            place = leading[unit.evidence_index]
        found.append(places.get(place, -1))
    return found


def _join_passages(
    evidence: Sequence[evidence_pb2.Evidence], units: list[Unit]
) -> tuple[list[Unit], dict[int, tuple[int, int]]]:
    """Lists and tables that a passage begins with, put under the sentence of the passage before that announces them.

    Also returns, for each evidence that begins so, the evidence and offset of that sentence.
    """
    by_place = {(each.document_id, each.document_version, each.ordinal): index for index, each in enumerate(evidence)}
    leading: dict[int, tuple[int, int]] = {}
    words: dict[int, str] = {}
    for index, each in enumerate(evidence):
        own = [unit for unit in units if unit.evidence_index == index]
        before = by_place.get((each.document_id, each.document_version, each.ordinal - 1))
        if before is None or not own or own[0].group != FIRST_GROUP or own[0].lead:
            continue
        announcement = _find_announcement([unit for unit in units if unit.evidence_index == before])
        if announcement is not None:
            leading[index] = (before, announcement.start)
            words[index] = announcement.plain
    joined = [
        replace(unit, lead=f"{words[unit.evidence_index]} {unit.lead}".strip())
        if unit.evidence_index in words and unit.group == FIRST_GROUP
        else unit
        for unit in units
    ]
    return joined, leading


def _find_announcement(units: list[Unit]) -> Unit | None:
    """Among the last sentences of a passage the one that announces what follows; a note may stand behind it."""
    last = [unit for unit in units[-ANNOUNCING_UNITS:] if unit.kind is LineKind.TEXT]
    return next((unit for unit in reversed(last) if announces(unit)), None)


def _choose_units(
    units: list[Unit],
    terms: list[frozenset[str]],
    place_terms: list[frozenset[str]],
    asks: Sequence[Ask],
    max_unit_count: int,
) -> list[int]:
    """Indices, in order, of the units that are worth encoding."""
    asked = {term for ask in asks for term in ask.terms}

    def promise(number: int) -> float:
        unit = units[number]
        shared = len(asked & terms[number]) + 0.5 * len(asked & place_terms[unit.evidence_index])
        return shared - 0.2 * unit.evidence_index - (2.0 if unit.kind is LineKind.HEADING else 0.0)

    if len(units) <= max_unit_count:
        return list(range(len(units)))
    return sorted(sorted(range(len(units)), key=promise, reverse=True)[:max_unit_count])
