"""Every RPC of every service, as every caller, aimed at every document: nothing foreign shows, in answers or errors."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message

from citemesh.auth.principal import Principal, open_metadata
from citemesh.rpc.errors import from_rpc_error
from citemesh.v1 import (
    activation_pb2,
    dispatcher_pb2,
    document_pb2,
    documents_pb2,
    documents_pb2_grpc,
    generation_pb2,
    query_pb2,
    question_pb2,
    rerank_pb2,
    retrieval_pb2,
    validation_pb2,
)
from citemesh.v1.document_pb2 import AccessPolicy, AllowedPrincipals
from services.registry import NAMES
from tests.mesh.access_corpus import CALLERS, PAPERS, QUESTION, Corpus, Paper, find_marks, ingest_papers, set_access
from tests.mesh.calling import TIMEOUT_S
from tests.mesh.hosting import Mesh

MISSING = "paper-missing"
LEGS = (activation_pb2.PATTERN_TOC, activation_pb2.PATTERN_KEYWORD, activation_pb2.PATTERN_DENSE)


# Once per mesh: whoever stored the papers may no longer read them.
store_papers = functools.cache(ingest_papers)


@pytest.fixture
def corpus(mesh: Mesh) -> Corpus:
    """The papers in two tenants of the running mesh."""
    return store_papers(mesh)


@pytest.fixture
def embedded_corpus(embedded_mesh: Mesh) -> Corpus:
    """The same for the long tests, which one way of hosting must do."""
    return store_papers(embedded_mesh)


def scope_of(document_id: str) -> question_pb2.Scope:
    return question_pb2.Scope(documents=question_pb2.DocumentIds(document_ids=[document_id] if document_id else []))


def wide_scope() -> question_pb2.Scope:
    return question_pb2.Scope(all_documents=question_pb2.AllDocuments())


Make = Callable[[str, list[str]], Sequence[Message]]
"""The requests that aim at a document by its id and those of its passages."""


def _answers(document_id: str, _passages: list[str]) -> list[dispatcher_pb2.AnswerRequest]:
    return [dispatcher_pb2.AnswerRequest(question=QUESTION, scope=s) for s in (scope_of(document_id), wide_scope())]


def _retrieves(document_id: str, passages: list[str]) -> list[Message]:
    asked = []
    for scope in (scope_of(document_id), wide_scope()):
        for leg in LEGS:
            request = retrieval_pb2.RetrieveRequest(
                scope=scope, max_candidates=50, section_hint="1 Allowance", document_hints=[document_id]
            )
            request.queries.add(leg=leg, text=f"{QUESTION} Allowance Orders")
            prior = request.prior_rankings.add(leg=activation_pb2.PATTERN_KEYWORD, query="earlier")
            prior.passages.extend(retrieval_pb2.RankedPassage(passage_id=each, leg_score=1.0) for each in passages)
            asked.append(request)
    return list(asked)


def _references(document_id: str, passages: list[str]) -> list[Message]:
    table = question_pb2.REFERENCE_KIND_TABLE
    named = question_pb2.Reference(kind=table, label="table 1", surface="Table 1", document_id=document_id)
    unnamed = question_pb2.Reference(kind=table, label="table 1", surface="Table 1")
    return [
        retrieval_pb2.FollowReferencesRequest(
            references=[named, unnamed], from_passage_ids=known, scope=scope, max_hops=2, max_passages=20
        )
        for scope in (scope_of(document_id), wide_scope())
        for known in ([], passages[:1], passages)
    ]


def _items(document_id: str, passages: list[str]) -> list[Message]:
    question = "Which duties has the keeper?"
    return [
        retrieval_pb2.ListItemsRequest(
            question=question, keywords=["duties", "keeper"], anchor_passage_ids=passages, scope=scope,
            listing_scope=retrieval_pb2.LISTING_SCOPE_SECTION,
        )
        for scope in (scope_of(document_id), wide_scope())
    ]  # fmt: skip


def _passages(document_id: str, passages: list[str]) -> list[Message]:
    return [
        retrieval_pb2.GetPassagesRequest(passage_ids=passages, scope=scope, statuses_only=only)
        for scope in (scope_of(document_id), wide_scope())
        for only in (False, True)
    ]


PARSED = question_pb2.ParsedQuestion(original_question=QUESTION, keywords=["oil"])
REQUESTS: dict[str, Make] = {
    "DispatcherService.Answer": _answers,
    "DispatcherService.AnswerStream": lambda d, p: [
        dispatcher_pb2.AnswerStreamRequest(request=request) for request in _answers(d, p)
    ],
    "DispatcherService.Explain": lambda d, _: [
        dispatcher_pb2.ExplainRequest(question=QUESTION, scope=scope) for scope in (scope_of(d), wide_scope())
    ],
    "DispatcherService.Replay": lambda *_: [dispatcher_pb2.ReplayRequest(recorded=dispatcher_pb2.AnswerResponse())],
    "DispatcherService.ListPipelines": lambda *_: [dispatcher_pb2.ListPipelinesRequest()],
    "DocumentsService.Profile": lambda d, _: [
        documents_pb2.ProfileRequest(scope=scope) for scope in (scope_of(d), wide_scope())
    ],
    "DocumentsService.Reparse": lambda d, _: [
        documents_pb2.ReparseRequest(document_id=d, page_numbers=[1], strategy=document_pb2.PARSING_STRATEGY_LAYOUT)
    ],
    "DocumentsService.Get": lambda d, _: [
        documents_pb2.GetRequest(document_id=d, document_version=version) for version in (0, 1, 7)
    ],
    "DocumentsService.List": lambda d, _: [
        documents_pb2.ListRequest(page_size=size, include_superseded=old, page_token=token)
        for size, old, token in ((0, False, ""), (1, True, ""), (100, True, ""))
    ],
    "DocumentsService.RenderPage": lambda d, _: [
        documents_pb2.RenderPageRequest(document_id=d, page_number=1, resolution_dpi=72)
    ],
    "RetrievalService.Retrieve": _retrieves,
    "RetrievalService.FollowReferences": _references,
    "RetrievalService.ListItems": _items,
    "RetrievalService.GetPassages": _passages,
    "RetrievalService.DescribeIndex": lambda *_: [retrieval_pb2.DescribeIndexRequest()],
    "QueryService.Understand": lambda *_: [query_pb2.UnderstandRequest(question=QUESTION)],
    "QueryService.DecideFollowUp": lambda *_: [
        query_pb2.DecideFollowUpRequest(parsed_question=PARSED, available_targets=LEGS)
    ],
    "GenerationService.Generate": lambda *_: [generation_pb2.GenerateRequest(parsed_question=PARSED)],
    "GenerationService.GenerateStream": lambda *_: [
        generation_pb2.GenerateStreamRequest(request=generation_pb2.GenerateRequest(parsed_question=PARSED))
    ],
    "RerankService.Rerank": lambda _, p: [
        rerank_pb2.RerankRequest(
            queries=[QUESTION], passages=[rerank_pb2.PairText(passage_id=each, text="a text") for each in p[:2]]
        )
    ],
    "RerankService.AssembleContext": lambda _, p: [
        rerank_pb2.AssembleContextRequest(max_token_count=500, max_evidence_count=5, required_passage_ids=p)
    ],
    "ValidationService.Validate": lambda *_: [validation_pb2.ValidateRequest(parsed_question=PARSED)],
    "ValidationService.ListReviews": lambda *_: [validation_pb2.ListReviewsRequest(page_size=100)],
    "ValidationService.DecideReview": lambda d, _: [
        validation_pb2.DecideReviewRequest(review_id=d, state=validation_pb2.REVIEW_STATE_RELEASED)
    ],
}
# Aimed only at what the caller may not read, so that nothing changes.
WRITES: dict[str, Make] = {
    "DocumentsService.Delete": lambda d, _: [documents_pb2.DeleteRequest(document_id=d)],
    "DocumentsService.SetAccess": lambda d, _: [
        documents_pb2.SetAccessRequest(document_id=d, access=AccessPolicy(everyone=document_pb2.Everyone()))
    ],
}
# Its first message says that an id is taken, for it could not be stored under it; tested below.
UNAIMED = {"DocumentsService.Ingest"}
# They look nothing up, and give back what the request says.
STATELESS = ("QueryService.", "GenerationService.", "RerankService.", "DispatcherService.Replay")


def all_methods() -> Iterator[tuple[str, MethodDescriptor]]:
    """Every RPC of the contract by "Service.Method"."""
    for name in NAMES:
        services = importlib.import_module(f"citemesh.v1.{name}_pb2").DESCRIPTOR.services_by_name
        service: ServiceDescriptor
        for service in services.values():
            for method in service.methods:
                yield f"{service.name}.{method.name}", method


METHODS = dict(all_methods())


def test_no_rpc_is_left_out() -> None:
    assert set(METHODS) == REQUESTS.keys() | WRITES.keys() | UNAIMED


def call_method(mesh: Mesh, method: str, caller: Principal, request: Message) -> tuple[str, list[Message]]:
    """The error as text (reason, words, metadata, violations), empty for none, and the responses."""
    service, name = method.split(".")
    target = service.removesuffix("Service").lower()
    module = importlib.import_module(f"citemesh.v1.{target}_pb2_grpc")
    with grpc.insecure_channel(mesh.targets[target]) as channel:
        stub: Any = getattr(module, f"{service}Stub")(channel)
        try:
            reply = getattr(stub, name)(request, timeout=TIMEOUT_S, metadata=open_metadata(caller))
            return "", [reply] if isinstance(reply, Message) else list(reply)
        except grpc.RpcError as error:
            told = from_rpc_error(error)
            return f"{told.reason} {told.message} {sorted(told.metadata.items())} {told.field_violations}", []


def aim(paper: Paper, corpus: Corpus) -> tuple[str, list[str]]:
    return paper.document_id, [passage.passage_id for passage in corpus.passages[paper.name]]


def hidden_from(caller: Principal) -> list[Paper]:
    return [paper for paper in PAPERS if not paper.readable_by(caller)]


def strip_echo(text: str, request: Message) -> str:
    """Without the ids that the caller itself sent."""
    for paper in PAPERS:
        if paper.document_id in str(request):
            text = text.replace(paper.document_id, "ID")
    return text


@pytest.mark.parametrize("caller", CALLERS, ids=lambda caller: f"{caller.tenant_id}-{caller.user_id}")
@pytest.mark.parametrize("method", [*REQUESTS, *WRITES])
@pytest.mark.timeout(120)
def test_nothing_foreign_shows(embedded_mesh: Mesh, embedded_corpus: Corpus, method: str, caller: Principal) -> None:
    hidden = hidden_from(caller)
    for paper in hidden if method in WRITES else PAPERS:
        for request in (REQUESTS | WRITES)[method](*aim(paper, embedded_corpus)):
            error, responses = call_method(embedded_mesh, method, caller, request)
            told = strip_echo(error + "".join(map(str, responses)), request)
            assert find_marks(told, hidden) == set(), (method, paper.name)
            if method in WRITES:
                assert "There is no such document for you." in error


@pytest.mark.parametrize("caller", CALLERS, ids=lambda caller: f"{caller.tenant_id}-{caller.user_id}")
@pytest.mark.parametrize("method", [m for m in (*REQUESTS, *WRITES) if not m.startswith(STATELESS)])
@pytest.mark.timeout(120)
def test_what_is_hidden_is_as_what_is_not_there(
    embedded_mesh: Mesh, embedded_corpus: Corpus, method: str, caller: Principal
) -> None:
    """Same reason, words, metadata and counts, once the id that the caller sent is left out."""
    make = (REQUESTS | WRITES)[method]
    for paper in hidden_from(caller):
        document_id, passages = aim(paper, embedded_corpus)
        absent = [each.replace(document_id, MISSING) for each in passages]
        for asked, other in zip(make(document_id, passages), make(MISSING, absent), strict=True):
            outcomes = []
            for request in (asked, other):
                error, responses = call_method(embedded_mesh, method, caller, request)
                stages = [each for each in responses if _is_stage(each)]
                rest = [each for each in responses if not _is_stage(each)]
                text = f"{error} {sorted(str(without_times(each)) for each in stages)} {without_times(rest)}"
                outcomes.append(text.replace(document_id, "ID").replace(MISSING, "ID"))
            assert outcomes[0] == outcomes[1], (method, paper.name)


_PASSING = ("duration", "request_id", "review_id", "first_text", "cached", "embedding", "as_of_time", "cost", "timings")


def _is_stage(message: Message) -> bool:
    return isinstance(message, dispatcher_pb2.AnswerStreamResponse) and message.HasField("stage_report")


def without_times(value: Any) -> Any:
    """A response as JSON without durations, ids of the call and marks of caches, which differ from call to call."""
    if isinstance(value, Message):
        value = MessageToDict(value, preserving_proto_field_name=True)
    if isinstance(value, dict):
        return {k: without_times(v) for k, v in value.items() if not any(part in k for part in _PASSING)}
    if isinstance(value, list):
        kept = [without_times(each) for each in value]
        # Stages that run side by side report in the order in which they end.
        return sorted(kept, key=str) if any(isinstance(each, dict) and "stage" in each for each in kept) else kept
    return value


@pytest.mark.parametrize("caller", CALLERS, ids=lambda caller: f"{caller.tenant_id}-{caller.user_id}")
def test_counts_are_of_what_the_caller_may_read(mesh: Mesh, corpus: Corpus, caller: Principal) -> None:
    mine = {paper.name for paper in PAPERS if paper.readable_by(caller)}
    _, (index,) = call_method(mesh, "RetrievalService.DescribeIndex", caller, retrieval_pb2.DescribeIndexRequest())
    assert isinstance(index, retrieval_pb2.DescribeIndexResponse)
    assert index.document_count == len(mine)
    assert index.passage_count == sum(corpus.documents[name].passage_count for name in mine)
    _, (profile,) = call_method(mesh, "DocumentsService.Profile", caller, documents_pb2.ProfileRequest())
    assert isinstance(profile, documents_pb2.ProfileResponse)
    assert profile.scope_profile.document_count == len(mine)
    assert profile.scope_profile.usable_toc_count <= len(mine)
    _, (listed,) = call_method(mesh, "DocumentsService.List", caller, documents_pb2.ListRequest())
    assert isinstance(listed, documents_pb2.ListResponse)
    assert {document.document_id for document in listed.documents} == {f"paper-{name}" for name in mine}
    assert not listed.next_page_token
    for request in _retrieves("", []):
        assert isinstance(request, retrieval_pb2.RetrieveRequest)
        request.ClearField("document_hints")
        request.scope.CopyFrom(wide_scope())
        _, (found,) = call_method(mesh, "RetrievalService.Retrieve", caller, request)
        assert isinstance(found, retrieval_pb2.RetrieveResponse)
        assert {each.passage.document_id for each in found.candidates} == {f"paper-{name}" for name in mine}


def test_an_id_that_is_taken_cannot_be_written_over(mesh: Mesh, corpus: Corpus) -> None:
    guest = open_metadata(CALLERS[0])
    with grpc.insecure_channel(mesh.targets["documents"]) as channel:
        stub = documents_pb2_grpc.DocumentsServiceStub(channel)
        for paper in hidden_from(CALLERS[0]):
            if paper.tenant_id != CALLERS[0].tenant_id:
                continue
            header = documents_pb2.IngestHeader(document_id=paper.document_id, file_name="a.txt")
            parts = [documents_pb2.IngestRequest(header=header), documents_pb2.IngestRequest(chunk=b"mine now")]
            with pytest.raises(grpc.RpcError) as caught:
                stub.Ingest(iter(parts), timeout=TIMEOUT_S, metadata=guest)
            told = from_rpc_error(caught.value)
            assert told.message == "This document id is taken: choose another one."
            assert find_marks(strip_echo(str(told.metadata), header), [paper]) == set()


def test_a_revoke_holds_in_the_next_request(mesh: Mesh, corpus: Corpus) -> None:
    """Everything was asked before, so that whatever caches has it; then the paper is closed, and asked for again."""
    guest, paper = CALLERS[0], PAPERS[0]
    aimed = [(method, request) for method, make in REQUESTS.items() for request in make(*aim(paper, corpus))]
    shown = {method for method, request in aimed if find_marks_of(mesh, method, guest, request, paper)}
    assert {
        "DispatcherService.Answer", "DocumentsService.Get", "DocumentsService.List", "RetrievalService.Retrieve",
        "RetrievalService.FollowReferences", "RetrievalService.ListItems", "RetrievalService.GetPassages",
    } <= shown  # fmt: skip
    render = documents_pb2.RenderPageRequest(document_id=paper.document_id, page_number=1)
    assert call_method(mesh, "DocumentsService.RenderPage", guest, render)[1]
    keeper = open_metadata(Principal(paper.tenant_id, "closer", frozenset()))
    with grpc.insecure_channel(mesh.targets["documents"]) as channel:
        stub = documents_pb2_grpc.DocumentsServiceStub(channel)
        set_access(stub, paper, AccessPolicy(only=AllowedPrincipals(users=["closer"])), keeper)
        try:
            for method, request in aimed:
                assert find_marks_of(mesh, method, guest, request, paper) == set(), method
            assert (
                "There is no such document for you."
                in call_method(mesh, "DocumentsService.RenderPage", guest, render)[0]
            )
        finally:
            set_access(stub, paper, paper.access, keeper)
    assert shown == {method for method, request in aimed if find_marks_of(mesh, method, guest, request, paper)}


def find_marks_of(mesh: Mesh, method: str, caller: Principal, request: Message, paper: Paper) -> set[str]:
    error, responses = call_method(mesh, method, caller, request)
    return find_marks(strip_echo(error + "".join(map(str, responses)), request), [paper])
