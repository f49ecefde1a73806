"""The exit codes of every command, in one table."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

import grpc

from citemesh.rpc.errors import ServiceError
from citemesh.v1 import answer_pb2


class Exit(IntEnum):
    """What a command's exit status says to a script."""

    ANSWERED = 0
    BUG = 1
    BAD_INPUT = 2
    ABSTAINED = 3
    WITHHELD = 4
    UNAVAILABLE = 5


class CommandError(Exception):
    """Ends a command with one message on stderr; the message says what to do next."""

    def __init__(self, message: str, exit_code: Exit = Exit.BAD_INPUT) -> None:
        super().__init__(message)
        self.exit_code = exit_code


_OUTCOMES: Final[dict[answer_pb2.AnswerOutcome.ValueType, Exit]] = {
    answer_pb2.ANSWER_OUTCOME_ANSWERED: Exit.ANSWERED,
    answer_pb2.ANSWER_OUTCOME_ANSWERED_WITH_CORRECTIONS: Exit.ANSWERED,
    answer_pb2.ANSWER_OUTCOME_ABSTAINED_INSUFFICIENT_EVIDENCE: Exit.ABSTAINED,
    answer_pb2.ANSWER_OUTCOME_CLARIFICATION_NEEDED: Exit.ABSTAINED,
    answer_pb2.ANSWER_OUTCOME_WITHHELD_FOR_REVIEW: Exit.WITHHELD,
    answer_pb2.ANSWER_OUTCOME_NOT_AUTHORIZED: Exit.WITHHELD,
    # Sources in place of an answer mean that a model was missing or too slow.
    answer_pb2.ANSWER_OUTCOME_SOURCES_ONLY: Exit.UNAVAILABLE,
    answer_pb2.ANSWER_OUTCOME_RETRIEVAL_UNAVAILABLE: Exit.UNAVAILABLE,
}

_CODES: Final[dict[grpc.StatusCode, Exit]] = {
    grpc.StatusCode.INVALID_ARGUMENT: Exit.BAD_INPUT,
    grpc.StatusCode.NOT_FOUND: Exit.BAD_INPUT,
    grpc.StatusCode.UNAUTHENTICATED: Exit.WITHHELD,
    grpc.StatusCode.PERMISSION_DENIED: Exit.WITHHELD,
    grpc.StatusCode.UNAVAILABLE: Exit.UNAVAILABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED: Exit.UNAVAILABLE,
    grpc.StatusCode.RESOURCE_EXHAUSTED: Exit.UNAVAILABLE,
    grpc.StatusCode.CANCELLED: Exit.UNAVAILABLE,
    grpc.StatusCode.ABORTED: Exit.UNAVAILABLE,
    grpc.StatusCode.FAILED_PRECONDITION: Exit.UNAVAILABLE,
    grpc.StatusCode.UNIMPLEMENTED: Exit.UNAVAILABLE,
}


def exit_of_outcome(outcome: answer_pb2.AnswerOutcome.ValueType) -> Exit:
    """The exit code of an answer; an outcome that this version does not know counts as a bug."""
    return _OUTCOMES.get(outcome, Exit.BUG)


def exit_of_error(error: ServiceError) -> Exit:
    """The exit code of a failed call, by the gRPC code of its reason."""
    return _CODES.get(error.code, Exit.BUG)
