"""The settings of an LLM branch: a service's settings class inherits them, and keeps its own prefix and defaults."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator


class LlmSettings(BaseModel):
    """The language model behind one service; the prefix of the variables is the inheriting class's."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    llm_base_url: str = ""
    """Address of an OpenAI-compatible server, such as http://localhost:8000/v1; empty: no model is called."""

    llm_model: str = ""
    """Name of the model at that server."""

    llm_api_key: SecretStr = SecretStr("")
    """Key for that server; empty where it wants none."""

    llm_timeout_ms: int = Field(default=20_000, ge=50, le=600_000)
    """Longest wait for one answer of the model, in milliseconds; the caller's deadline may be shorter."""

    llm_max_attempt_count: int = Field(default=2, ge=1, le=5)
    """Tries until the model's output fits its schema; each is a model call."""

    llm_max_output_token_count: int = Field(default=1_200, ge=50, le=32_000)
    """Tokens that the model may write in one answer."""

    @model_validator(mode="after")
    def _check_llm(self) -> Self:
        if self.llm_base_url and not self.llm_model:
            raise ValueError("llm_model must be set where llm_base_url is: name the model that the server offers")
        return self
