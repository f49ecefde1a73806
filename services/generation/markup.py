"""Markdown and HTML marks taken off, so that words can be compared and read; quotes stay as they are."""

from __future__ import annotations

import re

_IMAGE = re.compile(r"!\[([^\]]*)\]\([^)]*\)")
_LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\(\s*<?((?:\{%.*?%\}|\{\{.*?\}\}|[^\s)>])*)>?(?:\s+\"[^\"]*\")?\s*\)")
_REFERENCE_LINK = re.compile(r"\[([^\[\]]+)\]\[[^\[\]]*\]")
_FOOTNOTE_MARK = re.compile(r"\[\^[^\]]+\]")
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>|<!--.*?-->", re.DOTALL)
_EMPHASIS = re.compile(r"(\*\*\*|\*\*|(?<![\w*])\*(?=\S)|(?<=\S)\*(?![\w*]))")
_UNDERSCORES = re.compile(r"(?<!\w)_{1,3}(?=\S)|(?<=\S)_{1,3}(?!\w)")
_CODE_SPAN = re.compile(r"(`+)(.+?)\1", re.DOTALL)
_ESCAPE = re.compile(r"\\([\\`*_{}\[\]()#+\-.!|<>~])")
_SPACES = re.compile(r"\s+")
_ITEM_MARK = re.compile(r"^\s*(?:>\s*)*(?:[-*+•◦▪‣·]\s+(?:\[[ xX]\]\s+)?|#{1,6}\s+)")


def read_plain(text: str, keep_addresses: bool = False) -> str:
    """`text` as a reader sees it: no emphasis, link targets, tags or list bullets, white space single.

    With `keep_addresses`, the target of a link to elsewhere stays in brackets behind its words.
    Words inside code spans are left exactly as they are.
    """
    parts: list[str] = []
    position = 0
    text = _ITEM_MARK.sub("", text)
    for span in _CODE_SPAN.finditer(text):
        parts.append(_read_prose(text[position : span.start()], keep_addresses))
        parts.append(span.group(2))
        position = span.end()
    parts.append(_read_prose(text[position:], keep_addresses))
    # Links whose words hold a code span are only whole once the parts are joined again.
    joined = _unlink("".join(parts), keep_addresses)
    return _SPACES.sub(" ", joined).strip()


def _read_prose(text: str, keep_addresses: bool) -> str:
    text = _IMAGE.sub(r"\1", text)
    text = _FOOTNOTE_MARK.sub("", text)
    text = _unlink(text, keep_addresses)
    text = _REFERENCE_LINK.sub(r"\1", text)
    text = _TAG.sub(" ", text)
    text = _EMPHASIS.sub("", text)
    text = _UNDERSCORES.sub("", text)
    return _ESCAPE.sub(r"\1", text)


def _unlink(text: str, keep_addresses: bool) -> str:
    def replace(match: re.Match[str]) -> str:
        words, target = match.group(1), match.group(2)
        outside = target.startswith(("http://", "https://", "mailto:"))
        if keep_addresses and outside and target.split("//")[-1].rstrip("/") not in words:
            return f"{words} ({target})"
        return words

    return _LINK.sub(replace, text)
