"""Runs question sets against a mesh: ingests once per store, then asks several questions at a time.

Each store is a tenant of its own, named after its files, so that sets cannot see each other and a second run finds
everything there. That needs a mesh in open auth: the evaluation speaks for tenants and users of its own making.
"""

from __future__ import annotations

import asyncio
import datetime
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

import grpc.aio

from citemesh.auth.principal import Principal, acting_as
from citemesh.evaluation.judge import Judgement, judge_answer
from citemesh.evaluation.question_set import Question, StoredFile
from citemesh.rpc.calls import call, send_stream
from citemesh.rpc.errors import ServiceError
from citemesh.v1 import (
    dispatcher_pb2,
    dispatcher_pb2_grpc,
    document_pb2,
    documents_pb2,
    documents_pb2_grpc,
    question_pb2,
)

INGESTS_AT_ONCE: Final = 4
QUESTIONS_AT_ONCE: Final = 8
_CHUNK_SIZE_BYTES: Final = 256 * 1024
_INGEST_TIMEOUT_S: Final = 300.0
_ROLES: Final = {"user": question_pb2.ROLE_USER, "assistant": question_pb2.ROLE_ASSISTANT}

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""


async def ingest_stores(
    questions: Iterable[Question], channel: grpc.aio.Channel, on_progress: Progress
) -> dict[str, list[str]]:
    """Ingest what the questions need, once per store. Returns, by store, what could not be ingested and why.

    Versions of one document go in by their dates, oldest first; different documents go in side by side.
    """
    stores = {question.store_key: question.files for question in questions}
    problems: dict[str, list[str]] = {key: [] for key in stores}
    total = sum(map(len, stores.values()))
    done = 0
    documents = documents_pb2_grpc.DocumentsServiceStub(channel)
    limit = asyncio.Semaphore(INGESTS_AT_ONCE)

    async def ingest_versions(key: str, versions: Sequence[StoredFile]) -> None:
        nonlocal done
        async with limit:
            # Who writes a document again must be able to read it.
            readers = frozenset(name for file in versions for name in file.allow)
            with acting_as(Principal(key, "evaluator", readers)):
                for file in versions:
                    try:
                        await send_stream(documents.Ingest, _read_parts(file), timeout=_INGEST_TIMEOUT_S)
                    except ServiceError as error:
                        problems[key].append(f"{file.path.name}: {error.message}")
                    done += 1
                    on_progress("ingest", done, total)

    by_document: dict[tuple[str, str], list[StoredFile]] = {}
    for key, files in stores.items():
        for file in files:
            by_document.setdefault((key, file.document_id), []).append(file)
    await asyncio.gather(*(ingest_versions(key, sorted(v, key=_start)) for (key, _), v in by_document.items()))
    return problems


async def ask_all(
    questions: Sequence[Question],
    channel: grpc.aio.Channel,
    on_progress: Progress,
    *,
    timeout_s: float = 30.0,
    on_response: Callable[[Question, dispatcher_pb2.AnswerResponse], None] | None = None,
) -> list[Judgement]:
    """Ask every question, QUESTIONS_AT_ONCE at a time, and judge the answers; in the order of the questions."""
    dispatcher = dispatcher_pb2_grpc.DispatcherServiceStub(channel)
    limit = asyncio.Semaphore(QUESTIONS_AT_ONCE)
    now = datetime.datetime.now(datetime.UTC)
    done = 0

    async def ask_one(question: Question) -> Judgement:
        nonlocal done
        async with limit:
            with acting_as(Principal(question.store_key, question.user, frozenset(question.groups))):
                start = time.perf_counter()
                try:
                    response = await call(dispatcher.Answer, make_request(question), timeout=timeout_s)
                except ServiceError as error:
                    # A failed call is a wrong answer, not the end of the run.
                    response = dispatcher_pb2.AnswerResponse(message=f"{error.message}")
                judgement = judge_answer(question, response, time.perf_counter() - start, now)
        if on_response is not None:
            on_response(question, response)
        done += 1
        on_progress("ask", done, len(questions))
        return judgement

    return await asyncio.gather(*map(ask_one, questions))


def make_request(question: Question) -> dispatcher_pb2.AnswerRequest:
    """The request that a caller of the row's kind would send."""
    request = dispatcher_pb2.AnswerRequest(
        question=question.text,
        history=[question_pb2.Turn(role=_ROLES[role], text=text) for role, text in question.history],
        request_id=question.question_id,
    )
    if question.as_of is not None:
        request.as_of_time.FromDatetime(question.as_of)
    if question.scope:
        request.scope.documents.document_ids.extend(question.scope)
    return request


async def _read_parts(file: StoredFile) -> AsyncIterator[documents_pb2.IngestRequest]:
    header = documents_pb2.IngestHeader(
        document_id=file.document_id, file_name=file.path.name, title=file.title, password=file.password
    )
    header.access.CopyFrom(_access(file))
    if file.effective_from is not None:
        header.effective_from_time.FromDatetime(file.effective_from)
    if file.effective_to is not None:
        header.effective_to_time.FromDatetime(file.effective_to)
    yield documents_pb2.IngestRequest(header=header)
    content = await asyncio.to_thread(Path.read_bytes, file.path)
    for start in range(0, len(content), _CHUNK_SIZE_BYTES):
        yield documents_pb2.IngestRequest(chunk=content[start : start + _CHUNK_SIZE_BYTES])


def _access(file: StoredFile) -> document_pb2.AccessPolicy:
    if not file.allow:
        return document_pb2.AccessPolicy(everyone=document_pb2.Everyone())
    # The sets name users and groups in one list.
    return document_pb2.AccessPolicy(only=document_pb2.AllowedPrincipals(users=file.allow, groups=file.allow))


def _start(file: StoredFile) -> float:
    return file.effective_from.timestamp() if file.effective_from else 0.0
