"""Cuts one block where it is too long: paragraphs at sentences, lists at items, tables at rows, code at entries."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from citemesh.v1.evidence_pb2 import PassageKind
from services.documents.parsing.blocks import Block, BlockKind
from services.documents.sentences import split_sentences
from services.documents.splitting.spans import SpannedText, from_lines, join

CountTokens = Callable[[Sequence[str]], list[int]]

KINDS = {
    BlockKind.HEADING: PassageKind.PASSAGE_KIND_HEADING,
    BlockKind.PARAGRAPH: PassageKind.PASSAGE_KIND_TEXT,
    BlockKind.FOOTNOTE: PassageKind.PASSAGE_KIND_TEXT,
    BlockKind.LIST: PassageKind.PASSAGE_KIND_LIST,
    BlockKind.TABLE: PassageKind.PASSAGE_KIND_TABLE,
    BlockKind.CODE: PassageKind.PASSAGE_KIND_CODE,
    BlockKind.FIGURE_CAPTION: PassageKind.PASSAGE_KIND_FIGURE_CAPTION,
}
_CONTEXT_CHAR_COUNT = 600
_HEADER_CHAR_COUNT = 1_200


@dataclass(frozen=True, slots=True)
class Piece:
    """A block, or a part of one: `context` is what a part stands under, and not in its text."""

    text: SpannedText
    kind: PassageKind.ValueType
    token_count: int
    context: str = ""
    label_text: str = ""


def cut_block(block: Block, count_tokens: CountTokens, target: int, limit: int, introduction: str = "") -> list[Piece]:
    """Pieces of a block in order: one where it is within `limit` tokens, else several of about `target`.

    `introduction` announces a list and is the context of its later pieces.
    """
    whole = from_lines(block.lines, tidy=block.kind is not BlockKind.TABLE)
    if not whole.text.strip():
        return []
    kind = KINDS[block.kind]
    caption = _caption(block)
    total = count_tokens([whole.text])[0]
    if total <= limit:
        return [Piece(whole, kind, total, label_text=caption)]
    if block.kind is BlockKind.TABLE and len(block.items) > 1:
        return _cut_table(block, count_tokens, target)
    if block.kind is BlockKind.LIST and len(block.items) > 1:
        return _cut_list(block, count_tokens, target, limit, introduction)
    if block.kind is BlockKind.CODE:
        units = _code_entries(whole)
    else:
        units = [whole.cut(start, end) for start, end in split_sentences(whole.text)]
    glue = "\n" if block.kind is BlockKind.CODE else " "
    return [
        Piece(text, kind, count, label_text=caption)
        for text, count in _pack(_break_long(units, count_tokens, limit), count_tokens, target, glue)
    ]


def _caption(block: Block) -> str:
    if block.kind is BlockKind.TABLE:
        return " ".join(line.text for line in block.lines[: block.caption_count])
    return block.text if block.kind is BlockKind.FIGURE_CAPTION else ""


def _cut_table(block: Block, count_tokens: CountTokens, target: int) -> list[Piece]:
    """Parts of whole rows; the first holds caption and header, the others name them as their context."""
    first = block.items[0]
    bounds = [*block.items, len(block.lines)]
    head = from_lines(block.lines[:first], tidy=False) if first else None
    rows = [from_lines(block.lines[a:b], tidy=False) for a, b in itertools.pairwise(bounds)]
    rows = [row for row in rows if row.text.strip()]
    context = _table_context(block) if head is not None else ""
    units = [head, *rows] if head is not None and head.text else rows
    caption = _caption(block)
    return [
        Piece(
            text, PassageKind.PASSAGE_KIND_TABLE, count, "" if number == 0 else context, caption if number == 0 else ""
        )
        for number, (text, count) in enumerate(
            _pack(_break_long(units, count_tokens, 2 * target), count_tokens, target, "\n")
        )
    ]


def _table_context(block: Block) -> str:
    """A table's caption, and its header with a place for every column: cut short, it would name the wrong ones."""
    caption = " ".join(line.text for line in block.lines[: block.caption_count])[:_CONTEXT_CHAR_COUNT]
    header = from_lines(block.lines[block.caption_count : block.items[0]], tidy=False).text
    return "\n".join(filter(None, [caption, header[:_HEADER_CHAR_COUNT]]))


