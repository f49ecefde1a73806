"""The calibration artefact: monotone, bound to one model, refused where it does not fit."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citemesh.models.build import PAIR_MODEL_ID
from citemesh.models.scorer_card import ScorerCard
from citemesh.models.stamp import name_revision
from citemesh.v1 import errors_pb2
from services.rerank.calibration import DEFAULT_CALIBRATION_PATH, Calibration, CalibrationError, load_calibration
from services.rerank.fit import fit_knots, make_artefact, measure

CARD = ScorerCard("m", "r1")


def write(path: Path, **changes: Any) -> Path:
    content = {
        "format_version": 1,
        "model_id": "m",
        "model_revision": "r1",
        "calibration_version": "7",
        "knots": [[0.0, 0.1], [1.0, 0.9]],
    }
    path.write_text(json.dumps({key: value for key, value in (content | changes).items() if value is not None}))
    return path


def test_shipped_artefact_belongs_to_the_default_scorer() -> None:
    calibration = load_calibration(DEFAULT_CALIBRATION_PATH)
    assert calibration.find_mismatch(ScorerCard(PAIR_MODEL_ID, name_revision())) is None
    assert calibration.name.startswith("all-MiniLM-L6-v2-maxsim@")


@given(st.floats(-2, 2), st.floats(-2, 2))
def test_relevance_keeps_the_order_of_logits(one: float, other: float) -> None:
    calibration = load_calibration(DEFAULT_CALIBRATION_PATH)
    low, high = sorted((one, other))
    assert 0.0 <= calibration.relevance(low) <= calibration.relevance(high) <= 1.0


def test_relevance_is_straight_between_knots_and_flat_beyond() -> None:
    calibration = Calibration("m", "r", "1", ((0.0, 0.1), (1.0, 0.5), (2.0, 0.9)))
    assert [calibration.relevance(logit) for logit in (-5, 0, 0.5, 1, 2, 9)] == pytest.approx(
        [0.1, 0.1, 0.3, 0.5, 0.9, 0.9]
    )


def test_another_model_is_refused(tmp_path: Path) -> None:
    calibration = load_calibration(write(tmp_path / "c.json"))
    assert calibration.find_mismatch(CARD) is None
    error = calibration.find_mismatch(ScorerCard("m", "r2"))
    assert error is not None
    assert error.reason == errors_pb2.ERROR_REASON_CALIBRATION_MISMATCH
    assert error.metadata == {"calibration_model": "m@r1", "model": "m@r2"}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"format_version": 2}, "format_version is 2"),
        ({"model_id": None}, "model_id"),
        ({"knots": [[0.0, 0.1]]}, "at least two"),
        ({"knots": [[0.0, 0.5], [1.0, 0.5]]}, "rise strictly"),
        ({"knots": [[1.0, 0.1], [0.0, 0.5]]}, "rise strictly"),
        ({"knots": [[0.0, 0.1], [1.0, 1.5]]}, "between 0 and 1"),
        ({"knots": [[float("nan"), 0.1], [1.0, 0.5]]}, "rise strictly"),
        ({"knots": "none"}, "calibration"),
    ],
)
def test_malformed_artefacts_are_refused_by_name(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(CalibrationError, match=r"c\.json") as caught:
        load_calibration(write(tmp_path / "c.json", **changes))
    assert said in str(caught.value)


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CalibrationError, match=r"none\.json"):
        load_calibration(tmp_path / "none.json")


def draw_pairs(count: int) -> tuple[list[float], list[bool]]:
    """Pairs whose chance to be relevant is exactly their logit."""
    rng = random.Random(5)
    logits = [rng.random() for _ in range(count)]
    return logits, [rng.random() < logit for logit in logits]


def test_fit_recovers_known_probabilities(tmp_path: Path) -> None:
    logits, relevant = draw_pairs(4000)
    calibration = Calibration("m", "r1", "1", fit_knots(logits, relevant))
    for logit in (0.2, 0.5, 0.8):
        assert calibration.relevance(logit) == pytest.approx(logit, abs=0.07)
    assert measure(calibration, logits, relevant)["expected_calibration_error"] < 0.03
    artefact = make_artefact(CARD, "9", ["a", "b"] * 2000, logits, relevant)
    (tmp_path / "c.json").write_text(json.dumps(artefact))
    assert load_calibration(tmp_path / "c.json").calibration_version == "9"


def test_fit_refuses_pairs_that_teach_nothing() -> None:
    with pytest.raises(ValueError, match="relevant pairs"):
        fit_knots([0.1, 0.2], [True, False])
    logits, relevant = draw_pairs(1000)
    with pytest.raises(ValueError, match="at least two"):
        fit_knots([-logit for logit in logits], relevant)  # relevance falls with the logit: all blocks pool into one
