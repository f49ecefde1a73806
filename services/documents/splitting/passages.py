"""Fills passages from the blocks of each section, in order: what belongs together stays together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from citemesh.store.labels import canonical_label
from citemesh.text.hashes import hash_text
from citemesh.v1.evidence_pb2 import LineBox, Passage, PassageKind
from services.documents.fingerprints import simhash
from services.documents.language import tell_passage_language
from services.documents.parsing.blocks import Block, BlockKind, ParsedDocument
from services.documents.references import find_label, find_references, nearest_section
from services.documents.relative_places import add_relative_references
from services.documents.sections import SectionTree
from services.documents.splitting.pieces import CountTokens, Piece, cut_block
from services.documents.splitting.spans import join

_TEXT, _LIST = PassageKind.PASSAGE_KIND_TEXT, PassageKind.PASSAGE_KIND_LIST
_HEADING = PassageKind.PASSAGE_KIND_HEADING
_INTRODUCTION_TOKEN_COUNT = 90


@dataclass(frozen=True, slots=True)
class Lengths:
    """Tokens of the encoder.

    Passages are filled to `target`; what belongs together is cut above `limit` only, a table above `table_limit`;
    passages below `least` join a neighbour.
    """

    target: int = 180
    limit: int = 240
    table_limit: int = 480
    least: int = 40


def make_passages(
    document: ParsedDocument,
    tree: SectionTree,
    count_tokens: CountTokens,
    language: str,
    lengths: Lengths | None = None,
) -> list[Passage]:
    """Passages of a document in the order of its text.

    Set are text, hashes, section_path, section_number, parent_id, pages, kind, lines, language, token_count, label,
    references, heading_context and page_label; ids, version, ordinal, title and dates are the store's to set.
    """
    lengths = lengths or Lengths()
    numbers = {section.number.lower(): section.number for section in tree.sections if section.number}
    passages: list[Passage] = []
    for section_index, blocks in _by_section(document, tree):
        for piece in _fill_section(blocks, tree, count_tokens, lengths):
            passages.append(_to_passage(piece, tree, section_index, numbers, language, document.title))
    add_relative_references(passages, tree)
    labels = {page.number: page.label for page in document.pages}
    for passage in passages:
        passage.page_label = labels.get(passage.page_first, "")
    return passages


def _by_section(document: ParsedDocument, tree: SectionTree) -> list[tuple[int, list[Block]]]:
    """Runs of blocks of one section. A heading without text of its own goes to the section that follows it."""
    runs: list[tuple[int, list[Block]]] = []
    for index, block in enumerate(document.blocks):
        section = tree.of_block[index]
        if runs and runs[-1][0] != section and all(each.kind is BlockKind.HEADING for each in runs[-1][1]):
            runs[-1] = (section, [*runs[-1][1], block])
        elif runs and runs[-1][0] == section:
            runs[-1][1].append(block)
        else:
            runs.append((section, [block]))
    return runs


def _fill_section(
    blocks: Sequence[Block], tree: SectionTree, count_tokens: CountTokens, lengths: Lengths
) -> list[Piece]:
    filler = _Filler(count_tokens, lengths)
    for number, block in enumerate(blocks):
        following = blocks[number + 1] if number + 1 < len(blocks) else None
        filler.add(block, announces=following is not None and following.attached)
    return filler.finish()


class _Filler:
    """Gathers the pieces of one section; `_open` is the passage that is being filled."""

    def __init__(self, count_tokens: CountTokens, lengths: Lengths) -> None:
        self._count = count_tokens
        self._lengths = lengths
        self._done: list[Piece] = []
        self._open: list[Piece] = []
        self._after: list[Piece] = []
        self._introduction = ""

    def add(self, block: Block, *, announces: bool) -> None:
        """Takes the next block; `announces` says that the one after it completes this one."""
        if block.kind in (BlockKind.TABLE, BlockKind.FIGURE_CAPTION, BlockKind.FOOTNOTE):
            limit = self._lengths.table_limit if block.kind is BlockKind.TABLE else self._lengths.limit
            self._after.extend(cut_block(block, self._count, self._lengths.target, limit))
            return
        pieces = cut_block(block, self._count, self._lengths.target, self._lengths.limit, self._introduction)
        if not block.attached:
            self._introduction = ""
        if block.kind is BlockKind.LIST or (block.kind is BlockKind.CODE and len(pieces) > 1):
            self._add_apart(block, pieces)
        elif block.attached and block.lead and len(pieces) == 1:
            self._add_item(pieces[0])
        else:
            for piece in pieces:
                self._add_text(piece)
        if announces and pieces and block.kind is BlockKind.PARAGRAPH and not block.attached:
            self._introduction = pieces[-1].text.text[-600:]
            self._isolate_introduction(pieces[-1])

    def finish(self) -> list[Piece]:
        """All pieces of the section in order; a short last one joins the one before where it fits."""
        self._close()
        merged: list[Piece] = []
        for piece in self._done:
            last = merged[-1] if merged else None
            small = piece.token_count < self._lengths.least or (
                last is not None and last.token_count < self._lengths.least
            )
            joinable = last is not None and small and piece.kind in (_TEXT, _LIST, _HEADING) and not piece.context
            if (
                last is not None
                and joinable
                and last.kind in (_TEXT, _LIST, _HEADING)
                and last.token_count + piece.token_count <= self._lengths.limit
            ):
                merged[-1] = _join([last, piece], _kind_of([last, piece]))
            else:
                merged.append(piece)
        return merged

    def _total(self) -> int:
        return sum(piece.token_count for piece in self._open)

    def _close(self) -> None:
        if self._open:
            self._done.append(_join(self._open, _kind_of(self._open)))
            self._open = []
        self._done.extend(self._after)
        self._after = []

    def _add_text(self, piece: Piece) -> None:
        total = self._total()
        over = total + piece.token_count > self._lengths.target
        tiny = total < self._lengths.least and total + piece.token_count <= self._lengths.limit
        if self._open and over and not tiny:
            self._close()
        self._open.append(piece)

    def _isolate_introduction(self, piece: Piece) -> None:
        """What announces a list begins a passage of its own, so that the list can follow it whole."""
        if self._open and self._open[-1] is piece and len(self._open) > 1:
            before = self._open[:-1]
            if sum(each.token_count for each in before) >= self._lengths.least:
                self._open = before
                self._close()
                self._open = [piece]

    def _add_item(self, piece: Piece) -> None:
        """A named paragraph of an announced list, such as "Label Smoothing …" after "three types …:"."""
        item = Piece(piece.text, _LIST, piece.token_count, piece.context)
        if self._open and self._total() + item.token_count > self._lengths.limit:
            self._close()
            item = Piece(piece.text, _LIST, piece.token_count, self._introduction)
        self._open.append(item)

    def _add_apart(self, block: Block, pieces: list[Piece]) -> None:
        """A list, whole with its introduction where that fits, else part by part."""
        if not pieces:
            return
        first = pieces[0]
        fits = self._total() + first.token_count <= self._lengths.limit
        if self._open and not fits and not (block.attached and self._total() <= _INTRODUCTION_TOKEN_COUNT):
            self._close()
            if block.attached and self._introduction and not first.context:
                first = Piece(first.text, first.kind, first.token_count, self._introduction, first.label_text)
        self._open.append(first)
        if len(pieces) > 1:
            self._close()
            for piece in pieces[1:-1]:
                self._done.append(piece)
            self._open = [pieces[-1]]
        if block.attached and self._total() >= self._lengths.least:
            self._close()  # what follows a list is seldom about it


def _kind_of(pieces: Sequence[Piece]) -> PassageKind.ValueType:
    """The kind of joined pieces: a list with its introduction is a list, a heading with text is text."""
    weight: dict[PassageKind.ValueType, int] = {}
    for piece in pieces:
        weight[piece.kind] = weight.get(piece.kind, 0) + piece.token_count
    if len(weight) > 1:
        weight.pop(_HEADING, None)
    return max(weight, key=lambda kind: weight[kind] * (3 if kind == _LIST else 1))


def _join(pieces: Sequence[Piece], kind: PassageKind.ValueType) -> Piece:
    if len(pieces) == 1:
        return pieces[0]
    text = join([piece.text for piece in pieces], "\n")
    labels = next((piece.label_text for piece in pieces if piece.label_text), "")
    return Piece(text, kind, sum(piece.token_count for piece in pieces), pieces[0].context, labels)


def _to_passage(
    piece: Piece, tree: SectionTree, section_index: int, numbers: Mapping[str, str], language: str, title: str
) -> Passage:
    section = tree.sections[section_index] if section_index >= 0 else None
    number = section.number if section is not None else ""
    text = piece.text.text
    label = find_label(piece.label_text) if piece.label_text else ""
    first, last = piece.text.pages
    passage = Passage(
        text=text,
        content_hash=hash_text(text),
        simhash=simhash(text),
        section_path=tree.path(section_index),
        section_number=number,
        parent_id=section.section_id if section is not None else "",
        page_first=first,
        page_last=last,
        kind=piece.kind,
        language=tell_passage_language(text, language),
        token_count=piece.token_count,
        label=label,
        references=find_references(
            text,
            own_labels=_own_labels(tree, section_index, label),
            section_number=number,
            known_section=lambda wanted: nearest_section(wanted, numbers),
            title=title,
        ),
        heading_context=piece.context,
    )
    for span in piece.text.spans:
        if span.box is not None:
            x0, y0, x1, y1 = span.box
            passage.lines.append(
                LineBox(page_number=span.page, x0=x0, y0=y0, x1=x1, y1=y1, start_offset=span.start, end_offset=span.end)
            )
    return passage


def _own_labels(tree: SectionTree, section_index: int, label: str) -> set[str]:
    """The passage's own label and those of the sections that hold it."""
    numbers = [section.number for section in tree.line_of(section_index) if section.number]
    return {label, *(canonical_label(f"section {number}") for number in numbers)}
