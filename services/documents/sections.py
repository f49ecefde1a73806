"""A document's sections: from an outline that can be trusted, else from numbered and sized headings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from citemesh.v1.document_pb2 import Section
from services.documents.parsing.blocks import Block, BlockKind, ParsedDocument
from services.documents.parsing.enumerated import MARKER
from services.documents.titles import Place, TitleFinder, split_number, title_key

_USUAL_TITLES = re.compile(
    r"^(?:abstract|summary|introduction|background|conclusions?|discussion|references|bibliography|acknowledge?ments?|"
    r"appendix|annex|preface|foreword|contents|index|glossary|notes|résumé|conclusion|annexes?|zusammenfassung)\b",
    re.IGNORECASE,
)
_USABLE_SHARE = 0.6


@dataclass(slots=True)
class SectionTree:
    """Sections in the order of the text, and for each block the index of its innermost section (-1: none).

    `heading_blocks` are indices of blocks that are the sections' headings. `has_usable_toc` and `toc_entry_count`
    are for the profile.
    """

    sections: list[Section] = field(default_factory=list)
    of_block: list[int] = field(default_factory=list)
    heading_blocks: set[int] = field(default_factory=set)
    parents: list[int] = field(default_factory=list)
    has_usable_toc: bool = False
    toc_entry_count: int = 0

    def line_of(self, index: int) -> list[Section]:
        """The sections that hold a place, from the outermost to the one at `index`; none for -1."""
        line: list[Section] = []
        while index >= 0:
            line.append(self.sections[index])
            index = self.parents[index]
        return line[::-1]

    def path(self, index: int) -> list[str]:
        """Titles from the outermost section to this one, each with its number where it has one."""
        return [f"{section.number} {section.title}".strip() for section in self.line_of(index)]


@dataclass(slots=True)
class _Heading:
    """A place where a section begins."""

    block: int
    level: int
    number: str
    title: str


def build_sections(document: ParsedDocument) -> SectionTree:
    """Sections of a document; may divide blocks of `document` where an outline's title stands inside one."""
    headings = _from_outline(document)
    usable = headings is not None
    if headings is None:
        headings = _from_headings(document)
    headings = _add_lettered(document, headings)
    tree = _make_tree(document, headings)
    tree.has_usable_toc = usable or (not document.pages and len(headings) >= 2)
    tree.toc_entry_count = len(document.outline) if document.pages else len(headings)
    return tree


def _from_outline(document: ParsedDocument) -> list[_Heading] | None:
    """One heading per outline entry, or None where the titles do not stand where the outline says."""
    entries = [entry for entry in document.outline if entry.title and entry.page > 0]
    if not entries:
        return None
    finder = TitleFinder(document.blocks)
    found: list[tuple[_Heading, Place | None]] = []
    matched = 0
    for entry in entries:
        number, title = split_number(entry.title)
        place = finder.find(entry.title, title, entry.page)
        if place is not None:
            matched += 1
            number = number or _printed_number(document.blocks[place.block], place.start, title)
            found.append((_Heading(place.block, entry.level, number, title), place))
            continue
        block = finder.first_block_from(entry.page)
        if block is not None:
            found.append((_Heading(block, entry.level, number, title), None))
    if matched < _USABLE_SHARE * len(document.outline):
        return None
    _divide_blocks(document, found)
    headings = [heading for heading, _ in found]
    _number_between(headings)
    headings.extend(_usual_headings(document, {heading.block for heading in headings}))
    headings.sort(key=lambda heading: heading.block)
    return headings


def _number_between(headings: Sequence[_Heading]) -> None:
    """Gives an outline's entry the number that its place leaves for it: between 5.1 and 5.3 stands 5.2."""
    for number, heading in enumerate(headings):
        if heading.number:
            continue
        before = next((h for h in reversed(headings[:number]) if h.level <= heading.level), None)
        after = next((h for h in headings[number + 1 :] if h.level <= heading.level), None)
        if before is None or after is None or not before.level == after.level == heading.level:
            continue
        first, last = _order(before.number), _order(after.number)
        if first and last and first[:-1] == last[:-1] and last[-1] - first[-1] == 2:
            heading.number = ".".join(map(str, (*first[:-1], first[-1] + 1)))


def _divide_blocks(document: ParsedDocument, found: list[tuple[_Heading, Place | None]]) -> None:
    """Makes each title found inside a block a heading block of its own, and points the headings at the new blocks."""
    cuts: dict[int, list[tuple[Place, _Heading]]] = {}
    for heading, place in found:
        if place is not None:
            cuts.setdefault(heading.block, []).append((place, heading))
    blocks: list[Block] = []
    moved: dict[int, int] = {}
    for index, block in enumerate(document.blocks):
        moved[index] = len(blocks)
        if index not in cuts:
            blocks.append(block)
            continue
        done = 0
        for place, heading in sorted(cuts[index], key=lambda cut: cut[0].start):
            if place.start > done:
                blocks.append(_part(block, done, place.start))
            heading.block = len(blocks)
            if place.start < done:
                heading.block -= 1  # two entries of the outline for one title
            elif place.end > place.start:
                blocks.append(_part(block, place.start, place.end, BlockKind.HEADING))
                done = place.end
            else:
                done = place.start
        if done < len(block.lines):
            blocks.append(block if done == 0 else _part(block, done, len(block.lines)))
    for heading, place in found:
        if place is None:
            heading.block = moved[heading.block]
    document.blocks[:] = blocks


