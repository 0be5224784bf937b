"""Decision 0289: naps keep how work is done though no word says that it lasts, with the model."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench import classified
from bench.conventions import sayings
from bench.kept_scores import stands_in

from memd.embedding.embed import load_encoder
from memd.embedding.model_files import read_manifest
from memd.sleep.distil.exchanges import NapKind
from memd.text.words import sentences

# Of the even ones, which were looked at, and of the odd ones, which were not.
CONVENTIONS_KEPT = (21, 17)
MOMENTS_KEPT = (5, 2)


@pytest.fixture(autouse=True)
def installed(model_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Judge sentences with the model in *model_dir*."""
    manifest = read_manifest(model_dir)
    assert manifest is not None
    model = load_encoder(model_dir, manifest)
    monkeypatch.setattr(classified, "encoder", lambda: model)


def is_kept(saying: str) -> bool:
    """Return whether a message that says *saying* becomes a memory that holds it."""
    messages = [
        {"role": "user", "content": "Look at the folder of the project and say what is in it."},
        {"role": "assistant", "content": "It holds twelve files, most of them changed last week."},
        {"role": "user", "content": saying},
        {"role": "assistant", "content": "Understood."},
    ]
    longest = max(sentences(saying), key=len)
    memories = classified.distilled(messages)
    return any(stands_in(longest, m.text) for m in memories if m.kind is not NapKind.DIGEST)


def test_conventions_are_kept_and_few_sayings_that_sound_like_them() -> None:
    hits = {name: [is_kept(saying) for saying in its] for name, its in sayings().items()}
    conventions, moments = hits["conventions"], hits["conventions, of the moment"]
    assert len(conventions) == len(moments) == 100
    assert sum(conventions[::2]) >= CONVENTIONS_KEPT[0]
    assert sum(conventions[1::2]) >= CONVENTIONS_KEPT[1]
    assert sum(moments[::2]) <= MOMENTS_KEPT[0]
    assert sum(moments[1::2]) <= MOMENTS_KEPT[1]
