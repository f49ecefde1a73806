"""A scripted mesh for the real host, and the command run against it as a process of its own."""

# ruff: noqa: N802 - the methods have the names of the contract

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc.aio

from citemesh.auth.principal import Principal, current_principal
from citemesh.rpc.errors import ServiceError, invalid_argument
from citemesh.rpc.spec import ServiceSpec, StartContext
from citemesh.v1 import (
    activation_pb2,
    answer_pb2,
    budget_pb2,
    dispatcher_pb2,
    dispatcher_pb2_grpc,
    document_pb2,
    documents_pb2,
    documents_pb2_grpc,
    errors_pb2,
    evidence_pb2,
    history_pb2,
    question_pb2,
    rerank_pb2,
    rerank_pb2_grpc,
    retrieval_pb2,
    retrieval_pb2_grpc,
    validation_pb2,
    validation_pb2_grpc,
)

# The smallest PNG there is.
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108000000003a7e9b55"
    "0000000a49444154789c63600000000200015e221bb40000000049454e44ae426082"
)

PATTERNS = [value for value in activation_pb2.Pattern.values() if value != activation_pb2.PATTERN_UNSPECIFIED]


def make_answer(question: str, outcome: answer_pb2.AnswerOutcome.ValueType) -> dispatcher_pb2.AnswerResponse:
    """A whole response with two citations, as a dispatcher would give it."""
    response = dispatcher_pb2.AnswerResponse(outcome=outcome, request_id="r1")
    response.parsed_question.original_question = question
    response.parsed_question.intent = question_pb2.INTENT_FACTOID
    response.parsed_question.retrieval.anchor_keywords.extend(["meal", "allowance"])
    response.scope_profile.document_count = 2
    for pattern in PATTERNS:
        active = pattern in (activation_pb2.PATTERN_KEYWORD, activation_pb2.PATTERN_TWO_HOP_REFERENCES)
        response.activations.activations.add(pattern=pattern, active=active, rule_id="rule.x", reason="because")
    candidate = response.candidates.add(
        passage_id="p1", document_id="travel", title="Travel policy", page_first=3, evidence_id="E1", relevance=0.91
    )
    candidate.leg_ranks.add(leg=activation_pb2.PATTERN_KEYWORD, query=question, rank=1)
    record = response.history.add(iteration_number=1, trigger=history_pb2.TRIGGER_FIRST_PASS, confidence_after=0.8)
    record.result_summary = "found 1 passage"
    response.stop_reason = history_pb2.STOP_REASON_SATISFIED
    response.stage_reports.add(stage=budget_pb2.STAGE_RETRIEVE, iteration_number=1, branch="embedded")
    if outcome == answer_pb2.ANSWER_OUTCOME_ANSWERED:
        response.answer.text = "It is EUR 64 [1], and half on the first day [2]."
        for number, quote in enumerate(("EUR 64", "half of the allowance"), start=1):
            claim = response.answer.claims.add(claim_id=f"C{number}", text=quote)
            claim.citations.add(
                evidence_id="E1", quote=quote, document_id="travel", document_version=2, title="Travel policy",
                section_path=["Travel policy", "4 Meals"], page_number=3,
            )  # fmt: skip
            response.verdicts.add(claim_id=f"C{number}", verdict=answer_pb2.VERDICT_SUPPORTED, support=0.9, reason="ok")
        response.evidence.add(evidence_id="E1", document_id="travel", text="EUR 64, half of the allowance")
    else:
        response.message = "I cannot confirm that from the documents."
    return response


@dataclass
class Script:
    """What the scripted services answer, and what they were asked."""

    answers: dict[str, dispatcher_pb2.AnswerResponse] = field(default_factory=dict)
    errors: dict[str, ServiceError] = field(default_factory=dict)
    passing: dict[str, list[ServiceError]] = field(default_factory=dict)
    """Errors that come once each, before the call succeeds."""
    documents: list[document_pb2.Document] = field(default_factory=list)
    """What List gives on its first page; empty: two documents on two pages."""
    requests: list[Any] = field(default_factory=list)
    principals: list[Principal] = field(default_factory=list)
    ingested: dict[str, bytes] = field(default_factory=dict)
    stored: document_pb2.Document | None = None
    """What Ingest gives as a new version; None: a document of its header."""
    delay_s: float = 0.0

    async def note(self, rpc: str, request: Any) -> None:
        """Remember a request; fail or wait as scripted."""
        self.requests.append(request)
        self.principals.append(current_principal())
        await asyncio.sleep(self.delay_s)
        if self.passing.get(rpc):
            raise self.passing[rpc].pop()
        if rpc in self.errors:
            raise self.errors[rpc]


