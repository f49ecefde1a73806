"""Lists of HTML, however deeply nested: each item with its level, each term with what is said of it."""

from __future__ import annotations

from collections.abc import Iterator

from lxml import html as lxml_html  # type: ignore[import-untyped]  # it ships no types

from services.documents.parsing.blocks import Line
from services.documents.parsing.html_text import read_element, squeeze

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
        waiting = [(element, 0)]
        while waiting:
            each, level = waiting.pop()
            waiting.extend(reversed(list(self._read(each, level))))

    def _read(self, element: lxml_html.HtmlElement, level: int) -> Iterator[tuple[lxml_html.HtmlElement, int]]:
        """Adds an entry's own text; what stands below it is left to be read."""
        if element.tag in _LISTS or (element.tag not in _ENTRIES and next(element.iter(*_ENTRIES), None) is not None):
            for child in element:
                if isinstance(child.tag, str):
                    yield child, level + (child.tag in _LISTS)
            return
        own = squeeze(read_element(element, without=_LISTS))
        if own:
            if element.tag != "dd" or not self.items:
                self.items.append(len(self.lines))
                self.levels.append(min(level, _MAX_LEVEL))
            self.lines.append(Line(own))
        for nested in _outermost_lists(element):
            yield nested, level + 1


def _outermost_lists(element: lxml_html.HtmlElement) -> Iterator[lxml_html.HtmlElement]:
    """The lists below an element that are in no other list below it, in order."""
    waiting = list(reversed(element))
    while waiting:
        each = waiting.pop()
        if each.tag in _LISTS:
            yield each
        elif isinstance(each.tag, str):
            waiting.extend(reversed(each))
