"""`citemesh explain`: which patterns a question would run, and why. No model is called."""

from __future__ import annotations

from typing import Annotated

import typer

from citemesh.cli.commands.ask import HistoryOption, read_history
from citemesh.cli.connection import connect
from citemesh.cli.narration.question import narrate_every_activation, narrate_question, narrate_scope
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
from citemesh.cli.output import Output
from citemesh.cli.running import run
from citemesh.rpc.calls import call
from citemesh.v1 import dispatcher_pb2, dispatcher_pb2_grpc


def explain(
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="The question.")],
    history: HistoryOption = None,
    as_of: AsOfOption = None,
    document: DocumentOption = None,
    target: TargetOption = None,
    as_json: JsonOption = False,
    as_user: AsOption = None,
    timeout: TimeoutOption = DEFAULT_TIMEOUT_S,
    state_dir: StateDirOption = None,
) -> None:
    """Say which patterns a question would run, each with its rule and reason. No model is called."""
    common = read_common(target, as_json, as_user, timeout, state_dir)
    request = dispatcher_pb2.ExplainRequest(
        question=question,
        history=read_history(history),
        scope=make_scope(document),
        as_of_time=read_time(as_of, "--as-of"),
    )
    run(_explain(common, request))


async def _explain(common: Common, request: dispatcher_pb2.ExplainRequest) -> None:
    output = Output(common.as_json)
    async with connect(common, output) as connection:
        stub = dispatcher_pb2_grpc.DispatcherServiceStub(connection.channel)
        response = await call(stub.Explain, request, timeout=connection.timeout_s, service="dispatcher")
    output.json(response)
    output.narrate(*narrate_question(response.parsed_question))
    output.narrate(*narrate_scope(response.scope_profile))
    output.result(*narrate_every_activation(response.activations))
