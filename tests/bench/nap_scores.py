"""How much of what readers wrote down is in a session's memories, and what should not be. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from bench.reader_labels import WORTH, Item, Reading
from memd.sleep.distil.user.remember_requests import statement_of

PER_TOKENS = 30_000
SHORT_WORDS = 4
"""A line of fewer words counts only as a whole sentence of the user's: "yes" is in many words."""

_WORDS = re.compile(r"\w+")
_SENTENCES = re.compile(r"(?<=[.!?…])[\"')*_`]*\s+|\n")
_LABEL = re.compile(r"[\s\"'(*_`>-]*[A-Za-z][A-Za-z ]{0,24}:\s+(?=\S)")
_OTHERS = re.compile(r"[\s\"'(*_`>-]*(?:agent|assistant|tool|outcome|cause|error)\b", re.IGNORECASE)


class Memory(NamedTuple):
    """One memory of a session as it is scored."""

    text: str
    kind: str
    is_digest: bool = False


class Score(NamedTuple):
    """One session's counts, which add up over sessions."""

    tokens: int
    memories: int
    chars: int
    digest_chars: int
    weight: Counter[str]
    """By ``all``, the kind and ``importance 3``: the number of items, ``… covered`` and weights."""
    junk: int
    junk_kept: int


def holds(text: str, item: Item) -> bool:
    """Return whether one memory holds the item: an alternative of every group is in it.

    >>> item = Item("1", "fix", 3, frozenset({1}), "", (("8765", "8766"), ("the port",)), "")
    >>> holds("The  port is 8766", item), holds("It is 8766", item)
    (True, False)
    """
    flat = _flat(text)
    return all(any(_flat(key) in flat for key in group) for group in item.keys)


def covered(memories: Sequence[Memory], items: Iterable[Item]) -> tuple[Item, ...]:
    """Return the items that *one* memory holds, the digest among them."""
    return tuple(item for item in items if any(holds(each.text, item) for each in memories))


def stands_in(line: str, text: str) -> bool:
    """Return whether the user's *line* stands in a memory, whatever the punctuation.

    So does what it asks to remember, without the words that ask it.

    >>> stands_in("Now run all the tests!", "User: now run all the tests. They passed.")
    True
    >>> stands_in("Yes", "User: Yes. They passed."), stands_in("Yes", "Yes, they passed.")
    (True, False)
    """
    asked = statement_of(line)
    mine = words(line)
    if not mine:
        return False
    if asked and asked.text and stands_in(asked.text, text):
        return True
    if len(mine.split()) >= SHORT_WORDS:
        return f" {mine} " in f" {words(text)} "
    return any(words(part) == mine for part in _users_sentences(text))


def junk_kept(memories: Sequence[Memory], lines: Iterable[str]) -> tuple[str, ...]:
    """Return the *lines* that stand in a memory; what the digest says is no memory of a line."""
    texts = [each.text for each in memories if not each.is_digest]
    return tuple(line for line in lines if any(stands_in(line, text) for text in texts))


def score(reading: Reading, lines: Sequence[str], memories: Sequence[Memory], tokens: int) -> Score:
    """Score the *memories* of a session of *tokens* tokens; *lines* are those of its file."""
    there = set(covered(memories, reading.items))
    weight: Counter[str] = Counter()
    for item in reading.items:
        groups = ["all", item.kind] + ["importance 3"] * (item.importance == 3)
        for group in groups:
            weight[group] += 1
            weight[f"{group} weight"] += item.importance
            if item in there:
                weight[f"{group} covered"] += 1
                weight[f"{group} weight covered"] += item.importance
    junk = [lines[line - 1] for line in reading.never_kept()]
    own = [each for each in memories if not each.is_digest]
    return Score(
        tokens=tokens,
        memories=len(own),
        chars=sum(len(each.text) for each in own),
        digest_chars=sum(len(each.text) for each in memories if each.is_digest),
        weight=weight,
        junk=len(junk),
        junk_kept=len(junk_kept(memories, junk)),
    )


