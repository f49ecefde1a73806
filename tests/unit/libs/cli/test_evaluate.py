"""`citemesh eval answers` against a scripted mesh: what is ingested and asked, the sums, the files, bad sets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from citemesh.v1 import answer_pb2
from tests.unit.libs.cli.scripted_mesh import Command, Script, make_answer

GOOD, BAD = "What is the meal allowance?", "What is the hotel allowance?"


def write_set(folder: Path) -> Path:
    """Two questions of one set: one that the scripted mesh answers rightly, one on which it abstains."""
    (folder / "qa").mkdir()
    (folder / "travel.md").write_text("EUR 64, half of the allowance", encoding="utf-8")
    sets = {"travel": {"ingest": [{"path": "travel.md", "document_id": "travel"}]}}
    (folder / "qa" / "sets.json").write_text(json.dumps(sets), encoding="utf-8")
    common: dict[str, Any] = {
        "set": "travel", "expect": "ANSWERED", "gold": [{"path": "travel.md", "quote": "EUR 64"}],
        "principal": {"user": "ada", "groups": ["staff"]}, "must_contain": [["EUR 64", "64 euros"]],
    }  # fmt: skip
    rows = [
        {"id": "meals", "type": "fact", "question": GOOD, **common},
        {"id": "hotels", "type": "number", "question": BAD, **common},
    ]
    path = folder / "qa" / "travel.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def questions(script: Script, tmp_path: Path) -> Path:
    script.answers[BAD] = make_answer(BAD, answer_pb2.ANSWER_OUTCOME_ABSTAINED_INSUFFICIENT_EVIDENCE)
    return write_set(tmp_path)


async def test_the_sums_per_set_and_type_are_the_only_thing_on_stdout(
    command: Command, script: Script, questions: Path
) -> None:
    ended = await command("eval", "answers", str(questions), "--json")
    assert ended.code == 0, ended.err
    assert ended.json.keys() == {"overall", "sets", "types"}
    assert ended.json["sets"].keys() == {"travel"}
    assert ended.json["types"].keys() == {"fact", "number"}
    overall = ended.json["overall"]
    assert (overall["question_count"], overall["right"], overall["outcome_right"]) == (2, 0.5, 0.5)
    assert overall["gold_cited"] == 0.5
    assert overall["leak_count"] == 0
    assert overall["outcomes"] == {"ABSTAINED_INSUFFICIENT_EVIDENCE": 1, "ANSWERED": 1}
    assert script.ingested == {"travel": b"EUR 64, half of the allowance"}
    assert {principal.user_id for principal in script.principals} == {"evaluator", "ada"}
    assert len({principal.tenant_id for principal in script.principals}) == 1


async def test_rows_and_responses_are_written(command: Command, questions: Path, tmp_path: Path) -> None:
    rows, responses = tmp_path / "rows.jsonl", tmp_path / "responses.jsonl"
    ended = await command("eval", "answers", str(questions), "--rows", str(rows), "--responses", str(responses))
    assert ended.code == 0, ended.err
    assert "travel" in ended.out
    read = [json.loads(line) for line in rows.read_text(encoding="utf-8").splitlines()]
    assert [(row["id"], row["right"]) for row in read] == [("meals", True), ("hotels", False)]
    kept = [json.loads(line) for line in responses.read_text(encoding="utf-8").splitlines()]
    assert {each["id"] for each in kept} == {"meals", "hotels"}
    assert all("outcome" in each["response"] for each in kept)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("missing.jsonl", None),
        ("empty.jsonl", b""),
        ("broken.jsonl", b'{"id": "a"\n'),
        ("other.jsonl", b'{"id": "a", "set": "none", "type": "t", "question": "?", "expect": "ANSWERED"}\n'),
        ("latin.jsonl", b"\xff\xfe\n"),
    ],
)
async def test_a_set_that_cannot_be_read_is_bad_input(
    command: Command, questions: Path, name: str, content: bytes | None
) -> None:
    path = questions.parent / name
    if content is not None:
        path.write_bytes(content)
    ended = await command("eval", "answers", str(path), "--json")
    assert ended.code == 2
    assert not ended.out
    assert "cannot be read" in ended.err
    assert "Traceback" not in ended.err


async def test_a_broken_sets_file_is_bad_input(command: Command, questions: Path) -> None:
    (questions.parent / "sets.json").write_text("{", encoding="utf-8")
    ended = await command("eval", "answers", str(questions))
    assert ended.code == 2
    assert "cannot be read" in ended.err
