"""HTML as blocks: the main content's headings, paragraphs, lists and tables; navigation and scripts left out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from lxml import etree  # type: ignore[import-untyped]  # it ships no types
from lxml import html as lxml_html

from services.documents.parsing.blocks import Block, BlockKind, Line, ParsedDocument
from services.documents.parsing.enumerated import gather_enumerated
from services.documents.parsing.html_lists import ListLines
from services.documents.parsing.html_text import BLOCKS, SKIPPED, read_element, squeeze
from services.documents.parsing.plain import read_text
from services.documents.parsing.refusal import ParseRefused, RefusalReason
from services.documents.parsing.tabular import make_table

_PAGE_FURNITURE = frozenset({"header", "footer"})
_FURNITURE_ROLES = frozenset({"navigation", "banner", "contentinfo", "search", "complementary", "menu", "dialog"})
_MOST_NESTED = 2_000
_MAX_SPAN = 100
_DECLARED = re.compile(
    rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]{2,40})"
    rb"|^\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([\w.:-]{2,40})",
    re.IGNORECASE,
)


def parse_html(path: Path) -> ParsedDocument:
    """An HTML file as blocks. Raises ParseRefused where it holds no text."""
    with path.open("rb") as stream:
        declared = _DECLARED.search(stream.read(2048))
    encoding = (declared.group(1) or declared.group(2)).decode() if declared else ""
    return read_markup(read_text(path, encoding), "html")


def read_markup(markup: str, kind: str, *, guess_headers: bool = False) -> ParsedDocument:
    """HTML text as a document of the given format.

    `guess_headers`: the first row of a table is its header where it looks like one, though it is not marked so.
    Raises ParseRefused where it holds no text (EMPTY), or more than can be read whole (TOO_LARGE).
    """
    # Without huge_tree all that follows a 256th nested element would be lost.
    parser = lxml_html.HTMLParser(encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True)
    try:
        root = lxml_html.document_fromstring(markup.encode("utf-8", "replace"), parser=parser)
    except (etree.ParserError, etree.XMLSyntaxError) as error:
        _refuse_cut(parser)
        raise ParseRefused(RefusalReason.EMPTY, "The file holds no text.") from error
    _refuse_cut(parser)
    reader = _Reader(guess_headers)
    reader.walk(_main_content(root))
    blocks = gather_enumerated(reader.blocks)
    if not blocks:
        raise ParseRefused(RefusalReason.EMPTY, "The file holds no text.")
    heading = next((block.text for block in blocks if block.kind is BlockKind.HEADING), "")
    title = squeeze(root.findtext(".//title") or "") or heading
    return ParsedDocument(kind, title=title[:300], blocks=blocks)


def _refuse_cut(parser: lxml_html.HTMLParser) -> None:
    """Raises ParseRefused where the parser stopped before the end: what follows would be lost without a word."""
    if any(entry.type_name == "ERR_RESOURCE_LIMIT" for entry in parser.error_log):
        raise ParseRefused(
            RefusalReason.TOO_LARGE,
            f"The file's elements are nested more than {_MOST_NESTED:,} deep, or one of them is huge: "
            "it cannot be read whole.",
        )


def _main_content(root: lxml_html.HtmlElement) -> lxml_html.HtmlElement:
    """The one main or article element where it holds most of the text, else the body."""
    body = root.find("body")
    whole = body if body is not None else root
    for path in (".//main", ".//*[@role='main']", ".//article"):
        found = whole.findall(path)
        if len(found) == 1 and len(read_element(found[0])) > 0.3 * len(read_element(whole)):
            return found[0]
    return whole


_Step = str | tuple[lxml_html.HtmlElement, int] | None
"""A text, an element at its depth, or the end of a paragraph."""


class _Reader:
    """Walks block elements; inline text between them becomes paragraphs of its own."""

    def __init__(self, guess_headers: bool) -> None:
        self.blocks: list[Block] = []
        self._guess_headers = guess_headers
        self._inline: list[str] = []

    def walk(self, element: lxml_html.HtmlElement) -> None:
        """Reads an element's children in order. By a stack of its own: they nest deeper than Python calls may."""
        steps = list(reversed(list(_steps_into(element, 0))))
        while steps:
            step = steps.pop()
            if step is None:
                self._end_paragraph()
            elif isinstance(step, str):
                self._inline.append(step)
            else:
                steps.extend(reversed(self._read(*step)))

    def _read(self, element: lxml_html.HtmlElement, depth: int) -> list[_Step]:
        """Adds what the element holds, or leaves it as steps still to be taken."""
        tag = element.tag.lower()
        if tag in SKIPPED or _is_furniture(element, tag, depth):
            return []
        if tag not in BLOCKS:
            if any(child.tag in BLOCKS for child in element.iterdescendants() if isinstance(child.tag, str)):
                return list(_steps_into(element, depth + 1))
            self._inline.append("\n" if tag == "br" else read_element(element))
            return []
        self._end_paragraph()
        if re.fullmatch(r"h[1-6]", tag):
            self._add(BlockKind.HEADING, [squeeze(read_element(element))], level=int(tag[1]))
        elif tag in ("ul", "ol", "dl"):
            self._add_list(element)
        elif tag == "table":
            if not self._add_table(element):
                return list(_steps_into(element, depth + 1))
        elif tag == "pre":
            lines = [line.rstrip() for line in read_element(element).split("\n")]
            self._add(BlockKind.CODE, [line for line in lines if line])
        elif tag == "figcaption":
            self._add(BlockKind.FIGURE_CAPTION, [squeeze(read_element(element))])
        else:
            return list(_steps_into(element, depth + 1))
        return []

    def _end_paragraph(self) -> None:
        text = squeeze("".join(self._inline))
        self._inline.clear()
        self._add(BlockKind.PARAGRAPH, [text])

    def _announced(self) -> bool:
        last = self.blocks[-1] if self.blocks else None
        return last is not None and last.kind is BlockKind.PARAGRAPH and last.text.endswith((":", "："))

    def _add(self, kind: BlockKind, texts: list[str], level: int = 0) -> None:
        lines = [Line(text) for text in texts if text]
        if lines:
            attached = kind is BlockKind.CODE and self._announced()
            self.blocks.append(Block(kind, lines, level=level, attached=attached))

    def _add_list(self, element: lxml_html.HtmlElement) -> None:
        """A list; of a list of terms each with what is said of it is one item."""
        found = ListLines(element)
        if found.lines:
            self.blocks.append(
                Block(
                    BlockKind.LIST,
                    found.lines,
                    items=found.items,
                    levels=found.levels,
                    attached=self._announced(),
                )
            )

    def _add_table(self, element: lxml_html.HtmlElement) -> bool:
        """Whether it is a table; one for layout is not: its cells are read as text."""
        rows = [row for row in element.iter("tr") if _owner(row, "table") is element]
        if len(rows) < 2 or any(True for _ in element.iterdescendants("table")):
            return False
        caption = squeeze(read_element(element.find("caption"))) if element.find("caption") is not None else ""
        header = next((i for i, row in enumerate(rows) if any(cell.tag == "td" for cell in row)), 0)
        texts = _grid(rows)
        header_count: int | None = sum(any(cells) for cells in texts[:header])
        if not header_count and self._guess_headers:
            header_count = None
        table = make_table(texts, caption, header_count=header_count, attached=self._announced())
        if table is not None:
            self.blocks.append(table)
        return True


