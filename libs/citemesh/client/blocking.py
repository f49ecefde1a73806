"""The blocking client."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from types import TracebackType
from typing import Any, Self, TypeVar

import grpc

from citemesh.auth.principal import Principal
from citemesh.client.connection import DISPATCHER, DOCUMENTS, RETRIEVAL, Token, make_connection
from citemesh.client.errors import to_citemesh_error
from citemesh.client.requests import (
    DEFAULT_LEGS,
    PAGE_SIZE,
    Access,
    AsOf,
    Legs,
    Question,
    Source,
    explain_request,
    ingest_header,
    ingest_messages,
    retrieve_request,
    to_scope,
    to_timestamp,
)
from citemesh.rpc.channels import open_blocking_channel
from citemesh.v1 import (
    answer_pb2,
    dispatcher_pb2,
    dispatcher_pb2_grpc,
    document_pb2,
    documents_pb2,
    documents_pb2_grpc,
    question_pb2,
    retrieval_pb2,
    retrieval_pb2_grpc,
)

Request = TypeVar("Request")
Response = TypeVar("Response")


class AnswerStream:
    """The events of one answer. Use it in a `with` block, whose end cancels what has not come yet."""

    def __init__(self, open_call: Callable[[], Any]) -> None:
        self._open_call = open_call
        self._call: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.cancel()

    def __iter__(self) -> Iterator[dispatcher_pb2.AnswerStreamResponse]:
        """The events in order. Raises CitemeshError; can be run through once."""
        if self._call is None:
            self._call = self._open_call()
        try:
            yield from self._call
        except grpc.RpcError as error:
            raise to_citemesh_error(error) from error
        finally:
            self.cancel()

    def cancel(self) -> None:
        """End the call, and with it the work at the mesh."""
        if self._call is not None:
            self._call.cancel()


class Client:
    """Asks a mesh and keeps its documents; safe to share between threads. Every method raises CitemeshError."""

    def __init__(
        self,
        target: str | None = None,
        *,
        documents_target: str | None = None,
        retrieval_target: str | None = None,
        token: Token = None,
        principal: Principal | None = None,
        timeout_s: float = 30.0,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        """`target` is host:port, dns:///name:port or unix:/path; None is the mesh that runs on this machine.

        The other targets are for a mesh whose services have addresses of their own. `token` is the bearer token, or a
        function that gives a fresh one; `principal` is for a mesh with open auth. `timeout_s` bounds every call that
        names no other. TLS is on where CITEMESH_CHANNEL_CA_FILE is set in `environ` (None: the process's).
        """
        self._connection = make_connection(
            target,
            documents_target=documents_target,
            retrieval_target=retrieval_target,
            token=token,
            principal=principal,
            timeout_s=timeout_s,
            environ=environ,
        )
        self._channels: list[grpc.Channel] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections; calls in flight end."""
        for channel in self._channels:
            channel.close()

    def ask(
        self,
        question: str,
        *,
        history: Iterable[question_pb2.Turn] = (),
        document_ids: Iterable[str] | None = None,
        as_of: AsOf = None,
        release_mode: answer_pb2.ReleaseMode.ValueType = answer_pb2.RELEASE_MODE_UNSPECIFIED,
        pipeline: str = "",
        max_iterations: int | None = None,
        request_id: str = "",
        timeout_s: float | None = None,
    ) -> dispatcher_pb2.AnswerResponse:
        """The answer to a question, with its citations, verdicts and history; see AnswerRequest for the limits.

        `document_ids` None asks over everything that the caller may read; `as_of` is a time with a zone, or a date.
        """
        asked = Question(question, history, document_ids, as_of, release_mode, pipeline, max_iterations, request_id)
        return self._call(self._dispatcher.Answer, asked.to_request(), timeout_s)

    def ask_stream(
        self,
        question: str,
        *,
        history: Iterable[question_pb2.Turn] = (),
        document_ids: Iterable[str] | None = None,
        as_of: AsOf = None,
        release_mode: answer_pb2.ReleaseMode.ValueType = answer_pb2.RELEASE_MODE_UNSPECIFIED,
        pipeline: str = "",
        max_iterations: int | None = None,
        request_id: str = "",
        timeout_s: float | None = None,
    ) -> AnswerStream:
        """The events of an answer as it is made: `with client.ask_stream(...) as events: for ...`.

        The last event holds the whole response. Leaving the block ends the work at the mesh.
        """
        asked = Question(question, history, document_ids, as_of, release_mode, pipeline, max_iterations, request_id)
        request = dispatcher_pb2.AnswerStreamRequest(request=asked.to_request())
        return AnswerStream(lambda: self._open(self._dispatcher.AnswerStream, request, timeout_s))

    def explain(
        self,
        question: str,
        *,
        history: Iterable[question_pb2.Turn] = (),
        document_ids: Iterable[str] | None = None,
        as_of: AsOf = None,
        timeout_s: float | None = None,
    ) -> dispatcher_pb2.ExplainResponse:
        """Which retrieval patterns the question would run, and why; no model is called."""
        request = explain_request(question, history, document_ids, as_of)
        return self._call(self._dispatcher.Explain, request, timeout_s)

    def replay(
        self, recorded: dispatcher_pb2.AnswerResponse, *, timeout_s: float | None = None
    ) -> dispatcher_pb2.ReplayResponse:
        """Make the decisions of a recorded answer again; the response says where they differ."""
        request = dispatcher_pb2.ReplayRequest(recorded=recorded)
        return self._call(self._dispatcher.Replay, request, timeout_s)

    def list_pipelines(self, *, timeout_s: float | None = None) -> list[dispatcher_pb2.Pipeline]:
        """The pipelines that `ask` may name."""
        request = dispatcher_pb2.ListPipelinesRequest()
        return list((self._call(self._dispatcher.ListPipelines, request, timeout_s)).pipelines)

    def search(
        self,
        text: str,
        *,
        legs: Legs = DEFAULT_LEGS,
        document_ids: Iterable[str] | None = None,
        as_of: AsOf = None,
        max_candidates: int = 0,
        timeout_s: float | None = None,
    ) -> retrieval_pb2.RetrieveResponse:
        """Passages for `text`, without an answer: best fused first, each with its place in every leg."""
        request = retrieve_request(text, legs, document_ids, as_of, max_candidates)
        return self._call(self._retrieval.Retrieve, request, timeout_s)

    def ingest(
        self,
        source: Source,
        *,
        file_name: str = "",
        document_id: str = "",
        title: str = "",
        access: Access | None = None,
        effective_from: AsOf = None,
        effective_to: AsOf = None,
        password: str = "",
        timeout_s: float | None = None,
    ) -> documents_pb2.IngestResponse:
        """Store a file, given by its path or (with a `file_name`) as bytes; once this returns, it is kept.

        `access` None means everyone of the tenant for a new document, and no change for a known one.
        Raises OSError where the file cannot be read.
        """
        header = ingest_header(
            source,
            file_name=file_name,
            document_id=document_id,
            title=title,
            access=access,
            effective_from=effective_from,
            effective_to=effective_to,
            password=password,
        )
        return self._send(self._documents.Ingest, ingest_messages(source, header), timeout_s)

    def list_documents(
        self, *, as_of: AsOf = None, include_superseded: bool = False, timeout_s: float | None = None
    ) -> Iterator[document_pb2.Document]:
        """Every document that the caller may read, fetched page by page; `timeout_s` is for each page."""
        request = documents_pb2.ListRequest(
            page_size=PAGE_SIZE, as_of_time=to_timestamp(as_of), include_superseded=include_superseded
        )
        while True:
            page = self._call(self._documents.List, request, timeout_s)
            yield from page.documents
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def get_document(
        self, document_id: str, *, document_version: int = 0, timeout_s: float | None = None
    ) -> documents_pb2.GetResponse:
        """A document with its sections and versions; version 0 is the one in force."""
        request = documents_pb2.GetRequest(document_id=document_id, document_version=document_version)
        return self._call(self._documents.Get, request, timeout_s)

    def profile(
        self, document_ids: Iterable[str] | None = None, *, as_of: AsOf = None, timeout_s: float | None = None
    ) -> document_pb2.ScopeProfile:
        """What is known about some documents, or all, without reading their meaning."""
        request = documents_pb2.ProfileRequest(scope=to_scope(document_ids), as_of_time=to_timestamp(as_of))
        return (self._call(self._documents.Profile, request, timeout_s)).scope_profile

    def delete_document(self, document_id: str, *, timeout_s: float | None = None) -> int:
        """Remove a document; returns how many versions it had."""
        request = documents_pb2.DeleteRequest(document_id=document_id)
        return (self._call(self._documents.Delete, request, timeout_s)).version_count

    def set_access(self, document_id: str, access: Access, *, timeout_s: float | None = None) -> int:
        """Change who may read a document, from the next request on; returns the new permission version."""
        request = documents_pb2.SetAccessRequest(document_id=document_id, access=access.policy)
        return (self._call(self._documents.SetAccess, request, timeout_s)).permission_version

    def render_page(
        self,
        document_id: str,
        page_number: int,
        *,
        quotes: Iterable[str] = (),
        document_version: int = 0,
        timeout_s: float | None = None,
    ) -> bytes:
        """A page, from 1, as PNG with the quotes highlighted."""
        request = documents_pb2.RenderPageRequest(
            document_id=document_id,
            document_version=document_version,
            page_number=page_number,
            highlights=[documents_pb2.Highlight(quote=quote) for quote in quotes],
        )
        return (self._call(self._documents.RenderPage, request, timeout_s)).png

    @cached_property
    def _dispatcher(self) -> dispatcher_pb2_grpc.DispatcherServiceStub:
        return dispatcher_pb2_grpc.DispatcherServiceStub(self._channel(DISPATCHER))

    @cached_property
    def _documents(self) -> documents_pb2_grpc.DocumentsServiceStub:
        return documents_pb2_grpc.DocumentsServiceStub(self._channel(DOCUMENTS))

    @cached_property
    def _retrieval(self) -> retrieval_pb2_grpc.RetrievalServiceStub:
        return retrieval_pb2_grpc.RetrievalServiceStub(self._channel(RETRIEVAL))

    def _channel(self, service: str) -> grpc.Channel:
        connection = self._connection
        channel = open_blocking_channel(
            connection.targets[service],
            connection.environ,
            watch_health=connection.watches_health(service),
            health_service=service,
        )
        self._channels.append(channel)
        return channel

    def _call(
        self, method: grpc.UnaryUnaryMultiCallable[Request, Response], request: Request, timeout_s: float | None
    ) -> Response:
        try:
            return method(request, timeout=self._connection.timeout(timeout_s), metadata=self._connection.metadata())
        except grpc.RpcError as error:
            raise to_citemesh_error(error) from error

    def _send(
        self,
        method: grpc.StreamUnaryMultiCallable[Request, Response],
        requests: Iterator[Request],
        timeout_s: float | None,
    ) -> Response:
        try:
            return method(requests, timeout=self._connection.timeout(timeout_s), metadata=self._connection.metadata())
        except grpc.RpcError as error:
            raise to_citemesh_error(error) from error

    def _open(
        self, method: grpc.UnaryStreamMultiCallable[Request, Response], request: Request, timeout_s: float | None
    ) -> Any:
        return method(request, timeout=self._connection.timeout(timeout_s), metadata=self._connection.metadata())