def _part(block: Block, start: int, end: int, kind: BlockKind | None = None) -> Block:
    plain = BlockKind.PARAGRAPH if block.kind in (BlockKind.LIST, BlockKind.HEADING) else block.kind
    return Block(kind or plain, block.lines[start:end])


def _usual_headings(document: ParsedDocument, taken: set[int]) -> list[_Heading]:
    """Abstract, references and the like, which outlines leave out; without them the last section would hold them."""
    found = []
    for index, block in enumerate(document.blocks):
        if block.kind is BlockKind.HEADING and index not in taken and _USUAL_TITLES.match(block.text):
            number, title = split_number(block.text)
            if len(title.split()) <= 8:
                found.append(_Heading(index, 1, number, title))
    return found


def _printed_number(block: Block, start: int, title: str) -> str:
    """The number that the page prints before a title which the outline gives without."""
    number, rest = split_number(" ".join(line.text for line in block.lines[start : start + 3]))
    return number if number and title_key(rest).startswith(title_key(title)[:40]) else ""


def _from_headings(document: ParsedDocument) -> list[_Heading]:
    """Headings as found by markup, or by numbers and type size where there is no markup."""
    found = []
    for index, block in enumerate(document.blocks):
        if block.kind is BlockKind.HEADING:
            number, title = split_number(block.text)
            found.append(_Heading(index, block.level, number, title))
    return _levels_by_style(document, found) if document.format == "pdf" else found


def _levels_by_style(document: ParsedDocument, found: list[_Heading]) -> list[_Heading]:
    """Turns style ranks into depths: by numbers where headings have some, else larger type is further out."""
    numbered = [heading for heading in found if heading.number]
    depths: dict[int, Counter[int]] = {}
    for heading in numbered:
        depths.setdefault(heading.level, Counter())[_depth(heading.number)] += 1
    style_depth = {rank: counts.most_common(1)[0][0] for rank, counts in depths.items()}
    outermost = min((rank for rank, depth in style_depth.items() if depth == 1), default=None)
    kept: list[_Heading] = []
    last: tuple[int, ...] = ()
    ranks = {heading.level for heading in found}
    times = Counter(title_key(heading.title) for heading in found if not heading.number)
    for heading in found:
        if title_key(heading.title) == title_key(document.title) and heading is not found[-1] and not heading.number:
            continue
        if heading.number:
            order = _order(heading.number)
            plain = heading.level >= 1000
            if plain and order and last and not _follows(last, order):
                continue
            last = order or last
            heading.level = _depth(heading.number)
        elif len(numbered) >= 3:
            # In a document with numbers, a heading without one is a section only where it looks like the outermost.
            if not _USUAL_TITLES.match(heading.title) and (outermost is None or heading.level > outermost):
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


def _order(number: str) -> tuple[int, ...]:
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


def _add_lettered(document: ParsedDocument, headings: list[_Heading]) -> list[_Heading]:
    """Under "§ 1003.2", each paragraph "(g) …" is a section of its own: laws refer to it as § 1003.2(g)."""
    by_block = {heading.block: heading for heading in headings}
    if not any("§" in document.blocks[index].text for index in by_block):
        return headings
    blocks: list[Block] = []
    added: list[_Heading] = []
    current: _Heading | None = None
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
                added.append(_Heading(len(blocks), current.level + 1, number, _lettered_title(piece.text)))
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


def _make_tree(document: ParsedDocument, headings: list[_Heading]) -> SectionTree:
    tree = SectionTree(of_block=[-1] * len(document.blocks))
    stack: list[tuple[int, int]] = []  # (level, index)
    bounds = [heading.block for heading in headings] + [len(document.blocks)]
    for number, heading in enumerate(headings):
        while stack and stack[-1][0] >= heading.level:
            stack.pop()
        parent = stack[-1][1] if stack else -1
        tree.parents.append(parent)
        tree.sections.append(
            Section(
                section_id=f"s{number + 1}",
                parent_id=tree.sections[parent].section_id if parent >= 0 else "",
                level=len(stack) + 1,
                number=heading.number,
                title=heading.title[:300],
            )
        )
        stack.append((heading.level, number))
        if document.blocks[heading.block].kind is BlockKind.HEADING:
            tree.heading_blocks.add(heading.block)
        for index in range(heading.block, bounds[number + 1]):
            tree.of_block[index] = number
        _set_pages(tree, document.blocks[heading.block : max(bounds[number + 1], heading.block + 1)], number)
    return tree


def _set_pages(tree: SectionTree, blocks: Sequence[Block], number: int) -> None:
    """A section ends where its last text ends; the sections that hold it reach at least as far."""
    pages = [line.page for block in blocks for line in block.lines if line.page]
    if not pages:
        return
    tree.sections[number].page_first = min(pages)
    while number >= 0:
        tree.sections[number].page_last = max(tree.sections[number].page_last, max(pages))
        number = tree.parents[number]
