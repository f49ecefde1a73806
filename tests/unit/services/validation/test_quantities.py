"""Numbers, measures and dates that agree or do not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.validation.quantities import find_dates, find_quantities
from services.validation.words import fold


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
