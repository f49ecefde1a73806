"""A judged collection over a real mesh at one address: ingested once, searched in every way, measured."""

from __future__ import annotations

import grpc.aio

from citemesh.evaluation.judged_collection import Collection, CorpusDocument, JudgedQuery, Span
from citemesh.evaluation.retrieval_report import summarize_documents, summarize_spans
from citemesh.evaluation.retrieval_run import WAYS, ingest_collection, search_all
from tests.mesh.hosting import Mesh

TEXTS = {
    "José": "The lamp is lit at dusk. The keeper writes the hour down.",
    "boats": "Boats that enter the harbour pay dues before cargo is landed.",
    "bread": "Bread is baked on Mondays, and the oven is cleaned on Fridays.",
}
COLLECTION = Collection(
    "small",
    tuple(CorpusDocument(name, name.title(), text) for name, text in TEXTS.items()),
    (
        JudgedQuery("q1", "When is the lamp lit?", "small", {"José": 1.0}),
        JudgedQuery("q2", "What do boats pay in the harbour?", "small", {}, (Span("boats", 0, 40),)),
    ),
)


async def test_every_way_finds_what_is_judged(embedded_mesh: Mesh) -> None:
    async with grpc.aio.insecure_channel(embedded_mesh.target) as channel:
        await _measure(channel)


async def _measure(channel: grpc.aio.Channel) -> None:
    seen: list[tuple[str, int, int]] = []
    assert await ingest_collection(COLLECTION, channel, lambda *step: seen.append(step)) == []
    assert await ingest_collection(COLLECTION, channel, lambda *_: None) == []
    searched = await search_all(COLLECTION, COLLECTION.queries, channel, lambda *step: seen.append(step))
    assert seen[-1] == ("search", 2, 2)
    documents = summarize_documents(searched)
    assert documents.keys() == set(WAYS)
    assert all(measures["nDCG@10"].mean == 1.0 for measures in documents.values())
    spans = summarize_spans(COLLECTION, searched)["small"]
    assert all(measures["characters@4"].mean == 1.0 for measures in spans.values())
