"""What of the user's words in one message is worth keeping, line by line. Pure.

What a command expands to holds rules of the person who wrote it, too. The orders of it are
for the day; "we never ..." and the list of what is to be paid attention to hold whenever
the command is typed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, groupby, islice, takewhile
from operator import itemgetter
from typing import NamedTuple

from memd.domain.enums import Origin
from memd.extract.passing_words import FINITE
from memd.sleep.distil.answers import cut
from memd.sleep.distil.exchanges import PLAN_SLOT, NapCandidate, NapKind, NapMemory
from memd.sleep.distil.language.standing import only_tells_of_oneself, writes_rules
from memd.sleep.distil.language.words import Words
from memd.sleep.distil.speech import PLAIN_KEPT, WISH_KEPT, SentenceWorth, weigh
from memd.sleep.distil.user.acts import (
    ASKED,
    STANDING,
    WORTH,
    Act,
    Judgement,
    judge,
    judge_sentence,
    states,
)
from memd.sleep.distil.user.keeping import find_asked
from memd.text.alternations import Phrases
from memd.text.words import sentences

PASSAGE_CHARS = 800
"""The user's own words in one memory; what is longer becomes a second one."""
JudgePart = Callable[[str], Judgement]
MENTIONED_PLAIN = -3.5
"""The log-odds of plainly stating what lasts below which a statement said beside ("fyi") is of the
moment: "the bus leaves at 7:10" has -1, "the build is green" -5."""
_ASKED_FOR = frozenset({Act.REQUEST, Act.QUESTION, Act.APPROVAL, Act.TASK})
_RULE = Judgement(Act.PREFERENCE, STANDING)
_ITEM = re.compile(r"(?:[-*+\u2022]|\d{1,2}[.)])\s+")

RULES_CHARS_MAX = 600
_TEMPLATE_SCORE, _PLANNED = 0.7, 0.65
_POINTS_MIN = 3
_TELLING_WORDS = 3  # fewer without a verb tell nothing; "squash merges only" does
_WHOLE_CHARS = 200  # of a line that is kept as it is, unless it tells a fact
# What says little without the sentence before it, and what gives its reason.
_LEANS = Phrases(
    r"\W*(?:(?:and|but|so|also|then|instead|or|not|no|yes)\W+)*"
    r"(?:it|that|this|these|those|they|them|he|she|there|here|both|each|same|such|one)\b"
)
# "no, nuno picks us up", and not "no tests in the pipeline".
_DENIES = re.compile(
    r"\W*(?:no|nope|nein|non|não|nee)(?:\s*[,.!;:\u2026-]|\s+(?:wait|it|that|this|i|we)(?:'?s)?\b)",
    re.IGNORECASE,
)
_EXPLAINS = Phrases(
    r"\W*(?:because|since|otherwise|so that|that'?s why|this (?:is|way)|for example|for instance"
    r"|e\.g\.|i\.e\.|the reason|which (?:is|means)|it(?:'s| is)|they(?:'re| are))\b"
)
_LEFT_OUT = frozenset({Act.QUESTION, Act.REQUEST, Act.TASK, Act.ACKNOWLEDGEMENT})
_OURS = re.compile(r"\b(?:we|our|us|my|i)\b", re.IGNORECASE)
_NOW = re.compile(r"^\W*[-*]\s|\b(?:need|let'?s|going to|want|will|once)\b", re.IGNORECASE)
_HEED = Phrases(
    r"\b(?:attention|guidelines?|principles|conventions|standards|rules|verify|make sure|ensure"
    r"|look for|watch (?:out )?for)\b[^.]*:$"
)


class UserPassage(NamedTuple):
    """Some of the user's words in one message that belong together."""

    text: str
    judged: Judgement


def find_passages(
    own: Words, worths: Mapping[str, SentenceWorth], *, stopped: bool, is_told: bool
) -> list[UserPassage]:
    """Return what of *own* is worth keeping, in texts of at most PASSAGE_CHARS characters.

    *worths* are what a model told of its sentences. *stopped* says that the agent had just been
    interrupted, *is_told* that what came of the message is a memory by itself: then no line is
    kept that only asks for a piece of work.
    """
    passages: list[UserPassage] = []
    above = ""
    for paragraph in () if own.is_brief else own.paragraphs:
        judge_part = partial(_judge_part, worths=worths, stopped=stopped, asked=own.asked)
        lines = _judge_lines(paragraph, above, judge_part)
        above = lines[-1][0]
        for piece in _pieces(lines, judge_part, is_told=is_told):
            last = passages[-1] if passages else None
            if last and len(last.text) + len(piece.text) < PASSAGE_CHARS:
                best = max(last.judged, piece.judged, key=lambda judged: judged.score)
                passages[-1] = UserPassage(f"{last.text}\n{piece.text}", best)
            else:
                passages.append(piece)
    return passages


