"""`citemesh eval retrieval` over the judged collections beside the checkout, with bm25s on the same rows as the anchor.

    python -m tests.quality retrieval [COLLECTION...] [--sample N] [--no-rerank] [--max-seconds S] [--resume] [--json]

The state is kept in build/quality/collections, so that a second run ingests nothing; what was found is kept there too,
and `--resume` goes on with it: for a run in slices.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import bm25s  # type: ignore[import-untyped]  # it ships no type information

from citemesh.evaluation.judged_collection import Collection, read_collection
from citemesh.evaluation.ranking_measures import has_all, ndcg
from citemesh.text.stems import stem
from tests.conftest import REPO

COLLECTIONS: Final = ("scifact", "cranfield", "cacm", "hotpot100", "legalbench")
_BUILD: Final = REPO / "build" / "quality" / "collections"
_DEPTH: Final = 10
# Queries of one collection find the same passages again and again: with all of them remembered (2 GiB at most), a
# whole collection is reranked in the time that its passages take to encode once. The values are the same.
_REMEMBERED_TOKENS: Final = "3000000"


def main(arguments: list[str]) -> int:
    """Measure the named collections, or all. The worst exit status of the runs."""
    parser = argparse.ArgumentParser(prog="python -m tests.quality retrieval")
    parser.add_argument("collections", nargs="*", default=COLLECTIONS)
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--no-rerank", action="store_true")
    parser.add_argument("--max-seconds", type=float)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    environ = {"CITEMESH_RERANK_CACHED_TOKEN_COUNT": _REMEMBERED_TOKENS, **os.environ}
    status = 0
    for name in options.collections:
        folder = _lay_out(name)
        _show_anchor(read_collection(folder, "dev"))
        rows = _BUILD / f"{name}.rows.jsonl"
        if not options.resume:
            rows.unlink(missing_ok=True)
        command = [sys.executable, "-m", "citemesh.cli.main", "eval", "retrieval", str(folder), "--split", "dev"]
        command += ["--sample", str(options.sample), "--state-dir", str(_BUILD / f"{name}.state"), "--rows", str(rows)]
        command += ["--no-rerank"] if options.no_rerank else []
        command += ["--json"] if options.json else []
        command += [] if options.max_seconds is None else ["--max-seconds", str(options.max_seconds)]
        status = max(status, subprocess.run(command, check=False, cwd=REPO, env=environ).returncode)
    return status


def _lay_out(name: str) -> Path:
    """The collection's files, linked under the names of the BEIR layout."""
    source = REPO.parent / "shared" / "data" / "jsonl"
    folder = _BUILD / name
    folder.mkdir(parents=True, exist_ok=True)
    for part in ("corpus.jsonl.gz", "queries.jsonl", "qrels.jsonl"):
        link = folder / part
        if (source / f"{name}.{part}").is_file() and not link.exists():
            link.symlink_to(source / f"{name}.{part}")
    return folder


def _show_anchor(collection: Collection) -> None:
    """BM25 by bm25s over title and text, English stems and stop words, its own defaults (k1 1.5, b 0.75)."""
    judged = [query for query in collection.queries if query.grades]
    if not judged:
        return
    texts = [f"{document.title}\n{document.text}" for document in collection.documents]
    index = bm25s.BM25()
    index.index(_tokenize(texts), show_progress=False)
    asked = _tokenize([query.text for query in judged])
    found, _ = index.retrieve(asked, k=_DEPTH, show_progress=False)
    ids = [document.document_id for document in collection.documents]
    ranked = [[ids[int(place)] for place in row] for row in found]
    line = {
        "anchor": "bm25s",
        "collection": collection.name,
        "nDCG@10": round(sum(ndcg(row, q.grades) for row, q in zip(ranked, judged, strict=True)) / len(judged), 4),
        "all in 10": round(sum(has_all(row, q.grades) for row, q in zip(ranked, judged, strict=True)) / len(judged), 4),
    }
    print(json.dumps(line), flush=True)


def _tokenize(texts: list[str]) -> Any:
    return bm25s.tokenize(
        texts, stopwords="en", stemmer=lambda words: [stem(word) for word in words], show_progress=False
    )
