"""Find the lines of the agent that a short message answers. Pure.

"No on D4", "2" and "yup" are meaningless without the text that they answer. That is the line with
the same mark (D4), the question and recommendation that the user approves, the short statement
that they deny, or else the line with the most words in common.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memd.domain.enums import Passing
from memd.extract.acknowledgements import acknowledges
from memd.extract.passing import passing_kind
from memd.sleep.distil.agent_questions import (
    ASKED_CHARS,
    ASKS_BARE,
    ASKS_WHICH,
    CLAUSE_END,
    REPLY_CHARS,
    REPLY_WORDS,
    answers_with_fact,
    asks_for_fact,
    gives_value,
    last_question,
    long_words,
    may_answer,
)
from memd.sleep.distil.exchanges import BEFORE_TEXTS, AgentText, Exchange
from memd.sleep.distil.language.current_moment import only_names, reports, spoken_form
from memd.sleep.distil.language.option_references import MARKS_MAX, find_marks, is_selection
from memd.sleep.distil.language.phrases import PASTED_ERROR
from memd.sleep.distil.language.prose import things
from memd.sleep.distil.language.replies import (
    COMPLAINS,
    asks_permission,
    chooses,
    is_denial,
    split_asked,
    text_after_agreement,
)
from memd.sleep.distil.language.words import SAYS_LITTLE
from memd.sleep.distil.user.settled_values import changes_number, find_changed_number
from memd.sleep.distil.user.speech_acts import BARE_CHARS, Act, approves, judge
from memd.store.search.cjk_bigrams import has_sign_at
from memd.text.alternations import Phrases
from memd.text.languages import GOES_ON
from memd.text.words import content_stems, sentences

CHARS_MAX = 440
"""The most characters of the answered lines, which become part of a memory."""
_SHORT_CHARS = 240  # a longer message needs no context
_AGREES_CHARS = 120  # of an approval with a detail: "yeah, let's do no space and 12 dashes"
_BACK_CHARS_MAX = 300_000  # of the agent's texts that are searched for a mark
_LINE_CHARS = 300
_SHARED_WORDS = 2
_CELL_WORDS = 2
_STATEMENT_WORDS = 3  # "Done." and "Cancelled" state nothing
_MARK_CHARS = 110  # room for the line of each mark
_ANSWER_WORDS_MAX = 3  # a shorter answer is meaningless without its question
_QUESTION_CHARS, _QUESTION_WORDS_MIN = 160, 3

# A message about findings means the first line with a number; any other the last, because the
# options to choose from are at the end of a text.
_FINDINGS = re.compile(
    r"\b(?:address|fix|tackle|handle|finding|observation)s?\b(?!.*\btop\b)", re.I
)
_LISTED = Phrases(
    r"[\s>*_|`(\[#-]*(?:(?i:option|step|phase|approach|issue|finding|variante?|möglichkeit|vorschlag"
    r"|opción|opção|opzione|optie)\s+)?#?(?:(\w{1,3})[)\].:*|`]|([A-Z-]+\d+[a-z]?)\b)",
    0,
)
_RECOMMENDS = Phrases(
    r"(?<!not )\b(?:recommend\w*|suggest\w*|lean\w*|propose\w*|my (?:rec|take|preference)"
    r"|i'?d (?:go|pick|use)"
    r"|best option|empfehl\w*|recomend\w*|recommand\w*|aanbevol\w*)\b"
)
_NARRATES = re.compile(
    r"\b(?:let me|i'll|i will|i need to|i'm going to|now i)\b|^(?:now|good|great)\b", re.IGNORECASE
)
# Announcements that a denial cannot mean; "I will use a rolling update" can be denied.
_LOOKS = re.compile(r"\blet me\b|^(?:now|good|great)\b", re.IGNORECASE)
_FENCED = re.compile(r"^[ \t]*```.*?(?:^[ \t]*```[^\n]*$|\Z)", re.DOTALL | re.MULTILINE)
_MARKDOWN = re.compile(r"\*\*|__|^\s*(?:#{1,6}|>|[-*+])\s+|^\s*\|\s*|\s*\|\s*$")
_WHICH_ONE = re.compile(r"\bwhich (?:one|of (?:these|those|them))\b", re.IGNORECASE)
_RULE = re.compile(r"[\s|:=_*-]*$")
_TABLE_HEAD = re.compile(r"^[^\n|]*\|[^\n]*\n(?=[ \t|:]*-[-|: \t]*$)", re.MULTILINE)
# Lines that nobody answers: tags, tasks, tool calls, results of tests, ends of code.
_NO_LINE = Phrases(
    r"\W*<\w|\s*(?:[-*+]\s+)?\[[ xX-]\]\s|\W*(?:Tool use|Called tool)\b"
    r"|\s*[\u2713\u2714\u2717\u2718\u221a]|.*[{;]\s*$|.*=>\s*[{(]|\s*[\]})]",
    0,
)
# The agent could not answer: "I don't know", "not decided", "nothing says it".
_KNOWS_NOT = Phrases(
    r"\W*(?:i (?:don't|do not) (?:know|have)|i (?:couldn't|could not|can't|cannot) find|no idea"
    r"|i(?:'m| am) not sure|(?:(?:that|this|it) is )?(?:not|n't)(?: yet)? (?:decided|defined"
    r"|documented|recorded|specified|stated)|nothing (?:says|tells|mentions|in \w+))\b"
)
_NO_REPLY = frozenset({Act.QUESTION, Act.REQUEST, Act.APPROVAL})
# The user declines an offer: "Na, I am fine".
_DECLINES = Phrases(
    r"\W*(?:no|na|nah|nope)\W+(?:(?:i(?:'m| am)|we(?:'re| are)|that(?:'s| is)|all)\W+)+"
    r"(?:all|fine|good|ok(?:ay)?|set|done|it)?\W*(?:thanks|thank you|for (?:now|today))?\W*"
)


class AnsweredLines(NamedTuple):
    """The agent's *text* that a message answers, and its *place*.

    *is_marked*: found by a mark. *is_asked*: the agent asked a question. *is_fact*: it asked for a
    lasting fact or a value. *is_denied*: the user denies the text. *asked_at*: the place of the
    user's own question, if *text* begins with it.
    """

    text: str
    place: int
    is_marked: bool = False
    is_asked: bool = False
    is_denied: bool = False
    is_fact: bool = False
    asked_at: int | None = None

    def after(self, question: str, place: int) -> AnsweredLines:
        """Return the lines after the user's own *question* at *place*, as they are if it is ""."""
        return self._replace(text=f"{question} {self.text}", asked_at=place) if question else self


