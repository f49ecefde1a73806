"""A small writer of ONNX graphs: names nodes, keeps constants, checks the result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
IR_VERSION = 8
INPUT_IDS, ATTENTION_MASK, TOKEN_TYPE_IDS = "input_ids", "attention_mask", "token_type_ids"


class GraphWriter:
    """Collects nodes and constants; every method returns the name of the tensor it adds."""

    def __init__(self) -> None:
        self._nodes: list[onnx.NodeProto] = []
        self._constants: dict[str, onnx.TensorProto] = {}

    def weight(self, name: str, values: npt.ArrayLike) -> str:
        """Add a float32 tensor of the model."""
        return self._keep(name, np.asarray(values, dtype=np.float32))

    def number(self, value: float) -> str:
        """A float32 scalar constant."""
        return self._keep(f"f32_{value!r}", np.array(value, dtype=np.float32))

    def integers(self, *values: int) -> str:
        """A constant int64 vector."""
        return self._keep("i64_vector_" + "_".join(map(str, values)), np.array(values, dtype=np.int64))

    def integer(self, value: int) -> str:
        """A constant int64 scalar."""
        return self._keep(f"i64_{value}", np.array(value, dtype=np.int64))

    def add(self, operator: str, *inputs: str, output: str | None = None, **attributes: Any) -> str:
        """Add one node with one output."""
        name = output or f"{operator.lower()}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(operator, list(inputs), [name], name=f"node_{name}", **attributes))
        return name

    def finish(self, name: str, outputs: Sequence[tuple[str, Sequence[str | int]]]) -> onnx.ModelProto:
        """The checked model over the three integer inputs [batch, sequence]; outputs are (name, shape) in float32."""
        inputs = [
            helper.make_tensor_value_info(each, TensorProto.INT64, ["batch", "sequence"])
            for each in (INPUT_IDS, ATTENTION_MASK, TOKEN_TYPE_IDS)
        ]
        results = [helper.make_tensor_value_info(each, TensorProto.FLOAT, list(shape)) for each, shape in outputs]
        graph = helper.make_graph(self._nodes, name, inputs, results, list(self._constants.values()))
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION, producer_name="citemesh"
        )
        onnx.checker.check_model(model)
        return model

    def _keep(self, name: str, values: npt.NDArray[np.generic]) -> str:
        if name not in self._constants:
            # order="C" keeps scalars zero-dimensional; ascontiguousarray would make them vectors
            self._constants[name] = numpy_helper.from_array(np.asarray(values, order="C"), name)
        return name
