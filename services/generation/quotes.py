"""Where a quote given from memory stands in the evidence: exactly, or up to white space, or nowhere."""

from __future__ import annotations

import re

from citemesh.text.sentences import Span

MIN_QUOTE_CHARACTERS = 3


def locate_quote(text: str, quote: str) -> Span | None:
    """The first span of `text` that says `quote`, white space aside; None where there is none."""
    quote = quote.strip()
    if len(quote) < MIN_QUOTE_CHARACTERS:
        return None
    exact = text.find(quote)
    if exact >= 0:
        return exact, exact + len(quote)
    tolerant = re.search(r"\s+".join(re.escape(word) for word in quote.split()), text)
    return tolerant.span() if tolerant else None
