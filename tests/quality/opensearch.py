"""The judged collections over the OpenSearch store and the embedded one: nDCG@10 of each way to search, side by side.

    python -m tests.quality opensearch [COLLECTION...] [--sample N] [--rerank] [--fresh]

Cranfield and CACM are whole; of SciFact's documents all judged ones and as many others as make 1,000. What both stores
hold is kept in build/quality/opensearch, so that a second run ingests nothing; `--fresh` begins anew. A server is
started from Maven packages, or CITEMESH_TEST_OPENSEARCH_URL names one that runs already. Exit status 1 where two
differ by more than 0.01.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from citemesh.config.paths import STORE_URL_VARIABLE
from tests.conftest import REPO
from tests.opensearch_server.install import CannotInstallError
from tests.opensearch_server.server import running_server

COLLECTIONS: Final = {"cranfield": 0, "cacm": 0, "scifact": 1_000}
"""How many documents are taken of each; 0: all."""

MAX_DIFFERENCE: Final = 0.01
_MEASURE: Final = "ndcg@10"
_BUILD: Final = REPO / "build" / "quality" / "opensearch"
_SOURCE: Final = REPO.parent / "shared" / "data" / "jsonl"


def main(arguments: list[str]) -> int:
    """Measure the named collections, or all, on both stores."""
    parser = argparse.ArgumentParser(prog="python -m tests.quality opensearch")
    parser.add_argument("collections", nargs="*", default=list(COLLECTIONS))
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--rerank", action="store_true")
    parser.add_argument("--fresh", action="store_true")
    options = parser.parse_args(arguments)
    if options.fresh:
        shutil.rmtree(_BUILD, ignore_errors=True)
    status = 0
    try:
        with _find_server() as address:
            for name in options.collections:
                status = max(status, _compare(name, address, options.sample, options.rerank))
    except CannotInstallError as error:
        sys.stderr.write(f"{error}: nothing is measured over OpenSearch.\n")
        return 2 if os.environ.get("CITEMESH_TEST_STRICT") == "1" else 0
    return status


@contextlib.contextmanager
def _find_server() -> Iterator[str]:
    given = os.environ.get("CITEMESH_TEST_OPENSEARCH_URL")
    if given:
        yield given
        return
    with running_server(_BUILD / "server", heap="1g") as address:
        yield address


def _compare(name: str, address: str, sample: int, rerank: bool) -> int:
    folder = _lay_out(name, COLLECTIONS[name])
    embedded = _evaluate(folder, sample, rerank, f"{name}.embedded", "")
    opensearch = _evaluate(folder, sample, rerank, f"{name}.opensearch", f"{address}/quality-{name}")
    worst = 0.0
    for leg, measures in embedded["legs"].items():
        ours, theirs = measures[_MEASURE], opensearch["legs"][leg][_MEASURE]
        worst = max(worst, abs(theirs - ours))
        line = {
            "collection": name,
            "documents": embedded["document_count"],
            "queries": embedded["query_count"],
            "leg": leg,
            "embedded": ours,
            "opensearch": theirs,
            "difference": round(theirs - ours, 4),
        }
        print(json.dumps(line), flush=True)
    return int(worst > MAX_DIFFERENCE)


def _evaluate(folder: Path, sample: int, rerank: bool, state: str, store_url: str) -> dict[str, Any]:
    """What `citemesh eval retrieval` says; it ingests first what the store does not hold yet."""
    command = [sys.executable, "-m", "citemesh.cli.main", "eval", "retrieval", str(folder), "--json"]
    command += ["--sample", str(sample), "--state-dir", str(_BUILD / state), "--rerank" if rerank else "--no-rerank"]
    environ = os.environ | {STORE_URL_VARIABLE: store_url}
    ended = subprocess.run(command, check=True, cwd=REPO, env=environ, stdout=subprocess.PIPE, text=True)
    result: dict[str, Any] = json.loads(ended.stdout)
    return result


def _lay_out(name: str, document_count: int) -> Path:
    """The collection in the BEIR layout: linked where it is whole, else its judged documents and the first others."""
    folder = _BUILD / "collections" / (f"{name}-{document_count}" if document_count else name)
    folder.mkdir(parents=True, exist_ok=True)
    for part in ("queries.jsonl", "qrels.jsonl"):
        _link(folder / part, _SOURCE / f"{name}.{part}")
    if not document_count:
        _link(folder / "corpus.jsonl.gz", _SOURCE / f"{name}.corpus.jsonl.gz")
    elif not (folder / "corpus.jsonl").is_file():
        judged = {str(json.loads(line)["doc_id"]) for line in (folder / "qrels.jsonl").read_text().splitlines()}
        with gzip.open(_SOURCE / f"{name}.corpus.jsonl.gz", "rt", encoding="utf-8") as stream:
            lines = list(stream)
        # Sorting keeps the order within each half.
        lines.sort(key=lambda line: _document_id(line) not in judged)
        (folder / "corpus.jsonl").write_text("".join(lines[:document_count]), encoding="utf-8")
    return folder


def _document_id(line: str) -> str:
    row = json.loads(line)
    return str(row["_id"] if "_id" in row else row["doc_id"])


def _link(place: Path, target: Path) -> None:
    if not place.exists():
        place.symlink_to(target)
