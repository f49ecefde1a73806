"""Text without Markdown's marks: for titles, and for what is encoded. Quotes keep the marks of their file."""

from __future__ import annotations

import re

_MARKUP = (
    (re.compile(r"!?\[([^\]\n]*)\](?:\([^)\n]*\)|\[[^\]\n]*\])"), r"\1"),
    (re.compile(r"\s*\{[#:][^}\n]*\}"), ""),
    (re.compile(r"\{\{[<%][^\n]*?[>%]\}\}|\{%[^\n]*?%\}"), ""),
    (re.compile(r"<[a-zA-Z/!][^<>\n]*>"), ""),
    (re.compile(r"(\*\*|__|``?|\*)(?=\S)([^\n]+?)(?<=\S)\1"), r"\2"),
    (re.compile(r"\\([\\`*_{}\[\]()#+.!|>-])"), r"\1"),
)


def strip_markup(text: str) -> str:
    """Link targets, anchors, emphasis, tags and site generators' calls removed; lines stay lines."""
    for pattern, replacement in _MARKUP:
        text = pattern.sub(replacement, text)
    return text


def plain_title(text: str) -> str:
    """A heading without markup, on one line."""
    return re.sub(r"\s+", " ", strip_markup(text)).strip()
