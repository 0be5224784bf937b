"""Recorded coding sessions as a store and questions: a later line that needs an earlier one.

Sessions are cut into passages (a paragraph, a list's item, with the heading above), and
into parts, as a window is emptied when it is full. A part is stored when it ends, and
what its lines ask for is asked before that, of the parts and sessions before it. A line
asks for a thing (a path, a symbol, an error, a number) that few earlier passages hold; its
evidence are those of them that share more with it than the thing. In every second one the
thing is taken out of the question. The readers' questions (``labels``) are asked at the end.
Pure: messages in, passages and questions out.
"""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import log

from bench.named_details import things
from bench.nap_scores import holds
from bench.reader_labels import Item, Reading
from bench.transcripts import Message
from memd.text.words import ENGLISH_FUNCTION_WORDS

PART_PASSAGES = 6
PASSAGE_CHARS = (40, 900)
QUESTION_CHARS = 300
PIECE_CHARS = 80
QUESTION_WORDS = (6, 60)
HOLDERS_MAX = 6
STORED_MIN = 40
PROSE_WORDS = 4
TELLING_WORDS = 4
TELLING_SHARE = 0.4
MORE_WORDS = 0.03  # of that share, for each such word that both have
TELLING_PART = 0.03
EVIDENCE_MAX = 4
HALF = 0.5
CODE_SHARE = 0.025
SHARED_WORDS = 2
SHARED_SHARE = 0.12
SAME_SHARE = 0.7

_FENCE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_DIFF = re.compile(
    r"^[-+ ]*(?:- Current[^\n]*)?diff --git.*?(?=^#{1,3} |\Z)", re.DOTALL | re.MULTILINE
)
_HEADING = re.compile(r"^#{1,6}\s+(.*)$")
_ITEM = re.compile(r"^\s*(?:[-*+]|\d{1,2}[.)]|\(\d{1,2}\))\s+")
_MADE = re.compile(
    r"^\s*(?:<[\w/!-]|\||[+-]{1,3}(?=[\w\t /{}])|@@|diff --git|index [0-9a-f]{7}|\[Request )"
)
_PASTED = re.compile(
    r"\(use \"git |\bmodified:\s|\bnew file:\s|diffhunk://|\blevel=[A-Z]+ msg=|^Context: (?![A-Z])"
    r"|\bCurrent (?:pull request|git) |\d\d:\d\d:\d\d\.\d|^\[\d\d/\d\d/\d\d "
)
_ASIDE = re.compile(r"\b(?:let me|want me to|do you want|shall i|would you like)\b", re.IGNORECASE)
_NARRATION = re.compile(
    r"^(?:\W*(?:ok|okay|good|great|perfect|now|alright|first|next|and)\b[^.!?:]{0,40}?[,.!]?\s*)?"
    r"(?:now )?(?:let me|let's|i'll|i will|i need to|i'm going to|i am going to)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]+(?:'[a-z]+)?")
_QUOTED = re.compile(r"`([^`\n]{3,60})`")


