"""The text of an HTML element with all below it, and which elements are blocks, which are no text."""

from __future__ import annotations

import re

from lxml import html as lxml_html  # type: ignore[import-untyped]  # it ships no types

SKIPPED = frozenset({
    "script", "style", "noscript", "template", "nav", "aside", "form", "button", "select", "option",
    "input", "textarea", "svg", "math", "iframe", "object", "video", "audio", "canvas", "head", "dialog",
    "menu",
})  # fmt: skip
BLOCKS = frozenset({
    "address", "article", "blockquote", "body", "center", "details", "dd", "div", "dl", "dt", "fieldset",
    "figure", "figcaption", "footer", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "html", "li",
    "main", "ol", "p", "pre", "section", "summary", "table", "tbody", "td", "tfoot", "th", "thead", "tr",
    "ul",
})  # fmt: skip


def squeeze(text: str) -> str:
    """White space as one space, none at the ends."""
    return re.sub(r"\s+", " ", text.replace("\xa0", " ")).strip()


def read_element(element: lxml_html.HtmlElement, without: tuple[str, ...] = ()) -> str:
    """Text of an element and its descendants, with a space where a block or a line break divides it."""
    parts: list[str] = []
    stack: list[lxml_html.HtmlElement | str] = [element]
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            parts.append(node)
            continue
        following: list[lxml_html.HtmlElement | str] = [node.text or ""]
        for child in node:
            if isinstance(child.tag, str) and child.tag not in without and child.tag not in SKIPPED:
                spaced = child.tag == "br" or child.tag in BLOCKS
                following += [" " if spaced and node.tag != "pre" else "\n" if child.tag == "br" else "", child]
                following += [" "] if spaced else []
            following.append(child.tail or "")
        stack.extend(reversed(following))
    return "".join(parts)
