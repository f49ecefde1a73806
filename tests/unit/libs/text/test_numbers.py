"""Numbers and months in words."""

from __future__ import annotations

from citemesh.text.numbers import MONTHS, TENS, numbers_between


def test_the_same_number_in_each_language() -> None:
    words = numbers_between(12, 12)
    assert words == {"twelve": 12, "zwölf": 12, "douze": 12, "doce": 12}
    assert numbers_between(20, 20) == dict.fromkeys(("twenty", "zwanzig", "vingt", "veinte"), 20)


def test_bounds_hold_and_articles_are_no_numbers() -> None:
    assert set(numbers_between(0, 99).values()) == {0, *range(2, 20), *TENS.values()}
    assert not {"one", "a", "ein", "un", "una"} & set(numbers_between(0, 99))


def test_every_month_has_names() -> None:
    assert set(MONTHS.values()) == set(range(1, 13))
    assert MONTHS["märz"] == MONTHS["mars"] == MONTHS["mar"] == 3
