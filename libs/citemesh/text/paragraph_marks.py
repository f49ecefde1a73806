"""Numbers with marks of paragraphs, such as "1002.5(b)(1)(ii)": completed from the one before, and counted on; pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

_MARK: Final = re.compile(r"\(([^()]+)\)")
_COMMENT_PART: Final = re.compile(r"-\d+(?:\.[ivxlc]+)?$")
_ROMAN_PART: Final = re.compile(r"\.[ivxlc]+$")
_OUTLINE_NUMBER: Final = re.compile(r"(?:[A-Z]+\.)+(?=\d+$)")
_ROMANS: Final = (
    "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii", "xiii", "xiv", "xv", "xvi", "xvii",
    "xviii", "xix", "xx",
)  # fmt: skip


def split_marks(number: str) -> tuple[str, list[str]]:
    """ "1002.5(b)(1)" as "1002.5" and ["b", "1"]."""
    at = number.find("(")
    return (number, []) if at < 0 else (number[:at], _MARK.findall(number[at:]))


def join_marks(base: str, marks: list[str]) -> str:
    """The inverse of `split_marks`."""
    return base + "".join(f"({mark})" for mark in marks)


def complete(before: str, written: str) -> str:
    """`written` with what it leaves out: after "(c)(1)", "(2)" is "(c)(2)"; after "4(a)-2", "-4" is "4(a)-4"; after
    "I.D.3", "4" is "I.D.4".

    A mark continues the deepest mark of its own kind in `before`; where there is none it stands for itself.
    """
    if written.startswith("-"):
        return _COMMENT_PART.sub("", before) + written
    if written.startswith("."):
        return _ROMAN_PART.sub("", before) + written
    outline = _OUTLINE_NUMBER.match(before)
    if outline is not None and written.isdigit():
        return outline.group() + written
    base, marks = split_marks(written)
    before_base, before_marks = split_marks(before)
    if base or not marks:
        return written
    for depth in range(len(before_marks) - 1, -1, -1):
        if _kinds(marks[0]) & _kinds_at(before_marks, depth):
            return join_marks(before_base, before_marks[:depth] + marks)
    return join_marks(before_base, marks)


def between(first: str, last: str, max_count: int) -> list[str]:
    """What a range covers between its ends, which differ in their last part alone; empty where that cannot be told."""
    for start, end, make in (_last_marks(first, last), _last_numbers(first, last)):
        # Roman numbers first: "Parts I to V" are five, and letters in such a run are rare.
        for order in (_as_number, _as_roman, _as_capital_roman, _as_letter, _as_capital):
            low, high = order(start), order(end)
            if low is not None and high is not None and low < high and high - low <= max_count:
                names = [_name(order, place) for place in range(low + 1, high)]
                return [make(name) for name in names]
    return []


Make = Callable[[str], str]


def _last_marks(first: str, last: str) -> tuple[str, str, Make]:
    (base, marks), (last_base, last_marks) = split_marks(first), split_marks(last)
    if not marks or (base, marks[:-1]) != (last_base, last_marks[:-1]):
        return "", "", str
    return marks[-1], last_marks[-1], lambda name: join_marks(base, [*marks[:-1], name])


def _last_numbers(first: str, last: str) -> tuple[str, str, Make]:
    head, sign, number = _cut(first)
    last_head, _, last_number = _cut(last)
    if head != last_head:
        return "", "", str
    return number, last_number, lambda name: f"{head}{sign}{name}"


def _cut(number: str) -> tuple[str, str, str]:
    at = max(number.rfind("."), number.rfind("-"))
    return (number[:at], number[at], number[at + 1 :]) if at >= 0 else ("", "", number)


def _kinds_at(marks: list[str], depth: int) -> set[str]:
    """The kinds of a mark where it stands: below another letter, "(i)" is a Roman number."""
    kinds = _kinds(marks[depth])
    is_below_letter = any("letter" in _kinds(above) for above in marks[:depth])
    return {"roman"} if is_below_letter and "roman" in kinds else kinds


def _kinds(mark: str) -> set[str]:
    """Letters may be Roman numbers as well: "(i)" continues "(h)" and "(ii)"."""
    if mark.isdigit():
        return {"number"}
    if mark.isupper():
        return {"capital"}
    kinds = {"letter"} if len(mark) == 1 or len(set(mark)) == 1 else set()
    return kinds | {"roman"} if mark in _ROMANS else kinds


def _as_number(mark: str) -> int | None:
    return int(mark) if mark.isdigit() else None


def _as_roman(mark: str) -> int | None:
    return _ROMANS.index(mark) if mark in _ROMANS else None


def _as_capital_roman(mark: str) -> int | None:
    return _as_roman(mark.lower()) if mark.isupper() else None


def _as_letter(mark: str) -> int | None:
    return ord(mark) if len(mark) == 1 and mark.islower() and mark.isascii() else None


def _as_capital(mark: str) -> int | None:
    return ord(mark) if len(mark) == 1 and mark.isupper() and mark.isascii() else None


def _name(order: Callable[[str], int | None], place: int) -> str:
    if order is _as_number:
        return str(place)
    if order is _as_capital_roman:
        return _ROMANS[place].upper()
    return _ROMANS[place] if order is _as_roman else chr(place)
