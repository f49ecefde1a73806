"""Names of services, and what `python -m services` says about wrong ones."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from citemesh.config.load import ConfigurationError
from services.registry import NAMES, load_spec, load_specs

REPO = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    ("name", "hint"), [("reranker", "did you mean rerank?"), ("xyz", "dispatcher, query"), ("", "one of")]
)
def test_unknown_names_are_refused_with_a_hint(name: str, hint: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_spec(name)
    assert hint in str(caught.value)


def test_every_service_exports_a_spec_of_its_own_name() -> None:
    specs = load_specs(["all", "rerank"])
    assert [spec.name for spec in specs] == list(NAMES)
    for spec in specs:
        assert spec.full_name == f"citemesh.v1.{spec.name.title()}Service"
        assert set(spec.needs) <= set(NAMES) - {spec.name}
        assert spec.name == "dispatcher" or not spec.needs, "only the dispatcher calls other services"


def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "services", *arguments],
        cwd=REPO,
        env={"PYTHONPATH": str(REPO / "libs"), "PATH": "", **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_command_says_what_is_wrong_and_ends_with_2(tmp_path: Path) -> None:
    nothing = run()
    assert (nothing.returncode, nothing.stdout) == (2, "")
    assert "usage: python -m services" in nothing.stderr
    unknown = run("xyz")
    assert (unknown.returncode, unknown.stderr.count("\n")) == (2, 1)
    assert "There is no service 'xyz'" in unknown.stderr
    alone = run("dispatcher", CITEMESH_STATE_DIR=str(tmp_path))
    assert alone.returncode == 2
    assert "dispatcher needs rerank: host it too, or set CITEMESH_RERANK_ADDRESS" in alone.stderr
    assert "Traceback" not in alone.stderr


def test_help_is_no_error() -> None:
    assert run("--help").returncode == 0
