"""The channel and server options of the mesh. The values were measured; the reason stands beside each.

A call's timeout is never set here: service-config timeouts fail at once below about 1.3 s, so calls carry their own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import grpc
import grpc.aio

Options = list[tuple[str, Any]]

MAX_MESSAGE_SIZE_BYTES: Final = 64 * 1024 * 1024

_BOTH_ENDS: Final[Options] = [
    ("grpc.max_receive_message_length", MAX_MESSAGE_SIZE_BYTES),
    ("grpc.max_send_message_length", MAX_MESSAGE_SIZE_BYTES),
    # Window probing lets a server buffer megabytes for a slow reader; without it the window below is the bound.
    ("grpc.http2.bdp_probe", 0),
    ("grpc.http2.lookahead_bytes", 1024 * 1024),
]

_CLIENT: Final[Options] = [
    *_BOTH_ENDS,
    # The defaults wait up to 30 s and more after an outage.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
    # New replicas behind a headless DNS name are found at the next resolution, which max_connection_age brings about.
    ("grpc.dns_min_time_between_resolutions_ms", 1000),
]

# A hung peer keeps its socket open: only pings notice. keepalive_timeout_ms has no effect; the ping's own timeout has.
_CLIENT_REMOTE: Final[Options] = [
    ("grpc.keepalive_time_ms", 1000),
    ("grpc.http2.ping_timeout_ms", 500),
    ("grpc.http2.max_pings_without_data", 0),
]

# The peer decides about credentials, so a target's TLS files are the mesh's, not a setting of each service.
CA_FILE_VARIABLE: Final = "CITEMESH_CHANNEL_CA_FILE"
CERT_FILE_VARIABLE: Final = "CITEMESH_CHANNEL_CERT_FILE"
KEY_FILE_VARIABLE: Final = "CITEMESH_CHANNEL_KEY_FILE"


def service_config(*, watch_health: bool, health_service: str = "") -> str:
    """The gRPC service config: spread calls over all addresses, retry what never reached a server.

    `watch_health` leaves a replica that reports NOT_SERVING (for the full name `health_service`; empty: for all that it
    hosts) within a fifth of a second. The retryPolicy has to be
    inside methodConfig (elsewhere it is ignored in silence), and the throttle keeps an outage from doubling the load.
    """
    config: dict[str, Any] = {
        "loadBalancingConfig": [{"round_robin": {}}],
        "methodConfig": [
            {
                "name": [{}],
                "retryPolicy": {
                    "maxAttempts": 4,
                    "initialBackoff": "0.05s",
                    "maxBackoff": "0.5s",
                    "backoffMultiplier": 2,
                    "retryableStatusCodes": ["UNAVAILABLE"],
                },
            },
            # An ingest is work of seconds: whether it is worth sending again is for whoever sends it.
            {"name": [{"service": "citemesh.v1.DocumentsService", "method": "Ingest"}]},
        ],
        "retryThrottling": {"maxTokens": 10, "tokenRatio": 0.1},
    }
    if watch_health:
        config["healthCheckConfig"] = {"serviceName": health_service}
    return json.dumps(config)


def channel_options(*, local: bool = False, watch_health: bool = False, health_service: str = "") -> Options:
    """The options for a channel. `local`: the peer is this process, which cannot hang without its client."""
    config = service_config(watch_health=watch_health, health_service=health_service)
    options = [*_CLIENT, ("grpc.service_config", config)]
    return options if local else [*options, *_CLIENT_REMOTE]


def server_options(*, max_connection_age_s: float | None = None, keep_requests_s: float = 60.0) -> Options:
    """The options for a server. Connections older than `max_connection_age_s` are renewed, so that clients look again
    for replicas; calls on them get `keep_requests_s` to end."""
    options: Options = [
        *_BOTH_ENDS,
        # A server that counts pings ends silent calls after a few seconds (too_many_pings).
        ("grpc.http2.max_ping_strikes", 0),
        ("grpc.keepalive_permit_without_calls", 1),
        # Two processes on one port would each get half of the calls.
        ("grpc.so_reuseport", 0),
    ]
    if max_connection_age_s is not None:
        options += [
            ("grpc.max_connection_age_ms", round(max_connection_age_s * 1000)),
            ("grpc.max_connection_age_grace_ms", round(keep_requests_s * 1000)),
        ]
    return options


def open_channel(
    target: str,
    environ: Mapping[str, str],
    *,
    local: bool = False,
    watch_health: bool = True,
    health_service: str = "",
) -> grpc.aio.Channel:
    """A channel to `target` (host:port, dns:///name:port or unix:/path).

    It is plaintext unless CITEMESH_CHANNEL_CA_FILE is set. Raises OSError where one of the TLS files cannot be read.
    """
    options = channel_options(local=local, watch_health=watch_health and not local, health_service=health_service)
    credentials = _credentials_for(target, environ, local)
    if credentials is None:
        return grpc.aio.insecure_channel(target, options=options)
    return grpc.aio.secure_channel(target, credentials, options=options)


def open_blocking_channel(
    target: str, environ: Mapping[str, str], *, watch_health: bool = True, health_service: str = ""
) -> grpc.Channel:
    """As `open_channel`, for code without an event loop. Services never use it: blocking calls starve streams."""
    options = channel_options(watch_health=watch_health, health_service=health_service)
    credentials = _credentials_for(target, environ, local=False)
    if credentials is None:
        return grpc.insecure_channel(target, options=options)
    return grpc.secure_channel(target, credentials, options=options)


def _credentials_for(target: str, environ: Mapping[str, str], local: bool) -> grpc.ChannelCredentials | None:
    return None if local or target.startswith("unix:") else channel_credentials(environ)


def channel_credentials(environ: Mapping[str, str]) -> grpc.ChannelCredentials | None:
    """TLS by CITEMESH_CHANNEL_CA_FILE, with our own certificate where one is set; None where there is no CA."""
    authority = _read(environ, CA_FILE_VARIABLE)
    if authority is None:
        return None
    return grpc.ssl_channel_credentials(
        root_certificates=authority,
        private_key=_read(environ, KEY_FILE_VARIABLE),
        certificate_chain=_read(environ, CERT_FILE_VARIABLE),
    )


def _read(environ: Mapping[str, str], variable: str) -> bytes | None:
    path = environ.get(variable, "")
    return Path(path).read_bytes() if path else None
