"""Build the ONNX encoder and pair scorer from the fetched weights: once, whole or not at all."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import onnx
from safetensors.numpy import load_file

from citemesh.models.contract import EncoderContract, write_contract
from citemesh.models.fetch import Progress, verify_source
from citemesh.models.files import hold_lock, replace_folder
from citemesh.models.graph.bert import BertShape
from citemesh.models.graph.encoder import build_encoder_graph
from citemesh.models.graph.pair import MarkerIds, build_pair_graph
from citemesh.models.manifest import MINILM, ModelSource
from citemesh.models.paths import MODEL_FILE_NAME, encoder_dir, pair_scorer_dir, source_dir
from citemesh.models.runtime import quantise
from citemesh.models.scorer_card import ScorerCard, write_scorer_card
from citemesh.models.stamp import built_dir, find_build_problems, name_revision, write_stamp
from citemesh.models.tokenizer import (
    MAX_PAIR_QUESTION_TOKEN_COUNT,
    MAX_PASSAGE_TOKEN_COUNT,
    TOKENIZER_FILE_NAME,
    find_markers,
    mark_segments,
    read_tokenizer,
)

PAIR_MODEL_ID = "all-MiniLM-L6-v2-maxsim"
PAIR_MARKER_COUNT = 2
"""Markers beyond those counted in the passage's limit: the question's own start and end."""


def build(models_dir: Path, progress: Progress, source: ModelSource = MINILM) -> Path:
    """Return the folder of built graphs, building them unless a whole build of this version is there.

    Processes that start together build once. Raises ModelError where the weights are missing or damaged.
    """
    folder = built_dir(models_dir)
    if not find_build_problems(folder, source):
        return folder
    with hold_lock(folder.parent / ".build.lock"):
        if not find_build_problems(folder, source):
            return folder
        weights_folder = source_dir(models_dir)
        verify_source(weights_folder, source)
        progress(f"{source.model_id}: building the ONNX encoder and pair scorer (int8)")
        with replace_folder(folder) as fresh:
            _build_into(fresh, weights_folder, source)
        progress(f"{source.model_id}: built")
    return folder


def _build_into(folder: Path, weights_folder: Path, source: ModelSource) -> None:
    tensors = load_file(weights_folder / "model.safetensors")
    shape = BertShape.from_config(json.loads((weights_folder / "config.json").read_text("utf-8")))
    _build_encoder(encoder_dir(folder), build_encoder_graph(tensors, shape), weights_folder, shape, source)
    tokenizer = read_tokenizer(weights_folder / TOKENIZER_FILE_NAME)
    graph = build_pair_graph(tensors, shape, MarkerIds(*find_markers(tokenizer)))
    _build_pair_scorer(pair_scorer_dir(folder), graph, weights_folder, source)
    write_stamp(folder, source)


def _build_encoder(
    folder: Path, graph: onnx.ModelProto, weights_folder: Path, shape: BertShape, source: ModelSource
) -> None:
    folder.mkdir()
    _write_quantised(graph, folder / MODEL_FILE_NAME)
    read_tokenizer(weights_folder / TOKENIZER_FILE_NAME).save(str(folder / TOKENIZER_FILE_NAME))
    contract = EncoderContract(
        model_id=source.model_id,
        revision=name_revision(source),
        query_prefix="",
        passage_prefix="",
        dimension_count=shape.hidden_size,
        pooling="mean",
        normalised=True,
        metric="cosine",
        max_token_count=MAX_PASSAGE_TOKEN_COUNT,
    )
    write_contract(folder, contract)


def _build_pair_scorer(folder: Path, graph: onnx.ModelProto, weights_folder: Path, source: ModelSource) -> None:
    folder.mkdir()
    _write_quantised(graph, folder / MODEL_FILE_NAME)
    tokenizer = read_tokenizer(weights_folder / TOKENIZER_FILE_NAME)
    mark_segments(tokenizer)
    tokenizer.save(str(folder / TOKENIZER_FILE_NAME))
    card = ScorerCard(
        model_id=PAIR_MODEL_ID,
        revision=name_revision(source),
        max_token_count=MAX_PASSAGE_TOKEN_COUNT + MAX_PAIR_QUESTION_TOKEN_COUNT + PAIR_MARKER_COUNT,
    )
    write_scorer_card(folder, card)


def _write_quantised(graph: onnx.ModelProto, target: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="citemesh-build-") as scratch:
        full = Path(scratch) / "float32.onnx"
        onnx.save(graph, str(full))
        quantise(full, target)
