"""A file of what was found, a JSON line a query: a long measurement can be ended and gone on with.

    {"corpus": DIGEST, "query_id", "text", "found": {WAY: [[passage_id, document_id, start, end], ...]}}

`start` and `end` are left out where the passage's place in its document was not asked for or is not known.
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
    """The rows of one collection in a file, which is made where it is missing."""

    def __init__(self, path: Path, digest: str) -> None:
        self._path = path
        self._digest = digest

    def read(self, queries: Sequence[JudgedQuery], ways: Sequence[str]) -> dict[str, Searched]:
        """By query id, what was found for these queries in all of these ways. A line cut off by a kill is left out.

        Raises CollectionError where a row is of other documents or cannot be read.
        """
        text = self._path.read_text(encoding="utf-8") if self._path.exists() else ""
        whole = text[: text.rfind("\n") + 1]
        if whole != text:
            self._path.write_text(whole, encoding="utf-8")
        asked = {query.query_id: query for query in queries}
        searched: dict[str, Searched] = {}
        for number, line in enumerate(whole.split("\n")[:-1], start=1):
            try:
                row = json.loads(line)
                is_of_this_corpus = row["corpus"] == self._digest
                query = asked.get(row["query_id"])
                if query is not None and query.text == row["text"] and set(ways) <= set(row["found"]):
                    searched[query.query_id] = Searched(query, _read_found(row["found"]))
            except (KeyError, TypeError, ValueError) as error:
                raise CollectionError(f"{self._path}, line {number}: no row of what was found") from error
            if not is_of_this_corpus:
                raise CollectionError(f"{self._path} holds rows of other documents: name another file.")
        return searched

    def add(self, searched: Searched) -> None:
        """Append a row. Raises OSError where it cannot be written."""
        row = {
            "corpus": self._digest,
            "query_id": searched.query.query_id,
            "text": searched.query.text,
            "found": {way: [_write_passage(each) for each in found] for way, found in searched.passages.items()},
        }
        with self._path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(row, ensure_ascii=False) + "\n")


def _read_found(found: Mapping[str, Sequence[Sequence[Any]]]) -> dict[str, list[FoundPassage]]:
    return {
        way: [FoundPassage(str(each[0]), str(each[1]), (each[2], each[3]) if len(each) == 4 else None) for each in rows]
        for way, rows in found.items()
    }


def _write_passage(passage: FoundPassage) -> list[Any]:
    return [passage.passage_id, passage.document_id, *(passage.span or ())]
