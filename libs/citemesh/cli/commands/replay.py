"""`citemesh replay`: a recorded answer's decisions, made again."""

from __future__ import annotations

from typing import Annotated

import typer
from google.protobuf import json_format

from citemesh.cli.connection import connect
from citemesh.cli.exits import CommandError, Exit
from citemesh.cli.narration.words import count
from citemesh.cli.options import (
    DEFAULT_TIMEOUT_S,
    AsOption,
    Common,
    JsonOption,
    StateDirOption,
    TargetOption,
    TimeoutOption,
    read_common,
)
from citemesh.cli.output import Output, make_printable
from citemesh.cli.running import run
from citemesh.cli.text_input import read_text_input
from citemesh.rpc.calls import call
from citemesh.v1 import dispatcher_pb2, dispatcher_pb2_grpc


def replay(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="What `citemesh ask --json` printed; - reads it from stdin.")
    ],
    target: TargetOption = None,
    as_json: JsonOption = False,
    as_user: AsOption = None,
    timeout: TimeoutOption = DEFAULT_TIMEOUT_S,
    state_dir: StateDirOption = None,
) -> None:
    """Make the decisions of a recorded answer again. Exit code 0: the same, 3: some differ, each is named."""
    common = read_common(target, as_json, as_user, timeout, state_dir)
    run(_replay(common, read_recorded(file)))


def read_recorded(file: str) -> dispatcher_pb2.AnswerResponse:
    """The response in a file. Raises CommandError where it holds none."""
    try:
        return json_format.Parse(read_text_input(file), dispatcher_pb2.AnswerResponse())
    except json_format.ParseError as error:
        raise CommandError(f"{file} is not an AnswerResponse as `citemesh ask --json` prints it: {error}") from None


async def _replay(common: Common, recorded: dispatcher_pb2.AnswerResponse) -> Exit:
    output = Output(common.as_json)
    async with connect(common, output) as connection:
        stub = dispatcher_pb2_grpc.DispatcherServiceStub(connection.channel)
        request = dispatcher_pb2.ReplayRequest(recorded=recorded)
        response = await call(stub.Replay, request, timeout=connection.timeout_s, service="dispatcher")
    output.json(response)
    decisions = count(response.decision_count, "decision")
    if response.agrees:
        output.result(f"The same: {decisions}.")
        return Exit.ANSWERED
    output.result(f"{len(response.differences)} of {decisions} came out differently:")
    for difference in response.differences:
        line = f"  {difference.path}: recorded {difference.recorded}, now {difference.replayed}"
        output.result(make_printable(line))
    return Exit.ABSTAINED
