"""Typesets demo/manual.md as demo/corpus/cx-200-manual.pdf: bookmarks, contents, numbered sections, tables, a figure.

    python -m demo.make_manual          writes the PDF; the same source always gives the same bytes

The source is Markdown as far as it needs to be: `#` and `##` headings, paragraphs, `- ` lists, `|` tables,
and caption lines ("Table 3. ..." above its table, "Figure 1. ..." where the figure stands).
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reportlab.graphics.shapes import Circle, Drawing, Rect, String
from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import (
    BaseDocTemplate,
    Flowable,
    Frame,
    KeepTogether,
    ListFlowable,
    ListItem,
    PageBreak,
    PageTemplate,
    Paragraph,
    Spacer,
    Table,
)
from reportlab.platypus.tableofcontents import TableOfContents

HERE = Path(__file__).resolve().parent
SOURCE = HERE / "manual.md"
TARGET = HERE / "corpus" / "cx-200-manual.pdf"
TITLE = "CX-200 cold chain monitor: user manual"

_BODY = ParagraphStyle("body", fontName="Helvetica", fontSize=10.5, leading=15, spaceAfter=7)
_ITEM = ParagraphStyle("item", parent=_BODY, spaceAfter=1)
_CHAPTER = ParagraphStyle("chapter", parent=_BODY, fontName="Helvetica-Bold", fontSize=18, leading=24, spaceAfter=12)
_SECTION = ParagraphStyle(
    "section",
    parent=_BODY,
    fontName="Helvetica-Bold",
    fontSize=13,
    leading=18,
    spaceBefore=10,
    spaceAfter=5,
    keepWithNext=1,
)
_CAPTION = ParagraphStyle("caption", parent=_BODY, fontName="Helvetica-Oblique", fontSize=9.5, leading=13, spaceAfter=4)
_CELL = ParagraphStyle("cell", parent=_BODY, fontSize=9.5, leading=12.5, spaceAfter=0)
_HEAD = ParagraphStyle("head", parent=_CELL, fontName="Helvetica-Bold")
_COVER = ParagraphStyle("cover", parent=_BODY, fontName="Helvetica-Bold", fontSize=30, leading=38, spaceAfter=14)
_SUBTITLE = ParagraphStyle("subtitle", parent=_CHAPTER)
_CONTENTS = [
    ParagraphStyle(
        "contents0", parent=_BODY, fontName="Helvetica-Bold", fontSize=10.5, leading=13, spaceBefore=4, spaceAfter=0
    ),
    ParagraphStyle("contents1", parent=_BODY, fontSize=10, leading=12.5, leftIndent=14, spaceAfter=0),
]


class _Manual(BaseDocTemplate):  # type: ignore[misc]  # reportlab has no types
    """The page frame with running head and foot; headings become bookmarks and lines of the contents.

    Pages are not compressed, so that the bytes do not depend on the installed zlib.
    """

    def __init__(self, target: io.BytesIO) -> None:
        super().__init__(
            target,
            pagesize=A4,
            invariant=1,
            pageCompression=0,
            title=TITLE,
            author="Fernhill Instruments",
            subject="Firmware 3.2 and later",
            leftMargin=28 * mm,
            rightMargin=28 * mm,
            topMargin=28 * mm,
            bottomMargin=26 * mm,
        )
        frame = Frame(
            self.leftMargin, self.bottomMargin, self.width, self.height, id="text", leftPadding=0, rightPadding=0
        )
        self.addPageTemplates([PageTemplate(id="page", frames=[frame], onPage=_draw_head_and_foot)])

    def afterFlowable(self, flowable: Flowable) -> None:  # noqa: N802 - the name that reportlab calls
        if not isinstance(flowable, Paragraph) or flowable.style not in (_CHAPTER, _SECTION):
            return
        level = 0 if flowable.style is _CHAPTER else 1
        text = flowable.getPlainText()
        key = re.sub(r"[^a-z0-9]+", "-", text.lower())
        self.canv.bookmarkPage(key)
        self.canv.addOutlineEntry(text, key, level, closed=level == 0)
        self.notify("TOCEntry", (level, text, self.page, key))


def _draw_head_and_foot(canvas: Canvas, document: BaseDocTemplate) -> None:
    if document.page == 1:
        return
    canvas.saveState()
    canvas.setFont("Helvetica", 8.5)
    canvas.setFillColor(colors.HexColor("#555555"))
    canvas.drawString(28 * mm, A4[1] - 17 * mm, "CX-200 cold chain monitor")
    canvas.drawRightString(A4[0] - 28 * mm, A4[1] - 17 * mm, "User manual, edition 5")
    canvas.drawCentredString(A4[0] / 2, 15 * mm, str(document.page))
    canvas.restoreState()


def _cover() -> list[Flowable]:
    return [
        Spacer(1, 60 * mm),
        Paragraph("CX-200", _COVER),
        Paragraph("Cold chain monitor", _SUBTITLE),
        Paragraph("User manual for firmware 3.2 and later", _BODY),
        Spacer(1, 80 * mm),
        Paragraph("Fernhill Instruments · Edition 5, April 2026 · Document M-CX200-EN-5", _BODY),
        PageBreak(),
    ]


def _contents() -> list[Flowable]:
    contents = TableOfContents(levelStyles=_CONTENTS, dotsMinLevel=0)
    return [Paragraph("Contents", _SUBTITLE), contents]


def _figure() -> Flowable:
    """Figure 1, the front panel: drawn here because a picture file would not be text that anybody can change."""
    drawing = Drawing(150 * mm, 62 * mm)
    drawing.add(
        Rect(0, 0, 150 * mm, 60 * mm, rx=8, ry=8, fillColor=colors.HexColor("#eef1f4"), strokeColor=colors.grey)
    )
    drawing.add(Rect(10 * mm, 16 * mm, 70 * mm, 36 * mm, fillColor=colors.HexColor("#1d3b4f"), strokeColor=None))
    drawing.add(String(24 * mm, 31 * mm, "4.8 °C", fontName="Helvetica-Bold", fontSize=24, fillColor=colors.white))
    for position, (name, colour) in enumerate((("State", "#3a9d4a"), ("Supply", "#3a9d4a"), ("Network", "#d9a21b"))):
        height = (46 - 12 * position) * mm
        drawing.add(Circle(92 * mm, height, 2.4 * mm, fillColor=colors.HexColor(colour), strokeColor=None))
        drawing.add(String(97 * mm, height - 3, name, fontName="Helvetica", fontSize=9))
    for position, name in enumerate(("Menu", "<", ">", "OK")):
        left = (10 + 18 * position) * mm
        drawing.add(Rect(left, 4 * mm, 15 * mm, 8 * mm, rx=3, ry=3, fillColor=colors.white, strokeColor=colors.grey))
        drawing.add(String(left + 4 * mm, 6.8 * mm, name, fontName="Helvetica", fontSize=8))
    return drawing


def _table(rows: list[list[str]], width: float) -> Table:
    """A ruled table whose columns share the width in proportion to their longest cell."""
    cells = [[Paragraph(cell, _HEAD if index == 0 else _CELL) for cell in row] for index, row in enumerate(rows)]
    longest = [max(12, min(34, max(len(row[column]) for row in rows))) for column in range(len(rows[0]))]
    table = Table(cells, colWidths=[width * share / sum(longest) for share in longest], repeatRows=1, hAlign="LEFT")
    table.setStyle(
        [
            ("GRID", (0, 0), (-1, -1), 0.5, colors.HexColor("#888888")),
            ("BACKGROUND", (0, 0), (-1, 0), colors.HexColor("#e3e8ed")),
            ("VALIGN", (0, 0), (-1, -1), "TOP"),
            ("TOPPADDING", (0, 0), (-1, -1), 3),
            ("BOTTOMPADDING", (0, 0), (-1, -1), 4),
        ]
    )
    return table


def _blocks(source: str) -> Iterator[list[str]]:
    """The source's blocks: lines up to the next blank one."""
    for block in re.split(r"\n\s*\n", source.strip()):
        yield block.splitlines()


