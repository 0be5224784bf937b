"""Extract the outcome of an exchange, and the cause of an error, in the agent's sentences. Pure.

Sentences are quoted verbatim. Those that narrate ("Let me check"), ask, or name nothing concrete
are left out. The agent's conclusion may be wrong, so the next message of the user decides how far
it is trusted.
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
from memd.sleep.distil.language.prose import READ_MAX, Sentence, is_code, sentences, things
from memd.sleep.distil.language.replies import COMPLAINS
from memd.sleep.distil.language.words import words
from memd.sleep.distil.user.speech_acts import Act, judge
from memd.text.languages import FUNCTION_WORDS
from memd.text.words import content_stems
from memd.text.words import sentences as spoken_sentences

OUTCOME_CHARS_MAX = 500
CAUSE_CHARS_MAX = 260
_WORDS_MIN, _SHORT, _LONG = 4, 7, 45  # words of a sentence
_TEXTS_BACK = 3  # the last texts of an exchange, which are searched for its conclusion
_TOLD_AT = 1.0  # the score from which a sentence is part of an outcome
_SENTENCES_MAX = 3
TOLD_WORTH = 0.0
"""The log-odds from which a sentence that a model judged is part of an outcome."""
JUDGED_AT = 0.5
"""The score by rule from which a model judges a sentence. It saves half of the sentences, and
misses one in a hundred of those that the model would accept."""
SHORT_ANSWER = 8
"""An answer of at most this many sentences is judged as a whole: it may use plain words that the
rules do not recognise."""
STATEMENTS_MAX = 120
"""The number of sentences of a text that the model judges: the last ones."""
_SECOND_SHARE = 0.5  # the least score of a further sentence, as a share of the best one's
_CAUSE_AT = 1.0  # the score from which a sentence is a cause
_NEAR = 2  # a sentence with output of a program this near on both sides is output, too
_SAME = 0.7  # the share of common words from which two sentences say the same

_ANY_WORD = re.compile(r"[^\W\d_][\w-]*")
_WORD = re.compile(r"[^\W\d_][\w-]{3,}")
# Inline code whose content was lost: "all paths start with ``, for example".
_EMPTY_CODE = re.compile(r"(?<!`)``(?!`)")
_OPENING_CHARS = 120
_REQUEST_CHARS = 4_000
_PASTED_CHARS = 8_000
_REPORT_CHARS = 6_000
_ASKS_NOTHING = frozenset(Act) - {Act.REQUEST, Act.TASK, Act.QUESTION}
_SHARED_MIN = 2  # common words that connect a message with an outcome


RatedSentence = tuple[float, Sentence]
"""A score, and the sentence that has it."""


def outcome(exchange: Exchange, following: str = "", *, by_rule: bool = False) -> str:
    """Return the outcome of *exchange* in a few sentences, "" without one.

    *following* is the user's next message, "" if there is none. If it rejects the conclusion, the
    outcome is ""; if it shows another error, one sentence at most. *by_rule* ignores what a model
    judged.
    """
    trust = trust_in_conclusion(following)
    if trust <= 0:
        return ""
    asked = words_asked(exchange)
    # A report is remembered by its sections and its list of findings.
    texts = list(takewhile(_is_no_report, exchange.texts[: -1 - _TEXTS_BACK : -1]))
    worths = [NOTHING_JUDGED if by_rule else text.worths for text in texts]
    rated: Iterable[list[RatedSentence]] = (
        list(rate_sentences(text.text, asked, text_worths))
        for text, text_worths in zip(texts, worths, strict=True)
    )
    if any(worths):  # the model compares sentences of all texts; by rule the latest text wins
        rated = [[line for lines in reversed(list(rated)) for line in lines]]
    count_max = 1 if trust < 1 else _SENTENCES_MAX
    outcomes = (
        best_sentences(lines, _TOLD_AT / trust, count_max, OUTCOME_CHARS_MAX) for lines in rated
    )
    return next(filter(None, outcomes), "")


def _is_no_report(text: AgentText) -> bool:
    """Return whether *text* is short, or has no list of findings."""
    return len(text.text) <= _REPORT_CHARS or find_list(text.text) is None


def cause(exchange: Exchange) -> str:
    """Return the sentence in which the agent explains an error, "" without one.

    An exchange without a failed command, and without trouble that the user reports, has none.
    """
    if not shows_trouble(exchange):
        return ""
    asked = words_asked(exchange)
    return _best_reason(
        (_rate(line, asked, text.worths), line)
        for text in exchange.texts
        for line in _find_reasons(text.text)
    )


def shows_trouble(exchange: Exchange) -> bool:
    """Return whether a command failed in *exchange*, or the user reports trouble."""
    user = exchange.user[:_REQUEST_CHARS]
    return bool(phrases.TROUBLE.search(user)) or any(has_failed(run) for run in exchange.runs)


def reason(texts: Iterable[str], trouble: str, stems: frozenset[str] | None = None) -> str:
    """Return the sentence of *texts* that explains *trouble* best by rule, "" without one.

    Unless *stems* is None, the sentence has one of these stems of words.
    """
    asked = _words(trouble)
    return _best_reason(
        (_score(line, asked), line)
        for text in texts
        for line in _find_reasons(text)
        if stems is None or stems & content_stems(line.text)
    )


def plain_reason(texts: Iterable[str], stems: frozenset[str] | None = None) -> str:
    """Return the first sentence of *texts* with a "because", "" without one.

    It need not name anything concrete, so it is used only for an error that is known to be fixed.
    *stems* are as for :func:`reason`.
    """
    for text in texts:
        for line in tellable_sentences(text):
            is_firm = phrases.BECAUSE.search(line.text) and not phrases.UNSURE.search(line.text)
            is_sentence = len(line.text.split()) >= _SHORT and not is_code(line.source)
            is_tied = stems is None or stems & content_stems(line.text)
            if is_firm and is_sentence and is_tied and len(line.text) <= CAUSE_CHARS_MAX:
                return _end_sentence(line.text)
    return ""


def _best_reason(rated: Iterable[RatedSentence]) -> str:
    """Return the best of the *rated* sentences that give a reason, "" without one."""
    lines = [(score + 0.5 * _count_reasons(line.text), line) for score, line in rated]
    return best_sentences(lines, _CAUSE_AT, 1, CAUSE_CHARS_MAX)


def conclusion(exchange: Exchange, following: str = "") -> str:
    """Return error, cause and outcome of *exchange*, each sentence once; "" without them.

    The error is the most telling line of the text that the user pasted.
    """
    why, result = cause(exchange), outcome(exchange, following)
    cause_words = _words(why)
    if why and len(cause_words & _words(result)) > _SAME * len(cause_words):
        why = ""
    line = f"{why} {result}".strip()
    if not line:
        return ""
    error = pasted_error(exchange.user)
    return f"{error}\n{line}" if error else line


def is_outcome_of(user: str, own: str, ended: str) -> bool:
    """Return whether the outcome *ended* belongs to the message *user*, typed in the *own* words.

    It does if they ask for something or show an error. An outcome after a mere statement belongs to
    other work, unless it has words of the statement.

    >>> is_outcome_of("", "Fix the queue.", "The lock was taken twice.")
    True
    >>> is_outcome_of("", "The keys are in the vault, not here.", "The package breaks the build.")
    False
    """
    acts = {judge(sentence).act for sentence in spoken_sentences(own)}
    if pasted_error(user) or not acts <= _ASKS_NOTHING:
        return True
    return len(content_stems(own) & content_stems(ended)) >= _SHARED_MIN


def pasted_error(user: str) -> str:
    r"""Return the line of an error that the user pasted, "" without one.

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
    """Return how far the agent's conclusion is trusted, by the user's next message.

    0 if they reject it, 0.8 if they show another error, 1.25 if they are pleased, else 1.

    >>> [trust_in_conclusion(message) for message in ("no, that did nothing", "great, go on", "")]
    [0.0, 1.25, 1.0]
    >>> trust_in_conclusion("The cards still don't fit on the table.")
    0.0
    """
    opening = following.lstrip()[:_OPENING_CHARS]
    if phrases.DENIED.match(opening):
        return 0.0
    if phrases.PLEASED.match(opening):
        return 1.25
    if COMPLAINS.search(opening):
        return 0.0
    return 0.8 if phrases.PASTED_ERROR.search(following[:_REQUEST_CHARS]) else 1.0


