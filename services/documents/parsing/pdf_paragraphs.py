"""Which visual lines of a PDF are one block, and what it is: a heading, a paragraph, an item, a caption, a footnote."""

from __future__ import annotations

import itertools
import re
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from services.documents.parsing.blocks import Block, BlockKind, Line, Page
from services.documents.parsing.pdf_margins import LEADER
from services.documents.parsing.pdf_rows import is_caption, titles_after
from services.documents.parsing.pdf_text import TextLine

FIGURE_CAPTION = re.compile(
    r"^(?:figure|fig\.?|abbildung|abb\.|ilustraci[oó]n|illustration)\s*[A-Z]?\d+(?:[-.]\d+)*\b", re.IGNORECASE
)
BULLET = re.compile(r"^(?:[•◦▪▫●○■□‣⁃∙·➢➤►▶✓✔❖–—-]|[*])\s+(?=\S)")
ENUMERATOR = re.compile(r"^(?:\(?(?:\d{1,2}|[a-zA-Z]|[ivx]{1,5})\)|(?:\d{1,2}|[a-zA-Z])\.)\s+(?=\S)")
NUMBERED_HEADING = re.compile(
    r"^(?:(?:chapter|section|part|appendix|annex|chapitre|annexe|article|kapitel)\s+)?"
    r"(?:\d{1,3}(?:\.\d{1,3}){0,4}\.?|[A-Z](?:\.\d{1,3}){1,4}\.?|[A-Z]\.|[IVX]{1,6}\.|§\s*[\d.]+)\s+[^\W\d_a-zß-ÿ]"
)
SENTENCE_END = re.compile(r"[.!?:;…][\"'”’)\]]*$")
_FOOTNOTE_MARK = re.compile(r"^(?:[∗*†‡§¶]|\d{1,2}(?=[A-Z(]|\s*https?:))")


@dataclass(slots=True)
class Style:
    """What is usual in the whole document: font size of running text and the distance of its lines."""

    body_size: float
    leading: float


def is_figure_caption(line: TextLine) -> bool:
    """Whether a line begins a figure's caption, and not a sentence that begins with the figure's name."""
    match = FIGURE_CAPTION.match(line.text)
    return match is not None and titles_after(line.text[match.end() :])


def measure_style(pages: Sequence[Sequence[TextLine]]) -> Style:
    """Size and line distance of running text, weighted by characters."""
    sizes: Counter[float] = Counter()
    for lines in pages:
        for line in lines:
            sizes[line.size] += sum(len(word.text) for word in line.words)
    body = sizes.most_common(1)[0][0] if sizes else 10.0
    gaps = [
        above.bottom - below.bottom
        for lines in pages
        for above, below in itertools.pairwise(lines)
        if above.size == below.size == body and 0 < above.bottom - below.bottom < 3 * body
    ]
    return Style(body, statistics.median(gaps) if gaps else 1.2 * body)


def begins_block(group: Sequence[TextLine], line: TextLine, style: Style) -> bool:
    previous = group[-1]
    if previous.divided:
        return False
    gap = previous.bottom - line.top
    if is_caption(line) or is_figure_caption(line):
        return True
    if abs(previous.size - line.size) > 0.6 or previous.fixed_width != line.fixed_width:
        return True
    if previous.bold and NUMBERED_HEADING.match(previous.text) and not line.bold:
        return True
    if line.lead_count or previous.lead_count:
        return line.lead_count > 0 and (gap > 0.35 * line.height or gap < -1.2 * line.height)
    if previous.bold != line.bold:
        return True
    if line.bold and NUMBERED_HEADING.match(line.text):
        return True
    if BULLET.match(line.text) or (ENUMERATOR.match(line.text) and SENTENCE_END.search(previous.text)):
        return True
    if gap > max(0.75 * line.height, 1.45 * style.leading - line.height):
        return True
    if gap < -1.2 * line.height:  # a jump up: next column
        return bool(SENTENCE_END.search(previous.text)) or line.left + 2 < previous.left
    if is_figure_caption(group[0]) or is_caption(group[0]):
        return False
    return _is_indented(group, line)


def _is_indented(group: Sequence[TextLine], line: TextLine) -> bool:
    """A first-line indent after a paragraph whose last line ends a sentence; hanging lines of a list are none."""
    if BULLET.match(group[0].text) or ENUMERATOR.match(group[0].text):
        # Back at or left of the marker: the item is over.
        return line.left <= group[0].left - 2 and bool(SENTENCE_END.search(group[-1].text))
    left = min(member.left for member in group[-3:])
    indent = line.left - left
    return 0.7 * line.size < indent < 5 * line.size and bool(SENTENCE_END.search(group[-1].text))


def make_block(group: Sequence[TextLine], page: Page, style: Style) -> Block:
    lines = _to_lines(group)
    first = group[0]
    if is_figure_caption(first):
        return Block(BlockKind.FIGURE_CAPTION, lines)
    if is_caption(first):
        return Block(BlockKind.TABLE, lines, caption_count=len(lines))
    if _is_heading(group, style):
        return Block(BlockKind.HEADING, lines, level=_style_rank(first, style))
    if len(group) > 1 and all(line.fixed_width for line in group):
        return Block(BlockKind.CODE, [Line(line.text, line.page, line.box, "\n") for line in group])
    if BULLET.match(first.text) or ENUMERATOR.match(first.text):
        return Block(BlockKind.LIST, lines, items=[0], levels=[round(first.left)])
    if first.size < 0.93 * style.body_size and _FOOTNOTE_MARK.match(first.text) and first.top < 0.45 * page.height:
        return Block(BlockKind.FOOTNOTE, lines)
    block = Block(BlockKind.PARAGRAPH, lines)
    if first.lead_count and first.lead_count <= 8:
        block.lead = " ".join(word.text for word in first.words[: first.lead_count]).rstrip(".:")
    return block


def _is_heading(group: Sequence[TextLine], style: Style) -> bool:
    text = " ".join(line.text for line in group)
    first = group[0]
    if len(group) > 3 or len(text) > 160 or sum(character.isalpha() for character in text) < 3:
        return False
    if text[0].islower() or LEADER.search(text):
        return False
    if text[-1] in ".,;:" and not NUMBERED_HEADING.match(text):
        return False
    larger = first.size > 1.12 * style.body_size
    if larger and sum(character.isalpha() for character in text) * 2 > len(text.replace(" ", "")):
        return True
    if all(line.bold for line in group) and first.size >= 0.95 * style.body_size:
        return len(text.split()) <= 14
    return bool(NUMBERED_HEADING.match(text)) and len(group) == 1 and len(text.split()) <= 9 and text[-1] not in ".,;"


def _style_rank(line: TextLine, style: Style) -> int:
    """A provisional level: tenths of a point above running text, bold first; `sections` turns ranks into depths."""
    return max(1, 1000 - round(10 * (line.size - style.body_size)) - (5 if line.bold else 0))


def _to_lines(group: Sequence[TextLine]) -> list[Line]:
    lines: list[Line] = []
    divided = False
    for line in group:
        text = line.text
        lines.append(
            Line(text + ("\N{SOFT HYPHEN}" if line.divided else ""), line.page, line.box, "" if divided else " ")
        )
        divided = line.divided
    return lines
