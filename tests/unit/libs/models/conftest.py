"""What the tests of models share: the models of this machine, and a tiny random BERT that builds in milliseconds."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from safetensors.numpy import save_file

from citemesh.models.files import hash_file
from citemesh.models.manifest import ModelSource, PinnedFile
from citemesh.models.paths import models_dir, source_dir
from citemesh.models.stamp import built_dir

HIDDEN, INNER, HEADS, LAYERS, WORDS, POSITIONS = 16, 32, 4, 2, 60, 64
Arrays = dict[str, npt.NDArray[np.float32]]


@pytest.fixture(scope="session")
def installed_models() -> Path:
    """The models directory of this machine; skips where the models were not pulled."""
    folder = models_dir(os.environ)
    if not built_dir(folder).is_dir() or not source_dir(folder).is_dir():
        pytest.skip(f"no models in {folder}; run `citemesh models pull`")
    return folder


@pytest.fixture(scope="session")
def tiny_config() -> dict[str, object]:
    """config.json of a BERT of two small layers."""
    return {
        "model_type": "bert",
        "hidden_act": "gelu",
        "hidden_size": HIDDEN,
        "num_attention_heads": HEADS,
        "num_hidden_layers": LAYERS,
        "layer_norm_eps": 1e-12,
    }


@pytest.fixture(scope="session")
def tiny_tensors() -> Arrays:
    """Random weights of the tiny BERT, named as published ones are."""
    rng = np.random.default_rng(7)

    def draw(*shape: int) -> npt.NDArray[np.float32]:
        return rng.normal(0, 0.5, shape).astype(np.float32)

    tensors = {
        "embeddings.word_embeddings.weight": draw(WORDS, HIDDEN),
        "embeddings.position_embeddings.weight": draw(POSITIONS, HIDDEN),
        "embeddings.token_type_embeddings.weight": draw(2, HIDDEN),
    }
    norms = ["embeddings.LayerNorm"]
    for layer in (f"encoder.layer.{index}" for index in range(LAYERS)):
        for part in ("query", "key", "value"):
            tensors |= {f"{layer}.attention.self.{part}.weight": draw(HIDDEN, HIDDEN)}
            tensors |= {f"{layer}.attention.self.{part}.bias": draw(HIDDEN)}
        for name, rows, columns in (
            (f"{layer}.attention.output.dense", HIDDEN, HIDDEN),
            (f"{layer}.intermediate.dense", INNER, HIDDEN),
            (f"{layer}.output.dense", HIDDEN, INNER),
        ):
            tensors |= {f"{name}.weight": draw(rows, columns), f"{name}.bias": draw(rows)}
        norms += [f"{layer}.attention.output.LayerNorm", f"{layer}.output.LayerNorm"]
    for norm in norms:
        tensors |= {f"{norm}.weight": 1 + 0.1 * draw(HIDDEN), f"{norm}.bias": 0.1 * draw(HIDDEN)}
    return tensors


@pytest.fixture
def tiny_models(tmp_path: Path, tiny_config: dict[str, object], tiny_tensors: Arrays) -> tuple[Path, ModelSource]:
    """A models directory that holds the tiny BERT's files as if fetched, and the manifest that pins them."""
    folder = source_dir(tmp_path)
    folder.mkdir(parents=True)
    save_file(tiny_tensors, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(tiny_config))
    (folder / "tokenizer.json").write_text(json.dumps(_describe_tokenizer()))
    files = tuple(
        PinnedFile(name, (folder / name).stat().st_size, hash_file(folder / name))
        for name in ("model.safetensors", "config.json", "tokenizer.json")
    )
    return tmp_path, ModelSource("tiny", "no-such-package-of-citemesh", "0", "tiny/model", files)


def _describe_tokenizer() -> dict[str, object]:
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *(f"w{number}" for number in range(WORDS - 4))]
    return {
        "version": "1.0",
        "truncation": {"max_length": 8, "strategy": "LongestFirst", "stride": 0, "direction": "Right"},
        "padding": None,
        "added_tokens": [],
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [
                {"SpecialToken": {"id": "[CLS]", "type_id": 0}},
                {"Sequence": {"id": "A", "type_id": 0}},
                {"SpecialToken": {"id": "[SEP]", "type_id": 0}},
            ],
            "pair": [
                {"SpecialToken": {"id": "[CLS]", "type_id": 0}},
                {"Sequence": {"id": "A", "type_id": 0}},
                {"SpecialToken": {"id": "[SEP]", "type_id": 0}},
                {"Sequence": {"id": "B", "type_id": 1}},
                {"SpecialToken": {"id": "[SEP]", "type_id": 1}},
            ],
            "special_tokens": {
                "[CLS]": {"id": "[CLS]", "ids": [2], "tokens": ["[CLS]"]},
                "[SEP]": {"id": "[SEP]", "ids": [3], "tokens": ["[SEP]"]},
            },
        },
        "decoder": None,
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": {word: index for index, word in enumerate(words)},
        },
    }
