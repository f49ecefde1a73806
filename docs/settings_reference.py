"""Writes docs/settings.md from the settings classes; `--check` only says whether it is up to date."""

from __future__ import annotations

import importlib
import inspect
import sys
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import SecretStr
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings

from citemesh.config.load import variable_name

REPO = Path(__file__).resolve().parent.parent
PAGE = REPO / "docs" / "settings.md"
HEADER = """# Settings

Generated from the settings classes by `make generate`; do not edit. What they mean together:
[operations.md](operations.md).

A process reads its environment once, at start. Files named `.env` are not read. An empty value counts as not set. Lists
and objects are written as JSON. A wrong value stops the start, with all wrong variables named at once; a misspelt name
is warned of in the log (`setting_unknown`).
"""
PLAIN = """## Variables of no class

| variable | default | meaning |
|---|---|---|
| CITEMESH_STATE_DIR | `citemesh` in the user's data directory \
| Where a mesh keeps documents, index, reviews and socket. |
| CITEMESH_MODELS_DIR | `citemesh/models` in the user's cache directory | Where models are fetched to and read from. |
| CITEMESH_&lt;NAME&gt;_ADDRESS | none | Where the service NAME (such as QUERY) is: `host:port`, `dns:///name:port` \
or `unix:/path`. For services that a process needs and does not host. |
| CITEMESH_CHANNEL_CA_FILE | none | The authority of the servers that this process calls, as PEM; set, calls use TLS. |
| CITEMESH_CHANNEL_CERT_FILE | none | This process's certificate for calls, as PEM, where servers ask for one. |
| CITEMESH_CHANNEL_KEY_FILE | none | The key of CITEMESH_CHANNEL_CERT_FILE, as PEM. |
| CITEMESH_TOKEN | none | The bearer token that the `citemesh` command sends. |
| ORT_DISABLE_TELEMETRY | 1 in `python -m services`, the image and `make` | onnxruntime's own switch: 1 keeps it from \
sending usage data. |
"""
_KINDS: dict[Any, str] = {
    bool: "true or false",
    int: "whole number",
    float: "number",
    str: "text",
    Path: "path",
    SecretStr: "secret",
}


def main(arguments: list[str]) -> int:
    """Write the page, or with `--check` compare it; 1 where it differs."""
    text = render(find_classes())
    if "--check" not in arguments:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    if PAGE.is_file() and PAGE.read_text(encoding="utf-8") == text:
        return 0
    sys.stderr.write("docs/settings.md differs from the settings classes: run 'make generate'\n")
    return 1


def find_classes() -> list[type[BaseSettings]]:
    """Every settings class of libs and services, by prefix; a module is imported only where its text defines one."""
    if str(REPO) not in sys.path:
        sys.path.insert(0, str(REPO))  # as a script, Python's path starts in docs/
    classes: list[type[BaseSettings]] = []
    for root, package in ((REPO / "services", "services"), (REPO / "libs" / "citemesh", "citemesh")):
        for path in sorted(root.rglob("*.py")):
            if "BaseSettings):" not in path.read_text(encoding="utf-8"):
                continue
            name = ".".join((package, *path.relative_to(root).with_suffix("").parts))
            module = importlib.import_module(name)
            classes += [found for _, found in inspect.getmembers(module, inspect.isclass) if _is_own(found, name)]
    return sorted(classes, key=_prefix)


def _is_own(found: type, module_name: str) -> typing.TypeGuard[type[BaseSettings]]:
    return issubclass(found, BaseSettings) and found.__module__ == module_name


def render(classes: list[type[BaseSettings]]) -> str:
    """The whole page as Markdown."""
    lines = [HEADER]
    for settings_class in classes:
        lines += render_class(settings_class)
    return "\n".join([*lines, PLAIN]).rstrip() + "\n"


def render_class(settings_class: type[BaseSettings]) -> Iterator[str]:
    """One class as a table."""
    source = Path(inspect.getfile(settings_class)).resolve().relative_to(REPO)
    yield f"## {_prefix(settings_class)}*\n\nFrom [{source}](../{source}).\n"
    yield "| variable | values | default | meaning |\n|---|---|---|---|"
    for field, info in settings_class.model_fields.items():
        meaning = " ".join((info.description or "").split())
        cells = (variable_name(settings_class, field), _describe_values(info), _describe_default(info), meaning)
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
    yield ""


def _prefix(settings_class: type[BaseSettings]) -> str:
    return settings_class.model_config.get("env_prefix", "")


def _describe_default(info: FieldInfo) -> str:
    value = info.default
    if isinstance(value, SecretStr):
        value = value.get_secret_value()
    if value is None or value == "":
        return "not set"
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


def _describe_values(info: FieldInfo) -> str:
    """The kind of value, and the bounds that it must keep."""
    kinds = [kind for kind in _split_union(info.annotation) if kind is not type(None)]
    name = " or ".join(_name_kind(kind) for kind in kinds)
    bounds = [text for constraint in info.metadata for text in _describe_bound(constraint)]
    return ", ".join((name, *bounds))


def _split_union(annotation: Any) -> tuple[Any, ...]:
    if isinstance(annotation, types.UnionType) or typing.get_origin(annotation) is typing.Union:
        return typing.get_args(annotation)
    return (annotation,)


def _name_kind(kind: Any) -> str:
    if typing.get_origin(kind) is typing.Literal:
        return " or ".join(map(str, typing.get_args(kind)))
    return _KINDS[kind]


def _describe_bound(constraint: Any) -> Iterator[str]:
    for attribute, words in (("ge", "at least"), ("gt", "above"), ("le", "at most"), ("lt", "below")):
        bound = getattr(constraint, attribute, None)
        if bound is not None:
            yield f"{words} {bound}"
    if getattr(constraint, "min_length", None):
        yield "not empty"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
