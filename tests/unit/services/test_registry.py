"""Names of services, and what `python -m services` says about wrong ones."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from citemesh.config.load import ConfigurationError
from services.__main__ import main
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


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ([], 2, "usage: python -m services"),
        (["--fast", "rerank"], 2, "usage: python -m services"),
        (["--help"], 0, "usage: python -m services"),
        (["xyz"], 2, "There is no service 'xyz'"),
    ],
)
def test_wrong_arguments_are_answered_on_stderr(
    arguments: list[str], code: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == code
    printed = capsys.readouterr()
    assert words in printed.err
    assert printed.out == ""


def test_a_need_without_an_address_stops_the_start_and_is_named(tmp_path: Path) -> None:
    alone = subprocess.run(
        [sys.executable, "-m", "services", "dispatcher"],
        cwd=REPO,
        env={"PYTHONPATH": str(REPO / "libs"), "PATH": "", "CITEMESH_STATE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert alone.returncode == 2
    assert "dispatcher needs rerank: host it too, or set CITEMESH_RERANK_ADDRESS" in alone.stderr
    assert "Traceback" not in alone.stderr
