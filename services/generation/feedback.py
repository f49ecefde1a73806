"""What the generator says of its own answer: what is missing, where it may stand, what the reader should know."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from citemesh.v1 import answer_pb2, evidence_pb2, question_pb2
from services.generation.asks import Ask
from services.generation.places import holds_place
from services.generation.scene import Scene
from services.generation.selection import Pick
from services.generation.showing import SHOWN_IN, asks_for_place
from services.generation.words import find_terms, find_words

Matrix = npt.NDArray[np.float32]

MAX_PENDING = 3
MAX_KEYWORDS = 5
NEAR_MERIT_MARGIN = 4.0
"""A unit this close below the best one speaks of what is asked, so that what it points to may be needed."""


class PartLike(Protocol):
    """What is read here of an answered or unanswered part."""

    @property
    def ask(self) -> Ask: ...
    @property
    def merit(self) -> Matrix: ...
    @property
    def picks(self) -> list[Pick]: ...
    @property
    def is_answered(self) -> bool: ...
    @property
    def answerability(self) -> float: ...


def find_pending_references(
    question: question_pb2.ParsedQuestion, scene: Scene, parts: Sequence[PartLike]
) -> list[question_pb2.Reference]:
    """Places that the answer needs and the evidence only points to, the most needed first, at most MAX_PENDING.

    Needed are places that the question names; places of the kind that it hints at; and, for a part without an answer,
    whatever the units that speak of it point to.
    """
    needed: dict[str, question_pb2.Reference] = {}
    for named in question.retrieval.references:
        if named.label and not _is_present(scene, named.label):
            needed.setdefault(named.label, named)
    hinted = SHOWN_IN.get(question.retrieval.layout_hint)
    for part in parts:
        wants_place = hinted is not None or asks_for_place(part.ask)
        if part.is_answered and not wants_place:
            continue
        for reference in _references_near(scene, part):
            kind_fits = not part.is_answered or hinted is None or reference.kind == hinted
            if kind_fits and not _is_present(scene, reference.label) and not _is_shown(part, scene, hinted):
                needed.setdefault(reference.label, reference)
    return list(needed.values())[:MAX_PENDING]


def _is_present(scene: Scene, label: str) -> bool:
    return any(holds_place(label, evidence) for evidence in scene.evidence)


def _is_shown(part: PartLike, scene: Scene, hinted: question_pb2.ReferenceKind.ValueType | None) -> bool:
    """Whether a picked unit stands in the kind of place that is asked for."""
    kinds = {scene.evidence[scene.units[pick.unit].evidence_index].kind for pick in part.picks if part.is_answered}
    if hinted == question_pb2.REFERENCE_KIND_FIGURE:
        return evidence_pb2.PASSAGE_KIND_FIGURE_CAPTION in kinds
    return evidence_pb2.PASSAGE_KIND_TABLE in kinds or bool(
        kinds and any(scene.units[pick.unit].kind.value == "table_row" for pick in part.picks)
    )


def _references_near(scene: Scene, part: PartLike) -> list[question_pb2.Reference]:
    """References whose words stand in a unit near the best one, the best unit's first, with their document."""
    if not len(part.merit):
        return []
    floor = float(part.merit.max()) - NEAR_MERIT_MARGIN
    found: list[question_pb2.Reference] = []
    for number in np.argsort(-part.merit, kind="stable"):
        if part.merit[number] < floor:
            break
        unit = scene.units[int(number)]
        evidence = scene.evidence[unit.evidence_index]
        for reference in evidence.references:
            if reference.surface and reference.surface in evidence.text[unit.start : unit.end]:
                found.append(_in_document(reference, evidence))
    return found


def _in_document(reference: question_pb2.Reference, evidence: evidence_pb2.Evidence) -> question_pb2.Reference:
    copy = question_pb2.Reference()
    copy.CopyFrom(reference)
    copy.document_id = reference.document_id or evidence.document_id
    return copy


_ONE_WORD = r"[A-Za-z][\w-]{1,40}+"
_ALSO_KNOWN = re.compile(
    rf"(?<![\w-])(?:(?P<long>(?:{_ONE_WORD}\s{{1,9}}+){{1,5}}{_ONE_WORD})\s{{0,9}}+\((?P<short>[A-Z][A-Z0-9&/-]{{1,9}})s?\)"
    rf"|(?P<name>(?:{_ONE_WORD}\s{{1,9}}+){{0,3}}{_ONE_WORD}),?\s{{1,9}}+\(?"
    r"(?:also\s+(?:known|referred\s+to)\s+as|a\.k\.a\.|aka|also\s+called)"
    rf"\s{{1,9}}+[\"“*`]{{0,4}}+(?P<other>(?:{_ONE_WORD}\s?){{1,3}}))"
)


