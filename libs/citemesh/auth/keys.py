"""The issuer's keys, each with the only algorithms that it may be used with."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jwt
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa
from cryptography.hazmat.primitives.serialization import load_pem_public_key

MIN_SECRET_SIZE_BYTES = 32
_MIN_RSA_SIZE_BITS = 2048

_HMAC = ("HS256", "HS384", "HS512")
_RSA = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
_EC = {"secp256r1": ("ES256",), "secp384r1": ("ES384",), "secp521r1": ("ES512",), "secp256k1": ("ES256K",)}


class KeyFileError(Exception):
    """A key cannot be used. The text says which file or variable, and why."""


@dataclass(frozen=True, slots=True)
class VerificationKey:
    """One key. `algorithms` follows from what kind of key it is, never from what a token says of itself."""

    key: Any
    algorithms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KeySet:
    """Keys by key id; a single key without an id is under the empty string."""

    keys: Mapping[str, VerificationKey]

    def find(self, key_id: str | None) -> VerificationKey | None:
        """The key for a token's `kid`. A token without one may use the only key there is."""
        if key_id is None or "" in self.keys:
            return next(iter(self.keys.values())) if len(self.keys) == 1 else None
        return self.keys.get(key_id)


def from_secret(secret: str) -> KeySet:
    """A shared secret, for HMAC alone. Raises KeyFileError where it is short, or is a public key."""
    raw = secret.encode()
    if len(raw) < MIN_SECRET_SIZE_BYTES:
        raise KeyFileError(
            f"CITEMESH_AUTH_SECRET has {len(raw)} bytes: use at least {MIN_SECRET_SIZE_BYTES} random ones"
        )
    if "-----BEGIN" in secret:
        raise KeyFileError("CITEMESH_AUTH_SECRET holds a PEM key: put it into a file and set CITEMESH_AUTH_KEY_FILE")
    return KeySet({"": VerificationKey(raw, _HMAC)})


def from_pem_file(path: Path) -> KeySet:
    """The public key in a PEM file. Raises KeyFileError."""
    try:
        key = load_pem_public_key(path.read_bytes())
    except OSError as error:
        raise KeyFileError(f"CITEMESH_AUTH_KEY_FILE: {path} cannot be read ({error.strerror})") from error
    except (ValueError, UnsupportedAlgorithm) as error:
        raise KeyFileError(f"CITEMESH_AUTH_KEY_FILE: {path} holds no public key in PEM") from error
    return KeySet({"": VerificationKey(key, _algorithms_of(key, str(path)))})


def from_jwks_file(path: Path) -> KeySet:
    """The signature keys of a JSON Web Key Set. Raises KeyFileError."""
    try:
        content = json.loads(path.read_bytes())
        listed = content["keys"]
        keys = {key_id: key for jwk in listed if _signs(jwk) for key_id, key in [_from_jwk(jwk, str(path))]}
    except OSError as error:
        raise KeyFileError(f"CITEMESH_AUTH_JWKS_FILE: {path} cannot be read ({error.strerror})") from error
    except (ValueError, KeyError, TypeError, AttributeError, jwt.exceptions.PyJWTError) as error:
        raise KeyFileError(f"CITEMESH_AUTH_JWKS_FILE: {path} is no JSON Web Key Set of supported keys") from error
    if not keys:
        raise KeyFileError(f"CITEMESH_AUTH_JWKS_FILE: {path} holds no key for signatures")
    if len(keys) > 1 and "" in keys:
        raise KeyFileError(f"CITEMESH_AUTH_JWKS_FILE: {path} holds several keys, one of them without `kid`")
    return KeySet(keys)


def _signs(jwk: Mapping[str, Any]) -> bool:
    return bool(jwk.get("use", "sig") == "sig")


def _from_jwk(jwk: dict[str, Any], where: str) -> tuple[str, VerificationKey]:
    parsed = jwt.PyJWK.from_dict(jwk)
    key = parsed.key
    if isinstance(key, bytes) and len(key) < MIN_SECRET_SIZE_BYTES:
        raise KeyFileError(f"{where}: a symmetric key is shorter than {MIN_SECRET_SIZE_BYTES} bytes")
    if hasattr(key, "public_key"):
        key = key.public_key()
    allowed = _HMAC if isinstance(key, bytes) else _algorithms_of(key, where)
    if "alg" in jwk:
        # A key that names its algorithm is used with no other.
        allowed = tuple(name for name in allowed if name == jwk["alg"])
        if not allowed:
            raise KeyFileError(f"{where}: the algorithm {jwk['alg']!r} does not fit its key")
    return str(jwk.get("kid", "")), VerificationKey(key, allowed)


def _algorithms_of(key: object, where: str) -> tuple[str, ...]:
    if isinstance(key, rsa.RSAPublicKey):
        if key.key_size < _MIN_RSA_SIZE_BITS:
            raise KeyFileError(
                f"{where}: the RSA key has {key.key_size} bits, at least {_MIN_RSA_SIZE_BITS} are needed"
            )
        return _RSA
    if isinstance(key, ec.EllipticCurvePublicKey) and key.curve.name in _EC:
        return _EC[key.curve.name]
    if isinstance(key, ed25519.Ed25519PublicKey | ed448.Ed448PublicKey):
        return ("EdDSA",)
    raise KeyFileError(f"{where}: this kind of key is not supported; use RSA, EC or Ed25519")
