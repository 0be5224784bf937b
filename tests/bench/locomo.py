"""Reads conversations in the LoCoMo format: turns, questions, evidence; leniently.

Evidence comes as "D8:6; D9:17", "D:11:26" or "D30:05", dates in words or ISO, and
some turns say everything in the caption of a photo.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ADVERSARIAL = 5

_TURN = re.compile(r"D:?(\d+):0*(\d+)")
_SESSION = re.compile(r"session_(\d+)")
_DATES = (
    "%I:%M %p on %d %B, %Y",
    "%I:%M %p on %d %b, %Y",
    "%I:%M %p, %d %B, %Y",
    "%I:%M %p on %B %d, %Y",
    "%Y/%m/%d (%a) %H:%M",
    "%Y/%m/%d %H:%M",
    "%d %B, %Y",
    "%d %B %Y",
    "%B %d, %Y",
)


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a dialogue. *place* is unique over all dialogues."""

    place: str
    session: str
    order: int
    speaker: str
    text: str
    caption: str | None
    when: datetime | None

    def item(self) -> dict[str, Any]:
        """Return the turn as an item of ``memory.ingest_many``."""
        return {
            "text": self.text,
            "speaker": self.speaker,
            "session_id": self.session,
            "order": self.order,
            "source": self.place,
            **({"caption": self.caption} if self.caption else {}),
            **({"occurred_at": self.when.isoformat()} if self.when else {}),
        }


@dataclass(frozen=True, slots=True)
class Asked:
    """One question and the places of the turns that answer it."""

    text: str
    category: int
    gold: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Dialogue:
    """One conversation of two people with its questions."""

    name: str
    people: tuple[str, ...]
    turns: tuple[Turn, ...]
    questions: tuple[Asked, ...]

    @property
    def honest(self) -> list[Asked]:
        """The questions that its turns answer."""
        return [asked for asked in self.questions if asked.category != ADVERSARIAL]


def read(path: Path) -> list[Dialogue]:
    """Return the dialogues of *path*, without questions whose evidence is not among the turns."""
    return [dialogue(sample) for sample in json.loads(path.read_text("utf-8"))]


def dialogue(sample: dict[str, Any]) -> Dialogue:
    """Return one sample of the format as a dialogue."""
    name, talk = str(sample["sample_id"]), sample["conversation"]
    turns = tuple(turn for number in _sessions(talk) for turn in _turns(name, talk, number))
    places = {turn.place for turn in turns}
    people = [str(talk[key]) for key in ("speaker_a", "speaker_b") if talk.get(key)]
    asked = []
    for question in sample.get("qa", ()):
        gold = tuple(
            f"{name}/{turn}"
            for turn in evidence(question.get("evidence") or ())
            if f"{name}/{turn}" in places
        )
        if gold:
            asked.append(Asked(str(question["question"]), int(question["category"]), gold))
    speakers = dict.fromkeys([*people, *(turn.speaker for turn in turns)])
    return Dialogue(name, tuple(speakers), turns, tuple(asked))


def evidence(ids: object) -> list[str]:
    """Return the turn ids in *ids*, in one spelling.

    >>> evidence(["D8:6; D9:17", "D:11:26", "D30:05", "D"])
    ['D8:6', 'D9:17', 'D11:26', 'D30:5']
    """
    texts = ids if isinstance(ids, list | tuple) else [ids]
    turns = [f"D{m[1]}:{m[2]}" for text in texts for m in _TURN.finditer(str(text))]
    return list(dict.fromkeys(turns))


def moment(talk: dict[str, Any], number: int) -> datetime | None:
    """Return when session *number* took place: its ISO time, or its date in words, or None."""
    for key in (f"session_{number}_iso", f"session_{number}_date_time"):
        at = when(str(talk.get(key) or ""))
        if at is not None:
            return at
    return None


def when(text: str) -> datetime | None:
    """Return the time that *text* says, in UTC where it names no zone; None if unreadable.

    >>> when("4:04 pm on 20 January, 2023").isoformat()
    '2023-01-20T16:04:00+00:00'
    """
    text = " ".join(text.split())
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return _in_words(text)
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _in_words(text: str) -> datetime | None:
    for form in _DATES:
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC)
        except ValueError:
            continue
    return None


def _sessions(talk: dict[str, Any]) -> list[int]:
    numbers = [int(match[1]) for key in talk if (match := _SESSION.fullmatch(key))]
    return sorted(number for number in numbers if isinstance(talk[f"session_{number}"], list))


def _turns(name: str, talk: dict[str, Any], number: int) -> list[Turn]:
    at = moment(talk, number)
    turns = []
    for order, turn in enumerate(talk[f"session_{number}"]):
        ids = evidence(str(turn.get("dia_id", ""))) or [f"D{number}:{order + 1}"]
        caption = str(turn.get("blip_caption") or "").strip() or None
        text = str(turn.get("text") or "").strip() or caption
        if text:
            session = f"{name}/session_{number}"
            place = f"{name}/{ids[0]}"
            turns.append(Turn(place, session, order, str(turn["speaker"]), text, caption, at))
    return turns
