"""The graphs against an independent BERT in plain numpy, at lengths other than those of the build."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
import pytest

from citemesh.models.errors import ModelError
from citemesh.models.graph.bert import BertShape
from citemesh.models.graph.encoder import build_encoder_graph
from citemesh.models.graph.pair import MarkerIds, build_pair_graph
from citemesh.models.runtime import open_session

Floats = npt.NDArray[np.float32]
Arrays = dict[str, Floats]
START, END = 2, 3


def encode_plainly(w: Arrays, ids: list[int], heads: int = 4, layers: int = 2) -> Floats:
    """A BERT over one unpadded text of type 0: [tokens, hidden]."""

    def normalise(x: Floats, name: str) -> Floats:
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12)
        return np.asarray(scaled * w[f"{name}.weight"] + w[f"{name}.bias"], dtype=np.float32)

    def project(x: Floats, name: str) -> Floats:
        return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    embedded = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.token_type_embeddings.weight"][0]
    x = normalise(embedded + w["embeddings.position_embeddings.weight"][: len(ids)], "embeddings.LayerNorm")
    for name in (f"encoder.layer.{index}" for index in range(layers)):
        parts = [project(x, f"{name}.attention.self.{part}") for part in ("query", "key", "value")]
        mixed = []
        for query, key, value in zip(*(np.split(part, heads, axis=1) for part in parts), strict=True):
            logits = query @ key.T / math.sqrt(query.shape[1])
            weights = np.exp(logits - logits.max(-1, keepdims=True))
            mixed.append(weights / weights.sum(-1, keepdims=True) @ value)
        attended = project(np.concatenate(mixed, axis=1), f"{name}.attention.output.dense")
        x = normalise(attended + x, f"{name}.attention.output.LayerNorm")
        inner = project(x, f"{name}.intermediate.dense")
        gelu = 0.5 * inner * (1 + np.vectorize(math.erf)(inner / math.sqrt(2)))
        x = normalise(project(gelu, f"{name}.output.dense") + x, f"{name}.output.LayerNorm")
    return x.astype(np.float32)


def make_inputs(rows: list[tuple[list[int], list[int]]], width: int) -> dict[str, npt.NDArray[np.int64]]:
    """The three inputs of (ids, types) rows, padded to `width`."""
    inputs = {
        name: np.zeros((len(rows), width), np.int64) for name in ("input_ids", "attention_mask", "token_type_ids")
    }
    for row, (ids, types) in enumerate(rows):
        inputs["input_ids"][row, : len(ids)] = ids
        inputs["attention_mask"][row, : len(ids)] = 1
        inputs["token_type_ids"][row, : len(ids)] = types
    return inputs


def compute_max_sim(question: Floats, passage: Floats) -> float:
    """Mean over the question's tokens of the best cosine, markers left out."""
    unit = [x[1:-1] / np.linalg.norm(x[1:-1], axis=1, keepdims=True) for x in (question, passage)]
    return float((unit[0] @ unit[1].T).max(1).mean())


@pytest.fixture(scope="module")
def shape(tiny_config: dict[str, object]) -> BertShape:
    return BertShape.from_config(tiny_config)


@pytest.mark.parametrize("length", [3, 11, 64])
def test_encoder_equals_plain_bert_and_ignores_padding(
    tmp_path: Path, tiny_tensors: Arrays, shape: BertShape, length: int
) -> None:
    onnx.save(build_encoder_graph(tiny_tensors, shape), str(tmp_path / "m.onnx"))
    session = open_session(tmp_path / "m.onnx")
    rng = np.random.default_rng(length)
    texts = [[START, *rng.integers(4, 60, size - 2).tolist(), END] for size in (length, max(3, length // 2))]
    hidden = session.run(None, make_inputs([(ids, [0] * len(ids)) for ids in texts], length))[0]
    for row, ids in enumerate(texts):
        np.testing.assert_allclose(hidden[row, : len(ids)], encode_plainly(tiny_tensors, ids), atol=2e-4)


@pytest.mark.parametrize("padding", [0, 9])
def test_pair_scorer_equals_two_pass_max_sim(
    tmp_path: Path, tiny_tensors: Arrays, shape: BertShape, padding: int
) -> None:
    onnx.save(build_pair_graph(tiny_tensors, shape, MarkerIds(START, END)), str(tmp_path / "m.onnx"))
    session = open_session(tmp_path / "m.onnx")
    rng = np.random.default_rng(1)
    rows, expected = [], []
    for asked, offered in ((1, 1), (5, 30), (20, 40)):
        question = [START, *rng.integers(4, 60, asked).tolist(), END]
        passage = [START, *rng.integers(4, 60, offered).tolist(), END]
        rows.append((question + passage, [0] * len(question) + [1] * len(passage)))
        expected.append(compute_max_sim(*(encode_plainly(tiny_tensors, each) for each in (question, passage))))
    logits = session.run(None, make_inputs(rows, 64 + padding))[0]
    np.testing.assert_allclose(logits[:, 0], expected, atol=2e-4)


def test_passage_without_words_is_unlike(tmp_path: Path, tiny_tensors: Arrays, shape: BertShape) -> None:
    onnx.save(build_pair_graph(tiny_tensors, shape, MarkerIds(START, END)), str(tmp_path / "m.onnx"))
    session = open_session(tmp_path / "m.onnx")
    ids = [START, 9, END, START, END]
    logits = session.run(None, make_inputs([(ids, [0, 0, 0, 1, 1])], len(ids)))[0]
    assert logits[0, 0] == -1.0


def test_other_architectures_are_refused(
    tiny_config: dict[str, object], tiny_tensors: Arrays, shape: BertShape
) -> None:
    with pytest.raises(ModelError, match="BERT with GELU"):
        BertShape.from_config(tiny_config | {"hidden_act": "relu"})
    lacking = {name: values for name, values in tiny_tensors.items() if "layer.1.output.dense" not in name}
    with pytest.raises(ModelError, match=r"encoder\.layer\.1\.output\.dense"):
        build_encoder_graph(lacking, shape)
