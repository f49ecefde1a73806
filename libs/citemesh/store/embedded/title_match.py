"""Finding a document by how a question or a text calls it: its title, its id or its file's name."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from functools import lru_cache

from citemesh.store.contract import VersionFilter
from citemesh.store.embedded.analysis import content_words, stem_words
from citemesh.v1.document_pb2 import Document

# Words that say "a document" rather than which.
_GENERIC_TEXT = """
document page sheet cheat paper report guide handbook manual policy article file pdf book chapter text standard
specification spec regulation rule act law code section part docs documentation
"""
_GENERIC = frozenset(stem for word in _GENERIC_TEXT.split() for stem in stem_words(word, "en"))
_SMALLEST_MATCH = 0.6


def match_titles(connection: sqlite3.Connection, title: str, versions: VersionFilter, limit: int) -> list[str]:
    """See StoreReader.documents_by_title."""
    asked = _stems(title)
    if not asked:
        return []
    rows = connection.execute(
        "SELECT document_id, document FROM versions JOIN documents USING (document_row)"
        " WHERE version_row IN (SELECT value FROM json_each(?))",
        (json.dumps(versions.version_keys),),
    )
    rated = [(_rate(asked, _names(bytes(row[1]))), str(row[0])) for row in rows]
    best = sorted((entry for entry in rated if entry[0] >= _SMALLEST_MATCH), key=lambda entry: (-entry[0], entry[1]))
    return [document_id for _, document_id in best[:limit]]


@lru_cache(maxsize=4096)
def _names(data: bytes) -> tuple[frozenset[str], ...]:
    document = Document.FromString(data)
    names = (document.title, document.document_id)
    return tuple(frozenset(_stems(name)) for name in names)


def _stems(name: str) -> set[str]:
    return {stem for word in content_words(name, ("en",)) for stem in stem_words(word, "en")}


def _rate(asked: set[str], names: Sequence[frozenset[str]]) -> float:
    """How much of what was asked a name holds, generic words counting little, with a little for a tight fit."""
    weights = {stem: 0.2 if stem in _GENERIC else 1.0 for stem in asked}
    if not any(weight == 1.0 for weight in weights.values()):
        weights = dict.fromkeys(asked, 1.0)
    whole = sum(weights.values())
    best = 0.0
    for name in names:
        held = sum(weight for stem, weight in weights.items() if stem in name) / whole
        tight = len(asked & name) / max(1, len(name))
        best = max(best, held + 0.1 * tight if held >= _SMALLEST_MATCH else 0.0)
    return best