def without_asking(own: Words) -> Words:
    """Return *own* without the words that ask to remember what it says, and what that is.

    An order or a question is none of it, though somebody says "don't forget" with it.
    """

    def is_told(text: str) -> bool:
        return judge_sentence(text).act not in _ASKED_FOR

    lines = [(paragraph, line) for paragraph in own.paragraphs for line in paragraph.split("\n")]
    parts = [sentences(line) for _, line in lines]
    asked = iter(find_asked(list(chain.from_iterable(parts)), is_told))
    by_line = [list(islice(asked, len(each))) for each in parts]
    kept = {each.text: each.is_firm for each in chain.from_iterable(by_line) if each.is_kept}
    if not kept:
        return own
    texts = iter(" ".join(each.text for each in line if each.text) for line in by_line)
    paragraphs = (
        "\n".join(filter(None, islice(texts, paragraph.count("\n") + 1)))
        for paragraph in own.paragraphs
    )
    return own._replace(paragraphs=tuple(filter(None, paragraphs)), asked=kept)


def _judge_asked(text: str, worths: Mapping[str, SentenceWorth], *, is_firm: bool) -> Judgement:
    """Return what a sentence does that somebody asks to remember: a fact, unless anything says so.

    A wish it is too where the model takes it rather for one. What is only mentioned (not *is_firm*)
    is none where the model takes it for one of the moment.
    """
    judged = judge_sentence(text)
    if judged.score >= WORTH:
        return judged._replace(score=ASKED)
    known = worths.get(text)
    weighed = weigh(text, judged, worths)
    if known is None or weighed.score >= STANDING:
        act = weighed.act if weighed.score >= STANDING else Act.ENVIRONMENT
        return Judgement(act, ASKED)
    if not is_firm and known.plain < MENTIONED_PLAIN:
        return weighed
    return Judgement(Act.PREFERENCE if known.wish > known.plain else Act.ENVIRONMENT, ASKED)


def _judge_part(
    text: str, *, worths: Mapping[str, SentenceWorth], stopped: bool, asked: Mapping[str, bool]
) -> Judgement:
    """Return what a line or a sentence does; it is *asked* to remember some.

    What is a wish by what somebody says of themselves alone ("I'm a developer in Ghent"), and by
    the model is plainly told and not wished, is a fact.
    """
    if own := [part for part in sentences(text) if part in asked]:
        return _judge_asked(own[0], worths, is_firm=asked[own[0]])
    by_rule = judge(text, stopped=stopped)
    judged = weigh(text, by_rule, worths)
    if judged.act is Act.DECISION and by_rule.act is not Act.DECISION and text.endswith("?"):
        return judged._replace(act=Act.ENVIRONMENT)  # "fibre is 40 a month. order it?"
    known = [worths[sentence] for sentence in sentences(text) if sentence in worths]
    if judged.act is not Act.PREFERENCE or not known:
        return judged
    plainest = max(known, key=lambda each: each.plain)
    is_told = plainest.act is Act.ENVIRONMENT and plainest.plain >= PLAIN_KEPT
    is_fact = is_told and all(each.wish < WISH_KEPT for each in known)
    is_fact = is_fact and all(map(only_tells_of_oneself, sentences(text)))
    return judged._replace(act=Act.ENVIRONMENT) if is_fact else judged


def _judge_lines(paragraph: str, above: str, judge_part: JudgePart) -> list[tuple[str, Judgement]]:
    """Return the lines of *paragraph*, below the line *above*, each with what it does.

    What is listed below an order to write rules down is a rule, whatever it says.
    """
    lines: list[tuple[str, Judgement]] = []
    is_rule = writes_rules(above)
    for line in paragraph.split("\n"):
        is_rule = is_rule and _ITEM.match(line) is not None
        lines.append((line, _RULE if is_rule else judge_part(line)))
        is_rule = is_rule or writes_rules(line)
    return lines


def _pieces(
    lines: Sequence[tuple[str, Judgement]], judge_part: JudgePart, *, is_told: bool
) -> Iterator[UserPassage]:
    """Yield what of the *lines* of a paragraph is worth keeping; a lead only with its list."""
    keeps = [
        judged.score >= WORTH and not (is_told and judged.act is Act.TASK) for _, judged in lines
    ]
    for at, (line, judged) in enumerate(lines):
        leads = line.endswith(":") and at + 1 < len(lines) and not any(keeps[at + 1 :])
        if keeps[at] and not leads:
            short = line
            if judged.act is Act.ENVIRONMENT:
                short = trim(line, judge_part, whole_chars=0)
                if short != line and _only_names(short):
                    continue
            elif judged.by_model or (judged.act is Act.PREFERENCE and judged is not _RULE):
                short = trim(line, judge_part)
            yield from (UserPassage(text, judged) for text in _split_line(short))


