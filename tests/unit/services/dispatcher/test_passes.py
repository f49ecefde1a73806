"""What a pass does for each action of the loop, and what other pipelines make of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from citemesh.v1 import (
    activation_pb2,
    answer_pb2,
    dispatcher_pb2,
    errors_pb2,
    evidence_pb2,
    generation_pb2,
    history_pb2,
    query_pb2,
    question_pb2,
    retrieval_pb2,
    validation_pb2,
)
from tests.unit.services.dispatcher.fake_mesh import METADATA, FakeMesh, running
from tests.unit.services.dispatcher.scripts import PASSAGES, QUESTION, judge_all, parsed, passage, write_answer


@pytest.fixture
async def mesh(tmp_path: Path) -> AsyncIterator[FakeMesh]:
    async with running(FakeMesh(), tmp_path) as mesh:
        yield mesh


async def ask(mesh: FakeMesh, **fields: object) -> dispatcher_pb2.AnswerResponse:
    request = dispatcher_pb2.AnswerRequest(question=QUESTION, **fields)  # type: ignore[arg-type]  # fields of the message
    response: dispatcher_pb2.AnswerResponse = await mesh.stub.Answer(request, timeout=5.0, metadata=METADATA)
    replayed = await mesh.stub.Replay(dispatcher_pb2.ReplayRequest(recorded=response), metadata=METADATA)
    assert replayed.agrees, replayed.differences
    return response


def actions(response: dispatcher_pb2.AnswerResponse) -> list[str]:
    return [history_pb2.Action.Name(record.action).removeprefix("ACTION_") for record in response.history]


async def test_flagged_pages_are_parsed_again_and_searched_anew(mesh: FakeMesh) -> None:
    def write(request: generation_pb2.GenerateRequest) -> answer_pb2.AnswerWithEvidence:
        answer = write_answer(request)
        if not mesh.requests("Reparse"):
            answer.context_structured = answer.complete_answer_found = False
            answer.unstructured_pages.add(document_id="manual", page_number=3)
        return answer

    mesh.write = write
    response = await ask(mesh)
    assert actions(response)[:2] == ["NONE", "REPARSE_PAGES"]
    (reparsed,) = mesh.requests("Reparse")
    assert (reparsed.document_id, list(reparsed.page_numbers)) == ("manual", [3])
    searched_after = mesh.requests("Retrieve")[2]
    assert QUESTION in [query.text for query in searched_after.queries]
    assert not searched_after.prior_rankings


async def test_discovered_words_are_searched_beside_the_question(mesh: FakeMesh) -> None:
    mesh.passages = (PASSAGES[1], passage("p9", "The siren sounds after its delay, by night too.", page=4))
    mesh.relevant = frozenset({"p2", "p9"})

    def write(request: generation_pb2.GenerateRequest) -> answer_pb2.AnswerWithEvidence:
        answer = write_answer(request)
        if len(request.evidence) == 1:
            answer.complete_answer_found = False
            answer.discovered_keywords.append("siren")
        return answer

    mesh.write = write
    response = await ask(mesh)
    assert actions(response) == ["NONE", "EXPAND_KEYWORDS"]
    assert list(response.history[1].keywords_added) == ["siren"]
    last = mesh.requests("Retrieve")[-1]
    assert [query.text for query in last.queries] == ["alarm device siren"]
    assert QUESTION in {ranking.query for ranking in last.prior_rankings}


async def test_a_listing_reaches_the_generator_tied_to_its_evidence(mesh: FakeMesh) -> None:
    text = PASSAGES[1].text
    item = retrieval_pb2.FoundItem(text="Door alarm", passage_id="p2", start_offset=0, end_offset=10)
    mesh.listing = retrieval_pb2.ListItemsResponse(
        items=[item],
        expected_count=3,
        announcement="three kinds of alarm",
        announcement_passage_id="p1",
        candidates=[evidence_pb2.Candidate(passage=PASSAGES[0]), evidence_pb2.Candidate(passage=PASSAGES[1])],
    )
    mesh.parse = lambda question: parsed(question, intent=question_pb2.INTENT_LISTING)
    await ask(mesh)
    listing = mesh.requests("Generate")[0].listing
    assert [found.text for found in listing.items] == ["Door alarm"]
    assert listing.items[0].citations[0].quote == text[:10]
    assert (listing.expected_count, listing.announcement.quote) == (3, "three kinds of alarm")


async def test_a_list_beside_the_point_is_not_required(mesh: FakeMesh) -> None:
    item = retrieval_pb2.FoundItem(text="The device", passage_id="p3", start_offset=0, end_offset=10)
    mesh.listing = retrieval_pb2.ListItemsResponse(
        items=[item], candidates=[evidence_pb2.Candidate(passage=PASSAGES[2])]
    )
    mesh.relevant = frozenset({"p1", "p2", "p4"})
    mesh.parse = lambda question: parsed(question, intent=question_pb2.INTENT_LISTING)
    await ask(mesh)
    assert not any("p3" in request.required_passage_ids for request in mesh.requests("AssembleContext"))


async def test_the_question_names_a_place_and_it_is_visited_in_the_first_pass(mesh: FakeMesh) -> None:
    table = question_pb2.Reference(label="table 4", surface="Table 4")
    plan = question_pb2.RetrievalPlan(main_query="table 4", anchor_keywords=["alarm"], references=[table])
    mesh.parse = lambda question: parsed(question, retrieval=plan)
    response = await ask(mesh)
    assert actions(response) == ["NONE"]
    assert response.outcome == answer_pb2.ANSWER_OUTCOME_ANSWERED
    assert "p4" in response.history[0].signals.evidence_ids


async def test_claims_that_all_fail_are_corrected_then_sought_elsewhere(mesh: FakeMesh) -> None:
    def judge(request: validation_pb2.ValidateRequest) -> validation_pb2.ValidateResponse:
        response = judge_all(request)
        for verdict in response.verdicts:
            verdict.verdict = answer_pb2.VERDICT_UNSUPPORTED
        response.decision, response.complete = answer_pb2.RELEASE_DECISION_CORRECT, False
        return response

    mesh.judge = judge
    mesh.passages = PASSAGES[1:3]
    mesh.profile.document_count = 2
    response = await ask(mesh)
    assert response.outcome == answer_pb2.ANSWER_OUTCOME_ABSTAINED_INSUFFICIENT_EVIDENCE
    assert actions(response)[:2] == ["NONE", "CORRECT_ANSWER"]
    second = mesh.requests("Generate")[1]
    assert [item.claim_id for item in second.failed_claims] == ["C1"]
    assert not response.answer.claims


FOLLOW_UP = """\
name: follow
steps:
  - {id: understand, type: query_optimizer, processor: understand, on_failure: continue}
  - {id: talk, type: memory, processor: conversation, settings: {max_turns: 1}}
  - {id: search, type: retriever, processor: hybrid}
  - {id: decide, type: query_optimizer, processor: follow_up, on_failure: continue, settings: {targets: [detail]}}
  - {id: detail, type: retriever, processor: hybrid}
  - {id: answer, type: answer_generator, processor: grounded, settings: {rules: Be brief.}}
