"""Words of one recognised line: where the recogniser lost a space, the empty columns of the picture bring it back."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Picture = npt.NDArray[np.uint8]
"""[height, width] grey or [height, width, 3], 0 to 255."""

_LEAST_GAP = 0.18  # of the line's height: letters of one word stand at most 0.15 apart, words at least 0.23
_USUAL_SHARE = 0.55  # of the line's own usual space between words, where that is wide
_INK_CONTRAST = 40.0  # grey levels between paper and ink; below, a line has no ink to speak of
_MARGIN_ROWS = 0.12  # of the height: the outer rows may hold feet and heads of other lines
_CLOSING = frozenset(".,;:!?)]}’”'\"%")
_OPENING = frozenset("([{‘“")


@dataclass(frozen=True, slots=True)
class Letter:
    """One recognised character, and its middle in pixels from the line's left edge."""

    text: str
    middle: float


@dataclass(frozen=True, slots=True)
class PlacedWord:
    """A word and where it stands in its line, in pixels from the line's left edge."""

    text: str
    left: float
    right: float


def divide_words(letters: Sequence[Letter], line: Picture) -> list[PlacedWord]:
    """Words of a line, from its letters in order and its picture.

    A word ends at a space that was recognised, and where the picture is empty over the width of a space in this line.
    """
    runs = find_empty_columns(line)
    written = [letter for letter in letters if not letter.text.isspace()]
    if not written:
        return []
    gaps = [_gap(before, after, runs) for before, after in itertools.pairwise(written)]
    least = _least_space(gaps, line.shape[0])
    spaced = _after_space(letters)
    words: list[list[Letter]] = [[written[0]]]
    for number, (before, after) in enumerate(itertools.pairwise(written)):
        # Marks that cling to a word stand apart from it in wide type.
        clings = after.text in _CLOSING or before.text in _OPENING
        if spaced[number + 1] or (gaps[number] >= least and not clings):
            words.append([])
        words[-1].append(after)
    return [_place(word, runs, least, float(line.shape[1])) for word in words]


def find_empty_columns(line: Picture) -> list[tuple[int, int]]:
    """Runs of columns without ink, as (first, one past the last), from left to right; none for a blank line."""
    grey = line if line.ndim == 2 else line.mean(axis=2)
    paper, ink = float(np.percentile(grey, 90)), float(np.percentile(grey, 2))
    if abs(paper - ink) < _INK_CONTRAST:
        return []
    dark = np.abs(grey - paper) > 0.45 * abs(paper - ink)
    margin = round(_MARGIN_ROWS * dark.shape[0])
    empty = ~dark[margin : dark.shape[0] - margin].any(axis=0)
    edges = np.flatnonzero(np.diff(np.concatenate(([False], empty, [False])).astype(np.int8)))
    return [(int(first), int(last)) for first, last in edges.reshape(-1, 2)]


def _gap(before: Letter, after: Letter, runs: Sequence[tuple[int, int]]) -> int:
    """The widest empty run between the middles of two letters, in pixels."""
    between = (last - first for first, last in runs if before.middle < (first + last) / 2 < after.middle)
    return max(between, default=0)


def _least_space(gaps: Sequence[int], height: int) -> float:
    """The least gap that divides words in this line: letters that stand wide belong to words that stand wider."""
    wide = sorted(gap for gap in gaps if gap >= _LEAST_GAP * height)
    usual = wide[(3 * len(wide)) // 4] if len(wide) >= 3 else 0
    # A table's row has gaps of any width: the usual one says something only while it may be a space.
    return max(_LEAST_GAP * height, min(_USUAL_SHARE * usual, 0.45 * height))


def _after_space(letters: Sequence[Letter]) -> list[bool]:
    """For each letter that is no space, whether a recognised space stands before it."""
    found: list[bool] = []
    space = False
    for letter in letters:
        if letter.text.isspace():
            space = True
            continue
        found.append(space)
        space = False
    return found


def _place(word: Sequence[Letter], runs: Sequence[tuple[int, int]], least: float, width: float) -> PlacedWord:
    """A word with its edges: the spaces around it, or half a letter beyond its outer letters where there are none."""
    first, last = word[0].middle, word[-1].middle
    half = (last - first) / max(1, len(word) - 1) / 2 or 0.5 * least
    spaces = [run for run in runs if run[1] - run[0] >= 0.5 * least]
    left = max((float(end) for _, end in spaces if end <= first + 1), default=0.0)
    right = min((float(start) for start, _ in spaces if start >= last - 1), default=width)
    return PlacedWord("".join(letter.text for letter in word), max(left, first - 2 * half), min(right, last + 2 * half))
