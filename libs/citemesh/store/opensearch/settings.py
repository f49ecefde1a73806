"""Where the cluster is, and how this process shows who it is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from citemesh.config.load import load_settings

_PREFIX = re.compile(r"[a-z0-9][a-z0-9_.-]{0,99}")
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class StoreSettings(BaseSettings):
    """The OpenSearch store's settings, all of the environment."""

    model_config = SettingsConfigDict(env_prefix="CITEMESH_STORE_", use_attribute_docstrings=True, extra="ignore")

    url: str = ""
    """`https://HOST:9200/PREFIX`: the cluster, and what its indexes' names begin with (absent: citemesh).

    Empty: the embedded store."""
    ca_file: Path | None = None
    """PEM file of the authorities that sign the cluster's certificate; absent: those of the system."""
    user: str = ""
    """Name for the cluster's basic authentication."""
    password: SecretStr = SecretStr("")
    """Its password."""
    api_key: SecretStr = SecretStr("")
    """Sent as `Authorization: ApiKey ...`, instead of user and password."""
    shard_count: int = Field(default=1, ge=1, le=64)
    """Shards of an index of passages; takes effect where the next one is made."""

    @model_validator(mode="after")
    def verify(self) -> Self:
        """Refuse what could not work, or would show a secret to the network."""
        if not self.url:
            return self
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("CITEMESH_STORE_URL must be http://HOST:PORT/PREFIX or https://...")
        if parts.username or parts.password:
            raise ValueError(
                "give CITEMESH_STORE_USER and CITEMESH_STORE_PASSWORD, not a password in CITEMESH_STORE_URL"
            )
        if not _PREFIX.fullmatch(self.prefix):
            raise ValueError("the PREFIX of CITEMESH_STORE_URL must be the beginning of an index's name: a-z 0-9 _ . -")
        if bool(self.user) != bool(self.password.get_secret_value()):
            raise ValueError("CITEMESH_STORE_USER and CITEMESH_STORE_PASSWORD go together")
        if self.user and self.api_key.get_secret_value():
            raise ValueError("set CITEMESH_STORE_API_KEY, or CITEMESH_STORE_USER and CITEMESH_STORE_PASSWORD, not both")
        self._verify_transport(parts.scheme, parts.hostname)
        return self

    def _verify_transport(self, scheme: str, host: str) -> None:
        if self.ca_file is not None and scheme != "https":
            raise ValueError("CITEMESH_STORE_CA_FILE needs a CITEMESH_STORE_URL that begins with https://")
        if self.ca_file is not None and not self.ca_file.is_file():
            raise ValueError(f"CITEMESH_STORE_CA_FILE names {self.ca_file}, which is no file")
        if (self.user or self.api_key.get_secret_value()) and scheme != "https" and host not in _LOOPBACK:
            raise ValueError("credentials need a CITEMESH_STORE_URL that begins with https://")

    @property
    def host(self) -> str:
        """The address without the prefix."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def prefix(self) -> str:
        """What the names of the indexes begin with."""
        return urlsplit(self.url).path.strip("/") or "citemesh"


def read_settings(environ: Mapping[str, str]) -> StoreSettings:
    """The settings that `environ` gives. Raises ConfigurationError, which names the variable."""
    return load_settings(StoreSettings, environ)
