"""What messages and comments of the code tell people to do can be done: commands and variables that they name exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from citemesh.cli.main import app
from tests.conftest import REPO
from tests.unit.docs.test_docs import COMMANDS

# The module of a command that is listed and comes with a later step.
_LATER = "citemesh.cli.later"
_GENERATED = REPO / "libs" / "citemesh" / "v1"
SOURCES = sorted(
    path for folder in ("libs", "services") for path in (REPO / folder).rglob("*.py") if _GENERATED not in path.parents
)
# Examples in docstrings, of names that are made from a service's or a field's name.
_EXAMPLES = {"CITEMESH_NAME_ADDRESS", "CITEMESH_RERANK_ADDRESS", "CITEMESH_RERANK_TIMEOUT_MS"}


def list_working_commands() -> set[str]:
    later = {info.name for info in app.registered_commands if info.callback and info.callback.__module__ == _LATER}
    return COMMANDS.keys() - later


def test_commands_of_later_steps_are_known_as_such() -> None:
    assert "calibrate" in COMMANDS
    assert "calibrate" not in list_working_commands()


@pytest.mark.parametrize("folder", ["libs", "services"])
def test_commands_and_variables_that_the_code_names_exist(folder: str) -> None:
    settings = (REPO / "docs" / "settings.md").read_text(encoding="utf-8")
    known = set(re.findall(r"\bCITEMESH_[A-Z0-9_]*[A-Z0-9]\b", settings)) | _EXAMPLES
    commands = list_working_commands()
    strange: list[tuple[Path, str]] = []
    for path in SOURCES:
        if (REPO / folder) not in path.parents:
            continue
        text = path.read_text(encoding="utf-8")
        # With an underscore after it, it is a prefix.
        variables = set(re.findall(r"\bCITEMESH_[A-Z0-9_]*[A-Z0-9]\b(?!_)", text))
        named = set(re.findall(r"`citemesh ([a-z][a-z-]*)", text))
        strange += [(path, name) for name in (variables - known) | (named - commands)]
    assert not strange
