"""Markdown as blocks of its own source lines: what is quoted from them stands so in the file, markup and all."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

from services.documents.parsing.blocks import Block, BlockKind, Line, ParsedDocument
from services.documents.parsing.enumerated import gather_enumerated
from services.documents.parsing.markup import plain_title
from services.documents.parsing.plain import read_text

_FRONT_MATTER = re.compile(r"\A(---|\+\+\+)[ \t]*\n(.*?)\n\1[ \t]*(?:\n|\Z)", re.DOTALL)
_TITLE = re.compile(r"^title\s*[:=]\s*(.+?)\s*$", re.MULTILINE)
# A site generator's call ({{< … >}}, {{% … %}}, {% … %}) or a comment alone on its line draws nothing to read.
_CALL_LINE = re.compile(r"^\s*(?:\{\{[<%].*[>%]\}\}|\{%.*%\}|\{:.*\}|<!--.*-->|</?[a-z][^<>]*>)\s*$", re.IGNORECASE)
_DELIMITER_ROW = re.compile(r"^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$")


def parse_markdown(path: Path) -> ParsedDocument:
    """A Markdown file as blocks. The title is the front matter's, else the first heading's."""
    text = read_text(path)
    title = ""
    front = _FRONT_MATTER.match(text)
    if front:
        found = _TITLE.search(front.group(2))
        title = found.group(1).strip("\"'") if found else ""
        # Blank lines keep the line numbers of what follows.
        text = "\n" * front.group(0).count("\n") + text[front.end() :]
    source = text.split("\n")
    tokens = MarkdownIt("commonmark", {"maxNesting": 40}).enable("table").parse(text)
    blocks = gather_enumerated(_Reader(source).read(tokens))
    if not title:
        title = next((block.text for block in blocks if block.kind is BlockKind.HEADING), "")
    return ParsedDocument("markdown", title=title[:300], blocks=blocks)


class _Reader:
    """Walks the tokens of the outermost level; what they cover is taken from the source by line."""

    def __init__(self, source: list[str]) -> None:
        self._source = source
        self._blocks: list[Block] = []

    def read(self, tokens: Sequence[Token]) -> list[Block]:
        index = 0
        while index < len(tokens):
            token = tokens[index]
            end = _matching(tokens, index)
            self._read_one(token, tokens[index : end + 1])
            index = end + 1
        return self._blocks

    def _read_one(self, token: Token, inner: Sequence[Token]) -> None:
        if token.map is None or token.type == "hr":
            return
        start, end = token.map
        if token.type == "heading_open":
            title = plain_title(inner[1].content)
            if title:
                self._blocks.append(Block(BlockKind.HEADING, [Line(title)], level=int(token.tag[1:])))
        elif token.type in ("bullet_list_open", "ordered_list_open"):
            self._add_list(start, end, inner)
        elif token.type == "table_open":
            self._add_table(start, end)
        elif token.type in ("fence", "code_block"):
            self._add(BlockKind.CODE, start, end)
        elif token.type == "html_block" and _is_comment("\n".join(self._source[start:end])):
            return
        else:
            self._add(BlockKind.PARAGRAPH, start, end)

    def _announced(self) -> bool:
        """Whether the block before ends with a colon and so belongs to what comes."""
        return (
            bool(self._blocks)
            and self._blocks[-1].kind is BlockKind.PARAGRAPH
            and bool(re.search(r"[:：][*_`]*\s*$", self._blocks[-1].text))
        )

    def _lines(self, start: int, end: int, *, code: bool = False) -> list[tuple[int, Line]]:
        kept = []
        for number in range(start, min(end, len(self._source))):
            text = self._source[number].rstrip()
            if (text or code) and (code or not _CALL_LINE.match(text)):
                kept.append((number, Line(text)))
        while kept and not kept[-1][1].text:
            kept.pop()
        return kept

    def _add(self, kind: BlockKind, start: int, end: int) -> None:
        lines = [line for _, line in self._lines(start, end, code=kind is BlockKind.CODE)]
        if lines:
            attached = kind is BlockKind.CODE and self._announced()
            self._blocks.append(Block(kind, lines, attached=attached))

    def _add_list(self, start: int, end: int, inner: Sequence[Token]) -> None:
        kept = self._lines(start, end)
        position = {number: index for index, (number, _) in enumerate(kept)}
        items: list[int] = []
        levels: list[int] = []
        depth = -1
        for token in inner:
            if token.type in ("bullet_list_open", "ordered_list_open"):
                depth += 1
            elif token.type in ("bullet_list_close", "ordered_list_close"):
                depth -= 1
            elif token.type == "list_item_open" and token.map and token.map[0] in position:
                index = position[token.map[0]]
                if not items or items[-1] != index:
                    items.append(index)
                    levels.append(depth)
        if items:
            lines = [line for _, line in kept]
            self._blocks.append(Block(BlockKind.LIST, lines, items=items, levels=levels, attached=self._announced()))

    def _add_table(self, start: int, end: int) -> None:
        lines = [line for _, line in self._lines(start, end)]
        header_count = 2 if len(lines) > 1 and _DELIMITER_ROW.match(lines[1].text) else 1
        columns = [plain_title(cell) for cell in split_row(lines[0].text)]
        cells = [list(enumerate(split_row(line.text))) for line in lines[header_count:]]
        self._blocks.append(
            Block(
                BlockKind.TABLE,
                lines,
                items=list(range(header_count, len(lines))),
                header_count=header_count,
                columns=columns,
                cells=cells,
                attached=self._announced(),
            )
        )


def split_row(text: str) -> list[str]:
    """Cells of a pipe table's row; a pipe after a backslash is text."""
    cells = re.split(r"(?<!\\)\|", text.strip())
    if cells and not cells[0].strip():
        cells = cells[1:]
    if cells and not cells[-1].strip():
        cells = cells[:-1]
    return [cell.strip() for cell in cells]


def _matching(tokens: Sequence[Token], index: int) -> int:
    """Index of the token that closes the one at `index`; itself where it stands alone."""
    if tokens[index].nesting != 1:
        return index
    depth = 0
    for number in range(index, len(tokens)):
        depth += tokens[number].nesting
        if depth == 0:
            return number
    return len(tokens) - 1


def _is_comment(text: str) -> bool:
    return not re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL).strip()
