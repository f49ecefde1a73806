"""The pages keep up with the code: links lead somewhere, and what they name exists."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import typer

from citemesh.cli.main import app
from citemesh.v1 import answer_pb2, errors_pb2, history_pb2
from services.registry import NAMES
from tests.conftest import REPO

# Folders that hold no pages of ours.
_SKIPPED = {".venv", ".git", "build", "shared", "node_modules", ".pytest_cache", ".hypothesis"}
PAGES = sorted(page for page in REPO.rglob("*.md") if not _SKIPPED.intersection(page.relative_to(REPO).parts))
HAND_WRITTEN = [page for page in PAGES if page.name not in ("contract.md", "settings.md")]
# Documents of the demo are data; their commands and variables are nobody's.
OURS = [page for page in HAND_WRITTEN if "corpus" not in page.parts]

_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^(?:\$ )?(?:\S*/)?citemesh ([a-z][a-z-]*)(?: ([a-z][a-z-]*))?")


def list_commands(commands: typer.Typer) -> list[str]:
    """Names of the commands that a group has itself."""
    found = [(info.name, info.callback) for info in commands.registered_commands]
    return [name or (callback.__name__.replace("_", "-") if callback else "") for name, callback in found]


# Every command with its sub-commands; none for a plain one.
COMMANDS: dict[str, list[str]] = {name: [] for name in list_commands(app)} | {
    str(group.name): list_commands(group.typer_instance) for group in app.registered_groups if group.typer_instance
}


def name_page(page: Path) -> str:
    return str(page.relative_to(REPO))


def read_anchors(page: Path) -> set[str]:
    """The anchors that headings make, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", _FENCE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=name_page)
def test_relative_links_lead_somewhere(page: Path) -> None:
    broken = []
    for link in _LINK.findall(_FENCE.sub("", page.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in read_anchors(target)):
            broken.append(link)
    assert not broken


def test_files_that_the_map_of_services_names_exist() -> None:
    missing = []
    for line in (REPO / "services" / "README.md").read_text(encoding="utf-8").splitlines():
        # Bare names stand beside their folder's first file, or belong to the dispatcher.
        folders = [name for name in NAMES if f"{name}/" in line]
        places = ["", "services", "services/dispatcher", "services/dispatcher/steps"]
        places += [f"services/{folder}" for folder in folders]
        for name in re.findall(r"[\w*./-]+\.(?:py|yaml|proto)\b", line):
            if not any(any((REPO / place).glob(name)) for place in places):
                missing.append(name)
    assert not missing


def read_commands(page: Path) -> Iterator[tuple[str, str]]:
    """Commands with their second word, from code in a page: spans that begin with `citemesh`, and lines of code."""
    text = page.read_text(encoding="utf-8")
    spans = re.findall(r"`([^`\n]+)`", text)
    lines = [line.strip() for line in text.splitlines() if line.startswith("    ")]
    for code in spans + lines:
        found = _COMMAND.match(code)
        if found:
            yield found.group(1), found.group(2) or ""


@pytest.mark.parametrize("page", OURS, ids=name_page)
def test_commands_that_a_page_names_exist(page: Path) -> None:
    unknown = []
    for name, second in read_commands(page):
        seconds = COMMANDS.get(name)
        if seconds is None or (seconds and second and second not in seconds):
            unknown.append(f"{name} {second}".strip())
    assert not unknown


def test_the_guide_names_every_command() -> None:
    words = set(re.findall(r"[a-z][a-z-]*", (REPO / "docs" / "guide.md").read_text(encoding="utf-8")))
    assert len(COMMANDS) > 10
    assert not {*COMMANDS, *(name for names in COMMANDS.values() for name in names)} - words


@pytest.mark.parametrize(
    ("page", "names", "prefix"),
    [
        ("operations.md", errors_pb2.ErrorReason.keys(), "ERROR_REASON_"),
        ("guide.md", answer_pb2.AnswerOutcome.keys(), "ANSWER_OUTCOME_"),
        ("guide.md", answer_pb2.Verdict.keys(), "VERDICT_"),
        ("guide.md", history_pb2.StopReason.keys(), "STOP_REASON_"),
        ("guide.md", history_pb2.Trigger.keys(), "TRIGGER_"),
    ],
    ids=["reasons", "outcomes", "verdicts", "stops", "triggers"],
)
def test_pages_name_every_value(page: str, names: list[str], prefix: str) -> None:
    words = set(re.findall(r"[A-Z][A-Z_]+", (REPO / "docs" / page).read_text(encoding="utf-8")))
    values = {name.removeprefix(prefix) for name in names} - {"UNSPECIFIED"}
    assert not values - words


@pytest.fixture(scope="module")
def settings_reference() -> ModuleType:
    spec = importlib.util.spec_from_file_location("settings_reference", REPO / "docs" / "settings_reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_settings_page_is_up_to_date(settings_reference: ModuleType) -> None:
    rendered = settings_reference.render(settings_reference.find_classes())
    assert settings_reference.PAGE.read_text(encoding="utf-8") == rendered, "run `make generate`"


@pytest.mark.parametrize("page", OURS, ids=name_page)
def test_variables_that_a_page_names_exist(page: Path) -> None:
    reference = (REPO / "docs" / "settings.md").read_text(encoding="utf-8")
    known = set(re.findall(r"^\| (CITEMESH_[A-Z0-9_]+) \|", reference, re.MULTILINE))
    known |= {f"CITEMESH_{name.upper()}_ADDRESS" for name in NAMES}
    unknown = []
    for name in re.findall(r"CITEMESH_[A-Z0-9_]*", page.read_text(encoding="utf-8")):
        # CITEMESH_HOST_* and CITEMESH_<NAME>_ADDRESS are cut before the sign: a beginning is enough.
        begins_one = name.endswith("_") and any(other.startswith(name) for other in known)
        if name not in known and not begins_one:
            unknown.append(name)
    assert not unknown
