"""Consolidate the messages of a full window into one summary and the latest messages (SPEC 6).

Pure functions, without a language model. The same messages always give the same summary, and
consolidating a consolidated list changes nothing. The summary has facts, not whole messages;
callers that need those must store them before.

The rules of SPEC 6 keep the beginnings of tools' results and lines with a keyword. On real coding
sessions these contain a third of the paths and names that the session needs again later. Therefore
one more bullet can enumerate the concrete things of a session: paths, symbols, numbers, error
names. It takes about a twelfth of the window and has most of the others. SPEC has no such rule, so
it is off by default (``mention_share``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

from memd.guard.suspicion import is_doubtful
from memd.sleep.transcript import facts as rules
from memd.sleep.transcript.blocks import (
    all_text,
    argument_chars,
    call_texts,
    pair_results,
    parse_turn,
)
from memd.sleep.transcript.facts import (
    HEADER,
    SUMMARY_ROLE,
    USER_ROLES,
    Fact,
    render_bullet,
    render_bullets,
)

KEPT_MESSAGES = 4  # latest messages that are not summarised
THRESHOLD_SHARE = 0.8
MAX_TOKENS = 30_000
SUMMARY_SHARE = 0.25  # of the window, at most
MENTION_SHARE = 0.16  # of the window, for the enumeration in a nap
CHARS_PER_TOKEN = 4

_CUT_MARK = " …"
_LONGEST_FACT_SHARE = 8  # if facts do not fit, each gets at most an eighth of the room
_LONG_FACT_CHARS = 200  # but is not cut to less


class MemoryConsolidator:
    """Decides when a window is full and shortens its list of messages (SPEC 6.1).

    *threshold_pct* is a share, 0.8 for eighty per cent. With a *max_tokens* of zero or less no
    window is ever full. The summary takes at most a quarter of the window. Of that, the share
    *mention_share* of the window is for a last bullet, which enumerates concrete things that no
    other bullet names. With *withholds_attacks* the summary leaves out texts that read like orders
    and are not from the user (decision 0292).
    """

    def __init__(
        self,
        threshold_pct: float = THRESHOLD_SHARE,
        max_tokens: int = MAX_TOKENS,
        *,
        mention_share: float = 0.0,
        withholds_attacks: bool = False,
    ) -> None:
        self.threshold_pct = threshold_pct
        self.max_tokens = max_tokens
        self.mention_share = mention_share
        self.withholds_attacks = withholds_attacks

    def should_consolidate(self, current_tokens: int) -> bool:
        """Return whether the window is filled to the threshold or more (SPEC 6.2).

        >>> MemoryConsolidator().should_consolidate(current_tokens=24_000)
        True
        """
        return bool(self.max_tokens > 0 and current_tokens / self.max_tokens >= self.threshold_pct)

    def consolidate(
        self, messages: Sequence[Any], system_prompt: str = ""
    ) -> tuple[list[Any], str]:
        """Return the shorter list and the summary's bullets without its header (SPEC 6.3-6.6).

        The last four messages are kept, or more, so that the call of each result among them is
        kept too. All earlier messages become one message of the user, at the start. Without any,
        the list is a copy of *messages* and the summary is "". *messages* is never changed;
        *system_prompt* is ignored.
        """
        del system_prompt
        return self.consolidate_spoken(messages, messages)

    def consolidate_spoken(
        self, messages: Sequence[Any], spoken: Sequence[Any], kept: Iterable[Fact] = ()
    ) -> tuple[list[Any], str]:
        """Consolidate *messages* as :meth:`consolidate`, with a summary of *spoken* and *kept*.

        *spoken* are the same messages at the same indexes, without texts that the summary must not
        repeat. *kept* are more facts; those from summarised messages are in the summary.
        """
        start = tail_start(messages)
        if not start:
            return list(messages), ""
        turns = [parse_turn(message) for message in spoken]
        rule_facts = rules.extract_from_turns(turns, pair_results(turns), start)
        facts = _add_facts(rule_facts, [fact for fact in kept if 0 <= fact.index < start])
        summary = render_bullets(self._bullet_texts(spoken, facts, start))
        content = f"{HEADER}\n\n{summary}"
        return [{"role": "user", "content": content}, *messages[start:]], summary

    @staticmethod
    def estimate_tokens(messages: Iterable[Any]) -> int:
        """Return the number of characters of all messages, divided by four (SPEC 6.14).

        Texts count, including tools' results and call arguments; roles and names do not. The
        system prompt counts only if it is one of *messages*.

        >>> MemoryConsolidator.estimate_tokens([{"content": "x" * 800}, {"role": "user"}])
        200
        """
        chars = sum(len(all_text(message)) + argument_chars(message) for message in messages)
        return chars // CHARS_PER_TOKEN

    @staticmethod
    def facts(messages: Sequence[Any]) -> tuple[Fact, ...]:
        """Return all facts of *messages*, without the enumeration of an earlier summary."""
        return tuple(fact for fact in rules.extract_facts(messages) if not _is_mention(fact))

    def _bullet_texts(
        self, messages: Sequence[Any], facts: Sequence[Fact], start: int
    ) -> list[str]:
        """Return the texts of the bullets: the facts that fit, then the enumeration."""
        room = self._window_chars(SUMMARY_SHARE) - len(HEADER) - len("\n\n")
        attacks = [self.withholds_attacks and is_attack(fact) for fact in facts]
        withheld = {fact.index for fact, attacking in zip(facts, attacks, strict=True) if attacking}
        facts = [fact for fact, attacking in zip(facts, attacks, strict=True) if not attacking]
        if self.mention_share <= 0:
            return newest_fitting([fact.text for fact in facts], room)
        mention_room = min(room, self._window_chars(self.mention_share))
        newest = newest_fitting(
            [fact.text for fact in facts if not _is_mention(fact)], room - mention_room
        )
        texts = [
            "" if index in withheld else f"{all_text(message)}\n{call_texts(message)}"
            for index, message in enumerate(messages)
        ]
        known = "\n".join((*newest, *texts[start:]))
        enumeration = enumerate_things(texts[:start], known, mention_room - len("\n- "))
        return [*newest, enumeration] if enumeration else newest

    def _window_chars(self, share: float) -> int:
        window = self.max_tokens if self.max_tokens > 0 else MAX_TOKENS
        return int(share * window) * CHARS_PER_TOKEN


def build_messages(
    messages: Sequence[Any],
    system_prompt: str = "",
    *,
    consolidator: MemoryConsolidator | None = None,
    consolidated: Callable[[int, int], None] | None = None,
) -> list[Any]:
    """Return the messages for the next turn: unchanged, or shorter if the window is full.

    This is the step of an agent's loop in document 003. Tokens are estimated, including the system
    prompt. From the threshold on, the list is consolidated, and *consolidated* is called with the
    number of removed messages and the length of the summary. *messages* is never changed.
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


