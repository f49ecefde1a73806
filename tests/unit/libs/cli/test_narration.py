"""What people read: nothing is cut that matters, nothing is shown that was not computed."""

from __future__ import annotations

import io

import pytest
from google.protobuf.duration_pb2 import Duration
from rich.console import Console

from citemesh.cli.narration.answer import narrate_answer
from citemesh.cli.narration.passes import describe_legs, narrate_candidates, narrate_stages
from citemesh.cli.narration.question import narrate_activations
from citemesh.cli.narration.words import count, describe_duration, describe_place, name_value
from citemesh.v1 import activation_pb2, answer_pb2, budget_pb2, dispatcher_pb2, evidence_pb2, history_pb2


def show(*parts: object, width: int = 100) -> str:
    console = Console(file=io.StringIO(), width=width, markup=False, highlight=False)
    for part in parts:
        console.print(part)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_long_place_gives_way_to_what_follows_it() -> None:
    trace = dispatcher_pb2.CandidateTrace(
        title="A title " * 30, evidence_id="E1", first_iteration_number=2, relevance=0.5
    )
    trace.section_path.extend(["5 Operation", "5.2 Alarms " * 20])
    trace.leg_ranks.add(leg=activation_pb2.PATTERN_KEYWORD, rank=3)
    told = show(*narrate_candidates([trace]), width=80)
    for part in ("E1", "A title", "5.2 Alarms", "…", "keyword 3", "2", "0.50"):
        assert part in told, part


def test_what_was_not_scored_is_not_zero() -> None:
    told = show(*narrate_candidates([dispatcher_pb2.CandidateTrace(title="T")]))
    assert "not scored" in told
    assert "0.00" not in told


def test_the_best_rank_of_each_leg_is_told() -> None:
    ranks = [(activation_pb2.PATTERN_DENSE, 4), (activation_pb2.PATTERN_KEYWORD, 7), (activation_pb2.PATTERN_DENSE, 2)]
    assert describe_legs(evidence_pb2.LegRank(leg=leg, rank=rank) for leg, rank in ranks) == "dense 2, keyword 7"


def test_stages_name_their_branch_and_why_it_was_another() -> None:
    response = dispatcher_pb2.AnswerResponse()
    response.stage_reports.add(
        stage=budget_pb2.STAGE_RERANK, iteration_number=1, branch="first_stage", fallback_reason="timeout",
        error_reason="DEADLINE_EXCEEDED", duration=Duration(nanos=7_000_000),
    )  # fmt: skip
    told = show(*narrate_stages(response), width=200)
    assert "rerank 7 ms (first_stage) failed: DEADLINE_EXCEEDED instead, because timeout" in told


def test_sources_are_shown_in_place_of_an_answer() -> None:
    response = dispatcher_pb2.AnswerResponse(
        outcome=answer_pb2.ANSWER_OUTCOME_SOURCES_ONLY, message="Here are sources."
    )
    response.evidence.add(evidence_id="E1", title="Policy", text="It is\n64 euros.", page_first=3)
    lines = [line.rstrip() for line in show(*narrate_answer(response)).splitlines()]
    assert lines == ["Here are sources.", "E1  Policy, page 3", "    It is 64 euros."]


def test_text_of_documents_is_never_read_as_markup() -> None:
    response = dispatcher_pb2.AnswerResponse(outcome=answer_pb2.ANSWER_OUTCOME_ANSWERED)
    response.answer.text = "[red]not red[/red] [1] \x1b[2J"
    told = show(*narrate_answer(response))
    assert "[red]not red[/red] [1]" in told
    assert "\x1b" not in told
    activations = activation_pb2.Activations()
    activations.activations.add(pattern=activation_pb2.PATTERN_TOC, active=True, rule_id="toc.usable", reason="[bold]x")
    assert "[bold]x" in show(*narrate_activations(activations))


@pytest.mark.parametrize(
    ("seconds", "nanos", "expected"),
    [(0, 0, "0 ms"), (0, 7_600_000, "8 ms"), (1, 250_000_000, "1.2 s"), (75, 0, "75.0 s")],
)
def test_durations(seconds: int, nanos: int, expected: str) -> None:
    assert describe_duration(Duration(seconds=seconds, nanos=nanos)) == expected


def test_words() -> None:
    assert count(1, "file") == "1 file"
    assert count(1200, "entry", "entries") == "1,200 entries"
    assert describe_place("Policy", ["Policy", "4 Meals"], 0) == "Policy, 4 Meals"
    assert name_value(history_pb2.StopReason, history_pb2.STOP_REASON_NO_TRIGGER, "STOP_REASON_") == "no trigger"
    assert name_value(history_pb2.StopReason, 999, "STOP_REASON_") == "value 999 of a newer version"