def summed(scores: Iterable[Score]) -> Score:
    """Return the scores of several sessions as that of one."""
    rows = list(scores)
    weight: Counter[str] = Counter()
    for row in rows:
        weight.update(row.weight)
    return Score(
        tokens=sum(row.tokens for row in rows),
        memories=sum(row.memories for row in rows),
        chars=sum(row.chars for row in rows),
        digest_chars=sum(row.digest_chars for row in rows),
        weight=weight,
        junk=sum(row.junk for row in rows),
        junk_kept=sum(row.junk_kept for row in rows),
    )


def figures(row: Score) -> dict[str, Any]:
    """Return the shares and what there is per 30,000 tokens."""
    weight = row.weight
    kinds = sorted(name for name in weight if f"{name} weight" in weight and name != "all")
    share = PER_TOKENS / max(row.tokens, 1)
    return {
        "tokens": row.tokens,
        "memories": row.memories,
        "memories_per_30k": round(share * row.memories, 1),
        "chars_per_30k": round(share * row.chars),
        "chars_with_digest_per_30k": round(share * (row.chars + row.digest_chars)),
        "items": weight["all"],
        "covered": weight["all covered"],
        "weighted_coverage": _share(weight["all weight covered"], weight["all weight"]),
        "by_kind": {name: [weight[f"{name} covered"], weight[name]] for name in kinds},
        "junk_kept": [row.junk_kept, row.junk],
    }


def agreement(one: Reading, other: Reading) -> dict[str, Any]:
    """Return how far two readers of a session agree: on the items, and on what lines do.

    An item is found in the other reading if an item there shares a line with it, or
    says an alternative of each of its keys.
    """
    pairs = [(does, other.does[line]) for line, does in one.does.items() if line in other.does]
    keep = [tuple(does in WORTH for does in pair) for pair in pairs]
    return {
        "items": [len(one.items), len(other.items)],
        "items_found": [_found_in(one, other), _found_in(other, one)],
        "lines": len(pairs),
        "lines_alike": sum(a == b for a, b in pairs),
        "kappa": kappa(pairs),
        "kappa_worth_keeping": kappa(keep),
    }


def kappa(pairs: Sequence[tuple[Any, ...]]) -> float | None:
    """Return Cohen's kappa of two readers' marks, None where chance alone would agree.

    >>> kappa([("a", "a"), ("a", "b"), ("b", "b"), ("b", "b")])
    0.5
    """
    if not pairs:
        return None
    first, second = (Counter(pair[which] for pair in pairs) for which in (0, 1))
    by_chance = sum(first[mark] * second[mark] for mark in first) / len(pairs) ** 2
    alike = sum(a == b for a, b in pairs) / len(pairs)
    return None if by_chance == 1 else round((alike - by_chance) / (1 - by_chance), 2)


def _found_in(one: Reading, other: Reading) -> int:
    return sum(any(_alike(item, each) for each in other.items) for item in one.items)


def _alike(item: Item, other: Item) -> bool:
    words_of_other = "\n".join((other.says, *(key for group in other.keys for key in group)))
    return bool(item.lines & other.lines) or holds(words_of_other, item)


def _users_sentences(text: str) -> Iterable[str]:
    """Yield the sentences and lines of a memory without what marks them as the user's."""
    for part in _SENTENCES.split(text):
        if not _OTHERS.match(part):
            yield part
            yield _LABEL.sub("", part, count=1)


def words(text: str) -> str:
    """Return the words of *text* in lower case, one space between them.

    >>> words("Now run **all** tests!")
    'now run all tests'
    """
    return " ".join(_WORDS.findall(text.casefold()))


def _flat(text: str) -> str:
    return " ".join(text.casefold().split())


def _share(part: float, whole: float) -> float | None:
    return round(part / whole, 3) if whole else None


def by_name(rows: Mapping[str, Score]) -> dict[str, dict[str, Any]]:
    """Return the figures of each session and of all together (``all``)."""
    return {name: figures(row) for name, row in rows.items()} | {
        "all": figures(summed(rows.values()))
    }