@dataclass(frozen=True, slots=True)
class Passage:
    """A paragraph or item of a message; *place* names it, *part* its stretch of the session.

    No message is in two parts.
    """

    place: str
    session: str
    part: int
    order: int
    who: str
    text: str
    when: str


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, the places that answer it, and what kind it is: kept, out, or labelled."""

    text: str
    name: str
    session: str
    part: int
    gold: tuple[str, ...]


@dataclass(slots=True)
class Known:
    """The passages stored so far: who holds which thing, and how many hold which word."""

    passages: list[Passage] = field(default_factory=list)
    holders: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    words: Counter[str] = field(default_factory=Counter)
    word_sets: list[frozenset[str]] = field(default_factory=list)

    def add(self, passage: Passage) -> None:
        for thing in named(passage.text):
            self.holders[thing].append(len(self.passages))
        held = frozenset(words(passage.text))
        self.words.update(held)
        self.word_sets.append(held)
        self.passages.append(passage)

    def is_rare(self, thing: str) -> bool:
        return 0 < len(self.holders.get(thing, ())) <= HOLDERS_MAX

    def naming(self, names: Sequence[str], apart: frozenset[str]) -> list[int]:
        """Return the passages that hold one of the things and share what is said of it."""
        places = sorted({at for thing in names for at in self.holders[thing]})
        gold = [at for at in places if shared(self, at, apart) >= SHARED_SHARE]
        return gold if 2 * len(gold) >= len(places) else []

    def telling(self, asked_words: frozenset[str]) -> list[int]:
        """Return the passages that share several words which few passages hold."""
        few = TELLING_PART * len(self.passages)
        rare = {word for word in asked_words if 0 < self.words[word] <= few}
        return [
            at
            for at, held in enumerate(self.word_sets)
            if len(rare & held) >= TELLING_WORDS
            and shared(self, at, asked_words) >= TELLING_SHARE - MORE_WORDS * len(rare & held)
        ]

    def idf(self, word: str) -> float:
        return log((1 + len(self.passages)) / (1 + self.words[word]))


def passages(session: str, messages: Sequence[Message]) -> list[Passage]:
    """Return what a user and an assistant say in a session, passage by passage, each text once."""
    all_passages: list[Passage] = []
    part = start = 0
    for message in messages:
        if message["role"] not in {"user", "assistant"}:
            continue
        if len(all_passages) - start >= PART_PASSAGES:
            part, start = part + 1, len(all_passages)
        when = str(message.get("timestamp") or "").replace(" ", "T")
        for text in blocks(str(message["content"])):
            order = len(all_passages)
            place = f"{session}#{order}"
            all_passages.append(Passage(place, session, part, order, message["role"], text, when))
    return all_passages


def blocks(text: str) -> Iterator[str]:
    """Yield the paragraphs and items of *text*, each under its heading; no code, no tables.

    >>> list(blocks("## Port\\n\\nThe daemon listens on 8765, as we agreed on Monday.\\n\\nOk."))
    ['Port: The daemon listens on 8765, as we agreed on Monday.']
    """
    low, high = PASSAGE_CHARS
    heading = ""
    for block in re.split(
        r"\n\s*\n|\n(?=\s*(?:[-*+]|\d{1,2}[.)])\s)", _FENCE.sub("\n\n", _DIFF.sub("", text))
    ):
        lines = [line for line in block.splitlines() if line.strip()]
        while lines and (title := _HEADING.match(lines[0])):
            heading = title[1].strip(" *`")
            lines = lines[1:]
        if not lines or sum(bool(_MADE.match(line)) for line in lines) * 2 >= len(lines):
            continue
        paragraph = " ".join(_ITEM.sub("", line.strip()) for line in lines)
        paragraph = f"{heading}: {paragraph}" if heading and len(heading) < 80 else paragraph
        if low <= len(paragraph) <= high and is_prose(paragraph) and not _PASTED.search(paragraph):
            yield paragraph


def is_prose(text: str) -> bool:
    """Return whether *text* says something in words, apart from the things that it names.

    >>> is_prose("Lines 3-5: `var x int`"), is_prose("The office computers listen on port 8765.")
    (False, True)
    """
    code = sum(letter in "{}[];=<>|\\" for letter in text)
    return (
        code <= CODE_SHARE * len(text)
        and len(words(without(text, list(named(text))))) >= PROSE_WORDS
    )


def is_narration(text: str) -> bool:
    """Return whether an assistant only says what it does next, which nobody needs again.

    >>> is_narration("Good. Let me read the file."), is_narration("The file is read at start.")
    (True, False)
    """
    return len(text) < 2 * QUESTION_CHARS // 3 and _NARRATION.match(text) is not None


def named(text: str) -> frozenset[str]:
    """Return the things that *text* names: paths, symbols, errors, numbers, and ticked words."""
    by_kind = things(text)
    names = by_kind["paths"] | by_kind["symbols"] | by_kind["errors"]
    names |= {number for number in by_kind["numbers"] if len(number) > 3}  # ports, not lines
    ticked = (quoted.strip() for quoted in _QUOTED.findall(text))
    names |= {thing for thing in ticked if not (thing.isalpha() and thing.islower())}
    return frozenset(thing for thing in names if len(thing) > 2)  # "go", "id"


def words(text: str) -> list[str]:
    """Return the words of *text* that say something."""
    low = (word.casefold() for word in _WORD.findall(text))
    return [_stem(word) for word in low if len(word) > 2 and word not in ENGLISH_FUNCTION_WORDS]


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) > 3:
            return word[: -len(ending)]
    return word


def replayed(parts: Sequence[Sequence[Passage]]) -> Iterator[tuple[Sequence[Passage], list[Asked]]]:
    """Yield each part with what it asks of those before it, in their order."""
    known = Known()
    seen: set[str] = set()
    for part in parts:
        yield part, asked(known, part) if len(known.passages) >= STORED_MIN else []
        for passage in part:
            if passage.text not in seen and stored(passage):
                known.add(passage)
                seen.add(passage.text)


def stored(passage: Passage) -> bool:
    """Return whether the passage becomes a memory."""
    return passage.who == "user" or not is_narration(passage.text)


def in_parts(sessions: Mapping[str, Sequence[Message]]) -> list[list[Passage]]:
    """Return the parts of all sessions, in the order of the sessions' names."""
    all_parts = []
    for name in sorted(sessions):
        parts: dict[int, list[Passage]] = defaultdict(list)
        for passage in passages(name, sessions[name]):
            parts[passage.part].append(passage)
        all_parts += [parts[number] for number in sorted(parts)]
    return all_parts


