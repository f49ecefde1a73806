"""Every pattern of the product against texts that make a careless one take cubed or exponential time.

A pattern runs under the interpreter's lock: while one works through a hostile text, every call of the process waits,
and neither a deadline nor a cancel ends it. So each pattern that a module keeps is searched for in long texts made of
repetitions of its own words and characters, and none may take long.
"""

from __future__ import annotations

import dataclasses
import importlib
import itertools
import pkgutil
import random
import re
import signal
import time
from collections.abc import Iterator
from types import FrameType, ModuleType
from typing import Any

import pytest

import citemesh
import services

_LENGTH = 2_000
_LONGEST_SEARCH_S = 0.5
_GENERAL_UNITS = (
    " ",
    "\t",
    "\n",
    "1",
    "a",
    "A",
    "-",
    "'",
    '"',
    "|",
    "`",
    ".",
    "a ",
    "A ",
    "1 ",
    "1.",
    "a, ",
    ". ",
    "a\n",
    "\n ",
)
_MOST_UNITS = 36
_MOST_WORDS = 8
_MOST_SENTENCES = 16
_MOST_TEXTS = 200


class _TooSlow(BaseException):
    """Raised by the timer in the middle of a search; a base exception, so that nothing on the way swallows it."""


def test_no_pattern_takes_long() -> None:
    patterns = _collect_patterns()
    assert len(patterns) > 100
    before = signal.signal(signal.SIGVTALRM, _stop)
    try:
        slow = [line for name, pattern in patterns for line in _find_slow(name, pattern)]
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    assert not slow, "\n".join(slow)


@pytest.mark.parametrize(
    "text",
    [
        r"(a+)+b",
        r"^\s*\|?(?:\s*:?-{2,}:?\s*\|?)+\s*$",
        r"^\W*(?:the\s+)?(?P<first>.+?)\s+(?:or|and)\s+(?P<second>.+?)\W*$",
    ],
)
def test_the_guard_finds_slow_patterns(text: str) -> None:
    before = signal.signal(signal.SIGVTALRM, _stop)
    try:
        assert _find_slow("known", re.compile(text))
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise _TooSlow


def _find_slow(name: str, pattern: re.Pattern[str]) -> list[str]:
    """One line for the first text that takes the pattern too long; none where all go quickly."""
    for text in _write_texts(pattern):
        start = time.thread_time()
        signal.setitimer(signal.ITIMER_VIRTUAL, _LONGEST_SEARCH_S)
        try:
            pattern.search(text)
        except _TooSlow:
            pass
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        if time.thread_time() - start >= _LONGEST_SEARCH_S * 0.9:
            return [f"{name}: {pattern.pattern[:120]!r} over {text[:40]!r}...{text[-3:]!r} ({len(text)} characters)"]
    return []


def _collect_patterns() -> list[tuple[str, re.Pattern[str]]]:
    """(module and name, pattern) of every text pattern in the globals of every module, no pattern twice."""
    found: dict[tuple[str, int], tuple[str, re.Pattern[str]]] = {}
    for module in _import_modules():
        for name, value in sorted(vars(module).items()):
            for pattern in _walk_value(value, depth=4):
                found.setdefault((pattern.pattern, pattern.flags), (f"{module.__name__}.{name}", pattern))
    return list(found.values())


def _import_modules() -> Iterator[ModuleType]:
    for package in (citemesh, services):
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if info.name.rpartition(".")[2] == "__main__":
                continue
            try:
                yield importlib.import_module(info.name)
            except ModuleNotFoundError as error:
                # An extra that is not installed here; a module of our own must be there.
                if (error.name or "").partition(".")[0] in ("citemesh", "services"):
                    raise


def _walk_value(value: object, depth: int) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern):
        if isinstance(value.pattern, str):
            yield value
    elif depth > 0 and isinstance(value, dict):
        for part in itertools.chain(value.keys(), value.values()):
            yield from _walk_value(part, depth - 1)
    elif depth > 0 and isinstance(value, tuple | list | set | frozenset):
        for part in value:
            yield from _walk_value(part, depth - 1)
    elif depth > 0 and dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from _walk_value(getattr(value, field.name, None), depth - 1)


