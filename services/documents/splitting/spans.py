"""Text that knows where its lines stand, so that any part of it can be shown on the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from services.documents.parsing.blocks import Box, Line


@dataclass(frozen=True, slots=True)
class LineSpan:
    """Characters `start`..`end` of a text are one line (or a part of one) of a page; `page` 0: no pages."""

    start: int
    end: int
    page: int
    box: Box | None


@dataclass(frozen=True, slots=True)
class SpannedText:
    """Text with the lines that it is made of, in order."""

    text: str
    spans: tuple[LineSpan, ...]

    def cut(self, start: int, end: int) -> SpannedText:
        """The part `start`..`end`, white space at its ends left out."""
        piece = self.text[start:end]
        start += len(piece) - len(piece.lstrip())
        end -= len(piece) - len(piece.rstrip())
        kept = tuple(
            LineSpan(max(span.start, start) - start, min(span.end, end) - start, span.page, span.box)
            for span in self.spans
            if span.start < end and span.end > start
        )
        return SpannedText(self.text[start:end], kept)

    @property
    def pages(self) -> tuple[int, int]:
        """First and last page; 0 and 0 without pages."""
        pages = [span.page for span in self.spans if span.page]
        return (min(pages), max(pages)) if pages else (0, 0)


def from_lines(lines: Sequence[Line], *, tidy: bool = True) -> SpannedText:
    """Lines joined by their glue; `tidy` leaves out white space at the ends, which in a table's row is empty cells."""
    parts: list[str] = []
    spans: list[LineSpan] = []
    length = 0
    for number, line in enumerate(lines):
        if number:
            parts.append(line.glue)
            length += len(line.glue)
        parts.append(line.text)
        spans.append(LineSpan(length, length + len(line.text), line.page, line.box))
        length += len(line.text)
    whole = SpannedText("".join(parts), tuple(spans))
    return whole.cut(0, length) if tidy else whole


def join(texts: Sequence[SpannedText], glue: str) -> SpannedText:
    """Texts one after the other with `glue` between."""
    parts: list[str] = []
    spans: list[LineSpan] = []
    length = 0
    for number, each in enumerate(texts):
        if number:
            parts.append(glue)
            length += len(glue)
        spans.extend(LineSpan(s.start + length, s.end + length, s.page, s.box) for s in each.spans)
        parts.append(each.text)
        length += len(each.text)
    return SpannedText("".join(parts), tuple(spans))
