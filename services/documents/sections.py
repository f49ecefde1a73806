"""A document's sections: from an outline that can be trusted, else from numbered and sized headings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from citemesh.v1.document_pb2 import Section
from services.documents.headings import USUAL_TITLES, Heading, read_headings, read_order
from services.documents.lettered import add_lettered
from services.documents.parsing.blocks import Block, BlockKind, ParsedDocument
from services.documents.titles import Place, TitleFinder, split_number, title_key

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


def build_sections(document: ParsedDocument) -> SectionTree:
    """Sections of a document; may divide blocks of `document` where an outline's title stands inside one."""
    headings = _from_outline(document)
    usable = headings is not None
    if headings is None:
        headings = read_headings(document)
    headings = add_lettered(document, headings)
    tree = _make_tree(document, headings)
    tree.has_usable_toc = usable or (not document.pages and len(headings) >= 2)
    tree.toc_entry_count = len(document.outline) if document.pages else len(headings)
    return tree


def _from_outline(document: ParsedDocument) -> list[Heading] | None:
    """One heading per outline entry, or None where the titles do not stand where the outline says."""
    entries = [entry for entry in document.outline if entry.title and entry.page > 0]
    if not entries:
        return None
    finder = TitleFinder(document.blocks)
    found: list[tuple[Heading, Place | None]] = []
    matched = 0
    for entry in entries:
        number, title = split_number(entry.title)
        place = finder.find(entry.title, title, entry.page)
        if place is not None:
            matched += 1
            number = number or _printed_number(document.blocks[place.block], place.start, title)
            found.append((Heading(place.block, entry.level, number, title), place))
            continue
        block = finder.first_block_from(entry.page)
        if block is not None:
            found.append((Heading(block, entry.level, number, title), None))
    if matched < _USABLE_SHARE * len(document.outline):
        return None
    _divide_blocks(document, found)
    headings = [heading for heading, _ in found]
    _number_between(headings)
    headings.extend(_usual_headings(document, {heading.block for heading in headings}))
    headings.sort(key=lambda heading: heading.block)
    return headings


def _number_between(headings: Sequence[Heading]) -> None:
    """Gives an outline's entry the number that its place leaves for it: between 5.1 and 5.3 stands 5.2."""
    for number, heading in enumerate(headings):
        if heading.number:
            continue
        before = next((h for h in reversed(headings[:number]) if h.level <= heading.level), None)
        after = next((h for h in headings[number + 1 :] if h.level <= heading.level), None)
        if before is None or after is None or not before.level == after.level == heading.level:
            continue
        first, last = read_order(before.number), read_order(after.number)
        if first and last and first[:-1] == last[:-1] and last[-1] - first[-1] == 2:
            heading.number = ".".join(map(str, (*first[:-1], first[-1] + 1)))


def _divide_blocks(document: ParsedDocument, found: list[tuple[Heading, Place | None]]) -> None:
    """Makes each title found inside a block a heading block of its own, and points the headings at the new blocks."""
    cuts: dict[int, list[tuple[Place, Heading]]] = {}
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


def _usual_headings(document: ParsedDocument, taken: set[int]) -> list[Heading]:
    """Abstract, references and the like, which outlines leave out; without them the last section would hold them."""
    found = []
    for index, block in enumerate(document.blocks):
        if block.kind is BlockKind.HEADING and index not in taken and USUAL_TITLES.match(block.text):
            number, title = split_number(block.text)
            if len(title.split()) <= 8:
                found.append(Heading(index, 1, number, title))
    return found


def _printed_number(block: Block, start: int, title: str) -> str:
    """The number that the page prints before a title which the outline gives without."""
    number, rest = split_number(" ".join(line.text for line in block.lines[start : start + 3]))
    return number if number and title_key(rest).startswith(title_key(title)[:40]) else ""


def _make_tree(document: ParsedDocument, headings: list[Heading]) -> SectionTree:
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
