"""Writes ONNX graphs operation by operation.

The same network and weights give the same bytes in any process: names are counted, constants are
stored in the order of their use, and nothing of the machine or the time is written.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from trainers.backbones.architecture import Block, Convolution, Weights, folded

OPSET = 13
IR_VERSION = 8
PRODUCER = "orchard"

Dimensions = Sequence[int | str]


class GraphWriter:
    """A growing ONNX graph; each method adds operations and returns the name of their output."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._nodes: list[onnx.NodeProto] = []
        self._constants: dict[str, onnx.TensorProto] = {}
        self._inputs: list[onnx.ValueInfoProto] = []
        self._outputs: list[onnx.ValueInfoProto] = []

    def input(self, name: str, shape: Dimensions) -> str:
        """Declare a float32 input; a text in `shape` is a free dimension of that name."""
        self._inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape)))
        return name

    def output(self, name: str, value: str, shape: Dimensions) -> None:
        """Declare a float32 output called `name` that carries `value`."""
        self._nodes.append(helper.make_node("Identity", [value], [name], name=name))
        self._outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape)))

    def constant(self, name: str, value: NDArray[np.generic]) -> str:
        """Store an array once under `name`."""
        if name not in self._constants:
            array = np.ascontiguousarray(value).reshape(value.shape)
            self._constants[name] = numpy_helper.from_array(array, name)
        return name

    def add(self, operation: str, *inputs: str, **attributes: Any) -> str:
        """Add one operation of the default ONNX domain."""
        output = f"{operation.lower()}_{len(self._nodes)}"
        node = helper.make_node(operation, list(inputs), [output], name=output, **attributes)
        self._nodes.append(node)
        return output

    def convolution(self, value: str, convolution: Convolution, weights: Weights) -> str:
        """Convolution with its bias, then ReLU6 where the description says so.

        ONNX Runtime joins Conv and Clip into one kernel when Clip's limits are constants.
        """
        weight, bias = folded(convolution, weights)
        before, after = convolution.padding
        output = self.add(
            "Conv",
            value,
            self.constant(f"{convolution.name}.weight", weight),
            self.constant(f"{convolution.name}.bias", bias),
            kernel_shape=[convolution.kernel] * 2,
            strides=[convolution.stride] * 2,
            pads=[before, before, after, after],
            group=convolution.groups,
        )
        if not convolution.relu6:
            return output
        lower = self.constant("zero", np.zeros((), np.float32))
        upper = self.constant("six", np.full((), 6, np.float32))
        return self.add("Clip", output, lower, upper)

    def blocks(self, value: str, blocks: Sequence[Block], weights: Weights) -> dict[str, str]:
        """Run the blocks one after the other; the output of each by the block's name."""
        outputs = {}
        for block in blocks:
            before = value
            for convolution in block.convolutions:
                value = self.convolution(value, convolution, weights)
            if block.residual:
                value = self.add("Add", value, before)
            outputs[block.name] = value
        return outputs

    def pooled(self, value: str, pooling: str) -> str:
        """(N, C, H, W) → (N, C) by the mean or the maximum over the picture."""
        operation = {"mean": "GlobalAveragePool", "max": "GlobalMaxPool"}[pooling]
        return self.add("Flatten", self.add(operation, value), axis=1)

    def linear(
        self, value: str, name: str, weight: NDArray[np.float32], bias: NDArray[np.float32]
    ) -> str:
        """(N, D) @ (D, K) + (K,)."""
        w, b = self.constant(f"{name}.weight", weight), self.constant(f"{name}.bias", bias)
        return self.add("Gemm", value, w, b)

    def to_bytes(self) -> bytes:
        """The finished model.

        Raises:
            onnx.checker.ValidationError: the graph is not well formed.
        """
        graph = helper.make_graph(
            self._nodes, self._name, self._inputs, self._outputs, list(self._constants.values())
        )
        model = helper.make_model(
            graph,
            producer_name=PRODUCER,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
        )
        onnx.checker.check_model(model)
        return bytes(model.SerializeToString(deterministic=True))


def write_atomically(path: Path, data: bytes) -> None:
    """Write the whole file or none of it: a reader never sees a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
