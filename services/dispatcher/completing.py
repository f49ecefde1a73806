"""A question that names a place and no document ("What does Table 3 show?") is complete where only one can be meant."""

from __future__ import annotations

from citemesh.v1 import question_pb2
from services.dispatcher.opening import Inquiry, Opening, open_request
from services.dispatcher.outcome import complete_by_scope, lacks_only_a_document
from services.dispatcher.stages import StageError, Stages


async def open_completed(stages: Stages, inquiry: Inquiry) -> Opening:
    """`open_request`, and a look at the scope where it may say which document's place is meant. Raises ServiceError."""
    opening = await open_request(stages, inquiry)
    if not lacks_only_a_document(opening.question):
        return opening
    try:
        scope = (await stages.profile()).scope_profile
    except StageError:
        # Without the scope nobody knows which document is meant: asking back stays.
        return opening
    question = complete_by_scope(opening.question, scope, _count_named(stages.scope))
    return opening if question is None else Opening(question, scope, True, 0, None)


def _count_named(scope: question_pb2.Scope | None) -> int:
    return len(set(scope.documents.document_ids)) if scope is not None else 0
