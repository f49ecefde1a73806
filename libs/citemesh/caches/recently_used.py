"""A cache that keeps what was used last."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


def _count_one(_value: object) -> int:
    return 1


class RecentlyUsed(Generic[Key, Value]):
    """Keeps the most recently used values up to `capacity`; safe to use from several threads.

    `weigh` says how much of the capacity a value takes (bytes, tokens), at least 1; each takes 1 where it is left out.
    It must return the same for the same value. A value above the capacity is not kept, so 0 keeps nothing.
    """

    def __init__(self, capacity: int, weigh: Callable[[Value], int] = _count_one) -> None:
        self._capacity = capacity
        self._weigh_value = weigh
        self._weight = 0
        self._entries: OrderedDict[Key, Value] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Key) -> Value | None:
        """The value, or None."""
        with self._lock:
            value = self._entries.get(key)
            if value is not None:
                self._entries.move_to_end(key)
            return value

    def get_all(self, keys: Iterable[Key]) -> dict[Key, Value]:
        """The values of those `keys` that are kept."""
        found = {}
        with self._lock:
            for key in keys:
                value = self._entries.get(key)
                if value is not None:
                    self._entries.move_to_end(key)
                    found[key] = value
        return found

    def put(self, key: Key, value: Value) -> None:
        """Keep a value, and drop those that were used longest ago where there is too much."""
        self.put_all([(key, value)])

    def put_all(self, pairs: Iterable[tuple[Key, Value]]) -> None:
        """Keep several values."""
        with self._lock:
            for key, value in pairs:
                self._put(key, value)

    def _put(self, key: Key, value: Value) -> None:
        known = self._entries.pop(key, None)
        if known is not None:
            self._weight -= self._weigh(known)
        weight = self._weigh(value)
        if weight > self._capacity:
            return
        self._entries[key] = value
        self._weight += weight
        while self._weight > self._capacity:
            _, dropped = self._entries.popitem(last=False)
            self._weight -= self._weigh(dropped)

    def _weigh(self, value: Value) -> int:
        # What weighs nothing would pile up without end.
        return max(1, self._weigh_value(value))
