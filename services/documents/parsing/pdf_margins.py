"""Running headers, footers and page numbers: taken out of a PDF's text, and kept as facts of its pages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from services.documents.parsing.blocks import Page
from services.documents.parsing.pdf_text import TextLine

_PAGE_NUMBER = re.compile(
    r"^\W*(?:page\s+)?(?:\d{1,4}|[ivxl]{1,6})(?:\s*(?:/|of|sur|von)\s*\d{1,4})?\W*$", re.IGNORECASE
)
_AROUND_NUMBER = " -–—|[]().·•"
_LABEL_LENGTH = 20
_MARGIN_LENGTH = 300
LEADER = re.compile(r"(?:\.\s?){5,}|…{2,}|(?:_\s?){5,}\d")


def drop_margins(pages: list[list[TextLine]], facts: Sequence[Page]) -> list[list[TextLine]]:
    """Removes what is not the document's text; the pages keep it as their margin lines, and their printed number.

    Running headers, footers and page numbers (lines near an edge that return on other pages, lines that stand at one
    place on many pages), ornaments without a letter, and contents pages (their entries lead to the sections already).
    """
    near_edge: Counter[str] = Counter()
    in_place: Counter[tuple[str, int, int]] = Counter()
    for lines, page in zip(pages, facts, strict=True):
        near_edge.update({_pattern(line) for line in lines if _in_margin(line, page)})
        in_place.update({_placed(line) for line in lines})
    often, everywhere = max(3, round(0.08 * len(pages))), max(5, round(0.2 * len(pages)))
    kept: list[list[TextLine]] = []
    for lines, page in zip(pages, facts, strict=True):
        contents = sum(bool(LEADER.search(line.text)) for line in lines) >= 4
        numbers = sum(_in_margin(line, page) and bool(_PAGE_NUMBER.match(line.text)) for line in lines)
        text: list[TextLine] = []
        for line in lines:
            margin = _in_margin(line, page)
            # Many numbers there are a table that reaches to the edge.
            number = margin and numbers <= 2 and len(lines) > 1 and bool(_PAGE_NUMBER.match(line.text))
            running = in_place[_placed(line)] >= everywhere or (margin and near_edge[_pattern(line)] >= often)
            if number and not page.label:
                page.label = line.text.strip(_AROUND_NUMBER)[:_LABEL_LENGTH]
            if running or number:
                page.margin_lines.append(line.text[:_MARGIN_LENGTH])
            elif not _is_ornament(line.text) and not (contents and LEADER.search(line.text)):
                text.append(line)
        kept.append(text)
    return kept


def _placed(line: TextLine) -> tuple[str, int, int]:
    return (_pattern(line), round(line.left / 6), round(line.bottom / 6))


def _is_ornament(text: str) -> bool:
    return len(text) > 3 and not any(character.isalnum() for character in text) and not set(text) & set("=+<>∑∫√$€£")


def _in_margin(line: TextLine, page: Page) -> bool:
    return line.bottom > 0.9 * page.height or line.top < 0.085 * page.height


def _pattern(line: TextLine) -> str:
    return re.sub(r"\d+", "#", line.text.casefold())
