"""From a call's metadata to its credentials, in the configured mode; made once per process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol
from urllib.parse import unquote

import structlog

from citemesh.auth.ids import is_id
from citemesh.auth.keys import KeyFileError, from_jwks_file, from_pem_file, from_secret
from citemesh.auth.principal import (
    AUTHORIZATION_KEY,
    GROUPS_KEY,
    TENANT_KEY,
    USER_KEY,
    Credentials,
    Principal,
    open_metadata,
)
from citemesh.auth.settings import AuthSettings
from citemesh.auth.tokens import KeySource, TokenVerifier
from citemesh.config.load import ConfigurationError, load_settings
from citemesh.rpc.errors import ServiceError
from citemesh.v1 import errors_pb2

_log = structlog.get_logger(__name__)

_MAX_KNOWN_CALLERS = 2048
_OPEN_PREFIX = "x-citemesh-"

MetadataPairs = Iterable[tuple[str, str | bytes]]


class Authenticator(Protocol):
    """Verifies who calls."""

    def authenticate(self, metadata: MetadataPairs) -> Credentials:
        """The caller's credentials. Raises ServiceError UNAUTHENTICATED or TOKEN_EXPIRED."""
        ...


def make_authenticator(environ: Mapping[str, str]) -> Authenticator:
    """The authenticator that CITEMESH_AUTH_* asks for. Raises ConfigurationError where no key is set, or several."""
    settings = load_settings(AuthSettings, environ)
    if settings.mode == "open":
        _log.warning("auth_open", meaning="callers are believed, not verified: use it on one machine only")
        return OpenAuthenticator(settings)
    return JwtAuthenticator(settings)


class JwtAuthenticator:
    """Wants a bearer token on every call."""

    def __init__(self, settings: AuthSettings) -> None:
        self._verifier = TokenVerifier(settings, _open_key_source(settings))
        if not settings.audience:
            _log.warning("auth_audience_unchecked", variable="CITEMESH_AUTH_AUDIENCE")

    def authenticate(self, metadata: MetadataPairs) -> Credentials:
        """See Authenticator."""
        authorization = _read_single(metadata, AUTHORIZATION_KEY)
        if authorization is None:
            raise ServiceError(
                errors_pb2.ERROR_REASON_UNAUTHENTICATED, "Send the metadata `authorization: Bearer <token>`."
            )
        return self._verifier.verify(authorization)


class OpenAuthenticator:
    """Believes x-citemesh-tenant, -user and -groups; what is left out is the configured anonymous caller."""

    def __init__(self, settings: AuthSettings) -> None:
        self._tenant = settings.open_tenant
        self._user = settings.open_user
        self._known: dict[tuple[tuple[str, str | bytes], ...], Credentials] = {}

    def authenticate(self, metadata: MetadataPairs) -> Credentials:
        """See Authenticator."""
        pairs = tuple(pair for pair in metadata if pair[0].startswith(_OPEN_PREFIX))
        known = self._known.get(pairs)
        if known is None:
            known = self._read(pairs)
            if len(self._known) >= _MAX_KNOWN_CALLERS:
                self._known.clear()
            self._known[pairs] = known
        return known

    def _read(self, pairs: tuple[tuple[str, str | bytes], ...]) -> Credentials:
        tenant = _decode_id(_read_single(pairs, TENANT_KEY), self._tenant)
        user = _decode_id(_read_single(pairs, USER_KEY), self._user)
        listed = (_read_single(pairs, GROUPS_KEY) or "").split(",")
        groups = frozenset(_decode_id(group.strip(), "") for group in listed if group.strip())
        principal = Principal(tenant, user, groups)
        return Credentials(principal, open_metadata(principal))


def _open_key_source(settings: AuthSettings) -> KeySource:
    given = [name for name in ("key_file", "jwks_file", "secret") if getattr(settings, name) is not None]
    if len(given) != 1:
        names = "CITEMESH_AUTH_KEY_FILE, CITEMESH_AUTH_JWKS_FILE or CITEMESH_AUTH_SECRET"
        problem = f"{len(given)} of them are set" if given else "none of them is set"
        raise ConfigurationError(
            f"Callers are verified by tokens, for which exactly one of {names} must be set; {problem}. "
            "On one machine of your own, CITEMESH_AUTH_MODE=open does without."
        )
    try:
        if settings.key_file is not None:
            key_file = settings.key_file
            return KeySource(lambda: from_pem_file(key_file), key_file)
        if settings.jwks_file is not None:
            jwks_file = settings.jwks_file
            return KeySource(lambda: from_jwks_file(jwks_file), jwks_file)
        secret = settings.secret.get_secret_value() if settings.secret is not None else ""
        return KeySource(lambda: from_secret(secret))
    except KeyFileError as error:
        raise ConfigurationError(str(error)) from error


def _read_single(metadata: MetadataPairs, key: str) -> str | None:
    """The one value of `key`. Two values are refused: which of them another reader takes is anybody's guess."""
    values = [value for name, value in metadata if name == key]
    if len(values) > 1 or (values and not isinstance(values[0], str)):
        raise ServiceError(errors_pb2.ERROR_REASON_UNAUTHENTICATED, f"The metadata {key} must be given once, as text.")
    return str(values[0]) if values else None


def _decode_id(encoded: str | None, default: str) -> str:
    if encoded is None:
        return default
    try:
        decoded = unquote(encoded, errors="strict")
    except UnicodeDecodeError:
        decoded = ""
    if not is_id(decoded):
        raise ServiceError(
            errors_pb2.ERROR_REASON_UNAUTHENTICATED,
            "x-citemesh-* values are 1 to 256 percent-encoded characters, no control characters among them.",
        )
    return decoded
