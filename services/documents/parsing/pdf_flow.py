"""From pages of blocks to one text: paragraphs over page breaks, whole lists, tables after the text they interrupt."""

from __future__ import annotations

import re
from collections.abc import Sequence

from services.documents.parsing.blocks import Block, BlockKind
from services.documents.parsing.hyphens import DIVIDED
from services.documents.parsing.pdf_paragraphs import BULLET, ENUMERATOR

_FLOATS = frozenset({BlockKind.TABLE, BlockKind.FIGURE_CAPTION, BlockKind.FOOTNOTE})
_SENTENCE_END = re.compile(r"[.!?:;…][\"'”’)\]]*$")


def join_flow(blocks: Sequence[Block]) -> list[Block]:
    """Blocks in reading order: what a page or column break divided is one block again."""
    text: list[Block] = []
    waiting: list[Block] = []  # floats seen since the last text block
    for block in blocks:
        if block.kind in _FLOATS:
            waiting.append(block)
            continue
        previous = text[-1] if text else None
        if previous is not None and _continues(previous, block, bool(waiting)):
            glue = "" if previous.lines[-1].text.endswith(DIVIDED) else " "
            block.lines[0].glue = glue
            previous.lines.extend(block.lines)
            continue
        attached = previous is not None and _completes(previous, block)
        if previous is not None and previous.kind is BlockKind.LIST and _same_list(previous, block):
            _extend_list(previous, block)
            continue
        # A list stays with the sentence that announces it: the float comes after both.
        if not attached:
            text.extend(waiting)
            waiting = []
        block.attached = attached
        text.append(block)
    text.extend(waiting)
    for block in text:
        _settle_list(block)
    return text


def _continues(previous: Block, block: Block, interrupted: bool) -> bool:
    """Whether a paragraph goes on: no sentence end before, a small letter after, over a page, column or float."""
    if previous.kind not in (BlockKind.PARAGRAPH, BlockKind.LIST) or block.kind is not BlockKind.PARAGRAPH:
        return False
    if block.lead:
        return False
    last, first = previous.lines[-1], block.lines[0]
    if last.text.endswith(DIVIDED):
        return True
    moved = last.page != first.page or interrupted or _jumped(previous, block)
    open_end = not _SENTENCE_END.search(last.text)
    return moved and open_end and (first.text[:1].islower() or last.text.endswith((",", "-", "–")))


def _jumped(previous: Block, block: Block) -> bool:
    last, first = previous.lines[-1].box, block.lines[0].box
    return last is not None and first is not None and first[1] > last[3]


def _completes(previous: Block, block: Block) -> bool:
    """A list after "…:", or a paragraph with a name of its own after "…:", or another one after such."""
    if block.kind is BlockKind.LIST:
        return previous.kind is BlockKind.PARAGRAPH and previous.text.endswith((":", "："))
    if block.kind is BlockKind.PARAGRAPH and block.lead:
        announced = previous.kind is BlockKind.PARAGRAPH and previous.text.endswith(":")
        return announced or (previous.attached and bool(previous.lead))
    return False


def _same_list(previous: Block, block: Block) -> bool:
    if block.kind is not BlockKind.LIST:
        return False
    return _marker_kind(previous.lines[previous.items[-1]].text) == _marker_kind(block.lines[0].text) or (
        abs(previous.levels[-1] - block.levels[0]) > 5
    )


def _marker_kind(text: str) -> str:
    if BULLET.match(text):
        return "bullet"
    match = ENUMERATOR.match(text)
    return re.sub(r"\d+", "1", re.sub(r"[^\W\d_]+", "a", match.group().strip())) if match else ""


def _extend_list(previous: Block, block: Block) -> None:
    offset = len(previous.lines)
    block.lines[0].glue = "\n"
    previous.lines.extend(block.lines)
    previous.items.extend(item + offset for item in block.items)
    previous.levels.extend(block.levels)


def _settle_list(block: Block) -> None:
    """Depths from the markers' left edges; a lone numbered paragraph is a paragraph."""
    if block.kind is not BlockKind.LIST:
        return
    if len(block.items) == 1 and not BULLET.match(block.lines[0].text):
        block.kind, block.items, block.levels = BlockKind.PARAGRAPH, [], []
        return
    edges: list[int] = []
    for left in sorted(set(block.levels)):
        if not edges or left - edges[-1] > 5:
            edges.append(left)
    block.levels = [max(i for i, edge in enumerate(edges) if edge <= left) for left in block.levels]
