"""Put new passages in the place of those of some pages, keeping the ids of all that did not change."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import numpy as np

from citemesh.store.contract import Vectors
from citemesh.store.embedded.rows import complete_passages, remove_passages, write_languages, write_passages
from citemesh.v1.document_pb2 import Document
from citemesh.v1.evidence_pb2 import Passage


def splice_pages(
    connection: sqlite3.Connection,
    tenant_id: str,
    version_row: int,
    document: Document,
    page_numbers: Sequence[int],
    passages: Sequence[Passage],
    vectors: Vectors,
) -> bool:
    """Replace the passages that touch `page_numbers`; return whether any text came or went."""
    pages = set(page_numbers)
    stored = [
        (int(row), Passage.FromString(data))
        for row, data in connection.execute(
            "SELECT passage_row, passage FROM passages WHERE version_row = ? ORDER BY ordinal", (version_row,)
        )
    ]
    removed = [(row, old) for row, old in stored if pages.intersection(range(old.page_first, old.page_last + 1))]
    completed = _complete_with_ids(connection, version_row, document, passages, [old for _, old in removed])
    # Rows are new even where ids are kept: derived indexes hold what belonged to the old ones.
    remove_passages(connection, [row for row, _ in removed])
    gone = {row for row, _ in removed}
    kept = [(row, old) for row, old in stored if row not in gone]
    order = _merge([old for _, old in kept], completed)
    for ordinal, passage in enumerate(order):
        passage.ordinal = ordinal
    connection.executemany(
        "UPDATE passages SET ordinal = ?, passage = ? WHERE passage_row = ?",
        [(passage.ordinal, passage.SerializeToString(), row) for row, passage in kept],
    )
    write_passages(connection, tenant_id, version_row, completed, np.asarray(vectors))
    write_languages(connection, tenant_id, completed)
    return sorted(old.content_hash for _, old in removed) != sorted(new.content_hash for new in completed)


def _complete_with_ids(
    connection: sqlite3.Connection,
    version_row: int,
    document: Document,
    passages: Sequence[Passage],
    removed: Sequence[Passage],
) -> list[Passage]:
    """Complete passages; each takes the id of a removed one with the same text, or a number never used before."""
    row = connection.execute(
        "SELECT next_passage_number FROM versions WHERE version_row = ?", (version_row,)
    ).fetchone()
    first_number = int(row[0])
    completed = complete_passages(passages, document, first_number)
    connection.execute(
        "UPDATE versions SET next_passage_number = ? WHERE version_row = ?",
        (first_number + len(completed), version_row),
    )
    ids: dict[str, list[str]] = {}
    for old in reversed(removed):
        ids.setdefault(old.content_hash, []).append(old.passage_id)
    for passage in completed:
        if ids.get(passage.content_hash):
            passage.passage_id = ids[passage.content_hash].pop()
    return completed


def _merge(kept: Sequence[Passage], new: Sequence[Passage]) -> list[Passage]:
    """Both in the order of pages; on one page the kept ones come first, each group in its own order."""
    merged = [(passage.page_first, 0, passage) for passage in kept] + [(each.page_first, 1, each) for each in new]
    return [passage for _, _, passage in sorted(merged, key=lambda entry: entry[:2])]
