"""Titles of sections: their numbers, and where in the text an outline's titles stand."""

from __future__ import annotations

import bisect
import re
from collections.abc import Sequence
from dataclasses import dataclass

from services.documents.parsing.blocks import Block, BlockKind

NUMBER = re.compile(
    r"^(?:(?P<word>chapter|section|part|appendix|annex|annexe|article|chapitre|kapitel)\s+)?"
    r"(?P<number>(?:§+\s*)?\d{1,4}(?:\.\d{1,4}){0,5}|[A-Z](?:\.\d{1,3}){1,4}|(?<=\s)[A-Z](?=\b)|[A-Z](?=\.\s)|[IVX]{1,6}(?=\.\s)|(?<=\s)[IVX]{1,6}\b)"
    r"(?P<end>[.:)]?\s*[-—–]?\s*)(?P<title>.*)$",
    re.IGNORECASE | re.DOTALL,
)
_MAX_TITLE_LINES = 3


@dataclass(frozen=True, slots=True)
class Place:
    """Lines `start`..`end` of a block are a title; none (`end` equal to `start`) where it opens a paragraph."""

    block: int
    start: int
    end: int


def title_key(text: str) -> str:
    """Letters and figures only, small: how titles are compared."""
    return re.sub(r"[\W_]+", "", text.casefold())


def split_number(text: str) -> tuple[str, str]:
    """A heading's number as printed, without its closing point, and its title; the number is empty where none is."""
    text = " ".join(text.split())
    match = NUMBER.match(text)
    if match is None:
        return "", text
    number, title, word = match.group("number"), match.group("title").strip(), (match.group("word") or "").lower()
    if not title and not word:
        return "", text
    if not word and not match.group("end") and title[:1].isalnum():
        return "", text  # "2nd edition"
    if not word and re.fullmatch(r"\d{4}", number) and 1900 <= int(number) <= 2100:
        return "", text  # a year
    number = re.sub(r"^§+\s*", "", number)
    if word in ("appendix", "annex", "annexe"):
        return (f"{word.capitalize()} {number}", title) if title else ("", text)
    return number, title or text


class TitleFinder:
    """Finds titles on the pages that an outline names; the blocks are not changed meanwhile."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self._blocks = blocks
        self._by_page: dict[int, list[int]] = {}
        for index, block in enumerate(blocks):
            for page in {line.page for line in block.lines}:
                self._by_page.setdefault(page, []).append(index)
        self._first_pages = [(page, indices[0]) for page, indices in sorted(self._by_page.items())]
        self._position = 0

    def find(self, whole: str, title: str, page: int) -> Place | None:
        """Where a title stands, on its page, the next or the one before; `whole` is it with its number.

        Headings come before other lines, and places after the last title found before earlier ones.
        """
        wanted = {title_key(whole), title_key(title)} - {""}
        for near in (page, page + 1, page - 1):
            indices = self._by_page.get(near, [])
            order = sorted(
                indices, key=lambda i: (self._blocks[i].kind is not BlockKind.HEADING, i < self._position, i)
            )
            for index in order:
                place = _find_in(self._blocks[index], index, near, wanted)
                if place is not None:
                    self._position = index
                    return place
        return None

    def first_block_from(self, page: int) -> int | None:
        """The first block on a page or after it."""
        place = bisect.bisect_left(self._first_pages, (page, -1))
        return self._first_pages[place][1] if place < len(self._first_pages) else None


def _find_in(block: Block, index: int, page: int, wanted: set[str]) -> Place | None:
    """A title as one to three whole lines of a block, or as the words that open it."""
    if block.kind is BlockKind.TABLE:
        return None
    for start, line in enumerate(block.lines):
        if line.page != page:
            continue
        joined = ""
        for end in range(start + 1, min(start + _MAX_TITLE_LINES, len(block.lines)) + 1):
            joined = f"{joined} {block.lines[end - 1].text}"
            if title_key(joined) in wanted or title_key(split_number(joined)[1]) in wanted:
                return Place(index, start, end)
        opening = (title_key(joined), title_key(split_number(joined)[1]))
        if start == 0 and any(len(key) >= 6 and text.startswith(key) for key in wanted for text in opening):
            return Place(index, 0, 0)
    return None
