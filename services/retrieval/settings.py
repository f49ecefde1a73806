"""What can be set for the retrieval service, each as CITEMESH_RETRIEVAL_<NAME>."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


class RetrievalSettings(BaseSettings):
    """Settings of the retrieval service."""

    model_config = SettingsConfigDict(
        env_prefix="CITEMESH_RETRIEVAL_", use_attribute_docstrings=True, frozen=True, extra="ignore"
    )

    default_candidate_count: int = Field(default=50, ge=1, le=500)
    """Candidates that Retrieve returns where the request does not say."""

    default_reference_passage_count: int = Field(default=12, ge=1, le=100)
    """Passages that FollowReferences returns where the request does not say."""

    max_titled_document_count: int = Field(default=5_000, ge=0)
    """Readable documents up to which a document named by its title in a passage is followed; 0: never."""

    leg_hit_count: int = Field(default=100, ge=1, le=1000)
    """Hits taken from a leg for one query."""

    toc_section_count: int = Field(default=5, ge=1, le=50)
    """Sections that the table-of-contents leg takes for one query."""

    rrf_k: float = Field(default=10.0, gt=0)
    """The constant of reciprocal rank fusion; larger flattens the ranks.

    Measured alike from 5 to 20, the usual 60 below.
    """

    keyword_weight: float = Field(default=1.0, ge=0)
    """Weight of the keyword leg in the fusion."""

    dense_weight: float = Field(default=1.0, ge=0)
    """Weight of the dense leg in the fusion."""

    toc_weight: float = Field(default=0.15, ge=0)
    """Weight of the table-of-contents leg in the fusion."""

    section_hint_weight: float = Field(default=1.0, ge=0)
    """Weight of the passages of the section that the question names, as a ranking of its own."""

    document_hint_boost: float = Field(default=0.5, ge=0)
    """Share by which passages of documents that the question names gain."""

    leg_thread_count: int = Field(default=8, ge=1, le=64)
    """Threads that run legs; requests beyond them wait."""

    ranking_cache_entry_count: int = Field(default=500, ge=0)
    """Rankings kept, by query, filter and state of the documents; 0: none."""

    vector_cache_entry_count: int = Field(default=2000, ge=0)
    """Vectors of questions kept; 0: none."""

    encoder_folder: Path | None = None
    """Folder of another encoder than the default one (model.onnx, tokenizer.json, encoder.json)."""

    default_timeout_ms: int = Field(default=5000, ge=1)
    """Time for the legs of a request that has no deadline."""
