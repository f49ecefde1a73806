"""Settings of the query service."""

from __future__ import annotations

from pydantic_settings import BaseSettings, SettingsConfigDict


class QuerySettings(BaseSettings):
    """Read from variables named CITEMESH_QUERY_<FIELD>."""

    model_config = SettingsConfigDict(env_prefix="CITEMESH_QUERY_", use_attribute_docstrings=True, extra="ignore")

    language_model_enabled: bool = False
    """Identify languages beyond the seven whose function words are listed, by py3langid (80 MB resident, 1 s at
        start)."""
