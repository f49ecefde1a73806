"""Passages as entries of the index, and back."""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Any

import numpy as np

from citemesh.store.contract import Vectors
from citemesh.store.embedded.analysis import find_identifiers, searched_text, stem_words
from citemesh.v1.evidence_pb2 import Passage

STORED = ("passage", "vector_bytes")


def make_entry(tenant_id: str, version_key: int, key: int, passage: Passage, vector: Vectors) -> dict[str, Any]:
    """The entry of one passage, its words analysed as the embedded store analyses them."""
    body = searched_text(passage)
    heading = " ".join((*passage.section_path, passage.section_number, passage.label))
    exact = np.ascontiguousarray(vector, dtype=np.float32)
    return {
        "tenant_id": tenant_id,
        "passage_key": key,
        "version_key": version_key,
        "passage_id": passage.passage_id,
        "ordinal": passage.ordinal,
        "label": passage.label,
        "section_id": passage.parent_id,
        "text": " ".join(stem_words(body, passage.language)),
        "title": " ".join(stem_words(passage.title, passage.language)),
        "section": " ".join(stem_words(heading, passage.language)),
        "exact": " ".join(find_identifiers(f"{heading} {body}")),
        "passage": b64encode(passage.SerializeToString()).decode(),
        "vector_bytes": b64encode(exact.tobytes()).decode(),
        "vector": exact.tolist(),
    }


def read_passage(source: dict[str, Any]) -> Passage:
    """The passage of an entry."""
    return Passage.FromString(b64decode(source["passage"]))


def read_vector(source: dict[str, Any]) -> Vectors:
    """The vector of an entry."""
    return np.frombuffer(b64decode(source["vector_bytes"]), dtype=np.float32)
