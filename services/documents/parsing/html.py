"""HTML as blocks: the main content's headings, paragraphs, lists and tables; navigation and scripts left out."""

from __future__ import annotations

import re
from pathlib import Path

from lxml import etree  # type: ignore[import-untyped]  # it ships no types
from lxml import html as lxml_html

from services.documents.parsing.blocks import Block, BlockKind, Line, ParsedDocument
from services.documents.parsing.enumerated import gather_enumerated
from services.documents.parsing.plain import read_text
from services.documents.parsing.refusal import ParseRefused, RefusalReason
from services.documents.parsing.tabular import make_table

_SKIPPED = frozenset({
    "script", "style", "noscript", "template", "nav", "aside", "form", "button", "select", "option",
    "input", "textarea", "svg", "math", "iframe", "object", "video", "audio", "canvas", "head", "dialog",
    "menu",
})  # fmt: skip
_PAGE_FURNITURE = frozenset({"header", "footer"})
_FURNITURE_ROLES = frozenset({"navigation", "banner", "contentinfo", "search", "complementary", "menu", "dialog"})
_BLOCKS = frozenset({
    "address", "article", "blockquote", "body", "center", "details", "dd", "div", "dl", "dt", "fieldset",
    "figure", "figcaption", "footer", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "html", "li",
    "main", "ol", "p", "pre", "section", "summary", "table", "tbody", "td", "tfoot", "th", "thead", "tr",
    "ul",
})  # fmt: skip
_MAX_DEPTH = 200
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
    """
    parser = lxml_html.HTMLParser(encoding="utf-8", huge_tree=False, remove_comments=True, remove_pis=True)
    try:
        root = lxml_html.document_fromstring(markup.encode("utf-8", "replace"), parser=parser)
    except (etree.ParserError, etree.XMLSyntaxError) as error:
        raise ParseRefused(RefusalReason.EMPTY, "The file holds no text.") from error
    reader = _Reader(guess_headers)
    reader.walk(_main_content(root), 0)
    blocks = gather_enumerated(reader.blocks)
    if not blocks:
        raise ParseRefused(RefusalReason.EMPTY, "The file holds no text.")
    heading = next((block.text for block in blocks if block.kind is BlockKind.HEADING), "")
    title = squeeze(root.findtext(".//title") or "") or heading
    return ParsedDocument(kind, title=title[:300], blocks=blocks)


def squeeze(text: str) -> str:
    """White space as one space, none at the ends."""
    return re.sub(r"\s+", " ", text.replace("\xa0", " ")).strip()


def _main_content(root: lxml_html.HtmlElement) -> lxml_html.HtmlElement:
    """The one main or article element where it holds most of the text, else the body."""
    body = root.find("body")
    whole = body if body is not None else root
    for path in (".//main", ".//*[@role='main']", ".//article"):
        found = whole.findall(path)
        if len(found) == 1 and len(_text(found[0])) > 0.3 * len(_text(whole)):
            return found[0]
    return whole


class _Reader:
    """Walks block elements; inline text between them becomes paragraphs of its own."""

    def __init__(self, guess_headers: bool) -> None:
        self.blocks: list[Block] = []
        self._guess_headers = guess_headers
        self._inline: list[str] = []

    def walk(self, element: lxml_html.HtmlElement, depth: int) -> None:
        """Reads an element's children in order."""
        self._inline.append(element.text or "")
        for child in element:
            if isinstance(child.tag, str):
                self._read(child, depth)
            self._inline.append(child.tail or "")
        if element.tag in _BLOCKS:
            self._end_paragraph()

    def _read(self, element: lxml_html.HtmlElement, depth: int) -> None:
        tag = element.tag.lower()
        if tag in _SKIPPED or _is_furniture(element, tag, depth) or depth > _MAX_DEPTH:
            return
        if tag not in _BLOCKS:
            if any(child.tag in _BLOCKS for child in element.iterdescendants() if isinstance(child.tag, str)):
                self.walk(element, depth + 1)
            else:
                self._inline.append("\n" if tag == "br" else _text(element))
            return
        self._end_paragraph()
        if re.fullmatch(r"h[1-6]", tag):
            self._add(BlockKind.HEADING, [squeeze(_text(element))], level=int(tag[1]))
        elif tag in ("ul", "ol"):
            self._add_list(element)
        elif tag == "table":
            self._add_table(element, depth)
        elif tag == "pre":
            lines = [line.rstrip() for line in _text(element).split("\n")]
            self._add(BlockKind.CODE, [line for line in lines if line])
        elif tag == "figcaption":
            self._add(BlockKind.FIGURE_CAPTION, [squeeze(_text(element))])
        elif tag == "dl":
            self._add_definitions(element)
        else:
            self.walk(element, depth + 1)
        self._end_paragraph()

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
        lines: list[Line] = []
        items: list[int] = []
        levels: list[int] = []
        _collect_items(element, 0, lines, items, levels)
        if lines:
            self.blocks.append(Block(BlockKind.LIST, lines, items=items, levels=levels, attached=self._announced()))

    def _add_definitions(self, element: lxml_html.HtmlElement) -> None:
        """Each term with what is said of it is one item."""
        lines: list[Line] = []
        items: list[int] = []
        levels: list[int] = []
        _collect_definitions(element, 0, lines, items, levels)
        if lines:
            self.blocks.append(Block(BlockKind.LIST, lines, items=items, levels=levels, attached=self._announced()))

    def _add_table(self, element: lxml_html.HtmlElement, depth: int) -> None:
        rows = [row for row in element.iter("tr") if _owner(row, "table") is element]
        if len(rows) < 2 or any(True for _ in element.iterdescendants("table")):
            # A table for layout: its cells are read as text.
            self.walk(element, depth + 1)
            return
        caption = squeeze(_text(element.find("caption"))) if element.find("caption") is not None else ""
        header = next((i for i, row in enumerate(rows) if any(cell.tag == "td" for cell in row)), 0)
        texts = _grid(rows)
        header_count: int | None = sum(any(cells) for cells in texts[:header])
        if not header_count and self._guess_headers:
            header_count = None
        table = make_table(texts, caption, header_count=header_count, attached=self._announced())
        if table is not None:
            self.blocks.append(table)


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
            text = squeeze(_text(cell))
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


