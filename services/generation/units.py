"""Evidence cut into the units that an answer may quote: sentences, list items, table rows, code blocks and headings.

Each unit is a span of its evidence's text, so that quoting it is cutting it out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from citemesh.text.sentences import Span, split_sentences, trim
from citemesh.v1 import evidence_pb2
from services.generation.layout import Line, LineKind, read_lines
from services.generation.markup import read_plain
from services.generation.tables import Table, read_pipe_table, read_plain_table

LONGEST_UNIT_CHARACTERS = 700
"""A longer "sentence" is no sentence (a log, a flattened table): it is cut at line ends."""

NO_GROUP = -1
FIRST_GROUP = 1
"""The number of the first list or table of an evidence."""
_ANNOUNCES = re.compile(
    r":$|\b(?:following|as follows|below|folgende\w*|suivant\w*|ci-dessous|siguientes?|a continuación)\b", re.IGNORECASE
)
SHORT_CODE_CHARACTERS = 240
"""A code block up to this long is one unit."""


@dataclass(frozen=True, slots=True)
class Unit:
    """One quotable span."""

    evidence_index: int
    """Its evidence's place in the request."""
    start: int
    end: int
    kind: LineKind
    plain: str
    """The span as a reader sees it, without marks; for a table row, its cells with their column words."""
    lead: str = ""
    """What the span stands under: the sentence that announces its list, the items that hold it, a table's caption."""
    lead_span: Span | None = None
    """Where the announcing sentence stands; None where there is none or it is not in the text."""
    group: int = NO_GROUP
    """Number of its list or table within the evidence; -1 outside of those."""
    depth: int = 0
    """Nesting of a list item, 0 outermost."""


def announces(unit: Unit) -> bool:
    """Whether the unit says that something follows: "these steps:", "the following papers"."""
    return _ANNOUNCES.search(unit.plain) is not None


def read_units(evidence_index: int, evidence: evidence_pb2.Evidence) -> list[Unit]:
    """The units of one evidence, in reading order. Together they hold all its words; markup alone makes no unit."""
    text = evidence.text
    if evidence.kind == evidence_pb2.PASSAGE_KIND_TABLE and not _has_pipes(text):
        return _make_rows(evidence_index, text, read_plain_table(text, evidence.heading_context), FIRST_GROUP, "")
    units: list[Unit] = []
    group = 0
    heading = ""
    lead: Span | None = None
    kinds: list[LineKind] = []
    titles = {read_plain(title) for title in evidence.section_path}
    for block in _group_lines([_as_heading(line, text, titles) for line in read_lines(text)]):
        kind = block[0].kind
        # A code block inside a list does not end the list.
        goes_on = kind is LineKind.LIST_ITEM and kinds[-2:] == [LineKind.LIST_ITEM, LineKind.CODE]
        group += kind in (LineKind.LIST_ITEM, LineKind.TABLE_ROW) and not goes_on
        if kind is LineKind.TABLE_ROW:
            caption = read_plain(text[slice(*lead)]) if lead else ""
            table = read_pipe_table(text, [(line.start, line.end) for line in block], evidence.heading_context)
            units += _make_rows(evidence_index, text, table, group, caption)
            lead = None
        elif kind is LineKind.LIST_ITEM:
            units += _make_items(evidence_index, text, block, lead, evidence.heading_context, group)
        elif kind is LineKind.CODE:
            units += _make_code(evidence_index, text, block, _span_of_last(units))
        elif kind is LineKind.HEADING:
            units.append(_make_unit(evidence_index, text, (block[0].content_start, block[0].end), kind))
            heading, lead = units[-1].plain, _span_of_last(units)
        else:
            units += _make_sentences(evidence_index, text, block, heading)
            lead = _span_of_last(units)
        kinds.append(kind)
    return [unit for unit in units if _has_words(unit.plain)]


def _as_heading(line: Line, text: str, titles: set[str]) -> Line:
    """A line that says no more than the title of a section is its heading, with or without marks."""
    if line.kind is not LineKind.TEXT or read_plain(text[line.start : line.end]) not in titles:
        return line
    return Line(line.start, line.end, LineKind.HEADING, line.content_start)


def _span_of_last(units: list[Unit]) -> Span | None:
    """Where what comes next may be announced; markup without words (an empty heading) announces nothing."""
    return (units[-1].start, units[-1].end) if units and _has_words(units[-1].plain) else None


def _has_words(plain: str) -> bool:
    return any(character.isalnum() for character in plain)


def _has_pipes(text: str) -> bool:
    return sum(line.lstrip().startswith("|") for line in text.splitlines()) >= 2


def _group_lines(lines: list[Line]) -> Iterator[list[Line]]:
    """Lines that make one block: a paragraph, a whole list, a table, a code block, one heading."""
    block: list[Line] = []
    for line in lines:
        joins = bool(block) and _joins(block, line)
        if block and not joins:
            yield block
            block = []
        if line.kind is not LineKind.BLANK:
            block.append(line)
    if block:
        yield block


