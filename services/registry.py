"""From a service's name to its SPEC; a service's folder is imported only when it is asked for."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable
from typing import Final

from citemesh.config.load import ConfigurationError
from citemesh.rpc.spec import ServiceSpec

NAMES: Final = ("dispatcher", "query", "retrieval", "rerank", "generation", "validation", "documents")
ALL: Final = "all"


def load_spec(name: str) -> ServiceSpec:
    """The SPEC of services/<name>/service.py. Raises ConfigurationError for a name that is none of the seven."""
    if name not in NAMES:
        close = difflib.get_close_matches(name, NAMES, n=1)
        hint = f"did you mean {close[0]}?" if close else f"it is one of {', '.join(NAMES)}, or {ALL}."
        raise ConfigurationError(f"There is no service {name!r}: {hint}")
    module = importlib.import_module(f"services.{name}.service")
    spec = module.SPEC
    if not isinstance(spec, ServiceSpec) or spec.name != name:
        raise TypeError(f"services/{name}/service.py: SPEC must be a ServiceSpec named {name!r}")
    return spec


def load_specs(names: Iterable[str]) -> list[ServiceSpec]:
    """The SPECs of `names`, each once, in the order given; `all` stands for the seven."""
    wanted: dict[str, None] = {}
    for name in names:
        wanted.update(dict.fromkeys(NAMES if name == ALL else (name,)))
    return [load_spec(name) for name in wanted]
