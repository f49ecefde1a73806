"""Settings from a mapping, and errors that say what to do."""

from __future__ import annotations

import pytest
import structlog
from pydantic import Field, SecretStr, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from citemesh.config.load import ConfigurationError, load_settings, variable_name


class Settings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="CITEMESH_DEMO_", use_attribute_docstrings=True)

    timeout_ms: int = Field(default=100, ge=1)
    """How long to wait, in milliseconds."""

    model: str
    """Which model to load."""

    hosts: list[str] = []
    """Whom to ask, as a JSON list."""

    secret: SecretStr | None = None
    """Kept to ourselves."""

    @model_validator(mode="after")
    def _check(self) -> Settings:
        if self.model == "none" and self.timeout_ms > 1000:
            raise ValueError("a missing model cannot be waited for")
        return self


def test_only_the_given_mapping_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CITEMESH_DEMO_TIMEOUT_MS", "7")
    monkeypatch.setenv("CITEMESH_DEMO_MODEL", "process")
    settings = load_settings(Settings, {"CITEMESH_DEMO_MODEL": "given", "CITEMESH_DEMO_HOSTS": '["a", "b"]'})
    assert (settings.model, settings.timeout_ms, settings.hosts) == ("given", 100, ["a", "b"])
    assert isinstance(settings, Settings)


def test_every_problem_is_named_with_what_the_variable_is_for() -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_settings(Settings, {"CITEMESH_DEMO_TIMEOUT_MS": "0"})
    text = str(caught.value)
    assert "CITEMESH_DEMO_TIMEOUT_MS: Input should be greater than or equal to 1. How long to wait" in text
    assert "CITEMESH_DEMO_MODEL is not set: set it. Which model to load." in text
    assert len(text.splitlines()) == 2


def test_an_empty_value_counts_as_not_set() -> None:
    assert load_settings(Settings, {"CITEMESH_DEMO_MODEL": "m", "CITEMESH_DEMO_TIMEOUT_MS": ""}).timeout_ms == 100
    with pytest.raises(ConfigurationError, match="CITEMESH_DEMO_MODEL is not set"):
        load_settings(Settings, {"CITEMESH_DEMO_MODEL": ""})


def test_values_are_not_repeated_in_errors() -> None:
    environ = {"CITEMESH_DEMO_MODEL": "m", "CITEMESH_DEMO_TIMEOUT_MS": "hunter2"}
    with pytest.raises(ConfigurationError) as caught:
        load_settings(Settings, environ)
    assert "hunter2" not in str(caught.value)


def test_lists_that_are_not_json_are_explained() -> None:
    with pytest.raises(ConfigurationError, match=r"hosts.*JSON"):
        load_settings(Settings, {"CITEMESH_DEMO_MODEL": "m", "CITEMESH_DEMO_HOSTS": "a,b"})


def test_rules_over_several_settings() -> None:
    with pytest.raises(ConfigurationError, match="a missing model cannot be waited for"):
        load_settings(Settings, {"CITEMESH_DEMO_MODEL": "none", "CITEMESH_DEMO_TIMEOUT_MS": "2000"})


def test_a_misspelt_variable_is_pointed_out() -> None:
    environ = {"CITEMESH_DEMO_MODEL": "m", "CITEMESH_DEMO_TIMOUT_MS": "5", "CITEMESH_DEMO_ADDRESS": "x", "OTHER": "y"}
    with structlog.testing.capture_logs() as logs:
        load_settings(Settings, environ)
    assert [(line["variable"], line["did_you_mean"]) for line in logs] == [
        ("CITEMESH_DEMO_TIMOUT_MS", "CITEMESH_DEMO_TIMEOUT_MS")
    ]


def test_names_of_variables() -> None:
    assert variable_name(Settings, "timeout_ms") == "CITEMESH_DEMO_TIMEOUT_MS"
