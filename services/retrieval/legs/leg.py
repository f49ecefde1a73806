"""What a leg is."""

from __future__ import annotations

from typing import Protocol

from citemesh.store.contract import Hit, VersionFilter
from citemesh.v1.activation_pb2 import Pattern


class Leg(Protocol):
    """One way to find passages. Calls block; the store's filter is applied inside."""

    @property
    def pattern(self) -> Pattern.ValueType:
        """The leg's name in requests and reports."""
        ...

    def search(self, text: str, versions: VersionFilter, limit: int) -> list[Hit]:
        """At most `limit` passages for `text`, best first. Raises ServiceError where the leg cannot answer."""
        ...