def rate_sentences(
    text: str, asked: frozenset[str] = frozenset(), worths: Mapping[str, float] = NOTHING_JUDGED
) -> Iterator[RatedSentence]:
    """Yield the score of each sentence of *text* that may be quoted, and the sentence.

    *asked* are the words of the user's request, *worths* the log-odds by a model. A sentence
    without log-odds is scored by rule.
    """
    return ((_rate(line, asked, worths), line) for line in tellable_sentences(text))


def _rate(line: Sentence, asked: frozenset[str], worths: Mapping[str, float]) -> float:
    """Return the score of a sentence, on the scale of :func:`_score` if a model judged it."""
    worth = worths.get(line.text)
    return _score(line, asked) if worth is None else _TOLD_AT + (worth - TOLD_WORTH) / 2


def statements(exchange: Exchange) -> list[list[RatedSentence]]:
    """Return, for each text of *exchange*, the sentences that a model judges, scored by rule.

    These are all of a short last text, the better ones of the last few texts (JUDGED_AT), and of
    earlier texts those that give a reason.
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
    """Return the indexes of the *rated* sentences of a text that a model judges."""
    is_short = is_last and len(rated) <= SHORT_ANSWER
    places = [at for at, (score, _) in enumerate(rated) if is_short or score >= JUDGED_AT]
    return places[-STATEMENTS_MAX:]


def words_asked(exchange: Exchange) -> frozenset[str]:
    """Return the significant words of the user's message in *exchange*."""
    return _words(exchange.user[:_REQUEST_CHARS])


