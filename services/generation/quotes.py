"""Where a quote given from memory stands in the evidence: exactly, or up to white space, or nowhere."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate

from citemesh.text.sentences import Span

MIN_QUOTE_CHARACTERS = 3
_WORD = re.compile(r"\S+")


def locate_quote(text: str, quote: str) -> Span | None:
    """The first span of `text` that says `quote`, white space aside; None where there is none."""
    quote = quote.strip()
    if len(quote) < MIN_QUOTE_CHARACTERS:
        return None
    exact = text.find(quote)
    if exact >= 0:
        return exact, exact + len(quote)
    return _locate_single_spaced(text, " ".join(quote.split()))


def _locate_single_spaced(text: str, quote: str) -> Span | None:
    words = [match.span() for match in _WORD.finditer(text)]
    found = " ".join(text[start:end] for start, end in words).find(quote)
    if found < 0:
        return None
    # Where each word begins in the single-spaced text.
    begins = list(accumulate((end - start + 1 for start, end in words), initial=0))

    def place(offset: int) -> int:
        number = bisect_right(begins, offset) - 1
        return words[number][0] + offset - begins[number]

    return place(found), place(found + len(quote) - 1) + 1