class Dispatcher(dispatcher_pb2_grpc.DispatcherServiceServicer):
    def __init__(self, script: Script) -> None:
        self.script = script

    async def Answer(self, request: Any, context: Any) -> Any:
        await self.script.note("Answer", request)
        if not request.question.strip():
            raise invalid_argument("question", "must not be empty")
        return self.script.answers.get(request.question) or make_answer(
            request.question, answer_pb2.ANSWER_OUTCOME_ANSWERED
        )

    async def AnswerStream(self, request: Any, context: Any) -> AsyncIterator[Any]:
        await self.script.note("AnswerStream", request)
        yield dispatcher_pb2.AnswerStreamResponse(claim=answer_pb2.Claim(claim_id="C1", text="It is EUR 64."))
        response = make_answer(request.request.question, answer_pb2.ANSWER_OUTCOME_ANSWERED)
        yield dispatcher_pb2.AnswerStreamResponse(response=response)

    async def Explain(self, request: Any, context: Any) -> Any:
        await self.script.note("Explain", request)
        response = make_answer(request.question, answer_pb2.ANSWER_OUTCOME_ANSWERED)
        return dispatcher_pb2.ExplainResponse(
            parsed_question=response.parsed_question, activations=response.activations
        )

    async def Replay(self, request: Any, context: Any) -> Any:
        await self.script.note("Replay", request)
        if request.recorded.stop_reason == history_pb2.STOP_REASON_SATISFIED:
            return dispatcher_pb2.ReplayResponse(agrees=True, decision_count=9)
        difference = dispatcher_pb2.ReplayDifference(path="stop_reason", recorded="DRIFT", replayed="SATISFIED")
        return dispatcher_pb2.ReplayResponse(agrees=False, differences=[difference], decision_count=9)


class Documents(documents_pb2_grpc.DocumentsServiceServicer):
    def __init__(self, script: Script) -> None:
        self.script = script

    async def Ingest(self, requests: Any, context: Any) -> Any:
        header, content = documents_pb2.IngestHeader(), b""
        async for request in requests:
            if request.HasField("header"):
                header = request.header
            content += request.chunk
        await self.script.note("Ingest", header)
        if content.startswith(b"broken"):
            raise ServiceError(errors_pb2.ERROR_REASON_FILE_CORRUPT, "The file is damaged beyond reading.")
        document_id = header.document_id or Path(header.file_name).stem
        if self.script.stored is not None:
            result = documents_pb2.INGEST_RESULT_NEW_VERSION
            return documents_pb2.IngestResponse(document=self.script.stored, result=result)
        known = self.script.ingested.get(document_id) == content
        self.script.ingested[document_id] = content
        document = document_pb2.Document(document_id=document_id, document_version=1, passage_count=5)
        result = documents_pb2.INGEST_RESULT_UNCHANGED if known else documents_pb2.INGEST_RESULT_CREATED
        return documents_pb2.IngestResponse(document=document, result=result)

    async def List(self, request: Any, context: Any) -> Any:
        await self.script.note("List", request)
        if self.script.documents:
            return documents_pb2.ListResponse(documents=self.script.documents)
        # Two pages, so that the command has to go on.
        page = 2 if request.page_token else 1
        document = document_pb2.Document(document_id=f"doc{page}", document_version=page, title="A\x1b[31mtitle")
        document.access.everyone.SetInParent()
        return documents_pb2.ListResponse(documents=[document], next_page_token="" if page == 2 else "next")

    async def Get(self, request: Any, context: Any) -> Any:
        await self.script.note("Get", request)
        versions = [each for each in self.script.documents if each.document_id == request.document_id]
        if versions:
            return documents_pb2.GetResponse(document=versions[0], versions=versions)
        raise ServiceError(
            errors_pb2.ERROR_REASON_DOCUMENT_NOT_FOUND, "There is no such document.", document_id=request.document_id
        )

    async def Profile(self, request: Any, context: Any) -> Any:
        await self.script.note("Profile", request)
        return documents_pb2.ProfileResponse(scope_profile=document_pb2.ScopeProfile(document_count=2))

    async def Delete(self, request: Any, context: Any) -> Any:
        await self.script.note("Delete", request)
        return documents_pb2.DeleteResponse(version_count=2)

    async def SetAccess(self, request: Any, context: Any) -> Any:
        await self.script.note("SetAccess", request)
        return documents_pb2.SetAccessResponse(permission_version=7)

    async def RenderPage(self, request: Any, context: Any) -> Any:
        await self.script.note("RenderPage", request)
        return documents_pb2.RenderPageResponse(png=PNG)


