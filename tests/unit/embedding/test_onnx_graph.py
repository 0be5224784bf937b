"""The graph that memd writes: rows of words that are packed are the rows that they stand for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from memd.embedding.model_files import DIMENSION
from memd.embedding.onnx_graph import LAST_OUTPUT, WORDS, WORDS_SCALES, write_onnx

VOCABULARY, BLOCK = 40, 32


def states_of(tensors: dict[str, Any], path: Path) -> Any:
    write_onnx(tensors, path, layers=0)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    ids = np.arange(VOCABULARY, dtype=np.int64).reshape(4, -1)
    inputs = {"input_ids": ids, "token_type_ids": np.zeros_like(ids)}
    (states,) = session.run([LAST_OUTPUT], inputs | {"attention_mask": np.ones_like(ids)})
    return states


def test_packed_rows_are_exactly_those_of_their_numbers_and_scales(tmp_path: Path) -> None:
    drawn = np.random.default_rng(3)
    numbers = drawn.integers(-8, 8, (VOCABULARY, DIMENSION), dtype=np.int8)
    scales = drawn.random((VOCABULARY, DIMENSION // BLOCK)).astype(np.float16)
    rows = numbers * np.repeat(scales.astype(np.float32), BLOCK, axis=1)
    tensors = {
        "embeddings.token_type_embeddings.weight": drawn.random((2, DIMENSION), np.float32),
        "embeddings.position_embeddings.weight": drawn.random((16, DIMENSION), np.float32),
        "embeddings.LayerNorm.weight": drawn.random(DIMENSION, np.float32),
        "embeddings.LayerNorm.bias": drawn.random(DIMENSION, np.float32),
    }

    plain = states_of({**tensors, WORDS: rows}, tmp_path / "plain.onnx")
    packed = states_of({**tensors, WORDS: numbers, WORDS_SCALES: scales}, tmp_path / "packed.onnx")

    assert np.array_equal(plain, packed)
    assert (tmp_path / "packed.onnx").stat().st_size < (tmp_path / "plain.onnx").stat().st_size
