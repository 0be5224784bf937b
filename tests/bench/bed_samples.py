"""The samples of the beds beside the dialogues, each through a real store.

``coding``: a part of a session is stored when it ends, and what it asks is asked before
that, of all that was stored till then. Sessions that the readers hold back are left out.
Each of the other teams (``bench.team_sessions``) has a store of its own, as each household has.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench import coding_questions, household, unanswerable
from bench.bench_daemon import model_dir
from bench.coding_questions import Asked, Passage
from bench.locomo import Turn, when
from bench.nap_retrieval import AGENT, TEAM, Team, rooms_of
from bench.nap_scores import holds
from bench.public_dialogues import Store
from bench.reader_labels import HELD, SPLITS, Reading, labels, readings, session_lines, split
from bench.samples import Remembered, Sample, candidates_of, house_with, ingested
from bench.team_sessions import teams
from bench.transcripts import Message, exported, trajectories
from memd.base.paths import RERANKER_NAME
from memd.domain.caller import Caller
from memd.domain.inject import PrepareRequest
from memd.embedding.cross_encoder import RerankerThread
from memd.inject.inject import Inject
from memd.recall.ranking.features import MeasuredCandidate
from memd.recall.recall import Recall
from memd.serve.rooms import DaemonRooms

SEED = 7
FOREIGN = 100
OWN_FOLD = "coding-own"
"""Of the sessions of one team: each team is left out as a whole."""
CODER, HOUSEHOLD = "the-coder", "the-household"


class Asking:
    """What asks one store: its candidates, and, where an *inject* is given, its default prompt."""

    def __init__(
        self, recall: Recall, agent: str, inject: Inject | None, project: str | None = None
    ) -> None:
        self._recall, self._agent, self._inject, self._project = recall, agent, inject, project

    async def candidates(self, text: str) -> tuple[list[MeasuredCandidate], list[str | None]]:
        return await candidates_of(self._recall, self._agent, text)

    async def sample(
        self, kind: str, fold: str, name: str, text: str, gold: Sequence[str], bed: str
    ) -> Sample:
        """Ask *text*; *gold* are the sources that answer it."""
        candidates, sources = await self.candidates(text)
        right = nearest_of_each(gold, candidates, sources)
        prompt = await self.prompt(text, candidates, right)
        return Sample(kind, fold, name, len(gold), candidates, right, bed, prompt)

    async def prompt(
        self, text: str, candidates: Sequence[MeasuredCandidate], right: Sequence[bool]
    ) -> tuple[bool, ...] | None:
        """Return which entries of a default prompt answer."""
        if self._inject is None:
            return None
        good = {
            item.candidate.memory_id
            for item, is_right in zip(candidates, right, strict=True)
            if is_right
        }
        caller = Caller(agent_id=self._agent, project_id=self._project, method="fit")
        request = PrepareRequest(query=text, project_id=self._project)
        made = await self._inject.prepare(caller, request)
        return tuple(each.id in good for each in made.memories)


def nearest_of_each(
    gold: Sequence[str], candidates: Sequence[MeasuredCandidate], sources: Sequence[str | None]
) -> list[bool]:
    """Return which of *candidates* answer: of a long text in pieces the piece that is nearest."""
    nearest: dict[str, int] = {}
    for at, source in enumerate(sources):
        if source is not None and source in gold:
            best = nearest.setdefault(source, at)
            if candidates[at].features["cos"] > candidates[best].features["cos"]:
                nearest[source] = at
    return [nearest.get(source or "") == at for at, source in enumerate(sources)]


def prompting(house: DaemonRooms) -> Inject:
    """Return what prepares prompts over *house*, with the product's defaults and no re-ranker."""
    house.scorer = RerankerThread(model_dir().with_name(RERANKER_NAME))
    return house.inject


async def everyday(embedder: Remembered, *, prompts: bool) -> list[Sample]:
    """Return the samples of all households, each a store of its own."""
    samples: list[Sample] = []
    for sayings, questions in household.households():
        async with house_with(embedder) as house:
            items = [
                {"text": saying.text, "source": saying.key, "occurred_at": saying.at}
                for saying in sayings
            ]
            await ingested(house, HOUSEHOLD, items)
            await house.queue.drain()
            asking = Asking(house.recall, HOUSEHOLD, prompting(house) if prompts else None)
            for q in questions:
                fold = f"everyday-{q.topic}"
                made = await asking.sample(q.kind, fold, q.language, q.text, q.gold, "everyday")
                samples.append(made)
    return samples


