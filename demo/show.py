"""Runs the demonstration: a mesh in this process, the documents into it, the questions one after the other."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from rich.console import Group
from rich.padding import Padding
from rich.rule import Rule
from rich.text import Text

from citemesh.cli.access import read_access
from citemesh.cli.commands.ask import fetch_answer
from citemesh.cli.connection import Connection, act_as, connect
from citemesh.cli.exits import Exit
from citemesh.cli.files import find_files
from citemesh.cli.highlights import write_highlights
from citemesh.cli.narration.answer import describe_outcome, narrate_answer, narrate_verdicts
from citemesh.cli.narration.passes import narrate_candidates, narrate_passes, narrate_stages
from citemesh.cli.narration.question import narrate_activations, narrate_question, narrate_scope
from citemesh.cli.narration.words import heading
from citemesh.cli.options import Common, make_scope, read_credentials, read_time
from citemesh.cli.output import Output
from citemesh.cli.sending import Described, send_files
from citemesh.v1 import answer_pb2, dispatcher_pb2, documents_pb2, question_pb2
from demo.expectations import ROOM, find_surprises, read_corpus, read_questions

STATE_DIR: Final = ROOM.parent / "var" / "demo"
# Who may bring in a new version of a restricted document must be able to read it.
_LIBRARIAN: Final = "librarian:staff,hr"
_ASK_TIMEOUT_S: Final = 30.0
_INGEST_TIMEOUT_S: Final = 300.0
_MAX_NAMED: Final = 3
"""Of a user's own documents, so many are named in what to try next."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question that has been answered, for those that follow it up."""

    question: str
    response: dispatcher_pb2.AnswerResponse


async def show_bundled(state: Path, only: str = "") -> Exit:
    """The bundled documents and questions; with `only`, that one question over the bundled documents.

    Returns BUG where an answer differs from what the question expects.
    """
    output, started = Output(narrate_on_stdout=True), time.monotonic()
    async with _open(state, output) as connection:
        act_as(read_credentials(_LIBRARIAN, {}))
        if not await _ingest(connection, output, _list_bundled()):
            return Exit.BAD_INPUT
        own = {"id": "yours", "shows": "Your question", "question": only, "as": "ana:staff"}
        questions = [own] if only else read_questions()
        surprises = await _ask_all(connection, output, questions, state / "pages")
    ask, explain = '"How long is the warranty of the monitor?"', '"What does Table 10 say?"'
    _say_farewell(output, state, time.monotonic() - started, ask, explain)
    return Exit.BUG if surprises else Exit.ANSWERED


async def show_files(state: Path, paths: Sequence[Path], question: str) -> Exit:
    """The user's own files, and one question over them alone."""
    output, started = Output(narrate_on_stdout=True), time.monotonic()
    files = [
        (file.path, documents_pb2.IngestHeader(file_name=file.path.name, document_id=file.document_id))
        for file in find_files(paths)
    ]
    async with _open(state, output) as connection:
        document_ids = await _ingest(connection, output, files)
        if not document_ids:
            return Exit.BAD_INPUT
        asked = {"id": "yours", "shows": "Your question", "question": question, "document_ids": document_ids}
        await _ask_all(connection, output, [asked], state / "pages")
    named = " ".join(f"--document {shlex.quote(document_id)}" for document_id in document_ids[:_MAX_NAMED])
    again = f"{named} {shlex.quote(question)}"
    _say_farewell(output, state, time.monotonic() - started, again, again)
    return Exit.ANSWERED


def _open(state: Path, output: Output) -> AbstractAsyncContextManager[Connection]:
    return connect(Common(None, as_json=False, metadata=(), timeout_s=_INGEST_TIMEOUT_S, state_dir=state), output)


def _list_bundled() -> list[Described]:
    return [
        (
            ROOM / entry["path"],
            documents_pb2.IngestHeader(
                document_id=entry["document_id"],
                file_name=Path(entry["path"]).name,
                title=entry["title"],
                effective_from_time=read_time(entry.get("effective_from"), "effective_from"),
                effective_to_time=read_time(entry.get("effective_to"), "effective_to"),
                access=read_access(entry.get("allow", ()), (), everyone=not entry.get("allow")),
            ),
        )
        for entry in read_corpus()
    ]


