"""The BERT encoder as ONNX nodes: embeddings, then layers of attention and feed-forward.

Source: Devlin et al. 2019, "BERT: Pre-training of Deep Bidirectional Transformers"; post-norm, exact (erf) GELU.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from citemesh.models.errors import ModelError
from citemesh.models.graph.writer import GraphWriter

Tensors = Mapping[str, npt.NDArray[np.generic]]
MASKED = -1e4
"""Added to an attention logit that must not count; finite, so that a row of only padding stays a number."""


@dataclass(frozen=True)
class BertShape:
    """The sizes that a config.json of a BERT states."""

    hidden_size: int
    head_count: int
    layer_count: int
    layer_norm_epsilon: float

    @classmethod
    def from_config(cls, config: Mapping[str, object]) -> BertShape:
        """Read config.json; raises ModelError where it is not a BERT that these nodes compute."""
        if config.get("model_type") != "bert" or config.get("hidden_act") != "gelu":
            raise ModelError("config.json is not of a BERT with GELU; only such models can be built")
        return cls(
            hidden_size=int(str(config["hidden_size"])),
            head_count=int(str(config["num_attention_heads"])),
            layer_count=int(str(config["num_hidden_layers"])),
            layer_norm_epsilon=float(str(config["layer_norm_eps"])),
        )


class BertNodes:
    """Writes the encoder of `tensors` into `graph`; hidden states are [batch, sequence, hidden]."""

    def __init__(self, graph: GraphWriter, tensors: Tensors, shape: BertShape) -> None:
        self._graph = graph
        self._tensors = tensors
        self._shape = shape

    def embed(self, input_ids: str, token_types: str, positions: str) -> str:
        """Sum of word, type and position embeddings, normalised; each input is int64 [batch, sequence]."""
        g = self._graph
        looked_up = [
            g.add("Gather", self._weight(f"embeddings.{table}_embeddings.weight"), ids, axis=0)
            for table, ids in (("word", input_ids), ("token_type", token_types), ("position", positions))
        ]
        total = g.add("Add", g.add("Add", looked_up[0], looked_up[1]), looked_up[2])
        return self._normalise(total, "embeddings.LayerNorm")

    def encode(self, hidden: str, may_attend: str) -> str:
        """All layers; `may_attend` is float32 0/1, broadcastable to [batch, heads, sequence, sequence]."""
        g = self._graph
        bias = g.add("Mul", g.add("Sub", g.number(1.0), may_attend), g.number(MASKED))
        for index in range(self._shape.layer_count):
            layer = f"encoder.layer.{index}"
            attended = self._attend(hidden, bias, f"{layer}.attention")
            hidden = self._feed_forward(attended, layer)
        return hidden

    def _attend(self, hidden: str, bias: str, prefix: str) -> str:
        g, heads, size = self._graph, self._shape.head_count, self._shape.hidden_size
        split, merged = g.integers(0, 0, heads, size // heads), g.integers(0, 0, size)
        query, key, value = (
            g.add("Reshape", self._project(hidden, f"{prefix}.self.{part}"), split)
            for part in ("query", "key", "value")
        )
        query = g.add("Transpose", query, perm=[0, 2, 1, 3])
        key = g.add("Transpose", key, perm=[0, 2, 3, 1])
        value = g.add("Transpose", value, perm=[0, 2, 1, 3])
        scaled = g.add("Mul", g.add("MatMul", query, key), g.number(1.0 / math.sqrt(size // heads)))
        weights = g.add("Softmax", g.add("Add", scaled, bias), axis=-1)
        mixed = g.add("Transpose", g.add("MatMul", weights, value), perm=[0, 2, 1, 3])
        projected = self._project(g.add("Reshape", mixed, merged), f"{prefix}.output.dense")
        return self._normalise(g.add("Add", projected, hidden), f"{prefix}.output.LayerNorm")

    def _feed_forward(self, hidden: str, layer: str) -> str:
        g = self._graph
        inner = self._project(hidden, f"{layer}.intermediate.dense")
        erf = g.add("Erf", g.add("Div", inner, g.number(math.sqrt(2.0))))
        gelu = g.add("Mul", g.add("Mul", inner, g.add("Add", erf, g.number(1.0))), g.number(0.5))
        outer = self._project(gelu, f"{layer}.output.dense")
        return self._normalise(g.add("Add", outer, hidden), f"{layer}.output.LayerNorm")

    def _project(self, hidden: str, name: str) -> str:
        g = self._graph
        transposed = g.weight(f"{name}.weight", self._tensor(f"{name}.weight").T)
        return g.add("Add", g.add("MatMul", hidden, transposed), self._weight(f"{name}.bias"))

    def _normalise(self, hidden: str, name: str) -> str:
        return self._graph.add(
            "LayerNormalization",
            hidden,
            self._weight(f"{name}.weight"),
            self._weight(f"{name}.bias"),
            axis=-1,
            epsilon=self._shape.layer_norm_epsilon,
        )

    def _weight(self, name: str) -> str:
        return self._graph.weight(name, self._tensor(name))

    def _tensor(self, name: str) -> npt.NDArray[np.generic]:
        try:
            return self._tensors[name]
        except KeyError:
            raise ModelError(f"the weights hold no tensor {name}; they are not of a plain BERT") from None
