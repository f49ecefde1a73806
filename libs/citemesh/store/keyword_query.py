"""What a question's words are searched by, whatever index searches them; pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from citemesh.store.analysis import content_words, find_identifiers, split_words, word_forms

FIELD_BOOSTS: Final[Mapping[str, float]] = {"text": 1.0, "title": 0.1, "section": 0.6}
"""How much a word counts by where it stands: first set on five question sets of different kinds of documents, then
lowered for titles when these were added to the text, by the development queries of judged collections."""

EXACT_BOOST: Final = 0.5
"""How much an identifier counts, as it is written."""

NEAR_WORDS: Final = 3
NEAR_BOOST: Final = 0.2
"""Two words that follow each other in the question count once more where they stand NEAR_WORDS near in a text."""

_MAX_QUERY_WORDS = 64
_MAX_QUERY_PAIRS = 24


@dataclass(frozen=True)
class KeywordQuery:
    """Words, identifiers and neighbours of one question; each adds to the measure of a passage that holds it."""

    words: list[tuple[list[str], float]]
    """For each word its forms, of which the best counts, and how often it is asked for."""
    identifiers: list[str]
    """Names that must match as they are written."""
    neighbours: list[list[str]]
    """Pairs of stems."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing can match."""
        return not self.words and not self.identifiers


def read_keyword_query(text: str, languages: Sequence[str]) -> KeywordQuery:
    """What `text` asks of documents in `languages`; of a very long text the first words."""
    words = searched_words(text, languages)
    counts = Counter(split_words(text))
    forms = {word: word_forms(word, languages) for word in words}
    pairs = [[*forms[first][:1], *forms[second][:1]] for first, second in pairwise(words[: _MAX_QUERY_PAIRS + 1])]
    return KeywordQuery(
        [(forms[word], float(max(1, counts[word]))) for word in words if forms[word]],
        list(dict.fromkeys(find_identifiers(text)))[:_MAX_QUERY_WORDS],
        [pair for pair in pairs if len(pair) == 2],
    )


def searched_words(text: str, languages: Sequence[str]) -> list[str]:
    """The content words that `text` is searched by."""
    return content_words(text, languages)[:_MAX_QUERY_WORDS]