class Retrieval(retrieval_pb2_grpc.RetrievalServiceServicer):
    def __init__(self, script: Script) -> None:
        self.script = script

    async def Retrieve(self, request: Any, context: Any) -> Any:
        await self.script.note("Retrieve", request)
        response = retrieval_pb2.RetrieveResponse()
        for number in (1, 2, 3):
            passage = evidence_pb2.Passage(passage_id=f"p{number}", title="Travel policy", text=f"text {number}")
            passage.document_id = f"d{number}"
            response.candidates.add(passage=passage, fused_score=1.0 / number)
        return response

    async def FollowReferences(self, request: Any, context: Any) -> Any:
        await self.script.note("FollowReferences", request)
        return retrieval_pb2.FollowReferencesResponse()

    async def DescribeIndex(self, request: Any, context: Any) -> Any:
        await self.script.note("DescribeIndex", request)
        return retrieval_pb2.DescribeIndexResponse(store="embedded", document_count=2, passage_count=9)


class Rerank(rerank_pb2_grpc.RerankServiceServicer):
    def __init__(self, script: Script) -> None:
        self.script = script

    async def Rerank(self, request: Any, context: Any) -> Any:
        await self.script.note("Rerank", request)
        # The first stage's last comes first.
        scores = [
            rerank_pb2.PairScore(passage_id=pair.passage_id, rerank_score=float(index), relevance=index / 10)
            for index, pair in reversed(list(enumerate(request.passages)))
        ]
        return rerank_pb2.RerankResponse(scores=scores)


class Validation(validation_pb2_grpc.ValidationServiceServicer):
    def __init__(self, script: Script) -> None:
        self.script = script

    async def Validate(self, request: Any, context: Any) -> Any:
        await self.script.note("Validate", request)
        claim, unit = request.answer.claims[0], request.evidence[0]
        quoted = unit.text[claim.citations[0].start_offset : claim.citations[0].end_offset]
        supported = claim.text in quoted
        verdict = answer_pb2.VERDICT_SUPPORTED if supported else answer_pb2.VERDICT_UNSUPPORTED
        return validation_pb2.ValidateResponse(
            verdicts=[answer_pb2.ClaimVerdict(claim_id=claim.claim_id, verdict=verdict, reason="compared")]
        )


class Running:
    """A started service, as its host sees it."""

    def __init__(self, add: Callable[[Any, grpc.aio.Server], None], servicer: Any) -> None:
        self._add, self._servicer = add, servicer

    def register(self, server: grpc.aio.Server) -> None:
        self._add(self._servicer, server)

    async def check(self) -> str | None:
        return None

    async def close(self) -> None:
        return None


def _make_spec(name: str, class_name: str, module: Any, servicer: Any) -> ServiceSpec:
    async def start(_context: StartContext) -> Running:
        return Running(getattr(module, f"add_{class_name}Servicer_to_server"), servicer)

    return ServiceSpec(name=name, full_name=f"citemesh.v1.{class_name}", needs=(), start=start)


def make_specs(script: Script) -> list[ServiceSpec]:
    """The scripted services. Each scripts what the command calls; the other methods answer UNIMPLEMENTED."""
    parts: list[tuple[str, str, Any, Any]] = [
        ("dispatcher", "Dispatcher", dispatcher_pb2_grpc, Dispatcher),
        ("documents", "Documents", documents_pb2_grpc, Documents),
        ("retrieval", "Retrieval", retrieval_pb2_grpc, Retrieval),
        ("rerank", "Rerank", rerank_pb2_grpc, Rerank),
        ("validation", "Validation", validation_pb2_grpc, Validation),
    ]
    return [_make_spec(name, f"{word}Service", module, servicer(script)) for name, word, module, servicer in parts]


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """stdout as one JSON value: nothing else may be there."""
        return json.loads(self.out)


Command = Callable[..., Awaitable[Ended]]


async def run_command(*arguments: str, cwd: Path, environ: dict[str, str], stdin: bytes = b"") -> Ended:
    """Run the command in a process of its own; a hang fails the test."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "citemesh.cli", *arguments,
        cwd=cwd, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "COLUMNS": "160", "NO_COLOR": "1", **environ},
    )  # fmt: skip
    try:
        out, err = await asyncio.wait_for(process.communicate(stdin), timeout=60)
    except TimeoutError:
        process.kill()
        raise
    return Ended(process.returncode or 0, out.decode(), err.decode())
