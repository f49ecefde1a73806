"""`citemesh ask`, `explain` and `replay` against a scripted mesh: exit codes, JSON purity, narration, pictures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from citemesh.rpc.errors import ServiceError
from citemesh.v1 import answer_pb2, errors_pb2
from tests.unit.libs.cli.scripted_mesh import PNG, Command, Script, make_answer

QUESTION = "What is the meal allowance?"


async def test_an_answer_has_numbered_sources_with_version_section_and_page(command: Command) -> None:
    ended = await command("ask", QUESTION)
    assert ended.code == 0
    assert "It is EUR 64 [1]" in ended.out
    assert "[1] Travel policy, version 2, 4 Meals, page 3" in ended.out
    assert "[2] Travel policy" in ended.out
    assert "Passes" not in ended.err


async def test_json_is_alone_on_stdout_also_with_narration_and_pictures(command: Command, tmp_path: Path) -> None:
    ended = await command("ask", QUESTION, "--json", "--trace", "--highlight", str(tmp_path / "pages"))
    assert ended.json["answer"]["text"].startswith("It is EUR 64")
    assert ended.json["outcome"] == "ANSWER_OUTCOME_ANSWERED"
    assert "Passes" in ended.err


async def test_the_trace_tells_on_stderr_how_the_answer_was_reached(command: Command) -> None:
    ended = await command("ask", QUESTION, "--trace")
    for part in ("factoid", "keyword", "because", "off: toc", "keyword 1", "0.91", "found 1 passage", "supported",
                 "retrieve", "stopped: satisfied"):  # fmt: skip
        assert part in ended.err, part
    assert "found 1 passage" not in ended.out


async def test_pictures_of_cited_pages_are_written_with_the_quotes_marked(
    command: Command, script: Script, tmp_path: Path
) -> None:
    ended = await command("ask", QUESTION, "--highlight", str(tmp_path / "pages"))
    assert ended.code == 0
    assert (tmp_path / "pages" / "travel-v2-page3.png").read_bytes() == PNG
    request = script.requests[-1]
    assert [highlight.quote for highlight in request.highlights] == ["EUR 64", "half of the allowance"]


@pytest.mark.parametrize(
    ("outcome", "code"),
    [("ABSTAINED_INSUFFICIENT_EVIDENCE", 3), ("WITHHELD_FOR_REVIEW", 4), ("RETRIEVAL_UNAVAILABLE", 5)],
)
async def test_the_outcome_is_the_exit_code(command: Command, script: Script, outcome: str, code: int) -> None:
    value = answer_pb2.AnswerOutcome.Value(f"ANSWER_OUTCOME_{outcome}")
    script.answers[QUESTION] = make_answer(QUESTION, value)
    ended = await command("ask", QUESTION)
    assert ended.code == code
    assert "I cannot confirm that" in ended.out


async def test_a_refused_field_is_named_and_is_bad_input(command: Command) -> None:
    ended = await command("ask", "  ")
    assert ended.code == 2
    assert "question: must not be empty" in ended.err
    assert ended.out == ""


async def test_a_service_that_is_unavailable_is_exit_code_5(command: Command, script: Script) -> None:
    script.errors["Answer"] = ServiceError(errors_pb2.ERROR_REASON_STORE_UNAVAILABLE, "The store cannot be reached.")
    ended = await command("ask", QUESTION, "--json")
    assert (ended.code, ended.out) == (5, "")
    assert "The store cannot be reached. (STORE_UNAVAILABLE)" in ended.err


async def test_a_mesh_that_is_too_slow_is_exit_code_5(command: Command, script: Script) -> None:
    script.delay_s = 30.0
    ended = await command("ask", QUESTION, "--timeout", "0.5")
    assert ended.code == 5
    assert "DEADLINE_EXCEEDED" in ended.err


async def test_options_reach_the_request(command: Command, script: Script, tmp_path: Path) -> None:
    history = tmp_path / "history.json"
    history.write_text(json.dumps([{"role": "user", "text": "a"}, {"role": "assistant", "text": "b"}]))
    await command(
        "ask", QUESTION, "--history", str(history), "--as-of", "2025-06-30", "--document", "a", "--document", "b",
        "--as", "ana:staff,hr", "--pipeline", "thorough",
    )  # fmt: skip
    request, principal = script.requests[-1], script.principals[-1]
    assert [turn.text for turn in request.history] == ["a", "b"]
    assert request.as_of_time.ToJsonString() == "2025-06-30T00:00:00Z"
    assert list(request.scope.documents.document_ids) == ["a", "b"]
    assert request.pipeline == "thorough"
    assert (principal.user_id, principal.groups) == ("ana", frozenset({"staff", "hr"}))


async def test_without_documents_there_is_no_scope(command: Command, script: Script) -> None:
    await command("ask", QUESTION)
    assert not script.requests[-1].HasField("scope")


async def test_claims_are_printed_as_they_pass(command: Command) -> None:
    ended = await command("ask", QUESTION, "--release", "claims")
    assert ended.code == 0
    assert ended.out.startswith("It is EUR 64.\n")
    assert "[1] Travel policy" in ended.out


@pytest.mark.parametrize(
    "arguments",
    [
        ("ask",),
        ("ask", QUESTION, "--as-of", "last year"),
        ("ask", QUESTION, "--release", "soon"),
        ("ask", QUESTION, "--as", ":hr"),
        ("ask", QUESTION, "--history", "missing.json"),
        ("nonsense",),
        ("calibrate", "pairs.jsonl", "--fast"),
        ("eval", "retrieval", "folder"),
    ],
)
async def test_bad_usage_is_exit_code_2_with_a_message(command: Command, arguments: tuple[str, ...]) -> None:
    ended = await command(*arguments)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.strip()


async def test_a_history_that_is_none_says_how_to_write_it(command: Command, tmp_path: Path) -> None:
    (tmp_path / "h.json").write_text('{"role": "user"}')
    ended = await command("ask", QUESTION, "--history", "h.json")
    assert ended.code == 2
    assert '"role": "user"' in ended.err


async def test_explain_lists_all_seven_decisions(command: Command) -> None:
    ended = await command("explain", QUESTION)
    assert ended.code == 0
    assert ended.out.count("rule.x") == 7
    as_json = await command("explain", QUESTION, "--json")
    assert len(as_json.json["activations"]["activations"]) == 7


async def test_a_recorded_answer_is_replayed_and_an_edited_one_names_the_difference(
    command: Command, tmp_path: Path
) -> None:
    recorded = await command("ask", QUESTION, "--json")
    (tmp_path / "answer.json").write_text(recorded.out)
    same = await command("replay", "answer.json")
    assert (same.code, same.out) == (0, "The same: 9 decisions.\n")
    edited = recorded.json | {"stopReason": "STOP_REASON_DRIFT"}
    (tmp_path / "edited.json").write_text(json.dumps(edited))
    different = await command("replay", "edited.json")
    assert different.code == 3
    assert "stop_reason: recorded DRIFT, now SATISFIED" in different.out


async def test_replay_of_something_else_is_bad_input(command: Command, tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text('{"answer": 1}')
    ended = await command("replay", "other.json")
    assert (ended.code, ended.out) == (2, "")
