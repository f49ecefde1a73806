"""Tokens: only what the configured issuer signed, unexpired, is believed."""

from __future__ import annotations

import base64
import json
import os
import time
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from hypothesis import given, settings
from hypothesis import strategies as st

from citemesh.auth.authenticate import Authenticator, make_authenticator
from citemesh.auth.principal import Principal
from citemesh.auth.tokens import KeySource
from citemesh.config.load import ConfigurationError
from citemesh.rpc.errors import ServiceError
from citemesh.v1 import errors_pb2

SECRET = "0123456789abcdef" * 4
RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
EC_KEY = ec.generate_private_key(ec.SECP256R1())
ED_KEY = ed25519.Ed25519PrivateKey.generate()
PRIVATE_KEYS: dict[str, Any] = {"RS256": RSA_KEY, "PS384": RSA_KEY, "ES256": EC_KEY, "EdDSA": ED_KEY}


def pem_of(key: Any) -> bytes:
    return bytes(
        key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )


def claims(**changes: Any) -> dict[str, Any]:
    made = {"sub": "ann", "tenant": "acme", "groups": ["hr"], "exp": time.time() + 60, **changes}
    return {name: value for name, value in made.items() if value is not None}


def verify(authenticator: Authenticator, token: str) -> Principal:
    return authenticator.authenticate([("authorization", f"Bearer {token}")]).principal


def reason_of(authenticator: Authenticator, token: str) -> int:
    with pytest.raises(ServiceError) as caught:
        verify(authenticator, token)
    return caught.value.reason


def by_secret(**variables: str) -> Authenticator:
    return make_authenticator({"CITEMESH_AUTH_SECRET": SECRET, **variables})


BY_SECRET = by_secret()


def by_key_file(folder: Path, key: Any) -> Authenticator:
    path = folder / "key.pem"
    path.write_bytes(pem_of(key))
    return make_authenticator({"CITEMESH_AUTH_KEY_FILE": str(path)})


def write_jwks(path: Path, **keys: Any) -> None:
    listed = []
    for key_id, key in keys.items():
        algorithm = {rsa.RSAPrivateKey: "RS256", ec.EllipticCurvePrivateKey: "ES256"}.get(
            next((kind for kind in (rsa.RSAPrivateKey, ec.EllipticCurvePrivateKey) if isinstance(key, kind)), object),
            "EdDSA",
        )
        made = jwt.get_algorithm_by_name(algorithm).to_jwk(key.public_key())
        listed.append({**json.loads(made), "kid": key_id, "use": "sig"})
    path.write_text(json.dumps({"keys": listed}))


@pytest.mark.parametrize("algorithm", ["HS256", "HS384", "HS512"])
def test_a_secret_verifies_hmac(algorithm: str) -> None:
    token = jwt.encode(claims(), SECRET, algorithm=algorithm)
    assert verify(by_secret(), token) == Principal("acme", "ann", frozenset({"hr"}))


@pytest.mark.parametrize("algorithm", list(PRIVATE_KEYS))
def test_a_public_key_verifies_its_own_algorithms(algorithm: str, tmp_path: Path) -> None:
    key = PRIVATE_KEYS[algorithm]
    assert verify(by_key_file(tmp_path, key), jwt.encode(claims(), key, algorithm=algorithm)).user_id == "ann"


def encode_raw(header: dict[str, Any], payload: dict[str, Any], secret: bytes) -> str:
    """A token that a library would refuse to make."""
    import hashlib
    import hmac

    parts = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in (header, payload)]
    signature = hmac.new(secret, b".".join(parts), hashlib.sha256).digest() if secret else b""
    return b".".join([*parts, base64.urlsafe_b64encode(signature).rstrip(b"=")]).decode()


@pytest.mark.parametrize("key", [RSA_KEY, EC_KEY, ED_KEY])
def test_a_public_key_is_never_taken_for_a_secret(key: Any, tmp_path: Path) -> None:
    forged = encode_raw({"alg": "HS256", "typ": "JWT"}, claims(), pem_of(key))
    assert reason_of(by_key_file(tmp_path, key), forged) == errors_pb2.ERROR_REASON_UNAUTHENTICATED


@pytest.mark.parametrize("algorithm", ["none", "None", "NONE", "", "HS257", None, 7, ["HS256"]])
def test_unsigned_and_odd_algorithms_are_refused(algorithm: Any, tmp_path: Path) -> None:
    forged = encode_raw({"alg": algorithm, "typ": "JWT"}, claims(), b"")
    assert reason_of(by_secret(), forged) == errors_pb2.ERROR_REASON_UNAUTHENTICATED
    assert reason_of(by_key_file(tmp_path, RSA_KEY), forged) == errors_pb2.ERROR_REASON_UNAUTHENTICATED