def _find_reasons(text: str) -> Iterator[Sentence]:
    """Yield the sentences of *text* that may be quoted and give a reason."""
    for line in tellable_sentences(text):
        if phrases.CAUSE.search(line.text) and not phrases.UNSURE.search(line.text):
            yield line


@lru_cache(maxsize=READ_MAX)
def tellable_sentences(text: str) -> tuple[Sentence, ...]:
    """Return the sentences of *text* that may be quoted, without output of programs."""
    every = sentences(text)
    printed = [phrases.PRINTED.search(sentence.text) is not None for sentence in every]
    lines = (
        sentence
        for at, sentence in enumerate(every)
        if not (
            printed[at]
            or (any(printed[max(0, at - _NEAR) : at]) and any(printed[at + 1 : at + 1 + _NEAR]))
        )
    )
    return tuple(filter(_is_tellable, lines))


def _is_tellable(line: Sentence) -> bool:
    """Return whether a sentence may be quoted: a whole statement, no mere narration."""
    text = line.text
    return (
        not text.endswith(("?", ":"))
        and len(text.split()) >= _WORDS_MIN
        and not (text.isupper() or _ends_within_quotation(text))
        and (not phrases.NARRATION.match(text) or bool(phrases.ROOT_CAUSE.search(text)))
    )


def _ends_within_quotation(text: str) -> bool:
    return text.count('"') % 2 == 1 or text.count("\u201c") > text.count("\u201d")


def _score(line: Sentence, asked: frozenset[str]) -> float:
    """Return the score of a sentence as a conclusion, by rule.

    Names, words of a conclusion and words of the request (*asked*) raise it; tasks, hedges, praise
    and plans lower it.
    """
    text, named = line.text, line.things
    length = len(text.split())
    words = frozenset(_ANY_WORD.findall(text.casefold()))
    return (
        0.5 * min(len(named), 4)
        + 0.4 * min(len(words & phrases.GIST), 3)
        + 0.3 * min(len(asked & words), 3)
        - 1.0 * (not named)
        - 0.8 * bool(phrases.TASK.match(text))
        - 0.8 * bool(phrases.POINTING.match(text))
        - 0.9 * bool(phrases.HEDGE.search(text))
        - 1.0 * bool(phrases.FINE.search(text))
        - 0.8 * bool(_EMPTY_CODE.search(line.source))
        - 2.0 * bool(phrases.INTENDS.search(text))
        - 0.5 * (length < _SHORT)
        - 0.3 * (length > _LONG)
    )


def _count_reasons(text: str) -> int:
    return min(len(phrases.CAUSE.findall(text)), 2)


def best_sentences(
    lines: Sequence[RatedSentence], score_min: float, count_max: int, room: int
) -> str:
    """Return the best of *lines* as one text, in their original order.

    At most *count_max* sentences of at least *score_min*, in *room* characters, without
    repetitions, code, and sentences far below the best one.
    """
    ranked = sorted(range(len(lines)), key=lambda at: (-lines[at][0], at))
    chosen: list[int] = []
    for at in ranked:
        score, line = lines[at]
        if len(chosen) == count_max or score < score_min:
            break
        if chosen and score < _SECOND_SHARE * lines[chosen[0]][0]:
            break
        if len(line.text) > room or is_code(line.source):
            continue
        if any(_repeats(lines[index][1], line) for index in chosen):
            continue
        room -= len(line.text) + 1
        chosen.append(at)
    return " ".join(_end_sentence(lines[at][1].text) for at in sorted(chosen))


def _repeats(one: Sentence, other: Sentence) -> bool:
    """Return whether the shorter of two sentences has most of its words in the longer."""
    words, other_words = _words(one.text), _words(other.text)
    return len(words & other_words) > _SAME * max(1, min(len(words), len(other_words)))


def _end_sentence(text: str) -> str:
    """Return *text* with a full stop, unless it ends a sentence already."""
    text = text.rstrip(" ;,—\u2013-")
    return text if text.endswith((".", "!", "…", "。")) else f"{text}."


def _words(text: str) -> frozenset[str]:
    """Return the words of four letters and more, without function words."""
    return frozenset(map(str.casefold, _WORD.findall(text))) - FUNCTION_WORDS
