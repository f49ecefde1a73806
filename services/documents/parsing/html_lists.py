"""Lists of HTML, however deeply nested: each item with its level, each term with what is said of it."""

from __future__ import annotations

from collections.abc import Iterator

from lxml import html as lxml_html  # type: ignore[import-untyped]  # it ships no types

from services.documents.parsing.blocks import Line
from services.documents.parsing.html_text import BLOCKS, SKIPPED, read_element, squeeze

_LISTS = ("ul", "ol", "dl")
_ENTRIES = ("li", "dt", "dd")
_MAX_LEVEL = 20
"""Items below stand at this level: no reader tells more of them apart."""


class ListLines:
    """The lines of one list: `items` are the indices of the lines that begin one, `levels` how deep each stands."""

    def __init__(self, element: lxml_html.HtmlElement) -> None:
        self.lines: list[Line] = []
        self.items: list[int] = []
        self.levels: list[int] = []
        # A stack of its own: a list may be nested deeper than Python calls may.
        waiting: list[tuple[lxml_html.HtmlElement | str, int]] = [(element, 0)]
        while waiting:
            each, level = waiting.pop()
            if isinstance(each, str):
                self._add(each, level)
            else:
                waiting.extend(reversed(list(self._read(each, level))))

    def _read(self, element: lxml_html.HtmlElement, level: int) -> Iterator[tuple[lxml_html.HtmlElement | str, int]]:
        """Adds an entry's own text; what stands below it is left to be read, as are words that stand in no entry."""
        if element.tag in SKIPPED:
            return
        if element.tag in _LISTS or (element.tag not in _ENTRIES and next(element.iter(*_ENTRIES), None) is not None):
            loose = element.text or ""
            for child in element:
                if not isinstance(child.tag, str):
                    pass
                elif _is_inline(child):
                    loose += read_element(child)
                else:
                    yield loose, level
                    loose = ""
                    yield child, level + (child.tag in _LISTS)
                loose += child.tail or ""
            yield loose, level
            return
        self._add(read_element(element, without=_LISTS), level, begins=element.tag != "dd")
        for nested in _outermost_lists(element):
            yield nested, level + 1

    def _add(self, text: str, level: int, begins: bool = True) -> None:
        """Adds a line, which begins an item where none has begun or it is said to; nothing where there are no words."""
        own = squeeze(text)
        if not own:
            return
        if begins or not self.items:
            self.items.append(len(self.lines))
            self.levels.append(min(level, _MAX_LEVEL))
        self.lines.append(Line(own))


def _is_inline(element: lxml_html.HtmlElement) -> bool:
    """Whether an element is part of the line of words around it."""
    blocks = element.tag == "br" or element.tag in BLOCKS or element.tag in SKIPPED
    return not blocks and next(element.iter(*_LISTS, *_ENTRIES), None) is None


def _outermost_lists(element: lxml_html.HtmlElement) -> Iterator[lxml_html.HtmlElement]:
    """The lists below an element that are in no other list below it, in order."""
    waiting = list(reversed(element))
    while waiting:
        each = waiting.pop()
        if each.tag in _LISTS:
            yield each
        elif isinstance(each.tag, str) and each.tag not in SKIPPED:
            waiting.extend(reversed(each))
