"""Plain text of any encoding: paragraphs by empty lines, headings by underlines or numbers, lists by markers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from services.documents.parsing.blocks import Block, BlockKind, Line, ParsedDocument
from services.documents.parsing.refusal import ParseRefused, RefusalReason

MAX_TEXT_BYTES: Final = 80 * 1024 * 1024
_SAMPLE_SIZE: Final = 8192
_MARKS: Final = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe\0\0", "utf-32"),
    (b"\0\0\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
_UNDERLINE = re.compile(r"^\s*([=\-~^*#])\1{2,}\s*$")
_NUMBERED = re.compile(
    r"^(?:(?:chapter|section|part|appendix|article)\s+)?(?:\d{1,3}(?:\.\d{1,3})*\.?|[A-Z]\.\d[\d.]*|§\s*[\d.]+)\s+[^\W\d_]",
    re.I,
)
_MARKER = re.compile(r"^(\s*)(?:[-*•+]|\(?[a-zA-Z0-9]{1,3}[.)])\s+\S")


def decode(data: bytes, declared: str = "") -> str:
    """Text of bytes: by their mark, as UTF-8, as `declared` says, as UTF-16 without a mark, else by likelihood."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return _decode_by_name(data, declared) or _decode_unmarked(data)
    return _decode_unmarked(data) if "\0" in text[:_SAMPLE_SIZE] else text


def _decode_by_name(data: bytes, declared: str) -> str:
    """Text in the encoding that the file says it has; empty where it does not."""
    try:
        # Pages that say Latin-1 are in its superset, as browsers read them.
        latin = declared.lower() in ("iso-8859-1", "latin1", "us-ascii", "ascii")
        return data.decode("cp1252" if latin else declared, "strict") if declared else ""
    except (LookupError, ValueError):
        return ""


def _decode_unmarked(data: bytes) -> str:
    wide = tell_wide_encoding(data[:_SAMPLE_SIZE])
    if wide:
        return data.decode(wide, "replace")
    from charset_normalizer import from_bytes

    best = from_bytes(data[:200_000]).best()
    return data.decode(best.encoding if best is not None else "latin-1", "replace")


def tell_wide_encoding(sample: bytes) -> str:
    """The UTF-16 of text without a mark: where letters are mostly Latin every second byte is zero; empty elsewhere."""
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    half = len(sample) // 2
    if half >= 4 and max(even, odd) > 0.4 * half and min(even, odd) < 0.05 * half:
        return "utf-16-le" if odd > even else "utf-16-be"
    return ""


def read_text(path: Path, declared: str = "") -> str:
    """The file's text with plain line ends; `declared` is the encoding that its format names.

    Raises ParseRefused where there is nothing but white space, or more than is read.
    """
    if path.stat().st_size > MAX_TEXT_BYTES:
        raise ParseRefused(
            RefusalReason.TOO_LARGE, f"The file holds more than the {MAX_TEXT_BYTES >> 20} MiB of text that are read."
        )
    text = decode(path.read_bytes(), declared).replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    if not text.strip():
        raise ParseRefused(RefusalReason.EMPTY, "The file holds no text.")
    return text


def parse_plain(path: Path) -> ParsedDocument:
    """A text file as blocks."""
    blocks = read_plain(read_text(path))
    title = next((block.text for block in blocks if block.kind is BlockKind.HEADING), "")
    return ParsedDocument("text", title=title[:300], blocks=blocks)


def read_plain(text: str) -> list[Block]:
    """Text with plain line ends as blocks."""
    blocks: list[Block] = []
    for chunk in re.split(r"\n[ \t]*\n", text):
        lines = [line.rstrip() for line in chunk.split("\n") if line.strip()]
        if lines:
            blocks.extend(_read_chunk(lines))
    return blocks


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
