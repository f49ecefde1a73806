"""What an index must know of the encoder that filled it, and the texts by which a change of encoder is seen."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from citemesh.models.errors import ModelError

Pooling = Literal["mean", "cls"]
Metric = Literal["cosine"]

CANARY_TEXTS = (
    "The invoice must be paid within 30 days of receipt.",
    "Section 4.2 lists the temperatures at which the valve closes, in degrees Celsius.",
    "Who approves travel abroad, and how long before departure?",
)
"""Three fixed texts; their vectors, kept with an index, tell whether a query encoder still agrees with it."""

CONTRACT_FILE_NAME = "encoder.json"


@dataclass(frozen=True)
class EncoderContract:
    """Everything that must be equal for two vectors to be comparable."""

    model_id: str
    """The publisher's name of the model."""
    revision: str
    """The weights' sha256 (first 16 digits), the build of the graph and its number format."""
    query_prefix: str
    """Put before each question; may be empty."""
    passage_prefix: str
    """Put before each passage; may be empty."""
    dimension_count: int
    """Length of each vector."""
    pooling: Pooling
    """How token vectors become one: their mean, or the first token's."""
    normalised: bool
    """Whether vectors have length 1."""
    metric: Metric
    """How vectors are compared."""
    max_token_count: int
    """Texts are cut at this many tokens, markers included."""


def read_contract(folder: Path) -> EncoderContract:
    """Read an encoder folder's encoder.json; raises ModelError naming the file where it does not fit."""
    path = folder / CONTRACT_FILE_NAME
    try:
        return EncoderContract(**json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise ModelError(f"encoder description {path} is missing or malformed ({error})") from error


def write_contract(folder: Path, contract: EncoderContract) -> None:
    """Write encoder.json into `folder`."""
    (folder / CONTRACT_FILE_NAME).write_text(json.dumps(asdict(contract), indent=2) + "\n", "utf-8")
