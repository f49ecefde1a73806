"""New passages in the place of those of some pages; the ids of all that did not change stay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from citemesh.store.contract import Vectors
from citemesh.store.opensearch.connection import Connection
from citemesh.store.opensearch.entries import STORED, read_passage, read_vector
from citemesh.v1.evidence_pb2 import Passage


@dataclass(frozen=True)
class Spliced:
    """The passages of a version after some were replaced, in the order of the text, with their vectors."""

    passages: list[Passage]
    vectors: Vectors
    is_changed: bool
    """Whether any text came or went."""


def read_version(connection: Connection, version_key: int) -> list[tuple[Passage, Vectors]]:
    """All passages of a version in order, with their vectors."""
    query = {"term": {"version_key": version_key}}
    hits = connection.scan(connection.names.passages, query, "passage_key", STORED)
    found = [(read_passage(hit["_source"]), read_vector(hit["_source"])) for hit in hits]
    return sorted(found, key=lambda pair: pair[0].ordinal)


def splice_pages(
    stored: Sequence[tuple[Passage, Vectors]], page_numbers: Sequence[int], new: Sequence[Passage], vectors: Vectors
) -> Spliced:
    """`stored` without what touches `page_numbers`, with `new`; each takes the id of a removed one with its text."""
    pages = set(page_numbers)
    removed: list[Passage] = []
    kept: list[tuple[Passage, Vectors]] = []
    for passage, vector in stored:
        if pages.intersection(range(passage.page_first, passage.page_last + 1)):
            removed.append(passage)
        else:
            kept.append((passage, vector))
    ids: dict[str, list[str]] = {}
    for old in reversed(removed):
        ids.setdefault(old.content_hash, []).append(old.passage_id)
    for passage in new:
        if ids.get(passage.content_hash):
            passage.passage_id = ids[passage.content_hash].pop()
    # A stable order: on one page the kept ones come first, each group in its own order.
    merged = sorted([*kept, *zip(new, vectors, strict=True)], key=lambda pair: pair[0].page_first)
    for ordinal, (passage, _) in enumerate(merged):
        passage.ordinal = ordinal
    return Spliced(
        [passage for passage, _ in merged],
        np.stack([vector for _, vector in merged]) if merged else np.zeros((0, 0), dtype=np.float32),
        sorted(old.content_hash for old in removed) != sorted(passage.content_hash for passage in new),
    )
