"""Which branch understands: the rules, or a configured language model with the rules behind it."""

from __future__ import annotations

from citemesh.rpc.deadline import HasDeadline
from citemesh.v1 import query_pb2
from services.query.followup import decide_follow_up
from services.query.language import Identify
from services.query.understand import understand

RULES = "rules"


class Branches:
    """The rules; `identify` names languages that function words leave open."""

    def __init__(self, identify: Identify | None = None) -> None:
        self._identify = identify

    async def understand(
        self, request: query_pb2.UnderstandRequest, context: HasDeadline
    ) -> query_pb2.UnderstandResponse:
        """Parse the question of a checked request."""
        parsed = understand(request.question, request.history, self._identify)
        return query_pb2.UnderstandResponse(parsed_question=parsed, branch=RULES)

    async def decide_follow_up(
        self, request: query_pb2.DecideFollowUpRequest, context: HasDeadline
    ) -> query_pb2.DecideFollowUpResponse:
        """Decide on a second retrieval for a checked request."""
        decision = decide_follow_up(request.parsed_question, request.candidates, request.available_targets)
        return query_pb2.DecideFollowUpResponse(decision=decision, branch=RULES)
