"""What a question would run, and why: the same rules as for an answer, and no model is called."""

from __future__ import annotations

from citemesh.v1 import budget_pb2, dispatcher_pb2
from services.dispatcher.completing import open_completed
from services.dispatcher.desk import Desk
from services.dispatcher.opening import Inquiry
from services.dispatcher.resolve import resolve


async def explain(
    desk: Desk, request: dispatcher_pb2.ExplainRequest, left_s: float | None
) -> dispatcher_pb2.ExplainResponse:
    """The parsed question, the scope and the seven decisions. A question is parsed by rules alone here."""
    inquiry = Inquiry(request.question, request.history, budget_pb2.Budget(), rules_only=True)
    opening = await open_completed(desk.open_stages(request, left_s), inquiry)
    response = dispatcher_pb2.ExplainResponse(
        parsed_question=opening.question, scope_profile=opening.scope, activations=resolve(opening.facts())
    )
    if opening.early is not None:
        response.keyword_leg_can_match = opening.early.keyword_leg_can_match
    return response
