"""Where the cluster is and how to enter it: what cannot work is refused at the start, by the variable's name."""

from __future__ import annotations

from pathlib import Path

import pytest

from citemesh.config.load import ConfigurationError
from citemesh.store.opensearch.settings import read_settings

PASSWORD = {"CITEMESH_STORE_USER": "u", "CITEMESH_STORE_PASSWORD": "p-hidden"}


def test_the_address_is_split_into_host_and_prefix() -> None:
    settings = read_settings({"CITEMESH_STORE_URL": "https://search.example:9200/acme-docs"})
    assert (settings.host, settings.prefix) == ("https://search.example:9200", "acme-docs")
    assert read_settings({"CITEMESH_STORE_URL": "http://search.example:9200"}).prefix == "citemesh"


def test_secrets_are_not_shown() -> None:
    settings = read_settings({"CITEMESH_STORE_URL": "https://search.example/x", **PASSWORD})
    assert "p-hidden" not in repr(settings)


@pytest.mark.parametrize(
    ("environ", "told"),
    [
        ({"CITEMESH_STORE_URL": "search.example:9200"}, "CITEMESH_STORE_URL"),
        ({"CITEMESH_STORE_URL": "https://u:p-hidden@search.example"}, "CITEMESH_STORE_PASSWORD"),
        ({"CITEMESH_STORE_URL": "http://search.example/Upper"}, "PREFIX"),
        ({"CITEMESH_STORE_URL": "http://search.example/x", **PASSWORD}, "https://"),
        ({"CITEMESH_STORE_URL": "https://search.example/x", "CITEMESH_STORE_USER": "u"}, "CITEMESH_STORE_PASSWORD"),
        ({"CITEMESH_STORE_URL": "https://search.example/x", "CITEMESH_STORE_API_KEY": "k", **PASSWORD}, "not both"),
        ({"CITEMESH_STORE_URL": "https://search.example/x", "CITEMESH_STORE_CA_FILE": "/none.pem"}, "/none.pem"),
        ({"CITEMESH_STORE_URL": "http://search.example/x", "CITEMESH_STORE_CA_FILE": "/none.pem"}, "https://"),
    ],
)
def test_what_cannot_work_is_refused(environ: dict[str, str], told: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        read_settings(environ)
    assert told in str(raised.value)
    assert "p-hidden" not in str(raised.value)


def test_a_file_without_a_certificate_is_named(tmp_path: Path) -> None:
    from citemesh.store.opensearch.connection import open_connection

    file = tmp_path / "ca.pem"
    file.write_text("nothing")
    with pytest.raises(ConfigurationError, match="CITEMESH_STORE_CA_FILE"):
        open_connection({"CITEMESH_STORE_URL": "https://search.example/x", "CITEMESH_STORE_CA_FILE": str(file)})
