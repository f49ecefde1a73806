"""Looking values up says what comparing each with each says."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from services.validation.held_values import HeldDates, HeldQuantities
from services.validation.quantities import Date, Quantity

DATES = st.builds(
    Date,
    st.just(""),
    st.sampled_from([0, 2020, 2021]),
    st.integers(0, 3),
    st.integers(0, 3),
    swapped=st.booleans(),
)
QUANTITIES = st.builds(
    Quantity,
    st.just(""),
    st.frozensets(st.sampled_from([0.0, 1.0, 1.0 + 1e-10, 1.5, 1500.0, 1500.0000001, float("inf")]), max_size=2),
    st.sampled_from(["", "s", "m"]),
    st.none() | st.just(("s", 60.0)) | st.just(("s", 3600.0)),
)


@given(DATES, st.lists(DATES, max_size=4))
def test_dates(date: Date, held: list[Date]) -> None:
    assert HeldDates(held).agree(date) == any(date.agrees(other) for other in held)


@given(QUANTITIES, st.lists(QUANTITIES, max_size=4))
def test_quantities(quantity: Quantity, held: list[Quantity]) -> None:
    assert HeldQuantities(held).agree(quantity) == any(quantity.agrees(other) for other in held)
