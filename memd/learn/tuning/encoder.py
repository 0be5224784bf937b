"""Train the encoder itself with torch (SPEC 18.2.6, D17; ``pip install 'memd[torch]'``).

The weights are read from the installed ONNX file and written to another one by the code that
wrote the first (``embedding/onnx_graph``), so only this module needs torch. The result is a
model folder like any that an owner adds.

The evaluation ranks the answer of each held-out question among the latest memories, by vectors
alone, with the model in use and with the new one.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from memd.base.errors import FineTuneDependencyError, ModelError
from memd.base.work import Work
from memd.domain.encoding import ModelFingerprint
from memd.domain.learn import TuneRequest, Verdict
from memd.embedding.embed import SwitchableEmbedder
from memd.embedding.model_files import (
    DIMENSION,
    ONNX_FILE,
    POOLING,
    WINDOW_TOKENS,
    sha256_of,
    write_manifest,
)
from memd.embedding.onnx_graph import HEADS, LAYERS, NORM_EPSILON, write_onnx
from memd.learn.tuning.bench import rank_answers
from memd.learn.tuning.evaluation import LabelledQuestion, compare_ranks
from memd.store.learn.tunings import MemoryText
from memd.text.tokens import TOKENIZER_FILE

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray

    Weights = dict[str, torch.Tensor]

TOKENS_MAX = 128
"""Per text in training; the model itself reads WINDOW_TOKENS."""
BATCH_MAX = 16
"""Questions in a batch, each with its passage and hard negatives; fits a laptop's memory."""
WARM_UP_STEPS_MAX = 100
PASSAGES_MAX = 500
"""In an evaluation: answers and the latest memories; each model embeds all of them anew."""
_NOTICE = "memd trained these weights further on memories of one store: keep them to yourself.\n"


class Triple(NamedTuple):
    """A question, the passage that answers it, and hard negatives."""

    question: str
    passage: str
    negatives: tuple[str, ...] = ()


def check_torch() -> None:
    """Raise FineTuneDependencyError unless torch is installed; does not import it."""
    if find_spec("torch") is None:
        raise FineTuneDependencyError(
            "training the encoder needs torch", hint="pip install 'memd[torch]'"
        )