def _steps_into(element: lxml_html.HtmlElement, depth: int) -> Iterator[_Step]:
    """An element's texts and children in order, and the end of the paragraph where it is a block."""
    yield element.text or ""
    for child in element:
        if isinstance(child.tag, str):
            yield child, depth
        yield child.tail or ""
    if element.tag in BLOCKS:
        yield None


def _grid(rows: list[lxml_html.HtmlElement]) -> list[list[str]]:
    """Text of each cell by row and column: one over several columns is followed by empty ones, one over several rows
    stands in each of them, so that every row can be read alone."""
    open_cells: dict[int, tuple[int, str]] = {}
    grid: list[list[str]] = []
    for row in rows:
        cells: list[str] = []
        for cell in row:
            if cell.tag not in ("td", "th"):
                continue
            _continue_cells(cells, open_cells)
            text = squeeze(read_element(cell))
            height = _span(cell, "rowspan")
            for place in range(_span(cell, "colspan")):
                if height > 1:
                    open_cells[len(cells)] = (height - 1, text if place == 0 else "")
                cells.append(text if place == 0 else "")
        _continue_cells(cells, open_cells)
        grid.append(cells)
    return grid


def _continue_cells(cells: list[str], open_cells: dict[int, tuple[int, str]]) -> None:
    """Appends the cells of earlier rows that reach down to this place."""
    while len(cells) in open_cells:
        left, text = open_cells.pop(len(cells))
        if left > 1:
            open_cells[len(cells)] = (left - 1, text)
        cells.append(text)


def _span(cell: lxml_html.HtmlElement, name: str) -> int:
    value = cell.get(name, "1").strip()
    return max(1, min(int(value), _MAX_SPAN)) if value.isdecimal() else 1


def _owner(element: lxml_html.HtmlElement, tag: str) -> lxml_html.HtmlElement | None:
    return next(element.iterancestors(tag), None)


def _is_furniture(element: lxml_html.HtmlElement, tag: str, depth: int) -> bool:
    if (
        element.get("role") in _FURNITURE_ROLES
        or element.get("hidden") is not None
        or element.get("aria-hidden") == "true"
    ):
        return True
    # An article may have a header of its own; the page's stands directly under the body.
    return tag in _PAGE_FURNITURE and depth <= 1 and element.find(".//h1") is None
