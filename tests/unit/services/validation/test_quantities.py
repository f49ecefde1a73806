"""Numbers, measures and dates that agree or do not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.validation.quantities import find_dates, find_quantities
from services.validation.words import SHARED_WORDS, fold


def agree(one: str, other: str) -> bool:
    return any(a.agrees(b) for a in find_quantities(fold(one)) for b in find_quantities(fold(other)))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("30 days", "thirty days"),
        ("1'000'000'000 rows", "1,000,000,000 rows"),
        ("1,500", "1500"),
        ("1.500 Euro", "EUR 1,500"),
        ("€ 64", "64 EUR"),
        ("two weeks", "14 days"),
        ("12 months", "one year"),
        ("50%", "50 percent"),
        ("2 million", "2,000,000"),
        ("100K steps", "100,000 steps"),
        ("twenty-five people", "25 people"),
        ("a 10-day limit", "10 days"),
        ("0,5 %", "0.5%"),
        ("v3.5", "3.5"),
        ("−3", "-3"),
        ("EUR 64 a day", "EUR 64 per day"),
        ("EUR 64 a day", "64 euros"),
        ("EUR 64 for each person a day", "64 EUR/day"),
        ("€64 pro Tag", "64 euros par jour"),
        ("twice a week", "two times per week"),
        ("64 an hour", "64 every hour"),
        ("12 days a year", "twelve days per year"),
    ],
)
def test_the_same_in_other_words(one: str, other: str) -> None:
    assert agree(one, other)
    assert agree(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("30 days", "30 hours"),
        ("EUR 64", "USD 64"),
        ("5", "6"),
        ("1,500", "15"),
        ("4.92", "492"),
        ("50%", "50 euros"),
        ("COVID-19", "19 days"),
        ("3.5.1", "3.5"),
        ("EUR 64 a day", "EUR 64 a week"),
        ("EUR 64 per month", "EUR 64 a year"),
        ("twice a day", "twice a month"),
    ],
)
def test_what_differs(one: str, other: str) -> None:
    assert not agree(one, other)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("1 January 2026", "January 1, 2026", True),
        ("1 January 2026", "2026-01-01", True),
        ("1. Januar 2026", "1 janvier 2026", True),
        ("01.02.2026", "2 January 2026", True),
        ("January 2026", "1 January 2026", True),
        ("May 23", "23 May 2019", True),
        ("1 January 2026", "1 January 2025", False),
        ("May 23", "May 24", False),
    ],
)
def test_dates(one: str, other: str, same: bool) -> None:
    (first,), (second,) = find_dates(fold(one)), find_dates(fold(other))
    assert first.agrees(second) is same
    assert second.agrees(first) is same


@given(st.integers(min_value=0, max_value=10**12))
def test_grouped_digits_are_the_number(value: int) -> None:
    assert agree(f"{value:,} rows", f"{value} rows")
    assert agree(f"{value:,}".replace(",", "'"), str(value))


@given(st.text(max_size=200))
def test_any_text_is_survived(text: str) -> None:
    assert all(quantity.readings for quantity in find_quantities(fold(text)))
    find_dates(fold(text))


PERIODS = ("hour", "day", "week", "month", "quarter", "year")
AMOUNTS = st.integers(min_value=2, max_value=10**6)


@given(AMOUNTS, st.sampled_from(PERIODS), st.sampled_from(PERIODS), st.sampled_from(("per", "each", "every")))
def test_a_rate_is_one_quantity_whatever_its_wording(amount: int, period: str, other: str, word: str) -> None:
    article = "an" if period == "hour" else "a"
    (quantity,) = find_quantities(f"eur {amount} {article} {period}")
    (same,) = find_quantities(f"{amount} euros {word} {other}")
    (plain,) = find_quantities(f"{amount} eur")
    assert quantity.agrees(same) is (period == other)
    assert quantity.agrees(plain)
    assert plain.agrees(quantity)


@given(AMOUNTS, st.sampled_from(("within", "for", "in", "after", "and")), st.sampled_from(PERIODS[1:]))
def test_a_time_that_a_word_governs_stays_a_measure(amount: int, word: str, period: str) -> None:
    found = find_quantities(f"eur {amount} {word} a {period}")
    assert [quantity.surface for quantity in found] == [f"eur {amount}", f"a {period}"]
    assert found[0].per is None


@given(AMOUNTS, st.sampled_from([*sorted(SHARED_WORDS - {"an", "may"}), "need", "rows", "visits"]))
def test_a_word_that_is_no_unit_is_no_part_of_a_measure(amount: int, word: str) -> None:
    for text, surface in ((f"eur {amount} {word}", f"eur {amount}"), (f"{amount} {word}", str(amount))):
        (quantity,) = [each for each in find_quantities(text) if each.surface != word]
        assert quantity.surface == surface
        assert quantity.readings == {float(amount)}
        assert quantity.unit == ("eur" if text.startswith("eur") else "")


@pytest.mark.parametrize("text", ["a day", "an hour", "within a month", "once", "The visit took a week."])
def test_a_time_without_a_number_before_it_is_itself(text: str) -> None:
    assert all(quantity.per is None for quantity in find_quantities(fold(text)))


@pytest.mark.parametrize("text", ["the tenant pays", "high tension", "neunzig", "a sevenfold rise"])
def test_a_word_that_begins_like_a_number_is_none(text: str) -> None:
    assert [quantity.surface for quantity in find_quantities(text)] == (["neunzig"] if text == "neunzig" else [])
