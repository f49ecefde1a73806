"""`citemesh search`: what one leg, their fusion, or the reranker finds for a question."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final

import typer
from rich.padding import Padding
from rich.text import Text

from citemesh.cli.connection import Connection, connect
from citemesh.cli.narration.answer import shorten
from citemesh.cli.narration.passes import describe_legs
from citemesh.cli.narration.words import describe_place, quiet
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
from citemesh.v1 import activation_pb2, evidence_pb2, rerank_pb2, rerank_pb2_grpc, retrieval_pb2, retrieval_pb2_grpc

# How many fused candidates are reranked, at most what one call takes.
_RERANKED_COUNT: Final = 50


class Leg(StrEnum):
    """What orders the results."""

    KEYWORD = "keyword"
    DENSE = "dense"
    TOC = "toc"
    FUSED = "fused"
    RERANKED = "reranked"


_PATTERNS: Final = {
    Leg.KEYWORD: activation_pb2.PATTERN_KEYWORD,
    Leg.DENSE: activation_pb2.PATTERN_DENSE,
    Leg.TOC: activation_pb2.PATTERN_TOC,
}


def search(
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="What to search for.")],
    leg: Annotated[
        Leg, typer.Option("--leg", help="One leg alone, all of them fused, or fused and reranked.")
    ] = Leg.RERANKED,
    top: Annotated[int, typer.Option("--top", metavar="N", min=1, max=200, help="How many results.")] = 10,
    as_of: AsOfOption = None,
    document: DocumentOption = None,
    target: TargetOption = None,
    as_json: JsonOption = False,
    as_user: AsOption = None,
    timeout: TimeoutOption = DEFAULT_TIMEOUT_S,
    state_dir: StateDirOption = None,
) -> None:
    """Search without answering. With --json: the retrieval's response, its candidates in the order asked for."""
    common = read_common(target, as_json, as_user, timeout, state_dir)
    request = retrieval_pb2.RetrieveRequest(
        queries=[retrieval_pb2.LegQuery(leg=pattern, text=question) for pattern in _patterns_of(leg)],
        scope=make_scope(document),
        as_of_time=read_time(as_of, "--as-of"),
        max_candidates=max(top, _RERANKED_COUNT) if leg is Leg.RERANKED else top,
    )
    run(_search(common, request, leg, top))


def _patterns_of(leg: Leg) -> list[activation_pb2.Pattern.ValueType]:
    return [_PATTERNS[leg]] if leg in _PATTERNS else list(_PATTERNS.values())


async def _search(common: Common, request: retrieval_pb2.RetrieveRequest, leg: Leg, top: int) -> None:
    output = Output(common.as_json)
    async with connect(common, output) as connection:
        stub = retrieval_pb2_grpc.RetrievalServiceStub(connection.channel)
        response = await call(stub.Retrieve, request, timeout=connection.timeout_s, service="retrieval")
        if leg is Leg.RERANKED:
            await _rerank(connection, request.queries[0].text, response)
    del response.candidates[top:]
    output.json(response)
    for report in response.leg_reports:
        if report.error_reason:
            name = activation_pb2.Pattern.Name(report.leg).removeprefix("PATTERN_").lower()
            output.note(f"The {name} leg failed: {report.error_reason}")
    if not response.candidates:
        output.note("Nothing was found.")
    for number, candidate in enumerate(response.candidates, start=1):
        output.result(*_describe(number, candidate))


async def _rerank(connection: Connection, question: str, response: retrieval_pb2.RetrieveResponse) -> None:
    """Put the candidates in the reranker's order, with its scores set."""
    if not response.candidates:
        return
    pairs = [
        rerank_pb2.PairText(passage_id=candidate.passage.passage_id, text=candidate.passage.text)
        for candidate in response.candidates
    ]
    stub = rerank_pb2_grpc.RerankServiceStub(connection.channel)
    request = rerank_pb2.RerankRequest(queries=[question], passages=pairs)
    scored = await call(stub.Rerank, request, timeout=connection.timeout_s, service="rerank")
    by_id = {candidate.passage.passage_id: candidate for candidate in response.candidates}
    ordered = []
    for score in scored.scores:
        candidate = by_id.get(score.passage_id)
        if candidate is not None:
            candidate.rerank_score, candidate.relevance = score.rerank_score, score.relevance
            ordered.append(candidate)
    copies = retrieval_pb2.RetrieveResponse(candidates=ordered)
    del response.candidates[:]
    response.candidates.extend(copies.candidates)


def _describe(number: int, candidate: evidence_pb2.Candidate) -> tuple[Text, Text, Padding]:
    passage = candidate.passage
    place = describe_place(passage.title or passage.document_id, passage.section_path, passage.page_first)
    head = Text(f"{number:>2}  ", style="bold")
    head.append(place, style="default not bold")
    values = [
        f"{name} {value:.3f}"
        for name, value in (
            ("bm25", candidate.keyword_score if candidate.HasField("keyword_score") else None),
            ("cosine", candidate.dense_score if candidate.HasField("dense_score") else None),
            ("fused", candidate.fused_score if candidate.HasField("fused_score") else None),
            ("relevance", candidate.relevance if candidate.HasField("relevance") else None),
        )
        if value is not None
    ]
    origin = quiet(f"    {describe_legs(candidate.leg_ranks)}   {', '.join(values)}")
    return head, origin, Padding(Text(shorten(passage.text)), (0, 0, 0, 4))
