"""Series, ranges and parts left out, in mentions of numbered places."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citemesh.text.mentions import find_mentions
from citemesh.text.paragraph_marks import between, complete, join_marks, split_marks


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
        # Behind a singular a mere count begins something else.
        ("Section 4 and 14 days before leaving", ["section 4"]),
        ("§ 5 to 12 months later", ["section 5"]),
        ("§ 5(a) and (b) apply", ["section 5(a)", "section 5(b)"]),
        ("Figs. 2 and 3 show", ["figure 2", "figure 3"]),
        ("figure out 3 parts of table manners", []),
        ("12 CFR § 26.19(e)", []),
        ("Table IV and Figures I and II", ["table IV", "figure I", "figure II"]),
        ("the table I made and a section A list", []),
        ("Section B and Article IV", ["section B", "article IV"]),
        ("Forms C-1 through C-3", ["form C-1", "form C-2", "form C-3"]),
        ("paragraphs 1 through 3", ["paragraph 1", "paragraph 2", "paragraph 3"]),
        ("paragraphs I.D.3., 4., and 5. of this Appendix", ["paragraph I.D.3", "paragraph I.D.4", "paragraph I.D.5"]),
        ("paragraph 4(a)(9)", ["paragraph 4(a)(9)"]),
        ("appendix B to 12 CFR part 3", ["appendix B"]),
        ("§ 12.4(a)(10)(i) and (b)", ["section 12.4(a)(10)(i)", "section 12.4(b)"]),
        ("comments 2(d)-2.i and .ii", ["comment 2(d)-2.i", "comment 2(d)-2.ii"]),
    ],
)
def test_series(text: str, expected: list[str]) -> None:
    assert named(text) == expected


def test_whose_place_it_is() -> None:
    owners = [mention.owner for mention in find_mentions("section 5.4, Section 22 of the Journal, § 7 of this part")]
    assert owners == ["", "the Journal", "this part"]


def test_whose_place_it_is_may_be_said_before() -> None:
    (_, paragraph) = find_mentions("Appendix A, paragraph I.C.6")
    assert (paragraph.number, paragraph.owner) == ("I.C.6", "Appendix A")
    (_, form) = find_mentions("in appendix C to the Travel Policy (Form C-1)")
    assert (form.number, form.owner) == ("C-1", "the Travel Policy")


def test_questions_and_answers_name_everyday_places_too() -> None:
    text = "RULE #10, step 3 and 4 hours, principles 2 and 3, 12 CFR § 5"
    assert named(text) == []
    found = [f"{mention.word} {mention.number}" for mention in find_mentions(text, everyday=True)]
    assert found == ["rule 10", "step 3", "principle 2", "principle 3", "section 5"]


def test_the_whole_mention_has_its_place() -> None:
    text = "see Tables 2 and 3."
    assert {text[slice(*mention.span)] for mention in find_mentions(text)} == {"Tables 2 and 3"}


def test_only_what_is_written_counts_as_written() -> None:
    assert [mention.is_written for mention in find_mentions("sections 1 to 3")] == [True, False, True]


@pytest.mark.parametrize(
    ("before", "written", "whole"),
    [
        ("5(c)(1)", "(2)", "5(c)(2)"),
        ("5(c)(1)(ii)", "(iii)", "5(c)(1)(iii)"),
        ("5(c)(1)", "(d)", "5(d)"),
        ("5", "(a)", "5(a)"),
        ("4(a)-2", "-4", "4(a)-4"),
        ("5(c)", "7(a)", "7(a)"),
        ("4(a)(10)(i)", "(b)", "4(b)"),
        ("I.D.3", "4", "I.D.4"),
        ("2(d)-2.i", ".ii", "2(d)-2.ii"),
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
    for mention in find_mentions(text, everyday=True):
        start, end = mention.span
        assert start <= mention.start < mention.end <= end
