"""Series, ranges and parts left out, in mentions of numbered places."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.documents.mentions import find_mentions
from services.documents.paragraph_marks import between, complete, join_marks, split_marks
from services.documents.references import find_references


def named(text: str) -> list[str]:
    return [f"{mention.word} {mention.number}" for mention in find_mentions(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Tables 2, 3 and 5", ["table 2", "table 3", "table 5"]),
        ("sections 4.2-4.4", ["section 4.2", "section 4.3", "section 4.4"]),
        ("§§ 12.5(b)(1), 12.5(d) and 12.13 apply", ["section 12.5(b)(1)", "section 12.5(d)", "section 12.13"]),
        ("paragraphs (a)(1) and (2) of this section", ["paragraph (a)(1)", "paragraph (a)(2)"]),
        (
            "paragraph (p)(1)(i) through (iii)",
            ["paragraph (p)(1)(i)", "paragraph (p)(1)(ii)", "paragraph (p)(1)(iii)"],
        ),
        ("comments 4(a)-2 through -4", ["comment 4(a)-2", "comment 4(a)-3", "comment 4(a)-4"]),
        ("Article 6(1)(a) or (c)", ["article 6(1)(a)", "article 6(1)(c)"]),
        ("Appendices A and B", ["appendix A", "appendix B"]),
        ("Section 5, 2020 and later", ["section 5"]),
        ("figure out 3 parts of table manners", []),
        ("12 CFR § 26.19(e)", []),
    ],
)
def test_series(text: str, expected: list[str]) -> None:
    assert named(text) == expected


def test_whose_place_it_is() -> None:
    owners = [mention.owner for mention in find_mentions("section 5.4, Section 22 of the Journal, § 7 of this part")]
    assert owners == ["", "the Journal", "this part"]


def test_only_what_is_written_counts_as_written() -> None:
    assert [mention.is_written for mention in find_mentions("sections 1 to 3")] == [True, False, True]


def test_paragraphs_are_completed_by_their_section() -> None:
    known = {"9.2", "9.2(c)", "9.2(c)(1)", "9.2(c)(1)(i)", "5(b)"}

    def labels(text: str) -> list[str]:
        found = find_references(
            text, section_number="9.2(c)(1)", known_section=lambda number: number if number in known else ""
        )
        return [reference.label for reference in found]

    assert labels("under paragraph (i)") == ["section 9.2(c)(1)(i)"]
    assert labels("under paragraph (c) of this section") == ["section 9.2(c)"]
    assert labels("under paragraphs (b) and (z) of § 5") == ["section 5(b)"]


def test_a_place_in_another_document_names_it() -> None:
    (found,) = find_references("see section 3 of the Travel Policy", known_section=lambda _: "")
    assert (found.label, found.document_id) == ("section 3", "Travel Policy")
    assert not find_references("Section 3 of the Penn Treebank")
    assert not find_references("Appendix C to Regulation B")
    assert [found.label for found in find_references("Appendix C to this part")] == ["appendix c"]


@pytest.mark.parametrize(
    ("before", "written", "whole"),
    [
        ("5(c)(1)", "(2)", "5(c)(2)"),
        ("5(c)(1)(ii)", "(iii)", "5(c)(1)(iii)"),
        ("5(c)(1)", "(d)", "5(d)"),
        ("5", "(a)", "5(a)"),
        ("4(a)-2", "-4", "4(a)-4"),
        ("5(c)", "7(a)", "7(a)"),
    ],
)
def test_what_is_left_out(before: str, written: str, whole: str) -> None:
    assert complete(before, written) == whole


def test_ranges_end_where_they_cannot_be_counted() -> None:
    assert between("5(a)", "5(d)", 30) == ["5(b)", "5(c)"]
    assert between("I", "IV", 30) == ["II", "III"]
    assert between("5(A)", "5(D)", 30) == ["5(B)", "5(C)"]
    assert between("5(Y)", "5(b)", 30) == []
    assert between("4.2", "5.4", 30) == between("3", "900", 30) == between("5(a)", "6(c)", 30) == []


@given(st.from_regex(r"\A\d{1,3}(?:\.\d{1,2})?(?:\([a-z0-9]{1,3}\)){0,4}\Z"))
def test_marks_are_split_and_joined(number: str) -> None:
    assert join_marks(*split_marks(number)) == number


@given(
    st.lists(st.sampled_from(["section ", "§ ", "4.2", "(a)", "(1)", " and ", "-", " to ", ", ", "table "])).map(
        "".join
    )
)
def test_any_text_is_read(text: str) -> None:
    for mention in find_mentions(text):
        assert text[mention.start : mention.end]
