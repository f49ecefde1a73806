"""The decisions stay pure: no network, clock, file, log or randomness is within their reach."""

from __future__ import annotations

import ast
import configparser
from pathlib import Path

import pytest

import services.dispatcher
from tests.conftest import REPO

FOLDER = Path(services.dispatcher.__file__).parent
PURE = (
    "adjust",
    "budget",
    "candidates",
    "citing",
    "context",
    "correct",
    "fallback",
    "gate",
    "loop",
    "outcome",
    "queries",
    "record",
    "replay",
    "resolve",
    "state",
    "stop",
    "triggers",
    "words",
)
ALLOWED = (
    "__future__",
    "collections",
    "dataclasses",
    "functools",
    "itertools",
    "re",
    "typing",
    "google.protobuf",
    "citemesh.v1",
    "citemesh.evidence",  # messages made of messages
    "citemesh.text.citation_marks",  # text made of text
)


def imported(module: str) -> set[str]:
    tree = ast.parse((FOLDER / f"{module}.py").read_text(encoding="utf-8"))
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
    return names


@pytest.mark.parametrize("module", PURE)
def test_pure_modules_import_only_messages_and_each_other(module: str) -> None:
    own = {f"services.dispatcher.{name}" for name in PURE}
    strange = {name for name in imported(module) if name not in own and not name.startswith(ALLOWED)}
    assert not strange


def test_calls_are_made_in_one_place() -> None:
    """Only stages.py knows the other services' stubs; the handler and the wiring know our own."""
    stub_users = {
        path.relative_to(FOLDER).as_posix()
        for path in FOLDER.rglob("*.py")
        if "_pb2_grpc" in path.read_text(encoding="utf-8")
    }
    assert stub_users == {"stages.py", "handler.py", "service.py"}


def test_the_import_contract_lists_the_same_modules() -> None:
    contracts = configparser.ConfigParser()
    contracts.read(REPO / ".importlinter", encoding="utf-8")
    listed = contracts["importlinter:contract:pure-dispatcher"]["source_modules"].split()
    assert listed == [f"services.dispatcher.{name}" for name in PURE]
