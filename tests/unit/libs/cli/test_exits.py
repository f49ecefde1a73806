"""One table of exit codes: nothing that can happen is left out of it."""

from __future__ import annotations

import pytest

from citemesh.cli.exits import Exit, exit_of_error, exit_of_outcome
from citemesh.rpc.errors import CODES, ServiceError
from citemesh.v1 import answer_pb2, errors_pb2


@pytest.mark.parametrize("outcome", [value for value in answer_pb2.AnswerOutcome.values() if value])
def test_every_outcome_has_an_exit_code_that_is_no_bug(outcome: answer_pb2.AnswerOutcome.ValueType) -> None:
    assert exit_of_outcome(outcome) is not Exit.BUG


def test_only_an_answer_is_success() -> None:
    good = [value for value in answer_pb2.AnswerOutcome.values() if exit_of_outcome(value) is Exit.ANSWERED]
    assert good == [answer_pb2.ANSWER_OUTCOME_ANSWERED, answer_pb2.ANSWER_OUTCOME_ANSWERED_WITH_CORRECTIONS]


@pytest.mark.parametrize("reason", list(CODES))
def test_only_an_internal_error_is_a_bug(reason: errors_pb2.ErrorReason.ValueType) -> None:
    code = exit_of_error(ServiceError(reason, "text"))
    assert code is not Exit.ANSWERED
    assert (code is Exit.BUG) == (reason == errors_pb2.ERROR_REASON_INTERNAL)
