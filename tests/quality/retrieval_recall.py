"""How often the legs, and their fusion, find the passages that the question sets call gold.

    python -m tests.quality.retrieval_recall [SET...] [--state-dir DIR] [--misses FILE]

Ingests once per store (build/quality/retrieval by default) and asks each question as it stands, with no rewriting. A
row counts as found where one of its gold quotes (`any`) or all of them lie in the passages looked at; quotes are
counted one by one as well. CITEMESH_RETRIEVAL_ variables change the settings.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import grpc.aio

from citemesh.auth.principal import Principal, acting_as
from citemesh.evaluation.question_set import Gold, Question, read_question_set
from citemesh.evaluation.run import ingest_stores
from citemesh.rpc.calls import call
from citemesh.rpc.channels import open_channel
from citemesh.rpc.host import hosted
from citemesh.v1 import activation_pb2, retrieval_pb2, retrieval_pb2_grpc
from citemesh.v1.evidence_pb2 import Passage
from services.documents.service import SPEC as DOCUMENTS
from services.retrieval.service import SPEC as RETRIEVAL
from tests.conftest import REPO

SETS = ("etcd", "owasp", "handbook18f", "papers", "regs")
DEPTHS = (5, 10, 20, 50)
LEGS = {
    "keyword": (activation_pb2.PATTERN_KEYWORD,),
    "dense": (activation_pb2.PATTERN_DENSE,),
    "toc": (activation_pb2.PATTERN_TOC,),
    "fused": (activation_pb2.PATTERN_TOC, activation_pb2.PATTERN_KEYWORD, activation_pb2.PATTERN_DENSE),
}
# Of a long quote, so much must lie in one passage.
QUOTE_CHARACTERS = 60


@dataclass
class Tally:
    """What one set's questions came to."""

    rows: dict[str, list[int]] = field(default_factory=dict)
    """By leg, the depth at which each row was complete; 0 where it was not."""
    quotes: dict[str, list[int]] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)


def with_plain_ids(question: Question) -> Question:
    """The question over documents whose ids hold only what an id may hold."""
    files = tuple(replace(file, document_id=re.sub(r"[^\w.:/-]", ":", file.document_id)) for file in question.files)
    return replace(question, files=files)


def fold(text: str) -> str:
    """Letters and digits alone, so that layout and markup make no difference."""
    return re.sub(r"[\W_]+", "", text.lower())


def holds(passage: Passage, gold: Gold, document_ids: set[str]) -> bool:
    """Whether a passage holds a gold quote, or a good part of one that was cut."""
    if passage.document_id not in document_ids:
        return False
    quote, text = fold(gold.quote), fold(f"{passage.heading_context} {passage.text}")
    return quote in text or quote[:QUOTE_CHARACTERS] in text or quote[-QUOTE_CHARACTERS:] in text


def find_ranks(question: Question, passages: Sequence[Passage]) -> list[int]:
    """For each gold quote the rank of the first passage that holds it; 0 where none does."""
    ranks = []
    for gold in question.gold:
        ids = {file.document_id for file in question.files if file.path == gold.path}
        ranks.append(next((rank for rank, each in enumerate(passages, 1) if holds(each, gold, ids)), 0))
    return ranks


async def measure(questions: Sequence[Question], channel: grpc.aio.Channel, tally: Tally) -> list[dict[str, object]]:
    """Ask each question by each leg; returns the rows that the fusion missed."""
    stub = retrieval_pb2_grpc.RetrievalServiceStub(channel)
    misses: list[dict[str, object]] = []
    for question in questions:
        for name, legs in LEGS.items():
            request = retrieval_pb2.RetrieveRequest(max_candidates=max(DEPTHS))
            request.queries.extend(retrieval_pb2.LegQuery(leg=leg, text=question.text) for leg in legs)
            if question.as_of is not None:
                request.as_of_time.FromDatetime(question.as_of)
            if question.scope:
                request.scope.documents.document_ids.extend(question.scope)
            with acting_as(Principal(question.store_key, question.user, frozenset(question.groups))):
                started = time.perf_counter()
                response = await call(stub.Retrieve, request, timeout=10)
                tally.seconds.append(time.perf_counter() - started)
            ranks = find_ranks(question, [candidate.passage for candidate in response.candidates])
            found = [rank for rank in ranks if rank]
            complete = (min(found) if found else 0) if question.any_gold else max(ranks) * all(ranks)
            tally.rows.setdefault(name, []).append(complete)
            tally.quotes.setdefault(name, []).extend(ranks)
            if name == "fused" and not 0 < complete <= 10:
                misses.append({"id": question.question_id, "ranks": ranks, "question": question.text})
    return misses


def share(ranks: Sequence[int], depth: int) -> float:
    """The share of ranks within `depth`."""
    return sum(1 for rank in ranks if 0 < rank <= depth) / len(ranks) if ranks else 0.0


async def main(arguments: Sequence[str]) -> int:
    """Measure the named sets, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=SETS)
    parser.add_argument("--state-dir", type=Path, default=REPO / "build" / "quality" / "retrieval")
    parser.add_argument("--misses", type=Path)
    options = parser.parse_args(arguments)
    folder = REPO.parent / "shared" / "data" / "qa"
    environ = {**os.environ, "CITEMESH_AUTH_MODE": "open", "CITEMESH_STATE_DIR": str(options.state_dir)}
    misses: list[dict[str, object]] = []
    async with (
        hosted([DOCUMENTS, RETRIEVAL], environ) as host,
        open_channel(host.target, environ, local=True) as channel,
    ):
        for name in options.sets:
            read = read_question_set(folder / f"{name}.jsonl")
            questions = [with_plain_ids(each) for each in read if each.gold and not each.history]
            started = time.perf_counter()
            problems = await ingest_stores(questions, channel, lambda *_: None)
            for lines in problems.values():
                sys.stderr.write("".join(f"  not ingested: {line}\n" for line in lines))
            tally = Tally()
            ingest_s = time.perf_counter() - started
            misses += await measure(questions, channel, tally)
            sys.stdout.write(
                f"{name}: {len(questions)} rows, ingest {ingest_s:.1f} s, "
                f"Retrieve p50 {statistics.median(tally.seconds) * 1000:.1f} ms\n"
            )
            for leg in LEGS:
                by_row = "  ".join(f"@{depth} {share(tally.rows[leg], depth):.2f}" for depth in DEPTHS)
                by_quote = "  ".join(f"@{depth} {share(tally.quotes[leg], depth):.2f}" for depth in DEPTHS)
                sys.stdout.write(f"  {leg:8} rows {by_row}   quotes {by_quote}\n")
            sys.stdout.flush()
    if options.misses:
        options.misses.write_text("".join(json.dumps(each) + "\n" for each in misses), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
