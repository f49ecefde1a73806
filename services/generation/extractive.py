"""The extractive generator: an answer made only of spans of the evidence, each quoted and cited."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from citemesh.v1 import answer_pb2, generation_pb2, question_pb2
from services.generation.answerability import estimate_answerability, find_signals
from services.generation.asks import Ask, read_asks
from services.generation.comparing import pick_compared
from services.generation.compose import make_claims, write_text
from services.generation.conflicts import find_conflicts
from services.generation.exclusions import find_excluded
from services.generation.features import measure
from services.generation.feedback import (
    find_keywords,
    find_pending_references,
    find_unstructured_pages,
    write_caveats,
)
from services.generation.listing import fill_items, pick_gathered
from services.generation.places import weigh_places
from services.generation.pointing import follow_pointers
from services.generation.ranking import rank_merit
from services.generation.scene import Scene, read_scene
from services.generation.selection import Pick, pick_units, wants_list
from services.generation.settings import GenerationSettings
from services.generation.showing import pick_shown
from services.generation.token_match import TokenEncoder

Matrix = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Part:
    """One ask with what was found for it."""

    ask: Ask
    merit: Matrix
    """[units]: how well each unit of the scene answers."""
    picks: list[Pick]
    answerability: float
    is_answered: bool


def answer_from_evidence(
    request: generation_pb2.GenerateRequest, encoder: TokenEncoder, settings: GenerationSettings
) -> answer_pb2.AnswerWithEvidence:
    """A provisional answer with its feedback fields; no claims where the evidence does not answer.

    Blocks for the encoding of the units (see GenerationSettings.max_unit_count): run it off the event loop.
    """
    asks = read_asks(request.parsed_question)
    scene = read_scene(request.evidence, asks, encoder, settings.max_unit_count)
    excluded = find_excluded(scene, request.failed_verdicts, request.failed_claims)
    plan = request.parsed_question.retrieval
    parts = [answer_part(scene, ask, encoder, settings, excluded, request.listing, plan) for ask in asks]
    return assemble(request, scene, parts)


def answer_part(
    scene: Scene,
    ask: Ask,
    encoder: TokenEncoder,
    settings: GenerationSettings,
    excluded: frozenset[int] = frozenset(),
    listing: generation_pb2.ListingContext | None = None,
    plan: question_pb2.RetrievalPlan | None = None,
) -> Part:
    """Pick the units for one ask and judge whether they answer it."""
    features = measure(scene, ask, encoder)
    merit = rank_merit(features, prefers_rows=not wants_list(ask))
    if plan is not None:
        merit = merit + weigh_places(scene, ask, plan)
    picks = pick_compared(scene, ask, merit, settings, excluded) or pick_units(scene, ask, merit, settings, excluded)
    gathered: list[Pick] = []
    if listing is not None and wants_list(ask):
        gathered = pick_gathered(scene, listing, merit, picks)
        picks = gathered or picks
    if not wants_list(ask):
        picks = follow_pointers(scene, merit, picks, excluded)
    if plan is not None:
        picks = pick_shown(scene, ask, plan, merit, picks) or picks
    answerability = 0.0
    if picks:
        signals = find_signals(scene, ask, features, picks)
        answerability = estimate_answerability(signals, is_gathered=bool(gathered))
    return Part(ask, merit, picks, answerability, bool(picks) and answerability >= settings.min_answerability)


def assemble(
    request: generation_pb2.GenerateRequest, scene: Scene, parts: Sequence[Part]
) -> answer_pb2.AnswerWithEvidence:
    """Claims, text and feedback of all parts."""
    answered = [part for part in parts if part.is_answered]
    claims = make_claims(scene, [(part.ask, part.picks) for part in answered])
    answer = answer_pb2.AnswerWithEvidence(
        text=write_text(claims),
        claims=[claim for claim, _ in claims],
        confidence=min((part.answerability for part in parts), default=0.0),
        unanswered_sub_questions=[part.ask.index for part in parts if not part.is_answered],
        language=parts[0].ask.language if parts else "en",
    )
    fill_items(answer, request, scene, claims)
    answer.conflicts.extend(find_conflicts(scene, [(part.merit, part.picks) for part in answered]))
    answer.pending_references.extend(find_pending_references(request.parsed_question, scene, parts))
    answer.unstructured_pages.extend(find_unstructured_pages(scene, parts))
    answer.context_structured = not answer.unstructured_pages
    is_short = answer.HasField("expected_count") and len(answer.items) < answer.expected_count
    is_whole = not (answer.unanswered_sub_questions or answer.pending_references or is_short)
    answer.complete_answer_found = bool(claims) and is_whole
    answer.discovered_keywords.extend(find_keywords(scene, parts, answer.complete_answer_found))
    answer.caveats.extend(write_caveats(answer, scene))
    return answer