def test_a_secret_does_not_verify_tokens_of_other_kinds() -> None:
    token = jwt.encode(claims(), RSA_KEY, algorithm="RS256")
    assert reason_of(by_secret(), token) == errors_pb2.ERROR_REASON_UNAUTHENTICATED


def test_expired_is_told_apart() -> None:
    token = jwt.encode(claims(exp=time.time() - 120), SECRET)
    assert reason_of(by_secret(), token) == errors_pb2.ERROR_REASON_TOKEN_EXPIRED
    assert verify(by_secret(), jwt.encode(claims(exp=time.time() - 5), SECRET)).user_id == "ann"  # within the leeway


@pytest.mark.parametrize(
    "changes",
    [
        {"exp": None},
        {"exp": "soon"},
        {"nbf": time.time() + 600},
        {"sub": None},
        {"sub": ""},
        {"sub": " "},
        {"tenant": None},
        {"tenant": ""},
        {"tenant": ["acme"]},
        {"tenant": 7},
        {"sub": "x" * 300},
        {"groups": "hr"},
        {"groups": {"hr": True}},
        {"groups": ["hr", 7]},
        {"groups": ["hr", ""]},
        # Readers that end text at a NUL would take these for "boss", "hr" and "acme".
        {"sub": "boss\0evil"},
        {"groups": ["hr\0evil"]},
        {"tenant": "acme\0evil"},
        {"sub": "ann\nroot"},
        {"tenant": "\udfff"},
        {"exp": 10**400},
    ],
)
def test_claims_that_do_not_name_a_principal_are_refused(changes: dict[str, Any]) -> None:
    token = encode_raw({"alg": "HS256", "typ": "JWT"}, claims(**changes), SECRET.encode())
    assert reason_of(by_secret(), token) == errors_pb2.ERROR_REASON_UNAUTHENTICATED


def test_no_groups_claim_means_no_groups() -> None:
    assert verify(by_secret(), jwt.encode(claims(groups=None), SECRET)).groups == frozenset()


def test_issuer_and_audience_are_checked_where_set() -> None:
    strict = by_secret(CITEMESH_AUTH_ISSUER="https://id", CITEMESH_AUTH_AUDIENCE="citemesh")
    good = jwt.encode(claims(iss="https://id", aud=["citemesh", "other"]), SECRET)
    assert verify(strict, good).user_id == "ann"
    for changes in ({"iss": "https://id"}, {"aud": "citemesh"}, {"iss": "https://evil", "aud": "citemesh"}):
        assert reason_of(strict, jwt.encode(claims(**changes), SECRET)) == errors_pb2.ERROR_REASON_UNAUTHENTICATED
    assert verify(by_secret(), jwt.encode(claims(aud="other"), SECRET)).user_id == "ann"


def test_claim_names_are_settings_and_may_be_nested() -> None:
    configured = by_secret(CITEMESH_AUTH_TENANT_CLAIM="https://x/tenant", CITEMESH_AUTH_GROUPS_CLAIM="realm.roles")
    token = jwt.encode(claims(tenant=None, realm={"roles": ["a"]}, **{"https://x/tenant": "t"}), SECRET)
    assert verify(configured, token) == Principal("t", "ann", frozenset({"a"}))


def test_jwks_by_key_id_and_rotation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("citemesh.auth.tokens._KEY_CHECK_INTERVAL_S", 0.0)
    path = tmp_path / "jwks.json"
    write_jwks(path, old=RSA_KEY, other=EC_KEY)
    authenticator = make_authenticator({"CITEMESH_AUTH_JWKS_FILE": str(path)})
    old = jwt.encode(claims(), RSA_KEY, algorithm="RS256", headers={"kid": "old"})
    assert verify(authenticator, old).user_id == "ann"
    assert (
        verify(authenticator, jwt.encode(claims(), EC_KEY, algorithm="ES256", headers={"kid": "other"})).user_id
        == "ann"
    )
    crossed = jwt.encode(claims(), EC_KEY, algorithm="ES256", headers={"kid": "old"})
    nameless = jwt.encode(claims(), RSA_KEY, algorithm="RS256")
    unknown = jwt.encode(claims(), RSA_KEY, algorithm="RS256", headers={"kid": "new"})
    for token in (crossed, nameless, unknown):
        assert reason_of(authenticator, token) == errors_pb2.ERROR_REASON_UNAUTHENTICATED
    write_jwks(path, new=ED_KEY)
    os.utime(path, ns=(1, 1))
    fresh = jwt.encode(claims(), ED_KEY, algorithm="EdDSA", headers={"kid": "new"})
    assert verify(authenticator, fresh).user_id == "ann"
    assert reason_of(authenticator, old) == errors_pb2.ERROR_REASON_UNAUTHENTICATED, "a key taken away ends its tokens"
    path.write_text("{")
    assert verify(authenticator, fresh).user_id == "ann", "an unreadable file leaves the last good keys"


