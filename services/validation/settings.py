"""Settings of the validation service."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


class ValidationSettings(BaseSettings):
    """Read from variables named CITEMESH_VALIDATION_<FIELD>."""

    model_config = SettingsConfigDict(env_prefix="CITEMESH_VALIDATION_", use_attribute_docstrings=True, extra="ignore")

    min_support: float = Field(default=0.45, ge=0.0, le=1.0)
    """Support from which a claim counts as carried by its cited words. At 0.45 about 1 in 10 unrelated claims
        passes."""

    max_disagreeing_support: float = Field(default=0.4, ge=0.0, le=1.0)
    """Support that a claim keeps at most where a number, date, label or negation disagrees with its cited words."""

    min_question_similarity: float = Field(default=0.05, ge=-1.0, le=1.0)
    """Cosine similarity to the question below which a claim that shares no word with it is off the topic."""

    encoder_enabled: bool = True
    """Measure support and topicality by the encoder as well; without it, by words alone."""

    reviewer_group: str = Field(default="reviewers", min_length=1)
    """The group whose members see and decide all reviews of their tenant; others see those of their own questions."""

    max_review_count: int = Field(default=10_000, ge=1)
    """Reviews kept for each tenant, 5 to 50 KB each: beyond it the oldest decided ones are dropped. Where all of them
    wait to be decided, a withheld answer is no longer kept for review."""