def find_keywords(scene: Scene, parts: Sequence[PartLike], is_complete: bool) -> list[str]:
    """Other names, given by the evidence itself, of what the question names: "Flexible Spending Account (FSA)".

    Only where the answer is not complete, and only names of which the question holds the other half: a word that
    merely stands near is no vocabulary.
    """
    if is_complete:
        return []
    asked_text = " ".join(part.ask.text for part in parts)
    language = parts[0].ask.language if parts else "en"
    asked_terms = set(find_terms(asked_text, language))
    asked_words = set(find_words(asked_text))
    found: dict[str, None] = {}
    for evidence in scene.evidence[:5]:
        for match in _ALSO_KNOWN.finditer(evidence.text):
            short, other = match.group("short"), match.group("other")
            if short:
                words = match.group("long").split()[-len(short) :]
                long = " ".join(words)
                if "".join(word[0] for word in words).upper() != short.rstrip("s"):
                    continue
                if short.lower() in asked_words and not set(find_terms(long, language)) <= asked_terms:
                    found.setdefault(long)
                elif short.lower() not in asked_words and set(find_terms(long, language)) <= asked_terms:
                    found.setdefault(short)
            elif other and _names_other(match.group("name"), other, asked_terms, language):
                found.setdefault(other.strip())
    return list(found)[:MAX_KEYWORDS]


def _names_other(name: str, other: str, asked_terms: set[str], language: str) -> bool:
    """Whether the question holds `name` and not `other`."""
    held = set(find_terms(name, language)[-2:]) <= asked_terms
    return held and not set(find_terms(other, language)) <= asked_terms


def find_unstructured_pages(scene: Scene, parts: Sequence[PartLike]) -> list[answer_pb2.PageRef]:
    """Pages of evidence that is used, or ranked first, and whose text looks broken."""
    used = {scene.units[pick.unit].evidence_index for part in parts for pick in part.picks} | {0}
    pages: dict[tuple[str, int], None] = {}
    for index in sorted(used):
        if index < len(scene.evidence) and looks_broken(scene.evidence[index]):
            evidence = scene.evidence[index]
            for number in range(evidence.page_first, evidence.page_last + 1):
                pages.setdefault((evidence.document_id, number))
    return [answer_pb2.PageRef(document_id=document, page_number=number) for document, number in pages][:8]


def looks_broken(evidence: evidence_pb2.Evidence) -> bool:
    """Whether a page's text came in pieces: a word a line, letters set apart, or characters without meaning."""
    if evidence.page_first <= 0 or len(evidence.text) < 40:
        return False
    lines = [line.split() for line in evidence.text.splitlines() if line.strip()]
    words = [word for line in lines for word in line]
    if not words:
        return False
    lone_letters = sum(len(word) == 1 and word.isalpha() for word in words) / len(words)
    unreadable = sum(character in "\ufffd\x00" for character in evidence.text) + 5 * evidence.text.count("(cid:")
    lone_lines = sum(len(line) == 1 for line in lines) / len(lines)
    in_pieces = evidence.kind == evidence_pb2.PASSAGE_KIND_TABLE and len(lines) >= 8 and lone_lines > 0.7
    return lone_letters > 0.5 or unreadable > 0.02 * len(evidence.text) or in_pieces


def write_caveats(answer: answer_pb2.AnswerWithEvidence, scene: Scene) -> list[str]:
    """One sentence for each limit of the answer that its reader should know."""
    caveats: list[str] = []
    if answer.claims and answer.unanswered_sub_questions:
        caveats.append("A part of the question is not answered: nothing in the evidence confirms it.")
    if answer.HasField("expected_count") and len(answer.items) < answer.expected_count:
        caveats.append(f"The text announces {answer.expected_count} items; {len(answer.items)} were found.")
    if answer.conflicts:
        caveats.append("The sources disagree; both sides are cited.")
    cited = {citation.evidence_id for claim in answer.claims for citation in claim.citations}
    for title, until in dict.fromkeys(
        (evidence.title or evidence.document_id, evidence.effective_to_time.ToDatetime().date().isoformat())
        for evidence in scene.evidence
        if evidence.evidence_id in cited and evidence.HasField("effective_to_time")
    ):
        caveats.append(f"“{title}” is in force until {until}.")
    return caveats
