"""Which listing answers a question; pure."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from citemesh.text.function_words import is_function_word
from citemesh.v1.evidence_pb2 import Passage
from services.retrieval.count_cues import is_listed_noun
from services.retrieval.item_spans import RunKind
from services.retrieval.listings import Listing, Place

_WORD = re.compile(r"[^\W_]{3,}")
_SMALLEST_RATING = 0.6
_NAMED_RATING = 1.0
_UNCOUNTED_INLINE_RATING = -0.4
# "Which feature gates can I toggle" asks for feature gates, "what kinds of leave" for leave.
_ASKING = re.compile(
    r"\b(?:which|what|quel(?:le)?s?|welche[nrs]?|qué|cuáles|quali)\s+(?:(?:kinds?|types?|sorts?|forms?|kind)\s+of\s+)?",
    re.IGNORECASE,
)
_MAX_ASKED_WORDS = 3
_SHORTEST_FOLDED = 3


@dataclass(frozen=True)
class Wanted:
    """What is asked for."""

    weights: Mapping[str, float]
    """The question's words that occur at all, and how much each tells: a word of few passages tells more."""
    anchor_ranks: Mapping[str, int]
    """passage_id -> rank of the passages to start from, 0 the best."""
    requested_count: int | None
    """How many items the question asks for."""
    asked: frozenset[str] = frozenset()
    """What the items are called in the question, in the forms of `word_forms`; empty where it does not say."""


def find_asked(question: str, language: str) -> frozenset[str]:
    """What the question calls the things that it asks for: the noun behind "which" with the words that go with it.

    Nouns that any list may be of, such as "circumstances", are none.
    """
    for asking in _ASKING.finditer(question):
        words = []
        for word in re.findall(r"[\w-]+", question[asking.end() :])[:_MAX_ASKED_WORDS]:
            if is_function_word(word.lower(), language):
                break
            words.append(word)
        if any(not is_listed_noun(word) for word in words):
            return frozenset(word_forms(" ".join(words)))
    return frozenset()


def weigh_words(words: Collection[str], passages: Sequence[Passage]) -> dict[str, float]:
    """Inverse frequencies of `words` over `passages`; words that occur in none are left out."""
    texts = [word_forms(" ".join((passage.text, *passage.section_path))) for passage in passages]
    counts = {word: sum(1 for text in texts if word in text) for word in words}
    return {word: math.log(1 + len(texts) / count) for word, count in counts.items() if count}


def choose_listing(listings: Sequence[Listing], passages: Sequence[Passage], wanted: Wanted) -> Listing | None:
    """The listing that fits best; None where none fits."""
    rated = [(rate(listing, passages, wanted), listing) for listing in listings]
    best = max(rated, key=lambda entry: entry[0], default=None)
    return best[1] if best is not None and best[0] >= _SMALLEST_RATING else None


def join_documents(chosen: Listing, listings: Sequence[Listing], passages: Sequence[Passage]) -> Listing:
    """`chosen` with the items of the listings that other documents announce in the same words."""
    key = _announcing(chosen, passages)
    documents = {passages[chosen.items[0].passage_index].document_id}
    items = list(chosen.items)
    for listing in listings:
        document_id = passages[listing.items[0].passage_index].document_id
        if document_id not in documents and listing.kind is chosen.kind and key == _announcing(listing, passages) != "":
            documents.add(document_id)
            items += listing.items
    if len(documents) == 1:
        return chosen
    # What each document announces is the count of its own list.
    return replace(chosen, items=items, expected_count=None)


def _announcing(listing: Listing, passages: Sequence[Passage]) -> str:
    """The words that lead to the items, without what tells one document from another: figures, marks and case."""
    introduction = _text(listing.announcement or listing.introduction, passages)
    return " ".join(re.findall(r"[^\W\d_]+", _closest(listing, introduction[-300:]).casefold()))


def rate(listing: Listing, passages: Sequence[Passage], wanted: Wanted) -> float:
    """How well a listing fits: its words, what announces it, its count, and how near to the best anchors it stands."""
    indices = {place.passage_index for place in listing.items}
    first = passages[min(indices)]
    # Where the titles themselves are the items, they say nothing of what is listed.
    path = first.section_path[:-1] if listing.kind is RunKind.HEADINGS else first.section_path
    introduction = _text(listing.announcement or listing.introduction, passages)[-300:]
    above = " ".join((introduction, first.heading_context, *path))
    inside = " ".join(_text(place, passages)[:120] for place in listing.items)
    ids = [passages[index].passage_id for index in indices]
    ranks = [wanted.anchor_ranks[each] for each in ids if each in wanted.anchor_ranks]
    rating = 1.2 * _share(wanted.weights, above) + 0.4 * _share(wanted.weights, inside)
    rating += 0.8 / (1 + 0.25 * min(ranks)) if ranks else 0.0
    if listing.expected_count == len(listing.items):
        rating += 0.4
    elif listing.expected_count is None and wanted.requested_count == len(listing.items):
        rating += 0.3
    rating += 0.2 if listing.announcement is not None else 0.0
    if listing.kind is RunKind.INLINE and listing.expected_count is None:
        rating += _UNCOUNTED_INLINE_RATING
    # What announces these very things is a surer sign than words here and there; then a table is as good as a list.
    # Of headings a count alone is one: any line with a colon may stand above them.
    is_announced = listing.kind is not RunKind.HEADINGS or listing.expected_count is not None
    if is_announced and wanted.asked and wanted.asked <= word_forms(_closest(listing, introduction)):
        return rating + _NAMED_RATING
    return rating - 0.05 * listing.kind


def _closest(listing: Listing, introduction: str) -> str:
    """The sentence right before the items; of a table, all that leads to its rows."""
    if listing.kind is RunKind.ROWS:
        return introduction
    return re.split(r"(?<=[.!?])\s+|\n", introduction.strip())[-1]


def word_forms(text: str) -> set[str]:
    """Words of three letters and more without their endings, enough to compare a question with a heading."""
    return {_fold(word) for word in _WORD.findall(text.lower())}


def _fold(word: str) -> str:
    for ending in ("ization", "isation", "ations", "ation", "ings", "ing", "ies", "ized", "ised", "ed", "es", "s", "y"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    # "schedules" has lost its "es" above.
    return word.removesuffix("e") if len(word) > _SHORTEST_FOLDED else word


def _share(weights: Mapping[str, float], text: str) -> float:
    whole = sum(weights.values())
    return sum(weights[word] for word in word_forms(text) if word in weights) / whole if whole else 0.0


def _text(place: Place | None, passages: Sequence[Passage]) -> str:
    return "" if place is None else passages[place.passage_index].text[place.span.start : place.span.end]
