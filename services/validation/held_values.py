"""The numbers and dates that a text holds, so that each of many others is compared with few of them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import product

from services.validation.quantities import Date, Quantity

_TOLERANCE = 2e-9  # a little more than two readings that count as equal may differ
_ANY = -1


class HeldQuantities:
    """Quantities in the order of their readings."""

    def __init__(self, quantities: Iterable[Quantity]) -> None:
        unlike = {(each.readings, each.unit, each.per): each for each in quantities}
        entries = sorted(
            ((reading, each) for each in unlike.values() for reading in each.readings), key=lambda entry: entry[0]
        )
        self._readings = [reading for reading, _ in entries]
        self._quantities = [each for _, each in entries]

    def agree(self, quantity: Quantity) -> bool:
        """Whether one of them can be the same as `quantity`."""
        return any(quantity.agrees(self._quantities[place]) for place in self._near(quantity.readings))

    def _near(self, readings: Iterable[float]) -> Iterator[int]:
        for reading in readings:
            reach = _TOLERANCE * max(1.0, abs(reading))
            place = bisect_left(self._readings, reading - reach)
            while place < len(self._readings) and self._readings[place] <= reading + reach:
                yield place
                place += 1


class HeldDates:
    """Dates by the parts that they give: a part that one of two dates does not give differs from none."""

    def __init__(self, dates: Iterable[Date]) -> None:
        self._known: set[tuple[int, int, int]] = set()
        for date in dates:
            for month, day in _orders(date):
                self._known.update(product((date.year, _ANY), (month, _ANY), (day, _ANY)))

    def __bool__(self) -> bool:
        return bool(self._known)

    def agree(self, date: Date) -> bool:
        """Whether one of them gives no part otherwise than `date`."""
        return any(
            not self._known.isdisjoint(product(_fits(date.year), _fits(month), _fits(day)))
            for month, day in _orders(date)
        )


def _orders(date: Date) -> list[tuple[int, int]]:
    return [(date.month, date.day), *([(date.day, date.month)] if date.swapped else [])]


def _fits(part: int) -> tuple[int, ...]:
    """What a held date's part may be: this one or none; any where this one is not given."""
    return (part, 0) if part else (_ANY,)
