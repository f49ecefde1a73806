"""The answer's text and claims made from picked spans: one claim, one citation, one marker each."""

from __future__ import annotations

from collections.abc import Sequence

from citemesh.evidence.citing import cite
from citemesh.text.citation_marks import free_citation_marks
from citemesh.v1 import answer_pb2, question_pb2
from services.generation.asks import Ask
from services.generation.layout import LineKind
from services.generation.markup import read_plain
from services.generation.scene import Scene
from services.generation.selection import Pick

Span = tuple[int, int, int]
"""An evidence's place in the request, and a span of its text."""

SAME_SPAN = 0.8


def make_claims(scene: Scene, parts: Sequence[tuple[Ask, Sequence[Pick]]]) -> list[tuple[answer_pb2.Claim, Pick]]:
    """The claims of all parts in order, each with its pick; a span that two parts share is claimed once."""
    made: list[tuple[answer_pb2.Claim, Pick]] = []
    seen: list[Span] = []
    for ask, picks in parts:
        for pick in picks:
            index = scene.units[pick.unit].evidence_index
            span = (index, pick.start, pick.end)
            if any(_is_mostly(span, other) for other in seen):
                continue
            seen.append(span)
            claim = answer_pb2.Claim(
                claim_id=f"C{len(made) + 1}",
                text=read_claim(scene, ask, pick),
                citations=[cite(scene.evidence[index], pick.start, pick.end)],
                sub_question_index=ask.index,
            )
            made.append((claim, pick))
    return made


def _is_mostly(span: Span, other: Span) -> bool:
    """Whether most of `span` is in the other: the same item, with its bullet or without."""
    shared = min(span[2], other[2]) - max(span[1], other[1])
    return span[0] == other[0] and shared >= SAME_SPAN * (span[2] - span[1])


def read_claim(scene: Scene, ask: Ask, pick: Pick) -> str:
    """What a pick says, as people read it: a row with its column titles, prose without its marks."""
    unit = scene.units[pick.unit]
    if unit.kind is LineKind.TABLE_ROW and (pick.start, pick.end) == (unit.start, unit.end):
        return unit.plain
    quote = scene.evidence[unit.evidence_index].text[pick.start : pick.end]
    if unit.kind is LineKind.CODE:
        return quote.strip()
    return read_plain(quote, keep_addresses=ask.answer_type == question_pb2.ANSWER_TYPE_PLACE)


def write_text(claims: Sequence[tuple[answer_pb2.Claim, Pick]]) -> str:
    """Prose for sentences, a line each for items and between the parts of a question; [n] marks the nth claim.

    What stands in square brackets like such a mark in a claim's own words is told apart from it; the claims stay exact.
    """
    lines: list[str] = []
    last_part: int | None = None
    in_prose = False
    for number, (claim, pick) in enumerate(claims, start=1):
        marked = f"{free_citation_marks(claim.text)} [{number}]"
        starts_line = pick.is_item or claim.text.startswith("- ") or "\n" in claim.text
        if starts_line:
            lines.append(marked if "\n" in claim.text else f"- {marked}")
        elif in_prose and claim.sub_question_index == last_part:
            lines[-1] += f" {marked}"
        else:
            lines.append(marked)
        in_prose = not starts_line
        last_part = claim.sub_question_index
    return "\n".join(lines)