def find_answered(user: str, texts: Sequence[AgentText]) -> AnsweredLines | None:
    r"""Return the part of the agent's earlier *texts* that *user* answers, None if it answers none.

    >>> find_answered("No on D4", [AgentText(0, "All stays.\n- **D4** the cache is dropped")]).text
    'D4 the cache is dropped'
    """
    if not texts or len(user) > _SHORT_CHARS:
        return None
    marks = find_marks(user)
    is_last = not _FINDINGS.search(user)
    for text in _newest_first(texts) if marks else ():
        lines = [line for mark in marks for line in _find_marked(mark, text.text, is_last=is_last)]
        if lines:
            return AnsweredLines(join_lines(lines, len(marks)), text.place, is_marked=True)
    recent = texts[-BEFORE_TEXTS:]
    return (
        _find_asked(user, recent[-1])
        or _find_denied(user, recent[-1])
        or _find_renumbered(user, recent[-1])
        or _find_similar(user, recent)
    )


def find_own_question(user: str, earlier: Sequence[Exchange]) -> AnsweredLines | None:
    """Return the user's question in the last of *earlier*, if *user* may be the answer to it.

    The agent must have said that it does not know.
    """
    if not earlier or not earlier[-1].texts or judge(user).act in _NO_REPLY:
        return None
    question, place = earlier[-1].user, earlier[-1].place
    is_open = _KNOWS_NOT.match(earlier[-1].texts[-1].text) is not None
    is_question = len(question) <= _QUESTION_CHARS and passing_kind(question) is Passing.QUESTION
    return AnsweredLines(question, place, is_asked=True) if is_open and is_question else None


def _find_asked(user: str, last: AgentText) -> AnsweredLines | None:
    """Return the question or proposal of the agent's *last* text, None if *user* answers none."""
    question = last_question(last.text)
    is_which = _WHICH_ONE.search(question) is not None
    if is_which and approves(user) and not text_after_agreement(user):
        return None  # it does not say which one
    is_open = last.text.rstrip().endswith(question) or not acknowledges(user)
    is_told = not is_which and is_open and asks_for_fact(question) and answers_with_fact(user)
    if is_told or gives_value(question, user):
        return AnsweredLines(cut(question, _LINE_CHARS), last.place, is_asked=True, is_fact=True)
    is_asked = may_answer(question, last.text, user)
    is_bare = len(user) <= BARE_CHARS and (approves(user) or is_asked)
    is_bare |= len(user) <= _AGREES_CHARS and is_asked and approves(user)
    is_bare &= not (reports(spoken_form(user)) or _DECLINES.fullmatch(user))
    asked = _proposal(last.text) if is_bare or is_asked else ""
    whole = asked if question in asked else f"{asked}\n{question}"
    if asked and (is_bare or _replies(user, whole)):
        return AnsweredLines(asked, last.place, is_asked=is_asked)
    return None


