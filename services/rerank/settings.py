"""Settings of the rerank service."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


class RerankSettings(BaseSettings):
    """Read from variables named CITEMESH_RERANK_<FIELD>."""

    model_config = SettingsConfigDict(env_prefix="CITEMESH_RERANK_", use_attribute_docstrings=True, extra="ignore")

    pair_scorer_path: Path | None = None
    """An ONNX cross-encoder (file or folder) with its tokenizer.json; unset: the default late-interaction scorer."""

    calibration_path: Path | None = None
    """The calibration artefact of the pair scorer; unset: the one shipped for the default scorer."""

    worker_count: int = Field(default=0, ge=0, le=256)
    """Threads that score pairs, one core each; 0: as many as the process has cores."""

    batch_size: int = Field(default=1, ge=1, le=4)
    """Pairs in one run of the model. Above 1, an int8 model's scores depend on which pairs meet in a batch."""

    max_queued_pair_count: int = Field(default=2000, ge=1)
    """Pairs that may wait to be scored; a request that would exceed it is refused as OVERLOADED."""

    cached_token_count: int = Field(default=150_000, ge=0)
    """Tokens whose vectors the default scorer keeps, 0.75 KiB each, for passages that come again; 0: none."""

    cached_logit_count: int = Field(default=20_000, ge=0)
    """Logits kept for pairs that come again, as they do from pass to pass of one answer; 0: none."""

    min_relevance: float = Field(default=0.01, ge=0.0, le=1.0)
    """Calibrated relevance below which a passage is no evidence, unless required; a request may say otherwise."""

    max_evidence_count: int = Field(default=12, ge=1, le=100)
    """Evidence units where the request does not say how many."""

    triton_target: str = ""
    """host:port of a Triton server that scores the pairs; empty: score in this process."""

    triton_model_name: str = "rerank"
    """The model's name on the Triton server; it must be the pair scorer whose tokenizer and card are used here."""

    triton_timeout_ms: int = Field(default=2000, ge=1)
    """Longest wait for one batch on the Triton server."""

    triton_batch_size: int = Field(default=32, ge=1, le=256)
    """Pairs in one request to the Triton server."""

    triton_max_in_flight_count: int = Field(default=64, ge=1)
    """Requests to the Triton server at once; more are refused as OVERLOADED."""

    breaker_failure_count: int = Field(default=5, ge=1)
    """Failures in a row after which the Triton server is left alone for a while."""

    breaker_rest_ms: int = Field(default=2000, ge=1)
    """How long it is left alone before one call tries it again."""