def asked(known: Known, part: Sequence[Passage]) -> list[Asked]:
    """Return the questions of a part: sentences that need what an earlier passage holds.

    Every second one is asked without what it shares with that passage, too, if it shares
    a thing, and only so, if it shares words.
    """
    questions: list[Asked] = []
    evidence: set[tuple[str, ...]] = set()
    for passage in part:
        rare = [t for t in sorted(named(passage.text)) if known.is_rare(t)]
        for text in sentences(passage.text):
            variants = _questions(known, passage, text, [thing for thing in rare if thing in text])
            if variants and variants[0].gold not in evidence:
                both = variants[0].name == "thing kept"
                questions += variants[not both :] if len(evidence) % 2 else variants[:1]
                evidence.add(variants[0].gold)
    return questions


def _questions(
    known: Known, passage: Passage, text: str, shared_things: Sequence[str]
) -> list[Asked]:
    """Return a sentence as a question, then as one without what is shared; none without evidence.

    Of shared words, the rarer half is taken out.
    """
    bare = without(text, shared_things)
    whole = frozenset(words(text))
    by_thing = known.naming(shared_things, frozenset(words(bare)))
    gold = by_thing or ([] if _ASIDE.search(text) else known.telling(whole))
    if not 0 < len(gold) <= EVIDENCE_MAX or any(_same(known, at, whole) for at in gold):
        return []
    name = "thing" if by_thing else "words"
    if not by_thing:
        both = whole.intersection(*(known.word_sets[at] for at in gold[:1]))
        rarest = sorted(both, key=lambda word: (known.words[word], word))[: len(both) // 2]
        taken = frozenset(rarest)
        bare = " ".join(each for each in text.split() if taken.isdisjoint(words(each)))
    answers = tuple(known.passages[at].place for at in gold)
    low, high = QUESTION_WORDS
    return [
        Asked(question, f"{name} {how}", passage.session, passage.part, answers)
        for how, question in (("kept", text), ("out", bare))
        if low <= len(question.split()) <= high and is_prose(question)
    ]


def shared(known: Known, at: int, asked_words: frozenset[str]) -> float:
    """Return which share of the question's words, by weight, the passage holds; 0 for one word."""
    both = asked_words & known.word_sets[at]
    total = sum(known.idf(word) for word in asked_words)
    if len(both) < SHARED_WORDS or not total:
        return 0.0
    return sum(known.idf(word) for word in both) / total


def _same(known: Known, at: int, asked_words: frozenset[str]) -> bool:
    held = known.word_sets[at]
    return len(held & asked_words) > SAME_SHARE * min(len(held), len(asked_words))


def sentences(text: str) -> list[str]:
    """Return *text* in pieces of whole sentences, each of 80 characters or more but the last.

    >>> sentences("It reads app.py twice. Then it ends.")
    ['It reads app.py twice. Then it ends.']
    """
    pieces: list[str] = []
    for piece in re.split(r"(?<=[.!?])\s+(?=[A-Z*`(])", text):
        if pieces and len(pieces[-1]) < PIECE_CHARS:
            pieces[-1] += f" {piece}"
        else:
            pieces.append(piece)
    return [piece for piece in pieces if len(piece) <= QUESTION_CHARS]


def without(text: str, taken: Sequence[str]) -> str:
    """Return *text* with the things taken out, longest first."""
    for thing in sorted(taken, key=len, reverse=True):
        text = re.sub(rf"`?{re.escape(thing)}(?:\(\))?`?", " ", text)
    return " ".join(word for word in text.split() if any(map(str.isalnum, word)))


def labelled(reading: Reading, lines: Sequence[str], known: Sequence[Passage]) -> list[Asked]:
    """Return a reader's questions with the session's passages that hold their items.

    These are the passages that hold all of an item's keys, and of those in the item's lines
    the ones that hold half of them: the others only lead up to it.
    """
    questions = []
    flat = {passage.place: _flat(passage.text) for passage in known}
    for item in reading.items:
        long_lines = [_flat(_ITEM.sub("", lines[line - 1].strip())) for line in sorted(item.lines)]
        long_lines = [line for line in long_lines if len(line) >= PASSAGE_CHARS[0]]
        gold = [
            passage.place
            for passage in known
            if (share := _held(passage.text, item)) == 1
            or (share >= HALF and any(line in flat[passage.place] for line in long_lines))
        ]
        if 0 < len(gold) <= HOLDERS_MAX:
            questions.append(Asked(item.asked, "labelled", reading.session, 0, tuple(gold)))
    return questions


def _held(text: str, item: Item) -> float:
    """Return which share of the item's keys *text* holds."""
    return sum(holds(text, item._replace(keys=(key,))) for key in item.keys) / len(item.keys)


def _flat(text: str) -> str:
    return " ".join(text.casefold().split())


def swapped(text: str, others: Sequence[str], chance: random.Random) -> str:
    """Return *text* with each thing that it names replaced by one of *others* of its shape."""
    for thing in sorted(named(text), key=len, reverse=True):
        alike = [other for other in others if shape(other) == shape(thing) and other != thing]
        text = text.replace(thing, chance.choice(alike or list(others)))
    return text


def shape(thing: str) -> tuple[bool, bool, bool]:
    """Return whether a thing is a path, has an underscore, begins with a capital."""
    return ("/" in thing or "." in thing, "_" in thing, thing[:1].isupper())