def test_a_key_source_reads_again_only_when_the_file_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("citemesh.auth.tokens._KEY_CHECK_INTERVAL_S", 0.0)
    path = tmp_path / "f"
    path.write_text("1")
    reads = []
    source = KeySource(lambda: reads.append(1) or _empty(), path)  # type: ignore[func-returns-value]
    assert not source.refresh()
    os.utime(path, ns=(5, 5))
    assert source.refresh()
    assert len(reads) == 2


def _empty() -> Any:
    from citemesh.auth.keys import KeySet

    return KeySet({})


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({}, "none of them is set"),
        ({"CITEMESH_AUTH_SECRET": SECRET, "CITEMESH_AUTH_KEY_FILE": "/x"}, "2 of them are set"),
        ({"CITEMESH_AUTH_SECRET": "short"}, "at least 32"),
        ({"CITEMESH_AUTH_SECRET": pem_of(RSA_KEY).decode()}, "CITEMESH_AUTH_KEY_FILE"),
        ({"CITEMESH_AUTH_KEY_FILE": "/nowhere.pem"}, "/nowhere.pem"),
        ({"CITEMESH_AUTH_JWKS_FILE": "/nowhere.json"}, "/nowhere.json"),
        ({"CITEMESH_AUTH_MODE": "none"}, "CITEMESH_AUTH_MODE"),
    ],
)
def test_there_is_no_default_secret_and_no_weak_one(variables: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        make_authenticator(variables)
    assert words in str(caught.value)


def test_private_keys_and_rubbish_in_key_files_are_refused(tmp_path: Path) -> None:
    private = EC_KEY.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    weak = pem_of(rsa.generate_private_key(public_exponent=65537, key_size=1024))  # noqa: S505  # it is there to be refused
    for content in (private, weak, b"rubbish"):
        path = tmp_path / "key.pem"
        path.write_bytes(content)
        with pytest.raises(ConfigurationError, match=r"key\.pem"):
            make_authenticator({"CITEMESH_AUTH_KEY_FILE": str(path)})
    for content_text in ('{"keys": []}', "[]", '{"keys": [{"kty": "oct", "k": "c2hvcnQ"}]}', '{"keys": [7]}'):
        path = tmp_path / "jwks.json"
        path.write_text(content_text)
        with pytest.raises(ConfigurationError, match=r"jwks\.json"):
            make_authenticator({"CITEMESH_AUTH_JWKS_FILE": str(path)})


@settings(deadline=None)
@given(data=st.data())
def test_no_change_to_a_token_survives(data: st.DataObject) -> None:
    token = jwt.encode(claims(exp=4_000_000_000), SECRET)
    position = data.draw(st.integers(0, len(token) - 2))
    replacement = data.draw(st.characters(min_codepoint=33, max_codepoint=126))
    changed = token[:position] + replacement + token[position + 1 :]
    if changed == token:
        return
    assert reason_of(BY_SECRET, changed) == errors_pb2.ERROR_REASON_UNAUTHENTICATED


@settings(deadline=None)
@given(st.text(max_size=200))
def test_any_text_is_answered_with_a_reason(text: str) -> None:
    for value in (text, f"Bearer {text}"):
        with pytest.raises(ServiceError) as caught:
            BY_SECRET.authenticate([("authorization", value)])
        assert caught.value.reason == errors_pb2.ERROR_REASON_UNAUTHENTICATED


names = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1, max_size=50).filter(str.strip)


@settings(deadline=None)
@given(tenant=names, user=names, groups=st.lists(names, max_size=5))
def test_every_name_comes_through(tenant: str, user: str, groups: list[str]) -> None:
    token = jwt.encode(claims(tenant=tenant, sub=user, groups=groups), SECRET)
    assert verify(BY_SECRET, token) == Principal(tenant, user, frozenset(groups))


def test_metadata_that_could_be_read_in_two_ways_is_refused() -> None:
    token = f"Bearer {jwt.encode(claims(), SECRET)}"
    for metadata in ([], [("authorization", token)] * 2, [("authorization", token.encode())], [("authorization", "x")]):
        with pytest.raises(ServiceError) as caught:
            BY_SECRET.authenticate(metadata)
        assert caught.value.reason == errors_pb2.ERROR_REASON_UNAUTHENTICATED


def test_the_scheme_is_read_in_any_case() -> None:
    token = jwt.encode(claims(), SECRET)
    assert BY_SECRET.authenticate([("authorization", f"bearer {token}")]).principal.user_id == "ann"


def test_a_verified_token_is_forwarded_as_it_came() -> None:
    token = f"Bearer {jwt.encode(claims(), SECRET)}"
    authenticator = BY_SECRET
    assert authenticator.authenticate([("authorization", token)]).metadata == (("authorization", token),)
    assert (
        authenticator.authenticate([("authorization", token), ("x-citemesh-tenant", "evil")]).principal.tenant_id
        == "acme"
    )
