"""The dispatcher's settings: the policy that bounds every request, and sizes of its steps."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from citemesh.v1 import dispatcher_pb2

BUILT_IN_PIPELINES = Path(__file__).parent / "pipelines"


class DispatcherSettings(BaseSettings):
    """Read from CITEMESH_DISPATCHER_*."""

    model_config = SettingsConfigDict(env_prefix="CITEMESH_DISPATCHER_", use_attribute_docstrings=True)

    max_iterations: int = Field(default=4, ge=1, le=4)
    """Hard cap of passes for one request."""

    max_model_calls: int = Field(default=16, ge=0)
    """Language model calls for one request, over all its passes."""

    max_model_token_count: int = Field(default=100_000, ge=0)
    """Tokens that language models may read and write for one request."""

    max_keywords: int = Field(default=15, ge=1, le=50)
    """Keywords searched with in one pass, the question's own included."""

    max_confidence_drop: float = Field(default=0.1, ge=0.0, le=1.0)
    """A larger fall of confidence from one pass to the next ends the loop."""

    min_anchor_overlap: float = Field(default=0.2, ge=0.0, le=1.0)
    """Where a smaller share of the new candidates holds an anchor keyword, the loop has drifted and ends."""

    min_relevance: float = Field(default=0.05, ge=0.0, le=1.0)
    """Calibrated relevance that the best evidence must reach before an answer is generated from it.

    Low on purpose: it turns away what is hopeless. Whether the words answer is for generation and validation to say."""

    allow_unvalidated: bool = False
    """Whether a caller may ask for text as it is generated, before validation."""

    default_timeout_s: float = Field(default=30.0, gt=0.0)
    """Time for a request whose caller gave no deadline."""

    max_candidates: int = Field(default=60, ge=1, le=500)
    """Candidates that one retrieval returns."""

    max_reranked_candidates: int = Field(default=8, ge=1, le=200)
    """Candidates that the cross-encoder scores in one pass; those scored before are not scored again."""

    max_scored_pairs: int = Field(default=32, ge=4, le=800)
    """Pairs that it scores in one pass: a question of several parts is scored once for each, over fewer candidates."""

    max_context_token_count: int = Field(default=3000, ge=64)
    """Tokens that the evidence of one pass may take."""

    max_chosen_candidates: int = Field(default=6, ge=1, le=100)
    """Candidates that a pass is about, after fusion and reranking; what it was led to counts first."""

    max_evidence_count: int = Field(default=24, ge=1, le=100)
    """Evidence units of one pass: more than `max_chosen_candidates` only where so many are required."""

    max_check_age_s: float = Field(default=1.0, ge=0.0, le=60.0)
    """How long the gate may go by the access and versions that retrieval read in the same pass; 0: it reads them anew.

    What is shown is checked at the end in any case."""

    max_followed_passages: int = Field(default=6, ge=1, le=100)
    """Passages that following references brings in one pass."""

    pipelines_dir: Path | None = None
    """Folder of further pipelines (*.yaml); one named "default" there replaces the built-in one."""

    def policy(self) -> dispatcher_pb2.Policy:
        """The limits that decisions read; recorded with each answer."""
        return dispatcher_pb2.Policy(
            max_iterations=self.max_iterations,
            max_model_calls=self.max_model_calls,
            max_model_token_count=self.max_model_token_count,
            max_keywords=self.max_keywords,
            max_confidence_drop=self.max_confidence_drop,
            min_anchor_overlap=self.min_anchor_overlap,
            min_relevance=self.min_relevance,
            allow_unvalidated=self.allow_unvalidated,
        )