def _replies(user: str, asked: str) -> bool:
    """Return whether *user* begins with a short answer to the open question *asked*.

    >>> _replies("30 days, the managers complain otherwise", "How long is a session valid?")
    True
    >>> _replies("the logo is too big on the phone", "How long is a session valid?")
    False
    """
    is_other = judge(user).act in _NO_REPLY or PASTED_ERROR.search(user)
    if len(user) > REPLY_CHARS or is_other or asks_permission(asked):
        return False
    first = next(filter(long_words, CLAUSE_END.split(user)), "")
    is_short = len(first.split()) <= REPLY_WORDS and judge(first).act not in _NO_REPLY
    question = last_question(asked)
    is_open = chooses(question) or ASKS_WHICH.search(question) is not None
    return is_short and is_open and not reports(spoken_form(user))


def denies(user: str, text: str) -> bool:
    """Return whether *user* denies the statement that the agent's *text* ends with.

    >>> denies("No, it did nothing.", "Fixed."), denies("No, the old one", "Shall I fix it?")
    (True, False)
    """
    return is_denial(user) and "?" not in text[-ASKED_CHARS:]


def _find_denied(user: str, last: AgentText) -> AnsweredLines | None:
    """Return the agent's *last* text if it is a short statement that *user* denies, else None."""
    if COMPLAINS.search(user) or not denies(user, last.text):
        return None
    lines = [strip_markdown(line) for line in last.text.splitlines() if line.strip()]
    statement = " ".join(lines)
    is_prose = all(_is_line(line) and not line.endswith(":") for line in lines)
    is_stated = len(statement.split()) >= _STATEMENT_WORDS or bool(things(statement))
    is_short = len(statement) <= _LINE_CHARS and is_stated
    if is_prose and is_short and not _LOOKS.search(statement):
        return AnsweredLines(statement, last.place, is_denied=True)
    return None


def _find_renumbered(user: str, last: AgentText) -> AnsweredLines | None:
    """Return the sentence of the agent's *last* text with a number that *user* changes, or None."""
    statement = changes_number(user) and find_changed_number(user, strip_markdown(last.text))
    if not statement or len(statement) > _LINE_CHARS or "?" in statement:
        return None
    return AnsweredLines(statement, last.place, is_denied=True)


def _newest_first(texts: Sequence[AgentText]) -> Iterator[AgentText]:
    """Yield the agent's texts, the latest first, within _BACK_CHARS_MAX characters."""
    room = _BACK_CHARS_MAX
    for text in reversed(texts):
        room -= len(text.text)
        if room < 0:
            return
        yield text


def _find_marked(mark: str, text: str, *, is_last: bool) -> Iterator[str]:
    """Yield the last or first line of *text* that begins with *mark*, else one that contains it."""
    lines = [line for line in text.splitlines() if mark.casefold() in line.casefold()]
    is_name = len(mark) > 1 and not mark.isdigit()
    heads = [line for line in lines if _heads(mark, line)]
    if not heads and is_name:
        whole = re.compile(rf"(?<![\w-]){re.escape(mark)}(?![\w-])")
        heads = [line for line in lines if whole.search(line)][:1]
    if heads:
        yield strip_markdown(heads[-1 if is_last else 0])


def _heads(mark: str, line: str) -> bool:
    listed = _LISTED.match(line)
    return listed is not None and (listed[1] or listed[2]).casefold() == mark.casefold()


def _proposal(text: str) -> str:
    """Return the last question of *text* with its recommendation.

    Without a question, or with a bare "Which one?", only the recommendation or the text before it,
    and "" without that.
    """
    written = _TABLE_HEAD.sub("", _FENCED.sub("", text)).splitlines()
    lines = [strip_markdown(line) for line in written if _is_line(line)]
    parts = (part for line in reversed(lines) for part in reversed(split_asked(line)))
    asked = next((part for part in parts if "?" in part), "")
    recommended = next((line for line in reversed(lines) if _recommends(line)), "")
    if not recommended and asked:
        # A bare "Shall I?" refers to the text before it.
        at = next(index for index, line in enumerate(lines) if asked in line)
        others = [part for part in split_asked(lines[at]) if part != asked]
        recommended = " ".join(others) or (lines[at - 1] if at else "")
        if _leads_only(recommended):
            recommended = ""
    if not asked or ASKS_BARE.fullmatch(asked):
        return cut(recommended, CHARS_MAX)
    if asked in recommended:
        return cut(recommended, CHARS_MAX)
    room = CHARS_MAX - min(len(asked), _LINE_CHARS) - 1
    return "\n".join(filter(None, (cut(recommended, room), cut(asked, _LINE_CHARS))))


