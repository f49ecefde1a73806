"""A pair scorer with a cross-encoder's signature, made of an encoder's weights by late interaction.

Segment A (the question, token type 0) and segment B (the passage, token type 1) are encoded in one pass, each seeing
only itself and each with positions from 0, so every token gets the vector that it would get alone. The logit is
MaxSim: the mean over the question's tokens of the largest cosine with a token of the passage.
Source: Khattab and Zaharia 2020, "ColBERT" (late interaction), with the mean instead of the sum so that long and
short questions share one range. It is not a trained cross-encoder: it cannot weigh a word by its neighbours across
the two texts.
"""

from __future__ import annotations

from dataclasses import dataclass

import onnx

from citemesh.models.graph.bert import MASKED, BertNodes, BertShape, Tensors
from citemesh.models.graph.writer import ATTENTION_MASK, INPUT_IDS, TOKEN_TYPE_IDS, GraphWriter

LOGITS = "logits"
FLOAT = onnx.TensorProto.FLOAT


@dataclass(frozen=True)
class MarkerIds:
    """Token ids of the markers that a tokenizer puts around texts; they take no part in MaxSim."""

    start: int
    end: int


def build_pair_graph(tensors: Tensors, shape: BertShape, markers: MarkerIds) -> onnx.ModelProto:
    """The float32 pair scorer: three integer inputs [batch, sequence] -> logits [batch, 1], in [-1, 1]."""
    g = GraphWriter()
    bert = BertNodes(g, tensors, shape)
    in_question = g.add("Mul", ATTENTION_MASK, g.add("Sub", g.integer(1), TOKEN_TYPE_IDS))
    in_passage = g.add("Mul", ATTENTION_MASK, TOKEN_TYPE_IDS)
    # Both segments were trained as type 0: a text on its own.
    types = g.add("Mul", TOKEN_TYPE_IDS, g.integer(0))
    hidden = bert.embed(INPUT_IDS, types, _count_positions(g, in_question))
    hidden = bert.encode(hidden, _allow_within_segment(g))
    _add_max_sim(g, _make_unit(g, hidden), in_question, in_passage, _find_words(g, markers))
    return g.finish("pair_scorer", [(LOGITS, ("batch", 1))])


def _count_positions(g: GraphWriter, in_question: str) -> str:
    """Positions that start again at 0 where the passage begins: int64 [batch, sequence]."""
    question_length = g.add("ReduceSum", in_question, g.integers(1), keepdims=1)
    length = g.add("Gather", g.add("Shape", INPUT_IDS), g.integer(1), axis=0)
    running = g.add("Range", g.integer(0), length, g.integer(1))
    restarted = g.add("Sub", running, g.add("Mul", TOKEN_TYPE_IDS, question_length))
    # Padding has type 0 and keeps running; it may pass the last position of the table, and is never looked at.
    within = g.add("Mul", restarted, ATTENTION_MASK)
    return g.add("Max", within, g.integer(0))


def _allow_within_segment(g: GraphWriter) -> str:
    """1.0 where a token may look at another: same segment, not padding; [batch, 1, sequence, sequence]."""
    rows = g.add("Unsqueeze", TOKEN_TYPE_IDS, g.integers(1, 3))
    columns = g.add("Unsqueeze", TOKEN_TYPE_IDS, g.integers(1, 2))
    same = g.add("Cast", g.add("Equal", rows, columns), to=FLOAT)
    present = g.add("Unsqueeze", g.add("Cast", ATTENTION_MASK, to=FLOAT), g.integers(1, 2))
    return g.add("Mul", same, present)


def _make_unit(g: GraphWriter, hidden: str) -> str:
    """Each token's vector at length 1."""
    squares = g.add("ReduceSum", g.add("Mul", hidden, hidden), g.integers(-1), keepdims=1)
    return g.add("Div", hidden, g.add("Max", g.add("Sqrt", squares), g.number(1e-9)))


def _find_words(g: GraphWriter, markers: MarkerIds) -> str:
    """1.0 at tokens that are not markers; [batch, sequence]."""
    is_start = g.add("Equal", INPUT_IDS, g.integer(markers.start))
    is_end = g.add("Equal", INPUT_IDS, g.integer(markers.end))
    return g.add("Cast", g.add("Not", g.add("Or", is_start, is_end)), to=FLOAT)


def _add_max_sim(g: GraphWriter, unit: str, in_question: str, in_passage: str, words: str) -> None:
    asked = g.add("Mul", g.add("Cast", in_question, to=FLOAT), words)
    offered = g.add("Mul", g.add("Cast", in_passage, to=FLOAT), words)
    cosines = g.add("MatMul", unit, g.add("Transpose", unit, perm=[0, 2, 1]))
    absent = g.add("Mul", g.add("Sub", g.number(1.0), g.add("Unsqueeze", offered, g.integers(1))), g.number(MASKED))
    best = g.add("ReduceMax", g.add("Add", cosines, absent), axes=[2], keepdims=0)
    # A passage without a word must score as unlike, not as -10000.
    best = g.add("Max", best, g.number(-1.0))
    total = g.add("ReduceSum", g.add("Mul", best, asked), g.integers(1), keepdims=1)
    count = g.add("Max", g.add("ReduceSum", asked, g.integers(1), keepdims=1), g.number(1.0))
    g.add("Div", total, count, output=LOGITS)
