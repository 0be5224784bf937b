"""Select the lines of a user's message that are worth keeping. Pure.

The text that a command expands to is read, too: its orders are for the moment, but "we never ..."
and a list of points to pay attention to hold whenever the command is typed.
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
from memd.sleep.distil.language.standing_wishes import only_describes_self, writes_rules
from memd.sleep.distil.language.words import Words
from memd.sleep.distil.sentence_worth import PLAIN_KEPT, WISH_KEPT, SentenceWorth, weigh
from memd.sleep.distil.user.remember_requests import find_remember_requests
from memd.sleep.distil.user.speech_acts import (
    ASKED,
    ONE_SIGN,
    STANDING,
    WORTH,
    Act,
    Judgement,
    judge,
    judge_sentence,
    states,
)
from memd.text.alternations import Phrases
from memd.text.words import sentences

PASSAGE_CHARS = 800
"""The most characters of the user's words in one memory; longer text becomes several."""
JudgePart = Callable[[str], Judgement]
MENTIONED_PLAIN = -3.5
"""A mentioned statement ("fyi ...") with lower log-odds of being a lasting fact is temporary: "the
bus leaves at 7:10" has -1, "the build is green" -5."""
_ASKED_FOR = frozenset({Act.REQUEST, Act.QUESTION, Act.APPROVAL, Act.TASK})
_RULE = Judgement(Act.PREFERENCE, STANDING)
_ITEM = re.compile(r"(?:[-*+\u2022]|\d{1,2}[.)])\s+")

RULES_CHARS_MAX = 600
_TEMPLATE_SCORE, _PLANNED = 0.7, 0.65
_POINTS_MIN = 3
_TELLING_WORDS = 3  # fewer without a verb state nothing; "squash merges only" does
_WHOLE_CHARS = 200  # a line of at most this length is kept whole, unless it states a fact
# A sentence that needs the one before it: "It runs on port 80", "And they must be signed".
_REFERS_BACK = Phrases(
    r"\W*(?:(?:and|but|so|also|then|instead|or|not|no|yes)\W+)*"
    r"(?:it|that|this|these|those|they|them|he|she|there|here|both|each|same|such|one)\b"
)
# A denial, "no, nuno picks us up", as opposed to "no tests in the pipeline".
_DENIES = re.compile(
    r"\W*(?:no|nope|nein|non|não|nee)(?:\s*[,.!;:\u2026-]|\s+(?:wait|it|that|this|i|we)(?:'?s)?\b)",
    re.IGNORECASE,
)
# Sets right the few words before it, which it needs: "yes stage. not staging."
_SETS_RIGHT = re.compile(
    r"\W*(?:and |but |und )?(?:not|nicht)(?: (?:the|in|on|to|der|die|das|den|im|am|auf))?"
    r" [\w./-]+\W*$",
    re.IGNORECASE,
)
_EXPLAINS = Phrases(
    r"\W*(?:because|since|otherwise|so that|that'?s why|this (?:is|way)|for example|for instance"
    r"|e\.g\.|i\.e\.|the reason|which (?:is|means)|it(?:'s| is)|they(?:'re| are))\b"
)
# What the user knows of a thing, with the subject left out: "never used zustand".
_OWN_EXPERIENCE = Phrases(
    r"^\W*(?:(?:never|not|haven'?t|only|just|already|but|and|have|had|yet)\W+)*"
    r"(?:used|tried|heard|seen|no idea|no clue|not sure|unsure|don'?t know|dunno)\b[^,;:]*$"
)
_TO_AGENT = Phrases(r"\b(?:you|your|u)\b")
_CLAIMS = frozenset({Act.PREFERENCE, Act.CONSTRAINT, Act.DECISION})
_SIGNED = 0.65  # the score of a statement with two signs by rule
_ASKED_PLAINER = 0.9
"""How much greater the log-odds of a plain fact must be beside a question, which it mostly only
introduces: "debian has 1.63 but thats too old" has 1.9, "webhooks dont reach localhost" 5.9."""
_LEFT_OUT = frozenset({Act.QUESTION, Act.REQUEST, Act.TASK, Act.ACKNOWLEDGEMENT})
_OURS = re.compile(r"\b(?:we|our|us|my|i)\b", re.IGNORECASE)
_NOW = re.compile(r"^\W*[-*]\s|\b(?:need|let'?s|going to|want|will|once)\b", re.IGNORECASE)
_HEED = Phrases(
    r"\b(?:attention|guidelines?|principles|conventions|standards|rules|verify|make sure|ensure"
    r"|look for|watch (?:out )?for)\b[^.]*:$"
)


class UserPassage(NamedTuple):
    """A part of the user's words in one message, and its judgement."""

    text: str
    judged: Judgement


