"""`python -m tests.bench.stub_stages ADDRESS bare|intercepted`: the stages, answering at once, in their own process.

Bare is a plain grpc.aio server; intercepted is our host, with its interceptor, over the same handlers.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import grpc.aio
import uvloop
from google.protobuf import descriptor_pool
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from citemesh.rpc.host import run
from citemesh.rpc.spec import ServiceSpec, StartContext
from tests.bench import canned

LAST_REQUEST = "/citemesh.bench.Stages/LastRequest"
"""Method name in, the bytes of its last request out: so that a bare hop carries what the dispatcher really sends."""

Answer = Callable[[Any], Message]
"""From the request to the response."""


def _always(response: Message) -> Answer:
    return lambda _: response


def make_answers() -> dict[str, dict[str, Answer]]:
    """What each method of each service answers."""
    return {
        "QueryService": {"Understand": _always(canned.understand_response())},
        "DocumentsService": {"Profile": _always(canned.profile_response())},
        "RetrievalService": {"Retrieve": canned.Retrieval(), "GetPassages": canned.passages_response},
        "RerankService": {
            "Rerank": _always(canned.rerank_response()),
            "AssembleContext": _always(canned.assemble_response()),
        },
        "GenerationService": {"Generate": _always(canned.generate_response())},
        "ValidationService": {"Validate": _always(canned.validate_response())},
    }


class StubStages:
    """The handlers of all stages; each keeps its last request."""

    def __init__(self) -> None:
        self._last: dict[str, Message] = {}

    def register(self, server: grpc.aio.Server) -> None:
        """Add the handlers of every stage."""
        for service, methods in make_answers().items():
            full_name = f"citemesh.v1.{service}"
            descriptor = descriptor_pool.Default().FindServiceByName(full_name)
            handlers = {}
            for name, answer in methods.items():
                method = descriptor.methods_by_name[name]
                handlers[name] = grpc.unary_unary_rpc_method_handler(
                    self._answer(name, answer),
                    request_deserializer=GetMessageClass(method.input_type).FromString,
                    response_serializer=GetMessageClass(method.output_type).SerializeToString,
                )
            server.add_registered_method_handlers(full_name, handlers)
        service, _, name = LAST_REQUEST.lstrip("/").rpartition("/")
        server.add_registered_method_handlers(service, {name: grpc.unary_unary_rpc_method_handler(self._tell_last)})

    async def check(self) -> str | None:
        """Always serving."""
        return None

    async def close(self) -> None:
        """Nothing to release."""

    def _answer(self, name: str, answer: Answer) -> Callable[[Message, Any], Awaitable[Message]]:
        async def handle(request: Message, _context: object) -> Message:
            self._last[name] = request
            return answer(request)

        return handle

    async def _tell_last(self, name: bytes, _context: object) -> bytes:
        return self._last[name.decode()].SerializeToString()


async def serve_bare(address: str) -> None:
    """A server without options or interceptors, until SIGTERM."""
    server = grpc.aio.server()
    StubStages().register(server)
    server.add_insecure_port(address)
    await server.start()
    _say_ready()
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    await ended.wait()
    await server.stop(None)


def serve_intercepted(address: str) -> None:
    """The same handlers, hosted as a service is."""

    async def start(_: StartContext) -> StubStages:
        return StubStages()

    spec = ServiceSpec(name="query", full_name="citemesh.v1.QueryService", needs=(), start=start)
    run([spec], os.environ | {"CITEMESH_HOST_LISTEN_ADDRESS": address}, lambda _: _say_ready())


def _say_ready() -> None:
    sys.stdout.write(json.dumps({"ready": True, "problems": {}, "metrics": ""}) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    if sys.argv[2] == "bare":
        uvloop.run(serve_bare(sys.argv[1]))
    else:
        serve_intercepted(sys.argv[1])
