"""The words above a table row: the column titles that a reader takes with it."""

from __future__ import annotations

from typing import Final

from citemesh.text.dash_lines import is_dash_line

_MOST_HEAD_LINES: Final = 6
_LONGEST_HEAD: Final = 1_500  # characters


def find_table_head(text: str, start: int, *, is_table: bool) -> str:
    """The head of the table row that begins at `start` of `text`; empty where no row with a head begins there.

    A row between pipes has the line above the nearest dashes; another row of a passage that is a table has the lines
    at its top, down to the first that is figures for a third.
    """
    above = text[:start].splitlines()
    if above and not text[:start].endswith("\n"):
        above = above[:-1]
    piped = _find_piped_head(above)
    if piped or not is_table:
        return piped
    return "\n".join(_read_top(above))[:_LONGEST_HEAD]


def _find_piped_head(above: list[str]) -> str:
    for number in range(len(above) - 1, 0, -1):
        if is_dash_line(above[number]):
            return above[number - 1][:_LONGEST_HEAD]
        if "|" not in above[number]:
            return ""
    return ""


def _read_top(lines: list[str]) -> list[str]:
    top: list[str] = []
    for line in lines[:_MOST_HEAD_LINES]:
        words = line.split()
        figures = sum(any(character.isdigit() for character in word) for word in words)
        if len(top) > 1 and figures * 3 >= max(1, len(words)):
            break
        top.append(line)
    return top
