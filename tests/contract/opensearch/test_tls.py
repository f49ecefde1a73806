"""A cluster behind TLS that asks who calls; an error names the setting to look at."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest

from citemesh.config.paths import STORE_URL_VARIABLE
from citemesh.rpc.errors import ServiceError
from citemesh.store.open import open_reader, open_writer
from tests.contract.store.library import ANNA, ENCODER, found, put
from tests.opensearch_server.tls_front import tls_front, write_certificate

PASSWORD = {"CITEMESH_STORE_USER": "citemesh", "CITEMESH_STORE_PASSWORD": "secret"}
API_KEY = {"CITEMESH_STORE_API_KEY": "a-key"}
BASIC = "Basic " + base64.b64encode(b"citemesh:secret").decode()


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    return write_certificate(tmp_path)


@pytest.fixture(params=[(PASSWORD, BASIC), (API_KEY, "ApiKey a-key")], ids=["password", "api-key"])
def secured(
    request: pytest.FixtureRequest, environ: dict[str, str], certificate: tuple[Path, Path]
) -> Iterator[dict[str, str]]:
    """The environment of a service that may enter."""
    given, authorization = request.param
    address, prefix = environ[STORE_URL_VARIABLE].rsplit("/", 1)
    with tls_front(address, certificate, authorization) as front:
        yield {STORE_URL_VARIABLE: f"{front}/{prefix}", "CITEMESH_STORE_CA_FILE": str(certificate[0]), **given}


def test_documents_are_stored_and_found(secured: dict[str, str], tmp_path: Path) -> None:
    writer = open_writer(tmp_path / "state", secured)
    writer.set_encoder(ENCODER)
    put(writer, tmp_path, "policy", ["Travel needs approval."])
    reader = open_reader(tmp_path / "state", secured)
    assert found(reader, ANNA, "travel") == {"Travel needs approval."}
    reader.close()
    writer.close()


def test_a_wrong_secret_names_the_settings(secured: dict[str, str], tmp_path: Path) -> None:
    secret = "CITEMESH_STORE_API_KEY" if "CITEMESH_STORE_API_KEY" in secured else "CITEMESH_STORE_PASSWORD"
    assert secret in refuse({**secured, secret: "wrong"}, tmp_path)


def test_an_unknown_authority_names_the_setting(secured: dict[str, str], tmp_path: Path) -> None:
    assert "CITEMESH_STORE_CA_FILE" in refuse({**secured, "CITEMESH_STORE_CA_FILE": ""}, tmp_path)


def refuse(environ: dict[str, str], tmp_path: Path) -> str:
    """What a reader with these settings is told."""
    reader = open_reader(tmp_path / "state", environ)
    with pytest.raises(ServiceError) as raised:
        reader.allowed_versions(ANNA)
    reader.close()
    assert "secret" not in raised.value.message
    return raised.value.message
