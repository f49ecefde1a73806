"""Lines of dashes are told from rows, in time linear in their length."""

from __future__ import annotations

import time

import pytest

from citemesh.text.dash_lines import is_dash_line


@pytest.mark.parametrize(
    "line", ["|---|---|", "---|---", "| :--- | :---: | ---: |", "  ------  ------", "--:--", "|--|\n", "--"]
)
def test_dash_lines(line: str) -> None:
    assert is_dash_line(line)


@pytest.mark.parametrize("line", ["", "|", "-", "| - | - |", "|---|x|", "---- total", "||---|", ":::", "- - -"])
def test_other_lines(line: str) -> None:
    assert not is_dash_line(line)


@pytest.mark.parametrize("unit", ["-", "--:", "-- ", "--|", " ", "--::", ":--"])
def test_a_long_line_is_told_at_once(unit: str) -> None:
    line = f"| {unit * 20_000} other vehicles below | |"
    start = time.thread_time()
    assert not is_dash_line(line)
    assert time.thread_time() - start < 0.2