def _add_facts(facts: Sequence[Fact], more: Sequence[Fact]) -> list[Fact]:
    """Return *facts* and *more* by index, without those of *facts* that *more* contains."""
    texts = [fact.text for fact in more]
    others = [fact for fact in facts if not any(fact.text in text for text in texts)]
    return sorted([*others, *more], key=lambda fact: fact.index)


def newest_fitting(texts: Sequence[str], room_chars: int) -> list[str]:
    """Return the last of *texts* whose bullets fit into *room_chars*, in order (SPEC 6.16).

    If not all fit, a text that takes more than an eighth of the room is cut, so that one text does
    not displace all others.
    """
    if sum(len(render_bullet(text)) + 1 for text in texts) <= room_chars + 1:
        return list(texts)
    longest = max(room_chars // _LONGEST_FACT_SHARE, min(room_chars, _LONG_FACT_CHARS))
    newest: dict[str, None] = {}
    for text in reversed(texts):
        short = _cut(text, longest)
        room_chars -= len(render_bullet(short)) + 1
        if room_chars < 0:
            break
        newest[short] = None
    return list(reversed(newest))


def _cut(text: str, chars: int) -> str:
    if len(render_bullet(text)) <= chars:
        return text
    return text[: max(0, chars - len(render_bullet(_CUT_MARK)))] + _CUT_MARK


def is_attack(fact: Fact) -> bool:
    """Return whether *fact* reads like an order and is not from the user."""
    return fact.role not in USER_ROLES and is_doubtful(fact.text)


def _is_mention(fact: Fact) -> bool:
    return fact.role == SUMMARY_ROLE and is_enumeration(fact.text)


def tail_start(messages: Sequence[Any]) -> int:
    """Return the index of the first message that a consolidation keeps unchanged.

    The kept messages are extended backwards until they contain the call of each of their results
    (SPEC 6.12).
    """
    pairs = pair_results([parse_turn(message) for message in messages])
    index = len(pairs.starts)
    start = max(0, index - KEPT_MESSAGES)
    while index > start:
        index -= 1
        start = min(start, pairs.starts[index])
    return start


MENTION_PREFIX = "mentioned: "

_HALF_LIFE_MESSAGES = 40
LATEST_MESSAGES = 10 * _HALF_LIFE_MESSAGES  # an earlier message weighs less than a thousandth
_SEPARATOR = ", "
_CALL = "()"

_MARGIN = re.compile(r"^[^\S\n]*\d+(?:→|\t|:)", re.MULTILINE)  # the line numbers of a listing
_GROUPED = r"(?<![\w.])\d{1,3}(?:[,'\u2019\u00a0\u202f]\d{3})+(?!\w)"  # 38,000 is one number
_WORD = re.compile(_GROUPED + r"|[\w~@./+-]{3,}\(?")
_THING_CHARS_MAX = 120
_THING = re.compile(
    _GROUPED
    + r"""
    | (?!0+\Z)[0-9]{3,}                         # a number worth remembering
    | (?:~|\.{0,2})/[\w@.+-][\w@./+~-]*         # a path from a root, or a relative one
    | [\w@.+-]+(?:/[\w@.+-]+){2,}               # of two slashes
    | [\w@+-]+/(?=[\w@./+-]*\.)[\w@.+-]+        # of one, with an ending
    | [\w-]+(?:\.[\w-]+)*\.[A-Za-z][A-Za-z0-9]{0,4}   # a file, a host, a short attribute
    | [A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+           # dotted.name
    | [A-Za-z]\w*_\w+                           # snake_case, CONSTANT_CASE
    | [a-z][a-z0-9]*[A-Z]\w* | [A-Z][a-z0-9]+[A-Z]\w*   # camelCase, ValueError
    | [A-Za-z_][\w.]*\(                         # a call
    | (?=[a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{7,40}      # a hash
    """,
    re.VERBOSE,
)


def enumerate_things(texts: Sequence[str], known: str, room_chars: int) -> str:
    """Return the fact that enumerates the things of *texts*, or "" if there are none.

    *texts* are those of the messages in order, including an earlier summary. Things in *known* are
    left out. If they exceed *room_chars*, frequent, recent and short ones are kept. Only the
    LATEST_MESSAGES are read. Things are sorted, so that the same ones always give the same fact.
    """
    texts = texts[-LATEST_MESSAGES:]
    weights: dict[str, float] = {}
    for index, text in enumerate(texts):
        recency = 0.5 ** ((len(texts) - index) / _HALF_LIFE_MESSAGES)
        for thing, count in count_things(text).items():
            weights[thing] = weights.get(thing, 0.0) + count * recency
    for thing in count_things(known):
        weights.pop(thing, None)
        weights.pop(thing.removesuffix(_CALL), None)
    chars_left = room_chars - len(MENTION_PREFIX)
    selected = []
    for thing in sorted(weights, key=lambda thing: (-_rank_weight(weights[thing], thing), thing)):
        chars_left -= len(thing) + len(_SEPARATOR)
        if chars_left < 0:
            break
        selected.append(thing)
    return MENTION_PREFIX + _SEPARATOR.join(sorted(selected)) if selected else ""


def count_things(text: str) -> Counter[str]:
    """Return the concrete things of *text* and how often each occurs.

    >>> sorted(count_things("ValueError in src/app.py:4711, see parse(x) and so on."))
    ['4711', 'ValueError', 'parse()', 'src/app.py']
    """
    names: Counter[str] = Counter()
    for word, count in Counter(_WORD.findall(strip_line_numbers(text))).items():
        thing = _thing(word)
        if thing:
            names[thing] += count
    return names


def strip_line_numbers(text: str) -> str:
    """Return *text* without the line numbers in the margin of a listing."""
    return _MARGIN.sub("", text)


@lru_cache(maxsize=16_384)  # a session repeats its words
def _thing(word: str) -> str:
    """Return the thing that *word* names, or "" for most words."""
    if word.isalpha() and word[1:].islower():  # shortcut for plain words
        return ""
    name = word.strip("-+") if word.endswith("(") else word.strip("-+").rstrip(".")
    if len(name) > _THING_CHARS_MAX or not _THING.fullmatch(name):
        return ""
    return name + ")" if name.endswith("(") else name


def is_enumeration(fact: str) -> bool:
    """Return whether *fact* was made by :func:`enumerate_things`."""
    if not fact.startswith(MENTION_PREFIX):
        return False
    return all(map(_is_thing, fact.removeprefix(MENTION_PREFIX).split(_SEPARATOR)))


def _is_thing(thing: str) -> bool:
    """Return whether *thing* is exactly a thing as :func:`count_things` returns it."""
    word = thing.removesuffix(")") if thing.endswith(_CALL) else thing
    return bool(_WORD.fullmatch(word)) and _thing(word) == thing


def _rank_weight(weight: float, thing: str) -> float:
    """Return *weight* relative to the length; the root limits the effect of frequent names."""
    return float(weight**0.5) / (len(thing) + 6)
