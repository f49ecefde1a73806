"""What a principal may read is kept until the tenant's state changes, and not a request longer."""

from __future__ import annotations

from datetime import UTC, datetime

from citemesh.auth.principal import Principal
from citemesh.store.versions import ALWAYS, OPEN, VersionSpan, to_microseconds
from citemesh.store.visibility import TenantState, Views, is_allowed

ANNA = Principal("acme", "anna", frozenset({"staff"}))
TURN = datetime(2025, 1, 1, tzinfo=UTC)
SPANS = [VersionSpan(3, 1, 1, ALWAYS, OPEN), VersionSpan(5, 1, 2, to_microseconds(TURN), OPEN)]


class Spans:
    """Counts how often it is read."""

    def __init__(self, spans: list[VersionSpan]) -> None:
        self.spans = spans
        self.read_count = 0

    def __call__(self) -> list[VersionSpan]:
        self.read_count += 1
        return self.spans


def test_a_view_is_read_once_for_each_state() -> None:
    views, spans = Views("made"), Spans(SPANS)
    first = views.get(ANNA, None, TenantState(1, 1), spans)
    assert views.get(ANNA, None, TenantState(1, 1), spans) is first
    assert spans.read_count == 1
    spans.spans = []
    assert views.get(ANNA, None, TenantState(2, 2), spans).in_force(None).is_empty
    assert spans.read_count == 2


def test_principals_scopes_and_tenants_do_not_share_a_view() -> None:
    views, spans = Views("made"), Spans(SPANS)
    state = TenantState(1, 1)
    for principal in (
        ANNA,
        Principal("acme", "anna", frozenset()),
        Principal("umbrella", "anna", frozenset({"staff"})),
    ):
        for documents in (None, frozenset({"a"}), frozenset({"b"})):
            views.get(principal, documents, state, spans)
    assert spans.read_count == 9


def test_the_moment_chooses_the_version() -> None:
    view = Views("made").get(ANNA, None, TenantState(4, 2), lambda: SPANS)
    before, after = view.in_force(datetime(2024, 6, 1, tzinfo=UTC)), view.in_force(TURN)
    assert (before.version_keys, after.version_keys) == ((3,), (5,))
    assert before.key != after.key
    assert (after.index_snapshot, after.permission_version) == ("made-4", 2)
    assert view.in_force(datetime(2026, 1, 1, tzinfo=UTC)) is after
    assert view.readable().version_keys == (3, 5)
    assert [is_allowed(after, key) for key in (3, 5, 7)] == [False, True, False]
