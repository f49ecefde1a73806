"""Where a language model is and how it is called."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An OpenAI-compatible server and one of its models."""

    base_url: str
    """Such as http://localhost:8000/v1."""
    model: str
    api_key: str = field(default="", repr=False)
    timeout_s: float = 20.0
    """Longest wait for one call; the deadline of the running request may be shorter."""
    max_attempt_count: int = 2
    """Calls made until the output fits its schema."""
    max_output_token_count: int = 1200
