"""From a raw logit to the probability that a passage helps: a versioned artefact, bound to one model."""

from __future__ import annotations

import json
from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from citemesh.models.scorer_card import ScorerCard
from citemesh.rpc.errors import ServiceError
from citemesh.v1 import errors_pb2

FORMAT_VERSION = 1
DEFAULT_CALIBRATION_PATH = Path(__file__).parent / "calibrations" / "all-MiniLM-L6-v2-maxsim.json"


class CalibrationError(Exception):
    """An artefact that cannot be read; the text names the file and the fault."""


@dataclass(frozen=True)
class Calibration:
    """A strictly rising curve through `knots` [(logit, relevance)], straight between them, flat beyond them."""

    model_id: str
    model_revision: str
    calibration_version: str
    knots: tuple[tuple[float, float], ...]

    @property
    def name(self) -> str:
        """How responses name it: model and version."""
        return f"{self.model_id}@{self.model_revision}/{self.calibration_version}"

    def relevance(self, logit: float) -> float:
        """The calibrated relevance of a logit, 0 to 1."""
        place = bisect_right(self.knots, (logit, float("inf")))
        if place == 0:
            return self.knots[0][1]
        if place == len(self.knots):
            return self.knots[-1][1]
        (x0, y0), (x1, y1) = self.knots[place - 1], self.knots[place]
        return y0 + (y1 - y0) * (logit - x0) / (x1 - x0)

    def find_mismatch(self, card: ScorerCard) -> ServiceError | None:
        """The error to answer with where this artefact was fitted to another model than `card`'s."""
        if (self.model_id, self.model_revision) == (card.model_id, card.revision):
            return None
        return ServiceError(
            errors_pb2.ERROR_REASON_CALIBRATION_MISMATCH,
            "The calibration belongs to another model: fit one to this model's logits and name it in "
            "CITEMESH_RERANK_CALIBRATION_PATH.",
            calibration_model=f"{self.model_id}@{self.model_revision}",
            model=f"{card.model_id}@{card.revision}",
        )


def load_calibration(path: Path) -> Calibration:
    """Read and check an artefact; raises CalibrationError naming the file and what is wrong in it."""
    try:
        content: dict[str, Any] = json.loads(path.read_text("utf-8"))
        version = content["format_version"]
        if version != FORMAT_VERSION:
            raise ValueError(f"its format_version is {version}, this version reads {FORMAT_VERSION}")
        knots = tuple((float(logit), float(relevance)) for logit, relevance in content["knots"])
        check_knots(knots)
        return Calibration(
            model_id=str(content["model_id"]),
            model_revision=str(content["model_revision"]),
            calibration_version=str(content["calibration_version"]),
            knots=knots,
        )
    except KeyError as error:
        raise CalibrationError(f"calibration {path}: the field {error} is missing") from error
    except (OSError, ValueError, TypeError) as error:
        raise CalibrationError(f"calibration {path}: {error}") from error


def check_knots(knots: tuple[tuple[float, float], ...]) -> None:
    """Raise ValueError unless the knots rise strictly in both directions within 0 to 1."""
    if len(knots) < 2:
        raise ValueError("a curve needs at least two knots")
    for (x0, y0), (x1, y1) in pairwise(knots):
        if not (x0 < x1 and y0 < y1):
            raise ValueError("knots must rise strictly, so that the order of logits is kept")
    if not (knots[0][1] >= 0.0 and knots[-1][1] <= 1.0):
        raise ValueError("relevance must lie between 0 and 1")
