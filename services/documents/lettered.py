"""Lettered paragraphs of laws as sections of their own."""

from __future__ import annotations

import re

from services.documents.headings import Heading
from services.documents.parsing.blocks import Block, BlockKind, ParsedDocument
from services.documents.parsing.enumerated import MARKER


def add_lettered(document: ParsedDocument, headings: list[Heading]) -> list[Heading]:
    """Under "§ 1003.2", each paragraph "(g) …" is a section of its own: laws refer to it as § 1003.2(g)."""
    by_block = {heading.block: heading for heading in headings}
    if not any("§" in document.blocks[index].text for index in by_block):
        return headings
    blocks: list[Block] = []
    added: list[Heading] = []
    current: Heading | None = None
    count = 0
    for index, block in enumerate(document.blocks):
        if index in by_block:
            heading = by_block[index]
            heading.block = len(blocks)
            current, count = (heading, 0) if "§" in block.text else (None, 0)
        pieces = _outer_items(block) if current is not None else [block]
        for piece in pieces:
            match = MARKER.match(piece.text) if current is not None else None
            # Only (a), (b), (c) … in order under one section: deeper markers are items of these.
            if match and current is not None and match.group(1) == chr(97 + count % 26) * (1 + count // 26):
                count += 1
                number = f"{current.number}({match.group(1)})"
                added.append(Heading(len(blocks), current.level + 1, number, _lettered_title(piece.text)))
            blocks.append(piece)
    document.blocks[:] = blocks
    return sorted([*headings, *added], key=lambda heading: heading.block)


def _outer_items(block: Block) -> list[Block]:
    """A list divided at its outermost items, where those are lettered; else the block as it is."""
    if block.kind is not BlockKind.LIST or not block.items or not MARKER.match(block.lines[block.items[0]].text):
        return [block]
    tops = [number for number, level in enumerate(block.levels) if level == 0]
    if len(tops) < 2 or tops[0] != 0:
        return [block]
    pieces: list[Block] = []
    for top, stop in zip(tops, [*tops[1:], len(block.items)], strict=True):
        first = block.items[top]
        last = block.items[stop] if stop < len(block.items) else len(block.lines)
        piece = Block(BlockKind.PARAGRAPH, block.lines[first:last])
        if stop - top > 1:
            piece.kind = BlockKind.LIST
            piece.items = [item - first for item in block.items[top:stop]]
            piece.levels = block.levels[top:stop]
        pieces.append(piece)
    pieces[0].attached = block.attached
    return pieces


def _lettered_title(text: str) -> str:
    """The words that name a lettered paragraph: up to the first point, or the defined term before "means"."""
    rest = MARKER.sub("", text.split("\n")[0], count=1).strip()
    defined = re.match(r"(.{2,80}?)\s+means\b", rest)
    if defined:
        return defined.group(1).strip()
    first = re.split(r"[.:;—]", rest, maxsplit=1)[0].strip()
    return " ".join(first.split()[:12])
