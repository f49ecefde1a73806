"""The demonstration over a scripted mesh: what it sends, what it tells, what it makes of an unexpected answer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from citemesh.cli.exits import Exit
from citemesh.rpc.host import hosted
from citemesh.v1 import answer_pb2, dispatcher_pb2, documents_pb2
from demo.expectations import find_surprises, read_corpus, read_questions
from demo.show import show_bundled, show_files
from tests.unit.libs.cli.scripted_mesh import Script, make_answer, make_specs


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
async def state(script: Script, tmp_path: Path) -> AsyncIterator[Path]:
    environ = {
        "CITEMESH_STATE_DIR": str(tmp_path / "state"), "CITEMESH_AUTH_MODE": "open",
        "CITEMESH_HOST_METRICS_ADDRESS": "off", "CITEMESH_HOST_DRAIN_WAIT_MS": "0",
    }  # fmt: skip
    async with hosted(make_specs(script), environ):
        yield tmp_path / "state"


async def test_the_documents_go_in_by_the_list_and_the_questions_as_written(
    state: Path, script: Script, capsys: pytest.CaptureFixture[str]
) -> None:
    # The scripted answers are not the expected ones, and the demonstration has to notice.
    assert await show_bundled(state) is Exit.BUG
    headers = [request for request in script.requests if isinstance(request, documents_pb2.IngestHeader)]
    assert [header.document_id for header in headers] == [entry["document_id"] for entry in read_corpus()]
    restricted = {
        header.document_id: list(header.access.only.groups) for header in headers if header.access.only.groups
    }
    assert restricted == {"hr-salary-bands": ["hr"]}
    requests = [request for request in script.requests if isinstance(request, dispatcher_pb2.AnswerRequest)]
    follow_up = next(request for request in requests if request.question == "And for managers?")
    assert follow_up.history[0].text == "Above what cost does a trip need approval?"
    told = capsys.readouterr().out
    parts = ["Passes", "What runs, and why", "What was found, and by what", "[1] Travel policy, version 2", "Verdicts"]
    parts += ["Time", "Not what this demonstration expects", "Try next", "travel-v2-page3.png"]
    for part in parts:
        assert part in told, part


async def test_own_files_are_asked_alone(
    state: Path, script: Script, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes.md").write_text("a")
    assert await show_files(state, [tmp_path / "notes.md"], "What do the notes say?") is Exit.ANSWERED
    request = next(request for request in script.requests if isinstance(request, dispatcher_pb2.AnswerRequest))
    assert list(request.scope.documents.document_ids) == ["notes"]
    told = capsys.readouterr().out
    assert "--document notes 'What do the notes say?'" in told
    assert "warranty" not in told


def test_a_restricted_document_that_is_only_named_is_a_surprise() -> None:
    question = next(question for question in read_questions() if question["id"] == "salary-outsider")
    abstained = make_answer(question["question"], answer_pb2.ANSWER_OUTCOME_ABSTAINED_INSUFFICIENT_EVIDENCE)
    assert find_surprises(question["expect"], abstained) == []
    abstained.candidates.add(document_id="hr-salary-bands")
    assert find_surprises(question["expect"], abstained) == ["“hr-salary-bands” is there"]
