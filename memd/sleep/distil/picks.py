"""Find the option that the user picks from a list of the agent: "2", "the second one". Pure.

A pick is a decision if options were asked for: by the user ("any ideas for a present?") or by the
agent ("which would you like?"). A pick from a list of findings or next steps is only an order.
Decision 0378.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import zip_longest
from typing import NamedTuple

from memd.sleep.distil.agent.findings import find_list
from memd.sleep.distil.agent_questions import ASKS_WHICH, last_question
from memd.sleep.distil.answers import AnsweredLines, cut, join_lines, short_question, strip_markdown
from memd.sleep.distil.exchanges import Exchange
from memd.sleep.distil.language.option_references import STEPS, find_marks, find_ordinal
from memd.sleep.distil.language.replies import asks_permission, chooses
from memd.text.alternations import Phrases
from memd.text.words import content_stems, sentences

_OPTIONS_MIN, _OPTIONS_MAX = 2, 9
_OPTION_CHARS = 240  # of all picked options together, in the memory
_QUESTION_CHARS, _QUESTION_WORDS_MIN = 160, 3
_NAME_SHARE = 0.6  # share of a name's words that its option must contain
_NAME_WORDS_MAX = 6
_ANSWERS_MIN, _ANSWER_WORDS = 3, 4  # without numbers: the least answers, the most words of each
_TITLE_END = re.compile(r":|\s[-\u2013\u2014(]")

# "2. Merge", "**B) Rebase**", "### Option A: merge".
_LABELLED = re.compile(
    r"(?:#{1,5}\s+|[-*+\u2022]\s+)?\*{0,2}(?P<word>(?:option|variante?|choice|approach|plan|idea)\s+)?"
    r"\(?(?P<label>[1-9]\d?|[a-f])[.):]\*{0,2}\s+(?=\S)",
    re.IGNORECASE,
)
_BULLET = re.compile(r"[-*+\u2022]\s+(?=\S)")
# Options in one line: "Options: 1) merge, 2) rebase", "either (a) merge or (b) rebase".
_INLINE = re.compile(r"(?:^|(?<=[\s(]))\(?(?P<label>[1-9]|[a-f])\)\s+(?=\S)", re.IGNORECASE)
_INLINE_END = re.compile(r"[.!?](?:\s|$)")
_JOINT = re.compile(r"[\s,;]*(?:\b(?:or|and|oder|und))?[\s,;]*$", re.IGNORECASE)
# The agent offers a choice, although nobody asked for one.
_OFFERS = Phrases(
    r"\b(?:options|alternatives|choices|ways to|approaches|optionen|möglichkeiten|varianten)\b"
    r"[^.:\n]{0,40}:|\b(?:either|entweder)\s+\(?(?:a|1)\)"
)
# "Any ideas?", "which host should I take", "suggest three names", or any question.
_ASKS_OPTIONS = Phrases(
    r"\?|\b(?:which|whats?|where|who|ideas?|suggest\w*|recommend\w*|options?|alternatives?|names?"
    r"|(?:give|find|show|list|name)(?: me| us)?(?: some| a few| \d| two| three| four| five)"
    r"|give me|find me|how (?:could|should|can|do|would)|should (?:i|we)|choose|decide"
    r"|welche\w*|ideen|vorschl\w+|empfiehl\w*|qué|cuál\w*|recomiend\w*|quel\w*|idées?|propose\w*"
    r"|quali?|consigli\w*|welke|idee(?:ën)?)\b"
)
# Work on an item, or a question about it: "fix 2", "tell me more about the first one".
_ORDERS = re.compile(
    r"\b(?:address|fix|tackle|handle|implement|start|begin|continue|run|commit|test|check|explain"
    r"|tell me|show|open|more about|elaborate|expand|walk|go through|look (?:at|into))\b",
    re.IGNORECASE,
)
# "2 looks good", "i like 2".
_GOOD = re.compile(
    r"\W*(?P<label>\d|[a-f])\)? (?:looks|sounds|is)"
    r" (?:good|great|fine|best|better|lovely|perfect)\b"
    r"|\W*(?:i (?:like|love|prefer|think)|i'?d say) #?(?P<liked>\d|[b-f])(?=\W*$|[.,;!])",
    re.IGNORECASE,
)
# "Gin day it is", "let's go with the nest box": one of the groups is the option's name.
_NAMED = Phrases(
    r"\W*(?:(?:o+h|ok(?:ay)?|yes|yeah|yep|hm+|then|well|ha|i think|ja|gut|dann)\W+)*"
    r"(?:(?:(?:let'?s |i'?ll |we'?ll |i'?d )?(?:go (?:with|for)|take|pick|choose|prefer)"
    r"|(?:wir|ich) nehmen?|nehmen wir|nimm|(?:dann )?lieber) (?:d(?:ie|as|e[nr]) )?"
    r"(?P<after>[^.!?,;\n]{3,60})"
    r"|(?:the |a )?(?P<before>[^.!?,;\n]{3,40}?) (?:it is|please|pls|sounds (?:good|great|perfect)"
    r"|looks (?:good|great|lovely)|is (?:fine|ok(?:ay)?|best|better)(?=\W*$)|then|i (?:guess|think)"
    r"|bitte|passt)\b"
    r"(?=\W*$|[.!,;]))"
)
# A question without its mark: "why option 2", "is the first one any good".
_ASKS = re.compile(
    r"\W*(?:(?:and|but|so|ok(?:ay)?|hm+|und)\W+)*(?:why|how|what(?! the)|where|when|which|is|are"
    r"|does|did|would|could|can|should|warum|wieso|wie|ist|sind|kann|wäre|was (?:kostet|ist))\b",
    re.IGNORECASE,
)
# An option that is refused beside one that is picked: "4 not 3", "skip option B", "2 instead of 1".
_REFUSED = re.compile(
    r"\b(?:not|never|nicht|skip|ignore|drop|except|instead of|rather than"
    r"|(?:don'?t|do not) (?:do|take|use|pick|go with))"
    r" (?:(?:option|variante?|number|nr\.?|the|die|das) )*#?(?:\d{1,2}|[a-f])\b\)?",
    re.IGNORECASE,
)
_ANSWER_LABEL = re.compile(r"(?:^|[\s,;(])(\d{1,2}|[a-f])[.):]\s*(?=\w)", re.IGNORECASE)
_ANSWER_ENDS = re.compile(r"\s*[,;\n]\s*")
_CLAUSE_ENDS = re.compile(r"[,;:!]\s+|\.\s+|\n|\s[-\u2013\u2014]\s|,?\s+(?=(?:but|aber)\s)")
# Speaks against an option: "too slow", "we did that and it was bad", "not the first one", "anything
# but 2"; but "it's not too slow" and "it doesn't need a server" speak for it.
_REJECTS = re.compile(
    r"(?<!not )(?<!n't )\btoo \w+"
    r"|(?<!not )(?<!n't )(?<!less )(?<!least )\b(?:bad|worse|worst|terrible|awful|horrible|disaster"
    r"|mess|nightmare|mistake|painful|overkill|boring|ugly|useless|risky|hate[ds]?|fail(?:s|ed)"
    r"|broke|nah|regret\w*|schlecht|schlimm|mist|doof|blöd|furchtbar|katastrophe)\b"
    r"|\b(?:is|was|sounds?|seems?|looks?) (?:\w+ )?(?<!less )(?<!not )(?:expensive|slow|heavy|hard"
    r"|complicated|complex|out)\b|\bover (?:(?:our|my|the) )?budget\b"
    r"|\b(?:is|are|was|were|'s)(?:n'?t| not)\b(?! (?:so|too|that|as|very|much|only|just)\b)"
    r"|\b(?:will|wo|does|did|do|ca|can|would|should)(?: ?not|n'?t) (?:really )?(?:work|fit|help"
    r"|scale|like|want|do|go|use|take|pick|choose|suit|make|trust|enjoy|afford|stand)\b"
    r"|\b(?:let'?s|rather|better|please) not\b|\bno (?:good|way|use|thanks|go)\b|\bforget\b"
    r"|^\W*(?:(?:ok(?:ay)?|but|and|aber)\W+)*(?:not?|nope|never|none|neither|anything but|all but"
    r"|rule out|without|nicht|kein\w*|nein|bloß nicht|auf keinen fall|alles außer|ohne)\b"
    r"|\b(?:already (?:tried|had|did)|been (?:there|here)|maybe later|another time"
    r"|(?:war ich|waren wir|hatten wir) schon)\b"
    r"|\b(?:ist|sind|war|wäre|klingt) (?:\w+ )?zu \w+|^\W*(?:aber |viel )?zu \w+"
    r"|\b(?:no|nicht)\W*$",
    re.IGNORECASE,
)
# Such a clause is about the option before it: "it was bad", "too slow".
_POINTS_BACK = re.compile(
    r".*\b(?:it|that|this|they|them|es|das)\b"
    r"|\W*(?:(?:but|and|just|way|far|much|a bit|aber|und|viel|leider)\W+)*"
    r"(?:too|nah|no(?=\W*$| way| thanks| good)|hate[ds]?|was|is|sounds|looks|terrible|awful"
    r"|horrible|boring|bad|been|over|already|won'?t|doesn'?t|maybe later|another time|zu|war"
    r"|ist)\b",
    re.IGNORECASE,
)
# Names an option by its order or mark.
_OTHER = re.compile(
    r"\b(?:(?:the|die|der|das) (?:others?|rest|first|second|third|fourth|last|erste|zweite|dritte"
    r"|vierte|letzte|andere)n?|[1-9]|(?:option|variante?) \w)\b",
    re.IGNORECASE,
)
# Words after a name that speak against it: "redis, too slow".
_DOUBTS = re.compile(
    r"\b(?:too|not|no|never|isn'?t|doesn'?t|don'?t|what|why|how|but|nicht|zu|aber)\b", re.IGNORECASE
)


class _Option(NamedTuple):
    """An item of a list; *label* is its number or letter, "" for a bullet."""

    label: str
    text: str


def find_pick(user: str, offer: Exchange) -> AnsweredLines | None:
    r"""Return the options that *user* picks from the last text of *offer*, None without a pick.

    If the user asked for options, the result begins with that question: "a window nest-box" alone
    does not say that it is a present.

    >>> from memd.sleep.distil.exchanges import AgentText
    >>> last = AgentText(1, "- A window nest-box\n- Binoculars\n- A gin day in Sheffield")
    >>> offer = Exchange(0, "hi. any ideas for mum's 70th?", texts=[last])
    >>> find_pick("ooh first one!", offer).text
    "any ideas for mum's 70th? A window nest-box"
    >>> find_pick("gin day it is", offer).text
    "any ideas for mum's 70th? A gin day in Sheffield"
    """
    last = offer.texts[-1]
    question, is_asked = _options_question(offer.user), _agent_asks(last.text)
    is_offered = not (question or is_asked)
    if _ORDERS.search(user) or _ASKS.match(user) or (is_offered and not _OFFERS.search(last.text)):
        return None
    options = _options(last.text)
    if not _OPTIONS_MIN <= len(options) <= _OPTIONS_MAX:
        return None
    user = _REFUSED.sub("", _without_rejected(user, options))
    picked = list(_match_options(user, options, is_asked=is_asked))
    text = cut("; ".join(picked), _OPTION_CHARS)
    is_step = is_offered and STEPS.search(text) is not None
    if is_step or len(picked) in {0, len(options)} or _are_no_options(picked, last.text):
        return None
    lead = question or (_problem(offer.user) if is_offered else "")
    if lead and not lead.endswith("?"):
        lead = f"{lead.rstrip('.:; ')}:"
    return AnsweredLines(text, last.place, is_marked=True).after(lead, offer.place)


def find_list_answers(user: str, offer: Exchange) -> AnsweredLines | None:
    """Return the questions listed in the last text of *offer* that *user* answers, else None.

    The answers have the numbers of the questions ("1. Postgres 2. eu-west 3. yes"), or are as many
    short parts.
    """
    last = offer.texts[-1]
    listed = {each.label: each.text for each in _options(last.text) if "?" in each.text}
    parts = _ANSWER_ENDS.split(user)
    labels = list(map(str.casefold, _ANSWER_LABEL.findall(user)))
    if not labels and len(parts) == len(listed) >= _ANSWERS_MIN:
        is_short = all(len(part.split()) <= _ANSWER_WORDS for part in parts)
        labels = list(listed) if is_short else []
    if len(labels) < _OPTIONS_MIN or not set(labels) <= set(listed):
        return None
    lines = [f"{label}. {listed[label]}" for label in labels if not asks_permission(listed[label])]
    text = join_lines(lines, len(lines))
    return AnsweredLines(text, last.place, is_marked=True) if lines else None


def _without_rejected(user: str, options: list[_Option]) -> str:
    """Return the clauses of *user* that speak against no option, "" if they reject what is picked.

    >>> options = [_Option("1", "Rolling"), _Option("2", "Blue-green")]
    >>> _without_rejected("rolling, blue-green was too slow", options)
    'rolling'
    >>> _without_rejected("rolling, we had that and it was bad", options)
    ''
    """
    clauses = _CLAUSE_ENDS.split(user)
    if not any(map(_REJECTS.search, clauses)):
        return user
    offered = content_stems(" ".join(option.text for option in options))
    kept: list[str] = []
    is_rejected = False
    for clause in clauses:
        if _REJECTS.search(clause):
            others = (content_stems(clause) & offered) - content_stems(" ".join(kept))
            names_other = others or _OTHER.search(clause)
            if not (is_rejected or names_other) and _POINTS_BACK.match(clause):
                kept.clear()
            is_rejected = True
        else:
            kept.append(clause)
            is_rejected = False
    return ", ".join(kept)


def _are_no_options(picked: list[str], text: str) -> bool:
    """Return whether the *picked* items are findings or next steps of *text*.

    A next step is often offered as a question: "Start with the tests?".
    """
    if any(option.endswith("?") for option in picked):
        return True
    listed = find_list(text)
    titles = () if listed is None else listed.titles
    return any(title in option for title in titles for option in picked)


def _options_question(text: str) -> str:
    """Return the part of the user's message *text* that asks for options, or "".

    >>> _options_question("lol. campsites near a beach, no discos. give me 3")
    'campsites near a beach, no discos. give me 3'
    """
    parts = sentences(text)
    asking = [index for index, part in enumerate(parts) if _ASKS_OPTIONS.search(part)]
    if not asking:
        return ""
    last = asking[-1]
    # "Give me 3" needs the sentence before it.
    is_short = last > 0 and len(content_stems(parts[last])) < _QUESTION_WORDS_MIN
    return cut(" ".join(parts[last - is_short : last + 1]), _QUESTION_CHARS)


def _problem(text: str) -> str:
    """Return what the user's message *text* says for which the agent offers options, or "".

    >>> _problem("hm, today: two people bought the last lamp. thanks")
    'hm, today: two people bought the last lamp.'
    """
    parts = (part for part in sentences(text) if len(part.split()) >= _QUESTION_WORDS_MIN)
    return short_question(" ".join(parts))


def _agent_asks(text: str) -> bool:
    """Return whether the agent's *text* ends with a question which option to take."""
    question = last_question(text)
    is_open = chooses(question) or ASKS_WHICH.search(question) is not None
    return bool(question) and is_open and not asks_permission(question)


