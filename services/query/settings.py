"""Settings of the query service."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from citemesh.llm.settings import LlmSettings


class QuerySettings(LlmSettings, BaseSettings):
    """Read from variables named CITEMESH_QUERY_<FIELD>."""

    model_config = SettingsConfigDict(env_prefix="CITEMESH_QUERY_", use_attribute_docstrings=True, extra="ignore")

    language_model_enabled: bool = False
    """Identify languages beyond the seven with listed function words by py3langid: 80 MB resident, 1 s at start."""

    llm_timeout_ms: int = Field(default=3_000, ge=50, le=600_000)
    """Longest wait for the model, all attempts together; after it the rules serve. A deadline may make it shorter."""

    llm_max_output_token_count: int = Field(default=500, ge=50, le=8_000)
    """Tokens that the model may write."""
