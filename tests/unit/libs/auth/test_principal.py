"""Open mode and the running call's principal."""

from __future__ import annotations

import pytest
import structlog
from hypothesis import given, settings
from hypothesis import strategies as st

from citemesh.auth import Principal, current_principal, outgoing_metadata
from citemesh.auth.authenticate import make_authenticator
from citemesh.auth.principal import acting_as, open_metadata
from citemesh.rpc.errors import ServiceError
from citemesh.v1 import errors_pb2

OPEN = {"CITEMESH_AUTH_MODE": "open"}
names = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1, max_size=30).filter(str.strip)


def test_open_mode_warns() -> None:
    with structlog.testing.capture_logs() as logs:
        make_authenticator(OPEN)
    assert [(line["event"], line["log_level"]) for line in logs] == [("auth_open", "warning")]


BY_NAME = make_authenticator(OPEN)


@settings(deadline=None)
@given(tenant=names, user=names, groups=st.frozensets(names, max_size=5))
def test_open_metadata_says_what_it_was_made_of(tenant: str, user: str, groups: frozenset[str]) -> None:
    principal = Principal(tenant, user, groups)
    metadata = open_metadata(principal)
    assert all(value.isascii() for _, value in metadata)
    assert BY_NAME.authenticate(metadata).principal == principal


@pytest.mark.parametrize("key", ["x-citemesh-tenant", "x-citemesh-user", "x-citemesh-groups"])
@pytest.mark.parametrize("name", ["hr%00evil", "hr%0Aevil", "hr%E2%80%A8evil"])
def test_names_that_some_readers_would_cut_short_are_refused(key: str, name: str) -> None:
    with pytest.raises(ServiceError) as caught:
        BY_NAME.authenticate([(key, name)])
    assert caught.value.reason == errors_pb2.ERROR_REASON_UNAUTHENTICATED


def test_who_names_nobody_is_anonymous_without_groups() -> None:
    assert make_authenticator(OPEN).authenticate([]).principal == Principal("default", "anonymous", frozenset())
    named = make_authenticator({**OPEN, "CITEMESH_AUTH_OPEN_TENANT": "t"})
    assert named.authenticate([("x-citemesh-user", "u")]).principal == Principal("t", "u", frozenset())


@pytest.mark.parametrize(
    "metadata",
    [
        [("x-citemesh-tenant", "")],
        [("x-citemesh-user", "%20")],
        [("x-citemesh-user", "%ff")],
        [("x-citemesh-user", "u"), ("x-citemesh-user", "v")],
        [("x-citemesh-user", "u" * 257)],
        [("x-citemesh-groups", "a,%FF")],
    ],
)
def test_odd_names_are_refused(metadata: list[tuple[str, str | bytes]]) -> None:
    with pytest.raises(ServiceError) as caught:
        make_authenticator(OPEN).authenticate(metadata)
    assert caught.value.reason == errors_pb2.ERROR_REASON_UNAUTHENTICATED


def test_outside_a_call_there_is_no_principal() -> None:
    with pytest.raises(ServiceError) as caught:
        current_principal()
    assert caught.value.reason == errors_pb2.ERROR_REASON_UNAUTHENTICATED
    assert outgoing_metadata() == ()
    with acting_as(Principal("t", "u", frozenset({"g"}))):
        assert current_principal().user_id == "u"
        assert dict(outgoing_metadata())["x-citemesh-groups"] == "g"
    assert outgoing_metadata() == ()
