"""Judged collections in the BEIR layout: a corpus, queries, and which documents are relevant to which query.

    DIR/corpus.jsonl    {"_id", "title", "text"}            (or "doc_id")
    DIR/queries.jsonl   {"_id", "text", "split"?}           (or "query_id"; "spans" instead of judgements, see below)
    DIR/qrels/test.tsv  query-id, corpus-id, score          (or DIR/qrels.jsonl with query_id, doc_id, rel)

Each file may be compressed (.gz). Queries whose relevant places are given as "spans" ([{"doc_id", "start", "end"}],
character offsets into the document's text) are measured by how many of those characters are found.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from citemesh.evaluation.collection_files import CollectionError, Row, find_file, find_optional, read_rows, read_table

_SPLITS: Final = ("test", "dev", "train")


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
    documents = tuple(_read_documents(find_file(folder, "corpus")))
    judgements = _read_judgements(folder, split)
    lengths = {document.document_id: len(document.text) for document in documents}
    queries = tuple(_read_queries(folder, judgements, split, lengths))
    if not documents or not queries:
        raise CollectionError(
            f"{folder} holds {len(documents)} documents and {len(queries)} judged queries: corpus.jsonl, queries.jsonl "
            "and qrels/test.tsv (query-id, corpus-id, score) must name each other's ids."
        )
    return Collection(_name(folder), documents, queries)


def _name(folder: Path) -> str:
    """The folder's name; "." has none of its own."""
    return folder.name or folder.resolve().name


def digest_documents(documents: Iterable[CorpusDocument]) -> str:
    """What a corpus holds, in 16 hexadecimal digits: the same for the same documents in any order and any folder."""
    each = sorted(
        hashlib.sha256(json.dumps((item.document_id, item.title, item.text)).encode()).digest() for item in documents
    )
    return hashlib.sha256(b"".join(each)).hexdigest()[:16]


def _read_documents(path: Path) -> Iterator[CorpusDocument]:
    known: set[str] = set()
    for row in read_rows(path):
        document_id = row.read_id("doc_id")
        if document_id in known:
            raise row.fault(f"the document {document_id!r} is there twice")
        known.add(document_id)
        yield CorpusDocument(document_id, str(row.fields.get("title") or ""), row.read_text("text"))


def _read_queries(
    folder: Path, judgements: Mapping[str, Mapping[str, float]], split: str, lengths: Mapping[str, int]
) -> Iterator[JudgedQuery]:
    known: set[str] = set()
    for row in read_rows(find_file(folder, "queries")):
        if split and row.fields.get("split", split) != split:
            continue
        query_id = row.read_id("query_id")
        if query_id in known:
            raise row.fault(f"the query {query_id!r} is there twice")
        known.add(query_id)
        spans = tuple(_read_spans(row, lengths))
        grades = judgements.get(query_id, {})
        if grades or spans:
            set_name = str(row.fields.get("set") or _name(folder))
            yield JudgedQuery(query_id, row.read_text("text"), set_name, grades, spans)


def _read_spans(row: Row, lengths: Mapping[str, int]) -> Iterator[Span]:
    """The row's spans, each within a document that the corpus holds."""
    for span in row.fields.get("spans") or ():
        try:
            read = Span(str(span["doc_id"]), int(span["start"]), int(span["end"]))
        except (KeyError, TypeError, ValueError) as error:
            raise row.fault(f'a span needs "doc_id", "start" and "end": {span!r}') from error
        if read.document_id not in lengths:
            raise row.fault(f"a span is in the document {read.document_id!r}, which the corpus does not hold")
        if not 0 <= read.start < read.end <= lengths[read.document_id]:
            size = f"{lengths[read.document_id]} characters of {read.document_id!r}"
            raise row.fault(f"a span from {read.start} to {read.end} is not within the {size}")
        yield read


def _read_judgements(folder: Path, split: str) -> dict[str, dict[str, float]]:
    judged: dict[str, dict[str, float]] = {}
    tables = [folder / "qrels" / f"{name}.tsv" for name in ((split,) if split else _SPLITS)]
    table = next((path for path in tables if path.is_file()), None)
    lines = find_optional(folder, "qrels")
    judgements: Iterable[tuple[str, str, float]] = ()
    if table is not None:
        judgements = read_table(table)
    elif lines is not None:
        judgements = map(_read_judgement, read_rows(lines))
    for query_id, document_id, grade in judgements:
        if grade > 0:
            judged.setdefault(query_id, {})[document_id] = grade
    return judged


def _read_judgement(row: Row) -> tuple[str, str, float]:
    try:
        return str(row.fields["query_id"]), str(row.fields["doc_id"]), float(row.fields.get("rel", 1))
    except (KeyError, TypeError, ValueError) as error:
        raise row.fault('a judgement needs "query_id", "doc_id" and, where it is not 1, "rel"') from error
