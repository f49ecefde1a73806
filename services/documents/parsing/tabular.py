"""Rows of cells as table blocks, for every format whose tables come as rows."""

from __future__ import annotations

import re
from collections.abc import Sequence

from services.documents.parsing.blocks import CELL_SPACE, Block, BlockKind, Line

_FIGURES = re.compile(r"[-+(]?[^\w\s]?\s?\d[\d.,:/\s-]*[%)]?[^\w\s]?")


def make_table(
    rows: Sequence[Sequence[str]], caption: str = "", *, header_count: int | None = None, attached: bool = False
) -> Block | None:
    """A table block of rows of cell texts; None where no row has a text.

    `header_count` of the rows are the header; None: the first row is, where it looks like one.
    """
    kept = [squeezed for row in rows if any(squeezed := [" ".join(cell.split()) for cell in row])]
    if not kept:
        return None
    width = max(column + 1 for row in kept for column, text in enumerate(row) if text)
    kept = [row[:width] for row in kept]
    if header_count is None:
        header_count = int(len(kept) > 1 and looks_like_header(kept[0], kept[1]))
    header_count = min(header_count, len(kept))
    lines = ([Line(caption)] if caption else []) + [Line(CELL_SPACE.join(row).rstrip()) for row in kept]
    return Block(
        BlockKind.TABLE,
        lines,
        items=list(range(len(lines) - len(kept) + header_count, len(lines))),
        caption_count=1 if caption else 0,
        header_count=header_count,
        columns=kept[header_count - 1] if header_count else [],
        cells=[[(column, text) for column, text in enumerate(row) if text] for row in kept[header_count:]],
        attached=attached,
    )


def looks_like_header(first: Sequence[str], second: Sequence[str]) -> bool:
    """Whether a first row names columns: it has words in two places at least, each once, and no bare figures."""
    names = [text for text in first if text]
    if len(names) < 2 or len(names) < len([text for text in second if text]) - 1:
        return False
    return len(set(names)) == len(names) and not any(is_figure(text) for text in names)


def is_figure(text: str) -> bool:
    """Whether a cell holds a number, a date or a share; a year alone may name a column."""
    if re.fullmatch(r"(?:19|20)\d\d", text):
        return False
    return bool(_FIGURES.fullmatch(text))
