"""The option that a user picks of those the agent listed: "2", "the second one", "gin day it is".

Such a pick is a decision where options were asked for: by the user ("any ideas for a present?")
or by the agent ("which would you like?"). Of findings and steps it says what to do next. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from memd.sleep.distil.agent.findings import find_list
from memd.sleep.distil.answers import AnsweredLines, cut, strip_markdown
from memd.sleep.distil.asked import ASKS_WHICH, last_question
from memd.sleep.distil.exchanges import AgentText
from memd.sleep.distil.language.marks import find_marks, find_ordinal
from memd.sleep.distil.language.moment import reports, spoken_form
from memd.sleep.distil.language.replies import asks_leave, chooses
from memd.text.alternations import Phrases
from memd.text.words import content_stems, sentences

PICK_CHARS = 160
_OPTIONS_MIN, _OPTIONS_MAX = 2, 9
_OPTION_CHARS = 240
_QUESTION_CHARS, _QUESTION_WORDS_MIN = 160, 3
_NAME_SHARE = 0.6  # of the words of a name that the option must have
_NAME_WORDS_MAX = 6

# "2. Merge", "**B) Rebase**", "### Option A: merge", and a bullet.
_LABELLED = re.compile(
    r"(?:#{1,5}\s+|[-*+\u2022]\s+)?\*{0,2}(?P<word>(?:option|variante?|choice|approach|plan|idea)\s+)?"
    r"\(?(?P<label>[1-9]\d?|[a-f])[.):]\*{0,2}\s+(?=\S)",
    re.IGNORECASE,
)
_BULLET = re.compile(r"[-*+\u2022]\s+(?=\S)")
_ASKS_OPTIONS = Phrases(
    r"\?|\b(?:which|whats?|where|who|ideas?|suggest\w*|recommend\w*|options?|alternatives?|names?"
    r"|give me|find me|how (?:could|should|can|do|would)|should (?:i|we)|choose|decide"
    r"|welche\w*|ideen|vorschl\w+|empfiehl\w*|qué|cuál\w*|recomiend\w*|quel\w*|idées?|propose\w*"
    r"|quali?|consigli\w*|welke|idee(?:ën)?)\b"
)
_ORDERS = re.compile(
    r"\b(?:address|fix|tackle|handle|implement|start|begin|continue|run|commit|test|check|explain"
    r"|tell me|show|open|more about|elaborate|expand|walk|go through|look (?:at|into))\b",
    re.IGNORECASE,
)
_GOOD = re.compile(
    r"\W*(?P<label>\d|[a-f])\)? (?:looks|sounds|is)"
    r" (?:good|great|fine|best|better|lovely|perfect)\b",
    re.IGNORECASE,
)
# "gin day it is", "let's go with the nest box": the option's name is one of the two groups.
_NAMED = Phrases(
    r"\W*(?:(?:o+h|ok(?:ay)?|yes|yeah|yep|hm+|then|well|ha|i think|ja|gut|dann)\W+)*"
    r"(?:(?:(?:let'?s |i'?ll |we'?ll |i'?d )?(?:go (?:with|for)|take|pick|choose|prefer)"
    r"|(?:wir|ich) nehmen?|nehmen wir|nimm|(?:dann )?lieber) (?:d(?:ie|as|e[nr]) )?"
    r"(?P<after>[^.!?,;\n]{3,60})"
    r"|(?:the |a )?(?P<before>[^.!?,;\n]{3,40}?) (?:it is|please|pls|sounds (?:good|great|perfect)"
    r"|looks (?:good|great|lovely)|is (?:fine|ok(?:ay)?|best|better)(?=\W*$)|then|bitte|passt)\b"
    r"(?=\W*$|[.!,;]))"
)
# What is not picked: "not 3", "skip option B", "nicht die 2".
_REFUSED = re.compile(
    r"\b(?:not|never|nicht|skip|ignore|drop|except|(?:don'?t|do not) (?:do|take|use|pick|go with))"
    r" (?:(?:option|variante?|number|nr\.?|the|die|das) )*#?(?:\d{1,2}|[a-f])\b\)?",
    re.IGNORECASE,
)
# Words after a name that speak against it: "redis, too slow".
_DOUBTS = re.compile(
    r"\b(?:too|not|no|never|isn'?t|doesn'?t|don'?t|what|why|how|but|nicht|zu|aber)\b", re.IGNORECASE
)


class _Option(NamedTuple):
    label: str
    text: str


def find_pick(user: str, previous: tuple[int, str], last: AgentText) -> AnsweredLines | None:
    r"""Return the options that *user* picks of those in the *last* text of the agent, or None.

    *previous* are the place and the text of the user's message before. The text begins with what
    was asked there, because "a window nest-box" tells nobody that it is mum's present.

    >>> last = AgentText(1, "- A window nest-box\n- Binoculars\n- A gin day in Sheffield")
    >>> find_pick("ooh first one!", (0, "hi. any ideas for mum's 70th?"), last).text
    "any ideas for mum's 70th? A window nest-box"
    >>> find_pick("gin day it is", (0, "any ideas for mum's 70th?"), last).text
    "any ideas for mum's 70th? A gin day in Sheffield"
    """
    if len(user) > PICK_CHARS or "?" in user or _ORDERS.search(user):
        return None
    question, is_asked = _options_question(previous[1]), _agent_asks(last.text)
    if not (question or is_asked) or reports(spoken_form(user)):
        return None
    options = _options(last.text)
    if not _OPTIONS_MIN <= len(options) <= _OPTIONS_MAX:
        return None
    picked = list(_match_options(_REFUSED.sub("", user), options, is_asked=is_asked))
    if not picked or len(picked) == len(options) or _are_no_options(picked, last.text):
        return None
    text = cut("; ".join(picked), _OPTION_CHARS)
    if not question:
        return AnsweredLines(text, last.place, is_marked=True)
    lead = question if question.endswith("?") else f"{question.rstrip('.:; ')}:"
    return AnsweredLines(f"{lead} {text}", last.place, is_marked=True, asked_at=previous[0])


def _are_no_options(picked: list[str], text: str) -> bool:
    """Return whether what is *picked* is a finding or a next step, not an option.

    Next steps are offered as questions: "Start with the tests?".
    """
    if any(option.endswith("?") for option in picked):
        return True
    listed = find_list(text)
    return listed is not None and any(title in one for title in listed.titles for one in picked)


def _options_question(text: str) -> str:
    """Return what of the user's message asks for options, "" where nothing does.

    >>> _options_question("lol. campsites near a beach, no discos. give me 3")
    'campsites near a beach, no discos. give me 3'
    """
    parts = sentences(text)
    at = max((at for at, one in enumerate(parts) if _ASKS_OPTIONS.search(one)), default=-1)
    if at < 0:
        return ""
    is_short = at and len(content_stems(parts[at])) < _QUESTION_WORDS_MIN
    return cut(" ".join(parts[at - 1 if is_short else at : at + 1]), _QUESTION_CHARS)


def _agent_asks(text: str) -> bool:
    """Return whether the agent's *text* ends by asking which of its options it should be."""
    question = last_question(text)
    is_open = chooses(question) or ASKS_WHICH.search(question) is not None
    return bool(question) and is_open and not asks_leave(question)


