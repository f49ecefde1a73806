"""JSON and JSON lines as blocks: objects are sections and nested items, arrays of records are tables."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from services.documents.parsing.blocks import Block, BlockKind, Line, ParsedDocument
from services.documents.parsing.plain import read_text
from services.documents.parsing.refusal import ParseRefused, RefusalReason
from services.documents.parsing.tabular import make_table

MAX_VALUE_COUNT: Final = 200_000
_MAX_TEXT_CHARS: Final = 20_000_000
_MAX_COLUMNS: Final = 60
_SECTION_DEPTH: Final = 4
_MAX_CELL_CHARS: Final = 300


def parse_json(path: Path) -> ParsedDocument:
    """A file of JSON, or of a JSON value on each line. Raises ParseRefused where it is neither, or empty."""
    text = read_text(path)
    writer = _Writer()
    try:
        value = _load(text)
        writer.write(value, "", 0)
    except RecursionError as error:
        raise ParseRefused(RefusalReason.UNREADABLE, "The file's values are nested too deeply.") from error
    except ValueError as error:
        raise ParseRefused(RefusalReason.UNREADABLE, "The file is damaged: it is not JSON.") from error
    document = ParsedDocument("json", blocks=writer.blocks)
    if isinstance(value, Mapping):
        document.title = next((t for key in ("title", "name") if isinstance(t := value.get(key), str)), "")[:300]
    if writer.is_full:
        document.truncated = f"only the first {MAX_VALUE_COUNT:,} values were read"
    if not document.blocks:
        raise ParseRefused(RefusalReason.EMPTY, "The file holds no values.")
    return document


def _load(text: str) -> Any:
    """The value; the array of those on each line where the whole is none."""
    try:
        return json.loads(text)
    except ValueError:
        lines = [line for line in text.split("\n") if line.strip()]
        if len(lines) < 2:
            raise
        return [json.loads(line) for line in lines]


class _Writer:
    """Writes values as blocks, until there are as many as are read."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self._left = MAX_VALUE_COUNT

    @property
    def is_full(self) -> bool:
        """Whether something was left out."""
        return self._left <= 0

    def write(self, value: Any, name: str, depth: int) -> None:
        """A value below a heading of its name; nested below sections, deeper as items."""
        if self.is_full:
            return
        if name:
            self.blocks.append(Block(BlockKind.HEADING, [Line(name)], level=depth))
        if isinstance(value, Mapping) and depth < _SECTION_DEPTH:
            flat = {key: each for key, each in value.items() if not _is_large(each)}
            self._write_items(flat)
            for key, each in value.items():
                if key not in flat:
                    self.write(each, key, depth + 1)
        elif _are_records(value):
            self._write_table(value)
        else:
            self._write_items(value)

    def _write_table(self, records: Sequence[Mapping[str, Any]]) -> None:
        columns = list(dict.fromkeys(key for record in records for key in record))
        rows = []
        for record in records:
            self._left -= max(len(record), 1)
            if self.is_full:
                break
            rows.append([_as_text(record[column]) if column in record else "" for column in columns])
        table = make_table([columns, *rows], header_count=1)
        if table is not None:
            self.blocks.append(table)

    def _write_items(self, value: Any) -> None:
        """Values as list items, each in the depth where it stands."""
        lines: list[Line] = []
        levels: list[int] = []
        for text, level in _walk(value, 0):
            self._left -= 1
            if self.is_full:
                break
            lines.append(Line(text))
            levels.append(level)
        if len(lines) == 1:
            self.blocks.append(Block(BlockKind.PARAGRAPH, lines))
        elif lines:
            self.blocks.append(Block(BlockKind.LIST, lines, items=list(range(len(lines))), levels=levels))


def _walk(value: Any, level: int) -> Iterator[tuple[str, int]]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            if isinstance(each, (Mapping, list)) and each:
                yield f"{key}:", level
                yield from _walk(each, level + 1)
            else:
                yield f"{key}: {_as_text(each)}", level
    elif isinstance(value, list):
        for number, each in enumerate(value, start=1):
            if isinstance(each, (Mapping, list)) and each:
                yield f"{number}:", level
                yield from _walk(each, level + 1)
            else:
                yield from _walk(each, level)
    else:
        text = _as_text(value)
        if text:
            yield text, level


def _is_large(value: Any) -> bool:
    return isinstance(value, (Mapping, list)) and bool(value)


def _are_records(value: Any) -> bool:
    """Whether it is an array of two objects or more that hold short values under few names."""
    if not isinstance(value, list) or len(value) < 2 or not all(isinstance(each, Mapping) and each for each in value):
        return False
    names = {key for record in value for key in record}
    if len(names) > _MAX_COLUMNS:
        return False
    cells = [each for record in value[:1000] for each in record.values()]
    return all(not _is_large(each) and len(str(each)) <= _MAX_CELL_CHARS for each in cells)


def _as_text(value: Any) -> str:
    if isinstance(value, str):
        if len(value) > _MAX_TEXT_CHARS:
            raise ParseRefused(
                RefusalReason.TOO_LARGE,
                f"A text in the file has more than {_MAX_TEXT_CHARS:,} characters.",
            )
        return " ".join(value.split())
    if value is None or value in ({}, []):
        return ""
    return json.dumps(value, ensure_ascii=False)