async def coding_sessions(embedder: Remembered, folder: Path, *, prompts: bool) -> list[Sample]:
    """Return the samples of the sessions below *folder*, without what naps compose of them."""
    sessions = fitting(folder)
    samples: list[Sample] = []
    async with house_with(embedder) as house:
        inject = prompting(house) if prompts else None
        asking = Asking(house.recall, CODER, inject)
        stored: dict[str, Passage] = {}
        asked: list[Asked] = []
        for part, questions in coding_questions.replayed(coding_questions.in_parts(sessions)):
            samples += [await _coding(asking, "H", question) for question in questions]
            asked += questions
            new = {p.text: p for p in part if coding_questions.stored(p) and p.text not in stored}
            stored |= new
            await ingested(house, CODER, [item(passage) for passage in new.values()])
            await house.queue.drain()
        samples += [
            await _coding(asking, "H", question)
            for question in labelled(folder, list(stored.values()))
        ]
        for kind, question in foreign_questions(folder, list(stored.values()), asked):
            samples.append(await _coding(asking, kind, question))
    return samples


async def other_teams(
    embedder: Remembered, folder: Path, *, prompts: bool
) -> AsyncIterator[Sample]:
    """Yield the samples of the other teams' sessions below *folder* (``bench.team_sessions``)."""
    for team in teams(folder):
        fold = f"coding-{team.name}"
        async with house_with(embedder) as house:
            asking = Asking(house.recall, CODER, prompting(house) if prompts else None)
            seen: set[str] = set()
            for part, asked in team.parts:
                for question in asked:
                    yield await _coding(asking, "H", question, fold)
                new = {p.text: p for p in part if coding_questions.stored(p) and p.text not in seen}
                seen |= set(new)
                await ingested(house, CODER, [item(p, team.name) for p in new.values()])
                await house.queue.drain()
            for question in team.labelled:
                yield await _coding(asking, "H", question, fold)
            for kind, question in team.foreign:
                yield await _coding(asking, kind, question, fold)


async def public_talk(
    embedder: Remembered, bed: str, stores: Sequence[Store], *, prompts: bool
) -> list[Sample]:
    """Return the samples of the *stores* of a public bed, each under an agent of its own."""
    samples: list[Sample] = []
    async with house_with(embedder) as house:
        inject = prompting(house) if prompts else None
        for store in stores:
            agent = store.dialogue.name
            await ingested(house, agent, [_item_of(turn) for turn in store.dialogue.turns])
        await house.queue.drain()
        for store in stores:
            agent, asked = store.dialogue.name, store.dialogue.questions
            asking = Asking(house.recall, agent, inject)
            folds = store.folds or (agent,) * len(asked)
            for each, its in zip(asked, folds, strict=True):
                samples.append(await asking.sample("H", its, "", each.text, each.gold, bed))
            for at, (kind, text) in enumerate(store.foreign):
                samples.append(await asking.sample(kind, folds[at % len(folds)], "", text, (), bed))
    return samples


def _item_of(turn: Turn) -> dict[str, Any]:
    """Return *turn* as an item; what nobody is named as the speaker of, a person said."""
    if turn.speaker:
        return turn.item()
    item = {name: value for name, value in turn.item().items() if name != "speaker"}
    return {**item, "origin": "person", "deliberate": True}


async def _coding(asking: Asking, kind: str, question: Asked, fold: str = OWN_FOLD) -> Sample:
    return await asking.sample(kind, fold, question.name, question.text, question.gold, "coding")


