"""Settings of the query service."""

from __future__ import annotations

from pydantic import Field, SecretStr, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict


class QuerySettings(BaseSettings):
    """Read from variables named CITEMESH_QUERY_<FIELD>."""

    model_config = SettingsConfigDict(env_prefix="CITEMESH_QUERY_", use_attribute_docstrings=True, extra="ignore")

    language_model_enabled: bool = False
    """Identify languages beyond the seven with listed function words by py3langid: 80 MB resident, 1 s at start."""

    llm_base_url: str = ""
    """Address of an OpenAI-compatible server, such as http://localhost:8000/v1; empty: rules alone, without a model."""

    llm_model: str = ""
    """Name of the model at that server."""

    llm_api_key: SecretStr = SecretStr("")
    """Key for that server; empty where it wants none."""

    llm_timeout_ms: int = Field(default=3_000, ge=50, le=600_000)
    """Longest wait for the model, all attempts together; after it the rules serve. A deadline may make it shorter."""

    llm_max_attempt_count: int = Field(default=2, ge=1, le=5)
    """Tries until the model's output fits its schema; each is a model call."""

    llm_max_output_token_count: int = Field(default=500, ge=50, le=8_000)
    """Tokens that the model may write."""

    @model_validator(mode="after")
    def _check_llm(self) -> QuerySettings:
        if self.llm_base_url and not self.llm_model:
            raise ValueError("llm_model must be set where llm_base_url is: name the model that the server offers")
        return self
