"""What a pair scorer's folder says of itself: its name, its revision and how long a pair may be."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from citemesh.models.errors import ModelError
from citemesh.models.files import hash_file

CARD_FILE_NAME = "scorer.json"
DEFAULT_MAX_PAIR_TOKEN_COUNT = 512
REVISION_DIGIT_COUNT = 16


@dataclass(frozen=True)
class ScorerCard:
    """A calibration is bound to `model_id` and `revision`; pairs are cut at `max_token_count`, markers included."""

    model_id: str
    revision: str
    max_token_count: int = DEFAULT_MAX_PAIR_TOKEN_COUNT


def read_scorer_card(model_path: Path) -> ScorerCard:
    """The card beside `model_path`; for a model that has none, its folder's name and its own sha256."""
    path = model_path.parent / CARD_FILE_NAME
    if not path.is_file():
        return ScorerCard(model_path.parent.name, hash_file(model_path)[:REVISION_DIGIT_COUNT])
    try:
        return ScorerCard(**json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise ModelError(f"pair scorer description {path} is malformed ({error})") from error


def write_scorer_card(folder: Path, card: ScorerCard) -> None:
    """Write scorer.json into `folder`."""
    (folder / CARD_FILE_NAME).write_text(json.dumps(asdict(card), indent=2) + "\n", "utf-8")