def _find_similar(user: str, before: Sequence[AgentText]) -> AnsweredLines | None:
    """Return the line that shares most words with *user*, at least two; of equals, the latest.

    Words of little meaning, such as "use", do not count.
    """
    mine = frozenset(word for word in long_words(user) if not content_stems(word) <= SAYS_LITTLE)
    best, best_shared = None, _SHARED_WORDS - 1
    for text in reversed(before):
        for line in _FENCED.sub("", text.text).splitlines():
            plain = strip_markdown(line)
            if line.rstrip().endswith((":", "}")) or _NARRATES.search(plain) or not _is_line(line):
                continue
            if "|" in line and all(len(cell.split()) <= _CELL_WORDS for cell in plain.split(" | ")):
                continue  # a table row of names, meaningless without its head
            shared = len(mine & long_words(line))
            if shared > best_shared:
                best, best_shared = AnsweredLines(cut(plain, _LINE_CHARS), text.place), shared
    return best


def _recommends(line: str) -> bool:
    """Return whether *line* recommends something and is no heading."""
    return _RECOMMENDS.search(line) is not None and not _leads_only(line)


def _leads_only(line: str) -> bool:
    """Return whether *line* only introduces the following lines: "Improve the layout:"."""
    return line.endswith(":") and not things(line)


def settles_nothing(user: str, asked: AnsweredLines) -> bool:
    """Return whether a short *user* only says to go on, or *asked* is only an introduction.

    >>> asked = AnsweredLines("Which of them do you prefer?", 0, is_asked=True)
    >>> settles_nothing("ok continuons", asked), settles_nothing("the second", asked)
    (True, False)
    """
    is_bare = len(user) <= BARE_CHARS
    return is_bare and (GOES_ON.fullmatch(user) is not None or _leads_only(asked.text))


def _is_line(line: str) -> bool:
    """Return whether *line* is a line of text, not markup, a call or code."""
    has_words = any(map(str.isalnum, line))
    return has_words and not _RULE.match(line) and not _NO_LINE.match(line)


def question_before(exchange: Exchange, asked: AnsweredLines) -> tuple[str, list[int]]:
    """Return the user's question to which the agent's few words *asked* were the answer.

    Returns the question with a space and its place in a list, or "" and an empty list. "No, on rev
    B it's PB5" and "PB3" do not name the pin; the user's question before them does.
    """
    place, user = exchange.previous
    is_answer = place < asked.place and len(asked.text.split()) <= _ANSWER_WORDS_MAX
    question = short_question(user) if is_answer and not asked.is_asked else ""
    return (f"{question} ", [place]) if question.endswith("?") else ("", [])


def short_question(text: str) -> str:
    """Return *text* if it is short, else its first question or sentence.

    "" for an approval, a mere name, a command, and fewer than three words.

    >>> short_question("It is slow. Who owns the DNS? " + "I see it. " * 15)
    'Who owns the DNS?'
    >>> short_question("ok thanks")
    ''
    """
    parts = sentences(text)
    asked = next((part for part in parts if part.endswith("?")), parts[0] if parts else "")
    short = text if len(text) <= _QUESTION_CHARS else cut(asked, _QUESTION_CHARS)
    names_nothing = approves(text) or only_names(text) or is_selection(text) or text.startswith("/")
    return "" if names_nothing or len(asked.split()) < _QUESTION_WORDS_MIN else short


def join_lines(lines: Sequence[str], count: int) -> str:
    """Return the distinct *lines* that *count* marks led to, with the same room for each mark."""
    room = max(CHARS_MAX // max(count, 1), _MARK_CHARS)
    distinct = dict.fromkeys(cut(line, room) for line in lines)
    return cut("\n".join(distinct), max(CHARS_MAX, _MARK_CHARS * min(count, MARKS_MAX // 2)))


def strip_markdown(line: str) -> str:
    """Return *line* without the marks of a list, a heading, a quotation, and emphasis."""
    return " ".join(_MARKDOWN.sub("", line.strip()).replace("**", "").split())


def cut(text: str, room: int) -> str:
    """Return *text* in *room* characters, cut after a sentence or, with " …", after a word.

    Text without spaces, or with a word that fills the room, is cut at a character.

    >>> cut("The gate is shut when Mr. Hall has gone home.", 30)
    'The gate is shut when Mr. …'

    >>> cut("Read the handbook", 12), cut("手引きを読んでください", 8)
    ('Read the …', '手引きを読ん …')
    """
    if len(text) <= room:
        return text
    short = text[:room]
    last = sentences(short)[-1:]  # probably incomplete
    whole = short[: short.rfind(last[0])].rstrip() if last else ""
    whole = max(whole, short[: short.rfind("; ") + 1], key=len)
    if len(whole) > room / 2:
        return whole
    end = short.rfind(" ")
    if end <= 0 or (end < room / 2 and has_sign_at(short, room - 1)):
        end = room - 2
    return short[:end] + " …"
