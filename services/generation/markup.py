"""Markdown and HTML marks taken off, so that words can be compared and read; quotes stay as they are.

Every pattern reads a text in time linear in its length, whatever the text: repeats are possessive, end at the mark that
would begin the same thing again, or are bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from citemesh.text.sentences import Span

_IMAGE = re.compile(r"!\[([^\[\]]*+)\]\([^)]{0,2000}+\)")
# The words may hold brackets of one level; the target template marks of Jinja or Hugo with white space in them.
_LINK = re.compile(
    r"\[((?:[^\[\]]++|\[[^\[\]]*+\])*+)\]\(\s*+<?+"
    r"((?:[^\s)>{\[]++|\{%[^%\n]{0,200}+%\}|\{\{[^{}\n]{0,200}+\}\}|[{\[]){0,60}+)"
    r">?+(?:\s++\"[^\"]*+\")?+\s*+\)"
)
_REFERENCE_LINK = re.compile(r"\[([^\[\]]++)\]\[[^\[\]]*+\]")
_FOOTNOTE_MARK = re.compile(r"\[\^[^\[\]]++\]")
_TAG = re.compile(r"</?[a-zA-Z][^<>]*+>")
_EMPHASIS = re.compile(r"(\*\*\*|\*\*|(?<![\w*])\*(?=\S)|(?<=\S)\*(?![\w*]))")
_UNDERSCORES = re.compile(r"(?<!\w)_{1,3}(?=\S)|(?<=\S)_{1,3}(?!\w)")
_BACKTICKS = re.compile(r"`++")
_ESCAPE = re.compile(r"\\([\\`*_{}\[\]()#+\-.!|<>~])")
_ITEM_MARK = re.compile(r"^\s*+(?:>\s*+)*+(?:[-*+•◦▪‣·]\s++(?:\[[ xX]\]\s++)?+|#{1,6}\s++)")


def read_plain(text: str, keep_addresses: bool = False) -> str:
    """`text` as a reader sees it: no emphasis, link targets, tags or list bullets, white space single.

    With `keep_addresses`, the target of a link to elsewhere stays in brackets behind its words.
    Words inside code spans are left exactly as they are.
    """
    parts: list[str] = []
    position = 0
    text = _ITEM_MARK.sub("", text)
    for (start, end), mark_length in _find_code_spans(text):
        parts.append(_read_prose(text[position:start], keep_addresses))
        parts.append(text[start + mark_length : end - mark_length])
        position = end
    parts.append(_read_prose(text[position:], keep_addresses))
    # Links whose words hold a code span are only whole once the parts are joined again.
    joined = _unlink("".join(parts), keep_addresses)
    return " ".join(joined.split())


def _find_code_spans(text: str) -> Iterator[tuple[Span, int]]:
    """Spans from a run of backticks to the next that is as long, marks included, and the length of a mark."""
    position = 0
    shortest_unclosed = len(text) + 1
    while (opening := _BACKTICKS.search(text, position)) is not None:
        position = opening.end()
        length = position - opening.start()
        if length >= shortest_unclosed:
            continue
        closing = text.find(opening.group(), position)
        if closing < 0:
            # Nothing further on closes a run of this length or a longer one: not looked for again.
            shortest_unclosed = length
            continue
        position = closing + length
        yield (opening.start(), position), length


def _read_prose(text: str, keep_addresses: bool) -> str:
    text = _IMAGE.sub(r"\1", text)
    text = _FOOTNOTE_MARK.sub("", text)
    text = _unlink(text, keep_addresses)
    text = _REFERENCE_LINK.sub(r"\1", text)
    text = _TAG.sub(" ", _drop_comments(text))
    text = _EMPHASIS.sub("", text)
    text = _UNDERSCORES.sub("", text)
    return _ESCAPE.sub(r"\1", text)


def _drop_comments(text: str) -> str:
    parts: list[str] = []
    position = 0
    while (start := text.find("<!--", position)) >= 0 and (end := text.find("-->", start + 4)) >= 0:
        parts.append(text[position:start])
        position = end + 3
    return " ".join([*parts, text[position:]])


def _unlink(text: str, keep_addresses: bool) -> str:
    def replace(match: re.Match[str]) -> str:
        words, target = match.group(1), match.group(2)
        outside = target.startswith(("http://", "https://", "mailto:"))
        if keep_addresses and outside and target.split("//")[-1].rstrip("/") not in words:
            return f"{words} ({target})"
        return words

    return _LINK.sub(replace, text)
