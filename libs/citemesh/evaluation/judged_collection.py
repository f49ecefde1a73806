"""Judged collections in the BEIR layout: a corpus, queries, and which documents are relevant to which query.

    DIR/corpus.jsonl    {"_id", "title", "text"}            (or "doc_id")
    DIR/queries.jsonl   {"_id", "text", "split"?}           (or "query_id"; "spans" instead of judgements, see below)
    DIR/qrels/test.tsv  query-id, corpus-id, score          (or DIR/qrels.jsonl with query_id, doc_id, rel)

Each file may be compressed (.gz). Queries whose relevant places are given as "spans" ([{"doc_id", "start", "end"}],
character offsets into the document's text) are measured by how many of those characters are found.
"""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

_SPLITS: Final = ("test", "dev", "train")


class CollectionError(ValueError):
    """A collection that cannot be read; the text names the file and what to do."""


@dataclass(frozen=True, slots=True)
class CorpusDocument:
    """One document."""

    document_id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Span:
    """Characters of one document that answer a query: from `start` to before `end`."""

    document_id: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class JudgedQuery:
    """One query with what is known to be relevant: documents by their grade (above 0), or spans."""

    query_id: str
    text: str
    set_name: str
    grades: Mapping[str, float]
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class Collection:
    """A whole collection; queries without judgements are left out."""

    name: str
    documents: tuple[CorpusDocument, ...]
    queries: tuple[JudgedQuery, ...]


def read_collection(folder: Path, split: str = "") -> Collection:
    """Read a folder; with `split`, the judgements and queries of that split alone. Raises CollectionError."""
    documents = tuple(
        CorpusDocument(_read_id(row, "doc_id"), str(row.get("title") or ""), str(row["text"]))
        for row in _read_lines(_find(folder, "corpus"))
    )
    judgements = _read_judgements(folder, split)
    queries = tuple(_read_queries(folder, judgements, split))
    if not documents or not queries:
        raise CollectionError(f"{folder} holds {len(documents)} documents and {len(queries)} judged queries.")
    return Collection(folder.name, documents, queries)


def _read_queries(folder: Path, judgements: Mapping[str, Mapping[str, float]], split: str) -> Iterator[JudgedQuery]:
    for row in _read_lines(_find(folder, "queries")):
        if split and row.get("split", split) != split:
            continue
        query_id = _read_id(row, "query_id")
        spans = tuple(Span(str(span["doc_id"]), int(span["start"]), int(span["end"])) for span in row.get("spans", ()))
        grades = judgements.get(query_id, {})
        if grades or spans:
            yield JudgedQuery(query_id, str(row["text"]), str(row.get("set") or folder.name), grades, spans)


def _read_judgements(folder: Path, split: str) -> dict[str, dict[str, float]]:
    judged: dict[str, dict[str, float]] = {}

    def add(query_id: str, document_id: str, grade: float) -> None:
        if grade > 0:
            judged.setdefault(query_id, {})[document_id] = grade

    tables = [folder / "qrels" / f"{name}.tsv" for name in ((split,) if split else _SPLITS)]
    table = next((path for path in tables if path.is_file()), None)
    if table is not None:
        with table.open(encoding="utf-8", newline="") as stream:
            for row in csv.DictReader(stream, delimiter="\t"):
                add(row["query-id"], row["corpus-id"], float(row["score"]))
    elif (lines := _find_optional(folder, "qrels")) is not None:
        for item in _read_lines(lines):
            add(str(item["query_id"]), str(item["doc_id"]), float(item.get("rel", 1)))
    return judged


def _find(folder: Path, name: str) -> Path:
    found = _find_optional(folder, name)
    if found is None:
        raise CollectionError(f"{folder} has no {name}.jsonl or {name}.jsonl.gz: name a folder in the BEIR layout.")
    return found


def _find_optional(folder: Path, name: str) -> Path | None:
    return next((path for ending in ("jsonl", "jsonl.gz") if (path := folder / f"{name}.{ending}").is_file()), None)


def _read_lines(path: Path) -> Iterator[dict[str, Any]]:
    data = path.read_bytes()
    lines = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8").split("\n")
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                yield json.loads(line)
            except ValueError as error:
                raise CollectionError(f"{path}, line {number}: {error}") from error


def _read_id(row: Mapping[str, Any], name: str) -> str:
    value = row.get("_id", row.get(name))
    if value is None:
        raise CollectionError(f'A row has neither "_id" nor "{name}": {sorted(row)}')
    return str(value)
