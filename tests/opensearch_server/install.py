"""Lays out an OpenSearch server from Maven packages, once for each state of the list of packages."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
from itertools import groupby
from pathlib import Path
from xml.sax.saxutils import escape

_LIST = Path(__file__).with_name("jars.txt")
_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "citemesh" / "tools"
_LEAST_JAVA = 21
_MODULES = {
    "transport-netty4": ("transport.Netty4ModulePlugin", ""),
    "analysis-common": ("analysis.common.CommonAnalysisModulePlugin", "lang-painless"),
    "lang-painless": ("painless.PainlessModulePlugin", ""),
    "mapper-extras": ("index.mapper.MapperExtrasModulePlugin", ""),
    "reindex": ("index.reindex.ReindexModulePlugin", ""),
}
# The k-NN plugin names this type in the signatures of a converter for a transport that is not installed; nothing
# ever calls it, but the type must exist.
_STAND_IN = """package org.opensearch.protobufs;
public final class QueryContainer {
    private QueryContainer() {}
    public enum QueryContainerCase { QUERYCONTAINER_NOT_SET }
}
"""


class CannotInstallError(Exception):
    """What this machine lacks."""


def find_java() -> Path:
    """The home of a Java that the server runs on. Raises CannotInstallError."""
    named = (os.environ.get(name) for name in ("OPENSEARCH_JAVA_HOME", "JAVA_HOME"))
    candidates = [Path(each) for each in named if each]
    default = shutil.which("java")
    if default is not None:
        candidates += sorted(Path(default).resolve().parents[2].iterdir())
    for home in candidates:
        if (home / "bin" / "java").is_file() and _java_version(home) >= _LEAST_JAVA:
            return home
    raise CannotInstallError(f"OpenSearch needs Java {_LEAST_JAVA} or newer, and this machine has none")


def install_server() -> Path:
    """The folder of the installed server; fetches about 93 MB the first time. Raises CannotInstallError."""
    stamp = hashlib.sha256(_LIST.read_bytes() + Path(__file__).read_bytes()).hexdigest()[:12]
    folder = _CACHE / f"opensearch-{stamp}"
    _CACHE.mkdir(parents=True, exist_ok=True)
    with (_CACHE / "opensearch.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            part = folder.with_suffix(".part")
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir()
            _fetch(part)
            _complete(part)
            part.rename(folder)
    return folder


def _java_version(home: Path) -> int:
    run = subprocess.run([home / "bin" / "java", "-version"], capture_output=True, text=True)
    match = re.search(r'version "(\d+)', run.stderr)
    return int(match.group(1)) if match else 0


def _fetch(folder: Path) -> None:
    if shutil.which("mvn") is None or shutil.which("javac") is None:
        raise CannotInstallError("OpenSearch is installed with Maven and javac, and this machine lacks one of them")
    build = folder / "build"
    build.mkdir()
    (build / "pom.xml").write_text(_make_pom(folder))
    command = ["mvn", "-B", "-q", "-f", str(build / "pom.xml"), "generate-resources"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if run.returncode:
        raise CannotInstallError(f"Maven could not fetch OpenSearch: {(run.stdout + run.stderr)[-400:]}")


def _complete(folder: Path) -> None:
    """Add what the packages lack: descriptors of the modules, and the stand-in for the k-NN plugin."""
    knn, build = folder / "plugins" / "opensearch-knn", folder / "build"
    source = build / "org" / "opensearch" / "protobufs" / "QueryContainer.java"
    source.parent.mkdir(parents=True)
    source.write_text(_STAND_IN)
    subprocess.run(["javac", "--release", "17", "-d", build / "classes", source], check=True, capture_output=True)
    shutil.make_archive(str(build / "stand-in"), "zip", build / "classes")
    (build / "stand-in.zip").rename(knn / "stand-in.jar")
    version = re.search(r"org\.opensearch:opensearch:(\S+)", _LIST.read_text())
    assert version is not None
    for name, (main_class, extended) in _MODULES.items():
        (folder / "modules" / name / "plugin-descriptor.properties").write_text(
            f"name={name}\ndescription={name}\nversion={version[1]}\nopensearch.version={version[1]}\n"
            f"java.version=21\nclassname=org.opensearch.{main_class}\nextended.plugins={extended}\n"
            "has.native.controller=false\n"
        )
    descriptor = knn / "plugin-descriptor.properties"
    text = re.sub(r"(?m)^extended\.plugins=.*", "extended.plugins=lang-painless", descriptor.read_text())
    descriptor.write_text(text)
    (folder / "config").mkdir()
    shutil.rmtree(build)


def _make_pom(folder: Path) -> str:
    lines = [line.split() for line in _LIST.read_text().splitlines() if line and not line.startswith("#")]
    # Archives are unpacked, jars copied: two goals.
    lines.sort(key=lambda line: (line[0], line[1].endswith(":zip")))
    executions = []
    for number, ((target, packed), items) in enumerate(
        groupby(lines, lambda line: (line[0], line[1].endswith(":zip")))
    ):
        artifacts = "".join(_make_item(coordinates) for _, coordinates in items)
        executions.append(
            f"<execution><id>e{number}</id><phase>generate-resources</phase>"
            f"<goals><goal>{'unpack' if packed else 'copy'}</goal></goals><configuration>"
            f"<outputDirectory>{escape(str(folder / target))}</outputDirectory>"
            f"<artifactItems>{artifacts}</artifactItems></configuration></execution>"
        )
    return (
        "<project><modelVersion>4.0.0</modelVersion><groupId>local</groupId><artifactId>server</artifactId>"
        "<version>1</version><packaging>pom</packaging><build><plugins><plugin>"
        "<groupId>org.apache.maven.plugins</groupId><artifactId>maven-dependency-plugin</artifactId>"
        f"<version>3.6.1</version><executions>{''.join(executions)}</executions></plugin></plugins></build></project>"
    )


def _make_item(coordinates: str) -> str:
    group, artifact, version, *kind = coordinates.split(":")
    return (
        f"<artifactItem><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>"
        f"{f'<type>{kind[0]}</type>' if kind else ''}</artifactItem>"
    )
