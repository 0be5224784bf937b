"""The nap as a pure function: a full window becomes one summary and the latest messages (SPEC 6).

Needs no language model, no clock and no file; the same messages always give the
same summary, and consolidating what was consolidated changes nothing. What this
promises to keep is facts, not prose: the whole messages are for the caller to
keep before the list is replaced.

One bullet enumerates the concrete things of a session: paths, symbols, numbers, names of
errors. The documents' rules keep what tools began to say and what was announced with a
keyword; on real coding sessions that is a third of the paths and names that the
rest of the session needs again. Their plain enumeration costs a twelfth of the
window and keeps most of the others. It is no rule of the documents, so it is
there only where it is asked for (``mention_share``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

from memd.sleep.nap import facts as rules
from memd.sleep.nap.blocks import Pairs, all_text, argument_chars, call_texts, paired, turn
from memd.sleep.nap.facts import HEADER, SUMMARY_ROLE, Fact, bullet, bullets

KEPT_MESSAGES = 4
THRESHOLD_SHARE = 0.8
MAX_TOKENS = 30_000
SUMMARY_SHARE = 0.25
MENTION_SHARE = 0.16  # what a nap gives the enumeration of concrete things
CHARS_PER_TOKEN = 4

_CUT_MARK = " …"
_SHARE_OF_ONE_FACT = 8
_LONG_FACT_CHARS = 200


class MemoryConsolidator:
    """Decides when a window is full and makes the shorter list (SPEC 6.1).

    *threshold_pct* is a share, 0.8 for eighty per cent. A *max_tokens* of zero or
    less never asks for a consolidation. The summary takes a quarter of the
    window at most; *mention_share* of the window, none by default, may be a last
    bullet that enumerates the concrete things which no other bullet names.
    """

    def __init__(
        self,
        threshold_pct: float = THRESHOLD_SHARE,
        max_tokens: int = MAX_TOKENS,
        *,
        mention_share: float = 0.0,
    ) -> None:
        self.threshold_pct = threshold_pct
        self.max_tokens = max_tokens
        self.mention_share = mention_share

    def should_consolidate(self, current_tokens: int) -> bool:
        """Return whether the window is full; exactly the threshold is (SPEC 6.2).

        >>> MemoryConsolidator().should_consolidate(current_tokens=24_000)
        True
        """
        return bool(self.max_tokens > 0 and current_tokens / self.max_tokens >= self.threshold_pct)

    def consolidate(
        self, messages: Sequence[Any], system_prompt: str = ""
    ) -> tuple[list[Any], str]:
        """Return the shorter list and the summary's bullets without its header (SPEC 6.3-6.6).

        The last four messages stay as they are, more if a tool's result among
        them answers an earlier call: neither stands without the other. All
        before them becomes one message of the user, placed first. With nothing
        before them the list is a copy of what was given and the summary "".
        *messages* is never changed; *system_prompt* is accepted and plays no part.
        """
        del system_prompt
        turns = [turn(message) for message in messages]
        pairs = paired(turns)
        start = _tail_start(pairs)
        if not start:
            return list(messages), ""
        summary = bullets(self._summed_up(messages, rules.facts_of(turns, pairs, start), start))
        content = f"{HEADER}\n\n{summary}"
        return [{"role": "user", "content": content}, *messages[start:]], summary

    @staticmethod
    def estimate_tokens(messages: Iterable[Any]) -> int:
        """Return a quarter of the characters of all messages (SPEC 6.14).

        Texts count, a tool's result included, and what tools are called with; roles
        and names do not. The caller adds its system prompt.

        >>> MemoryConsolidator.estimate_tokens([{"content": "x" * 800}, {"role": "user"}])
        200
        """
        chars = sum(len(all_text(message)) + argument_chars(message) for message in messages)
        return chars // CHARS_PER_TOKEN

    @staticmethod
    def facts(messages: Sequence[Any]) -> tuple[Fact, ...]:
        """Return every fact of *messages*, none left out for want of room.

        The enumeration in an earlier summary is none: names without their sentences.
        """
        return tuple(fact for fact in rules.facts(messages) if not _is_mention(fact))

    def _summed_up(self, messages: Sequence[Any], facts: Sequence[Fact], start: int) -> list[str]:
        """Return the texts of the bullets: the facts that fit, then what else was mentioned."""
        room = self._chars(SUMMARY_SHARE) - len(HEADER) - len("\n\n")
        if self.mention_share <= 0:
            return newest([fact.text for fact in facts], room)
        share = min(room, self._chars(self.mention_share))
        kept = newest([fact.text for fact in facts if not _is_mention(fact)], room - share)
        texts = [f"{all_text(message)}\n{call_texts(message)}" for message in messages]
        known = "\n".join((*kept, *texts[start:]))
        more = mentioned(texts[:start], known, share - len("\n- "))
        return [*kept, more] if more else kept

    def _chars(self, share: float) -> int:
        window = self.max_tokens if self.max_tokens > 0 else MAX_TOKENS
        return int(share * window) * CHARS_PER_TOKEN


def build_messages(
    messages: Sequence[Any],
    system_prompt: str = "",
    *,
    consolidator: MemoryConsolidator | None = None,
    consolidated: Callable[[int, int], None] | None = None,
) -> list[Any]:
    """Return the messages for the next turn: as they are, or shorter when the window is full.

    The step of an agent's loop in document 003: tokens are estimated, with the system
    prompt; above the threshold the list is consolidated, and *consolidated* is told how
    many messages were removed and how long the summary is. *messages* is never changed.
    """
    consolidator = consolidator or MemoryConsolidator()
    prompt = [{"role": "system", "content": system_prompt}] if system_prompt else []
    if not consolidator.should_consolidate(
        current_tokens=consolidator.estimate_tokens([*prompt, *messages])
    ):
        return list(messages)
    shorter, summary = consolidator.consolidate(messages, system_prompt)
    if summary and consolidated is not None:
        consolidated(len(messages) - len(shorter) + 1, len(summary))
    return shorter


def newest(texts: Sequence[str], room_chars: int) -> list[str]:
    """Return the last of *texts* whose bullets fit into *room_chars*, in order (SPEC 6.16).

    If all fit they stay as they are. If not, a text that would take more than an
    eighth of the room for itself is cut first: one line must not push out all
    others.
    """
    if sum(len(bullet(text)) + 1 for text in texts) <= room_chars + 1:
        return list(texts)
    longest = max(room_chars // _SHARE_OF_ONE_FACT, min(room_chars, _LONG_FACT_CHARS))
    kept: dict[str, None] = {}
    for text in reversed(texts):
        short = _cut(text, longest)
        room_chars -= len(bullet(short)) + 1
        if room_chars < 0:
            break
        kept[short] = None
    return list(reversed(kept))


def _cut(text: str, chars: int) -> str:
    if len(bullet(text)) <= chars:
        return text
    return text[: max(0, chars - len(bullet(_CUT_MARK)))] + _CUT_MARK


def _is_mention(fact: Fact) -> bool:
    return fact.role == SUMMARY_ROLE and enumerates(fact.text)


def kept_from(messages: Sequence[Any]) -> int:
    """Return the place of the first message that a consolidation keeps; 0 if it keeps all."""
    return _tail_start(paired([turn(message) for message in messages]))


def _tail_start(pairs: Pairs) -> int:
    """Go back from the end until no result's call is left outside (SPEC 6.12)."""
    place = len(pairs.starts)
    start = max(0, place - KEPT_MESSAGES)
    while place > start:
        place -= 1
        start = min(start, pairs.starts[place])
    return start