def _write_texts(pattern: re.Pattern[str]) -> Iterator[str]:
    """Texts of one unit over and over, behind a beginning, with an end that fits nothing; the same for each run."""
    characters, words = _read_parts(pattern)
    choose = random.Random(pattern.pattern)
    pairs = [first + second for first, second in itertools.permutations(characters[:8], 2)]
    own = [*characters, *(f"{word} " for word in words), *(f" {word} a" for word in words), *pairs]
    begun = _write_beginnings(_parse(pattern))
    sentences = choose.sample(begun, min(len(begun), _MOST_SENTENCES))
    units = list(dict.fromkeys([*_GENERAL_UNITS, *sentences, *choose.sample(own, min(len(own), _MOST_UNITS))]))
    beginnings = list(dict.fromkeys(["a ", *words, *(f"{word} " for word in words)]))
    combined = list(itertools.product(beginnings, units))
    bare = [("", unit) for unit in units]
    chosen = choose.sample(combined, min(len(combined), _MOST_TEXTS - len(bare)))
    for beginning, unit in (*bare, *chosen):
        yield (beginning + unit * (_LENGTH // len(unit) + 1))[:_LENGTH] + "\x00"
    for unit in units:
        yield (unit * (_LENGTH // len(unit) + 1))[:_LENGTH] + "x"


def _parse(pattern: re.Pattern[str]) -> Any:
    from re import _parser  # type: ignore[attr-defined]  # the standard library's own reading of patterns

    return _parser.parse(pattern.pattern, pattern.flags)


def _read_parts(pattern: re.Pattern[str]) -> tuple[list[str], list[str]]:
    """The characters that a pattern names, one for each of its classes, and its words: the longest eight."""
    characters: set[str] = set()
    words: set[str] = set()
    _walk_pattern(_parse(pattern), characters, words)
    longest = sorted(words, key=lambda word: (-len(word), word))[:_MOST_WORDS]
    return sorted(characters)[:24], longest


_CLASSES = {"CATEGORY_SPACE": " ", "CATEGORY_DIGIT": "1", "CATEGORY_WORD": "a"}


def _walk_pattern(node: Any, characters: set[str], words: set[str]) -> None:
    """Gather what a parsed pattern names. `node` is a sequence of (operation, argument) as the parser gives them."""
    word = ""
    for operation, argument in node:
        name = str(operation)
        if name == "LITERAL":
            word += chr(argument)
            characters.add(chr(argument))
            continue
        if len(word) > 1:
            words.add(word)
        word = ""
        if name == "IN":
            characters.update(_read_class(argument))
        elif name in ("ANY", "NOT_LITERAL"):
            characters.add("x")
        else:
            for part in _find_parts(name, argument):
                _walk_pattern(part, characters, words)
    if len(word) > 1:
        words.add(word)


def _read_class(members: Any) -> Iterator[str]:
    if str(members[0][0]) == "NEGATE":
        yield " "
    for operation, argument in members:
        name = str(operation)
        if name == "LITERAL":
            yield chr(argument)
        elif name == "RANGE":
            yield from map(chr, argument)
        elif name == "CATEGORY":
            yield _CLASSES.get(str(argument), ".")


def _find_parts(name: str, argument: Any) -> list[Any]:
    if name == "BRANCH":
        return list(argument[1])
    if name == "SUBPATTERN":
        return [argument[3]]
    if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        return [argument[2]]
    if name in ("ASSERT", "ASSERT_NOT"):
        return [argument[1]]
    return [argument] if name == "ATOMIC_GROUP" else []


def _write_beginnings(node: Any) -> list[str]:
    """What begins like a match and ends before it is one: "where", "where show" of a pattern for "where show cost"."""
    beginnings: dict[str, None] = {}
    done = ""
    for operation, argument in node:
        name = str(operation)
        if name in ("BRANCH", "SUBPATTERN"):
            for part in _find_parts(name, argument):
                beginnings.update(dict.fromkeys(done + inner for inner in _write_beginnings(part)))
        done += _write_example([(operation, argument)])
        if len(done) > 1:
            beginnings[f"{done} "] = None
    return list(beginnings)


def _write_example(node: Any) -> str:
    """A text that the parsed pattern matches, or nearly: first branches, smallest repeats, a space for what is any."""
    example = ""
    for operation, argument in node:
        name = str(operation)
        if name == "LITERAL":
            example += chr(argument)
        elif name == "IN":
            example += next(iter(_read_class(argument)), " ")
        elif name in ("ANY", "NOT_LITERAL"):
            example += " "
        elif name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            inner = argument[2]
            is_any = str(inner[0][0]) in ("ANY", "IN", "NOT_LITERAL") and argument[1] > 1
            example += _write_example(inner) * max(int(argument[0]), 1 if is_any else 0)
        elif name != "ASSERT_NOT":
            example += "".join(_write_example(part) for part in _find_parts(name, argument)[:1])
    return example
