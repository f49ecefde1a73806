"""Make the labelled pairs that the shipped calibration is fitted to, from the evaluation data beside the checkout.

    python -m tests.quality.rerank_pairs PAIRS.jsonl
    python -m services.rerank.fit PAIRS.jsonl --version N --output services/rerank/calibrations/FILE.json

Pairs are what BM25 finds for a natural question in its own corpus; a passage that nobody judged counts as not relevant.
"""

from __future__ import annotations

import gzip
import json
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tantivy

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "jsonl"
CHUNK = re.compile(r".{500,900}?(?:[.;:]\s|\n)|.+\Z", re.DOTALL)
MIN_SPAN_OVERLAP = 60
SEED = 3


class Corpus:
    """Passages by id, and BM25 over them."""

    def __init__(self, texts: dict[str, str]) -> None:
        self._texts = texts
        builder = tantivy.SchemaBuilder()
        builder.add_text_field("text", stored=False, tokenizer_name="en_stem")
        builder.add_text_field("id", stored=True, tokenizer_name="raw")
        self._index = tantivy.Index(builder.build())
        writer = self._index.writer(30_000_000)
        for passage_id, text in texts.items():
            writer.add_document(tantivy.Document(text=text, id=passage_id))
        writer.commit()
        self._index.reload()

    def make_pairs(self, set_name: str, question: str, gold: set[str], count: int) -> Iterator[dict[str, Any]]:
        """The best `count` passages for a question, labelled."""
        words = " ".join(re.findall(r"\w+", question.lower()))
        searcher = self._index.searcher()
        for _, address in searcher.search(self._index.parse_query(words, ["text"]), count).hits:
            passage_id = searcher.doc(address)["id"][0]
            passage = self._texts[passage_id]
            yield {"set": set_name, "question": question, "passage": passage, "relevant": passage_id in gold}


def read(name: str) -> list[dict[str, Any]]:
    """The records of one file."""
    path = DATA / name
    text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text("utf-8")
    return [json.loads(line) for line in text.splitlines() if line]


def draw(rows: list[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    """`count` rows at random, the same ones each time."""
    return random.Random(SEED).sample(rows, min(count, len(rows)))  # a sample, not a secret


def make_judged(name: str, question_count: int) -> Iterator[dict[str, Any]]:
    """Sets in the BEIR layout."""
    gold: dict[str, set[str]] = {}
    for row in read(f"{name}.qrels.jsonl"):
        if row["rel"] > 0:
            gold.setdefault(row["query_id"], set()).add(row["doc_id"])
    corpus = Corpus(
        {row["doc_id"]: f"{row.get('title') or ''}\n{row['text']}" for row in read(f"{name}.corpus.jsonl.gz")}
    )
    questions = [row for row in read(f"{name}.queries.jsonl") if row["query_id"] in gold]
    for row in draw(questions, question_count):
        yield from corpus.make_pairs(name, row["text"], gold[row["query_id"]], 10)


def make_clapnq() -> Iterator[dict[str, Any]]:
    """Questions with one passage each, which answers about half of them."""
    rows = [row for row in read("qa.jsonl.gz") if row["set"] == "clapnq"]
    corpus = Corpus({row["id"]: f"{row['passages'][0]['title']}\n{row['passages'][0]['text']}" for row in rows})
    for row in draw(rows, 110):
        gold = {row["id"]} if row["answerable"] == "yes" else set()
        yield from corpus.make_pairs("clapnq", row["question"], gold, 6)


def make_rgb() -> Iterator[dict[str, Any]]:
    """English news questions with passages that hold the answer and others near the topic."""
    rows = [row for row in read("rgb.jsonl.gz") if "en" in row["set"]]
    texts: dict[str, str] = {}
    for row in rows:
        for label in ("positive", "negative"):
            for group, item in enumerate(row[label] or []):
                for place, text in enumerate(item if isinstance(item, list) else [item]):
                    texts[f"{row['id']} {label} {group}.{place}"] = text
    corpus = Corpus(texts)
    for row in draw(rows, 50):
        gold = {passage_id for passage_id in texts if passage_id.startswith(f"{row['id']} positive ")}
        yield from corpus.make_pairs("rgb", row["question"], gold, 10)


def make_legalbench() -> Iterator[dict[str, Any]]:
    """Questions about one contract or policy, cut into passages, with the spans that answer."""
    documents = {row["doc_id"]: row["text"] for row in read("legalbench.corpus.jsonl.gz")}
    for row in draw(read("legalbench.queries.jsonl"), 100):
        text = documents[row["spans"][0]["doc_id"]]
        chunks = [match.span() for match in CHUNK.finditer(text)]
        gold = {str(start) for start, end in chunks if any(overlaps(start, end, span) for span in row["spans"])}
        corpus = Corpus({str(start): text[start:end].strip() for start, end in chunks})
        yield from corpus.make_pairs("legalbench", row["text"], gold, 8)


def overlaps(start: int, end: int, span: dict[str, Any]) -> bool:
    """Whether a chunk holds a good part of a span."""
    shared = min(end, span["end"]) - max(start, span["start"])
    return bool(shared >= min(MIN_SPAN_OVERLAP, span["end"] - span["start"]))


def main() -> None:
    """Write all pairs to the file named on the command line."""
    with Path(sys.argv[1]).open("w", encoding="utf-8") as output:
        for pairs in (
            make_judged("scifact", 50),
            make_judged("hotpot100", 100),
            make_clapnq(),
            make_rgb(),
            make_legalbench(),
        ):
            output.writelines(json.dumps(pair) + "\n" for pair in pairs)


if __name__ == "__main__":
    main()
