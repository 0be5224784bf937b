"""What naps keep of messages with the model that judges sentences, without a daemon.

The model is that of MEMD_MODEL_DIR or of this user's data folder; where none is installed, naps and
so these figures go by the rules alone. ``RULES_ALONE`` says so for a whole run.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from bench.transcripts import Message
from memd.base.paths import Paths
from memd.domain.encoding import SentenceLogits
from memd.embedding.embed import load_encoder
from memd.embedding.encoders import FastembedEncoder
from memd.embedding.model_files import read_manifest
from memd.embedding.sentence_states import SentenceWindow, judge, windows_of
from memd.sleep.distil.distil import SessionTurns, distil
from memd.sleep.distil.exchanges import NapMemory

if TYPE_CHECKING:
    from memd.embedding.sentence_head import Rows

RULES_ALONE = os.environ.get("MEMD_BENCH_RULES") == "1"


def distilled(messages: Sequence[Message]) -> tuple[NapMemory, ...]:
    """Return the memories that a nap makes of *messages*."""
    session = SessionTurns.of(messages)
    return distil(session, classify(session.sentences(), session.agent_places()))


def classify(
    messages: Sequence[Sequence[str]], agents: Collection[int] = ()
) -> list[list[SentenceLogits]]:
    """Return what the model tells of the sentences of each message; nothing without one."""
    model = encoder()
    if model is None:
        return []
    return [
        [
            row
            for window, states in _states(model, tuple(each))
            for row in judge([window], states, {window.spans[0].message} if at in agents else ())
        ]
        for at, each in enumerate(messages)
    ]


def forget() -> None:
    """Let the encoder read again what it has read."""
    _states.cache_clear()


@lru_cache(maxsize=2048)
def _states(
    model: FastembedEncoder, sentences: tuple[str, ...]
) -> list[tuple[SentenceWindow, Rows]]:
    """Return the windows of *sentences* with their states; short answers come again and again."""
    windows = windows_of(0, model.ids(list(sentences)))
    return [(window, model.states([window.ids])) for window in windows]


@cache
def encoder() -> FastembedEncoder | None:
    """Return the installed model, None where it is none that judges sentences."""
    folder = Path(os.environ.get("MEMD_MODEL_DIR") or Paths.resolve().model_dir)
    manifest = None if RULES_ALONE else read_manifest(folder)
    if manifest is None or not manifest.has_states:
        return None
    model = load_encoder(folder, manifest)
    return model if isinstance(model, FastembedEncoder) else None