"""

REFERENCES_FIRST = """\
name: {name}
steps:
  - {{id: understand, type: query_optimizer, processor: understand, on_failure: continue}}
  - {{id: references, type: retriever, processor: references}}{search}
  - {{id: rerank, type: context_optimizer, processor: rerank}}
  - {{id: assemble, type: context_optimizer, processor: assemble}}
  - {{id: answer, type: answer_generator, processor: grounded}}
"""
SEARCH = "\n  - {id: search, type: retriever, processor: hybrid}"


@pytest.fixture
async def following(tmp_path: Path) -> AsyncIterator[FakeMesh]:
    """A mesh with more pipelines: one decides on a second search and has neither reranker nor quality gate; the others
    begin with what the early look has found."""
    folder = tmp_path / "pipelines"
    folder.mkdir()
    (folder / "follow.yaml").write_text(FOLLOW_UP, encoding="utf-8")
    for name, search in (("no_search", ""), ("late_search", SEARCH)):
        text = REFERENCES_FIRST.format(name=name, search=search)
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    plan = question_pb2.RetrievalPlan(main_query="alarms", anchor_keywords=["alarm"])
    mesh = FakeMesh(parse=lambda question: parsed(question, retrieval=plan))
    async with running(mesh, tmp_path, CITEMESH_DISPATCHER_PIPELINES_DIR=str(folder)) as mesh:
        yield mesh


def decision(mode: question_pb2.RetrievalMode.ValueType, *targets: int) -> query_pb2.FollowUpDecision:
    retrieval = query_pb2.FollowUpRetrieval(mode=mode, targets=targets)  # type: ignore[arg-type]  # patterns
    return query_pb2.FollowUpDecision(query="delays of alarms", retrieval=retrieval)


@pytest.mark.parametrize(
    ("decided", "searches"),
    [
        (decision(question_pb2.RETRIEVAL_MODE_NONE), 2),
        (decision(question_pb2.RETRIEVAL_MODE_ALL), 3),
        (decision(question_pb2.RETRIEVAL_MODE_SELECTED, activation_pb2.PATTERN_KEYWORD), 3),
        (decision(question_pb2.RETRIEVAL_MODE_SELECTED, activation_pb2.PATTERN_DENSE), 2),
    ],
)
async def test_the_follow_up_decision_runs_what_it_names_and_only_what_is_active(
    following: FakeMesh, decided: query_pb2.FollowUpDecision, searches: int
) -> None:
    following.follow_up = decided
    await ask(following, pipeline="follow", budget={"max_iterations": 1})
    assert len(following.requests("Retrieve")) == searches
    if searches == 3:
        assert [query.text for query in following.requests("Retrieve")[2].queries] == ["delays of alarms"]


async def test_a_pipeline_of_few_steps_keeps_the_rules_of_all(following: FakeMesh) -> None:
    turn = question_pb2.Turn(role=question_pb2.ROLE_USER, text="hello")
    response = await ask(following, pipeline="follow", history=[turn, turn])
    assert response.outcome == answer_pb2.ANSWER_OUTCOME_ANSWERED
    assert response.pipeline == "follow"
    assert following.requests("Validate"), "no pipeline releases what was not validated"
    assert following.requests("GetPassages"), "nor what was not checked"
    assert not following.requests("Rerank")
    assert not following.requests("AssembleContext")
    generate = following.requests("Generate")[0]
    assert generate.rules == "Be brief."
    assert len(generate.history) == 1


async def test_what_only_the_early_look_has_read_is_checked_by_the_gate(following: FakeMesh) -> None:
    response = await ask(following, pipeline="no_search", budget={"max_iterations": 1})
    assert response.outcome == answer_pb2.ANSWER_OUTCOME_ANSWERED
    names = [name for name, _ in following.calls]
    assert names.count("Retrieve") == 1
    assert "GetPassages" in names[: names.index("Generate")]


async def test_what_stands_in_for_a_failed_search_is_checked_by_the_gate(following: FakeMesh) -> None:
    following.failures["Retrieve:2"] = errors_pb2.ERROR_REASON_INTERNAL
    response = await ask(following, pipeline="late_search", budget={"max_iterations": 1})
    assert response.outcome == answer_pb2.ANSWER_OUTCOME_ANSWERED
    names = [name for name, _ in following.calls]
    assert "GetPassages" in names[: names.index("Generate")]


async def test_a_broken_pipeline_stops_the_start_and_names_the_line(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("name: bad\nsteps:\n  - {id: a, type: magic, processor: x}\n", encoding="utf-8")
    with pytest.raises(Exception, match=r"line 3: steps\[0\].type"):
        async with running(FakeMesh(), tmp_path, CITEMESH_DISPATCHER_PIPELINES_DIR=str(tmp_path)):
            pass
