"""The one place where the command runs services itself: for `citemesh up`, and for a command that finds no mesh.

Services come from a checkout or an image; the installed package alone holds none, and then this says so.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from citemesh.cli.exits import CommandError, Exit
from citemesh.config.paths import STATE_DIR_VARIABLE

if TYPE_CHECKING:
    from citemesh.rpc.host import Host
    from citemesh.rpc.spec import ServiceSpec

_BULK_INGEST: Final = "services.documents.bulk_ingest"
_AUTH_MODE: Final = "CITEMESH_AUTH_MODE"
_AUTH_PREFIX: Final = "CITEMESH_AUTH_"
_LISTEN_ADDRESS: Final = "CITEMESH_HOST_LISTEN_ADDRESS"
_LOG_CONSOLE: Final = "CITEMESH_LOG_CONSOLE"
_LOG_LEVEL: Final = "CITEMESH_LOG_LEVEL"
_METRICS_ADDRESS: Final = "CITEMESH_HOST_METRICS_ADDRESS"
_LATER: Final = "Install the package with its extra `server` and run from a checkout, or name a mesh with --target."


def load_specs(names: Sequence[str] = ("all",)) -> list[ServiceSpec]:
    """The SPECs of services by name. Raises CommandError for an unknown name, or where there are no services here."""
    _find_services()
    try:
        registry = importlib.import_module("services.registry")
        from citemesh.config.load import ConfigurationError

        try:
            specs: list[ServiceSpec] = registry.load_specs(names)
        except ConfigurationError as error:
            raise CommandError(str(error)) from error
    except ModuleNotFoundError as error:
        raise CommandError(f"The services cannot be loaded: the module {error.name} is missing. {_LATER}") from error
    return specs


def _find_services() -> None:
    """Make `services` importable from the checkout that this package runs from; an image has it on its path."""
    if _has_services():
        return
    checkout = Path(__file__).resolve().parents[3]
    if not (checkout / "services" / "registry.py").is_file():
        raise CommandError(f"This installation holds the client and the command, and no services. {_LATER}")
    sys.path.insert(0, str(checkout))
    importlib.invalidate_caches()


def _has_services() -> bool:
    """Whether `services` is ours: the name is a common one."""
    found = find_spec("services")
    places = found.submodule_search_locations if found is not None else None
    return any((Path(place) / "registry.py").is_file() for place in places or ())


def name_bulk_ingest() -> tuple[list[str], dict[str, str]]:
    """The program that reads many files into a store without a mesh: its command line and its environment.

    Raises CommandError where there are no services here.
    """
    _find_services()
    path = os.pathsep.join(filter(None, [*sys.path, os.environ.get("PYTHONPATH", "")]))
    return [sys.executable, "-m", _BULK_INGEST], {**os.environ, "PYTHONPATH": path}


@asynccontextmanager
async def host_for_command(state: Path) -> AsyncIterator[str]:
    """The whole mesh for the length of a block, over a Unix socket of this user; gives its target.

    It believes what --as says, because the socket is closed to other users. Raises CommandError where it cannot start.
    """
    specs = load_specs()
    # Loaded here, because a command that talks to a running mesh needs none of it.
    from citemesh.config.load import ConfigurationError
    from citemesh.rpc.host import StartError, hosted
    from citemesh.rpc.request_ids import current_request_id
    from citemesh.telemetry.logs import configure_logging

    environ = {**os.environ, STATE_DIR_VARIABLE: str(state), _AUTH_MODE: "open", _METRICS_ADDRESS: "off"}
    # The socket in the state folder is also what keeps a second mesh from the same store.
    environ.pop(_LISTEN_ADDRESS, None)
    configure_logging(level=environ.get(_LOG_LEVEL) or "error", request_id=current_request_id)
    try:
        async with hosted(specs, environ) as host:
            yield host.target
    except ConfigurationError as error:
        raise CommandError(str(error)) from error
    except StartError as error:
        raise CommandError(str(error), Exit.UNAVAILABLE) from error


def serve_until_stopped(
    names: Sequence[str], state: Path, overrides: Mapping[str, str], on_ready: Callable[[Host], None]
) -> None:
    """Host services until SIGTERM or SIGINT. Raises CommandError where they cannot start."""
    specs = load_specs(names or ("all",))
    from citemesh.config.load import ConfigurationError
    from citemesh.rpc.host import StartError, run

    environ = {**os.environ, STATE_DIR_VARIABLE: str(state), **overrides}
    if not environ.get(_LISTEN_ADDRESS) and not any(name.startswith(_AUTH_PREFIX) for name in environ):
        # The socket is closed to other users of this machine, so its callers need not be verified.
        environ[_AUTH_MODE] = "open"
    if sys.stderr.isatty():
        environ.setdefault(_LOG_CONSOLE, "true")
    try:
        run(specs, environ, on_ready)
    except ConfigurationError as error:
        raise CommandError(str(error)) from error
    except StartError as error:
        raise CommandError(str(error), Exit.UNAVAILABLE) from error
