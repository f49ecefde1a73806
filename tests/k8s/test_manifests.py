"""Every mesh that k8s/ describes renders, obeys the Kubernetes schemas, and hangs together."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import starlark
import yaml

from citemesh.telemetry import names
from services.registry import NAMES as SERVICE_NAMES
from tests.conftest import REPO
from tests.servers import find_go_tool

OVERLAYS = sorted(path.parent.name for path in (REPO / "k8s" / "overlays").glob("*/kustomization.yaml"))
Manifest = dict[str, Any]

pytestmark = pytest.mark.timeout(900)  # on a fresh machine kustomize is built first


@pytest.fixture(scope="session")
def kustomize() -> Path:
    return find_go_tool("kustomize", "sigs.k8s.io/kustomize/kustomize/v5@v5.8.0")


@pytest.fixture(scope="session")
def rendered(kustomize: Path) -> dict[str, list[Manifest]]:
    """The manifests of each overlay."""
    result = {}
    for name in OVERLAYS:
        folder = REPO / "k8s" / "overlays" / name
        done = subprocess.run([kustomize, "build", folder], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert not done.stderr, "kustomize warns: " + done.stderr
        result[name] = list(yaml.safe_load_all(done.stdout))
    return result


def of_kind(manifests: list[Manifest], kind: str) -> dict[str, Manifest]:
    return {m["metadata"]["name"]: m for m in manifests if m["kind"] == kind}


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_manifests_obey_the_schemas(rendered: dict[str, list[Manifest]], overlay: str) -> None:
    for manifest in rendered[overlay]:
        kubernetes_validate.validate(manifest, kubernetes_validate.latest_version(), strict=True)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_stage_has_its_four_objects(rendered: dict[str, list[Manifest]], overlay: str) -> None:
    names_expected = {f"citemesh-{name}" for name in SERVICE_NAMES}
    for kind in ("Deployment", "Service", "PodDisruptionBudget", "HorizontalPodAutoscaler"):
        assert set(of_kind(rendered[overlay], kind)) == names_expected


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_selectors_reach_the_stage_and_no_other(rendered: dict[str, list[Manifest]], overlay: str) -> None:
    manifests = rendered[overlay]
    deployments = of_kind(manifests, "Deployment")
    for name, deployment in deployments.items():
        labels = deployment["spec"]["template"]["metadata"]["labels"]
        selectors = [
            deployment["spec"]["selector"]["matchLabels"],
            of_kind(manifests, "Service")[name]["spec"]["selector"],
            of_kind(manifests, "PodDisruptionBudget")[name]["spec"]["selector"]["matchLabels"],
        ]
        for selector in selectors:
            chosen = [
                other
                for other, candidate in deployments.items()
                if selector.items() <= candidate["spec"]["template"]["metadata"]["labels"].items()
            ]
            assert chosen == [name], f"{selector} of {name} reaches {chosen}, labels {labels}"
        scaled = of_kind(manifests, "HorizontalPodAutoscaler")[name]["spec"]["scaleTargetRef"]
        assert (scaled["kind"], scaled["name"]) == ("Deployment", name)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_each_container_hosts_its_stage_and_is_confined(rendered: dict[str, list[Manifest]], overlay: str) -> None:
    for name, deployment in of_kind(rendered[overlay], "Deployment").items():
        pod = deployment["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        assert [f"citemesh-{argument}" for argument in container["args"]] == [name]
        assert {"startupProbe", "readinessProbe", "livenessProbe"} <= set(container)
        assert container["resources"]["requests"].keys() >= {"cpu", "memory"}
        assert "memory" in container["resources"]["limits"]
        assert container["securityContext"]["readOnlyRootFilesystem"]
        assert pod["securityContext"]["runAsNonRoot"]
        mounted = {mount["name"] for mount in container["volumeMounts"]}
        assert mounted <= {volume["name"] for volume in pod["volumes"]}


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_addresses_name_services_that_exist(rendered: dict[str, list[Manifest]], overlay: str) -> None:
    (settings,) = (m["data"] for m in rendered[overlay] if m["kind"] == "ConfigMap")
    hosts = {f"{name}:8470" for name in of_kind(rendered[overlay], "Service")}
    addresses = {key: value for key, value in settings.items() if re.fullmatch(r"CITEMESH_[A-Z]+_ADDRESS", key)}
    assert len(addresses) == len(SERVICE_NAMES) - 1
    assert {value.removeprefix("dns:///") for value in addresses.values()} <= hosts


def test_only_one_replica_writes_the_embedded_store(rendered: dict[str, list[Manifest]]) -> None:
    for manifests in rendered.values():
        documents = of_kind(manifests, "HorizontalPodAutoscaler")["citemesh-documents"]["spec"]
        assert (documents["minReplicas"], documents["maxReplicas"]) == (1, 1)


def test_whoever_reads_the_embedded_store_runs_where_it_is_written(rendered: dict[str, list[Manifest]]) -> None:
    for manifests in rendered.values():
        for name, deployment in of_kind(manifests, "Deployment").items():
            pod = deployment["spec"]["template"]["spec"]
            shared = any("persistentVolumeClaim" in volume for volume in pod["volumes"] if volume["name"] == "state")
            assert any(mount["mountPath"] == "/state" for mount in pod["containers"][0]["volumeMounts"])
            assert shared == (name in {"citemesh-documents", "citemesh-retrieval", "citemesh-validation"})
            assert ("affinity" in pod) == (shared and name != "citemesh-documents")


def test_the_board_asks_only_for_metrics_that_exist() -> None:
    board = json.loads((REPO / "k8s" / "dashboards" / "citemesh.json").read_text(encoding="utf-8"))
    known = {definition.name for definition in names.DEFINITIONS}
    expressions = [t["expr"] for panel in board["panels"] for t in panel.get("targets", ())]
    asked = {name for e in expressions for name in re.findall(r"\b(?:citemesh|grpc_server)_\w+", e)}
    assert len(expressions) >= 15
    assert {re.sub(r"_(bucket|sum|count)$", "", name) for name in asked} <= known


def test_the_tiltfile_uses_the_same_parts() -> None:
    """Evaluates the Tiltfile with stand-ins for Tilt's functions that only record."""
    calls: list[tuple[str, Any]] = []
    module = starlark.Module()

    def record(name: str) -> Callable[..., str]:
        def recorded(*args: Any, **_: Any) -> str:
            calls.append((name, args))
            return str(args)

        return recorded

    for name in ("docker_build", "sync", "k8s_yaml", "kustomize", "k8s_resource"):
        module.add_callable(name, record(name))
    dialect = starlark.Dialect.extended()
    dialect.enable_top_level_stmt = True
    source = starlark.parse("Tiltfile", (REPO / "Tiltfile").read_text(encoding="utf-8"), dialect)
    starlark.eval(module, source, starlark.Globals.standard())
    resources = {args[0] for name, args in calls if name == "k8s_resource"}
    assert resources == {f"citemesh-{name}" for name in SERVICE_NAMES}
    (folder,) = (args[0] for name, args in calls if name == "kustomize")
    assert (REPO / folder / "kustomization.yaml").is_file()
    for name, args in calls:
        if name == "sync":
            assert (REPO / args[0]).is_dir()
