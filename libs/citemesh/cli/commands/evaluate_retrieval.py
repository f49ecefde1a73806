"""`citemesh eval retrieval`: the legs, their fusion and reranking over a judged collection."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from citemesh.cli.connection import connect
from citemesh.cli.exits import CommandError
from citemesh.cli.options import Common, JsonOption, StateDirOption, TargetOption, read_common
from citemesh.cli.output import Output
from citemesh.cli.running import run
from citemesh.cli.steps import show_steps
from citemesh.evaluation.judged_collection import Collection, CollectionError, read_collection
from citemesh.evaluation.retrieval_report import Summary, as_plain, summarize_documents, summarize_spans
from citemesh.evaluation.retrieval_run import ingest_collection, search_all

_SEED = 7


def retrieval(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder in the BEIR layout.", show_default=False)],
    split: Annotated[
        str, typer.Option("--split", metavar="NAME", help="Only the queries of this split (dev, test).")
    ] = "",
    sample: Annotated[
        int, typer.Option("--sample", metavar="N", min=0, help="Search for N of the queries only; 0: for all.")
    ] = 0,
    rerank: Annotated[bool, typer.Option("--rerank/--no-rerank", help="Reranking takes most of the time.")] = True,
    target: TargetOption = None,
    as_json: JsonOption = False,
    state_dir: StateDirOption = None,
) -> None:
    """nDCG, recall and MRR of each leg, fused and reranked, over a folder in the BEIR layout, with 95 % intervals.

    Documents that the mesh does not hold yet are ingested first, in a tenant of their own. The mesh must run with open
    auth.
    """
    run(_measure(folder, split, sample, rerank, read_common(target, as_json, None, 60.0, state_dir)))


async def _measure(folder: Path, split: str, sample: int, rerank: bool, common: Common) -> None:
    output = Output(common.as_json)
    try:
        collection = read_collection(folder, split)
    except (OSError, CollectionError, KeyError, ValueError) as error:
        raise CommandError(f"The collection cannot be read: {error}") from error
    queries = list(collection.queries)
    if 0 < sample < len(queries):
        queries = random.Random(_SEED).sample(queries, sample)  # noqa: S311  # which ones is no secret
    async with connect(common, output) as connection:
        with show_steps(output) as show:
            problems = await ingest_collection(collection, connection.channel, show)
            searched = await search_all(collection, queries, connection.channel, show, rerank=rerank)
    for text in problems:
        output.note(f"not ingested: {text}")
    documents = summarize_documents(searched)
    spans = summarize_spans(collection, searched)
    output.json_line(_as_line(collection, len(queries), documents, spans))
    tables = [_make_table(collection.name, documents)] if documents else []
    output.result(*tables, *(_make_table(name, summary) for name, summary in spans.items()))


def _as_line(
    collection: Collection, query_count: int, documents: Summary, spans: Mapping[str, Summary]
) -> dict[str, Any]:
    return {
        "collection": collection.name,
        "document_count": len(collection.documents),
        "query_count": query_count,
        "documents": as_plain(documents),
        "spans": {name: as_plain(summary) for name, summary in spans.items()},
    }


def _make_table(name: str, summary: Summary) -> Table:
    measures = list(next(iter(summary.values())))
    table = Table(name, *measures)
    for way, estimates in summary.items():
        cells = [f"{each.mean:.3f} ({each.low:.3f}-{each.high:.3f})" for each in estimates.values()]
        table.add_row(way, *cells)
    return table
