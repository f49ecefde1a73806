"""Starts an OpenSearch server on a free port of 127.0.0.1, waits until it answers, and stops it by its pid."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.opensearch_server.install import CannotInstallError, find_java, install_server

_START_TIMEOUT_S = 180.0
_LOG = """status = error
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = [%d{ISO8601}][%-5p][%-25c{1.}] %m%n
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
"""


@contextmanager
def running_server(data: Path, *, heap: str = "512m") -> Iterator[str]:
    """The address of a server that keeps its files below `data`. Raises CannotInstallError."""
    java, folder = find_java(), install_server()
    port = _free_port()
    _write_configuration(data, port)
    with (data / "server.log").open("wb") as log:
        process = subprocess.Popen(
            _command(java, folder, data, heap),
            env=os.environ | {"OPENSEARCH_PATH_CONF": str(data / "config")},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    address = f"http://127.0.0.1:{port}"
    try:
        _wait(process, address, data / "server.log")
        yield address
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _command(java: Path, folder: Path, data: Path, heap: str) -> list[str]:
    # The server refuses to run as root: there it becomes another user of a namespace, with root's files.
    prefix = ["unshare", "--user", "--map-user=1000", "--map-group=1000"] if os.getuid() == 0 else []
    if prefix and (
        shutil.which("unshare") is None or subprocess.run([*prefix, "true"], capture_output=True).returncode
    ):
        raise CannotInstallError("OpenSearch does not run as root, and this machine allows no user namespace")
    return [
        *prefix,
        str(java / "bin" / "java"),
        f"-Xms{heap}",
        f"-Xmx{heap}",
        "-XX:+ExitOnOutOfMemoryError",
        # Only the first compiler: it starts in two thirds of the time, which is most of what tests ask of it.
        "-XX:TieredStopAtLevel=1",
        "--enable-native-access=ALL-UNNAMED",
        f"-Djava.io.tmpdir={data / 'tmp'}",
        "-Dfile.encoding=UTF-8",
        "-Djna.nosys=true",
        f"-Djna.tmpdir={data / 'tmp'}",
        "-Dio.netty.noUnsafe=true",
        "-Dio.netty.noKeySetOptimization=true",
        "-Dio.netty.recycler.maxCapacityPerThread=0",
        "-Dlog4j.shutdownHookEnabled=false",
        "-Dlog4j2.disable.jmx=true",
        "-Dlog4j2.formatMsgNoLookups=true",
        f"-Dopensearch.path.home={folder}",
        f"-Dopensearch.path.conf={data / 'config'}",
        "-Dopensearch.distribution.type=tar",
        "-Dopensearch.bundled_jdk=false",
        "-cp",
        f"{folder / 'lib'}/*",
        "org.opensearch.bootstrap.OpenSearch",
    ]


def _write_configuration(data: Path, port: int) -> None:
    for name in ("data", "logs", "tmp", "config"):
        (data / name).mkdir(parents=True, exist_ok=True)
    (data / "config" / "opensearch.yml").write_text(
        "cluster.name: tests\nnode.name: only\nnetwork.host: 127.0.0.1\ndiscovery.type: single-node\n"
        f"http.port: {port}\ntransport.port: {_free_port()}\npath.data: {data / 'data'}\npath.logs: {data / 'logs'}\n"
        "cluster.routing.allocation.disk.threshold_enabled: false\n"
    )
    (data / "config" / "log4j2.properties").write_text(_LOG)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _wait(process: subprocess.Popen[bytes], address: str, log: Path) -> None:
    deadline = time.monotonic() + _START_TIMEOUT_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise CannotInstallError(f"OpenSearch ended at its start: {log.read_text()[-400:]}")
        try:
            with urllib.request.urlopen(f"{address}/_cluster/health?wait_for_status=yellow&timeout=20s", timeout=25):
                return
        except OSError:
            time.sleep(0.25)
    raise CannotInstallError(f"OpenSearch did not answer within {_START_TIMEOUT_S:.0f} s")
