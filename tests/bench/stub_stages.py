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
from citemesh.v1 import retrieval_pb2
from tests.bench import canned

LAST_REQUEST = "/citemesh.bench.Stages/LastRequest"
"""Method name in, the bytes of its last request out: so that a bare hop carries what the dispatcher really sends."""

RESPONSES: dict[str, dict[str, Callable[[], Message]]] = {
    "QueryService": {"Understand": canned.understand_response},
    "DocumentsService": {"Profile": canned.profile_response},
    "RetrievalService": {"Retrieve": canned.retrieve_response, "GetPassages": canned.passages_response},
    "RerankService": {"Rerank": canned.rerank_response, "AssembleContext": canned.assemble_response},
    "GenerationService": {"Generate": canned.generate_response},
    "ValidationService": {"Validate": canned.validate_response},
}


class StubStages:
    """The handlers of all stages; each keeps its last request."""

    def __init__(self) -> None:
        self._last: dict[str, Message] = {}

    def register(self, server: grpc.aio.Server) -> None:
        """Add the handlers of every stage."""
        for service, methods in RESPONSES.items():
            full_name = f"citemesh.v1.{service}"
            descriptor = descriptor_pool.Default().FindServiceByName(full_name)
            handlers = {}
            for name, make in methods.items():
                method = descriptor.methods_by_name[name]
                handlers[name] = grpc.unary_unary_rpc_method_handler(
                    self._retrieve() if name == "Retrieve" else self._answer(name, make()),
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

    def _answer(self, name: str, response: Message) -> Callable[[Message, Any], Awaitable[Message]]:
        async def handle(request: Message, _context: object) -> Message:
            self._last[name] = request
            return response

        return handle

    def _retrieve(self) -> Callable[[Message, Any], Awaitable[Message]]:
        """As retrieval does it: a caller who wants rankings alone gets no candidates."""
        whole, rankings = canned.retrieve_response(), canned.retrieve_response()
        rankings.ClearField("candidates")

        async def handle(request: Message, _context: object) -> Message:
            assert isinstance(request, retrieval_pb2.RetrieveRequest)
            self._last["Retrieve"] = request
            return rankings if request.rankings_only else whole

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
