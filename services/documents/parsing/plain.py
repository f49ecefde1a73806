"""Plain text of any encoding: paragraphs by empty lines, headings by underlines or numbers, lists by markers."""

from __future__ import annotations

import re
from pathlib import Path

from services.documents.parsing.blocks import Block, BlockKind, Line, ParsedDocument
from services.documents.parsing.refusal import ParseRefused, RefusalReason

_UNDERLINE = re.compile(r"^\s*([=\-~^*#])\1{2,}\s*$")
_NUMBERED = re.compile(
    r"^(?:(?:chapter|section|part|appendix|article)\s+)?(?:\d{1,3}(?:\.\d{1,3})*\.?|[A-Z]\.\d[\d.]*|§\s*[\d.]+)\s+[^\W\d_]",
    re.I,
)
_MARKER = re.compile(r"^(\s*)(?:[-*•+]|\(?[a-zA-Z0-9]{1,3}[.)])\s+\S")


def decode(data: bytes) -> str:
    """Text of bytes: UTF-8 with or without a mark, UTF-16 with one, else the likeliest 8-bit encoding."""
    for mark, encoding in ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        from charset_normalizer import from_bytes

        best = from_bytes(data[:200_000]).best()
        encoding = best.encoding if best is not None else "latin-1"
        return data.decode(encoding, "replace")


def read_text(path: Path) -> str:
    """The file's text with plain line ends. Raises ParseRefused where there is nothing but white space."""
    text = decode(path.read_bytes()).replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        raise ParseRefused(RefusalReason.EMPTY, "The file holds no text.")
    return text


def parse_plain(path: Path) -> ParsedDocument:
    """A text file as blocks."""
    blocks: list[Block] = []
    for chunk in re.split(r"\n[ \t]*\n", read_text(path)):
        lines = [line.rstrip() for line in chunk.split("\n") if line.strip()]
        if lines:
            blocks.extend(_read_chunk(lines))
    title = next((block.text for block in blocks if block.kind is BlockKind.HEADING), "")
    return ParsedDocument("text", title=title[:300], blocks=blocks)


def _read_chunk(lines: list[str]) -> list[Block]:
    if len(lines) >= 2 and _UNDERLINE.match(lines[1]) and len(lines[0]) <= 120:
        level = 1 if lines[1].strip()[0] in "=#" else 2
        head = Block(BlockKind.HEADING, [Line(lines[0].strip())], level=level)
        return [head, *(_read_chunk(lines[2:]) if len(lines) > 2 else [])]
    first = lines[0].strip()
    if len(lines) == 1 and len(first) <= 100 and first[-1] not in ".,;:":
        if _NUMBERED.match(first):
            number = re.search(r"[\d.]+", first)
            return [
                Block(
                    BlockKind.HEADING, [Line(first)], level=1 + (number.group().strip(".").count(".") if number else 0)
                )
            ]
        if first.isupper() and len(first) > 3:
            return [Block(BlockKind.HEADING, [Line(first)], level=1)]
    items = [index for index, line in enumerate(lines) if _MARKER.match(line)]
    if len(items) >= 2:
        return _read_list(lines, items)
    return [Block(BlockKind.PARAGRAPH, [Line(line.strip(), glue="\n") for line in lines])]


def _read_list(lines: list[str], items: list[int]) -> list[Block]:
    """The lines before the first marker announce the list."""
    found: list[Block] = []
    if items[0]:
        found.append(Block(BlockKind.PARAGRAPH, [Line(line.strip()) for line in lines[: items[0]]]))
    body = lines[items[0] :]
    starts = [index - items[0] for index in items]
    indents = [len(body[index]) - len(body[index].lstrip()) for index in starts]
    edges = sorted(set(indents))
    found.append(
        Block(
            BlockKind.LIST,
            [Line(line.strip()) for line in body],
            items=starts,
            levels=[edges.index(indent) for indent in indents],
            attached=bool(items[0]),
        )
    )
    return found
