"""Public conversations with questions and the turns that answer them, read as dialogues.

Four kinds of text that the ranker was not made on (decision 0225). Nothing of them is in the
repository: each lies in a folder of its own below the one that is named, as its repository has it
(``SOURCES`` says where and at which commit), and is read from there.

``scenes``: what people say to each other in scenes of a series, many speakers, spoken;
``committees``: sittings of parliaments, long speeches by people with titles; ``chats``: what a
person tells an assistant over months; ``channel``: helpers in a chat room, by their nicknames.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import unanswerable
from bench.locomo import Asked, Dialogue, Turn
from memd.text.words import ENGLISH_FUNCTION_WORDS

SEED = 7
SCENES_ASKED = 75  # of each half season
CHANNEL_ASKED = 300
CHANNEL_FOLDS = 5
MEANT_MIN = 3  # words of a question about the chat room: "what is the problem?" has one
SITTINGS_A_STORE = 6
COMMITTEE_STORES = 3
SPAN_MAX = 6  # turns; a longer one is a topic, not an answer
TOLD_WORDS_MIN = 8  # of a turn of a span: "Thank you, Mr. Chair" answers nothing
HONEST = 1
"""The category of every question here; foreign ones have none, they are asked apart."""
CHATS_ASKED = (
    *("information_extraction", "knowledge_update", "multi_session_reasoning"),
    *("temporal_reasoning", "contradiction_resolution"),
)
"""Questions that what was said answers; how one would like to be answered, and summaries, are
other tasks."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a bed's texts are, at which commit they were read, and under which licence."""

    folder: str
    address: str
    commit: str
    licence: str


SOURCES = {
    "scenes": Source(
        "FriendsQA",
        "https://github.com/emorynlp/FriendsQA",
        "9ce6c98a6acf13c87d96b6811e4409b5de43bdfe",
        "Apache-2.0",
    ),
    "committees": Source(
        "QMSum",
        "https://github.com/Yale-LILY/QMSum",
        "83d7768c1f2b4dfeb091385d3dc7e239b8e5bb7e",
        "MIT",
    ),
    "chats": Source(
        "BEAM",
        "https://github.com/mohammadtavakoli78/BEAM",
        "b2a3ee8ba12d68f83143dda191097dc3e028ddd3",
        "CC-BY-SA-4.0",
    ),
    "channel": Source(
        "Molweni",
        "https://github.com/HIT-SCIR/Molweni",
        "2eb681d7e610ee3fda4ab3b4cc364554bd17ee67",
        "Apache-2.0",
    ),
}


@dataclass(frozen=True, slots=True)
class Store:
    """One store: a dialogue under an agent of its own, and what nothing in it answers."""

    dialogue: Dialogue
    foreign: tuple[tuple[str, str], ...]
    """Of each its kind as in ``bench.unanswerable`` and what is asked."""
    folds: tuple[str, ...] = ()
    """Of each question what it is left out with, where that is not the dialogue."""


def stores(bed: str, folder: Path) -> list[Store]:
    """Return the stores of a *bed* whose texts are below *folder*, the same ones every time."""
    return _READERS[bed](folder / SOURCES[bed].folder)


def _scenes(folder: Path) -> list[Store]:
    """Return a store of each half season, its scenes the sessions."""
    chance = random.Random(SEED)
    dialogues = []
    for part in ("dev", "tst"):
        scenes = _json(folder / "dat" / f"friendsqa_{part}.json")["data"]
        for season in sorted({scene["title"][:3] for scene in scenes}):
            own = sorted(
                (scene for scene in scenes if scene["title"].startswith(season)),
                key=lambda scene: str(scene["title"]),
            )
            name = f"scenes-{season}-{part}"
            turns = [turn for scene in own for turn in _scene_turns(name, scene)]
            asked = [each for scene in own for each in _scene_questions(name, scene, turns)]
            some = chance.sample(asked, min(SCENES_ASKED, len(asked)))
            dialogues.append(_dialogue(name, turns, some))
    return _with_foreign(dialogues)


def _scene_turns(name: str, scene: dict[str, Any]) -> Iterator[Turn]:
    for utterance in scene["paragraphs"][0]["utterances:"]:
        speaker = " and ".join(
            str(who).split()[0] for who in utterance["speakers"] if who[:1].isalpha()
        )
        text = as_written(utterance["utterance"])
        if text:
            place = f"{name}/{scene['title']}:{utterance['uid']}"
            session = f"{name}/{scene['title']}"
            yield Turn(place, session, int(utterance["uid"]), speaker, text, None, None)


