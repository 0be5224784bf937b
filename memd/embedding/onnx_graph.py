"""Write a BERT encoder as an ONNX file, from the published weights.

The model is published as ``safetensors`` and onnxruntime runs ONNX, so memd writes the graph
itself at the installation. The first output has a vector for each token; their mean is the vector
of the text. The second has the state of each token after the fourth layer, from which naps
classify sentences. The same weights always give the same bytes.

Each installation compares the result with reference vectors of another implementation.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memd.base.errors import ModelError
from memd.embedding.model_files import DIMENSION, INSTALL_HINT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Tensors = Mapping[str, NDArray[Any]]

LAYERS = 6
STATES_LAYER = 4
"""The layer that best separates rules, orders and reports (docs/decisions/0282)."""
STATES_OUTPUT = "sentence_states"
LAST_OUTPUT = "last_hidden_state"
WORDS = "embeddings.word_embeddings.weight"
WORDS_SCALES = f"{WORDS}.scales"
"""The optional scales of packed word embeddings, of shape (words, blocks).

If present, the word embeddings are int8, and each block of a row is multiplied by its scale. They
take a quarter of the memory of float32.
"""
HEADS = 12
NORM_EPSILON = 1e-12
_OPSET = 17  # the first with LayerNormalization
_IR_VERSION = 8
_MASKED = -10_000.0  # added to the score of padding, so that its exp() is 0
_HEADER_BYTES_MAX = 1_000_000


def read_safetensors(path: Path) -> Tensors:
    """Return the float32 tensors of a ``safetensors`` file by name.

    Raises ModelError if the file has another format.

    The format: the length of the header (8 bytes, little-endian), the header as JSON (name, dtype,
    shape, offsets from its end), then the raw numbers.
    """
    import numpy as np

    raw = path.read_bytes()
    try:
        (size,) = struct.unpack_from("<Q", raw)
        header: dict[str, Any] = json.loads(raw[8 : 8 + min(size, _HEADER_BYTES_MAX)])
        tensors = {}
        for name, entry in header.items():
            if name == "__metadata__" or entry["dtype"] != "F32":
                continue
            start, end = entry["data_offsets"]
            body = memoryview(raw)[8 + size + start : 8 + size + end]
            tensors[name] = np.frombuffer(body, dtype="<f4").reshape(entry["shape"])
    except (struct.error, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{path.name} is not a safetensors file", hint=INSTALL_HINT) from error
    return tensors


def write_onnx(tensors: Tensors, path: Path, *, layers: int = LAYERS) -> None:
    """Write the encoder with these weights to *path*; ModelError names a missing tensor."""
    import onnx

    graph = _Graph(tensors)
    try:
        _encoder(graph, layers)
    except KeyError as error:
        raise ModelError(f"the weights lack {error.args[0]}", hint=INSTALL_HINT) from error
    path.write_bytes(graph.model(onnx).SerializeToString(deterministic=True))


def _encoder(graph: _Graph, layers: int) -> None:
    """Add the whole encoder: embeddings, mask, layers."""
    hidden = _embeddings(graph)
    mask = _mask(graph)
    states = None
    for layer in range(layers):
        prefix = f"encoder.layer.{layer}"
        hidden = _attention(graph, f"{prefix}.attention", hidden, mask)
        hidden = _feed_forward(graph, prefix, hidden)
        if layer + 1 == STATES_LAYER:
            states = hidden
    graph.output("Identity", hidden, LAST_OUTPUT)
    if states is not None:
        # A copy, because an inner value that is also an output prevents optimisations of
        # onnxruntime: 10 % slower.
        graph.output("Cast", states, STATES_OUTPUT, to=graph.FLOAT16)


def _embeddings(graph: _Graph) -> str:
    """Add the sum of word, position and segment embeddings, normalised."""
    words = _words(graph)
    kinds = graph.node(
        "Gather", [graph.weight("embeddings.token_type_embeddings.weight"), "token_type_ids"]
    )
    # Positions are 0, 1, 2 ... up to the length of this batch.
    shape = graph.node("Shape", ["input_ids"])
    length = graph.node("Gather", [shape, graph.integer(1)], axis=0)
    positions = graph.node("Range", [graph.integer(0), length, graph.integer(1)])
    position = graph.node(
        "Gather", [graph.weight("embeddings.position_embeddings.weight"), positions]
    )
    total = graph.node("Add", [graph.node("Add", [words, kinds]), position])
    return _norm(graph, "embeddings.LayerNorm", total)


def _words(graph: _Graph) -> str:
    """Add the lookup of word embeddings; packed ones are multiplied by their scales."""
    rows = graph.node("Gather", [graph.weight(WORDS), "input_ids"])
    if not graph.has(WORDS_SCALES):
        return rows
    blocks = graph.shape(WORDS_SCALES)[1]
    packed = graph.integers([0, 0, blocks, DIMENSION // blocks])
    numbers = graph.node("Reshape", [graph.node("Cast", [rows], to=graph.FLOAT), packed])
    scales = graph.node("Gather", [graph.weight(WORDS_SCALES), "input_ids"])
    scales = graph.node("Cast", [scales], to=graph.FLOAT)
    scales = graph.node("Unsqueeze", [scales, graph.integers([3])])
    product = graph.node("Mul", [numbers, scales])
    return graph.node("Reshape", [product, graph.integers([0, 0, DIMENSION])])


def _mask(graph: _Graph) -> str:
    """Add the mask: 1 becomes 0, 0 a large negative number, shaped [batch, 1, 1, sequence]."""
    expanded = graph.node("Unsqueeze", ["attention_mask", graph.integers([1, 2])])
    is_token = graph.node("Cast", [expanded], to=graph.FLOAT)
    is_padding = graph.node("Sub", [graph.number(1.0), is_token])
    return graph.node("Mul", [is_padding, graph.number(_MASKED)])


def _attention(graph: _Graph, prefix: str, hidden: str, mask: str) -> str:
    query = _heads(graph, f"{prefix}.self.query", hidden, [0, 2, 1, 3])
    key = _heads(graph, f"{prefix}.self.key", hidden, [0, 2, 3, 1])
    value = _heads(graph, f"{prefix}.self.value", hidden, [0, 2, 1, 3])
    scale = graph.number(math.sqrt(DIMENSION // HEADS))
    scores = graph.node("Div", [graph.node("MatMul", [query, key]), scale])
    shares = graph.node("Softmax", [graph.node("Add", [scores, mask])], axis=-1)
    attended = graph.node("Transpose", [graph.node("MatMul", [shares, value])], perm=[0, 2, 1, 3])
    joined = graph.node("Reshape", [attended, graph.integers([0, 0, DIMENSION])])
    out = _linear(graph, f"{prefix}.output.dense", joined)
    return _norm(graph, f"{prefix}.output.LayerNorm", graph.node("Add", [out, hidden]))


def _heads(graph: _Graph, prefix: str, hidden: str, order: list[int]) -> str:
    flat = _linear(graph, prefix, hidden)
    split = graph.node("Reshape", [flat, graph.integers([0, 0, HEADS, DIMENSION // HEADS])])
    return graph.node("Transpose", [split], perm=order)


def _feed_forward(graph: _Graph, prefix: str, hidden: str) -> str:
    expanded = _linear(graph, f"{prefix}.intermediate.dense", hidden)
    narrow = _linear(graph, f"{prefix}.output.dense", _gelu(graph, expanded))
    return _norm(graph, f"{prefix}.output.LayerNorm", graph.node("Add", [narrow, hidden]))


def _gelu(graph: _Graph, value: str) -> str:
    """Add the exact GELU, x * (1 + erf(x / sqrt 2)) / 2, which onnxruntime fuses."""
    error = graph.node("Erf", [graph.node("Div", [value, graph.number(math.sqrt(2.0))])])
    double = graph.node("Mul", [value, graph.node("Add", [error, graph.number(1.0)])])
    return graph.node("Mul", [double, graph.number(0.5)])


def _linear(graph: _Graph, prefix: str, value: str) -> str:
    product = graph.node("MatMul", [value, graph.weight(f"{prefix}.weight", transposed=True)])
    return graph.node("Add", [graph.weight(f"{prefix}.bias"), product])


def _norm(graph: _Graph, prefix: str, value: str) -> str:
    gain, shift = graph.weight(f"{prefix}.weight"), graph.weight(f"{prefix}.bias")
    return graph.node("LayerNormalization", [value, gain, shift], axis=-1, epsilon=NORM_EPSILON)


class _Graph:
    """An ONNX graph under construction: its nodes, weights and outputs."""

    FLOAT = 1  # TensorProto.FLOAT
    FLOAT16 = 10
    INT64 = 7  # TensorProto.INT64

    def __init__(self, tensors: Tensors) -> None:
        self._tensors = tensors
        self._nodes: list[tuple[str, list[str], str, dict[str, Any]]] = []
        self._constants: dict[str, Any] = {}
        self._outputs: list[tuple[str, int]] = []

    def node(self, kind: str, inputs: list[str], **attrs: Any) -> str:
        """Add a node and return the name of its output."""
        output = f"{kind.lower()}_{len(self._nodes)}"
        self._nodes.append((kind, inputs, output, attrs))
        return output

    def output(self, kind: str, value: str, name: str, **attrs: Any) -> None:
        """Add a node over *value* as an output of the graph, with a vector for each token."""
        self._nodes.append((kind, [value], name, attrs))
        self._outputs.append((name, attrs.get("to", self.FLOAT)))

    def weight(self, name: str, *, transposed: bool = False) -> str:
        """Add a tensor of the model, *transposed* for a product."""
        tensor = self._tensors[name]
        self._constants[name] = tensor.T if transposed else tensor
        return name

    def has(self, name: str) -> bool:
        """Return whether the model has a tensor of that name."""
        return name in self._tensors

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a tensor of the model."""
        return self._tensors[name].shape

    def number(self, value: float) -> str:
        import numpy as np

        # A scalar array: one of length 1 would change the shape of its operand.
        return self._constant(f"number_{value!r}", np.array(value, dtype=np.float32))

    def integer(self, value: int) -> str:
        import numpy as np

        return self._constant(f"integer_{value}", np.array(value, dtype=np.int64))

    def integers(self, values: list[int]) -> str:
        import numpy as np

        name = "integers_" + "_".join(str(value) for value in values)
        return self._constant(name, np.array(values, dtype=np.int64))

    def model(self, onnx: Any) -> Any:
        """Return the graph as one ModelProto."""
        import numpy as np

        make = onnx.helper
        inputs = [
            make.make_tensor_value_info(name, self.INT64, ["batch", "sequence"])
            for name in ("input_ids", "attention_mask", "token_type_ids")
        ]
        outputs = [
            make.make_tensor_value_info(name, kind, ["batch", "sequence", DIMENSION])
            for name, kind in self._outputs
        ]
        nodes = [
            make.make_node(kind, ins, [out], name=out, **attrs)
            for kind, ins, out, attrs in self._nodes
        ]
        constants = [
            onnx.numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name)
            for name, array in self._constants.items()
        ]
        graph = make.make_graph(nodes, "encoder", inputs, outputs, initializer=constants)
        opset = [make.make_opsetid("", _OPSET)]
        return make.make_model(
            graph, producer_name="memd", opset_imports=opset, ir_version=_IR_VERSION
        )

    def _constant(self, name: str, array: Any) -> str:
        self._constants[name] = array
        return name
