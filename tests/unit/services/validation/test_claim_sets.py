"""Support on public sets of labelled claims: shared words alone see no contradiction, and neither may we pretend to."""

from __future__ import annotations

import gzip
import json
import os
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from citemesh.models import load_encoder
from citemesh.models.errors import ModelError
from citemesh.models.paths import models_dir
from services.validation.settings import ValidationSettings
from services.validation.validate import validate
from services.validation.words import content_stems
from tests.unit.services.validation.builders import NOW, cite, claim, evidence, request

SAMPLE = 8  # claims of each label of each set


def quote_of(row: dict[str, Any]) -> str:
    """The gold sentences, or the two that share most words with the claim."""
    sentences = row["evidence"]
    gold = [sentences[index] for index in row.get("gold_sentences") or [] if isinstance(index, int)]
    stems = set(content_stems(row["claim"]))
    closest = sorted(sentences, key=lambda sentence: -len(stems & set(content_stems(sentence))))[:2]
    return " ".join(gold or closest)[:400]


def auroc(values: list[float], labels: list[bool]) -> float:
    """The chance that a supported claim has more support than another; ties count half."""
    array, positive = np.array(values), np.array(labels)
    more = array[positive][:, None] > array[~positive][None, :]
    same = array[positive][:, None] == array[~positive][None, :]
    return float((more + 0.5 * same).mean())


def test_support_separates_supported_claims_from_others(shared_data: Path) -> None:
    try:
        encoder = load_encoder(models_dir(os.environ))
    except ModelError as error:
        pytest.skip(f"the encoder is not on this machine ({error})")
    with gzip.open(shared_data / "jsonl" / "claims.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    chosen = random.Random(7)
    sample = []
    for name in ("scifact", "wice_oracle"):
        for label in ("supported", "not_enough"):
            matching = [row for row in rows if row["set"] == name and row["label"] == label]
            sample += chosen.sample(matching, SAMPLE)
    supports = []
    for row in sample:
        source = evidence(quote_of(row))
        sent = request(row["claim"], [claim(row["claim"], cite(source))], [source])
        supports.append(validate(sent, NOW, ValidationSettings(), encoder).verdicts[0].support)
    assert auroc(supports, [row["label"] == "supported" for row in sample]) >= 0.7
