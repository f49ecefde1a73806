"""Spaces that a recogniser lost are found again in the picture of the line."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
import reportlab
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageDraw, ImageFont

from services.documents.parsing.ocr_words import Letter, Picture, divide_words, find_empty_columns

FONT = ImageFont.truetype(str(Path(reportlab.__file__).parent / "fonts" / "Vera.ttf"), 28)
WORDS = st.lists(st.text("abcdefghimnoprstuwxyz", min_size=1, max_size=9), min_size=1, max_size=7)


def draw_line(words: list[str], space: int, *, spaces_read: bool) -> tuple[list[Letter], Picture]:
    """A line's picture with the given space between words, and its letters as a recogniser places them."""
    letters: list[Letter] = []
    x = 6.0
    width = round(sum(FONT.getlength(word) + space for word in words)) + 20
    picture = Image.new("L", (width, 44), 235)
    draw = ImageDraw.Draw(picture)
    for number, word in enumerate(words):
        if number and spaces_read:
            letters.append(Letter(" ", x - space / 2))
        for letter in word:
            draw.text((x, 4), letter, fill=30, font=FONT)
            letters.append(Letter(letter, x + FONT.getlength(letter) / 2))
            x += FONT.getlength(letter)
        x += space
    return letters, np.asarray(picture)


@given(WORDS, st.integers(12, 40))
def test_words_are_told_apart_by_the_space_in_the_picture(words: list[str], space: int) -> None:
    letters, line = draw_line(words, space, spaces_read=False)
    assert [word.text for word in divide_words(letters, line)] == words


@given(WORDS, st.integers(4, 40))
def test_a_space_that_was_read_is_kept_however_narrow(words: list[str], space: int) -> None:
    letters, line = draw_line(words, space, spaces_read=True)
    assert [word.text for word in divide_words(letters, line)] == words


@given(WORDS)
def test_words_stand_in_order_and_within_the_line(words: list[str]) -> None:
    letters, line = draw_line(words, 14, spaces_read=False)
    placed = divide_words(letters, line)
    assert all(0 <= word.left < word.right <= line.shape[1] for word in placed)
    assert all(before.right <= after.left + 1 for before, after in itertools.pairwise(placed))


def test_a_mark_that_stands_apart_stays_with_its_word() -> None:
    letters, line = draw_line(["night", "!"], 14, spaces_read=False)
    assert [word.text for word in divide_words(letters, line)] == ["night!"]


@pytest.mark.parametrize("grey", [0, 128, 255])
def test_a_picture_without_ink_has_no_gaps(grey: int) -> None:
    assert find_empty_columns(np.full((40, 200), grey, dtype=np.uint8)) == []
    assert divide_words([], np.full((40, 200), grey, dtype=np.uint8)) == []
