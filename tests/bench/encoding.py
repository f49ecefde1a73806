"""Encode throughput in ingest against sentence-transformers as it comes: same texts, cores and weights."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Final

import numpy as np

from citemesh.models import load_encoder
from citemesh.models.paths import models_dir, source_dir
from citemesh.v1.evidence_pb2 import Passage
from services.documents.encoding import PassageEncoder, text_to_encode
from services.documents.settings import DocumentsSettings
from tests.bench.hybrid import PEERS, run_peer
from tests.bench.report import Figure
from tests.conftest import REPO

_TEXT_COUNT: Final = 256
_TURN_COUNT: Final = 3
_CORPUS: Final = REPO.parent / "shared" / "data" / "jsonl" / "scifact.corpus.jsonl.gz"
# The ratio is ours to theirs in time: a throughput of at least twice theirs.
_MAX_TIME_SHARE: Final = 0.5
_MIN_COSINE: Final = 0.98


def run() -> list[Figure]:
    """Encode the texts as an ingest does, then let the peer do it; the faster turn of each counts."""
    passages = [Passage(text=text) for text in _read_texts()]
    loaded = load_encoder(models_dir(os.environ))
    encoder = PassageEncoder(loaded, DocumentsSettings().encode_batch_size)
    texts = [text_to_encode(passage) for passage in passages]
    token_counts = [min(count, loaded.contract.max_token_count) for count in encoder.count_tokens(texts)]
    turns = []
    for _ in range(_TURN_COUNT):
        begun = time.perf_counter()
        vectors = asyncio.run(encoder.encode(passages))
        turns.append(time.perf_counter() - begun)
    details = {"texts": len(texts), "mean_tokens": round(float(np.mean(token_counts)), 1), "turns_s": _rounded(turns)}
    figures = [Figure("encoding in ingest", len(texts) / min(turns), "passages/s", None, details)]
    return figures + _compare(texts, min(turns), vectors[0])


def _compare(texts: list[str], ours_s: float, vector: np.ndarray) -> list[Figure]:
    if not PEERS.is_file():
        print(f"sentence-transformers is not compared with: {PEERS} is missing (see tests/bench/peers.txt)")
        return []
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        (folder / "texts.json").write_text(json.dumps(texts))
        (folder / "model").symlink_to(source_dir(models_dir(os.environ)))
        peer = run_peer("sentence_transformers_encode", folder)
    cosine = float(np.dot(np.asarray(peer["first"]), vector))
    if cosine < _MIN_COSINE:
        raise RuntimeError(f"the peer encodes something else: cosine {cosine:.3f}")
    theirs_s = min(peer["turns_s"])
    details = {key: peer[key] for key in ("torch", "threads")} | {
        "peer_turns_s": _rounded(peer["turns_s"]),
        "throughput_ratio": round(theirs_s / ours_s, 2),
        "cosine": round(cosine, 4),
    }
    return [Figure("time to encode / sentence-transformers'", ours_s / theirs_s, "x", _MAX_TIME_SHARE, details)]


def _rounded(values: list[float]) -> list[float]:
    return [round(value, 2) for value in values]


def _read_texts() -> list[str]:
    """Abstracts of the evaluation data where they are beside this checkout, else the demo's documents in pieces."""
    if _CORPUS.is_file():
        with gzip.open(_CORPUS, "rt", encoding="utf-8") as stream:
            rows = [json.loads(line) for _, line in zip(range(_TEXT_COUNT), stream, strict=False)]
        return [f"{row['title']}\n{row['text']}"[:900] for row in rows]
    words = " ".join(path.read_text() for path in sorted((REPO / "demo" / "corpus").glob("*.md"))).split()
    pieces = [" ".join(words[start : start + 130]) for start in range(0, len(words), 130)]
    return (pieces * (1 + _TEXT_COUNT // len(pieces)))[:_TEXT_COUNT]
