"""Texts that cannot be read cheaply by backtracking are read at once: a slow pattern would hold up every caller."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from citemesh.v1 import evidence_pb2, question_pb2
from services.generation.answer_types import defines, has_shape
from services.generation.comparing import find_compared
from services.generation.feedback import find_keywords
from services.generation.layout import read_lines
from services.generation.live_text import read_live_text
from services.generation.markup import read_plain
from services.generation.quotes import locate_quote
from services.generation.scene import Scene
from services.generation.units import read_units
from tests.unit.services.generation.builders import make_evidence

SIZE = 100_000  # characters, the longest text that a passage may have


@pytest.fixture(autouse=True)
def within_a_second() -> Iterator[None]:
    start = time.thread_time()
    yield
    assert time.thread_time() - start < 1.0


def repeat(unit: str, size: int = SIZE) -> str:
    return (unit * (size // len(unit) + 1))[:size]


def test_a_cell_of_dashes_and_words() -> None:
    dashes = "-" * 60
    rows = f"| Vehicle | Monthly fee |\n|----|----|\n| Car | 40 euros |\n| {dashes} other vehicles below | |\n"
    units = read_units(0, make_evidence(rows, kind=evidence_pb2.PASSAGE_KIND_TABLE))
    assert "Vehicle: Car; Monthly fee: 40 euros" in [unit.plain for unit in units]


def test_a_link_of_template_marks_without_an_end() -> None:
    for target in ("{%x%}" * 30, "{{x}}" * 30, repeat("{%x%}"), repeat("{%"), repeat("{{")):
        assert read_plain(f"See [the shed page]({target} for more.").startswith("See [the shed page](")
    assert read_plain("See [the shed page]({% link a.md %}).") == "See the shed page."
    assert read_plain("See [the shed page]({{ site.url }}/a?b={c}).") == "See the shed page."


@pytest.mark.parametrize(
    "unit",
    ["`", "``a`", "[", "![", "[](", "[](a ", '[]( "', "[a[b]", "![](", "[^", "<", "<!--", "<a ", "*", "_", "\\", "{%",
     "[]({%", "> ", ">", " ", "\n", "- ", "#", "](", "[x]({{"],
)  # fmt: skip
def test_marks_without_an_end(unit: str) -> None:
    read_plain(repeat(unit), keep_addresses=True)
    read_plain(f"a {repeat(unit)} b", keep_addresses=True)
    read_lines(repeat(unit))


def test_backticks_pair_by_their_number() -> None:
    assert read_plain("Use ``a ` b`` and `c*d*` here.") == "Use a ` b and c*d* here."
    assert read_plain("A lone ``` stays, a `pair` goes.") == "A lone ``` stays, a pair goes."


def test_comments_and_images() -> None:
    assert read_plain("a <!-- b <i> -->c ![d](e.png) <b>f</b> <!-- g") == "a c d f <!-- g"


@pytest.mark.parametrize(
    "unit", ["1", "1.", "1,", "1'", "1 ", "1(", "1 - ", "a", "a1", "A-", "Ab ", "a.", "a@", "\n", "one "]
)
@pytest.mark.parametrize("kind", [
    question_pb2.ANSWER_TYPE_DURATION, question_pb2.ANSWER_TYPE_MONEY, question_pb2.ANSWER_TYPE_DATE,
    question_pb2.ANSWER_TYPE_PLACE, question_pb2.ANSWER_TYPE_PERSON, question_pb2.ANSWER_TYPE_PROCEDURE,
])  # fmt: skip
def test_shapes(kind: question_pb2.AnswerType.ValueType, unit: str) -> None:
    has_shape(kind, repeat(unit))
    has_shape(kind, f"the {repeat(unit)}\0")


def test_shapes_behind_long_runs() -> None:
    digits = repeat("314159", 3_000)
    assert has_shape(question_pb2.ANSWER_TYPE_DURATION, f"Pi is 3.{digits}. Records are kept for 7 years.")
    assert has_shape(question_pb2.ANSWER_TYPE_DURATION, f"{digits} days")
    assert has_shape(question_pb2.ANSWER_TYPE_MONEY, f"{digits} EUR")
    assert not has_shape(question_pb2.ANSWER_TYPE_DURATION, digits)


@pytest.mark.parametrize("unit", ["\n", " ", "\t", "a ", "(", "A (b"])
def test_definitions(unit: str) -> None:
    assert not defines(f"The {repeat(unit)}\0", {"x"})
    assert not defines(f"A {repeat(unit)}\0", {"x"})


@pytest.mark.parametrize("unit", [" ", "\n", "or ", "or the ", "what of "])
def test_comparisons(unit: str) -> None:
    find_compared(repeat(unit, 4_000), "en")


@pytest.mark.parametrize("unit", ["l", "l-", "la la ", "la ", "A (AB) ", "\n", "la  "])
def test_other_names(unit: str) -> None:
    scene = Scene.__new__(Scene)
    object.__setattr__(scene, "evidence", [make_evidence(repeat(unit))])
    find_keywords(scene, [], is_complete=False)


def test_live_text_and_quotes() -> None:
    assert read_live_text('{"text": "' + repeat("a\\n")).startswith("a\na\n")
    read_live_text('{"text": "' + repeat("\\"))
    read_live_text(repeat('"text" '))
    assert locate_quote(repeat("a "), "a a a a a b") is None
    assert locate_quote("It  is\n3 days long.", "is 3 days") == (4, 13)
