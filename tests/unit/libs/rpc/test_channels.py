"""The channel profile does what it is there for, on real servers."""

from __future__ import annotations

import asyncio
import datetime
import json
import os
import signal
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from google.protobuf.wrappers_pb2 import StringValue

from citemesh.config.load import ConfigurationError
from citemesh.rpc.calls import call
from citemesh.rpc.channels import channel_options, open_channel, server_options, service_config
from citemesh.rpc.errors import ServiceError
from citemesh.v1 import errors_pb2


async def echo(request: StringValue, _context: Any) -> StringValue:
    return request


def unary(channel: grpc.aio.Channel) -> Any:
    return channel.unary_unary("/test.Fake/Unary", StringValue.SerializeToString, StringValue.FromString)


def test_the_retry_policy_is_where_grpc_reads_it() -> None:
    config = json.loads(service_config(watch_health=True))
    assert config["methodConfig"][0]["retryPolicy"]["retryableStatusCodes"] == ["UNAVAILABLE"]
    assert "timeout" not in config["methodConfig"][0]
    assert config["loadBalancingConfig"] == [{"round_robin": {}}]
    assert config["healthCheckConfig"] == {"serviceName": ""}
    ingest = config["methodConfig"][1]
    assert ingest == {"name": [{"service": "citemesh.v1.DocumentsService", "method": "Ingest"}]}
    assert "healthCheckConfig" not in json.loads(service_config(watch_health=False))


def test_servers_forgive_pings_and_only_tcp_connections_age() -> None:
    assert ("grpc.http2.max_ping_strikes", 0) in server_options()
    assert "grpc.max_connection_age_ms" not in dict(server_options())
    assert dict(server_options(max_connection_age_s=1.5))["grpc.max_connection_age_ms"] == 1500
    assert "grpc.keepalive_time_ms" in dict(channel_options())
    assert "grpc.keepalive_time_ms" not in dict(channel_options(local=True))


@pytest.mark.parametrize(
    ("reason", "call_count"),
    [(errors_pb2.ERROR_REASON_STORE_UNAVAILABLE, 4), (errors_pb2.ERROR_REASON_LLM_TIMEOUT, 1)],
)
async def test_a_model_that_failed_is_not_asked_again_by_a_retry(
    serve_fake: Any, reason: errors_pb2.ErrorReason.ValueType, call_count: int
) -> None:
    count = 0

    async def fail(_request: StringValue, _context: Any) -> StringValue:
        nonlocal count
        count += 1
        raise ServiceError(reason, "not now")

    rpc = await serve_fake(Unary=fail)
    async with open_channel(rpc.host.target, {}, watch_health=False) as channel:
        with pytest.raises(grpc.aio.AioRpcError):
            await unary(channel)(StringValue(), timeout=10)
    assert count == call_count


async def test_calls_are_spread_over_replicas_and_leave_one_that_is_not_serving(
    serve_fake: Any, tmp_path: Path
) -> None:
    counts = [0, 0]

    def counting(index: int) -> Any:
        async def answer(request: StringValue, _context: Any) -> StringValue:
            counts[index] += 1
            return request

        return answer

    tcp = {"CITEMESH_HOST_LISTEN_ADDRESS": "127.0.0.1:0"}
    replicas = [await serve_fake(tcp, Unary=counting(index)) for index in range(2)]
    ports = [replica.host.target.rpartition(":")[2] for replica in replicas]
    async with open_channel(f"ipv4:127.0.0.1:{ports[0]},127.0.0.1:{ports[1]}", {}) as channel:
        for _ in range(40):
            await unary(channel)(StringValue(), timeout=2, wait_for_ready=True)
            await asyncio.sleep(0.005)
        assert min(counts) >= 10
        await replicas[0].host._health.drain()
        await asyncio.sleep(0.2)
        before = list(counts)
        for _ in range(20):
            await unary(channel)(StringValue(), timeout=2)
        assert (counts[0] - before[0], counts[1] - before[1]) == (0, 20)


