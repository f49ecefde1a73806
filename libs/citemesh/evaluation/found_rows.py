"""A file of what was found, a JSON line a query: a long measurement can be ended and gone on with.

    {"corpus": DIGEST, "encoder": ..., "query_id", "text", "found": {WAY: [[passage_id, document_id, start, end], ...]}}

Before `query_id` stands what was searched, and by what: rows of two systems never meet in one file. `start` and `end`
are left out where the passage's place in its document was not asked for or is not known.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from citemesh.evaluation.collection_files import CollectionError
from citemesh.evaluation.found_passages import FoundPassage, Searched
from citemesh.evaluation.judged_collection import JudgedQuery


class FoundRows:
    """The rows of one system over one collection in a file, which is made where it is missing."""

    def __init__(self, path: Path, origin: Mapping[str, str]) -> None:
        """`origin`: what each row must agree in, by name; `corpus` is the digest of the documents."""
        self._path = path
        self._origin = dict(origin)

    def read(self, queries: Sequence[JudgedQuery], ways: Sequence[str]) -> dict[str, Searched]:
        """By query id, what was found for these queries in all of these ways. A line cut off by a kill is left out.

        Raises CollectionError where a row is of another origin or cannot be read.
        """
        asked = {query.query_id: query for query in queries}
        searched: dict[str, Searched] = {}
        for number, line in enumerate(self._read_whole_lines(), start=1):
            try:
                row = json.loads(line)
                query_id, text, found = row["query_id"], row["text"], row["found"]
                others = [name for name, value in self._origin.items() if row.get(name) != value]
                query = asked.get(query_id)
                if query is not None and query.text == text and set(ways) <= set(found):
                    searched[query_id] = Searched(query, _read_found(found))
            except (AttributeError, KeyError, TypeError, ValueError) as error:
                raise CollectionError(f"{self._path}, line {number}: no row of what was found") from error
            if others:
                raise CollectionError(self._describe_other(others[0], row.get(others[0])))
        return searched

    def add(self, searched: Searched) -> None:
        """Append a row. Raises OSError where it cannot be written."""
        row = {
            **self._origin,
            "query_id": searched.query.query_id,
            "text": searched.query.text,
            "found": {way: [_write_passage(each) for each in found] for way, found in searched.passages.items()},
        }
        with self._path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(row, ensure_ascii=False) + "\n")

    def _read_whole_lines(self) -> list[str]:
        """The lines that end; what a kill left of one behind them, be it half a character, is cut off the file."""
        data = self._path.read_bytes() if self._path.exists() else b""
        whole = data[: data.rfind(b"\n") + 1]
        if whole != data:
            self._path.write_bytes(whole)
        return whole.decode("utf-8").split("\n")[:-1]

    def _describe_other(self, name: str, value: object) -> str:
        if name == "corpus":
            return f"{self._path} holds rows of other documents: name another file."
        held = "a row that does not say" if value is None else f"rows of {value!r}"
        return f"{self._path} holds {held}, and the {name} is now {self._origin[name]!r}: name another file."


def _read_found(found: Mapping[str, Sequence[Sequence[Any]]]) -> dict[str, list[FoundPassage]]:
    return {
        way: [FoundPassage(str(each[0]), str(each[1]), (each[2], each[3]) if len(each) == 4 else None) for each in rows]
        for way, rows in found.items()
    }


def _write_passage(passage: FoundPassage) -> list[Any]:
    return [passage.passage_id, passage.document_id, *(passage.span or ())]