MARK = "mentioned: "

_HALF_LIFE_MESSAGES = 40
LATEST_MESSAGES = 10 * _HALF_LIFE_MESSAGES  # what was said before weighs less than a thousandth
_SEPARATOR = ", "
_CALL = "()"

_MARGIN = re.compile(r"^[^\S\n]*\d+(?:→|\t|:)", re.MULTILINE)  # the line numbers of a listing
_WORD = re.compile(r"[\w~@./+-]{3,}\(?")
_THING_CHARS_MAX = 120
_THING = re.compile(
    r"""
      (?:~|\.{0,2})/[\w@.+-][\w@./+~-]*         # a path from a root, or a relative one
    | [\w@.+-]+(?:/[\w@.+-]+){2,}               # of two slashes
    | [\w@+-]+/(?=[\w@./+-]*\.)[\w@.+-]+        # of one, with an ending
    | [\w-]+(?:\.[\w-]+)*\.[A-Za-z][A-Za-z0-9]{0,4}   # a file, a host, a short attribute
    | [A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+           # dotted.name
    | [A-Za-z]\w*_\w+                           # snake_case, CONSTANT_CASE
    | [a-z][a-z0-9]*[A-Z]\w* | [A-Z][a-z0-9]+[A-Z]\w*   # camelCase, ValueError
    | [A-Za-z_][\w.]*\(                         # a call
    | [0-9]{3,}                                 # a number worth remembering
    | (?=[a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{7,40}      # a hash
    """,
    re.VERBOSE,
)


