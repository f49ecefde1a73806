"""The lines of a passage and what each is: heading, list item, table row, code, text."""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass


class LineKind(enum.Enum):
    """What a line, or a unit made of lines, is."""

    TEXT = "text"
    LIST_ITEM = "list_item"
    TABLE_ROW = "table_row"
    CODE = "code"
    HEADING = "heading"
    BLANK = "blank"


@dataclass(frozen=True, slots=True)
class Line:
    """One line by its offsets in the text."""

    start: int
    end: int
    kind: LineKind
    content_start: int
    """Behind the mark of a list item, heading or block quote; equal to start elsewhere."""
    indent: int = 0
    """Columns before a list item's mark."""
    continues_item: bool = False
    """A text line that belongs to the list item above it."""
    is_fence: bool = False
    """The line that opens or closes a code block."""


_FENCE = re.compile(r"^\s*+(?:>\s?+)*+(?:```|~~~)")
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s+")
_ITEM = re.compile(
    r"^(?P<indent>[\s>]*+)(?P<mark>[-*+](?=\s)|[•◦▪‣●○–·](?=\s?\S)|\(?\d{1,3}[.)](?=\s)"
    r"|\((?:[a-zA-Z]|[ivxlcIVXLC]{1,5})\)(?=\s)|[a-z][.)](?=\s))\s*(?:\[[ xX]\]\s)?"
)
_RULE = re.compile(r"^\s*+(?:[-*_=]\s*+){3,}+$")
_QUOTE = re.compile(r"^\s*+(?:>\s?+)++")


def read_lines(text: str) -> list[Line]:
    """Every line of `text`, in order, with its kind."""
    lines: list[Line] = []
    in_code = False
    item_indent: int | None = None
    after_blank = False
    position = 0
    for raw in text.splitlines(keepends=True):
        start, end = position, position + len(raw.rstrip("\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029"))
        position += len(raw)
        words = text[start:end]
        if _FENCE.match(words):
            in_code = not in_code
            lines.append(Line(start, end, LineKind.CODE, start, is_fence=True))
            continue
        if in_code:
            lines.append(Line(start, end, LineKind.CODE, start))
            continue
        line = _read_line(words, start, end, item_indent, after_blank)
        if line.kind is LineKind.LIST_ITEM:
            item_indent = line.indent
        elif line.kind is not LineKind.BLANK and not line.continues_item:
            item_indent = None
        after_blank = line.kind is LineKind.BLANK
        lines.append(line)
    return lines


def _read_line(words: str, start: int, end: int, item_indent: int | None, after_blank: bool) -> Line:
    if not words.strip() or _RULE.match(words):
        return Line(start, end, LineKind.BLANK, start)
    heading = _HEADING.match(words)
    if heading:
        return Line(start, end, LineKind.HEADING, start + heading.end())
    if words.lstrip().startswith("|"):
        return Line(start, end, LineKind.TABLE_ROW, start)
    item = _ITEM.match(words)
    if item and words[item.end() :].strip():
        mark = item.group("mark")
        # The number or letter of an item is part of what it says ("see (b)"); a bullet is not.
        is_bullet = not any(character.isalnum() for character in mark)
        begin = start + len(item.group("indent"))
        content_start = start + item.end() if is_bullet else begin
        return Line(begin, end, LineKind.LIST_ITEM, content_start, indent=len(item.group("indent").expandtabs(4)))
    indent = len(words) - len(words.lstrip())
    if item_indent is not None and (not after_blank or indent > item_indent):
        return Line(start, end, LineKind.TEXT, start, continues_item=True)
    quote = _QUOTE.match(words)
    return Line(start, end, LineKind.TEXT, start + quote.end() if quote else start)
