"""Headings as a document shows them, and how deep each stands: by markup, by numbers, by the size of the type."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from services.documents.parsing.blocks import BlockKind, ParsedDocument
from services.documents.titles import split_number, title_key

USUAL_TITLES = re.compile(
    r"^(?:abstract|summary|introduction|background|conclusions?|discussion|references|bibliography|acknowledge?ments?|"
    r"appendix|annex|preface|foreword|contents|index|glossary|notes|résumé|conclusion|annexes?|zusammenfassung)\b",
    re.IGNORECASE,
)


@dataclass(slots=True)
class Heading:
    """A place where a section begins."""

    block: int
    level: int
    number: str
    title: str


def read_headings(document: ParsedDocument) -> list[Heading]:
    """Headings as found by markup, or by numbers and type size where there is no markup."""
    found = []
    for index, block in enumerate(document.blocks):
        if block.kind is BlockKind.HEADING:
            number, title = split_number(block.text)
            found.append(Heading(index, block.level, number, title))
    return _levels_by_style(document, found) if document.format == "pdf" else found


def _levels_by_style(document: ParsedDocument, found: list[Heading]) -> list[Heading]:
    """Turns style ranks into depths: by numbers where headings have some, else larger type is further out."""
    numbered = [heading for heading in found if heading.number]
    depths: dict[int, Counter[int]] = {}
    for heading in numbered:
        depths.setdefault(heading.level, Counter())[_depth(heading.number)] += 1
    style_depth = {rank: counts.most_common(1)[0][0] for rank, counts in depths.items()}
    outermost = min((rank for rank, depth in style_depth.items() if depth == 1), default=None)
    kept: list[Heading] = []
    last: tuple[int, ...] = ()
    ranks = {heading.level for heading in found}
    times = Counter(title_key(heading.title) for heading in found if not heading.number)
    for heading in found:
        if title_key(heading.title) == title_key(document.title) and heading is not found[-1] and not heading.number:
            continue
        if heading.number:
            order = read_order(heading.number)
            plain = heading.level >= 1000
            if plain and order and last and not _follows(last, order):
                continue
            last = order or last
            heading.level = _depth(heading.number)
        elif len(numbered) >= 3:
            # In a document with numbers, a heading without one is a section only where it looks like the outermost.
            if not USUAL_TITLES.match(heading.title) and (outermost is None or heading.level > outermost):
                continue
            if times[title_key(heading.title)] > 1:
                continue  # a label in pictures
            heading.level = 1
        else:
            heading.level = 1 + sum(rank < heading.level for rank in ranks)
        kept.append(heading)
    return kept


def _depth(number: str) -> int:
    return 1 + number.count(".")


def read_order(number: str) -> tuple[int, ...]:
    """A section's number as numbers, "2.10" as (2, 10), so that it sorts as it is meant; () where letters are in it."""
    parts = number.split(".")
    return tuple(int(part) for part in parts) if all(part.isdigit() for part in parts) else ()


def _follows(last: tuple[int, ...], order: tuple[int, ...]) -> bool:
    """Whether a number may come after another: greater, with no large jump."""
    if order <= last:
        return False
    for before, after in zip(last, order, strict=False):
        if after != before:
            return after - before <= 5
    return order[len(last)] <= 3 if len(order) > len(last) else True
