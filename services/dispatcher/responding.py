"""The response: what is said of how a request ended. What was not released is not in it."""

from __future__ import annotations

from typing import Final

from citemesh.v1 import activation_pb2, answer_pb2, dispatcher_pb2, history_pb2
from services.dispatcher.candidates import trace_candidates
from services.dispatcher.citing import cited_evidence
from services.dispatcher.loop import Loop
from services.dispatcher.opening import Opening
from services.dispatcher.outcome import ANSWERED, CORRECTED, SOURCES_ONLY, message_for, outcome_of_pass
from services.dispatcher.stages import Stages
from services.dispatcher.state import PassResult
from services.dispatcher.stop import Stop

RELEASED: Final = (ANSWERED, CORRECTED)

_NO_PASS: Final = Stop(history_pb2.STOP_REASON_NO_PASS_NEEDED)


def respond_without_pass(
    opening: Opening,
    activations: activation_pb2.Activations,
    stages: Stages,
    outcome: answer_pb2.AnswerOutcome.ValueType,
    direct: answer_pb2.AnswerWithEvidence | None,
) -> dispatcher_pb2.AnswerResponse:
    """The response to a question that needed no search; `direct` is the reply to small talk."""
    response = _open_response(opening, activations, stages, _NO_PASS)
    response.outcome = outcome
    response.answer.CopyFrom(direct or answer_pb2.AnswerWithEvidence())
    response.message = message_for(outcome, opening.question)
    return response


def respond_after_loop(opening: Opening, loop: Loop, stages: Stages) -> dispatcher_pb2.AnswerResponse:
    """The response with the best pass of a loop that has ended."""
    best, last, stop = loop.best, loop.last, loop.stop
    assert best is not None, "a loop ends with a pass"
    assert last is not None, "a loop ends with a pass"
    assert stop is not None, "a loop ends with a reason"
    response = _open_response(opening, loop.case.activations, stages, stop)
    response.outcome = outcome_of_pass(best.signals)
    response.message = message_for(response.outcome, opening.question)
    response.history.extend(loop.history)
    response.candidates.extend(trace_candidates(last.gathered))
    response.verdicts.extend(_all_verdicts(best))
    if response.outcome in RELEASED:
        response.answer.CopyFrom(best.answer)
        response.evidence.extend(cited_evidence(best.answer, best.evidence))
    elif response.outcome == SOURCES_ONLY:
        response.evidence.extend(best.evidence)
    return response


def _open_response(
    opening: Opening, activations: activation_pb2.Activations, stages: Stages, stop: Stop
) -> dispatcher_pb2.AnswerResponse:
    response = dispatcher_pb2.AnswerResponse(
        activations=activations,
        stage_reports=stages.reports,
        cost=stages.cost(),
        exhausted=stop.exhausted,
        stop_reason=stop.reason,
        parsed_question=opening.question,
        scope_profile=opening.scope,
        unreadable_document_count=opening.unreadable_count,
        as_of_time=stages.as_of_time,
        index_snapshot=stages.index_snapshot,
        permission_version=stages.permission_version,
    )
    if opening.early is not None:
        response.keyword_leg_can_match = opening.early.keyword_leg_can_match
    return response


def _all_verdicts(result: PassResult) -> list[answer_pb2.ClaimVerdict]:
    """The verdicts on what was left out, then on what stayed."""
    failed = list(result.failed_verdicts)
    return failed + [verdict for verdict in result.validation.verdicts if verdict not in failed]