def find_passages(
    own: Words, worths: Mapping[str, SentenceWorth], *, stopped: bool, has_outcome: bool
) -> list[UserPassage]:
    """Return the passages of *own* that are worth keeping, each in PASSAGE_CHARS characters.

    *worths* are a model's results for the sentences. *stopped*: the user interrupted the agent just
    before. *has_outcome*: the outcome of the message is a memory, so lines that only ask for work
    are dropped.
    """
    passages: list[UserPassage] = []
    above = ""
    for paragraph in () if own.is_brief else own.paragraphs:
        judge_part = partial(_judge_part, worths=worths, stopped=stopped, asked=own.asked)
        lines = _judge_lines(paragraph, above, judge_part)
        above = lines[-1][0]
        for piece in _pieces(lines, judge_part, has_outcome=has_outcome):
            last = passages[-1] if passages else None
            if last and len(last.text) + len(piece.text) < PASSAGE_CHARS:
                best = max(last.judged, piece.judged, key=lambda judged: judged.score)
                passages[-1] = UserPassage(f"{last.text}\n{piece.text}", best)
            else:
                passages.append(piece)
    return passages


def without_asking(own: Words) -> Words:
    """Return *own* without phrases such as "remember that", and with *asked*: the texts after them.

    Orders and questions are no texts to remember, even after "don't forget".
    """

    def is_statement(text: str) -> bool:
        return judge_sentence(text).act not in _ASKED_FOR

    lines = [(paragraph, line) for paragraph in own.paragraphs for line in paragraph.split("\n")]
    parts = [sentences(line) for _, line in lines]
    asked = iter(find_remember_requests(list(chain.from_iterable(parts)), is_statement))
    by_line = [list(islice(asked, len(line_parts))) for line_parts in parts]
    to_keep = {part.text: part.is_firm for part in chain.from_iterable(by_line) if part.is_kept}
    if not to_keep:
        return own
    texts = iter(" ".join(part.text for part in line if part.text) for line in by_line)
    paragraphs = (
        "\n".join(filter(None, islice(texts, paragraph.count("\n") + 1)))
        for paragraph in own.paragraphs
    )
    return own._replace(paragraphs=tuple(filter(None, paragraphs)), asked=to_keep)


