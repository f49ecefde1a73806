"""Finding a document by how a question or a text calls it: its title, its id or its file's name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from citemesh.store.analysis import content_words, stem_words

# Words that say "a document" rather than which.
_GENERIC_TEXT = """
document page sheet cheat paper report guide handbook manual policy article file pdf book chapter text standard
specification spec regulation rule act law code section part docs documentation
"""
_GENERIC = frozenset(stem for word in _GENERIC_TEXT.split() for stem in stem_words(word, "en"))
_SMALLEST_MATCH = 0.6

Names = tuple[frozenset[str], ...]


class TitleIndex:
    """What some documents are called, by word."""

    def __init__(self, documents: Iterable[tuple[str, str]]) -> None:
        """From ids and titles."""
        self._documents: list[tuple[str, Names]] = []
        self._by_stem: dict[str, list[int]] = {}
        for document_id, title in documents:
            names = (_stems(title), _stems(document_id))
            for stem in frozenset().union(*names):
                self._by_stem.setdefault(stem, []).append(len(self._documents))
            self._documents.append((document_id, names))

    def __len__(self) -> int:
        """How many documents."""
        return len(self._documents)

    def match(self, title: str, limit: int) -> list[str]:
        """See StoreReader.documents_by_title."""
        asked = _stems(title)
        found = {place for stem in asked for place in self._by_stem.get(stem, ())}
        rated = [(_rate(asked, self._documents[place][1]), self._documents[place][0]) for place in found]
        best = sorted((entry for entry in rated if entry[0] >= _SMALLEST_MATCH), key=lambda each: (-each[0], each[1]))
        return [document_id for _, document_id in best[:limit]]


@lru_cache(maxsize=50_000)
def _stems(name: str) -> frozenset[str]:
    return frozenset(stem for word in content_words(name, ("en",)) for stem in stem_words(word, "en"))


def _rate(asked: frozenset[str], names: Sequence[frozenset[str]]) -> float:
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
