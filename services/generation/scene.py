"""The evidence of one request, read once: its units, their words and the vectors of their tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from citemesh.v1 import evidence_pb2
from services.generation.asks import Ask
from services.generation.layout import LineKind
from services.generation.token_match import TokenEncoder
from services.generation.units import Unit, read_units
from services.generation.words import find_terms

Matrix = npt.NDArray[np.float32]


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
    units = [unit for number, each in enumerate(evidence) for unit in read_units(number, each)]
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
        language=language,
        frequency=frequency,
    )


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