def trim(
    line: str, judge_part: JudgePart = judge_sentence, *, whole_chars: int = _WHOLE_CHARS
) -> str:
    """Return the sentences of a *line* that are worth keeping, with what they lean on.

    A wish at the end of a request is kept without the request, for it holds for others too, and so
    is a fact. "…" stands for what is left out. A line of at most *whole_chars* stays whole; of a
    short one all is kept that states something, for what changed is told in more than one sentence.

    >>> request = "Add a page that lists every order of the last year and links each of them. " * 3
    >>> trim(request + "Always ask before you commit.")
    '… Always ask before you commit.'
    >>> trim("The doctor changed my pills. now its 25 mg. what do i eat?", whole_chars=0)
    'The doctor changed my pills. now its 25 mg. …'
    >>> trim("Is it due on 9 May? no wait, that's the exam. it is due on 10 May.", whole_chars=0)
    "Is it due on 9 May? no wait, that's the exam. it is due on 10 May."
    """
    parts = sentences(line)
    if len(line) <= whole_chars or len(parts) == 1:
        return line
    judged = [judge_part(part) for part in parts]
    is_short = len(line) <= _WHOLE_CHARS
    keeps = [each.score >= WORTH or (is_short and states(each)) for each in judged]
    for at, part in enumerate(parts):
        leans = at and _LEANS.match(part)
        if at and keeps[at] and (leans or _DENIES.match(part)):
            keeps[at - 1] = True
        elif at and keeps[at - 1] and (_EXPLAINS.match(part) or (leans and _tells(judged[at]))):
            keeps[at] = True
    runs = [
        " ".join(part for _, part in run) if kept else "\u2026"
        for kept, run in groupby(zip(keeps, parts, strict=True), key=itemgetter(0))
    ]
    return " ".join(runs) if any(keeps) else line


def _only_names(short: str) -> bool:
    """Return whether what is left of a line only names what the rest asks about: "release 0.6"."""
    return len(short.strip(" \u2026").split()) < _TELLING_WORDS and not FINITE.search(short)


def _tells(judged: Judgement) -> bool:
    """Return whether a sentence neither asks nor orders."""
    return judged.act not in {Act.QUESTION, Act.REQUEST}


def _split_line(line: str) -> Iterator[str]:
    """Yield *line* in texts of at most PASSAGE_CHARS characters, whole sentences where they fit."""
    text = ""
    for sentence in sentences(line):
        if text and len(text) + len(sentence) >= PASSAGE_CHARS:
            yield text
            text = ""
        text = cut(f"{text} {sentence}".strip(), PASSAGE_CHARS)
    if text:
        yield text


def rules(command: str, template: Words, place: int, slot: str) -> Iterator[NapCandidate]:
    """Yield the rules in what *command* expands to, the *template* of the message at *place*."""
    texts = {
        "rules": " ".join(_standing_rules(template)),
        "list": _attention_list(command, template),
    }
    for name, text in texts.items():
        if text:
            short = cut(text, RULES_CHARS_MAX)
            memory = NapMemory(
                short, NapKind.PREFERENCE, (place,), f"{slot}-{name}", Origin.ASSISTANT
            )
            yield NapCandidate(memory, _TEMPLATE_SCORE)


def plan_memory(plan: str, place: int, slot: str) -> Iterator[NapCandidate]:
    """Yield the *plan* that was pasted to be carried out: its title and what it is about."""
    if plan:
        text = cut(f"Plan: {plan.removeprefix('Plan: ')}", PASSAGE_CHARS)
        slot = f"{slot}{PLAN_SLOT}"
        memory = NapMemory(text, NapKind.DECISION, (place,), slot, Origin.PERSON)
        yield NapCandidate(memory, _PLANNED)


def _standing_rules(template: Words) -> Iterator[str]:
    for paragraph in template.paragraphs:
        for sentence in sentences(paragraph):
            judged = judge_sentence(sentence)
            stands = judged.act is Act.PREFERENCE or _OURS.search(sentence)
            is_told = judged.score >= WORTH and judged.act not in _LEFT_OUT
            if stands and is_told and not _NOW.search(sentence):
                yield sentence


def _attention_list(command: str, template: Words) -> str:
    """Return what is to be paid attention to, "" where nothing is listed."""
    lines = [line for paragraph in template.paragraphs for line in paragraph.split("\n")]
    for at, line in enumerate(lines):
        if _HEED.search(line):
            points = [_ITEM.sub("", each) for each in takewhile(_ITEM.match, lines[at + 1 :])]
            if len(points) >= _POINTS_MIN:
                listed = "; ".join(point.rstrip(" .;") for point in points)
                return f"{command.split(maxsplit=1)[0]} pays attention to: {listed}."
    return ""
