"""The ruled lines of a PDF page: what tables are drawn with."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

_MAX_SEGMENTS = 12_000  # a map or a chart has more; nothing on its page is a table for that
_STRAIGHT = 0.8  # points that a ruled line may lean
_LEAST_LENGTH = 4.0
_SAME_PLACE = 2.5  # points between the two edges of a line that is drawn as a thin rectangle
_BREAK = 3.5  # points between pieces of one line

Point = tuple[float, float]
PlacePoint = Callable[[float, float], Point]


@dataclass(frozen=True, slots=True)
class Rule:
    """A ruled line: at `place` (y of a level one, x of an upright one) from `start` to `end`, in PDF points."""

    place: float
    start: float
    end: float

    def covers(self, position: float) -> bool:
        """Whether the line passes a position along it."""
        return self.start - _BREAK <= position <= self.end + _BREAK


@dataclass(frozen=True, slots=True)
class Rules:
    """Level and upright lines of a page, joined and in order."""

    level: tuple[Rule, ...] = ()
    upright: tuple[Rule, ...] = ()


def read_rules(page: pdfium.PdfPage, place: PlacePoint) -> Rules:
    """The ruled lines of a page; `place` puts a point where it is on the page as shown. None where it is a drawing."""
    level: list[Rule] = []
    upright: list[Rule] = []
    count = 0
    for item in page.get_objects(filter=[pdfium_c.FPDF_PAGEOBJ_PATH], max_depth=1):
        if not _is_drawn(item):
            continue
        for start, end in _edges(item):
            count += 1
            if count > _MAX_SEGMENTS:
                return Rules()
            (x0, y0), (x1, y1) = place(*start), place(*end)
            if abs(y0 - y1) <= _STRAIGHT and abs(x0 - x1) >= _LEAST_LENGTH:
                level.append(Rule((y0 + y1) / 2, min(x0, x1), max(x0, x1)))
            elif abs(x0 - x1) <= _STRAIGHT and abs(y0 - y1) >= _LEAST_LENGTH:
                upright.append(Rule((x0 + x1) / 2, min(y0, y1), max(y0, y1)))
    return Rules(tuple(join_rules(level)), tuple(join_rules(upright)))


def join_rules(rules: Iterable[Rule]) -> list[Rule]:
    """Lines at one place that touch are one; ordered by place, then start."""
    joined: list[Rule] = []
    for group in _by_place(sorted(rules, key=lambda rule: rule.place)):
        place = sum(rule.place for rule in group) / len(group)
        pieces: list[Rule] = []
        for rule in sorted(group, key=lambda rule: rule.start):
            if pieces and rule.start <= pieces[-1].end + _BREAK:
                pieces[-1] = Rule(place, pieces[-1].start, max(pieces[-1].end, rule.end))
            else:
                pieces.append(Rule(place, rule.start, rule.end))
        joined.extend(pieces)
    return joined


def _by_place(rules: Sequence[Rule]) -> Iterator[list[Rule]]:
    group: list[Rule] = []
    for rule in rules:
        if group and rule.place - group[0].place > _SAME_PLACE:
            yield group
            group = []
        group.append(rule)
    if group:
        yield group


def _is_drawn(item: pdfium.PdfObject) -> bool:
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    pdfium_c.FPDFPath_GetDrawMode(item.raw, fill, stroke)
    return bool(fill.value or stroke.value)


def _edges(item: pdfium.PdfObject) -> Iterator[tuple[Point, Point]]:
    """Straight edges of a path in the page's own coordinates."""
    matrix = item.get_matrix()
    x, y = ctypes.c_float(), ctypes.c_float()
    first: Point | None = None
    last: Point | None = None
    for number in range(min(pdfium_c.FPDFPath_CountSegments(item.raw), _MAX_SEGMENTS)):
        segment = pdfium_c.FPDFPath_GetPathSegment(item.raw, number)
        pdfium_c.FPDFPathSegment_GetPoint(segment, x, y)
        point = matrix.on_point(x.value, y.value)
        kind = pdfium_c.FPDFPathSegment_GetType(segment)
        if kind == pdfium_c.FPDF_SEGMENT_MOVETO:
            first = point
        elif kind == pdfium_c.FPDF_SEGMENT_LINETO and last is not None:
            yield last, point
        last = point
        if pdfium_c.FPDFPathSegment_GetClose(segment) and first is not None:
            yield point, first
