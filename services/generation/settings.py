"""What can be set for generation, by variables that begin with CITEMESH_GENERATION_."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from citemesh.llm.settings import LlmSettings


class GenerationSettings(LlmSettings, BaseSettings):
    """Settings of the generation service."""

    model_config = SettingsConfigDict(env_prefix="CITEMESH_GENERATION_", use_attribute_docstrings=True, extra="ignore")

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
