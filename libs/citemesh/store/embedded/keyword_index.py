"""The tantivy index of one tenant: its fields, how passages become entries, and the sequence it has reached."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable
from pathlib import Path

import tantivy

from citemesh.store.analysis import INDEXED_FIELDS, analyse_passage
from citemesh.v1.evidence_pb2 import Passage

# tantivy's smallest heap for one thread; a commit of one document needs little.
WRITER_HEAP_SIZE_BYTES = 16_000_000

# Part of the folder's name: an index with other fields or another analysis is built anew beside it.
FORMAT_VERSION = 3


def build_schema() -> tantivy.Schema:
    """Fields hold words that are analysed already, joined by spaces: languages differ, the index does not."""
    builder = tantivy.SchemaBuilder()
    for name in INDEXED_FIELDS:
        builder.add_text_field(name, tokenizer_name="whitespace", index_option="position" if name == "text" else "freq")
    builder.add_unsigned_field("passage_row", fast=True)
    builder.add_unsigned_field("version_row", fast=True, indexed=True)
    # The one entry that is no passage: how far the index has come.
    builder.add_unsigned_field("stamp", fast=True, indexed=True)
    builder.add_unsigned_field("is_stamp", indexed=True)
    return builder.build()


def index_directory(root: Path, tenant_id: str) -> Path:
    """The folder of a tenant's index below the store's `root`."""
    return root / f"keyword-{FORMAT_VERSION}" / hashlib.sha256(tenant_id.encode()).hexdigest()[:32]


def open_index(path: Path | None) -> tantivy.Index:
    """The index in `path` (made where it is missing), or one in memory; raises ValueError where it is damaged."""
    if path is not None:
        path.mkdir(parents=True, exist_ok=True)
    index = tantivy.Index(build_schema(), path=None if path is None else str(path))
    index.config_reader("manual")
    index.reload()
    return index


def read_stamp(index: tantivy.Index) -> int:
    """The change sequence that the loaded state of `index` has reached; 0 for an empty one."""
    searcher = index.searcher()
    hits = searcher.search(tantivy.Query.term_query(index.schema, "is_stamp", 1), limit=4, count=False).hits
    stamps = searcher.fast_field_values("stamp", [address for _, address in hits]) if hits else []
    return max((int(stamp) for stamp in stamps if stamp is not None), default=0)


def count_passages(index: tantivy.Index) -> int:
    """Passages in the loaded state of `index`."""
    return max(0, index.searcher().num_docs - 1)


def is_index_failure(error: BaseException) -> bool:
    """Whether `error` is how tantivy says that its files are damaged: ValueError, or a panic of its Rust side."""
    # pyo3's PanicException derives from BaseException and cannot be imported.
    return isinstance(error, ValueError | OSError) or type(error).__name__ == "PanicException"


def write_versions(
    writer: tantivy.IndexWriter, connection: sqlite3.Connection, version_rows: Iterable[int], stamp: int
) -> None:
    """Bring versions up to date in `writer` and move its stamp; the caller commits."""
    schema = build_schema()
    for version_row in version_rows:
        # By query: delete_documents_by_term finds nothing in an unsigned field, and does not say so.
        writer.delete_documents_by_query(tantivy.Query.term_query(schema, "version_row", version_row))
        add_version(writer, connection, version_row)
    writer.delete_documents_by_query(tantivy.Query.term_query(schema, "is_stamp", 1))
    entry = tantivy.Document()
    entry.add_unsigned("is_stamp", 1)
    entry.add_unsigned("stamp", stamp)
    writer.add_document(entry)


def add_version(writer: tantivy.IndexWriter, connection: sqlite3.Connection, version_row: int) -> None:
    """Add every passage of a version; none where the version is gone."""
    rows = connection.execute("SELECT passage_row, passage FROM passages WHERE version_row = ?", (version_row,))
    for passage_row, data in rows:
        writer.add_document(_make_entry(int(passage_row), version_row, Passage.FromString(data)))


def _make_entry(passage_row: int, version_row: int, passage: Passage) -> tantivy.Document:
    entry = tantivy.Document()
    entry.add_unsigned("passage_row", passage_row)
    entry.add_unsigned("version_row", version_row)
    for name, words in analyse_passage(passage).items():
        entry.add_text(name, words)
    return entry
