"""Lists that a person writes: rules of how work is done, and what stands below a line with a colon.

A page of rules is worth more than one memory, and a rule in it more than its own words say:
"No borders" among forty others that say always and never is one, too. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memd.sleep.distil.language.prose import FENCES
from memd.text.alternations import Phrases

RULES_CHARS_MAX = 800
"""The rules in one memory; what is longer becomes a second one."""
MORE = "\u2026"
"""What stands for the rest of a list that is cut."""
_RULE_TEXTS_MAX = 5
_STRONG_MIN = 4  # rules that say so, in a message whose lists are told as rules
_RUN_MIN = 3
_RULE_CHARS_MAX = 300
_LED_MAX = 4
_HEADING_WORDS_MAX = 8
_BELOW_CHARS_MAX = 240
_BELOW_LINES_MAX = 12
_SHORT_CHARS = 60
_GAP = 2  # lines between a lead and what it leads to

# What stands in front of a line: a list's mark, a number, a pictogram, a heading's signs.
_MARK = re.compile(
    r"\s*(?:(?:[-*+\u2022>]|#{1,6}|\(?\d{1,3}[.)]|\[[ xX-]?\])\s+|[^\w\s`\"'({<\[/.@#$&-]+\s*)*"
)
_TITLE = re.compile(r"\s*(?:#{1,6}\s|[^\w\s`\"'({<\[/.@#$&*+>\u2022-]+\s*[A-Z]{2}\w* )")
_ITEM = re.compile(r"\s*(?:[-*+\u2022]|\(?\d{1,3}[.)])\s+\S")
_STRONG = Phrases(
    r"(?:always|never|must(?: not|n't)?|do not|don'?t|avoid|ensure|make sure|forbidden|every|each"
    r"|only|not|no(?! (?:one|idea|problems?|need|worries|thanks|changes?|errors?|luck)\b)"
    r"|immer|nie(?:mals)?|keine?n?|nicht|toujours|jamais|ne|n'|pas de|siempre|nunca|sempre|mai|non"
    r"|não|altijd|nooit|geen|niet|\u0432\u0441\u0435\u0433\u0434\u0430"
    r"|\u043d\u0438\u043a\u043e\u0433\u0434\u0430|\u043d\u0435)\b"
    r"|.{0,80}\b(?:must(?! have been)|never|always|(?:is|are) (?:forbidden|not allowed))\b"
    r"|\u4e0d\u8981|\u5fc5\u987b|\u59cb\u7ec8|\u7981\u6b62|\u603b\u662f|\u4e0d\u5f97"
)
_WEAK = Phrases(
    r"(?:use|keep|prefer|follow|handle|write|put|name|return|include|validate|test|document|treat"
    r"|store|limit|support|respect|add|define|separate|group|wrap|check|log|place|split|run)\b"
    r"|.{0,80}\bshould\b"
)
_OPEN = ("{", ";", ",", "(")
# What must stay as it is while this piece of work is done; it says nothing of the next one.
_LIMITS = Phrases(
    r"(?:(?:do not|don'?t|must not|never) (?:change|modify|rewrite|touch|edit|add|implement|remove"
    r"|introduce|alter|test|start|significantly)|only (?:modify|change|edit|touch))\b"
)
_ENDS = re.compile(r"[.!?\u3002]\s*$")


class _RuleRun(NamedTuple):
    """Rules that stand together, below a *heading*, "" without one."""

    heading: str
    rules: tuple[str, ...]

    @property
    def strict_count(self) -> int:
        """How many say always, never, must or no."""
        return sum(_STRONG.match(rule) is not None for rule in self.rules)

    @property
    def is_strict(self) -> bool:
        """Whether half of them do, and most are no limits of the work at hand."""
        limits = sum(_LIMITS.match(rule) is not None for rule in self.rules)
        return 2 * self.strict_count >= len(self.rules) >= 2 * limits


def rule_texts(text: str) -> tuple[str, ...]:
    r"""Return the rules that a person lists in *text*, by heading, in texts of RULES_CHARS_MAX.

    Nothing where fewer than four say always, never, must or no: those are read line by line.

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
    """Yield the rules of *runs* in few texts, those of a heading together where they fit.

    What does not fit into the last one is marked.
    """
    texts = [""]
    for run in runs:
        head = f"{run.heading.rstrip(' :')}:" if run.heading else ""
        lines = [f"- {rule}" for rule in run.rules]
        whole = "\n".join(filter(None, (head, *lines)))
        if len(texts[-1]) + len(whole) < RULES_CHARS_MAX:
            texts[-1] = f"{texts[-1]}\n{whole}".strip()
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
    """Return the lines of *text* outside of code, "" for each that is empty."""
    lines: list[str] = []
    fenced = False
    for raw in text.splitlines():
        is_fence = raw.strip().startswith(FENCES)
        fenced ^= is_fence
        lines.append("" if fenced or is_fence else raw.rstrip())
    return lines