def _collect_items(
    element: lxml_html.HtmlElement, level: int, lines: list[Line], items: list[int], levels: list[int]
) -> None:
    if level > 20:
        return
    for child in element:
        if child.tag in ("ul", "ol"):
            _collect_items(child, level + 1, lines, items, levels)
        elif child.tag == "li":
            own = squeeze(_text(child, without=("ul", "ol")))
            if own:
                items.append(len(lines))
                levels.append(level)
                lines.append(Line(own))
            for nested in child.iter("ul", "ol"):
                if _owner(nested, "li") is child:
                    _collect_items(nested, level + 1, lines, items, levels)


def _collect_definitions(
    element: lxml_html.HtmlElement, level: int, lines: list[Line], items: list[int], levels: list[int]
) -> None:
    """Terms and explanations in order; lists inside an explanation are items one level deeper."""
    if level > 20:
        return
    for child in element:
        if child.tag == "div":
            _collect_definitions(child, level, lines, items, levels)
        elif child.tag in ("dt", "dd"):
            own = squeeze(_text(child, without=("dl", "ul", "ol")))
            if own:
                if child.tag == "dt" or not items:
                    items.append(len(lines))
                    levels.append(level)
                lines.append(Line(own))
            for nested in child.iter("dl", "ul", "ol"):
                if next(nested.iterancestors("dt", "dd", "li"), None) is child:
                    collect = _collect_definitions if nested.tag == "dl" else _collect_items
                    collect(nested, level + 1, lines, items, levels)


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


def _text(element: lxml_html.HtmlElement, without: tuple[str, ...] = ()) -> str:
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
            if isinstance(child.tag, str) and child.tag not in without and child.tag not in _SKIPPED:
                spaced = child.tag == "br" or child.tag in _BLOCKS
                following += [" " if spaced and node.tag != "pre" else "\n" if child.tag == "br" else "", child]
                following += [" "] if spaced else []
            following.append(child.tail or "")
        stack.extend(reversed(following))
    return "".join(parts)
