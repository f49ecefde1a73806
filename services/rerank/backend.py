"""What scores pairs: in this process or on a Triton server, behind one interface."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from citemesh.models.scorer_card import ScorerCard
from citemesh.models.tokenizer import PairTokenizer, TokenizedText

Pair = tuple[str, str]
"""A question's side and a passage's side."""


class PairBackend(Protocol):
    """Scores the pairs of one request. All times are monotonic seconds."""

    card: ScorerCard
    """The model, by which a calibration is bound to it."""

    branch: str
    """What does the work: "onnxruntime" or "triton"."""

    async def score(self, pairs: Sequence[Pair], deadline: float | None) -> list[float]:
        """One logit per pair, in their order.

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


def tokenize_pairs(tokenizer: PairTokenizer, pairs: Sequence[Pair]) -> list[TokenizedText]:
    """Token ids of each pair, in their order; each question is tokenised once."""
    places: dict[str, list[int]] = {}
    for place, (question, _) in enumerate(pairs):
        places.setdefault(question, []).append(place)
    tokenized: dict[int, TokenizedText] = {}
    for question, of_question in places.items():
        tokenized |= zip(
            of_question, tokenizer.tokenize(question, [pairs[place][1] for place in of_question]), strict=True
        )
    return [tokenized[place] for place in range(len(pairs))]