def _runs(lines: Sequence[str]) -> Iterator[_RuleRun]:
    """Yield what stands together of the rules in *lines*, with what a rule leads to."""
    heading, above, rules = "", "", list[str]()
    led = 0  # items so far below the last rule, which ends with a colon
    for line in filter(None, lines):
        bare = _MARK.sub("", line.replace("**", ""), count=1).strip()
        is_title = _TITLE.match(line) is not None
        if not is_title and (_is_rule(bare) or (rules and _ITEM.match(line) and _is_short(bare))):
            heading = heading if rules else above
            rules.append(bare)
            led = 0
        elif rules and not is_title and _is_short(bare) and _leads(rules[-1], led):
            between = "; " if led and not rules[-1].endswith(_OPEN) else " "
            rules[-1] += between + bare
            led += 1
        else:
            yield _RuleRun(heading, _whole(rules))
            rules, led = [], 0
            above = bare if _is_heading(bare) else ""
    yield _RuleRun(heading, _whole(rules))


def _leads(rule: str, led: int) -> bool:
    return rule.endswith(":") if not led else led < _LED_MAX


def _whole(rules: Sequence[str]) -> tuple[str, ...]:
    """Return *rules* without those of which what they lead to is not told."""
    return tuple(rule for rule in rules if not rule.endswith(":"))


def _is_rule(bare: str) -> bool:
    is_any = _STRONG.match(bare) or _WEAK.match(bare)
    return is_any is not None and len(bare) <= _RULE_CHARS_MAX and not bare.endswith("?")


def _is_short(bare: str) -> bool:
    return len(bare) <= _SHORT_CHARS and not _ENDS.search(bare)


def _is_heading(bare: str) -> bool:
    return len(bare.split()) <= _HEADING_WORDS_MAX and not _ENDS.search(bare)


def rule_key(line: str) -> str:
    """Return a line of rules as it is known again, whatever stands in front of it.

    >>> rule_key("- **Never** fetch"), rule_key("\u274c never fetch:")
    ('never fetch', 'never fetch')
    """
    return _MARK.sub("", line.replace("**", ""), count=1).strip(" :").casefold()


def with_items(words: str, text: str) -> str:
    r"""Return *words* of the message *text* with what each of their lines leads to, on that line.

    >>> with_items("Use only these:\nNever others.", "Use only these:\n\n- axios\n\nNever others.")
    'Use only these: axios\nNever others.'
    """
    lines = words.split("\n")
    if not any(line.endswith(":") for line in lines):
        return words
    below = listed_below(text)
    result: list[str] = []
    for at, line in enumerate(lines):
        items = below.get(line, "")
        follows = rule_key(lines[at + 1]) if at + 1 < len(lines) else ""
        is_told = bool(follows) and follows in items.casefold()
        result.append(f"{line} {items}" if items and not is_told else line)
    return "\n".join(result)


def listed_below(text: str) -> dict[str, str]:
    r"""Return of each line of *text* that ends in a colon what it leads to, as one line.

    What is longer than a line or two is cut behind one of its items, and marked.

    >>> listed_below("Use only these:\n\n- axios\n- zustand\n\nThanks.")
    {'Use only these:': 'axios; zustand'}
    >>> listed_below("A hook returns:\n```ts\n{ data, error }\n```")
    {'A hook returns:': '{ data, error }'}
    """
    lines = text.splitlines()
    below = (
        (at, _below(lines, at)) for at, line in enumerate(lines) if line.rstrip().endswith(":")
    )
    return {lines[at].strip(): items for at, items in below if items}


def _below(lines: Sequence[str], at: int) -> str:
    begin = next((n for n in range(at + 1, len(lines)) if lines[n].strip()), len(lines))
    if begin - at > _GAP or begin == len(lines):
        return ""
    first = lines[begin].strip()
    if first.startswith(FENCES):
        code = [line.strip() for line in _until(lines, begin + 1, first[:3])]
        whole = " ".join(code)
        return whole if len(whole) <= _BELOW_CHARS_MAX else ""
    if _ITEM.match(lines[begin]):
        items = [_MARK.sub("", line, count=1).strip() for line in _items(lines, begin)]
    else:
        items = [line.strip() for line in _until(lines, begin, "")]
        if not all(map(_is_short, items)):
            return ""
    return _cut_items([item.rstrip(" ;,") for item in items])


def _until(lines: Sequence[str], begin: int, end: str) -> Iterator[str]:
    """Yield the lines from *begin* up to the one that begins with *end*, an empty one for ""."""
    for line in lines[begin : begin + _BELOW_LINES_MAX]:
        if line.strip().startswith(end) if end else not line.strip():
            return
        yield line


def _items(lines: Sequence[str], begin: int) -> Iterator[str]:
    for line in lines[begin : begin + 2 * _BELOW_LINES_MAX]:
        if _ITEM.match(line):
            yield line
        elif line.strip():
            return


def _cut_items(items: Sequence[str]) -> str:
    text = ""
    for item in items:
        longer = f"{text}; {item}" if text else item
        if len(longer) > _BELOW_CHARS_MAX:
            return f"{text}; {MORE}" if text else ""
        text = longer
    return text
