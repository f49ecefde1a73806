"""Time left, and its shares."""

from __future__ import annotations

import asyncio
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citemesh.rpc.deadline import remaining_s, set_default_deadline, share

seconds = st.floats(min_value=0.0, max_value=1e6)
fractions = st.floats(min_value=0.001, max_value=1.0)


class Context:
    def __init__(self, remaining: float | None) -> None:
        self.remaining = remaining

    def time_remaining(self) -> float | None:
        return self.remaining


@given(seconds, fractions, seconds)
def test_a_share_leaves_the_reserve_and_never_goes_below_zero(
    remaining: float, fraction: float, reserve: float
) -> None:
    part = share(remaining, fraction, reserve)
    assert part is not None
    assert 0.0 <= part <= max(0.0, remaining - reserve)


@given(seconds, seconds, fractions)
def test_more_time_never_means_a_smaller_share(one: float, other: float, fraction: float) -> None:
    less, more = sorted((one, other))
    assert (share(less, fraction) or 0.0) <= (share(more, fraction) or 0.0)


def test_no_deadline_stays_none() -> None:
    assert share(None, 0.5, 1.0) is None


@pytest.mark.parametrize(("fraction", "reserve"), [(0.0, 0.0), (1.1, 0.0), (-1.0, 0.0), (0.5, -1.0), (0.5, math.nan)])
def test_wrong_shares_are_refused(fraction: float, reserve: float) -> None:
    with pytest.raises(ValueError, match="must"):
        share(1.0, fraction, reserve)


async def test_the_callers_deadline_wins_over_the_default() -> None:
    assert remaining_s(Context(None)) is None
    assert remaining_s(Context(-3.0)) == 0.0

    async def with_default() -> tuple[float | None, float | None]:
        set_default_deadline(5.0)
        return remaining_s(Context(None)), remaining_s(Context(1.0))

    default, given_one = await asyncio.create_task(with_default())
    assert default is not None
    assert 4.0 < default <= 5.0
    assert given_one == 1.0
    assert remaining_s(Context(None)) is None, "a default of one call must not reach another"
