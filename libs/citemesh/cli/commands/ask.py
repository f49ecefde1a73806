"""`citemesh ask`: one question, its answer, and on request how it was reached."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from citemesh.cli.connection import Connection, connect
from citemesh.cli.exits import CommandError, Exit, exit_of_outcome
from citemesh.cli.highlights import write_highlights
from citemesh.cli.narration.answer import describe_outcome, narrate_answer, narrate_verdicts
from citemesh.cli.narration.passes import narrate_candidates, narrate_passes, narrate_stages
from citemesh.cli.narration.question import narrate_activations, narrate_question, narrate_scope
from citemesh.cli.options import (
    DEFAULT_TIMEOUT_S,
    AsOfOption,
    AsOption,
    Common,
    DocumentOption,
    JsonOption,
    StateDirOption,
    TargetOption,
    TimeoutOption,
    make_scope,
    read_common,
    read_time,
)
from citemesh.cli.output import Output, make_printable
from citemesh.cli.running import run
from citemesh.rpc.calls import call, open_stream
from citemesh.v1 import answer_pb2, dispatcher_pb2, dispatcher_pb2_grpc, question_pb2

_ROLES: Final = {"user": question_pb2.ROLE_USER, "assistant": question_pb2.ROLE_ASSISTANT}


class Release(StrEnum):
    """When text leaves the mesh."""

    BUFFERED = "buffered"
    CLAIMS = "claims"
    UNVALIDATED = "unvalidated"


_RELEASE_MODES: Final = {
    Release.BUFFERED: answer_pb2.RELEASE_MODE_BUFFERED,
    Release.CLAIMS: answer_pb2.RELEASE_MODE_VALIDATED_CLAIMS,
    Release.UNVALIDATED: answer_pb2.RELEASE_MODE_UNVALIDATED,
}

HistoryOption = Annotated[
    Path | None,
    typer.Option(
        "--history",
        metavar="FILE",
        show_default=False,
        exists=True,
        dir_okay=False,
        help='Earlier turns as a JSON list of {"role": "user" or "assistant", "text": ...}, oldest first.',
    ),
]


def ask(
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="The question.")],
    history: HistoryOption = None,
    as_of: AsOfOption = None,
    document: DocumentOption = None,
    pipeline: Annotated[str, typer.Option("--pipeline", metavar="NAME", help="The pipeline to run.")] = "",
    release: Annotated[
        Release,
        typer.Option("--release", help="When text leaves: whole and validated, claim by claim, or as generated."),
    ] = Release.BUFFERED,
    highlight: Annotated[
        Path | None,
        typer.Option(
            "--highlight",
            metavar="DIR",
            show_default=False,
            file_okay=False,
            help="Write pictures of the cited pages there, with the quotes marked.",
        ),
    ] = None,
    trace: Annotated[bool, typer.Option("--trace", help="Tell on stderr how the answer was reached.")] = False,
    target: TargetOption = None,
    as_json: JsonOption = False,
    as_user: AsOption = None,
    timeout: TimeoutOption = DEFAULT_TIMEOUT_S,
    state_dir: StateDirOption = None,
) -> None:
    """Ask a question over the documents. Exit code 0: answered, 3: abstained or asks back, 4: withheld."""
    common = read_common(target, as_json, as_user, timeout, state_dir)
    request = dispatcher_pb2.AnswerRequest(
        question=question,
        history=read_history(history),
        scope=make_scope(document),
        as_of_time=read_time(as_of, "--as-of"),
        release_mode=_RELEASE_MODES[release],
        pipeline=pipeline,
    )
    run(_ask(common, request, trace=trace, highlight=highlight))


def read_history(path: Path | None) -> list[question_pb2.Turn]:
    """The turns in a history file. Raises CommandError where it is not such a file."""
    if path is None:
        return []
    try:
        turns = json.loads(path.read_text(encoding="utf-8"))
        return [question_pb2.Turn(role=_ROLES[turn["role"]], text=turn["text"]) for turn in turns]
    except (ValueError, KeyError, TypeError):
        expected = '[{"role": "user", "text": "..."}, {"role": "assistant", "text": "..."}]'
        raise CommandError(f"--history: {path} is not a list of turns; write it as {expected}") from None


async def _ask(common: Common, request: dispatcher_pb2.AnswerRequest, *, trace: bool, highlight: Path | None) -> Exit:
    output = Output(common.as_json)
    async with connect(common, output) as connection:
        response = await fetch_answer(connection, request, output)
        if trace:
            narrate_trace(output, response)
        output.json(response)
        show_answer(output, response, was_streamed=_is_streamed(request, output))
        if highlight is not None:
            written = await write_highlights(connection, response, highlight)
            output.note(f"Pictures of the cited pages: {', '.join(map(str, written)) or 'none, no cited page has one'}")
    return exit_of_outcome(response.outcome)


def _is_streamed(request: dispatcher_pb2.AnswerRequest, output: Output) -> bool:
    return request.release_mode != answer_pb2.RELEASE_MODE_BUFFERED and not output.as_json


async def fetch_answer(
    connection: Connection, request: dispatcher_pb2.AnswerRequest, output: Output
) -> dispatcher_pb2.AnswerResponse:
    """The answer to one request; where text may leave early, it is printed as it comes."""
    stub = dispatcher_pb2_grpc.DispatcherServiceStub(connection.channel)
    if not _is_streamed(request, output):
        return await call(stub.Answer, request, timeout=connection.timeout_s, service="dispatcher")
    wrapped = dispatcher_pb2.AnswerStreamRequest(request=request)
    response = dispatcher_pb2.AnswerResponse()
    async with open_stream(stub.AnswerStream, wrapped, timeout=connection.timeout_s, service="dispatcher") as events:
        async for event in events:
            kind = event.WhichOneof("event")
            if kind == "claim":
                output.result(make_printable(event.claim.text))
            elif kind == "text_delta":
                output.result_part(make_printable(event.text_delta))
            elif kind == "response":
                response = event.response
    return response


def show_answer(output: Output, response: dispatcher_pb2.AnswerResponse, *, was_streamed: bool = False) -> None:
    """The answer on stdout. What was streamed is repeated whole: only the end is validated and has its sources."""
    if was_streamed and response.answer.text:
        output.result("")
    output.result(*narrate_answer(response))
    if response.outcome != answer_pb2.ANSWER_OUTCOME_ANSWERED:
        output.narrate(describe_outcome(response))
    if response.review_id:
        output.note(f"The answer waits for review as {response.review_id}.")


def narrate_trace(output: Output, response: dispatcher_pb2.AnswerResponse) -> None:
    """On stderr: what was understood, what ran and why, what was found, each pass, the verdicts, the time per stage."""
    output.narrate(*narrate_question(response.parsed_question))
    output.narrate(*narrate_scope(response.scope_profile))
    if response.activations.activations:
        output.narrate(*narrate_activations(response.activations))
    output.narrate(*narrate_candidates(response.candidates))
    output.narrate(*narrate_passes(response))
    output.narrate(*narrate_verdicts(response))
    output.narrate(*narrate_stages(response))