async def composed(folder: Path, *, prompts: bool) -> AsyncIterator[Sample]:
    """Yield the readers' questions to what naps composed (C), and foreign ones (CX)."""
    sessions = fitting(folder)
    async with AsyncExitStack() as stack:
        made = Path(stack.enter_context(TemporaryDirectory(prefix="memd-fit-")))
        rooms, clock = await rooms_of(made, sessions, stack)
        team = Team(rooms, clock, made, folder, "fit", labels())
        await team.ended(sessions)
        recall = rooms.recall  # made when it is first used
        asking = Asking(recall, AGENT, rooms.inject if prompts else None, TEAM)
        for reading in fit_readings().values():
            for each in reading.items:
                candidates, _ = await asking.candidates(each.asked)
                right = [holds(measured.candidate.own, each) for measured in candidates]
                if any(holds(text, each) for text in team.stored.texts.values()):
                    prompt = await asking.prompt(each.asked, candidates, right)
                    gold = sum(holds(text, each) for text in set(team.stored.texts.values()))
                    yield Sample(
                        "C", OWN_FOLD, "composed", gold, candidates, right, "coding", prompt
                    )
        strange = [*unanswerable.OTHER_DOMAINS, *strange_lines(folder)]
        for text in strange:
            yield await asking.sample("CX", OWN_FOLD, "composed, foreign", text, (), "coding")


def fitting(folder: Path) -> dict[str, list[Message]]:
    """Return the recorded sessions that may be fitted on."""
    there = split()
    sessions = exported(folder, sidechains=False)
    return {name: each for name, each in sessions.items() if there.get(name) not in HELD}


def fit_readings() -> dict[str, Reading]:
    """Return the readings that may be fitted on."""
    return {
        name: each
        for which in SPLITS
        if which not in HELD
        for name, each in readings(which).items()
    }


def item(passage: Passage, project: str = TEAM) -> dict[str, Any]:
    """Return the passage as an item of ``memory.ingest_many``."""
    return {
        "text": passage.text,
        "origin": "person" if passage.who == "user" else "assistant",
        "session_id": passage.session,
        "order": passage.order,
        "source": passage.place,
        "deliberate": True,
        "project_id": project,
        **({"occurred_at": at.isoformat()} if (at := when(passage.when)) else {}),
    }


def labelled(folder: Path, stored: Sequence[Passage]) -> list[Asked]:
    """Return the readers' questions to the passages of their sessions."""
    questions: list[Asked] = []
    for name, reading in fit_readings().items():
        own = [passage for passage in stored if passage.session == name]
        questions += coding_questions.labelled(reading, session_lines(folder, [name])[name], own)
    return questions


def strange_lines(folder: Path) -> list[str]:
    """Return sentences of other teams' recorded sessions; the same ones every time."""
    lines: dict[str, None] = {}
    for messages in trajectories(folder).values():
        for message in messages[1:]:
            if message["role"] in {"user", "assistant"}:
                for text in coding_questions.blocks(str(message["content"])):
                    lines.update(dict.fromkeys(coding_questions.sentences(text)[:2]))
    low, high = coding_questions.QUESTION_WORDS
    fit = [
        line
        for line in lines
        if low <= len(line.split()) <= high and coding_questions.is_prose(line)
    ]
    return random.Random(SEED).sample(fit, min(FOREIGN, len(fit)))


def foreign_questions(
    folder: Path, stored: Sequence[Passage], asked: Sequence[Asked]
) -> Iterator[tuple[str, Asked]]:
    """Yield what the sessions cannot answer, as ``bench.unanswerable`` has it for dialogues.

    A: other teams' lines. B: the same with this team's paths and symbols in place of
    theirs. U: this team's questions with things put in that it does not have. O: other domains.
    """
    chance = random.Random(SEED)
    lines = strange_lines(folder)
    ours = sorted({t for p in stored for t in coding_questions.named(p.text) if " " not in t})
    theirs = sorted({t for line in lines for t in coding_questions.named(line) if " " not in t})
    sessions = sorted({passage.session for passage in stored})
    kept = [question for question in asked if question.name == "thing kept"]
    named = [line for line in lines if coding_questions.named(line)]
    texts = [("A", line) for line in lines] + [("O", text) for text in unanswerable.OTHER_DOMAINS]
    texts += [("B", coding_questions.swapped(line, ours, chance)) for line in named]
    texts += [("U", coding_questions.swapped(q.text, theirs, chance)) for q in kept[:FOREIGN]]
    for at, (kind, text) in enumerate(texts):
        yield kind, Asked(text, "", sessions[at % len(sessions)], 0, ())