def train(
    base: Path,
    target: Path,
    triples: Sequence[Triple],
    request: TuneRequest,
    progress: Callable[[float], None],
) -> None:
    """Train the model of the folder *base* on *triples* and write it into the folder *target*.

    *progress* is called after each step with the share done, and may raise to stop; nothing is
    written then. Raises FineTuneDependencyError without torch or for another kind of model.
    """
    check_torch()
    import torch

    torch.manual_seed(0)
    weights = _read(base)
    tokens = _tokenizer(base)
    for weight in weights.values():
        weight.requires_grad_(True)
    optimizer = torch.optim.AdamW(weights.values(), lr=request.learning_rate, weight_decay=0.01)
    size = min(request.batch_size, BATCH_MAX)
    steps = request.epochs * -(-len(triples) // size)
    warm_up = max(1, min(WARM_UP_STEPS_MAX, steps // 10))
    for step, batch in enumerate(_batches(triples, size, request.epochs), 1):
        for group in optimizer.param_groups:
            group["lr"] = request.learning_rate * min(1.0, step / warm_up)
        optimizer.zero_grad()
        _loss(weights, tokens, batch, request.temperature).backward()
        optimizer.step()
        progress(step / steps)
    _write(base, target, {name: weight.detach().numpy() for name, weight in weights.items()})


def _batches(triples: Sequence[Triple], size: int, epochs: int) -> Iterator[list[Triple]]:
    import numpy as np

    chance = np.random.default_rng(0)
    for _ in range(epochs):
        order = chance.permutation(len(triples)).tolist()
        for start in range(0, len(order), size):
            yield [triples[at] for at in order[start : start + size]]


def _loss(weights: Weights, tokens: Any, batch: list[Triple], temperature: float) -> torch.Tensor:
    """Return the contrastive loss against the batch's other passages and all hard negatives."""
    import torch
    from torch.nn import functional

    passages = [pair.passage for pair in batch]
    hard = [text for pair in batch for text in pair.negatives]
    encoded_questions = vectors(weights, tokens, [pair.question for pair in batch])
    encoded = vectors(weights, tokens, [*passages, *hard])
    scores = encoded_questions @ encoded.T / temperature
    # Another question's passage that equals this one's is no negative.
    same = torch.tensor(
        [
            [column != row and text == passage for column, text in enumerate((*passages, *hard))]
            for row, passage in enumerate(passages)
        ]
    )
    return functional.cross_entropy(scores.masked_fill(same, -math.inf), torch.arange(len(batch)))


def vectors(weights: Weights, tokens: Any, texts: Sequence[str]) -> torch.Tensor:
    """Return the unit vectors of *texts*, cut at TOKENS_MAX, by the graph of the ONNX file."""
    import torch
    from torch.nn import functional

    encodings = tokens.encode_batch(list(texts))
    ids = torch.tensor([encoding.ids for encoding in encodings])
    mask = torch.tensor([encoding.attention_mask for encoding in encodings], dtype=torch.float32)
    hidden = (
        weights["embeddings.word_embeddings.weight"][ids]
        + weights["embeddings.token_type_embeddings.weight"][0]
        + weights["embeddings.position_embeddings.weight"][: ids.shape[1]]
    )
    hidden = _norm(weights, "embeddings.LayerNorm", hidden)
    absent = (1.0 - mask)[:, None, None, :] * -10_000.0
    for layer in range(LAYERS):
        hidden = _layer(weights, f"encoder.layer.{layer}", hidden, absent)
    pooled = (hidden * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)
    return functional.normalize(pooled, dim=1)


def _layer(weights: Weights, name: str, hidden: torch.Tensor, absent: torch.Tensor) -> torch.Tensor:
    from torch.nn import functional

    def heads(part: str) -> torch.Tensor:
        flat = _linear(weights, f"{name}.attention.self.{part}", hidden)
        return flat.unflatten(-1, (HEADS, DIMENSION // HEADS)).transpose(1, 2)

    attended = functional.scaled_dot_product_attention(
        heads("query"), heads("key"), heads("value"), attn_mask=absent
    )
    joined = _linear(weights, f"{name}.attention.output.dense", attended.transpose(1, 2).flatten(2))
    hidden = _norm(weights, f"{name}.attention.output.LayerNorm", joined + hidden)
    wide = functional.gelu(_linear(weights, f"{name}.intermediate.dense", hidden))
    narrow = _linear(weights, f"{name}.output.dense", wide)
    return _norm(weights, f"{name}.output.LayerNorm", narrow + hidden)


def _linear(weights: Weights, name: str, value: torch.Tensor) -> torch.Tensor:
    return value @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def _norm(weights: Weights, name: str, value: torch.Tensor) -> torch.Tensor:
    from torch.nn import functional

    gain, shift = weights[f"{name}.weight"], weights[f"{name}.bias"]
    return functional.layer_norm(value, (DIMENSION,), gain, shift, NORM_EPSILON)


def _read(base: Path) -> Weights:
    """Return the weights of a model that memd wrote, by published names."""
    import numpy as np
    import onnx
    import torch

    try:
        graph = onnx.load(base / ONNX_FILE).graph
        tensors = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}
        named = {
            name: rows for name, rows in tensors.items() if name.endswith((".weight", ".bias"))
        }
        weights = {
            name: torch.from_numpy(np.array(rows.T if _is_transposed(name) else rows))
            for name, rows in named.items()
        }
        vectors(weights, _tokenizer(base), ["memd"])
    except (OSError, KeyError, RuntimeError, ValueError) as error:
        raise FineTuneDependencyError(
            f"memd cannot train the encoder of {base.name}",
            hint="use one that it can train: memd model use all-MiniLM-L6-v2",
        ) from error
    return weights


def _is_transposed(name: str) -> bool:
    """Return whether the ONNX file has this tensor transposed, for its matrix product."""
    return name.endswith(".weight") and ".LayerNorm." not in name and name.startswith("encoder.")


def _tokenizer(base: Path) -> Any:
    from tokenizers import Tokenizer

    tokens = Tokenizer.from_file(str(base / TOKENIZER_FILE))
    tokens.enable_truncation(TOKENS_MAX)
    tokens.enable_padding()
    return tokens


def _write(base: Path, target: Path, weights: dict[str, NDArray[np.float32]]) -> None:
    """Write the folder of a model under another name, then rename it."""
    new = target.with_name(f".memd-model-{target.name}")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True, mode=0o700)
    for name in (TOKENIZER_FILE, "config.json", "LICENSE"):
        if (base / name).is_file():
            shutil.copyfile(base / name, new / name)
    notice = base / "NOTICE"
    text = notice.read_text("utf-8") if notice.is_file() else ""
    (new / "NOTICE").write_text(text + _NOTICE, "utf-8")
    write_onnx(weights, new / ONNX_FILE)
    (new / ONNX_FILE).chmod(0o600)
    model = ModelFingerprint(
        target.name, sha256_of(new / ONNX_FILE), WINDOW_TOKENS, POOLING, DIMENSION
    )
    write_manifest(new, model, {"folder": base.name})
    if target.exists():
        raise ModelError(f"{target} exists already", hint="memd model list")
    new.rename(target)


async def train_model(
    models: SwitchableEmbedder,
    work: Work,
    name: str,
    triples: Sequence[Triple],
    request: TuneRequest,
    progress: Callable[[float], None],
) -> None:
    """Train the model in use on *triples* and write it as the model *name*."""
    if not triples:
        raise FineTuneDependencyError("no pair is left to train on")
    base, target = models.folder(models.name), models.folder(name)
    await work.run(shutil.rmtree, target, True)  # left by this run before it was killed
    await work.run(train, base, target, triples, request, progress)


def triples_of(
    questions: Sequence[LabelledQuestion],
    negatives: Mapping[int, Sequence[int]],
    memories: Sequence[MemoryText],
) -> list[Triple]:
    """Return each question with its answer and its hard negatives."""
    texts = {memory.memory_key: memory.content for memory in memories}
    return [
        Triple(
            question.text,
            texts[question.memory_key],
            tuple(texts[key] for key in negatives.get(question.memory_key, ()) if key in texts),
        )
        for question in questions
        if question.memory_key in texts
    ]


async def evaluate_model(
    models: SwitchableEmbedder,
    work: Work,
    name: str,
    questions: Sequence[LabelledQuestion],
    texts: Sequence[MemoryText],
) -> Verdict:
    """Return the verdict on the model *name* for *questions*, compared to the one in use."""
    passages = choose_passages(questions, texts)
    keys = {text.memory_key for text in passages}
    answered = [question for question in questions if question.memory_key in keys]
    before = await rank_answers(models, work, models.name, answered, passages)
    after = await rank_answers(models, work, name, answered, passages)
    return compare_ranks(before, after, errors=1.0)


def choose_passages(
    questions: Sequence[LabelledQuestion], texts: Sequence[MemoryText]
) -> list[MemoryText]:
    """Return the answers among *texts*, filled up with the last others to PASSAGES_MAX."""
    answers = {question.memory_key for question in questions}
    passages = [text for text in texts if text.memory_key in answers]
    others = [text for text in texts if text.memory_key not in answers]
    room = max(0, PASSAGES_MAX - len(passages))
    return passages + others[max(0, len(others) - room) :]


async def remove_model(models: SwitchableEmbedder, work: Work, name: str) -> None:
    await work.run(shutil.rmtree, models.folder(name), True)
