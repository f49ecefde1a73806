"""The dispatcher from end to end over scripted services: how requests end, and what their history says."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from citemesh.v1 import (
    activation_pb2,
    answer_pb2,
    dispatcher_pb2,
    document_pb2,
    errors_pb2,
    history_pb2,
    question_pb2,
    validation_pb2,
)
from services.dispatcher.words import active_patterns
from tests.unit.services.dispatcher.fake_mesh import METADATA, FakeMesh, running
from tests.unit.services.dispatcher.scripts import QUESTION, judge_all, parsed


@pytest.fixture
async def mesh(tmp_path: Path) -> AsyncIterator[FakeMesh]:
    async with running(FakeMesh(), tmp_path) as mesh:
        yield mesh


async def ask(
    mesh: FakeMesh, question: str = QUESTION, *, timeout: float = 5.0, **fields: object
) -> dispatcher_pb2.AnswerResponse:
    request = dispatcher_pb2.AnswerRequest(question=question, **fields)  # type: ignore[arg-type]  # fields of the message
    response: dispatcher_pb2.AnswerResponse = await mesh.stub.Answer(request, timeout=timeout, metadata=METADATA)
    replayed = await mesh.stub.Replay(dispatcher_pb2.ReplayRequest(recorded=response), metadata=METADATA)
    assert replayed.agrees, replayed.differences
    assert not +mesh.running, "a handler was left running"
    return response


async def test_a_pending_reference_is_followed_in_a_second_pass_and_cited(mesh: FakeMesh) -> None:
    response = await ask(mesh)
    assert response.outcome == answer_pb2.ANSWER_OUTCOME_ANSWERED
    assert response.stop_reason == history_pb2.STOP_REASON_SATISFIED
    assert not response.exhausted
    first, second = response.history
    assert (first.trigger, first.action) == (history_pb2.TRIGGER_FIRST_PASS, history_pb2.ACTION_NONE)
    assert second.trigger == history_pb2.TRIGGER_PENDING_REFERENCES
    assert second.action == history_pb2.ACTION_FOLLOW_REFERENCES
    assert second.action_taken == "follow Table 4"
    assert "p4" in second.candidate_ids_after
    assert "p4" not in second.candidate_ids_before
    assert 9 in {citation.page_number for claim in response.answer.claims for citation in claim.citations}
    assert [unit.evidence_id for unit in response.evidence if unit.passage_id == "p4"] == ["E3"]
    trace = {item.passage_id: item for item in response.candidates}
    assert (trace["p4"].first_iteration_number, trace["p4"].hop_count) == (2, 1)


async def test_the_original_question_is_searched_before_it_is_understood(mesh: FakeMesh) -> None:
    mesh.delays_s["Understand"] = 0.05
    await ask(mesh)
    names = [name for name, _ in mesh.calls]
    assert names.index("Retrieve") < names.index("Rerank")
    early, first = mesh.requests("Retrieve")[:2]
    assert [query.text for query in early.queries] == [QUESTION]
    assert first.prior_rankings[0].query == QUESTION


async def test_a_pair_is_scored_once_over_all_passes(mesh: FakeMesh) -> None:
    response = await ask(mesh)
    scored = [item.passage_id for request in mesh.requests("Rerank") for item in request.passages]
    assert len(scored) == len(set(scored)) == response.cost.scored_pair_count
    assert response.cost.model_call_count == len(mesh.requests("Generate")) == 2


async def test_small_talk_is_answered_without_documents_and_without_claims(mesh: FakeMesh) -> None:
    mesh.parse = lambda question: parsed(question, need=question_pb2.RETRIEVAL_NEED_SMALL_TALK)
    response = await ask(mesh, "hello")
    assert response.outcome == answer_pb2.ANSWER_OUTCOME_ANSWERED
    assert response.answer.text == "Hello."
    assert not response.answer.claims
    assert not response.history
    assert response.stop_reason == history_pb2.STOP_REASON_NO_PASS_NEEDED
    assert active_patterns(response.activations) == frozenset()
    assert not mesh.requests("Rerank")


async def test_too_little_said_is_asked_back(mesh: FakeMesh) -> None:
    mesh.parse = lambda question: parsed(
        question, need=question_pb2.RETRIEVAL_NEED_CLARIFY, clarification_question="Which device?"
    )
    response = await ask(mesh, "and it?")
    assert response.outcome == answer_pb2.ANSWER_OUTCOME_CLARIFICATION_NEEDED
    assert response.message == "Which device?"


def names_table_4(question: str, **plan: Any) -> question_pb2.ParsedQuestion:
    """A question that is to be asked back because it names a table and no document."""
    reference = question_pb2.Reference(kind=question_pb2.REFERENCE_KIND_TABLE, label="table 4", surface="Table 4")
    return parsed(
        question,
        need=question_pb2.RETRIEVAL_NEED_CLARIFY,
        clarification_question="Which document's Table 4 do you mean?",
        retrieval=question_pb2.RetrievalPlan(main_query=question, references=[reference], **plan),
    )


async def test_a_named_place_is_searched_where_one_document_is_in_scope(mesh: FakeMesh) -> None:
    mesh.parse = names_table_4
    response = await ask(mesh, "What does Table 4 show?")
    assert response.outcome == answer_pb2.ANSWER_OUTCOME_ANSWERED
    assert "p4" in {unit.passage_id for unit in response.evidence}
    assert response.parsed_question.need == question_pb2.RETRIEVAL_NEED_RETRIEVE
    assert not response.parsed_question.clarification_question
    explained = await mesh.stub.Explain(
        dispatcher_pb2.ExplainRequest(question="What does Table 4 show?"), metadata=METADATA
    )
    assert explained.activations == response.activations


async def test_a_named_place_is_asked_back_where_several_documents_could_be_meant(mesh: FakeMesh) -> None:
    mesh.parse = names_table_4
    mesh.profile.document_count = 2
    response = await ask(mesh, "What does Table 4 show?")
    assert response.outcome == answer_pb2.ANSWER_OUTCOME_CLARIFICATION_NEEDED
    assert response.message == "Which document's Table 4 do you mean?"
    assert not response.history
    mesh.parse = lambda question: names_table_4(question, document_hints=["manual"])
    assert (await ask(mesh, "Table 4 of the manual?")).outcome == answer_pb2.ANSWER_OUTCOME_ANSWERED


async def test_a_named_place_is_asked_back_where_the_scope_is_not_known(mesh: FakeMesh) -> None:
    mesh.parse = names_table_4
    mesh.failures["Profile"] = errors_pb2.ERROR_REASON_STORE_UNAVAILABLE
    assert (await ask(mesh, "Table 4?")).outcome == answer_pb2.ANSWER_OUTCOME_CLARIFICATION_NEEDED


async def test_a_place_in_one_of_two_named_documents_is_asked_back_also_where_one_cannot_be_read(
    mesh: FakeMesh,
) -> None:
    mesh.parse = names_table_4
    scope = question_pb2.Scope(documents=question_pb2.DocumentIds(document_ids=["manual", "secret"]))
    assert (await ask(mesh, "Table 4?", scope=scope)).outcome == answer_pb2.ANSWER_OUTCOME_CLARIFICATION_NEEDED


@pytest.mark.parametrize("document_id", ["secret", "never-existed"])
async def test_absent_and_forbidden_documents_look_the_same(mesh: FakeMesh, document_id: str) -> None:
    mesh.profile = document_pb2.ScopeProfile()
    scope = question_pb2.Scope(documents=question_pb2.DocumentIds(document_ids=[document_id]))
    response = await ask(mesh, scope=scope)
    assert response.outcome == answer_pb2.ANSWER_OUTCOME_NOT_AUTHORIZED
    assert response.message == "The request names a document that does not exist or that you may not read."
    assert not response.candidates
    assert not response.evidence


async def test_a_named_document_that_is_not_in_force_yet_is_no_refusal(mesh: FakeMesh) -> None:
    mesh.profile = document_pb2.ScopeProfile()
    scope = question_pb2.Scope(documents=question_pb2.DocumentIds(document_ids=["future"]))
    response = await ask(mesh, scope=scope)
    assert response.outcome == answer_pb2.ANSWER_OUTCOME_ABSTAINED_INSUFFICIENT_EVIDENCE


async def test_an_empty_scope_abstains_without_a_pass(mesh: FakeMesh) -> None:
    mesh.profile = document_pb2.ScopeProfile()
    response = await ask(mesh)
    assert response.outcome == answer_pb2.ANSWER_OUTCOME_ABSTAINED_INSUFFICIENT_EVIDENCE
    assert response.message == "I cannot confirm that from the documents."
    assert not response.history


async def test_weak_evidence_abstains_after_one_search_by_meaning(mesh: FakeMesh) -> None:
    mesh.relevant = frozenset()
    response = await ask(mesh)
    assert response.outcome == answer_pb2.ANSWER_OUTCOME_ABSTAINED_INSUFFICIENT_EVIDENCE
    assert not mesh.requests("Generate")
    assert [record.action for record in response.history] == [
        history_pb2.ACTION_NONE,
        history_pb2.ACTION_RETRIEVE_SUB_QUESTIONS,
    ]
    assert {query.leg for query in mesh.requests("Retrieve")[-1].queries} == {
        activation_pb2.PATTERN_KEYWORD,
        activation_pb2.PATTERN_DENSE,
    }


async def test_an_answer_without_claims_abstains(mesh: FakeMesh) -> None:
    mesh.write = lambda _: answer_pb2.AnswerWithEvidence(text="I do not know.")
    response = await ask(mesh)
    assert response.outcome == answer_pb2.ANSWER_OUTCOME_ABSTAINED_INSUFFICIENT_EVIDENCE
    assert not response.answer.text


async def test_failed_claims_are_left_out_and_the_rest_is_judged_again(mesh: FakeMesh) -> None:
    def judge(request: validation_pb2.ValidateRequest) -> validation_pb2.ValidateResponse:
        response = judge_all(request)
        if "C2" in {claim.claim_id for claim in request.answer.claims}:
            response.verdicts[1].verdict = answer_pb2.VERDICT_CONTRADICTED
            response.decision = answer_pb2.RELEASE_DECISION_CORRECT
        return response

    mesh.judge = judge
    response = await ask(mesh)
    assert response.outcome == answer_pb2.ANSWER_OUTCOME_ANSWERED_WITH_CORRECTIONS
    assert "C2" not in {claim.claim_id for claim in response.answer.claims}
    assert "[2]" in response.answer.text
    assert [v.verdict for v in response.verdicts if v.claim_id == "C2"] == [answer_pb2.VERDICT_CONTRADICTED]


async def test_a_withheld_answer_is_queued_once_and_not_shown(mesh: FakeMesh) -> None:
    def judge(request: validation_pb2.ValidateRequest) -> validation_pb2.ValidateResponse:
        response = judge_all(request)
        for verdict in response.verdicts:
            verdict.verdict = answer_pb2.VERDICT_CONTRADICTED
        response.decision = answer_pb2.RELEASE_DECISION_WITHHOLD
        return response

    mesh.judge = judge
    response = await ask(mesh)
    assert response.outcome == answer_pb2.ANSWER_OUTCOME_WITHHELD_FOR_REVIEW
    assert response.review_id == "R1"
    assert not response.answer.text
    assert not response.answer.claims
    assert not response.evidence
    assert sum(request.queue_when_withheld for request in mesh.requests("Validate")) == 1


async def test_the_pass_budget_of_the_request_holds(mesh: FakeMesh) -> None:
    response = await ask(mesh, budget={"max_iterations": 1})
    assert len(response.history) == 1
    assert response.exhausted
    assert response.stop_reason == history_pb2.STOP_REASON_ITERATION_CAP
    assert response.outcome == answer_pb2.ANSWER_OUTCOME_ANSWERED, "the best so far comes back, flagged"


async def test_explain_decides_as_the_answer_does(mesh: FakeMesh) -> None:
    explained = await mesh.stub.Explain(dispatcher_pb2.ExplainRequest(question=QUESTION), metadata=METADATA)
    answered = await ask(mesh)
    assert explained.activations == answered.activations
    assert mesh.requests("Understand")[0].rules_only
    assert not answered.HasField("keyword_leg_can_match") or explained.keyword_leg_can_match


async def test_pipelines_are_listed(mesh: FakeMesh) -> None:
    listed = await mesh.stub.ListPipelines(dispatcher_pb2.ListPipelinesRequest(), metadata=METADATA)
    assert [pipeline.name for pipeline in listed.pipelines] == ["default"]
    assert listed.pipelines[0].steps[-1].type == "quality_gate"
