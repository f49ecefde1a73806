"""A judged collection over a real mesh at one address: ingested once, searched in every way, measured."""

from __future__ import annotations

import grpc.aio

from citemesh.evaluation.collection_ingest import ingest_collection, make_evaluator
from citemesh.evaluation.found_passages import WAYS, PassagePlaces, Searched
from citemesh.evaluation.judged_collection import CorpusDocument, JudgedQuery, Span, digest_documents
from citemesh.evaluation.retrieval_report import summarize
from citemesh.evaluation.retrieval_run import CollectionSearch, search_all
from citemesh.evaluation.searched_index import describe_index
from tests.mesh.hosting import Mesh

TEXTS = {
    "José": "The lamp is lit at dusk. The keeper writes the hour down.",
    "boats": "Boats that enter the harbour pay dues before cargo is landed.",
    "bread": "Bread is baked on Mondays, and the oven is cleaned on Fridays.",
}
CORPUS = tuple(CorpusDocument(name, name.title(), text) for name, text in TEXTS.items())
QUERIES = (
    JudgedQuery("q1", "When is the lamp lit?", "small", {"José": 1.0}),
    JudgedQuery("q2", "What do boats pay in the harbour?", "small", {}, (Span("boats", 0, 40),)),
)


async def test_every_way_finds_what_is_judged(embedded_mesh: Mesh) -> None:
    async with grpc.aio.insecure_channel(embedded_mesh.target) as channel:
        evaluator = make_evaluator(digest_documents(CORPUS))
        seen: list[tuple[str, int, int]] = []
        assert await ingest_collection(CORPUS, evaluator, channel, lambda *step: seen.append(step)) == []
        assert seen[-1] == ("ingest", 3, 3)
        assert await ingest_collection(CORPUS, evaluator, channel, lambda *_: None) == []
        found: list[Searched] = []
        searching = CollectionSearch(channel, PassagePlaces(CORPUS))
        await search_all(QUERIES, evaluator, searching, found.append)
        assert {each.query.query_id for each in found} == {"q1", "q2"}
        summary = summarize(found)
        assert summary.keys() == set(WAYS)
        assert all(measures["ndcg@10"].mean == 1.0 for measures in summary.values())
        assert all(measures["characters@4"].mean == 1.0 for measures in summary.values())


async def test_the_index_that_was_searched_is_told_from_others(embedded_mesh: Mesh) -> None:
    described: list[dict[str, str]] = []
    async with grpc.aio.insecure_channel(embedded_mesh.target) as channel:
        for corpus in (CORPUS, CORPUS, CORPUS[:2]):
            evaluator = make_evaluator(digest_documents(corpus))
            assert await ingest_collection(corpus, evaluator, channel, lambda *_: None) == []
            described.append(await describe_index(evaluator, channel))
    first, again, smaller = described
    assert first == again
    assert first["store"] == "embedded"
    assert "@" in first["encoder"]
    assert first["index"].startswith("3 documents, ")
    assert {name for name in first if first[name] != smaller[name]} == {"index"}


async def test_corpora_of_other_content_do_not_meet(embedded_mesh: Mesh) -> None:
    changed = (CorpusDocument("José", "José", "Ferries leave at noon."),)
    async with grpc.aio.insecure_channel(embedded_mesh.target) as channel:
        for corpus in (CORPUS, changed):
            evaluator = make_evaluator(digest_documents(corpus))
            assert await ingest_collection(corpus, evaluator, channel, lambda *_: None) == []
        found: list[Searched] = []
        searching = CollectionSearch(channel, PassagePlaces(changed), ("keyword",))
        await search_all(QUERIES[:1], evaluator, searching, found.append)
        assert found[0].passages == {"keyword": []}


async def test_no_search_begins_when_the_time_is_over(embedded_mesh: Mesh) -> None:
    async with grpc.aio.insecure_channel(embedded_mesh.target) as channel:
        found: list[Searched] = []
        searching = CollectionSearch(channel, PassagePlaces(CORPUS))
        await search_all(QUERIES, make_evaluator("none"), searching, found.append, max_seconds=-1.0)
        assert found == []
