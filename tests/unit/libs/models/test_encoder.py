"""The encoder and pair scorer of this machine: numerics, order, lengths, contract."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
from safetensors.numpy import load_file

from citemesh.models import load_encoder, load_pair_scorer
from citemesh.models.contract import CANARY_TEXTS, read_contract
from citemesh.models.encoder import Encoder
from citemesh.models.errors import ModelError
from citemesh.models.graph.bert import BertShape
from citemesh.models.graph.encoder import build_encoder_graph
from citemesh.models.paths import encoder_dir, pair_scorer_dir, source_dir
from citemesh.models.stamp import built_dir

SENTENCES = [
    *CANARY_TEXTS,
    "Employees accrue 25 days of paid annual leave per year, and may carry over five.",
    "Customer data is encrypted at rest with AES-256 and in transit with TLS 1.3; keys rotate yearly.",
    "valve " * 120,
    "No.",
]


@pytest.fixture(scope="module")
def encoder(installed_models: Path) -> Encoder:
    return load_encoder(installed_models)


def test_int8_stays_close_to_float32(installed_models: Path, encoder: Encoder, tmp_path: Path) -> None:
    source = source_dir(installed_models)
    shape = BertShape.from_config(json.loads((source / "config.json").read_text()))
    folder = tmp_path / "float32"
    shutil.copytree(encoder_dir(built_dir(installed_models)), folder)
    onnx.save(build_encoder_graph(load_file(source / "model.safetensors"), shape), str(folder / "model.onnx"))
    cosines = (Encoder(folder).encode_passages(SENTENCES) * encoder.encode_passages(SENTENCES)).sum(axis=1)
    assert cosines.min() > 0.97  # the shortest text suffers most
    assert cosines.mean() > 0.99


def test_vectors_have_length_one_and_keep_the_order(encoder: Encoder) -> None:
    together = encoder.encode_passages(SENTENCES)
    assert together.shape == (len(SENTENCES), encoder.contract.dimension_count)
    assert together.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)
    alone = np.concatenate([encoder.encode_passages([text]) for text in SENTENCES])
    np.testing.assert_array_equal(together, alone)  # no text depends on what is encoded beside it


def test_meaning_outranks_words(encoder: Encoder) -> None:
    asked = encoder.encode_queries(["how much holiday do I get"])
    assert int((asked @ encoder.encode_passages(SENTENCES).T).argmax()) == 3


def test_empty_inputs(encoder: Encoder) -> None:
    assert encoder.encode_passages([]).shape == (0, encoder.contract.dimension_count)
    assert np.isfinite(encoder.encode_passages([""])).all()
    assert encoder.encode_tokens([""])[0].shape == (0, encoder.contract.dimension_count)


def test_texts_are_cut_at_the_contracts_length(encoder: Encoder) -> None:
    long = "measure " * 400
    assert encoder.tokenizer.tokenize([long])[0].token_count == encoder.contract.max_token_count == 256
    assert encoder.tokenizer.count_tokens([long, "two words", ""]) == [400, 2, 0]
    np.testing.assert_array_equal(encoder.encode_passages([long]), encoder.encode_passages(["measure " * 254]))


def test_contract_and_canaries(installed_models: Path, encoder: Encoder) -> None:
    contract = encoder.contract
    assert contract == read_contract(encoder_dir(built_dir(installed_models)))
    assert (contract.dimension_count, contract.pooling) == (384, "mean")
    assert (contract.normalised, contract.metric) == (True, "cosine")
    canaries = encoder.encode_canaries()
    assert canaries.shape == (3, 384)
    np.testing.assert_array_equal(canaries, encoder.encode_passages(CANARY_TEXTS))


def test_a_folder_without_description_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"encoder\.json"):
        load_encoder(tmp_path, tmp_path)


def test_objects_are_shared_per_process(installed_models: Path, encoder: Encoder) -> None:
    assert load_encoder(installed_models) is encoder
    assert load_pair_scorer(installed_models) is load_pair_scorer(installed_models)


def test_pair_scorer_agrees_with_token_vectors(installed_models: Path, encoder: Encoder) -> None:
    question = "Which keys protect the data of customers?"
    logits = load_pair_scorer(installed_models).score(question, SENTENCES)
    asked, offered = encoder.encode_tokens([question])[0], encoder.encode_tokens(SENTENCES)
    expected = [float((asked @ each.T).max(axis=1).mean()) for each in offered]
    np.testing.assert_allclose(logits, expected, atol=0.03)  # int8 activations are scaled over both texts at once
    assert int(logits.argmax()) == 4


def test_pair_scorer_keeps_room_for_the_passage(installed_models: Path) -> None:
    scorer = load_pair_scorer(installed_models)
    [pair] = scorer.tokenize("question " * 300, ["passage " * 300])
    assert pair.token_count == scorer.card.max_token_count
    assert pair.token_type_ids.count(1) == 256
    assert pair.token_type_ids.count(0) == 66


def test_any_cross_encoder_with_one_logit_loads_by_path(installed_models: Path, tmp_path: Path) -> None:
    published = pair_scorer_dir(built_dir(installed_models))
    folder = tmp_path / "some-cross-encoder"
    (folder / "onnx").mkdir(parents=True)
    shutil.copy(published / "model.onnx", folder / "onnx" / "model.onnx")
    shutil.copy(source_dir(installed_models) / "tokenizer.json", folder / "tokenizer.json")
    scorer = load_pair_scorer(installed_models, folder / "onnx" / "model.onnx")
    assert scorer.card.model_id == "onnx"
    assert len(scorer.card.revision) == 16
    assert scorer.score("a question", ["a passage", "another"]).shape == (2,)


def test_an_encoder_is_no_pair_scorer(installed_models: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="one logit"):
        load_pair_scorer(installed_models, encoder_dir(built_dir(installed_models)))
    with pytest.raises(ModelError, match="is missing"):
        load_pair_scorer(installed_models, tmp_path / "none.onnx")
