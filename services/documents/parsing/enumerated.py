"""Paragraphs that are items of a list in all but markup: "(a) …", "(1) …", "(i) …" as laws and contracts write them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from services.documents.parsing.blocks import Block, BlockKind

MARKER = re.compile(r"^\(([a-z]{1,4}|[A-Z]{1,2}|\d{1,3})\)(?=\s|\(|$)")
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}


@dataclass(slots=True)
class _Open:
    """A level of numbering that has begun: its style and the value of its last marker."""

    style: str
    value: int


def gather_enumerated(blocks: Sequence[Block]) -> list[Block]:
    """Joins runs of two or more enumerated paragraphs into list blocks; the paragraph before "…:" announces them."""
    gathered: list[Block] = []
    run: list[Block] = []
    for block in blocks:
        if block.kind is BlockKind.PARAGRAPH and MARKER.match(block.lines[0].text):
            run.append(block)
            continue
        _close(gathered, run)
        run = []
        gathered.append(block)
    _close(gathered, run)
    return gathered


def _close(gathered: list[Block], run: list[Block]) -> None:
    if len(run) < 2:
        gathered.extend(run)
        return
    announced = bool(gathered) and gathered[-1].kind is BlockKind.PARAGRAPH and gathered[-1].text.endswith((":", "—"))
    merged = Block(BlockKind.LIST, [], attached=announced)
    levels = marker_levels([block.text for block in run])
    for block, level in zip(run, levels, strict=True):
        merged.items.append(len(merged.lines))
        merged.levels.append(level)
        block.lines[0].glue = "\n"
        merged.lines.extend(block.lines)
    gathered.append(merged)


def marker_levels(texts: Sequence[str]) -> list[int]:
    """Depth of each enumerated text, from the order of its markers: (a) (1) (i) (A) nest as they first occur."""
    opened: list[_Open] = []
    levels: list[int] = []
    previous = ""
    for text in texts:
        match = MARKER.match(text)
        readings = _readings(match.group(1)) if match else [("", 0)]
        level = _continue_level(opened, readings, opens=previous.rstrip().endswith((":", "—", "-")))
        if level is None:
            fresh = next((reading for reading in readings if reading[1] == 1), readings[0])
            opened.append(_Open(*fresh))
            level = len(opened) - 1
        levels.append(level)
        previous = text
    return levels


def _continue_level(opened: list[_Open], readings: Sequence[tuple[str, int]], *, opens: bool) -> int | None:
    """The open level that this marker goes on with, closing deeper ones; None where it begins a level."""
    if opens and any(value == 1 for _, value in readings):
        return None
    for level in range(len(opened) - 1, -1, -1):
        for style, value in readings:
            if opened[level].style == style and value == opened[level].value + 1:
                opened[level].value = value
                del opened[level + 1 :]
                return level
    if any(value == 1 for _, value in readings):
        return None
    for level in range(len(opened) - 1, -1, -1):  # a gap in the numbering: the level of the same style
        for style, value in readings:
            if opened[level].style == style and value > opened[level].value:
                opened[level].value = value
                del opened[level + 1 :]
                return level
    return None


def _readings(marker: str) -> list[tuple[str, int]]:
    """What a marker may count: "i" is the ninth letter or the first Roman figure."""
    if marker.isdigit():
        return [("1", int(marker))]
    if marker.isupper():
        return [("A", ord(marker[0]) - 64)]
    readings = []
    if len(marker) == 1:
        readings.append(("a", ord(marker) - 96))
    elif len(set(marker)) == 1 and marker[0] not in _ROMAN:
        readings.append(("a", 26 + ord(marker[0]) - 96))
    if set(marker) <= set(_ROMAN):
        readings.append(("i", _roman(marker)))
    return readings or [("a", ord(marker[0]) - 96)]


def _roman(figure: str) -> int:
    total = 0
    for letter, following in zip(figure, [*figure[1:], ""], strict=True):
        value = _ROMAN[letter]
        total += -value if following and _ROMAN[following] > value else value
    return total