def _body(source: str, width: float) -> list[Flowable]:
    story: list[Flowable] = []
    caption: Paragraph | None = None
    for lines in _blocks(source):
        first = lines[0]
        if first.startswith("# "):
            story += [PageBreak(), Paragraph(first[2:], _CHAPTER)]
        elif first.startswith("## "):
            story.append(Paragraph(first[3:], _SECTION))
        elif first.startswith("|"):
            rows = [
                [cell.strip() for cell in line.strip("|").split("|")] for line in lines if not line.startswith("|---")
            ]
            parts: list[Flowable] = [caption] if caption else []
            story += [KeepTogether([*parts, _table(rows, width)]), Spacer(1, 10)]
            caption = None
        elif first.startswith("- "):
            items = [ListItem(Paragraph(line[2:], _ITEM), leftIndent=16) for line in lines]
            story += [ListFlowable(items, bulletType="bullet", start="•", leftIndent=16), Spacer(1, 9)]
        elif re.match(r"Table \d+\. ", first):
            caption = Paragraph(first, _CAPTION)
        elif re.match(r"Figure \d+\. ", first):
            story.append(KeepTogether([_figure(), Paragraph(first, _CAPTION)]))
        else:
            story.append(Paragraph(" ".join(lines).replace(" > ", " &gt; "), _BODY))
    return story


def make_manual(source: str) -> bytes:
    """The PDF of a manual in the markup described above; the same source gives the same bytes."""
    target = io.BytesIO()
    manual = _Manual(target)
    story: list[Any] = [*_cover(), *_contents(), *_body(source, manual.width)]
    manual.multiBuild(story)
    return target.getvalue()


def main() -> None:
    """Writes the PDF beside the other documents of the demo."""
    TARGET.write_bytes(make_manual(SOURCE.read_text(encoding="utf-8")))


if __name__ == "__main__":
    main()