def _options(text: str) -> list[_Option]:
    """Return the items of the last list of options in *text*.

    Items called "Option 2" are preferred to "2.", which may be reasons, and those to bullets.
    """
    called: list[_Option] = []
    numbered: list[_Option] = []
    bullets: list[_Option] = []
    is_over = False  # whether prose ended the list of bullets
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
    inline = [] if called or len(numbered) >= _OPTIONS_MIN else _inline_options(text)
    listed = (each for each in (called, numbered, inline) if len(each) >= _OPTIONS_MIN)
    options = next(listed, bullets)
    return [option._replace(text=strip_markdown(option.text)) for option in options]


def _inline_options(text: str) -> list[_Option]:
    """Return the options of the last line of *text* that has several.

    >>> _inline_options("Options: 1) merge, or 2) rebase. I like 2.")
    [_Option(label='1', text='merge'), _Option(label='2', text='rebase')]
    """
    for line in reversed(text.splitlines()):
        options: list[_Option] = []
        labels = list(_INLINE.finditer(line))
        for label, after in zip_longest(labels, labels[1:]):
            part = line[label.end() : after.start() if after else len(line)]
            name = _JOINT.sub("", _INLINE_END.split(part, 1)[0])
            options = _append(options, _Option(label["label"].casefold(), name))
        if len(options) >= _OPTIONS_MIN:
            return options
    return []


