"""Verify a bearer token: signature, expiry, issuer, audience; and read the principal from its claims."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jwt
import structlog

from citemesh.auth.ids import is_id
from citemesh.auth.keys import KeyFileError, KeySet, VerificationKey
from citemesh.auth.principal import AUTHORIZATION_KEY, Credentials, Principal
from citemesh.auth.settings import AuthSettings
from citemesh.rpc.errors import ServiceError
from citemesh.v1 import errors_pb2

_log = structlog.get_logger(__name__)

_MAX_TOKEN_CHARACTERS = 8192
_MAX_GROUPS = 1000
_CACHE_ENTRIES = 2048
# A verified token is believed this long without another look, so that a key taken away ends its tokens soon.
_CACHE_S = 30.0
_KEY_CHECK_INTERVAL_S = 2.0

_SCHEME = "bearer "


class KeySource:
    """The current keys: read again when their file changes. A file that cannot be read leaves the last good keys."""

    def __init__(self, read: Callable[[], KeySet], path: Path | None = None) -> None:
        self.keys = read()
        self._read = read
        self._path = path
        self._stamp = _stamp(path)
        self._next_check = time.monotonic() + _KEY_CHECK_INTERVAL_S

    def refresh(self) -> bool:
        """Look for new keys, at most every two seconds. True where there are any."""
        now = time.monotonic()
        if self._path is None or now < self._next_check:
            return False
        self._next_check = now + _KEY_CHECK_INTERVAL_S
        stamp = _stamp(self._path)
        if stamp == self._stamp:
            return False
        self._stamp = stamp
        try:
            self.keys = self._read()
        except KeyFileError as error:
            _log.error("auth_keys_unreadable", problem=str(error))
            return False
        _log.info("auth_keys_read", key_count=len(self.keys.keys))
        return True


class TokenVerifier:
    """Turns the value of `authorization` into credentials. Raises ServiceError UNAUTHENTICATED or TOKEN_EXPIRED."""

    def __init__(self, settings: AuthSettings, source: KeySource) -> None:
        self._settings = settings
        self._source = source
        self._verified: dict[str, tuple[Credentials, float]] = {}

    def verify(self, authorization: str) -> Credentials:
        """`authorization` is `Bearer <token>`."""
        if self._source.refresh():
            self._verified.clear()
        cached = self._verified.get(authorization)
        if cached is not None and time.time() < cached[1]:
            return cached[0]
        claims = self._decode(authorization)
        expires = _read_expiry(claims)
        credentials = Credentials(self._read_principal(claims), ((AUTHORIZATION_KEY, authorization),))
        if len(self._verified) >= _CACHE_ENTRIES:
            self._verified.clear()
        now = time.time()
        self._verified[authorization] = (credentials, min(now + _CACHE_S, expires))
        return credentials

    def _decode(self, authorization: str) -> Mapping[str, Any]:
        if authorization[: len(_SCHEME)].lower() != _SCHEME or len(authorization) > _MAX_TOKEN_CHARACTERS:
            raise _refusal("Send the metadata `authorization: Bearer <token>`.")
        token = authorization[len(_SCHEME) :]
        key = self._find_key(token)
        settings = self._settings
        try:
            claims: Mapping[str, Any] = jwt.decode(
                token,
                key.key,
                algorithms=list(key.algorithms),
                issuer=settings.issuer or None,
                audience=settings.audience or None,
                leeway=settings.leeway_s,
                options={"require": ["exp"], "verify_aud": bool(settings.audience)},
            )
        except jwt.ExpiredSignatureError:
            raise ServiceError(
                errors_pb2.ERROR_REASON_TOKEN_EXPIRED, "The token has expired: fetch a new one."
            ) from None
        except (jwt.PyJWTError, ValueError, TypeError, OverflowError):
            # Which check failed is not told: it would help to forge a token, not to use one.
            raise _refusal("The token cannot be verified.") from None
        return claims

    def _find_key(self, token: str) -> VerificationKey:
        try:
            header = jwt.get_unverified_header(token)
        except (jwt.PyJWTError, ValueError, TypeError):
            raise _refusal("The token cannot be read.") from None
        key = self._source.keys.find(header.get("kid"))
        if key is None or header.get("alg") not in key.algorithms:
            raise _refusal("The token cannot be verified.")
        return key

    def _read_principal(self, claims: Mapping[str, Any]) -> Principal:
        tenant = _read_claim(claims, self._settings.tenant_claim)
        user = _read_claim(claims, self._settings.user_claim)
        groups = _read_claim(claims, self._settings.groups_claim)
        if not is_id(tenant) or not is_id(user):
            raise _refusal("The token does not say which tenant and which user it is for.")
        if groups is None:
            groups = []
        if not isinstance(groups, list) or len(groups) > _MAX_GROUPS or not all(is_id(group) for group in groups):
            raise _refusal("The token's groups are not a list of names.")
        return Principal(tenant_id=tenant, user_id=user, groups=frozenset(groups))


def _read_expiry(claims: Mapping[str, Any]) -> float:
    try:
        return float(claims["exp"])
    except (ValueError, TypeError, OverflowError):  # a number beyond all clocks
        raise _refusal("The token cannot be verified.") from None


def _read_claim(claims: Mapping[str, Any], name: str) -> Any:
    """The claim `name`; where there is none, `a.b` is looked up as b inside a."""
    if name in claims:
        return claims[name]
    value: Any = claims
    for part in name.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _refusal(message: str) -> ServiceError:
    return ServiceError(errors_pb2.ERROR_REASON_UNAUTHENTICATED, message)


def _stamp(path: Path | None) -> tuple[int, int] | None:
    try:
        status = path.stat() if path is not None else None
    except OSError:
        return None
    return None if status is None else (status.st_mtime_ns, status.st_ino)
