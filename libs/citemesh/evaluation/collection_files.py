"""The files of a collection in the BEIR layout: which there are, and their rows with the place where each stands."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class CollectionError(ValueError):
    """A collection that cannot be read; the text names the file, the row where it is one, and what is wrong."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a file, and where it stands."""

    place: str
    fields: Mapping[str, Any]

    def read_id(self, name: str) -> str:
        """Its "_id", or what `name` holds. Raises CollectionError where it has neither."""
        value = self.fields.get("_id", self.fields.get(name))
        if value is None:
            raise self.fault(f'it has neither "_id" nor "{name}"')
        return str(value)

    def read_text(self, name: str) -> str:
        """A field that it must have."""
        if name not in self.fields:
            raise self.fault(f'it has no "{name}"')
        return str(self.fields[name])

    def fault(self, text: str) -> CollectionError:
        """The error to raise for it."""
        return CollectionError(f"{self.place}: {text}")


def find_file(folder: Path, name: str) -> Path:
    """NAME.jsonl of a folder, compressed or not. Raises CollectionError where there is none."""
    found = find_optional(folder, name)
    if found is None:
        raise CollectionError(f"{folder} has no {name}.jsonl or {name}.jsonl.gz: name a folder in the BEIR layout.")
    return found


def find_optional(folder: Path, name: str) -> Path | None:
    """NAME.jsonl of a folder, compressed or not; None where there is none."""
    return next((path for ending in ("jsonl", "jsonl.gz") if (path := folder / f"{name}.{ending}").is_file()), None)


def read_rows(path: Path) -> Iterator[Row]:
    """The lines of a file, empty ones left out. Raises CollectionError where one is no JSON object."""
    data = path.read_bytes()
    try:
        lines = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8").split("\n")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise CollectionError(f"{path}: {error}") from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            fields = json.loads(line)
        except ValueError as error:
            raise CollectionError(f"{path}, line {number}: {error}") from error
        row = Row(f"{path}, line {number}", fields)
        if not isinstance(fields, dict):
            raise row.fault("it is no JSON object")
        yield row


def read_table(path: Path) -> Iterator[tuple[str, str, float]]:
    """Query, document and grade of each line of a table with a heading. Raises CollectionError."""
    with path.open(encoding="utf-8", newline="") as stream:
        for number, row in enumerate(csv.DictReader(stream, delimiter="\t"), start=2):
            try:
                yield row["query-id"], row["corpus-id"], float(row["score"])
            except (KeyError, TypeError, ValueError) as error:
                raise CollectionError(
                    f"{path}, line {number}: a judgement is query-id, corpus-id and score, with tabs between"
                ) from error
