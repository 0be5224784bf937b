"""The stages of a run that trains the encoder: train, evaluate, remove.

The evaluation ranks the answer of each held-out question among the latest memories, by vectors
alone, with the model in use and with the new one.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence

from memd.base.errors import FineTuneDependencyError
from memd.base.work import Work
from memd.domain.learn import TuneRequest, Verdict
from memd.embedding.embed import SwitchableEmbedder
from memd.learn.tuning import encoder, verdict
from memd.learn.tuning.bench import embed_with, ranks_of
from memd.learn.tuning.encoder import Triple
from memd.learn.tuning.questions import LabelledQuestion
from memd.store.learn.tunings import MemoryText

PASSAGES_MAX = 500
"""Answers and the latest memories; each model embeds all of them anew."""


async def train_model(
    chosen: SwitchableEmbedder,
    work: Work,
    name: str,
    triples: Sequence[Triple],
    request: TuneRequest,
    progress: Callable[[float], None],
) -> None:
    """Train the model in use on *triples* and write it as the model *name*."""
    if not triples:
        raise FineTuneDependencyError("no pair is left to train on")
    base, target = chosen.folder(chosen.name), chosen.folder(name)
    await work.run(shutil.rmtree, target, True)  # left by this run before it was killed
    await work.run(encoder.train, base, target, triples, request, progress)


def triples_of(
    questions: Sequence[LabelledQuestion],
    negatives: Mapping[int, Sequence[int]],
    memories: Sequence[MemoryText],
) -> list[Triple]:
    """Return each question with its answer and its hard negatives."""
    texts = {each.memory_key: each.content for each in memories}
    return [
        Triple(
            one.text,
            texts[one.memory_key],
            tuple(texts[key] for key in negatives.get(one.memory_key, ()) if key in texts),
        )
        for one in questions
        if one.memory_key in texts
    ]


async def evaluate_model(
    chosen: SwitchableEmbedder,
    work: Work,
    name: str,
    questions: Sequence[LabelledQuestion],
    texts: Sequence[MemoryText],
) -> Verdict:
    """Return the verdict on the model *name* for *questions*, compared to the one in use."""
    answers = {one.memory_key for one in questions}
    some = [each for each in texts if each.memory_key in answers]
    others = [each for each in texts if each.memory_key not in answers]
    some += others[-max(0, PASSAGES_MAX - len(some)) :]
    place = {each.memory_key: at for at, each in enumerate(some)}
    answered = [one for one in questions if one.memory_key in place]
    ranks = []
    for model in (chosen.name, name):
        passages = await embed_with(chosen, model, [each.content for each in some])
        vectors = await embed_with(chosen, model, [one.text for one in answered])
        right = [place[one.memory_key] for one in answered]
        own = [place.get(one.question_key or 0) for one in answered]
        ranks.append(await work.run(ranks_of, vectors, passages, right, own))
    return verdict.compare_ranks(ranks[0], ranks[1], errors=1.0)


async def remove_model(chosen: SwitchableEmbedder, work: Work, name: str) -> None:
    """Remove the folder of a model."""
    await work.run(shutil.rmtree, chosen.folder(name), True)
