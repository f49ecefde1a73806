"""Turn a mapping of environment variables into a checked settings object, or into one error to act on."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, TypeVar

import structlog
from pydantic import ValidationError
from pydantic_settings import BaseSettings, EnvSettingsSource, PydanticBaseSettingsSource, SettingsError

Settings = TypeVar("Settings", bound=BaseSettings)

_log = structlog.get_logger(__name__)


class ConfigurationError(Exception):
    """The mesh cannot start as it is configured. The text names each variable and ends with what to do."""


def load_settings(settings_class: type[Settings], environ: Mapping[str, str]) -> Settings:
    """An instance of `settings_class` from `environ` alone; os.environ and .env files are not read.

    An empty value counts as not set. Raises ConfigurationError that lists every wrong or missing variable.
    """
    present = {name: value for name, value in environ.items() if value != ""}
    try:
        settings = _bind(settings_class, present)()
    except ValidationError as error:
        raise ConfigurationError(_explain(settings_class, error)) from None
    except SettingsError as error:
        # Raised where a list or an object is not JSON; its text names the field.
        raise ConfigurationError(f'{error}. Lists and objects are written as JSON, such as \'["a", "b"]\'.') from None
    _warn_of_misspelt(settings_class, present)
    return settings


def variable_name(settings_class: type[BaseSettings], field: str) -> str:
    """The environment variable that sets `field`, such as CITEMESH_RERANK_TIMEOUT_MS."""
    return f"{settings_class.model_config.get('env_prefix', '')}{field}".upper()


class _MappingSource(EnvSettingsSource):
    """Reads variables from a given mapping instead of the process's environment."""

    def __init__(self, settings_class: type[BaseSettings], environ: Mapping[str, str]) -> None:
        self._environ = environ
        super().__init__(settings_class)

    def _load_env_vars(self) -> Mapping[str, str | None]:
        return {name.lower(): value for name, value in self._environ.items()}


def _bind(settings_class: type[Settings], environ: Mapping[str, str]) -> type[Settings]:
    """A subclass of `settings_class` whose only source is `environ`."""

    def settings_customise_sources(
        _cls: Any, /, settings_cls: type[BaseSettings], **_sources: PydanticBaseSettingsSource
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (_MappingSource(settings_cls, environ),)

    members: dict[str, Any] = {
        "settings_customise_sources": classmethod(settings_customise_sources),
        "__module__": settings_class.__module__,
        "__doc__": settings_class.__doc__,
    }
    return type(settings_class.__name__, (settings_class,), members)


def _explain(settings_class: type[BaseSettings], error: ValidationError) -> str:
    lines = []
    for problem in error.errors(include_url=False):
        field, *inner = (str(part) for part in problem["loc"] or ("",))
        name = variable_name(settings_class, field) if field else f"the settings of {settings_class.__name__}"
        where = f" ({'.'.join(inner)})" if inner else ""
        if problem["type"] == "missing":
            lines.append(f"{name} is not set: set it. {_purpose(settings_class, field)}".rstrip())
        else:
            # The given value is not repeated: it may be a secret.
            message = problem["msg"].removeprefix("Value error, ")
            lines.append(f"{name}{where}: {message}. {_purpose(settings_class, field)}".rstrip())
    return "\n".join(lines)


def _purpose(settings_class: type[BaseSettings], field: str) -> str:
    info = settings_class.model_fields.get(field)
    return (info.description or "").split("\n\n")[0].replace("\n", " ") if info is not None else ""


def _warn_of_misspelt(settings_class: type[BaseSettings], environ: Mapping[str, str]) -> None:
    prefix = settings_class.model_config.get("env_prefix", "").upper()
    if not prefix:
        return
    known = [variable_name(settings_class, field) for field in settings_class.model_fields]
    for name in environ:
        upper = name.upper()
        if upper.startswith(prefix) and upper not in known and not upper.endswith("_ADDRESS"):
            close = difflib.get_close_matches(upper, known, n=1, cutoff=0.85)
            if close:
                _log.warning("setting_unknown", variable=name, did_you_mean=close[0])
