"""`citemesh eval retrieval`: the legs, their fusion, references followed and reranking over a judged collection."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from citemesh.cli.connection import connect
from citemesh.cli.exits import CommandError
from citemesh.cli.options import Common, JsonOption, StateDirOption, TargetOption, read_common
from citemesh.cli.output import Output
from citemesh.cli.running import run
from citemesh.cli.steps import show_steps
from citemesh.evaluation.collection_ingest import ingest_collection, make_evaluator
from citemesh.evaluation.found_passages import RERANKED, WAYS, PassagePlaces, Searched
from citemesh.evaluation.found_rows import FoundRows
from citemesh.evaluation.judged_collection import Collection, JudgedQuery, digest_documents, read_collection
from citemesh.evaluation.retrieval_report import Summary, as_plain, summarize, summarize_sets
from citemesh.evaluation.retrieval_run import CollectionSearch, search_all
from citemesh.evaluation.searched_index import describe_index

_SEED = 7


@dataclass(frozen=True, slots=True)
class _Plan:
    """What to measure, and how long."""

    collection: Collection
    queries: Sequence[JudgedQuery]
    ways: Sequence[str]
    rows: Path | None
    max_seconds: float | None


def retrieval(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder in the BEIR layout.", show_default=False)],
    split: Annotated[
        str, typer.Option("--split", metavar="NAME", help="Only the queries of this split (dev, test).")
    ] = "",
    sample: Annotated[
        int, typer.Option("--sample", metavar="N", min=0, help="Search for N of the queries only; 0: for all.")
    ] = 0,
    rerank: Annotated[bool, typer.Option("--rerank/--no-rerank", help="Reranking takes most of the time.")] = True,
    rows: Annotated[
        Path | None,
        typer.Option(
            "--rows", metavar="FILE", help="Keep a line a query there; what it holds already is not searched again."
        ),
    ] = None,
    max_seconds: Annotated[
        float | None,
        typer.Option("--max-seconds", metavar="S", min=0.0, help="Begin no search after S seconds; go on by --rows."),
    ] = None,
    target: TargetOption = None,
    as_json: JsonOption = False,
    state_dir: StateDirOption = None,
) -> None:
    """nDCG, MRR and recall of each leg, fused and reranked, over a folder in the BEIR layout, with 95 % intervals.

    Documents that the mesh does not hold yet are ingested first, in a tenant of their own. The mesh must run with open
    auth.
    """
    common = read_common(target, as_json, None, 60.0, state_dir)
    try:
        collection = read_collection(folder, split)
    except (OSError, ValueError) as error:
        # ValueError: a CollectionError, or a file that is no UTF-8.
        raise CommandError(f"The collection cannot be read: {error}") from error
    queries = list(collection.queries)
    if 0 < sample < len(queries):
        queries = random.Random(_SEED).sample(queries, sample)  # noqa: S311  # which ones is no secret
    ways = WAYS if rerank else tuple(way for way in WAYS if way != RERANKED)
    run(_measure(_Plan(collection, queries, ways, rows, max_seconds), common))


async def _measure(plan: _Plan, common: Common) -> None:
    output = Output(common.as_json)
    corpus = plan.collection.documents
    digest = digest_documents(corpus)
    origin = {"corpus": digest}
    # Rows of other documents are refused before any document is ingested, those of another system as soon as it shows.
    _read_rows(plan, origin)
    async with connect(common, output) as connection:
        with show_steps(output) as show:
            evaluator = make_evaluator(digest)
            problems = await ingest_collection(corpus, evaluator, connection.channel, show)
            origin |= await describe_index(evaluator, connection.channel)
            kept, searched = _read_rows(plan, origin)

            def keep(found: Searched) -> None:
                searched[found.query.query_id] = found
                if kept is not None:
                    kept.add(found)
                show("search", len(searched), len(plan.queries))

            asked = [query for query in plan.queries if query.query_id not in searched]
            searching = CollectionSearch(connection.channel, PassagePlaces(corpus), plan.ways)
            await search_all(asked, evaluator, searching, keep, max_seconds=plan.max_seconds)
    for text in problems:
        output.note(f"not ingested: {text}")
    if len(searched) < len(plan.queries):
        output.note(f"{len(plan.queries) - len(searched)} queries were not searched for in the time given.")
    in_order = [searched[query.query_id] for query in plan.queries if query.query_id in searched]
    _report(output, plan.collection, digest, in_order)


def _read_rows(plan: _Plan, origin: Mapping[str, str]) -> tuple[FoundRows | None, dict[str, Searched]]:
    """The file of rows, where one is named, and what it holds. Raises CommandError for one of another origin."""
    if plan.rows is None:
        return None, {}
    kept = FoundRows(plan.rows, origin)
    try:
        return kept, kept.read(plan.queries, plan.ways)
    except (OSError, ValueError) as error:
        raise CommandError(f"The rows cannot be read: {error}") from error


def _report(output: Output, collection: Collection, digest: str, searched: Sequence[Searched]) -> None:
    summary, sets = summarize(searched), summarize_sets(searched)
    line = {
        "collection": collection.name,
        "digest": digest,
        "document_count": len(collection.documents),
        "query_count": len(searched),
        **as_plain(summary),
    }
    if sets:
        line["sets"] = {name: as_plain(part) for name, part in sets.items()}
    output.json_line(line)
    for name, part in {collection.name: summary, **sets}.items():
        output.result(_make_table(name, part))


def _make_table(name: str, summary: Summary) -> Table:
    table = Table(name, *next(iter(summary.values()), ()))
    for way, estimates in summary.items():
        cells = [f"{each.mean:.3f} ({each.low:.3f}-{each.high:.3f})" for each in estimates.values()]
        table.add_row(way, *cells)
    return table