def _cut_list(block: Block, count_tokens: CountTokens, target: int, limit: int, introduction: str) -> list[Piece]:
    """Parts of whole items, broken before outer items rather than inner ones; each knows the items it is under."""
    bounds = [*block.items, len(block.lines)]
    preface = from_lines(block.lines[: block.items[0]]).text if block.items[0] else ""
    items = [from_lines(block.lines[a:b]) for a, b in itertools.pairwise(bounds)]
    counts = count_tokens([item.text for item in items])
    pieces: list[Piece] = []
    start = 0
    while start < len(items):
        end = _choose_end(block.levels, counts, start, target)
        above = [item.text for item in _ancestors(items, block.levels, start)]
        context = "\n".join(filter(None, [introduction if start else "", preface, *above]))[:_CONTEXT_CHAR_COUNT]
        text = join(items[start:end], "\n")
        total = sum(counts[start:end])
        if total > limit and end == start + 1:
            units = [text.cut(a, b) for a, b in split_sentences(text.text)]
            for part, count in _pack(_break_long(units, count_tokens, limit), count_tokens, target, " "):
                pieces.append(Piece(part, PassageKind.PASSAGE_KIND_LIST, count, context))
        else:
            pieces.append(Piece(text, PassageKind.PASSAGE_KIND_LIST, total, context))
        start = end
    return pieces


def _choose_end(levels: Sequence[int], counts: Sequence[int], start: int, target: int) -> int:
    """One past the last item of a part: as many as fit, ending before the outermost item among the later half."""
    total, end = counts[start], start + 1
    while end < len(counts) and total + counts[end] <= target:
        total += counts[end]
        end += 1
    if end == len(counts):
        return end
    later = range(start + 1 + (end - start) // 2, end + 1)
    return min(later, key=lambda index: (levels[index], -index), default=end)


def _ancestors(items: Sequence[SpannedText], levels: Sequence[int], index: int) -> list[SpannedText]:
    """The nearest earlier items of smaller depth, outermost first."""
    found: list[SpannedText] = []
    level = levels[index]
    for number in range(index - 1, -1, -1):
        if levels[number] < level:
            found.append(items[number])
            level = levels[number]
    return found[::-1]


def _code_entries(whole: SpannedText) -> list[SpannedText]:
    """Lines with the deeper-indented lines that follow them: a flag and its explanation stay together."""
    entries: list[SpannedText] = []
    start = 0
    position = 0
    for line in whole.text.split("\n"):
        opens = bool(line) and not line[0].isspace() and line[0] not in ")}]`"
        if opens and position > start:
            entries.append(whole.cut(start, position))
            start = position
        position += len(line) + 1
    entries.append(whole.cut(start, len(whole.text)))
    return [entry for entry in entries if entry.text]


def _break_long(units: Sequence[SpannedText], count_tokens: CountTokens, limit: int) -> list[SpannedText]:
    """Units over the limit, such as a sentence without an end, cut at white space into even parts."""
    whole: list[SpannedText] = []
    for unit, count in zip(units, count_tokens([unit.text for unit in units]), strict=True):
        if count <= limit:
            whole.append(unit)
            continue
        parts = count // limit + 1
        step = max(1, len(unit.text) // parts)
        start = 0
        while start < len(unit.text):
            end = min(len(unit.text), start + step)
            if end < len(unit.text):
                space = max(unit.text.rfind(" ", start, end), unit.text.rfind("\n", start, end))
                end = space if space > start else end
            piece = unit.cut(start, end)
            if piece.text:
                whole.append(piece)
            start = end
    return whole


def _pack(
    units: Sequence[SpannedText], count_tokens: CountTokens, target: int, glue: str
) -> list[tuple[SpannedText, int]]:
    """Units joined in order into parts of about equal length, none much over `target`."""
    counts = count_tokens([unit.text for unit in units])
    parts = max(1, -(-sum(counts) // target))
    aim = min(float(target), sum(counts) / parts * 1.08)
    packed: list[tuple[SpannedText, int]] = []
    group: list[SpannedText] = []
    total = 0
    for unit, count in zip(units, counts, strict=True):
        if group and total + count / 2 > aim:
            packed.append((join(group, glue), total))
            group, total = [], 0
        group.append(unit)
        total += count
    if group:
        packed.append((join(group, glue), total))
    return packed
