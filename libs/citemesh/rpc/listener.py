"""Binding a server to its one address, and the HTTP endpoint of the metrics beside it."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
from prometheus_client import CollectorRegistry, start_http_server

from citemesh.config.load import ConfigurationError
from citemesh.rpc.settings import HostSettings

_UNIX = "unix:"


def bind(server: grpc.aio.Server, address: str, settings: HostSettings) -> str:
    """Bind `server` to `address` and return the target that reaches it, with the real port.

    Raises ConfigurationError where the address is taken or a TLS file cannot be read.
    """
    if address.startswith(_UNIX):
        _clear_socket(socket_file(address))
        # The file is made by the binding; whoever may open it may call.
        previous = os.umask(0o177)
        try:
            _add_port(server, address, None)
        finally:
            os.umask(previous)
        return address
    port = _add_port(server, address, server_credentials(settings))
    host = address.rpartition(":")[0]
    return f"{host}:{port}"


def socket_file(address: str) -> Path:
    """The file of a unix: address."""
    return Path(address.removeprefix(_UNIX).removeprefix("//"))


def server_credentials(settings: HostSettings) -> grpc.ServerCredentials | None:
    """TLS as the settings ask for it; None for plaintext. Raises ConfigurationError where they are incomplete."""
    if settings.tls_cert_file is None and settings.tls_key_file is None:
        if settings.tls_client_ca_file is not None:
            raise ConfigurationError("CITEMESH_HOST_TLS_CLIENT_CA_FILE needs CITEMESH_HOST_TLS_CERT_FILE: set both.")
        return None
    if settings.tls_cert_file is None or settings.tls_key_file is None:
        raise ConfigurationError(
            "CITEMESH_HOST_TLS_CERT_FILE and CITEMESH_HOST_TLS_KEY_FILE belong together: set both."
        )
    try:
        authority = settings.tls_client_ca_file.read_bytes() if settings.tls_client_ca_file is not None else None
        pair = (settings.tls_key_file.read_bytes(), settings.tls_cert_file.read_bytes())
    except OSError as error:
        raise ConfigurationError(f"The TLS file {error.filename} cannot be read: {error.strerror}.") from error
    return grpc.ssl_server_credentials([pair], authority, require_client_auth=authority is not None)


class MetricsEndpoint:
    """/metrics over HTTP, in a thread of its own so that a busy event loop can still be looked at."""

    def __init__(self, address: str, registry: CollectorRegistry) -> None:
        host, _, port = address.rpartition(":")
        try:
            self._server, self._thread = _start(int(port), host.strip("[]"), registry)
        except (OSError, ValueError, OverflowError) as error:
            raise ConfigurationError(
                f"CITEMESH_HOST_METRICS_ADDRESS={address} cannot be listened on ({error}): set a free one or `off`."
            ) from error
        self.address = f"{host}:{self._server.server_port}"

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=5.0)


def _start(port: int, host: str, registry: CollectorRegistry) -> tuple[Any, threading.Thread]:
    return start_http_server(port, host, registry)


def _add_port(server: grpc.aio.Server, address: str, credentials: grpc.ServerCredentials | None) -> int:
    try:
        if credentials is None:
            return server.add_insecure_port(address)
        return server.add_secure_port(address, credentials)
    except RuntimeError as error:
        raise ConfigurationError(
            f"{address} cannot be listened on: is another process there? "
            "Set CITEMESH_HOST_LISTEN_ADDRESS to a free address."
        ) from error


def _clear_socket(path: Path) -> None:
    """Remove what a dead process left. gRPC would take a living one's socket away without a word."""
    if not path.is_socket():
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                raise ConfigurationError(
                    f"{path} is left over from a mesh that has ended and cannot be removed ({error.strerror}): "
                    "see to the permissions of its folder, or set CITEMESH_STATE_DIR elsewhere."
                ) from error
            return
        except OSError:
            pass  # somebody holds it who is too busy, or stopped, to answer
    raise ConfigurationError(
        f"A mesh is already listening on {path}: stop it first, or set CITEMESH_STATE_DIR elsewhere."
    )
