"""Fit the reader (``memd/embedding/sentence_reader.py``) with torch, for ``bench.fit_wishes``.

The layers have the names and shapes that the package has them by. Each member of the ensemble
begins with other weights and sees the windows in another order.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.fit_sentences import ReadWindow
from memd.embedding.model_files import DIMENSION
from memd.embedding.sentence_reader import ATTENTION_HEADS

if TYPE_CHECKING:
    import torch

Array = NDArray[np.float64]
Weights = dict[str, NDArray[np.float32]]

MEMBERS = 3
WIDTH, WIDE = 128, 256
COLUMNS = 2
EPOCHS = 5
RATE, DECAY, WARM_UP_STEPS = 1e-3, 0.05, 100
DROPPED, INPUTS_DROPPED = 0.2, 0.1
BATCH_PIECES = 1024
SHUFFLED_PIECES = 8  # windows whose lengths differ by so much may meet in a batch


class Examples(NamedTuple):
    """What a reader is fitted on: windows, and of each of their sentences in order the rest."""

    windows: Sequence[ReadWindow]
    signs: Array
    targets: Array
    """A column for plain statements and one for wishes."""
    weights: Array
    """Of each sentence in each column; 0 leaves it out."""


def fit(examples: Examples) -> tuple[Weights, Array]:
    """Return the weights of the ensemble, its members as the first axis, and those of the signs.

    Both are scaled so that the log-odds are the sum of all. What tells of a life is nothing yet:
    ``bench.fit_life_changes`` fits it on what these weights read.
    """
    members = [_fit_member(examples, seed) for seed in range(MEMBERS)]
    weights = {name: np.stack([each[name] for each in members]) for name in members[0]}
    for name in ("outputs.weight", "outputs.bias"):
        weights[name] /= MEMBERS
    weights["life.weight"] = np.zeros((MEMBERS, 1, 3 * WIDTH), dtype=np.float32)
    weights["life.bias"] = np.zeros((MEMBERS, 1), dtype=np.float32)
    of_signs = weights.pop("signs.weight").mean(0).T.astype(float)
    return weights, of_signs


def _fit_member(examples: Examples, seed: int) -> Weights:
    import torch
    from torch.nn import functional

    torch.manual_seed(seed)
    layers = new_layers(examples.signs.shape[1])
    optimizer = torch.optim.AdamW(layers.parameters(), lr=RATE, weight_decay=DECAY)
    starts = np.cumsum([0, *(len(window.spans) for window in examples.windows)])
    rows_of = [np.arange(*pair) for pair in itertools.pairwise(starts)]
    useful = [at for at, rows in enumerate(rows_of) if examples.weights[rows].any()]
    chance = np.random.default_rng(seed)
    batches = [list(_batches(examples.windows, useful, chance)) for _ in range(EPOCHS)]
    steps = sum(map(len, batches))
    for step, batch in enumerate((batch for epoch in batches for batch in epoch), 1):
        share = min(1.0, step / WARM_UP_STEPS) * max(0.02, 1 - step / steps)
        for group in optimizer.param_groups:
            group["lr"] = RATE * share
        rows = np.concatenate([rows_of[at] for at in batch])
        windows = [examples.windows[at] for at in batch]
        logits = forward(layers, windows, _tensor(examples.signs[rows]))
        weight = _tensor(examples.weights[rows])
        losses = functional.binary_cross_entropy_with_logits(
            logits, _tensor(examples.targets[rows]), reduction="none"
        )
        optimizer.zero_grad()
        ((losses * weight).sum() / weight.sum().clamp(min=1)).backward()
        torch.nn.utils.clip_grad_norm_(layers.parameters(), 1.0)
        optimizer.step()
    return {name: each.detach().numpy() for name, each in layers.named_parameters()}


def _batches(
    windows: Sequence[ReadWindow], useful: Sequence[int], chance: np.random.Generator
) -> Iterator[list[int]]:
    """Yield the places of windows of about one length, in any order."""
    length = {at: len(windows[at].states) for at in useful}
    order = sorted(useful, key=lambda at: length[at] + SHUFFLED_PIECES * chance.random())
    batches: list[list[int]] = [[]]
    for at in order:
        longest = max([length[at], *(length[other] for other in batches[-1])])
        if batches[-1] and (len(batches[-1]) + 1) * longest > BATCH_PIECES:
            batches.append([])
        batches[-1].append(at)
    yield from (batches[at] for at in chance.permutation(len(batches)))


def _tensor(rows: Any) -> torch.Tensor:
    import torch

    return torch.tensor(rows, dtype=torch.float32)


def new_layers(signs_count: int) -> Any:
    """Return the layers of a member as they begin."""
    from torch import nn

    signs = nn.Linear(signs_count, COLUMNS, bias=False)
    nn.init.zeros_(signs.weight)
    return nn.ModuleDict(
        {
            "inputs": nn.Linear(DIMENSION, WIDTH),
            "attention_norm": nn.LayerNorm(WIDTH),
            "attention": nn.Linear(WIDTH, 3 * WIDTH),
            "attended": nn.Linear(WIDTH, WIDTH),
            "wide_norm": nn.LayerNorm(WIDTH),
            "wide": nn.Linear(WIDTH, WIDE),
            "narrow": nn.Linear(WIDE, WIDTH),
            "norm": nn.LayerNorm(WIDTH),
            "outputs": nn.Linear(3 * WIDTH, COLUMNS),
            "signs": signs,
        }
    )


def forward(layers: Any, windows: Sequence[ReadWindow], signs: torch.Tensor) -> torch.Tensor:
    """Return the log-odds of the sentences of *windows*; in training, parts drop at random."""
    import torch
    from torch.nn import functional

    def drop(rows: torch.Tensor, share: float = DROPPED) -> torch.Tensor:
        return functional.dropout(rows, share, layers.training)

    longest = max(len(window.states) for window in windows)
    states = torch.zeros(len(windows), longest, DIMENSION)
    mask = torch.zeros(len(windows), longest, dtype=torch.bool)
    for at, window in enumerate(windows):
        states[at, : len(window.states)] = _tensor(window.states)
        mask[at, : len(window.states)] = True
    pieces = layers["inputs"](drop(states, INPUTS_DROPPED))
    attended = _attend(layers, layers["attention_norm"](pieces), mask)
    pieces = pieces + drop(attended)
    wide = functional.relu(layers["wide"](layers["wide_norm"](pieces)))
    pieces = layers["norm"](pieces + drop(layers["narrow"](wide)))
    sentences = []
    for own, window in zip(pieces, windows, strict=True):
        whole = own[: len(window.states)].mean(0)
        for start, end in window.spans:
            part = own[start:end]
            sentences.append(torch.cat([part.mean(0), part.max(0).values, whole]))
    outputs: torch.Tensor = layers["outputs"](drop(torch.stack(sentences)))
    return outputs + layers["signs"](signs)


def _attend(layers: Any, pieces: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    from torch.nn import functional

    three = layers["attention"](pieces).unflatten(-1, (3, ATTENTION_HEADS, -1))
    query, key, value = three.permute(2, 0, 3, 1, 4)
    mixed = functional.scaled_dot_product_attention(
        query, key, value, attn_mask=mask[:, None, None]
    )
    attended: torch.Tensor = layers["attended"](mixed.transpose(1, 2).flatten(2))
    return attended
