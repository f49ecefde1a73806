"""What scores pairs: in this process or on a Triton server, behind one interface."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from citemesh.models.scorer_card import ScorerCard


class PairBackend(Protocol):
    """Scores the pairs of one question. All times are monotonic seconds."""

    card: ScorerCard
    """The model, by which a calibration is bound to it."""

    branch: str
    """What does the work: "onnxruntime" or "triton"."""

    async def score(self, question: str, texts: Sequence[str], deadline: float | None) -> list[float]:
        """One logit per text, in their order.

        Raises ServiceError: DEADLINE_TOO_SHORT or OVERLOADED where it refuses the work, DEADLINE_EXCEEDED where time
        ran out, MODEL_UNAVAILABLE where the model failed. Cancelling the await drops the pairs not yet scored.
        """
        ...

    async def check(self) -> str | None:
        """Why pairs cannot be scored now, in one line; None if they can."""
        ...

    async def close(self) -> None:
        """Release threads and connections."""
        ...
