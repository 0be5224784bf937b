"""A small ONNX model with a vector of its own for each word."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import onnx
from tokenizers import Tokenizer, models, pre_tokenizers

_WIDE = 8_192


def a_word_model(
    folder: Path, words: Iterable[str], *, dimension: int = 16, layers: int = 0
) -> Path:
    """Write the model of *words* into *folder*; each of *layers* costs time and means nothing."""
    folder.mkdir(parents=True)
    vocabulary = {word: at for at, word in enumerate(dict.fromkeys(["?", *words]))}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="?"))  # noqa: S106
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.save(str(folder / "tokenizer.json"))
    drawn, make = np.random.default_rng(7), onnx.helper
    table = drawn.normal(2.0, 1.0, (len(vocabulary), dimension))
    wide = drawn.normal(0.0, 1.0, (dimension, _WIDE))
    tensors = {"table": table, "there": wide, "back": wide.T / _WIDE}
    nodes = [make.make_node("Gather", ["table", "input_ids"], ["at 0" if layers else "out"])]
    for layer in range(layers):
        after = "out" if layer == layers - 1 else f"at {layer + 1}"
        nodes.append(make.make_node("MatMul", [f"at {layer}", "there"], [f"wide {layer}"]))
        nodes.append(make.make_node("MatMul", [f"wide {layer}", "back"], [after]))
    graph = make.make_graph(
        nodes,
        "words",
        [make.make_tensor_value_info("input_ids", onnx.TensorProto.INT64, ["b", "s"])],
        [make.make_tensor_value_info("out", onnx.TensorProto.FLOAT, ["b", "s", dimension])],
        initializer=[
            onnx.numpy_helper.from_array(rows.astype(np.float32), name)
            for name, rows in tensors.items()
            if layers or name == "table"
        ],
    )
    opset = [make.make_opsetid("", 17)]
    onnx.save(make.make_model(graph, opset_imports=opset, ir_version=8), folder / "model.onnx")
    (folder / "config.json").write_text(json.dumps({"hidden_size": dimension}))
    return folder
