"""The language model's branch, with a model that is scripted; whatever it does, a question is understood."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citemesh.llm.completion import Completion, JsonTask
from citemesh.llm.schema import SchemaError
from citemesh.rpc.errors import ServiceError
from citemesh.v1 import budget_pb2, errors_pb2, query_pb2
from citemesh.v1.activation_pb2 import Pattern
from citemesh.v1.question_pb2 import Intent, ParsedQuestion, RetrievalMode, RetrievalNeed
from services.query.branches import Branches
from services.query.model_followup import read_decision
from services.query.model_understand import SCHEMA, read_draft

DRAFT: dict[str, Any] = {
    "need": "retrieve",
    "need_reason": "Asks for a rule.",
    "clarification_question": "",
    "intent": "listing",
    "standalone_question": "Who approves travel abroad?",
    "sub_questions": [],
    "rewrites": ["approval of travel abroad"],
    "keywords": ["approval", "travel abroad"],
}
REQUEST = query_pb2.UnderstandRequest(question="Who approves travel?")


class NoDeadline:
    def __init__(self, remaining: float | None = None) -> None:
        self._remaining = remaining

    def time_remaining(self) -> float | None:
        return self._remaining


class ScriptedLlm:
    """Returns one object, or raises one error."""

    def __init__(self, output: Mapping[str, Any] | ServiceError) -> None:
        self.output = output
        self.timeouts: list[float | None] = []

    async def complete(self, task: JsonTask[Any], **limits: Any) -> Completion[Any]:
        self.timeouts.append(limits["timeout_s"])
        if isinstance(self.output, ServiceError):
            raise self.output
        return Completion(task.check(dict(self.output)), budget_pb2.Cost(model_call_count=1, prompt_token_count=9))


async def test_the_model_adds_to_what_the_rules_found() -> None:
    response = await Branches(llm=ScriptedLlm(DRAFT)).understand(REQUEST, NoDeadline())
    parsed = response.parsed_question
    assert response.branch == "llm"
    assert response.cost.model_call_count == 1
    assert parsed.original_question == REQUEST.question
    assert parsed.standalone_question == DRAFT["standalone_question"]
    assert parsed.intent == Intent.INTENT_LISTING
    assert "travel" in parsed.keywords
    assert "travel abroad" in parsed.keywords


async def test_a_model_may_ask_back_and_greet() -> None:
    clarify = {**DRAFT, "need": "clarify", "clarification_question": "Which trip?"}
    response = await Branches(llm=ScriptedLlm(clarify)).understand(REQUEST, NoDeadline())
    assert response.parsed_question.clarification_question == "Which trip?"
    talk = await Branches(llm=ScriptedLlm({**DRAFT, "need": "small_talk"})).understand(REQUEST, NoDeadline())
    assert talk.parsed_question.intent == Intent.INTENT_CONVERSATIONAL
    assert talk.parsed_question.retrieval.mode == RetrievalMode.RETRIEVAL_MODE_NONE


@pytest.mark.parametrize(
    "reason",
    [
        errors_pb2.ERROR_REASON_LLM_TIMEOUT,
        errors_pb2.ERROR_REASON_LLM_UNAVAILABLE,
        errors_pb2.ERROR_REASON_LLM_RESPONSE_INVALID,
    ],
)
async def test_where_the_model_fails_the_rules_serve(reason: errors_pb2.ErrorReason.ValueType) -> None:
    response = await Branches(llm=ScriptedLlm(ServiceError(reason, "no"))).understand(REQUEST, NoDeadline())
    assert response.branch == "rules"
    assert response.fallback_reason == errors_pb2.ErrorReason.Name(reason).removeprefix("ERROR_REASON_")
    assert response.parsed_question.need == RetrievalNeed.RETRIEVAL_NEED_RETRIEVE
    assert response.cost.model_call_count == 1


async def test_without_budget_or_time_the_model_is_not_asked() -> None:
    llm = ScriptedLlm(DRAFT)
    spent = query_pb2.UnderstandRequest(question="Who approves travel?", budget=budget_pb2.Budget(max_model_calls=0))
    assert (await Branches(llm=llm).understand(spent, NoDeadline())).fallback_reason
    assert (await Branches(llm=llm).understand(REQUEST, NoDeadline(0.001))).fallback_reason
    rules_only = query_pb2.UnderstandRequest(question="Who approves travel?", rules_only=True)
    assert not (await Branches(llm=llm).understand(rules_only, NoDeadline())).fallback_reason
    assert not llm.timeouts
    await Branches(llm=llm).understand(REQUEST, NoDeadline(1.0))
    assert llm.timeouts[0] is not None
    assert llm.timeouts[0] < 1.0


async def test_the_follow_up_contract() -> None:
    request = query_pb2.DecideFollowUpRequest(
        parsed_question=ParsedQuestion(original_question="Who approves travel?"),
        available_targets=[Pattern.PATTERN_DENSE],
    )
    selected = {"query": "approval", "retrieval": {"mode": "selected", "targets": ["dense"]}}
    response = await Branches(llm=ScriptedLlm(selected)).decide_follow_up(request, NoDeadline())
    assert response.branch == "llm"
    assert list(response.decision.retrieval.targets) == [Pattern.PATTERN_DENSE]


@pytest.mark.parametrize(
    "output",
    [
        {"query": "x"},
        {"query": "", "retrieval": {"mode": "none", "targets": []}},
        {"query": "x", "retrieval": {"mode": "some", "targets": []}},
        {"query": "x", "retrieval": {"mode": "selected", "targets": []}},
        {"query": "x", "retrieval": {"mode": "selected", "targets": ["keyword"]}},
        {"query": "x", "retrieval": {"mode": "all", "targets": ["dense"]}},
        {"query": "x", "retrieval": {"mode": "none", "targets": []}, "answer": "42"},
        {"query": "x", "retrieval": "none"},
    ],
)
def test_anything_but_the_contract_is_an_error(output: dict[str, Any]) -> None:
    with pytest.raises(SchemaError):
        read_decision(output, [Pattern.PATTERN_DENSE])


@pytest.mark.parametrize(
    "change",
    [
        {"need": "guess"},
        {"intent": "unspecified"},
        {"standalone_question": ""},
        {"standalone_question": "x" * 501},
        {"rewrites": [1]},
        {"keywords": "travel"},
    ],
)
def test_drafts_that_do_not_fit(change: dict[str, Any]) -> None:
    with pytest.raises(SchemaError):
        read_draft({**DRAFT, **change})


@given(st.dictionaries(st.sampled_from(sorted(DRAFT)), st.one_of(st.text(), st.integers(), st.lists(st.text()))))
def test_any_object_is_a_draft_or_a_schema_error(change: dict[str, Any]) -> None:
    with contextlib.suppress(SchemaError):
        assert read_draft({**DRAFT, **change}).standalone_question is not None


def test_the_schema_is_json() -> None:
    assert json.loads(json.dumps(SCHEMA)) == SCHEMA
