"""What can be set for generation, by variables that begin with CITEMESH_GENERATION_."""

from __future__ import annotations

from pydantic import Field, SecretStr, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict


class GenerationSettings(BaseSettings):
    """Settings of the generation service."""

    model_config = SettingsConfigDict(env_prefix="CITEMESH_GENERATION_", use_attribute_docstrings=True)

    max_unit_count: int = Field(default=80, ge=10, le=1000)
    """Sentences, rows and items of one request that are encoded, about 3 ms of one core each; the least
    promising are left out."""

    cached_token_count: int = Field(default=40_000, ge=0, le=10_000_000)
    """Token vectors kept of units seen before, 768 bytes each: the passes of one request share most of them."""

    min_answerability: float = Field(default=0.33, ge=0.0, le=1.0)
    """Below this estimate (0 to 1, see answerability.py) a part of the question gets no claim. Lower
    answers more and is wrong more often."""

    max_factoid_claim_count: int = Field(default=4, ge=1, le=10)
    """Quotes for a question that asks for one fact."""

    max_open_claim_count: int = Field(default=5, ge=1, le=20)
    """Quotes for an open question, a comparison or a procedure."""

    max_item_count: int = Field(default=40, ge=1, le=200)
    """Items quoted of one list."""

    llm_base_url: str = ""
    """Address of an OpenAI-compatible server, such as http://localhost:8000/v1; empty: answers are
    extracted, no model is called."""

    llm_model: str = ""
    """Name of the model at that server."""

    llm_api_key: SecretStr = SecretStr("")
    """Key for that server; empty where it wants none."""

    llm_timeout_ms: int = Field(default=20_000, ge=100, le=600_000)
    """Longest wait for one answer of the model, in milliseconds; the caller's deadline may be shorter."""

    llm_max_attempt_count: int = Field(default=2, ge=1, le=5)
    """Tries until the model's output fits its schema; each is a model call."""

    llm_max_output_token_count: int = Field(default=1200, ge=50, le=32_000)
    """Tokens that the model may write in one answer."""

    @model_validator(mode="after")
    def _check_llm(self) -> GenerationSettings:
        if self.llm_base_url and not self.llm_model:
            raise ValueError("llm_model must be set where llm_base_url is: name the model that the server offers")
        return self