async def test_a_server_that_comes_back_is_found_within_a_second_or_so(serve_fake: Any) -> None:
    rpc = await serve_fake(Unary=echo)
    address = rpc.host.target
    async with open_channel(address, {}) as channel:
        await unary(channel)(StringValue(), timeout=2)
        await rpc.host.stop()
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await unary(channel)(StringValue(), timeout=2)
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
        await serve_fake(Unary=echo)
        started = time.monotonic()
        await unary(channel)(StringValue(), timeout=5, wait_for_ready=True)
        assert time.monotonic() - started < 2.5


def make_certificates(folder: Path) -> dict[str, Path]:
    """A throw-away authority with a certificate for localhost, and a second authority that signed nothing."""

    def name(text: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])

    def certify(subject: str, key: Any, issuer: str, signer: Any, authority: bool) -> x509.Certificate:
        now = datetime.datetime.now(datetime.UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(name(subject))
            .issuer_name(name(issuer))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + datetime.timedelta(hours=1))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
            .sign(signer, hashes.SHA256())
        )

    root_key, leaf_key, other_key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(3))
    files = {
        "ca": certify("root", root_key, "root", root_key, authority=True),
        "cert": certify("leaf", leaf_key, "root", root_key, authority=False),
        "other_ca": certify("other", other_key, "other", other_key, authority=True),
    }
    paths = {kind: folder / f"{kind}.pem" for kind in (*files, "key")}
    for kind, certificate in files.items():
        paths[kind].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    paths["key"].write_bytes(
        leaf_key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    return paths


async def test_tls_both_ways_and_a_refused_certificate_is_told_apart(serve_fake: Any, tmp_path: Path) -> None:
    files = make_certificates(tmp_path)
    rpc = await serve_fake(
        {
            "CITEMESH_HOST_LISTEN_ADDRESS": "localhost:0",
            "CITEMESH_HOST_TLS_CERT_FILE": str(files["cert"]),
            "CITEMESH_HOST_TLS_KEY_FILE": str(files["key"]),
            "CITEMESH_HOST_TLS_CLIENT_CA_FILE": str(files["ca"]),
        },
        Unary=echo,
    )
    ours = {
        "CITEMESH_CHANNEL_CA_FILE": str(files["ca"]),
        "CITEMESH_CHANNEL_CERT_FILE": str(files["cert"]),
        "CITEMESH_CHANNEL_KEY_FILE": str(files["key"]),
    }
    async with open_channel(rpc.host.target, ours) as channel:
        assert (await call(unary(channel), StringValue(value="x"), timeout=5)).value == "x"
    for environ in ({**ours, "CITEMESH_CHANNEL_CA_FILE": str(files["other_ca"])},):
        async with open_channel(rpc.host.target, environ) as channel:
            with pytest.raises(ServiceError, match="certificate"):
                await call(unary(channel), StringValue(), timeout=3)
    async with open_channel(rpc.host.target, {"CITEMESH_CHANNEL_CA_FILE": str(files["ca"])}) as channel:
        with pytest.raises(ServiceError):
            await call(unary(channel), StringValue(), timeout=3)


async def test_half_a_tls_configuration_is_refused(serve_fake: Any, tmp_path: Path) -> None:
    tcp = {"CITEMESH_HOST_LISTEN_ADDRESS": "127.0.0.1:0"}
    with pytest.raises(ConfigurationError, match="belong together"):
        await serve_fake({**tcp, "CITEMESH_HOST_TLS_CERT_FILE": "x.pem"}, Unary=echo)
    with pytest.raises(ConfigurationError, match="TLS_CERT_FILE"):
        await serve_fake({**tcp, "CITEMESH_HOST_TLS_CLIENT_CA_FILE": "x.pem"}, Unary=echo)
    nowhere = str(tmp_path / "nowhere.pem")
    missing = {**tcp, "CITEMESH_HOST_TLS_CERT_FILE": nowhere, "CITEMESH_HOST_TLS_KEY_FILE": nowhere}
    with pytest.raises(ConfigurationError, match=r"nowhere\.pem"):
        await serve_fake(missing, Unary=echo)


async def test_retries_are_throttled_in_an_outage(serve_fake: Any) -> None:
    attempts = 0

    async def refuse(_request: StringValue, context: Any) -> StringValue:
        nonlocal attempts
        attempts += 1
        await context.abort(grpc.StatusCode.UNAVAILABLE, "down")
        raise AssertionError

    rpc = await serve_fake(Unary=refuse)
    async with open_channel(rpc.host.target, {}) as channel:
        for _ in range(60):
            with pytest.raises(grpc.aio.AioRpcError):
                await unary(channel)(StringValue(), timeout=2)
    assert 60 <= attempts <= 75


async def test_a_call_that_fails_once_is_retried(serve_fake: Any) -> None:
    attempts = 0

    async def fail_once(request: StringValue, context: Any) -> StringValue:
        nonlocal attempts
        attempts += 1
        if attempts == 1:
            await context.abort(grpc.StatusCode.UNAVAILABLE, "down")
        return request

    rpc = await serve_fake(Unary=fail_once)
    async with open_channel(rpc.host.target, {}) as channel:
        await unary(channel)(StringValue(), timeout=2)
    assert attempts == 2


async def test_a_message_over_the_limit_is_not_taken_for_overload(serve_fake: Any) -> None:
    rpc = await serve_fake(Unary=echo)
    channel = grpc.aio.insecure_channel(rpc.host.target, options=[("grpc.max_send_message_length", 1000)])
    with pytest.raises(ServiceError) as caught:
        await call(unary(channel), StringValue(value="x" * 5000), timeout=2)
    assert caught.value.reason == errors_pb2.ERROR_REASON_INVALID_FIELD
    await channel.close()


HUNG = """
    import os
    import grpc
    from google.protobuf.wrappers_pb2 import StringValue
    from citemesh.rpc.host import run
    from citemesh.rpc.spec import ServiceSpec

    class Echo:
        def register(self, server):
            handler = grpc.unary_unary_rpc_method_handler(
                self.answer, StringValue.FromString, StringValue.SerializeToString)
            server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("test.Fake", {"Unary": handler}),))
        async def answer(self, request, context): return request
        async def check(self): return None
        async def close(self): pass

    async def start(context): return Echo()
    run([ServiceSpec("echo", "test.Fake", (), start)], os.environ, lambda host: print(host.target, flush=True))
"""


async def test_a_hung_process_is_noticed_long_before_the_deadline(environ: dict[str, str]) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        textwrap.dedent(HUNG),
        env={**os.environ, **environ, "CITEMESH_HOST_LISTEN_ADDRESS": "127.0.0.1:0"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert process.stdout is not None
    target = (await asyncio.wait_for(process.stdout.readline(), 20)).decode().strip()
    try:
        async with open_channel(target, {}) as channel:
            await unary(channel)(StringValue(), timeout=5)
            process.send_signal(signal.SIGSTOP)
            started = time.monotonic()
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await unary(channel)(StringValue(), timeout=20)
            assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
            assert time.monotonic() - started < 6
    finally:
        process.kill()
        await process.communicate()


async def test_a_rolling_restart_loses_no_call(serve_fake: Any) -> None:
    variables = {"CITEMESH_HOST_LISTEN_ADDRESS": "127.0.0.1:0", "CITEMESH_HOST_DRAIN_WAIT_MS": "300"}
    replicas = [await serve_fake(variables, Unary=echo) for _ in range(2)]
    addresses = ",".join(replica.host.target for replica in replicas)
    async with open_channel(f"ipv4:{addresses}", {}) as channel:
        await unary(channel)(StringValue(), timeout=5, wait_for_ready=True)
        stopping = asyncio.ensure_future(replicas[0].host.stop())
        answered = 0
        while not stopping.done():
            await unary(channel)(StringValue(), timeout=5)
            answered += 1
        await stopping
    assert answered > 20
