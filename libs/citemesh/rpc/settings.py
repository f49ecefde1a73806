"""Settings of the process that hosts services."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


class HostSettings(BaseSettings):
    """Variables CITEMESH_HOST_*."""

    model_config = SettingsConfigDict(env_prefix="CITEMESH_HOST_", use_attribute_docstrings=True)

    listen_address: str = ""
    """Where to listen: host:port (port 0: any free one) or unix:/path; empty: a Unix socket in the state folder."""

    metrics_address: str = "127.0.0.1:0"
    """Where /metrics is served, as host:port (port 0: any free one); `off`: nowhere."""

    default_deadline_ms: int = Field(default=30_000, ge=1)
    """The deadline of calls whose caller gave none, in milliseconds."""

    drain_wait_ms: int = Field(default=300, ge=0)
    """Time between reporting NOT_SERVING and closing the door, in milliseconds, in which callers turn away."""

    drain_grace_ms: int = Field(default=10_000, ge=0)
    """Time that calls in flight get to end, in milliseconds."""

    health_interval_ms: int = Field(default=1_000, ge=10)
    """Time between two checks of the services, in milliseconds."""

    health_timeout_ms: int = Field(default=5_000, ge=10)
    """Time that one check may take, in milliseconds."""

    max_connection_age_ms: int = Field(default=30_000, ge=0)
    """Age at which TCP connections are renewed, in milliseconds, so that callers find new replicas; 0: never."""

    max_concurrent_calls: int = Field(default=0, ge=0)
    """Calls handled at once, those between local services included; more get RESOURCE_EXHAUSTED. 0: no limit."""

    reflection: bool = True
    """Whether tools such as grpcurl may ask what there is to call."""

    tls_cert_file: Path | None = None
    """The server's certificate chain as PEM; with `tls_key_file` it turns TLS on. Unix sockets never use it."""

    tls_key_file: Path | None = None
    """The key of `tls_cert_file` as PEM."""

    tls_client_ca_file: Path | None = None
    """The authority of client certificates as PEM; set, a client without such a certificate is refused."""
