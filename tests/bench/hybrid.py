"""Hybrid search of the embedded store: beside LanceDB at 100,000 passages, and from 100,000 to a million.

CITEMESH_BENCH_PASSAGES sets the smaller size, CITEMESH_BENCH_LARGE_PASSAGES the larger one (0: left out; a million
takes ten minutes and 5 GB).
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Final

import numpy as np

from citemesh.auth.principal import Principal
from citemesh.store.contract import StoreReader
from citemesh.store.embedded.open import open_reader
from services.retrieval.fusion import WeightedRanking, fuse
from tests.bench.filled_store import GROUPS, PASSAGES_PER_DOCUMENT, TENANT, MadeText, Matrix, batches, fill, group_of
from tests.bench.report import Figure, p50
from tests.conftest import REPO

PEERS: Final = REPO / "build" / "peers" / "bin" / "python"
_QUESTION_COUNT: Final = 60
_WARM_UP_COUNT: Final = 12
# What the service hands to the reranker; LanceDB is asked for as many.
_RESULT_COUNT: Final = 50
_EXACT_COUNT: Final = 10
_RRF_K: Final = 60.0
_MAX_SHARE_OF_PEER: Final = 0.2
_MAX_GROWTH: Final = 12.0
_PERCENT: Final = {name: f"{share:.0%}" for name, share in GROUPS.items()}


def run() -> list[Figure]:
    """Fill, search, compare."""
    small = int(os.environ.get("CITEMESH_BENCH_PASSAGES", "100000"))
    large = int(os.environ.get("CITEMESH_BENCH_LARGE_PASSAGES", "0"))
    text = MadeText()
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        figures, ours = _measure(Path(name) / "small", text, small)
        figures += _compare(Path(name), text, small, ours)
    if large:
        with tempfile.TemporaryDirectory(prefix="bench-") as name:
            more, grown = _measure(Path(name) / "large", text, large)
        figures += more
        for group, percent in _PERCENT.items():
            growth = grown[group] / ours[group]
            figures.append(Figure(f"hybrid p50 at {large:,} / {small:,}, {percent}", growth, "x", _MAX_GROWTH))
    return figures


def _measure(folder: Path, text: MadeText, passage_count: int) -> tuple[list[Figure], dict[str, float]]:
    begun = time.perf_counter()
    fill(folder, text, passage_count)
    filled_s = time.perf_counter() - begun
    reader = open_reader(folder)
    try:
        times = {group: _ask_all(reader, text, group) for group in GROUPS}
        misses = _count_misses(reader, text, passage_count)
    finally:
        reader.close()
    size = f"at {passage_count:,}"
    figures = [Figure(f"filling the store {size}", filled_s, "s")]
    figures += [Figure(f"hybrid p50 {size}, {_PERCENT[group]} readable", ms, "ms") for group, ms in times.items()]
    figures.append(Figure(f"dense leg {size}: of brute force's first ten, missed", misses, "share", 0.0))
    return figures, times


def _ask_all(reader: StoreReader, text: MadeText, group: str) -> float:
    """The median over the questions, of everything from the principal to fifty texts, in ms."""
    principal = Principal(TENANT, "ana", frozenset({group}))
    times = []
    for number in range(_QUESTION_COUNT + _WARM_UP_COUNT):
        words, vector = text.ask(number)
        begun = time.perf_counter()
        found = _search(reader, principal, words, vector)
        times.append((time.perf_counter() - begun) * 1e3)
        assert found, "nothing was found"
    return p50(times[_WARM_UP_COUNT:])


def _search(reader: StoreReader, principal: Principal, words: str, vector: Matrix) -> list[str]:
    """One leg after the other, though the service runs them side by side."""
    versions = reader.allowed_versions(principal)
    legs = {
        "keyword": reader.keyword_search(words, versions, _RESULT_COUNT),
        "dense": reader.dense_search(vector, versions, _RESULT_COUNT),
    }
    fused = fuse([WeightedRanking(leg, [hit.passage_key for hit in hits], 1.0) for leg, hits in legs.items()], _RRF_K)
    best = list(fused)[:_RESULT_COUNT]
    return [passage.text for passage in reader.passages_by_key(best, versions).values()]


def _count_misses(reader: StoreReader, text: MadeText, passage_count: int) -> float:
    """The share of the exact first ten, by float32 over all that may be read, that the dense leg does not give."""
    wanted = missed = 0
    questions = np.stack([text.ask(number)[1] for number in range(20)])
    exact = _search_exactly(text, passage_count, questions)
    for group in GROUPS:
        versions = reader.allowed_versions(Principal(TENANT, "ana", frozenset({group})))
        for vector, best in zip(questions, exact[group], strict=True):
            hits = reader.dense_search(vector, versions, _EXACT_COUNT)
            passages = reader.passages_by_key([hit.passage_key for hit in hits], versions)
            found = {_number_of(passage.passage_id) for passage in passages.values()}
            wanted += len(best)
            missed += len(best - found)
    return missed / wanted


def _search_exactly(text: MadeText, passage_count: int, questions: Matrix) -> dict[str, list[set[int]]]:
    """For each group and question the numbers of the ten nearest passages that the group may read."""
    kept = {group: [(np.zeros(0, np.float32), np.zeros(0, np.int64))] * len(questions) for group in GROUPS}
    for start, count in batches(passage_count):
        cosines = questions @ text.make_vectors(start, count).T
        numbers = np.arange(start, start + count)
        for group in GROUPS:
            own = [at for at in range(count) if group in group_of((start + at) // PASSAGES_PER_DOCUMENT)]
            for at, (values, names) in enumerate(kept[group]):
                values, names = np.append(values, cosines[at, own]), np.append(names, numbers[own])
                order = np.argsort(-values)[:_EXACT_COUNT]
                kept[group][at] = values[order], names[order]
    return {group: [{int(name) for name in names} for _, names in best] for group, best in kept.items()}


def _number_of(passage_id: str) -> int:
    """d000012@1#7 is the passage 607."""
    document, _, rest = passage_id.partition("@")
    return int(document[1:]) * PASSAGES_PER_DOCUMENT + int(rest.partition("#")[2])