def mentioned(texts: Sequence[str], known: str, room_chars: int) -> str:
    """Return the fact that enumerates the things of *texts*, or "" if there are none.

    *texts* are those of the messages in order, an earlier summary among them;
    what *known* says already is left out. Of more than *room_chars* hold, those
    stay that are said often, late and in few letters; of a very long session only
    the latest messages are looked at. The order is that of the
    alphabet, so that the same things always give the same fact.
    """
    texts = texts[-LATEST_MESSAGES:]
    weights: dict[str, float] = {}
    for index, text in enumerate(texts):
        late = 0.5 ** ((len(texts) - index) / _HALF_LIFE_MESSAGES)
        for thing, count in things(text).items():
            weights[thing] = weights.get(thing, 0.0) + count * late
    for thing in things(known):
        weights.pop(thing, None)
        weights.pop(thing.removesuffix(_CALL), None)
    left = room_chars - len(MARK)
    chosen = []
    for thing in sorted(weights, key=lambda thing: (-_worth(weights[thing], thing), thing)):
        left -= len(thing) + len(_SEPARATOR)
        if left < 0:
            break
        chosen.append(thing)
    return MARK + _SEPARATOR.join(sorted(chosen)) if chosen else ""


def things(text: str) -> Counter[str]:
    """Return the concrete things of *text* and how often each is said.

    >>> sorted(things("ValueError in src/app.py:4711, see parse(x) and so on."))
    ['4711', 'ValueError', 'parse()', 'src/app.py']
    """
    names: Counter[str] = Counter()
    for word, count in Counter(_WORD.findall(unnumbered(text))).items():
        thing = _thing(word)
        if thing:
            names[thing] += count
    return names


def unnumbered(text: str) -> str:
    """Return *text* without the numbers in the margin of a listing."""
    return _MARGIN.sub("", text)


@lru_cache(maxsize=16_384)  # a session says the same words again and again
def _thing(word: str) -> str:
    """Return the thing that *word* is, or "" for most words."""
    if word.isalpha() and word[1:].islower():  # seen at once
        return ""
    bare = word.strip("-+") if word.endswith("(") else word.strip("-+").rstrip(".")
    if len(bare) > _THING_CHARS_MAX or not _THING.fullmatch(bare):
        return ""
    return bare + ")" if bare.endswith("(") else bare


def enumerates(fact: str) -> bool:
    """Return whether *fact* is one of :func:`mentioned`, and no sentence that begins like it."""
    if not fact.startswith(MARK):
        return False
    return all(map(_is_thing, fact.removeprefix(MARK).split(_SEPARATOR)))


def _is_thing(listed: str) -> bool:
    """Return whether *listed* is a thing as :func:`things` finds it, and nothing else."""
    word = listed.removesuffix(")") if listed.endswith(_CALL) else listed
    return bool(_WORD.fullmatch(word)) and _thing(word) == listed


def _worth(weight: float, thing: str) -> float:
    """Return the weight for the room; the square root keeps one loud name from winning all."""
    return float(weight**0.5) / (len(thing) + 6)
