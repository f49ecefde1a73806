"""Put new passages in the place of those of some pages, as rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import numpy as np

from citemesh.store.completion import complete_passages
from citemesh.store.contract import Vectors
from citemesh.store.embedded.rows import remove_passages, write_languages, write_passages
from citemesh.store.page_splice import plan_splice
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
    stored = [
        (int(row), Passage.FromString(data))
        for row, data in connection.execute(
            "SELECT passage_row, passage FROM passages WHERE version_row = ? ORDER BY ordinal", (version_row,)
        )
    ]
    completed = complete_passages(passages, document, _take_numbers(connection, version_row, len(passages)))
    splice = plan_splice([passage for _, passage in stored], page_numbers, completed)
    # Rows are new even where ids are kept: derived indexes hold what belonged to the old ones.
    remove_passages(connection, [stored[place][0] for place in splice.removed])
    kept = [stored[place] for is_new, place in splice.order if not is_new]
    connection.executemany(
        "UPDATE passages SET ordinal = ?, passage = ? WHERE passage_row = ?",
        [(passage.ordinal, passage.SerializeToString(), row) for row, passage in kept],
    )
    write_passages(connection, tenant_id, version_row, completed, np.asarray(vectors))
    write_languages(connection, tenant_id, completed)
    return splice.is_changed


def _take_numbers(connection: sqlite3.Connection, version_row: int, count: int) -> int:
    """The first of `count` numbers that no passage of the version ever had."""
    row = connection.execute(
        "SELECT next_passage_number FROM versions WHERE version_row = ?", (version_row,)
    ).fetchone()
    connection.execute(
        "UPDATE versions SET next_passage_number = ? WHERE version_row = ?", (int(row[0]) + count, version_row)
    )
    return int(row[0])
