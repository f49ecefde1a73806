"""The encoder's graph: three integer inputs -> last_hidden_state [batch, sequence, hidden].

Pooling stays outside the graph, so that encoders of other publishers run by the same code.
"""

from __future__ import annotations

import onnx

from citemesh.models.graph.bert import BertNodes, BertShape, Tensors
from citemesh.models.graph.writer import ATTENTION_MASK, INPUT_IDS, TOKEN_TYPE_IDS, GraphWriter

LAST_HIDDEN_STATE = "last_hidden_state"


def build_encoder_graph(tensors: Tensors, shape: BertShape) -> onnx.ModelProto:
    """The float32 encoder."""
    g = GraphWriter()
    bert = BertNodes(g, tensors, shape)
    # Positions as [1, sequence], from the length at run time.
    length = g.add("Gather", g.add("Shape", INPUT_IDS), g.integer(1), axis=0)
    positions = g.add("Unsqueeze", g.add("Range", g.integer(0), length, g.integer(1)), g.integers(0))
    mask = g.add("Cast", ATTENTION_MASK, to=onnx.TensorProto.FLOAT)
    may_attend = g.add("Unsqueeze", mask, g.integers(1, 2))
    hidden = bert.encode(bert.embed(INPUT_IDS, TOKEN_TYPE_IDS, positions), may_attend)
    g.add("Identity", hidden, output=LAST_HIDDEN_STATE)
    return g.finish("encoder", [(LAST_HIDDEN_STATE, ("batch", "sequence", shape.hidden_size))])
