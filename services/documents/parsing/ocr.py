"""Reads the picture of a page as lines of words. Needs the extra `ocr`; without it there is no reader."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from services.documents.parsing.ocr_words import Letter, Picture, PlacedWord, divide_words

_LINES_AT_ONCE = 6
_LEAST_CERTAINTY = 0.5  # mean probability of a line's characters; stains and drawings read as letters stay below
_TURNED_SHARE = 0.6  # of the lines: as many upside down, or upright boxes, say that the page is turned


class PageTimeoutError(Exception):
    """A page was given up: the time for it is over."""


@dataclass(frozen=True, slots=True)
class ReadLine:
    """One line: its words, and its box left, top, right, bottom in pixels of the picture as it is read, y down."""

    words: list[PlacedWord]
    box: tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class ReadPicture:
    """Lines of a picture, and by how many quarter turns to the left it was turned to be read."""

    lines: list[ReadLine]
    quarter_turns: int


def load_scan_reader(thread_count: int) -> ScanReader | None:
    """The recogniser with its models, which come with its package; None where that is not installed."""
    try:
        from rapidocr_onnxruntime import RapidOCR  # type: ignore[import-untyped]  # it ships no types
    except ImportError:
        return None
    return ScanReader(RapidOCR(intra_op_num_threads=thread_count, inter_op_num_threads=1))


class ScanReader:
    """PP-OCRv4 (Latin script and Chinese) by onnxruntime: finds lines, turns them upright, reads them."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine

    def read(self, picture: Picture, ends_at: float) -> ReadPicture:
        """Lines of a page's picture [height, width, 3], in no order.

        Raises PageTimeoutError at `ends_at`, by the monotonic clock: it is looked at between steps of about a second.
        """
        turns = 0
        boxes = self._find_lines(picture)
        if boxes and _mostly(boxes, _is_upright):
            turns, picture = 1, np.ascontiguousarray(np.rot90(picture))
            boxes = self._find_lines(picture)
        _check(ends_at)
        crops, flipped = self._cut_out(picture, boxes)
        if flipped:
            turns, picture = (turns + 2) % 4, np.ascontiguousarray(np.rot90(picture, 2))
            boxes = self._find_lines(picture)
            crops, _ = self._cut_out(picture, boxes)
        _check(ends_at)
        lines: list[ReadLine] = []
        # Lines of like length go together: the shorter ones are padded to the longest.
        order = sorted(range(len(crops)), key=lambda number: crops[number].shape[1] / crops[number].shape[0])
        for start in range(0, len(order), _LINES_AT_ONCE):
            _check(ends_at)
            chosen = order[start : start + _LINES_AT_ONCE]
            results, _ = self._engine.text_rec([crops[number] for number in chosen], True)
            for number, (_, certainty, places) in zip(chosen, results, strict=True):
                if certainty >= _LEAST_CERTAINTY:
                    lines.extend(_to_line(places, crops[number], boxes[number]))
        return ReadPicture(lines, turns)

    def _find_lines(self, picture: Picture) -> list[Any]:
        """Corner points [4, 2] of each line's box."""
        boxes, _ = self._engine.auto_text_det(picture)
        return [] if boxes is None else list(boxes)

    def _cut_out(self, picture: Picture, boxes: Sequence[Any]) -> tuple[list[Picture], bool]:
        """The lines' pictures, each upright, and whether most of them stood upside down."""
        if not boxes:
            return [], False
        crops, turned, _ = self._engine.text_cls(self._engine.get_crop_img_list(picture, np.array(boxes)))
        upside_down = [label == "180" for label, _ in turned]
        return crops, sum(upside_down) > _TURNED_SHARE * len(upside_down)


def _check(ends_at: float) -> None:
    if time.monotonic() >= ends_at:
        raise PageTimeoutError


def _mostly(boxes: Sequence[Any], holds: Callable[[Any], bool]) -> bool:
    return sum(map(holds, boxes)) > _TURNED_SHARE * len(boxes)


def _is_upright(box: Any) -> bool:
    width, height = np.ptp(box[:, 0]), np.ptp(box[:, 1])
    return bool(height > 1.5 * width)


def _to_line(places: Sequence[Any], crop: Picture, box: Any) -> list[ReadLine]:
    """A line from the recogniser's columns: how many there are, and for each run of letters these and their columns."""
    column_count, runs, columns = places[0], places[1], places[2]
    width = crop.shape[1]
    letters = [
        Letter(letter, (column + 0.5) / column_count * width)
        for run, run_columns in zip(runs, columns, strict=True)
        for letter, column in zip(run, run_columns, strict=True)
    ]
    words = divide_words(letters, crop)
    if not words:
        return []
    left, top, right, bottom = (float(v) for v in (*box.min(axis=0), *box.max(axis=0)))
    share = (right - left) / width
    placed = [PlacedWord(word.text, left + word.left * share, left + word.right * share) for word in words]
    return [ReadLine(placed, (left, top, right, bottom))]
