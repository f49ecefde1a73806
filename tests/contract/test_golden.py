"""Answers recorded earlier are still read by today's contract, and still decided the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from google.protobuf import text_format

from citemesh.v1 import dispatcher_pb2, history_pb2
from services.dispatcher.replay import replay

GOLDEN = sorted((Path(__file__).parent / "golden").glob("answer_*.textproto"))


def read(path: Path) -> dispatcher_pb2.AnswerResponse:
    return text_format.Parse(path.read_text(encoding="utf-8"), dispatcher_pb2.AnswerResponse())


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_every_recorded_field_is_still_known_by_its_name_and_number(path: Path) -> None:
    recorded = read(path)
    assert text_format.MessageToString(recorded, as_utf8=True) == path.read_text(encoding="utf-8")
    assert dispatcher_pb2.AnswerResponse.FromString(recorded.SerializeToString()) == recorded


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_a_recorded_history_is_decided_the_same(path: Path) -> None:
    replayed = replay(read(path))
    assert replayed.agrees, replayed
    assert replayed.decision_count > 10


def test_a_known_bad_history_fails() -> None:
    recorded = read(GOLDEN[0])
    recorded.stop_reason = history_pb2.STOP_REASON_DRIFT
    assert not replay(recorded).agrees
