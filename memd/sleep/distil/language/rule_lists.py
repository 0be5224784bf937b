"""Parse lists in a user's message: lists of rules, and lists below a line with a colon. Pure.

A rule in a list may be short: "No borders" alone is no rule, but among others that say "always" and
"never" it is. So rules are recognised by the list as a whole, and stored together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memd.sleep.distil.language.prose import FENCES
from memd.text.alternations import Phrases

RULES_CHARS_MAX = 800
"""Length of the rules in one memory; a longer list is split."""
MORE = "\u2026"
"""Marks that a list was cut."""
_RULE_TEXTS_MAX = 5  # memories of one message
_STRONG_MIN = 4  # rules with "always", "never" and the like that make lists of a message rules
_RUN_MIN = 3  # rules that stand together
_RULE_CHARS_MAX = 300
_SUB_ITEMS_MAX = 4  # lines below a rule that ends with a colon
_HEADING_WORDS_MAX = 8
_BELOW_CHARS_MAX = 240
_BELOW_LINES_MAX = 12
_SHORT_CHARS = 60
_GAP = 2  # lines between a lead and its list

# The marks in front of a line: "- ", "3. ", "[x] ", "## ", a pictogram.
_MARK = re.compile(
    r"\s*(?:(?:[-*+\u2022>]|#{1,6}|\(?\d{1,3}[.)]|\[[ xX-]?\])\s+|[^\w\s`\"'({<\[/.@#$&-]+\s*)*"
)
# A heading: "## Screens", or a pictogram and a word in capitals.
_TITLE = re.compile(r"\s*(?:#{1,6}\s|[^\w\s`\"'({<\[/.@#$&*+>\u2022-]+\s*[A-Z]{2}\w* )")
_ITEM = re.compile(r"\s*(?:[-*+\u2022]|\(?\d{1,3}[.)])\s+\S")
# A strict rule: "never fetch", "no borders", "... must be pure".
_STRONG = Phrases(
    r"(?:always|never|must(?: not|n't)?|do not|don'?t|avoid|ensure|make sure|forbidden|every|each"
    r"|only|not|no(?! (?:one|idea|problems?|need|worries|thanks|changes?|errors?|luck)\b)"
    r"|immer|nie(?:mals)?|keine?n?|nicht|toujours|jamais|ne|n'|pas de|siempre|nunca|sempre|mai|non"
    r"|não|altijd|nooit|geen|niet|\u0432\u0441\u0435\u0433\u0434\u0430"
    r"|\u043d\u0438\u043a\u043e\u0433\u0434\u0430|\u043d\u0435)\b"
    r"|.{0,80}\b(?:must(?! have been)|never|always|(?:is|are) (?:forbidden|not allowed))\b"
    r"|\u4e0d\u8981|\u5fc5\u987b|\u59cb\u7ec8|\u7981\u6b62|\u603b\u662f|\u4e0d\u5f97"
)
# A rule without a strict word: "use hooks", "... should be small".
_WEAK = Phrases(
    r"(?:use|keep|prefer|follow|handle|write|put|name|return|include|validate|test|document|treat"
    r"|store|limit|support|respect|add|define|separate|group|wrap|check|log|place|split|run)\b"
    r"|.{0,80}\bshould\b"
)
_OPEN = ("{", ";", ",", "(")
_JOINS = re.compile(r"\s*[{;,(:]\s*")
# A limit of the current task only: "do not modify the schema".
_LIMITS = Phrases(
    r"(?:(?:do not|don'?t|must not|never) (?:change|modify|rewrite|touch|edit|add|implement|remove"
    r"|introduce|alter|test|start|significantly)|only (?:modify|change|edit|touch))\b"
)
_ENDS = re.compile(r"[.!?\u3002]\s*$")


class _RuleRun(NamedTuple):
    """Consecutive rules below a *heading*, "" without one."""

    heading: str
    rules: tuple[str, ...]

    @property
    def strict_count(self) -> int:
        """How many rules have a strict word: always, never, must, no."""
        return sum(_STRONG.match(rule) is not None for rule in self.rules)

    @property
    def is_strict(self) -> bool:
        """Whether at least half are strict, and at most half are limits of the current task."""
        limits = sum(_LIMITS.match(rule) is not None for rule in self.rules)
        return 2 * self.strict_count >= len(self.rules) >= 2 * limits


def rule_texts(text: str) -> tuple[str, ...]:
    r"""Return the listed rules in *text*, by heading, packed into texts of RULES_CHARS_MAX.

    Return nothing if fewer than four rules are strict; callers then judge the lines one by one.

    >>> rule_texts("# Screens\n- never fetch\n- always use hooks\n- no borders\n- must be pure")
    ('Screens:\n- never fetch\n- always use hooks\n- no borders\n- must be pure',)
    >>> rule_texts("- never fetch\n- use hooks\n- move the list up")
    ()
    """
    runs = [run for run in _runs(_lines(text)) if len(run.rules) >= _RUN_MIN and run.is_strict]
    if sum(run.strict_count for run in runs) < _STRONG_MIN:
        return ()
    return tuple(_pack(runs))


def _pack(runs: Sequence[_RuleRun]) -> Iterator[str]:
    """Yield the rules of *runs* in at most _RULE_TEXTS_MAX texts.

    The rules of a heading stay together if they fit. MORE at the end marks that rules are left out.
    """
    texts = [""]
    for run in runs:
        head = f"{run.heading.rstrip(' :')}:" if run.heading else ""
        lines = [f"- {rule}" for rule in run.rules]
        block = "\n".join(filter(None, (head, *lines)))
        if len(texts[-1]) + len(block) < RULES_CHARS_MAX:
            texts[-1] = f"{texts[-1]}\n{block}".strip()
            continue
        texts.append(head)
        for line in lines:
            if len(texts[-1]) + len(line) >= RULES_CHARS_MAX:
                texts.append(head)
            texts[-1] = f"{texts[-1]}\n{line}".strip()
    filled = [text for text in texts if text]
    yield from filled[: _RULE_TEXTS_MAX - 1]
    for last in filled[_RULE_TEXTS_MAX - 1 : _RULE_TEXTS_MAX]:
        yield f"{last}\n{MORE}" if len(filled) > _RULE_TEXTS_MAX else last


def _lines(text: str) -> list[str]:
    """Return the lines of *text* without trailing blanks; lines of code become ""."""
    lines: list[str] = []
    fenced = False
    for raw in text.splitlines():
        is_fence = raw.strip().startswith(FENCES)
        fenced ^= is_fence
        lines.append("" if fenced or is_fence else raw.rstrip())
    return lines


def _runs(lines: Sequence[str]) -> Iterator[_RuleRun]:
    """Yield the runs of consecutive rules in *lines*; short lines below "rule:" join that rule."""
    heading, above, rules = "", "", list[str]()
    sub_count = 0  # lines so far below the last rule, which ends with a colon
    for line in filter(None, lines):
        bare = _MARK.sub("", line.replace("**", ""), count=1).strip()
        is_title = _TITLE.match(line) is not None
        if not is_title and (_is_rule(bare) or (rules and _ITEM.match(line) and _is_short(bare))):
            heading = heading if rules else above
            rules.append(bare)
            sub_count = 0
        elif rules and not is_title and _is_short(bare) and _takes_line(rules[-1], sub_count):
            between = "; " if sub_count and not rules[-1].endswith(_OPEN) else " "
            rules[-1] += between + bare
            sub_count += 1
        else:
            yield _RuleRun(heading, _complete(rules))
            rules, sub_count = [], 0
            above = bare if _is_heading(bare) else ""
    yield _RuleRun(heading, _complete(rules))


def _takes_line(rule: str, sub_count: int) -> bool:
    """Return whether a short line belongs to *rule*, which has *sub_count* of them."""
    return rule.endswith(":") if not sub_count else sub_count < _SUB_ITEMS_MAX


def _complete(rules: Sequence[str]) -> tuple[str, ...]:
    """Return *rules* without those that end with a colon, whose list is missing."""
    return tuple(rule for rule in rules if not rule.endswith(":"))


def _is_rule(bare: str) -> bool:
    match = _STRONG.match(bare) or _WEAK.match(bare)
    return match is not None and len(bare) <= _RULE_CHARS_MAX and not bare.endswith("?")


def _is_short(bare: str) -> bool:
    return len(bare) <= _SHORT_CHARS and not _ENDS.search(bare)


def _is_heading(bare: str) -> bool:
    return len(bare.split()) <= _HEADING_WORDS_MAX and not _ENDS.search(bare)


def rule_key(line: str) -> str:
    """Return *line* in lower case without marks, as a key to compare rules.

    >>> rule_key("- **Never** fetch"), rule_key("\u274c never fetch:")
    ('never fetch', 'never fetch')
    """
    return _MARK.sub("", line.replace("**", ""), count=1).strip(" :").casefold()


def without_listed(paragraphs: Sequence[str], rules: Sequence[str]) -> tuple[str, ...]:
    r"""Return *paragraphs* without the lines that are rules, or that were joined to one.

    >>> without_listed(("Never read it\nit", "axios"), ("- never read it\n- only use: axios; zod",))
    ('it',)
    """
    keys = [rule_key(line) for text in rules for line in text.split("\n")]
    parts = [key.partition(": ") for key in keys]
    whole = {*keys, *(lead.rstrip() for lead, _, _ in parts)}
    joined = "\n".join(f"; {_as_items(items)};" for _, _, items in parts)
    remaining = (
        "\n".join(
            line
            for line in paragraph.split("\n")
            if (items := _as_items(key := rule_key(line)))
            and key not in whole
            and f"; {items};" not in joined
        )
        for paragraph in paragraphs
    )
    return tuple(filter(None, remaining))


def _as_items(key: str) -> str:
    """Return *key* with "; " for all that may join a line to its rule."""
    return "; ".join(filter(None, _JOINS.split(key)))


def with_items(words: str, text: str) -> str:
    r"""Return *words*, a part of the message *text*, with each list joined to its lead.

    >>> with_items("Use only these:\nNever others.", "Use only these:\n\n- axios\n\nNever others.")
    'Use only these: axios\nNever others.'
    """
    lines = words.split("\n")
    if not any(line.endswith(":") for line in lines):
        return words
    below = listed_below(text)
    result: list[str] = []
    for index, line in enumerate(lines):
        items = below.get(line, "")
        following = rule_key(lines[index + 1]) if index + 1 < len(lines) else ""
        has_items = bool(following) and following in items.casefold()  # words already list them
        result.append(f"{line} {items}" if items and not has_items else line)
    return "\n".join(result)


def listed_below(text: str) -> dict[str, str]:
    r"""Map each line of *text* that ends with a colon to the list or code below it, in one line.

    A list over _BELOW_CHARS_MAX is cut after an item and ends with MORE; longer code is left out.

    >>> listed_below("Use only these:\n\n- axios\n- zustand\n\nThanks.")
    {'Use only these:': 'axios; zustand'}
    >>> listed_below("A hook returns:\n```ts\n{ data, error }\n```")
    {'A hook returns:': '{ data, error }'}
    """
    lines = text.splitlines()
    below = (
        (line.strip(), _below(lines, index))
        for index, line in enumerate(lines)
        if line.rstrip().endswith(":")
    )
    return {lead: items for lead, items in below if items}


def _below(lines: Sequence[str], index: int) -> str:
    """Return what the lead at *index* introduces, in one line, "" if nothing suitable."""
    begin = next((n for n in range(index + 1, len(lines)) if lines[n].strip()), len(lines))
    if begin - index > _GAP or begin == len(lines):
        return ""
    first = lines[begin].strip()
    if first.startswith(FENCES):
        code = [line.strip() for line in _until(lines, begin + 1, first[:3])]
        text = " ".join(code)
        return text if len(text) <= _BELOW_CHARS_MAX else ""
    if _ITEM.match(lines[begin]):
        items = [_MARK.sub("", line, count=1).strip() for line in _items(lines, begin)]
    else:
        items = [line.strip() for line in _until(lines, begin, "")]
        if not all(map(_is_short, items)):
            return ""
    return _cut_items([item.rstrip(" ;,") for item in items])


def _until(lines: Sequence[str], begin: int, end: str) -> Iterator[str]:
    """Yield lines from *begin* to before one that starts with *end*, or to before a blank one.

    At most _BELOW_LINES_MAX are yielded.
    """
    for line in lines[begin : begin + _BELOW_LINES_MAX]:
        if line.strip().startswith(end) if end else not line.strip():
            return
        yield line


def _items(lines: Sequence[str], begin: int) -> Iterator[str]:
    """Yield the list items from *begin*, over blank lines, up to another text."""
    for line in lines[begin : begin + 2 * _BELOW_LINES_MAX]:
        if _ITEM.match(line):
            yield line
        elif line.strip():
            return


def _cut_items(items: Sequence[str]) -> str:
    """Return *items* in one line; what exceeds _BELOW_CHARS_MAX is replaced by MORE."""
    text = ""
    for item in items:
        longer = f"{text}; {item}" if text else item
        if len(longer) > _BELOW_CHARS_MAX:
            return f"{text}; {MORE}" if text else ""
        text = longer
    return text
