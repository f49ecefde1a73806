"""Documents that a text names by their titles: "as the Travel Policy says"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from citemesh.auth.principal import Principal
from citemesh.caches.recently_used import RecentlyUsed
from citemesh.store.contract import StoreReader, VersionFilter
from citemesh.text.function_words import FUNCTION_WORDS
from citemesh.v1.question_pb2 import Scope

_WORD: Final = re.compile(r"\w+")
# "Neighbours (film)": what stands in brackets at the end tells namesakes apart and is left out in running text.
_APART: Final = re.compile(r"\s*\([^()]*\)\s*$")
_SENTENCE_ENDS: Final = ".!?:;\n"
_OPENING: Final = " \t\"'([*_`“‘«"
_MAX_OPENING_LENGTH: Final = 20
_SHORTEST_SINGLE_WORD: Final = 4
_MAX_NAMESAKES: Final = 3
_PAGE_SIZE: Final = 500
_FUNCTION_WORDS: Final[frozenset[str]] = frozenset().union(*FUNCTION_WORDS.values())
_KEPT_TITLE_COUNT: Final = 100_000


@dataclass(frozen=True, slots=True)
class NamedDocument:
    """A title that stands in a text, and the documents that have it."""

    surface: str
    document_ids: tuple[str, ...]


class TitleBook:
    """The titles of documents, to be found in texts. A title that more than a few documents share names none."""

    def __init__(self, titles: Iterable[tuple[str, str]]) -> None:
        """From pairs of document id and title."""
        by_words: dict[tuple[str, ...], list[str]] = {}
        for document_id, title in titles:
            words = _read_title(title)
            if words:
                by_words.setdefault(words, []).append(document_id)
        self._documents: Mapping[tuple[str, ...], tuple[str, ...]] = {
            words: tuple(ids) for words, ids in by_words.items() if len(ids) <= _MAX_NAMESAKES
        }
        self._lengths: dict[str, list[int]] = {}
        for words in sorted(self._documents, key=len, reverse=True):
            lengths = self._lengths.setdefault(words[0], [])
            if len(words) not in lengths:
                lengths.append(len(words))

    def __len__(self) -> int:
        return len(self._documents)

    def find(self, text: str) -> Iterator[NamedDocument]:
        """The titles in `text`, each once, in order; of titles that begin at one word the longest."""
        words = list(_WORD.finditer(text))
        seen: set[tuple[str, ...]] = set()
        place = 0
        while place < len(words):
            found = self._match(text, words, place)
            if found and found not in seen:
                seen.add(found)
                surface = text[words[place].start() : words[place + len(found) - 1].end()]
                yield NamedDocument(surface, self._documents[found])
            place += max(1, len(found))

    def _match(self, text: str, words: list[re.Match[str]], place: int) -> tuple[str, ...]:
        first = words[place]
        for length in self._lengths.get(first.group().casefold(), ()):
            if length == 1:
                continue
            wanted = tuple(word.group().casefold() for word in words[place : place + length])
            if wanted in self._documents:
                return wanted
        # A single word is a name where it is written as one, which the first word of a sentence is anyway.
        single = (first.group(),)
        is_written_as_name = single in self._documents and not _begins_sentence(text, first.start())
        return single if is_written_as_name else ()


class TitleBooks:
    """The books of what each caller may read, made when they are asked for and kept while nothing changes."""

    def __init__(self, store: StoreReader, max_document_count: int) -> None:
        self._store = store
        self._max_document_count = max_document_count
        self._books: RecentlyUsed[str, TitleBook] = RecentlyUsed(_KEPT_TITLE_COUNT, weigh=len)

    def open(
        self, principal: Principal, scope: Scope | None, as_of: datetime | None, versions: VersionFilter
    ) -> TitleBook:
        """The titles of what `versions` holds, which is made of the others; none where it is more than is allowed."""
        if len(versions.version_keys) > self._max_document_count:
            return TitleBook(())
        book = self._books.get(versions.key)
        if book is None:
            wanted = set(scope.documents.document_ids) if scope is not None and scope.HasField("documents") else None
            book = TitleBook(
                (document_id, title)
                for document_id, title in self._read_titles(principal, as_of)
                if wanted is None or document_id in wanted
            )
            self._books.put(versions.key, book)
        return book

    def _read_titles(self, principal: Principal, as_of: datetime | None) -> Iterator[tuple[str, str]]:
        after = ""
        while True:
            page, after = self._store.list_documents(principal, as_of=as_of, after=after, limit=_PAGE_SIZE)
            yield from ((document.document_id, document.title) for document in page)
            if not after:
                return


def _begins_sentence(text: str, place: int) -> bool:
    before = text[max(0, place - _MAX_OPENING_LENGTH) : place].rstrip(_OPENING)
    return not before or before[-1] in _SENTENCE_ENDS


def _read_title(title: str) -> tuple[str, ...]:
    """The words to look for: small letters for several, as written for one; none for what would be found everywhere."""
    words = _WORD.findall(_APART.sub("", title))
    telling = [word for word in words if word.casefold() not in _FUNCTION_WORDS and not word.isdigit()]
    if not telling:
        return ()
    if len(words) > 1:
        return tuple(word.casefold() for word in words)
    word: str = words[0]
    return (word,) if len(word) >= _SHORTEST_SINGLE_WORD and word[0].isupper() else ()