def _compare(root: Path, text: MadeText, passage_count: int, before: dict[str, float]) -> list[Figure]:
    """LanceDB over the same passages and questions; nothing where it is not installed.

    The store is asked before and after it, and the better turn counts, as the best of LanceDB's ways does.
    """
    if not PEERS.is_file():
        print(f"LanceDB is not compared with: {PEERS} is missing (tests/bench/peers.txt says how to make it)")
        return []
    folder = root / "peer"
    folder.mkdir()
    vectors = []
    with (folder / "passages.jsonl").open("w", encoding="utf-8") as stream:
        for start, count in batches(passage_count):
            vectors.append(text.make_vectors(start, count))
            for number, each in enumerate(text.make_texts(start, count), start):
                row = {"text": each, "groups": group_of(number // PASSAGES_PER_DOCUMENT)}
                stream.write(json.dumps(row) + "\n")
    np.save(folder / "vectors.npy", np.concatenate(vectors))
    asked = [text.ask(number) for number in range(_QUESTION_COUNT + _WARM_UP_COUNT)]
    (folder / "questions.jsonl").write_text("".join(json.dumps({"text": words}) + "\n" for words, _ in asked))
    np.save(folder / "question_vectors.npy", np.stack([vector for _, vector in asked]))
    peer = run_peer("lancedb_hybrid", folder)
    print(json.dumps({"lancedb_p50_ms": peer["ways"]}))
    reader = open_reader(root / "small")
    try:
        ours = {group: min(before[group], _ask_all(reader, text, group)) for group in GROUPS}
    finally:
        reader.close()
    figures = []
    for group, ms in peer["p50_ms"].items():
        details = {"peer_version": peer["version"], "peer_ms": round(ms, 2), "ours_ms": round(ours[group], 2)}
        name = f"hybrid p50 / LanceDB's at {passage_count:,}, {_PERCENT[group]} readable"
        figures.append(Figure(name, ours[group] / ms, "x", _MAX_SHARE_OF_PEER, details))
    return figures


def run_peer(script: str, folder: Path) -> dict[str, Any]:
    """Run a script of tests/bench/peers in the environment of peers.txt; the JSON that it prints last."""
    path = REPO / "tests" / "bench" / "peers" / f"{script}.py"
    ended = subprocess.run([str(PEERS), str(path), str(folder)], capture_output=True, text=True, check=False)
    if ended.returncode:
        raise RuntimeError(f"{script} ended with {ended.returncode}: {ended.stderr[-2000:]}")
    answer: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return answer
