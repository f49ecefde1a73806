"""Fit a calibration to labelled pairs: `python -m services.rerank.fit PAIRS.jsonl --version 1 --output FILE`.

A line of PAIRS.jsonl is {"set": name, "question": text, "passage": text, "relevant": true or false}. Pairs should be
what a first stage finds, relevant or not as it comes, so that relevance means: among what is reranked, how often does
a passage with this logit help.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from citemesh.models import load_pair_scorer
from citemesh.models.paths import models_dir
from citemesh.models.scorer_card import ScorerCard
from services.rerank.calibration import FORMAT_VERSION, Calibration, check_knots

BLOCK_COUNT = 14
LOGIT_DIGIT_COUNT = 5
Knots = tuple[tuple[float, float], ...]


def fit_knots(logits: Sequence[float], relevant: Sequence[bool], block_count: int = BLOCK_COUNT) -> Knots:
    """A strictly rising curve by isotonic regression (pool adjacent violators) over blocks of pairs.

    A block ends when it holds its share of the relevant pairs or of all pairs, which gives resolution at both ends:
    relevant pairs are dense near the top, others near the bottom. Each block's share of relevant pairs is smoothed by
    half a pair of either kind (Jeffreys' prior).
    Raises ValueError where the pairs are too few or of one kind, or where relevance does not rise with the logit.
    """
    total_relevant = sum(relevant)
    if total_relevant < block_count or total_relevant == len(relevant):
        raise ValueError(f"need at least {block_count} relevant pairs and some that are not")
    pooled: list[list[float]] = []  # per block: pairs, relevant pairs, sum of logits
    for block in _split(sorted(zip(logits, relevant, strict=True)), block_count):
        pooled.append([len(block), sum(label for _, label in block), math.fsum(logit for logit, _ in block)])
        while len(pooled) > 1 and _smooth(pooled[-2]) >= _smooth(pooled[-1]):
            last = pooled.pop()
            pooled[-1] = [a + b for a, b in zip(pooled[-1], last, strict=True)]
    knots = tuple(
        (round(total / count, LOGIT_DIGIT_COUNT), round(_smooth([count, hits]), 4)) for count, hits, total in pooled
    )
    check_knots(knots)
    return knots


def _smooth(block: Sequence[float]) -> float:
    return (block[1] + 0.5) / (block[0] + 1.0)


def _split(pairs: list[tuple[float, bool]], block_count: int) -> list[list[tuple[float, bool]]]:
    """Consecutive blocks, each closed once it holds 1/block_count of the relevant pairs or of all pairs."""
    max_pair_count = len(pairs) / block_count
    max_relevant_count = sum(label for _, label in pairs) / block_count
    blocks: list[list[tuple[float, bool]]] = [[]]
    relevant_count = 0
    for pair in pairs:
        if len(blocks[-1]) >= max_pair_count or relevant_count >= max_relevant_count:
            blocks.append([])
            relevant_count = 0
        blocks[-1].append(pair)
        relevant_count += pair[1]
    return blocks


def measure(calibration: Calibration, logits: Sequence[float], relevant: Sequence[bool]) -> dict[str, float]:
    """Brier score, expected calibration error over ten equal bins, and area under the ROC curve."""
    predicted = [calibration.relevance(logit) for logit in logits]
    bins: list[list[tuple[float, bool]]] = [[] for _ in range(10)]
    for probability, label in zip(predicted, relevant, strict=True):
        bins[min(9, int(probability * 10))].append((probability, label))
    gaps = [abs(sum(p for p, _ in each) - sum(label for _, label in each)) for each in bins]
    return {
        "brier": round(
            math.fsum((p - label) ** 2 for p, label in zip(predicted, relevant, strict=True)) / len(relevant), 4
        ),
        "expected_calibration_error": round(math.fsum(gaps) / len(relevant), 4),
        "auroc": round(_measure_auroc(logits, relevant), 4),
    }


def _measure_auroc(logits: Sequence[float], relevant: Sequence[bool]) -> float:
    """The probability that a relevant pair has the higher logit, by rank sums; ties count half by their order."""
    rank_sum = sum(rank for rank, (_, label) in enumerate(sorted(zip(logits, relevant, strict=True)), 1) if label)
    hits = sum(relevant)
    return (rank_sum - hits * (hits + 1) / 2) / (hits * (len(relevant) - hits))


def make_artefact(
    card: ScorerCard, version: str, sets: Sequence[str], logits: Sequence[float], relevant: Sequence[bool]
) -> dict[str, Any]:
    """The artefact's content. Its measures are of pairs kept out of a fit to the other half."""
    halves = [[place for place in range(len(sets)) if place % 2 == half] for half in (0, 1)]
    trial = Calibration(
        card.model_id,
        card.revision,
        version,
        fit_knots([logits[place] for place in halves[0]], [relevant[place] for place in halves[0]]),
    )
    kept_out = measure(trial, [logits[place] for place in halves[1]], [relevant[place] for place in halves[1]])
    pairs, hits = Counter(sets), Counter(name for name, label in zip(sets, relevant, strict=True) if label)
    return {
        "format_version": FORMAT_VERSION,
        "model_id": card.model_id,
        "model_revision": card.revision,
        "calibration_version": version,
        "fitted_on": [{"set": name, "pair_count": pairs[name], "relevant_count": hits[name]} for name in sorted(pairs)],
        "kept_out_half": kept_out,
        "knots": [list(knot) for knot in fit_knots(logits, relevant)],
    }


def main(arguments: list[str]) -> int:
    """Score the pairs with the pair scorer of this machine, fit, write the artefact, print its measures."""
    parser = argparse.ArgumentParser(prog="python -m services.rerank.fit", description=__doc__)
    parser.add_argument("pairs", type=Path)
    parser.add_argument("--version", required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--model", type=Path, default=None, help="an ONNX cross-encoder instead of the default")
    chosen = parser.parse_args(arguments)
    scorer = load_pair_scorer(models_dir(os.environ), chosen.model)
    rows = [json.loads(line) for line in chosen.pairs.read_text("utf-8").splitlines() if line.strip()]
    by_question: dict[str, list[int]] = {}
    for place, row in enumerate(rows):
        by_question.setdefault(row["question"], []).append(place)
    logits = [0.0] * len(rows)
    for question, places in by_question.items():
        scored = scorer.score(question, [rows[place]["passage"] for place in places])
        for place, logit in zip(places, scored.tolist(), strict=True):
            logits[place] = logit
    artefact = make_artefact(
        scorer.card, chosen.version, [row["set"] for row in rows], logits, [bool(row["relevant"]) for row in rows]
    )
    chosen.output.write_text(json.dumps(artefact, indent=1) + "\n", "utf-8")
    sys.stdout.write(json.dumps(artefact["kept_out_half"]) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