def _joins(block: list[Line], line: Line) -> bool:
    kind = block[0].kind
    if line.kind is LineKind.BLANK:
        # A list goes on over blank lines; everything else ends there.
        return kind is LineKind.LIST_ITEM
    if kind is LineKind.LIST_ITEM:
        return line.kind is LineKind.LIST_ITEM or (line.kind is LineKind.TEXT and line.continues_item)
    return line.kind is kind and kind is not LineKind.HEADING


def _make_unit(index: int, text: str, span: Span, kind: LineKind, lead: str = "") -> Unit:
    start, end = trim(text, *span)
    return Unit(index, start, end, kind, read_plain(text[start:end]), lead)


def _make_sentences(index: int, text: str, block: list[Line], heading: str) -> list[Unit]:
    return [
        _make_unit(index, text, span, LineKind.TEXT, heading)
        for sentence in split_sentences(text, block[0].content_start, block[-1].end)
        for span in cut_long(text, sentence)
    ]


def _make_items(
    index: int, text: str, block: list[Line], lead: Span | None, heading_context: str, group: int
) -> list[Unit]:
    """One unit per item, with its continuation lines; long items by sentence. Nested ones carry their parents."""
    announcement = read_plain(text[slice(*lead)]) if lead else read_plain(heading_context)
    units: list[Unit] = []
    parents: list[tuple[int, str]] = []
    starts = [number for number, line in enumerate(block) if line.kind is LineKind.LIST_ITEM]
    for number, following in zip(starts, [*starts[1:], len(block)], strict=True):
        item = block[number]
        while parents and parents[-1][0] >= item.indent:
            parents.pop()
        context = " ".join([announcement, *(words for _, words in parents)]).strip()
        sentences = split_sentences(text, item.content_start, block[following - 1].end)
        spans = [piece for span in _merge_short(sentences) for piece in cut_long(text, span)]
        made: list[Unit] = []
        for start, end in spans:
            lead_words = f"{context} {made[0].plain[:200]}".strip() if made else context
            start, end = trim(text, start if made else item.start, end)
            plain = read_plain(text[start:end])
            made.append(Unit(index, start, end, LineKind.LIST_ITEM, plain, lead_words, lead, group, len(parents)))
        units += made
        if made:
            parents.append((item.indent, made[0].plain[:200]))
    return units


def _merge_short(sentences: list[Span]) -> list[Span]:
    """Items up to about two sentences stay whole: their first words often name what the rest says."""
    if not sentences:
        return []
    start, end = sentences[0][0], sentences[-1][1]
    if end - start <= 300:
        return [(start, end)]
    merged = [sentences[0]]
    for sentence in sentences[1:]:
        if merged[-1][1] - merged[-1][0] < 60:
            merged[-1] = (merged[-1][0], sentence[1])
        else:
            merged.append(sentence)
    return merged


def _make_code(index: int, text: str, block: list[Line], lead: Span | None) -> list[Unit]:
    lead_words = read_plain(text[slice(*lead)]) if lead else ""
    inner = [line for line in block if not line.is_fence]
    if not inner:
        return []
    units = []
    for span in _split_code(text, inner):
        start, end = trim(text, *span)
        if start < end:
            plain = " ".join(text[start:end].split())
            units.append(Unit(index, start, end, LineKind.CODE, plain, lead_words, lead))
    return units


def _split_code(text: str, lines: list[Line]) -> Iterator[Span]:
    """A short block whole; a long one by entry: a line with the deeper or comment lines that explain it."""
    if lines[-1].end - lines[0].start <= SHORT_CODE_CHARACTERS:
        yield (lines[0].start, lines[-1].end)
        return
    entry: Span | None = None
    depth = 0
    for line in lines:
        words = text[line.start : line.end]
        indent = len(words) - len(words.lstrip())
        if entry and words.strip() and (indent > depth or text[slice(*entry)].lstrip().startswith(("#", "//"))):
            entry = (entry[0], line.end)
            if not text[slice(*entry)].rstrip().splitlines()[-1].lstrip().startswith(("#", "//")):
                depth = min(depth, indent)
            continue
        if entry:
            yield from cut_long(text, entry)
        entry, depth = ((line.start, line.end), indent) if words.strip() else (None, 0)
    if entry:
        yield from cut_long(text, entry)


def _make_rows(index: int, text: str, table: Table, group: int, caption: str) -> list[Unit]:
    lead = " ".join(part for part in (caption, table.caption) if part)
    units = [] if table.caption_span is None else [_make_unit(index, text, table.caption_span, LineKind.TEXT)]
    for row in table.rows:
        units.append(Unit(index, row.start, row.end, LineKind.TABLE_ROW, row.reading, lead, table.header_span, group))
    return units


def cut_long(text: str, span: Span) -> Iterator[Span]:
    """The span whole, or in pieces of at most LONGEST_UNIT_CHARACTERS that end at line ends where there are some."""
    start, end = span
    while end - start > LONGEST_UNIT_CHARACTERS:
        limit = start + LONGEST_UNIT_CHARACTERS
        cut = max(text.rfind("\n", start + 1, limit), text.rfind("; ", start + 1, limit) + 1)
        if cut <= start:
            cut = text.rfind(" ", start + 1, limit)
        if cut <= start:
            cut = limit
        yield trim(text, start, cut)
        start, _ = trim(text, cut, end)
    if start < end:
        yield (start, end)
