"""The stages of a run that trains the encoder: a model beside the others, judged and put to use.

Judged is by meaning alone: how near each question of the pairs held out comes to the memory that
answers it, among the latest memories, by the model in use and by the new one.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence

from memd.base.errors import FineTuneDependencyError
from memd.base.work import Work
from memd.domain.learn import TuneRequest, Verdict
from memd.embedding.chosen import ChosenEmbedder
from memd.learn.tuning import encoder, verdict
from memd.learn.tuning.bench import embedded, ranks_of
from memd.learn.tuning.encoder import Triple
from memd.learn.tuning.questions import Asked
from memd.store.learn.tunings import MemoryText

PASSAGES_MAX = 500
"""Each model embeds as many anew: those that answer, and the latest."""


async def trained(
    chosen: ChosenEmbedder,
    work: Work,
    name: str,
    triples: Sequence[Triple],
    request: TuneRequest,
    progress: Callable[[float], None],
) -> None:
    """Train the model in use on *triples* into the folder *name* beside it."""
    if not triples:
        raise FineTuneDependencyError("no pair is left to train on")
    base, target = chosen.folder(chosen.name), chosen.folder(name)
    await work.run(shutil.rmtree, target, True)  # of this run before it was killed
    await work.run(encoder.train, base, target, triples, request, progress)


def triples_of(
    asked: Sequence[Asked], negatives: Mapping[int, Sequence[int]], memories: Sequence[MemoryText]
) -> list[Triple]:
    """Return each question with the memory that answers it and those that only look as if."""
    texts = {each.memory_key: each.content for each in memories}
    return [
        Triple(
            one.text,
            texts[one.memory_key],
            tuple(texts[key] for key in negatives.get(one.memory_key, ()) if key in texts),
        )
        for one in asked
        if one.memory_key in texts
    ]


async def judged(
    chosen: ChosenEmbedder,
    work: Work,
    name: str,
    asked: Sequence[Asked],
    texts: Sequence[MemoryText],
) -> Verdict:
    """Return how the model *name* does on what is *asked*, beside the one in use."""
    answers = {one.memory_key for one in asked}
    some = [each for each in texts if each.memory_key in answers]
    others = [each for each in texts if each.memory_key not in answers]
    some += others[-max(0, PASSAGES_MAX - len(some)) :]
    place = {each.memory_key: at for at, each in enumerate(some)}
    known = [one for one in asked if one.memory_key in place]
    ranks = []
    for model in (chosen.name, name):
        passages = await embedded(chosen, model, [each.content for each in some])
        questions = await embedded(chosen, model, [one.text for one in known])
        right = [place[one.memory_key] for one in known]
        apart = [place.get(one.apart or 0) for one in known]
        ranks.append(await work.run(ranks_of, questions, passages, right, apart))
    return verdict.judged(ranks[0], ranks[1], errors=1.0)


async def dropped(chosen: ChosenEmbedder, work: Work, name: str) -> None:
    """Remove a model that was not better."""
    await work.run(shutil.rmtree, chosen.folder(name), True)
