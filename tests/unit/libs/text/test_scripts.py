"""Scripts without spaces."""

from __future__ import annotations

import pytest

from citemesh.text.scripts import is_unspaced


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("休假", True),
        ("ひらがな", True),
        ("휴가", True),
        ("วันลา", True),
        ("congés", False),
        ("отпуск", False),
        ("", False),
    ],
)
def test_kana_han_hangul_and_thai(text: str, expected: bool) -> None:
    assert is_unspaced(text) is expected