def _options(text: str) -> list[_Option]:
    """Return the options of the last list in *text*.

    "Option 2" counts before "2.", which may tell what speaks for it, and that before a bullet.
    """
    called: list[_Option] = []
    numbered: list[_Option] = []
    bullets: list[_Option] = []
    is_over = False
    for line in text.splitlines():
        match = _LABELLED.match(line)
        bullet = None if match else _BULLET.match(line)
        if match:
            option = _Option(match["label"].casefold(), line[match.end() :])
            if match["word"]:
                called = _append(called, option)
            else:
                numbered = _append(numbered, option)
        elif bullet:
            bullets = [*([] if is_over else bullets), _Option("", line[bullet.end() :])]
        is_over = not bullet and bool(line.strip()) and not line[0].isspace()
    listed = (each for each in (called, numbered) if len(each) >= _OPTIONS_MIN)
    options = next(listed, bullets)
    return [option._replace(text=strip_markdown(option.text)) for option in options]


def _append(options: list[_Option], option: _Option) -> list[_Option]:
    """Return *options* with one more, or that one alone where it does not follow the last."""
    return [*(options if _follows(options, option.label) else []), option]


def _follows(options: list[_Option], label: str) -> bool:
    if not options:
        return False
    last = options[-1].label
    if last.isdigit() and label.isdigit():
        return int(label) == int(last) + 1
    return len(last) == len(label) == 1 and ord(label) == ord(last) + 1


def _match_options(user: str, options: list[_Option], *, is_asked: bool) -> Iterator[str]:
    """Yield the texts of the options that *user* names: by order, label, or their words.

    A few words alone are a name where the agent asked which one.
    """
    place = find_ordinal(user)
    if place is not None:
        if place < len(options):
            yield options[place].text
        return
    by_label = {option.label: option.text for option in options if option.label}
    good = _GOOD.match(user)
    marked = [mark.casefold() for mark in ([good["label"]] if good else find_marks(user))]
    if marked:
        yield from (by_label[mark] for mark in marked if mark in by_label)
        return
    name = _find_name(user, is_asked=is_asked)
    stems = content_stems(name)
    if stems and len(name.split()) <= _NAME_WORDS_MAX:
        fitting = [
            option.text
            for option in options
            if len(stems & content_stems(option.text)) >= _NAME_SHARE * len(stems)
        ]
        yield from fitting if len(fitting) == 1 else ()


def _find_name(user: str, *, is_asked: bool) -> str:
    """Return the words of *user* that may name an option, "" if none do.

    Where the agent asked which one, this is the whole message, or what is in front of a reason.

    >>> _find_name("mock the clock, I hate retries", is_asked=True)
    'mock the clock'
    """
    named = _NAMED.match(user)
    if named:
        return named["after"] or named["before"]
    if not is_asked:
        return ""
    name, comma, reason = user.partition(",")
    return user if comma and _DOUBTS.search(reason) else name