def _scene_questions(name: str, scene: dict[str, Any], turns: Sequence[Turn]) -> Iterator[Asked]:
    places = {turn.place for turn in turns}
    for asked in scene["paragraphs"][0]["qas"]:
        places_of = (f"{name}/{scene['title']}:{each['utterance_id']}" for each in asked["answers"])
        gold = tuple(dict.fromkeys(place for place in places_of if place in places))
        if gold:
            yield Asked(as_written(asked["question"]), HONEST, gold)


def _committees(folder: Path) -> list[Store]:
    """Return stores of several sittings each, those with the most questions for their length."""
    sittings = []
    for path in sorted((folder / "data" / "Committee" / "all").glob("*.json")):
        sitting = _json(path)
        asked = [each for each in sitting["specific_query_list"] if 0 < _length(each) <= SPAN_MAX]
        sittings.append((len(asked) / len(sitting["meeting_transcripts"]), path.stem, sitting))
    sittings.sort(key=lambda each: (-each[0], each[1]))
    chosen = sittings[: SITTINGS_A_STORE * COMMITTEE_STORES]
    dialogues = []
    for at in range(COMMITTEE_STORES):
        name = f"committees-{at}"
        turns: list[Turn] = []
        asked_of: list[Asked] = []
        for _, stem, sitting in chosen[at::COMMITTEE_STORES]:
            speeches = sitting["meeting_transcripts"]
            session = f"{name}/{stem}"
            turns += [
                Turn(f"{session}:{n}", session, n, _person(one["speaker"]), text, None, None)
                for n, one in enumerate(speeches)
                if (text := as_written(one["content"]))
            ]
            asked_of += _committee_questions(session, sitting)
        dialogues.append(_dialogue(name, turns, asked_of))
    return _with_foreign(dialogues)


def _length(asked: dict[str, Any]) -> int:
    return sum(int(last) - int(first) + 1 for first, last in asked["relevant_text_span"])


def _committee_questions(session: str, sitting: dict[str, Any]) -> Iterator[Asked]:
    speeches = sitting["meeting_transcripts"]
    for asked in sitting["specific_query_list"]:
        if not 0 < _length(asked) <= SPAN_MAX:
            continue
        gold = tuple(
            f"{session}:{n}"
            for first, last in asked["relevant_text_span"]
            for n in range(int(first), min(int(last), len(speeches) - 1) + 1)
            if len(speeches[n]["content"].split()) >= TOLD_WORDS_MIN
        )
        if gold:
            yield Asked(as_written(asked["query"]), HONEST, gold)


def _person(speaker: str) -> str:
    """Return a speaker without the seat behind the name.

    >>> _person("Mr. Marc Dalton (Pitt MeadowsMaple Ridge, CPC)")
    'Mr. Marc Dalton'
    """
    return speaker.partition("(")[0].strip()


def _chats(folder: Path) -> list[Store]:
    """Return a store of each chat: what the person says, its batches the sessions."""
    stores_of = []
    for path in sorted((folder / "chats" / "100K").glob("*/chat.json")):
        name = f"chats-{path.parent.name}"
        turns = [turn for batch in _json(path) for turn in _chat_turns(name, batch)]
        places = {turn.place for turn in turns}
        probes = _json(path.parent / "probing_questions" / "probing_questions.json")
        asked = []
        for kind in CHATS_ASKED:
            for each in probes[kind]:
                at = (f"{name}/{number}" for number in _numbers(each["source_chat_ids"]))
                gold = tuple(dict.fromkeys(place for place in at if place in places))
                if gold:
                    asked.append(Asked(each["question"], HONEST, gold))
        unknown = tuple(("B", str(each["question"])) for each in probes["abstention"])
        stores_of.append(Store(_dialogue(name, turns, asked), (*unknown, *_other_domains())))
    others = [_of_others(stores_of, store) for store in stores_of]
    return [
        replace(store, foreign=(*store.foreign, *its))
        for store, its in zip(stores_of, others, strict=True)
    ]


def _of_others(all_stores: Sequence[Store], here: Store) -> list[tuple[str, str]]:
    """Return ten questions of other people's chats, which this one's does not answer."""
    chance = random.Random(f"{SEED} {here.dialogue.name}")
    asked = [q.text for there in all_stores if there is not here for q in there.dialogue.questions]
    return [("A", text) for text in chance.sample(asked, 10)]


def _chat_turns(name: str, batch: dict[str, Any]) -> Iterator[Turn]:
    messages = [each for turn in batch["turns"] for each in turn]
    anchors = [each["time_anchor"] for each in messages if each.get("time_anchor")]
    when = _day(anchors[0]) if anchors else None
    session = f"{name}/{batch['batch_number']}"
    for order, each in enumerate(messages):
        text = str(each["content"]).partition("->->")[0].strip()
        if each["role"] == "user" and text:
            yield Turn(f"{name}/{each['id']}", session, order, "", text, None, when)