async def _ingest(connection: Connection, output: Output, files: list[Described]) -> list[str]:
    """The ids of the documents; none where a file could not be read, which has been said then."""
    output.narrate(Rule("Reading the documents", align="left"))
    # One at a time: two files of the list may be versions of one document, and the order tells which is newer.
    tally = await send_files(connection, output, files, at_once=1)
    return [] if tally.failures else [response.document.document_id for _, response in tally.responses]


async def _ask_all(
    connection: Connection, output: Output, questions: Sequence[Mapping[str, Any]], pages: Path
) -> list[str]:
    asking = replace(connection, timeout_s=_ASK_TIMEOUT_S)
    answered: dict[str, Asked] = {}
    surprises: list[str] = []
    for number, question in enumerate(questions, start=1):
        output.narrate("", Rule(f"{number}. {question['shows']}", align="left", style="bold"))
        response = await _ask(asking, output, question, answered)
        answered[question["id"]] = Asked(question["question"], response)
        for surprise in find_surprises(question["expect"], response) if "expect" in question else ():
            output.narrate(Text(f"Not what this demonstration expects: {surprise}.", style="bold red"))
            surprises.append(surprise)
        await write_highlights(asking, response, pages)
    return surprises


async def _ask(
    connection: Connection, output: Output, question: Mapping[str, Any], answered: Mapping[str, Asked]
) -> dispatcher_pb2.AnswerResponse:
    act_as(read_credentials(question.get("as"), {}))
    request = dispatcher_pb2.AnswerRequest(
        question=question["question"],
        history=_make_history(answered.get(question.get("follows", ""))),
        scope=make_scope(question.get("document_ids")),
        as_of_time=read_time(question.get("as_of"), "as_of"),
        release_mode=answer_pb2.RELEASE_MODE_BUFFERED,
    )
    output.narrate(_describe_asker(question))
    response = await fetch_answer(connection, request, output)
    output.narrate(*narrate_question(response.parsed_question), *narrate_scope(response.scope_profile))
    if response.activations.activations:
        output.narrate(*narrate_activations(response.activations))
    output.narrate(*narrate_candidates(response.candidates), *narrate_passes(response))
    output.narrate(heading("Answer"), Padding(Group(*narrate_answer(response)), (0, 0, 0, 2)))
    output.narrate(Text("  ") + describe_outcome(response))
    output.narrate(*narrate_verdicts(response), *narrate_stages(response))
    return response


def _make_history(earlier: Asked | None) -> list[question_pb2.Turn]:
    if earlier is None:
        return []
    return [
        question_pb2.Turn(role=question_pb2.ROLE_USER, text=earlier.question),
        question_pb2.Turn(role=question_pb2.ROLE_ASSISTANT, text=earlier.response.answer.text),
    ]


def _describe_asker(question: Mapping[str, Any]) -> Text:
    user, _, groups = question.get("as", "").partition(":")
    who = f"{user} ({groups.replace(',', ', ')})" if user else "you"
    when = f", by the rules of {question['as_of']}" if "as_of" in question else ""
    return Text(f"{who}{when}: ", style="dim").append(question["question"], style="bold not dim")


def _say_farewell(output: Output, state: Path, seconds: float, ask: str, explain: str) -> None:
    """Where the pictures are, and what to try next: `ask` and `explain` are what these commands may be given."""
    pictures = sorted((state / "pages").glob("*.png"))
    output.narrate("", Rule(f"Done in {seconds:.0f} s", align="left"))
    if pictures:
        output.note("The cited pages, with the quotes marked:")
        for picture in pictures:
            output.note(f"  {_shorten_path(picture)}")
    place = _shorten_path(state)
    command = _shorten_path(Path(sys.executable).parent / "citemesh")
    output.note("Try next:")
    output.note(f"  {command} ask --state-dir {place} --trace {ask}")
    output.note(f"  {command} explain --state-dir {place} {explain}")
    output.note(f"  {command} documents list --state-dir {place}")
    output.note('  make demo FILES="a.pdf b.docx" ASK="..."       the same over files of your own')
    output.note(f"  {command} up --state-dir {place}               keeps the mesh running, for clients and for grpcurl")


def _shorten_path(path: Path) -> str:
    """A path as it can be typed where the demonstration was started."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