def _judge_asked(text: str, worths: Mapping[str, SentenceWorth], *, is_firm: bool) -> Judgement:
    """Return the judgement of a sentence that the user asks to remember.

    It is a fact, unless the rules or the model find another act. A text that is only mentioned (not
    *is_firm*) is judged as usual if the model finds it temporary.
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
    """Return the judgement of a line or sentence; *asked* are the texts to remember.

    A wish that only describes the user ("I'm a developer in Ghent") is a fact if the model finds
    that it states one plainly.
    """
    if own := [part for part in sentences(text) if part in asked]:
        return _judge_asked(own[0], worths, is_firm=asked[own[0]])
    by_rule = judge(text, stopped=stopped)
    asking = _asking_part(text)
    judged = (
        _judge_background(text, asking, by_rule, worths) if asking else weigh(text, by_rule, worths)
    )
    known = [worths[sentence] for sentence in sentences(text) if sentence in worths]
    if judged.act is not Act.PREFERENCE or not known:
        return judged
    plainest = max(known, key=lambda worth: worth.plain)
    is_fact = plainest.act is Act.ENVIRONMENT and plainest.plain >= PLAIN_KEPT
    is_fact = is_fact and all(worth.wish < WISH_KEPT for worth in known)
    is_fact = is_fact and all(map(only_describes_self, sentences(text)))
    return judged._replace(act=Act.ENVIRONMENT) if is_fact else judged


def _asking_part(text: str) -> str:
    """Return the last question of a line that tells its background, "" if there is none.

    A question that the line answers itself is none: "table name? let's call it events".
    """
    judged = [(part, judge_sentence(part)) for part in sentences(text)]
    asking = [at for at, (_, one) in enumerate(judged) if one.act is Act.QUESTION]
    if not asking or len(asking) == len(judged):
        return ""
    is_answered = any(one.score >= ONE_SIGN for _, one in judged[asking[-1] + 1 :])
    return "" if is_answered else judged[asking[-1]][0]


def _judge_background(
    text: str, asking: str, by_rule: Judgement, worths: Mapping[str, SentenceWorth]
) -> Judgement:
    """Return the judgement of a line that asks a question, *asking*, and tells its background.

    The background must be plainer than another fact, and is no rule or decision, unless a rule is
    certain or the question is about what the agent does: "we use pnpm. why did you run npm?"
    """
    statements = dict(_weigh_background(text, worths))
    judged = weigh(text, by_rule, statements)
    is_rule = by_rule.act is judged.act and by_rule.score >= _SIGNED
    is_rule = is_rule or (judged.act is Act.PREFERENCE and _TO_AGENT.search(asking) is not None)
    is_background = judged.act in _CLAIMS and not is_rule and bool(statements)
    return judged._replace(act=Act.ENVIRONMENT) if is_background else judged


def _weigh_background(
    text: str, worths: Mapping[str, SentenceWorth]
) -> Iterator[tuple[str, SentenceWorth]]:
    """Yield the statements beside a question that may be kept, each with its worth."""
    for part in sentences(text):
        judged = judge_sentence(part)
        if part in worths and judged.act is not Act.QUESTION and not _OWN_EXPERIENCE.match(part):
            plainer = _ASKED_PLAINER if judged.score < WORTH else 0.0
            yield part, worths[part]._replace(plain=worths[part].plain - plainer)


def _judge_lines(paragraph: str, above: str, judge_part: JudgePart) -> list[tuple[str, Judgement]]:
    """Return the lines of *paragraph*, each with its judgement; *above* is the line before it.

    Items below an order to write rules down are rules, whatever their words.
    """
    lines: list[tuple[str, Judgement]] = []
    is_rule = writes_rules(above)
    for line in paragraph.split("\n"):
        is_rule = is_rule and _ITEM.match(line) is not None
        lines.append((line, _RULE if is_rule else judge_part(line)))
        is_rule = is_rule or writes_rules(line)
    return lines


def _pieces(
    lines: Sequence[tuple[str, Judgement]], judge_part: JudgePart, *, has_outcome: bool
) -> Iterator[UserPassage]:
    """Yield the passages of a paragraph; a line with a colon is kept only with its list."""
    keeps = [
        judged.score >= WORTH and not (has_outcome and judged.act is Act.TASK)
        for _, judged in lines
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
    """Return the sentences of a *line* that are worth keeping, and those that they refer to.

    A wish or fact at the end of a request is kept without the request; "…" replaces omitted text.
    A line of at most *whole_chars* characters is returned whole. Of a short line all statements are
    kept, because a change is often described in several sentences.

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
    keeps = [one.score >= WORTH or (is_short and states(one)) for one in judged]
    for at, part in enumerate(parts):
        refers_back = at and _REFERS_BACK.match(part)
        if at and keeps[at] and (refers_back or _DENIES.match(part) or _SETS_RIGHT.match(part)):
            keeps[at - 1] = True
        elif (
            at
            and keeps[at - 1]
            and (_EXPLAINS.match(part) or (refers_back and _is_statement(judged[at])))
        ):
            keeps[at] = True
    runs = [
        " ".join(part for _, part in run) if is_kept else "\u2026"
        for is_kept, run in groupby(zip(keeps, parts, strict=True), key=itemgetter(0))
    ]
    return " ".join(runs) if any(keeps) else line


def _only_names(short: str) -> bool:
    """Return whether a trimmed line only names the subject of the omitted text: "release 0.6"."""
    return len(short.strip(" \u2026").split()) < _TELLING_WORDS and not FINITE.search(short)


def _is_statement(judged: Judgement) -> bool:
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
    """Yield the rules in *template*, the text of the *command* in the message at *place*."""
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
    """Yield the memory of a *plan* that the user pasted, nothing if it is ""."""
    if plan:
        text = cut(f"Plan: {plan.removeprefix('Plan: ')}", PASSAGE_CHARS)
        slot = f"{slot}{PLAN_SLOT}"
        memory = NapMemory(text, NapKind.DECISION, (place,), slot, Origin.PERSON)
        yield NapCandidate(memory, _PLANNED)


def _standing_rules(template: Words) -> Iterator[str]:
    """Yield the sentences of *template* that hold beyond the current task."""
    for paragraph in template.paragraphs:
        for sentence in sentences(paragraph):
            judged = judge_sentence(sentence)
            is_standing = judged.act is Act.PREFERENCE or _OURS.search(sentence)
            is_worth_it = judged.score >= WORTH and judged.act not in _LEFT_OUT
            if is_standing and is_worth_it and not _NOW.search(sentence):
                yield sentence


def _attention_list(command: str, template: Words) -> str:
    """Return "COMMAND pays attention to: POINTS.", "" if *template* lists fewer than three."""
    lines = [line for paragraph in template.paragraphs for line in paragraph.split("\n")]
    for at, line in enumerate(lines):
        if _HEED.search(line):
            points = [_ITEM.sub("", item) for item in takewhile(_ITEM.match, lines[at + 1 :])]
            if len(points) >= _POINTS_MIN:
                listed = "; ".join(point.rstrip(" .;") for point in points)
                return f"{command.split(maxsplit=1)[0]} pays attention to: {listed}."
    return ""
