"""Six scripted services around a real dispatcher, hosted by the real host: what the dispatcher's tests stand on.

The scripts are small on purpose: search is by shared words, relevance by a set of passage ids, answers quote the first
sentence of what is relevant. A test changes one thing: a delay, a failure, a revoked passage, another answer.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc.aio

from citemesh.auth.principal import Principal, open_metadata
from citemesh.rpc.errors import ServiceError
from citemesh.rpc.host import hosted
from citemesh.rpc.spec import ServiceSpec, StartContext
from citemesh.v1 import (
    answer_pb2,
    budget_pb2,
    dispatcher_pb2_grpc,
    document_pb2,
    documents_pb2,
    documents_pb2_grpc,
    errors_pb2,
    evidence_pb2,
    generation_pb2,
    generation_pb2_grpc,
    query_pb2,
    query_pb2_grpc,
    question_pb2,
    rerank_pb2,
    rerank_pb2_grpc,
    retrieval_pb2,
    retrieval_pb2_grpc,
    validation_pb2,
    validation_pb2_grpc,
)
from services.dispatcher.service import SPEC
from tests.unit.services.dispatcher.scripts import PASSAGES, judge_all, parsed, write_answer

ANA = Principal("acme", "ana", frozenset({"staff"}))


@dataclass
class FakeMesh:
    """The scripts, the faults to inject, and what was called."""

    passages: tuple[evidence_pb2.Passage, ...] = PASSAGES
    relevant: frozenset[str] = frozenset({"p1", "p2", "p4"})
    """Passages with relevance 0.9; others have 0.02."""

    parse: Callable[[str], question_pb2.ParsedQuestion] = parsed
    write: Callable[[generation_pb2.GenerateRequest], answer_pb2.AnswerWithEvidence] = write_answer
    judge: Callable[[validation_pb2.ValidateRequest], validation_pb2.ValidateResponse] = judge_all
    profile: document_pb2.ScopeProfile = field(
        default_factory=lambda: document_pb2.ScopeProfile(
            document_count=1,
            profiles=[document_pb2.DocumentProfile(document_id="manual", page_count=10, language="en")],
            languages=["en"],
        )
    )
    listing: retrieval_pb2.ListItemsResponse = field(default_factory=retrieval_pb2.ListItemsResponse)
    follow_up: query_pb2.FollowUpDecision = field(default_factory=query_pb2.FollowUpDecision)
    hidden: set[str] = field(default_factory=set)
    """Passages that GetPassages does not find (any more)."""

    superseded: set[str] = field(default_factory=set)
    failed_legs: dict[int, str] = field(default_factory=dict)
    delays_s: dict[str, float] = field(default_factory=dict)
    """By RPC name; "Generate:2" is the second call only."""

    failures: dict[str, errors_pb2.ErrorReason.ValueType] = field(default_factory=dict)
    """By RPC name, likewise; "Generate:2+" is every call from the second on (the channel tries failed calls again)."""

    calls: list[tuple[str, Any]] = field(default_factory=list)
    running: Counter[str] = field(default_factory=Counter)
    count: Counter[str] = field(default_factory=Counter)
    stub: Any = None
    """Calls the dispatcher; set while it runs."""

    def requests(self, name: str) -> list[Any]:
        """The requests of one RPC, in order."""
        return [request for called, request in self.calls if called == name]

    @asynccontextmanager
    async def entered(self, name: str, request: Any) -> AsyncIterator[None]:
        """Count a call, and slow it down or fail it as the test wants."""
        self.calls.append((name, request))
        self.count[name] += 1
        numbered = f"{name}:{self.count[name]}"
        self.running[name] += 1
        try:
            await asyncio.sleep(self.delays_s.get(numbered, self.delays_s.get(name, 0.0)))
            later = next((f"{name}:{n}+" for n in range(self.count[name] + 1) if f"{name}:{n}+" in self.failures), "")
            reason = self.failures.get(later, self.failures.get(numbered, self.failures.get(name)))
            if reason is not None:
                raise ServiceError(reason, "injected")
            yield
        finally:
            self.running[name] -= 1


class Query(query_pb2_grpc.QueryServiceServicer):
    def __init__(self, mesh: FakeMesh) -> None:
        self.mesh = mesh

    async def Understand(self, request: query_pb2.UnderstandRequest, context: Any) -> query_pb2.UnderstandResponse:  # noqa: N802
        async with self.mesh.entered("Understand", request):
            return query_pb2.UnderstandResponse(parsed_question=self.mesh.parse(request.question), branch="rules")

    async def DecideFollowUp(self, request: Any, context: Any) -> query_pb2.DecideFollowUpResponse:  # noqa: N802
        async with self.mesh.entered("DecideFollowUp", request):
            return query_pb2.DecideFollowUpResponse(decision=self.mesh.follow_up, branch="rules")


class Documents(documents_pb2_grpc.DocumentsServiceServicer):
    def __init__(self, mesh: FakeMesh) -> None:
        self.mesh = mesh

    async def Profile(self, request: Any, context: Any) -> documents_pb2.ProfileResponse:  # noqa: N802
        async with self.mesh.entered("Profile", request):
            return documents_pb2.ProfileResponse(scope_profile=self.mesh.profile)

    async def Get(self, request: documents_pb2.GetRequest, context: Any) -> documents_pb2.GetResponse:  # noqa: N802
        async with self.mesh.entered("Get", request):
            if request.document_id not in ("manual", "future"):
                raise ServiceError(errors_pb2.ERROR_REASON_DOCUMENT_NOT_FOUND, "no such document")
            return documents_pb2.GetResponse()

    async def Reparse(self, request: Any, context: Any) -> documents_pb2.ReparseResponse:  # noqa: N802
        async with self.mesh.entered("Reparse", request):
            return documents_pb2.ReparseResponse(passage_count=1, changed=True)


class Retrieval(retrieval_pb2_grpc.RetrievalServiceServicer):
    def __init__(self, mesh: FakeMesh) -> None:
        self.mesh = mesh

    async def Retrieve(  # noqa: N802
        self, request: retrieval_pb2.RetrieveRequest, context: Any
    ) -> retrieval_pb2.RetrieveResponse:
        async with self.mesh.entered("Retrieve", request):
            return self._search(request)

    def _search(self, request: retrieval_pb2.RetrieveRequest) -> retrieval_pb2.RetrieveResponse:
        response = retrieval_pb2.RetrieveResponse(
            rankings=request.prior_rankings, index_snapshot="7", permission_version=3, keyword_leg_can_match=True
        )
        weights: Counter[str] = Counter()
        for query in request.queries:
            error = self.mesh.failed_legs.get(query.leg, "")
            response.leg_reports.add(leg=query.leg, error_reason=error)
            if error:
                continue
            found = self._rank(query.text, request.excluded_passage_ids)
            ranked = [retrieval_pb2.RankedPassage(passage_id=item) for item in found]
            response.rankings.add(leg=query.leg, query=query.text, passages=ranked)
        for ranking in response.rankings:
            for rank, place in enumerate(ranking.passages, start=1):
                weights[place.passage_id] += round(1e6 / (60 + rank))
        if request.rankings_only:
            return response
        for passage_id, weight in weights.most_common():
            item = self._passage(passage_id)
            response.candidates.add(passage=item, fused_score=weight / 1e6)
        for candidate in response.candidates:
            for ranking in response.rankings:
                for rank, ranked_passage in enumerate(ranking.passages, start=1):
                    if ranked_passage.passage_id == candidate.passage.passage_id:
                        candidate.leg_ranks.add(leg=ranking.leg, query=ranking.query, rank=rank)
        return response

    def _rank(self, text: str, excluded: Any) -> list[str]:
        words = {word.strip("?.,").lower()[:5] for word in text.split() if len(word) > 3}
        hits = {
            item.passage_id: sum(1 for word in words if word in item.text.lower())
            for item in self.mesh.passages
            if item.passage_id not in excluded and not item.label
        }
        return sorted((item for item, count in hits.items() if count), key=lambda item: -hits[item])

    def _passage(self, passage_id: str) -> evidence_pb2.Passage:
        return next(item for item in self.mesh.passages if item.passage_id == passage_id)

    async def FollowReferences(self, request: Any, context: Any) -> retrieval_pb2.FollowReferencesResponse:  # noqa: N802
        async with self.mesh.entered("FollowReferences", request):
            response = retrieval_pb2.FollowReferencesResponse()
            for reference in request.references:
                found = [item for item in self.mesh.passages if item.label == reference.label]
                for item in found:
                    response.candidates.add(passage=item, hop_count=1, reached_by=reference)
                if not found:
                    response.unresolved_references.append(reference)
            return response

    async def ListItems(self, request: Any, context: Any) -> retrieval_pb2.ListItemsResponse:  # noqa: N802
        async with self.mesh.entered("ListItems", request):
            return self.mesh.listing

    async def GetPassages(self, request: Any, context: Any) -> retrieval_pb2.GetPassagesResponse:  # noqa: N802
        async with self.mesh.entered("GetPassages", request):
            response = retrieval_pb2.GetPassagesResponse()
            hashes = {item.passage_id: item.content_hash for item in self.mesh.passages}
            for passage_id in request.passage_ids:
                status = retrieval_pb2.PASSAGE_STATUS_CURRENT
                if passage_id in self.mesh.superseded:
                    status = retrieval_pb2.PASSAGE_STATUS_NOT_IN_FORCE
                if passage_id in self.mesh.hidden:
                    status = retrieval_pb2.PASSAGE_STATUS_NOT_FOUND
                response.checks.add(passage_id=passage_id, status=status, content_hash=hashes[passage_id])
            return response


class Rerank(rerank_pb2_grpc.RerankServiceServicer):
    def __init__(self, mesh: FakeMesh) -> None:
        self.mesh = mesh

    async def Rerank(self, request: rerank_pb2.RerankRequest, context: Any) -> rerank_pb2.RerankResponse:  # noqa: N802
        async with self.mesh.entered("Rerank", request):
            response = rerank_pb2.RerankResponse(branch="onnxruntime")
            for item in request.passages:
                good = item.passage_id in self.mesh.relevant
                response.scores.add(
                    passage_id=item.passage_id, rerank_score=4.0 if good else -4.0, relevance=0.9 if good else 0.02
                )
            response.cost.scored_pair_count = len(request.passages)
            return response

    async def AssembleContext(  # noqa: N802
        self, request: rerank_pb2.AssembleContextRequest, context: Any
    ) -> rerank_pb2.AssembleContextResponse:
        async with self.mesh.entered("AssembleContext", request):
            known = {item.passage_id: item.evidence_id for item in request.known_evidence_ids}
            response = rerank_pb2.AssembleContextResponse()
            for candidate in request.candidates:
                required = candidate.passage.passage_id in request.required_passage_ids
                if required or not candidate.HasField("relevance") or candidate.relevance > 0.2:
                    item = candidate.passage
                    evidence_id = known.setdefault(item.passage_id, f"E{len(known) + 1}")
                    unit = evidence_pb2.Evidence(
                        evidence_id=evidence_id,
                        passage_id=item.passage_id,
                        document_id=item.document_id,
                        document_version=item.document_version,
                        text=item.text,
                        content_hash=item.content_hash,
                        page_first=item.page_first,
                        label=item.label,
                        references=item.references,
                        hop_count=candidate.hop_count,
                    )
                    if candidate.HasField("relevance"):
                        unit.relevance = candidate.relevance
                    response.evidence.append(unit)
            return response


class Generation(generation_pb2_grpc.GenerationServiceServicer):
    def __init__(self, mesh: FakeMesh) -> None:
        self.mesh = mesh

    async def Generate(self, request: generation_pb2.GenerateRequest, context: Any) -> generation_pb2.GenerateResponse:  # noqa: N802
        async with self.mesh.entered("Generate", request):
            return self._write(request)

    async def GenerateStream(  # noqa: N802
        self, request: generation_pb2.GenerateStreamRequest, context: Any
    ) -> AsyncIterator[generation_pb2.GenerateStreamResponse]:
        async with self.mesh.entered("GenerateStream", request.request):
            response = self._write(request.request)
            yield generation_pb2.GenerateStreamResponse(text_delta=response.answer.text)
            yield generation_pb2.GenerateStreamResponse(response=response)

    def _write(self, request: generation_pb2.GenerateRequest) -> generation_pb2.GenerateResponse:
        if request.parsed_question.need != question_pb2.RETRIEVAL_NEED_RETRIEVE:
            answer = answer_pb2.AnswerWithEvidence(text="Hello.", language="en")
            return generation_pb2.GenerateResponse(answer=answer, branch="direct")
        cost = budget_pb2.Cost(model_call_count=1, prompt_token_count=100, completion_token_count=10)
        return generation_pb2.GenerateResponse(answer=self.mesh.write(request), branch="extractive", cost=cost)


class Validation(validation_pb2_grpc.ValidationServiceServicer):
    def __init__(self, mesh: FakeMesh) -> None:
        self.mesh = mesh

    async def Validate(self, request: validation_pb2.ValidateRequest, context: Any) -> validation_pb2.ValidateResponse:  # noqa: N802
        async with self.mesh.entered("Validate", request):
            response = self.mesh.judge(request)
            if request.queue_when_withheld and response.decision == answer_pb2.RELEASE_DECISION_WITHHOLD:
                response.review_id = "R1"
            return response


class _Running:
    def __init__(self, add: Callable[[grpc.aio.Server], None]) -> None:
        self._add = add

    def register(self, server: grpc.aio.Server) -> None:
        self._add(server)

    async def check(self) -> str | None:
        return None

    async def close(self) -> None:
        return None


def _spec(name: str, full_name: str, add: Callable[[grpc.aio.Server], None]) -> ServiceSpec:
    async def start(_: StartContext) -> _Running:
        return _Running(add)

    return ServiceSpec(name=name, full_name=f"citemesh.v1.{full_name}", needs=(), start=start)


def fake_specs(mesh: FakeMesh) -> list[ServiceSpec]:
    """The six services, scripted by `mesh`."""
    adders: dict[str, tuple[str, Any, Any]] = {
        "query": ("QueryService", query_pb2_grpc.add_QueryServiceServicer_to_server, Query),
        "documents": ("DocumentsService", documents_pb2_grpc.add_DocumentsServiceServicer_to_server, Documents),
        "retrieval": ("RetrievalService", retrieval_pb2_grpc.add_RetrievalServiceServicer_to_server, Retrieval),
        "rerank": ("RerankService", rerank_pb2_grpc.add_RerankServiceServicer_to_server, Rerank),
        "generation": ("GenerationService", generation_pb2_grpc.add_GenerationServiceServicer_to_server, Generation),
        "validation": ("ValidationService", validation_pb2_grpc.add_ValidationServiceServicer_to_server, Validation),
    }
    return [
        _spec(name, full_name, lambda server, add=add, make=make: add(make(mesh), server))  # type: ignore[misc]  # the loop's values are bound as defaults
        for name, (full_name, add, make) in adders.items()
    ]


@asynccontextmanager
async def running(mesh: FakeMesh, state_dir: Path, **environ: str) -> AsyncIterator[FakeMesh]:
    """A dispatcher over the fakes, and a stub that calls it as ANA."""
    variables = {
        "CITEMESH_STATE_DIR": str(state_dir),
        "CITEMESH_AUTH_MODE": "open",
        "CITEMESH_HOST_METRICS_ADDRESS": "off",
        "CITEMESH_HOST_DRAIN_WAIT_MS": "0",
        **environ,
    }
    async with hosted([SPEC, *fake_specs(mesh)], variables) as host, grpc.aio.insecure_channel(host.target) as channel:
        mesh.stub = dispatcher_pb2_grpc.DispatcherServiceStub(channel)
        yield mesh


METADATA = open_metadata(ANA)