def _append(options: list[_Option], option: _Option) -> list[_Option]:
    """Return *options* with *option*, or it alone if its label does not continue them."""
    return [*(options if _follows(options, option.label) else []), option]


def _follows(options: list[_Option], label: str) -> bool:
    if not options:
        return False
    last = options[-1].label
    if last.isdigit() and label.isdigit():
        return int(label) == int(last) + 1
    return len(last) == len(label) == 1 and ord(label) == ord(last) + 1


def _match_options(user: str, options: list[_Option], *, is_asked: bool) -> Iterator[str]:
    """Yield the texts of the options that *user* picks: by order, by label, or by name."""
    place = find_ordinal(user)
    if place is not None:
        if place < len(options):
            yield options[place].text
        return
    by_label = {option.label: option.text for option in options if option.label}
    good = _GOOD.match(user)
    marks = [good["label"] or good["liked"]] if good else find_marks(user)
    marked = [mark.casefold() for mark in marks]
    if marked:
        yield from (by_label[mark] for mark in marked if mark in by_label)
        return
    yield from _match_name(user, options, is_asked=is_asked)


def _match_name(user: str, options: list[_Option], *, is_asked: bool) -> Iterator[str]:
    """Yield the text of the one option that *user* names, with or without a reason.

    If nobody asked which one, all words must be of the option's title: "osprey!".
    """
    named = _NAMED.match(user)
    name, comma, reason = user.partition(",")
    if named:
        name = named["after"] or named["before"]
    elif comma and _DOUBTS.search(reason):
        return
    stems = content_stems(name)
    if not stems or len(name.split()) > _NAME_WORDS_MAX:
        return
    texts = [option.text for option in options]
    if named or is_asked:
        share, titles = _NAME_SHARE, texts
    else:
        share, titles = 1.0, [_TITLE_END.split(text, 1)[0] for text in texts]
    fitting = [
        text
        for text, title in zip(texts, titles, strict=True)
        if len(stems & content_stems(title)) >= share * len(stems)
    ]
    yield from fitting if len(fitting) == 1 else ()
