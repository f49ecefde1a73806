"""Which versions a principal may read and which are in force, kept until the tenant's documents change."""

from __future__ import annotations

import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from citemesh.auth.principal import Principal
from citemesh.caches.recently_used import RecentlyUsed
from citemesh.store.access import reader_entries
from citemesh.store.contract import VersionFilter
from citemesh.store.versions import VersionSpan, choose_in_force, find_boundaries, to_microseconds

_MAX_CACHED_VIEWS = 256
_MAX_CACHED_MOMENTS = 16

ReadSpans = Callable[[], list[VersionSpan]]


@dataclass(frozen=True, slots=True)
class TenantState:
    """Where a tenant stands."""

    change_sequence: int = 0
    """Rises with every write of the tenant; 0 for an unknown tenant."""
    permission_version: int = 0
    """Rises with every change of who may read what."""
    index_name: str = ""
    """The index that searches go to, where a store exchanges one for another; empty where it has but one, or where the
    name is about to change."""


@dataclass
class View:
    """Every version that one principal may read in one scope, in force or not, as of one state of the tenant."""

    tenant_id: str
    state: TenantState
    store_name: str
    spans: list[VersionSpan]
    boundaries: Sequence[int]
    filters: RecentlyUsed[int, VersionFilter]

    def in_force(self, as_of: datetime | None) -> VersionFilter:
        """The versions that are in force at `as_of` (None: now)."""
        moment = to_microseconds(as_of)
        # Between two boundaries the choice is the same, so one filter serves every moment there.
        interval = bisect_right(self.boundaries, moment)
        allowed = self.filters.get(interval)
        if allowed is None:
            allowed = self._make_filter([span.version_key for span in choose_in_force(self.spans, moment)])
            self.filters.put(interval, allowed)
        return allowed

    def readable(self) -> VersionFilter:
        """All of them."""
        return self._make_filter(sorted(span.version_key for span in self.spans))

    def _make_filter(self, keys: Sequence[int]) -> VersionFilter:
        digest = hashlib.blake2b(digest_size=16)
        digest.update(f"{self.tenant_id}\0{self.state.change_sequence}\0{self.state.permission_version}\0".encode())
        digest.update(f"{self.state.index_name}\0".encode())
        digest.update(",".join(map(str, keys)).encode())
        return VersionFilter(
            tenant_id=self.tenant_id,
            version_keys=tuple(keys),
            index_snapshot=snapshot_name(self.store_name, self.state),
            permission_version=self.state.permission_version,
            key=digest.hexdigest(),
            index_name=self.state.index_name,
        )


class Views:
    """The views of one reader. The caller reads the tenant's state fresh, so that none outlives a revoke."""

    def __init__(self, store_name: str) -> None:
        self._store_name = store_name
        self._views: RecentlyUsed[tuple[str, frozenset[str], frozenset[str] | None], View] = RecentlyUsed(
            _MAX_CACHED_VIEWS
        )

    def get(
        self, principal: Principal, document_ids: frozenset[str] | None, state: TenantState, read_spans: ReadSpans
    ) -> View:
        """The view at `state`; `read_spans` is called where none is kept, and must read what belongs to `state`."""
        key = (principal.tenant_id, reader_entries(principal), document_ids)
        view = self._views.get(key)
        if view is None or view.state != state:
            spans = read_spans()
            view = View(
                principal.tenant_id,
                state,
                self._store_name,
                spans,
                find_boundaries(spans),
                RecentlyUsed(_MAX_CACHED_MOMENTS),
            )
            self._views.put(key, view)
        return view


def snapshot_name(store_name: str, state: TenantState) -> str:
    """The state of a tenant's documents as callers see it."""
    return f"{store_name}-{state.change_sequence}"


def is_allowed(versions: VersionFilter, version_key: int) -> bool:
    """Whether a version is one of the filter's."""
    at = bisect_left(versions.version_keys, version_key)
    return at < len(versions.version_keys) and versions.version_keys[at] == version_key
