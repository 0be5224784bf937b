"""What came of an exchange, and what was the cause of what went wrong, in the agent's words.

A conclusion is the agent's and may be wrong: what the user says next tells how far to
trust it. Sentences are told as they stand; none is told that narrates, asks, or says
nothing that could be pointed at. Pure, and a function of one exchange and of the words
that follow it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import takewhile

from memd.sleep.distil.agent.findings import find_list
from memd.sleep.distil.exchanges import NOTHING_JUDGED, AgentText, Exchange
from memd.sleep.distil.language import phrases
from memd.sleep.distil.language.failures import error_line, has_failed
from memd.sleep.distil.language.outcome_signs import OUTCOME_WORTH, outcome_worth
from memd.sleep.distil.language.prose import READ_MAX, Sentence, is_code, sentences, things
from memd.sleep.distil.language.words import words
from memd.sleep.distil.user.acts import Act, judge
from memd.text.languages import FUNCTION_WORDS
from memd.text.words import content_stems
from memd.text.words import sentences as spoken_sentences

OUTCOME_CHARS_MAX = 500
CAUSE_CHARS_MAX = 260
_WORDS_MIN, _SHORT, _LONG = 4, 7, 45
_STATUS_WORDS = 9
_TEXTS_BACK = 3  # how far back a conclusion is looked for when the last text has none
_TOLD_AT = 1.0  # the score from which a sentence is told
_SENTENCES_MAX = 3
TOLD_WORTH = 0.0
"""The log-odds of a sentence that a model judged, from which it is."""
JUDGED_AT = 0.5
"""The score from which a model judges a sentence: half have less, and one in a hundred of those
that it would tell."""
SHORT_ANSWER = 8
"""Of an answer of at most so many sentences all are judged: a short one says it in plain words,
which the rules know nothing of."""
STATEMENTS_MAX = 120
"""So many sentences of a text are judged by the model, the last ones."""
_SECOND_SHARE = 0.5  # of the first one's score, from which a second is told beside it
_CAUSE_AT = 1.0
_NEAR = 2  # so near to a printed line on both sides, a sentence is one, too
_SAME = 0.7  # the share of words from which two sentences say the same

_ANY_WORD = re.compile(r"[^\W\d_][\w-]*")
_WORD = re.compile(r"[^\W\d_][\w-]{3,}")
# What stood in code was lost: "all paths start with ``, for example".
_EMPTY_CODE = re.compile(r"(?<!`)``(?!`)")
_OPENING_CHARS = 120
_REQUEST_CHARS = 4_000
_PASTED_CHARS = 8_000
_REPORT_CHARS = 6_000
_ASKS_NOTHING = frozenset(Act) - {Act.REQUEST, Act.TASK, Act.QUESTION}
_SHARED_MIN = 2  # words of a message and of what came of it


RatedSentence = tuple[float, Sentence]
"""A sentence, and how much it says."""


def outcome(exchange: Exchange, following: str = "", *, by_rule: bool = False) -> str:
    """Return what came of *exchange* in a few sentences, "" where nothing that is told.

    *following* is what the user wrote next, "" while they have not. Where it takes the
    conclusion back, nothing is told; where it shows another error, one sentence at most.
    """
    trust = trust_in_conclusion(following)
    if trust <= 0:
        return ""
    asked = words_asked(exchange)
    texts = list(takewhile(_is_no_report, exchange.texts[: -1 - _TEXTS_BACK : -1]))
    worths = [NOTHING_JUDGED if by_rule else text.worths for text in texts]
    rated: Iterable[list[RatedSentence]] = (
        list(rate_sentences(text.text, asked, its)) for text, its in zip(texts, worths, strict=True)
    )
    if any(worths):  # the model knows what is best of all, the rules what the last text says
        rated = [[line for lines in reversed(list(rated)) for line in lines]]
    most = 1 if trust < 1 else _SENTENCES_MAX
    lines = (best_sentences(each, _TOLD_AT / trust, most, OUTCOME_CHARS_MAX) for each in rated)
    return next(filter(None, lines), "")


def _is_no_report(text: AgentText) -> bool:
    """Return whether *text* is none of those of which the list is told."""
    return len(text.text) <= _REPORT_CHARS or find_list(text.text) is None


def cause(exchange: Exchange) -> str:
    """Return the sentence in which the agent says why something went wrong, "" without one.

    Only where something did: a command failed, or the user shows or reports trouble.
    """
    user = exchange.user[:_REQUEST_CHARS]
    if not (phrases.TROUBLE.search(user) or any(has_failed(run) for run in exchange.runs)):
        return ""
    asked = _words(user)
    return _best_reason(
        (_rate(line, asked, text.worths), line)
        for text in exchange.texts
        for line in _find_reasons(text.text)
    )


def reason(texts: Iterable[str], trouble: str) -> str:
    """Return the sentence of *texts* that says best why there is *trouble*, by rule."""
    asked = _words(trouble)
    return _best_reason(
        (_score(line, asked), line) for text in texts for line in _find_reasons(text)
    )


def plain_reason(texts: Iterable[str]) -> str:
    """Return the first sentence of *texts* that gives a reason in plain words, "" without one.

    It need not name anything; so it counts only for what is known to have been mended.
    """
    for text in texts:
        for line in tellable_sentences(text):
            is_firm = phrases.BECAUSE.search(line.text) and not phrases.UNSURE.search(line.text)
            is_told = len(line.text.split()) >= _SHORT and not is_code(line.source)
            if is_firm and is_told and len(line.text) <= CAUSE_CHARS_MAX:
                return _end_sentence(line.text)
    return ""


def _best_reason(rated: Iterable[RatedSentence]) -> str:
    """Return the best of some sentences that give a reason, "" without one."""
    lines = [(score + 0.5 * _count_reasons(line.text), line) for score, line in rated]
    return best_sentences(lines, _CAUSE_AT, 1, CAUSE_CHARS_MAX)


def conclusion(exchange: Exchange, following: str = "") -> str:
    """Return error, cause and outcome of *exchange*, each sentence once; "" if not worth a memory.

    The error is the one line that says most in what the user pasted.
    """
    why, what = cause(exchange), outcome(exchange, following)
    mine, its = _words(why), _words(what)
    if why and len(mine & its) > _SAME * len(mine):
        why = ""
    line = f"{why} {what}".strip()
    if not is_worth_it(line, exchange):
        return ""
    error = pasted_error(exchange.user)
    return f"{error}\n{line}" if error else line


def came_of(user: str, own: str, ended: str) -> bool:
    """Return whether *ended* came of what *user* has, in their *own* words: they ask for something.

    What happened after somebody told how it is came of something else, unless it speaks of that.

    >>> came_of("", "Fix the queue.", "The lock was taken twice.")
    True
    >>> came_of("", "The keys are in the vault, not here.", "The package breaks the build.")
    False
    """
    acts = {judge(one).act for one in spoken_sentences(own)}
    if pasted_error(user) or not acts <= _ASKS_NOTHING:
        return True
    return len(content_stems(own) & content_stems(ended)) >= _SHARED_MIN


def is_worth_it(text: str, exchange: Exchange) -> bool:
    """Return whether the conclusion *text* of *exchange* is worth a memory.

    Where a model judged its sentences, only those stand in it that are.
    """
    is_judged = any(each.worths for each in exchange.texts)
    return bool(text) and (is_judged or outcome_worth(text) >= OUTCOME_WORTH)


def pasted_error(user: str) -> str:
    r"""Return the error that the user shows, as one line of what they pasted; "" without one.

    >>> pasted_error("why does it stop?\n$ make run\nValueError: port is taken")
    'ValueError: port is taken'
    """
    pasted = words(user).pasted if len(user) <= _PASTED_CHARS else ""
    if not phrases.PASTED_ERROR.search(pasted) or phrases.PATCH.search(pasted):
        return ""
    line = error_line(pasted)
    is_code = line.startswith(("- ", "* ")) or line.endswith(("{", ",", "(", ";"))
    if not things(line) or is_code:
        return ""  # "an unexpected error occurred" says nothing
    return line if "error" in line.casefold() else f"Error: {line}"


def trust_in_conclusion(following: str) -> float:
    """Return how far the agent's conclusion is trusted, by what the user wrote after it.

    0 where they take it back, below 1 where they show another error, above 1 where they
    are pleased.

    >>> [trust_in_conclusion(each) for each in ("no, that did nothing", "great, go on", "")]
    [0.0, 1.25, 1.0]
    >>> trust_in_conclusion("The cards still don't fit on the table.")
    0.0
    """
    opening = following.lstrip()[:_OPENING_CHARS]
    if phrases.DENIED.match(opening) or phrases.UNCURED.match(opening):
        return 0.0
    if phrases.PLEASED.match(opening):
        return 1.25
    return 0.8 if phrases.PASTED_ERROR.search(following[:_REQUEST_CHARS]) else 1.0


def rate_sentences(
    text: str, asked: frozenset[str] = frozenset(), worths: Mapping[str, float] = NOTHING_JUDGED
) -> Iterator[RatedSentence]:
    """Yield the sentences of *text* that could be told, each with how much it says.

    *worths* are what a model told of them; one that it did not judge is rated by rule.
    """
    return ((_rate(line, asked, worths), line) for line in tellable_sentences(text))


def _rate(line: Sentence, asked: frozenset[str], worths: Mapping[str, float]) -> float:
    worth = worths.get(line.text)
    return _score(line, asked) if worth is None else _TOLD_AT + (worth - TOLD_WORTH) / 2


def statements(exchange: Exchange) -> list[list[RatedSentence]]:
    """Return of each text of *exchange* what a model may judge, rated by rule.

    That is all of a last text that is short, what of the last few texts is not hopeless by rule,
    and of those before them what gives a reason.
    """
    asked = words_asked(exchange)
    last = len(exchange.texts) - 1
    judged: list[list[RatedSentence]] = []
    for at, text in enumerate(exchange.texts):
        is_late = at > last - _TEXTS_BACK
        lines = tellable_sentences(text.text) if is_late else _find_reasons(text.text)
        rated = [(_score(line, asked), line) for line in lines]
        judged.append([rated[place] for place in places_to_judge(rated, is_last=at == last)])
    return judged


def places_to_judge(rated: Sequence[RatedSentence], *, is_last: bool) -> list[int]:
    """Return which of the *rated* sentences of a text, the last one or not, a model judges."""
    is_short = is_last and len(rated) <= SHORT_ANSWER
    places = [at for at, (score, _) in enumerate(rated) if is_short or score >= JUDGED_AT]
    return places[-STATEMENTS_MAX:]


def words_asked(exchange: Exchange) -> frozenset[str]:
    """Return the words of the request of *exchange*."""
    return _words(exchange.user[:_REQUEST_CHARS])


def _find_reasons(text: str) -> Iterator[Sentence]:
    """Yield the sentences of *text* that could be told and give a reason."""
    for line in tellable_sentences(text):
        if phrases.CAUSE.search(line.text) and not phrases.UNSURE.search(line.text):
            yield line


@lru_cache(maxsize=READ_MAX)
def tellable_sentences(text: str) -> tuple[Sentence, ...]:
    """Return the sentences of *text* that could be told; what stands among printed lines is one."""
    all_ = sentences(text)
    printed = [phrases.PRINTED.search(sentence.text) is not None for sentence in all_]
    lines = (
        sentence._replace(text=_drop_joiner(sentence.text))
        for at, sentence in enumerate(all_)
        if not (
            printed[at]
            or (any(printed[max(0, at - _NEAR) : at]) and any(printed[at + 1 : at + 1 + _NEAR]))
        )
    )
    return tuple(filter(_is_tellable, lines))


def _drop_joiner(text: str) -> str:
    """Return a sentence without the word that joins it to the one before.

    >>> _drop_joiner("But the port is taken.")
    'The port is taken.'
    """
    joined = phrases.JOINED.match(text)
    if not joined:
        return text
    first, _, rest = text[joined.end() :].partition(" ")
    return f"{first.capitalize() if first.isalpha() and first.islower() else first} {rest}"


def _is_tellable(line: Sentence) -> bool:
    """Return whether a sentence could be told at all."""
    text = line.text
    return (
        not text.endswith(("?", ":"))
        and len(text.split()) >= _WORDS_MIN
        and not (text.isupper() or _ends_within_quotation(text))
        and not phrases.NARRATION.match(text)
        and not (len(text.split()) <= _STATUS_WORDS and phrases.STATUS.match(text))
    )


def _ends_within_quotation(text: str) -> bool:
    return text.count('"') % 2 == 1 or text.count("\u201c") > text.count("\u201d")


def _score(line: Sentence, asked: frozenset[str]) -> float:
    """Return how much of a conclusion a sentence is: what it names, what it says of it."""
    text, named = line.text, line.things
    length = len(text.split())
    words = frozenset(_ANY_WORD.findall(text.casefold()))
    return (
        0.5 * min(len(named), 4)
        + 0.4 * min(len(words & phrases.GIST), 3)
        + 0.3 * min(len(asked & words), 3)
        + 0.8 * bool(phrases.LABEL.match(text))
        - 1.0 * (not named)
        - 0.8 * bool(phrases.TASK.match(text))
        - 0.8 * bool(phrases.POINTING.match(text))
        - 0.9 * bool(phrases.HEDGE.search(text))
        - 1.5 * bool(phrases.PRAISE.match(text))
        - 1.0 * bool(phrases.FINE.search(text))
        - 0.8 * bool(_EMPTY_CODE.search(line.source))
        - 2.0 * bool(phrases.INTENDS.search(text))
        - 0.5 * (length < _SHORT)
        - 0.3 * (length > _LONG)
    )


def _count_reasons(text: str) -> int:
    return min(len(phrases.CAUSE.findall(text)), 2)


def best_sentences(lines: Sequence[RatedSentence], least: float, most: int, room: int) -> str:
    """Return the *most* best sentences in the order in which they were said."""
    ranked = sorted(range(len(lines)), key=lambda at: (-lines[at][0], at))
    kept: list[int] = []
    for at in ranked:
        score, line = lines[at]
        if len(kept) == most or score < least:
            break
        if kept and score < _SECOND_SHARE * lines[kept[0]][0]:
            break
        if len(line.text) > room or is_code(line.source):
            continue
        if any(_repeats(lines[k][1], line) for k in kept):
            continue
        room -= len(line.text) + 1
        kept.append(at)
    return " ".join(_end_sentence(lines[at][1].text) for at in sorted(kept))


def _repeats(one: Sentence, other: Sentence) -> bool:
    mine, its = _words(one.text), _words(other.text)
    return len(mine & its) > _SAME * max(1, min(len(mine), len(its)))


def _end_sentence(text: str) -> str:
    text = text.rstrip(" ;,—\u2013-")
    return text if text.endswith((".", "!", "…", "。")) else f"{text}."


def _words(text: str) -> frozenset[str]:
    return frozenset(map(str.casefold, _WORD.findall(text))) - FUNCTION_WORDS