def _day(text: str) -> datetime | None:
    try:
        return datetime.strptime(text.strip(), "%B-%d-%Y").replace(tzinfo=UTC)
    except ValueError:
        return None


def _numbers(ids: object) -> Iterator[int]:
    if isinstance(ids, int):
        yield ids
    elif isinstance(ids, dict):
        yield from (number for each in ids.values() for number in _numbers(each))
    elif isinstance(ids, list):
        yield from (number for each in ids for number in _numbers(each))


def _channel(folder: Path) -> list[Store]:
    """Return one store of a chat room; what its readers could not answer is foreign (B).

    The same stretch is asked about several times: a line stands once.
    """
    talks = _json(folder / "MRC(withDiscourse)" / "test.json")["data"]["dialogues"]
    lines: dict[tuple[str, str], Turn] = {}
    asked: dict[str, tuple[Asked, str]] = {}
    unknown: dict[str, None] = {}
    for at, talk in enumerate(talks):
        spoken = [(each["speaker"], as_written(each["text"])) for each in talk["edus"]]
        for order, line in enumerate(spoken):
            place = f"channel/{at}:{order}"
            lines.setdefault(line, Turn(place, f"channel/{at}", order, *line, None, None))
        for each in talk["qas"]:
            text = as_written(each["question"])
            if len(_meaning(text)) < MEANT_MIN:
                continue
            answers = {as_written(answer["text"]) for answer in each["answers"]}
            gold = tuple(
                lines[line].place for line in spoken if any(answer in line[1] for answer in answers)
            )
            if each["is_impossible"]:
                unknown[text] = None
            elif gold:
                fold = f"channel-{at * CHANNEL_FOLDS // len(talks)}"
                asked.setdefault(text, (Asked(text, HONEST, gold), fold))
    chance = random.Random(SEED)
    some = chance.sample(list(asked.values()), min(CHANNEL_ASKED, len(asked)))
    strange = [("B", text) for text in unknown if text not in asked]
    dialogue = _dialogue("channel", list(lines.values()), [each for each, _ in some])
    its = (*strange[:100], *_other_domains(), *_strangers(dialogue))
    return [Store(dialogue, its, tuple(fold for _, fold in some))]


def _meaning(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", text.casefold())) - ENGLISH_FUNCTION_WORDS


def _with_foreign(dialogues: Sequence[Dialogue]) -> list[Store]:
    """Return *dialogues* with questions of the others with this one's names (B), and U and O."""
    chance = random.Random(SEED)
    stores_of = []
    for here in dialogues:
        others = [
            (there, q.text) for there in dialogues if there is not here for q in there.questions
        ]
        known = [
            unanswerable.renamed(text, dict(zip(there.people, here.people, strict=False)))
            for there, text in chance.sample(others, min(50, len(others)))
        ]
        its = (*(("B", text) for text in known), *_other_domains(), *_strangers(here))
        stores_of.append(Store(here, its))
    return stores_of


def _strangers(here: Dialogue) -> list[tuple[str, str]]:
    """Return this store's own questions with a stranger's name where somebody is named."""
    chance = random.Random(SEED)
    names = dict(zip(here.people, unanswerable.STRANGERS * len(here.people), strict=False))
    swapped = [
        new for q in here.questions if (new := unanswerable.renamed(q.text, names)) != q.text
    ]
    return [("U", text) for text in chance.sample(swapped, min(25, len(swapped)))]


def _other_domains() -> list[tuple[str, str]]:
    return [("O", text) for text in unanswerable.OTHER_DOMAINS[::3]]


def _dialogue(name: str, turns: Sequence[Turn], asked: Sequence[Asked]) -> Dialogue:
    people = tuple(dict.fromkeys(turn.speaker for turn in turns if turn.speaker))
    return Dialogue(name, people, tuple(turns), tuple(asked))


def as_written(text: str) -> str:
    """Return what was cut into tokens as people write it.

    >>> as_written("You 're gon na be ok , is n't it ? {vocalsound}")
    "You're gonna be ok, isn't it?"
    """
    text = re.sub(r"\{\w+\}", " ", text).replace("``", '"').replace("''", '"')
    text = re.sub(r"\b([Gg])on na\b", r"\1onna", text)
    text = re.sub(r"\s+(n['\u2019]t\b|['\u2019](?:s|re|ve|ll|d|m)\b|[.,!?;:])", r"\1", text)
    return " ".join(text.split())


def _json(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


_READERS: dict[str, Callable[[Path], list[Store]]] = {
    "scenes": _scenes,
    "committees": _committees,
    "chats": _chats,
    "channel": _channel,
}
