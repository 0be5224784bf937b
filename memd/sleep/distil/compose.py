"""Compose memories of an exchange: the user's words, what they answer, and the outcome. Pure.

A message becomes one memory, or a few if it is long. Questions, thanks and requests for work are
left out. A short answer is kept with the text that it answers.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from types import MappingProxyType
from typing import NamedTuple

from memd.domain.enums import Origin
from memd.domain.sleep.consolidation import ANSWER_PART, OUTCOME_PART, USER_PREFIX
from memd.sleep.distil.agent.calls import command, edited_path, shorten
from memd.sleep.distil.agent.outcomes import conclusion, is_outcome_of, pasted_error
from memd.sleep.distil.answers import (
    AnsweredLines,
    cut,
    denies,
    find_answered,
    find_own_question,
    question_before,
    settles_nothing,
    short_question,
)
from memd.sleep.distil.context_worth import find_confirmation, takes_back
from memd.sleep.distil.exchanges import Exchange, NapCandidate, NapKind, NapMemory
from memd.sleep.distil.language.current_moment import only_names, reports, spoken_form
from memd.sleep.distil.language.option_references import is_selection
from memd.sleep.distil.language.phrases import ROOT_CAUSE
from memd.sleep.distil.language.replies import (
    asks_permission,
    chooses,
    is_bare_step,
    speaks_of,
    takes_up,
    text_after_agreement,
    without_permission_question,
)
from memd.sleep.distil.language.rule_lists import with_items
from memd.sleep.distil.language.signs import POINTS
from memd.sleep.distil.language.words import Words, is_interruption, words
from memd.sleep.distil.passages import (
    UserPassage,
    find_passages,
    plan_memory,
    rules,
    without_asking,
)
from memd.sleep.distil.proposals import find_chosen
from memd.sleep.distil.sentence_worth import SentenceWorth, answers_nothing
from memd.sleep.distil.user.quotations import QUOTED_CHARS, drop_quoted, fold_words, quoted_lines
from memd.sleep.distil.user.settled_values import find_changed_number
from memd.sleep.distil.user.speech_acts import STANDING, Act, Judgement, approves, judge, kind_of
from memd.text.preference import is_self_contained
from memd.text.words import sentences

CHARS_MAX = 900
"""The most characters of a memory."""
_ANSWERED = 0.6  # the score of an answer
_BARE_WORDS = 3
_ALONE_CHARS = 160  # a longer passage needs no context
_TEMPLATE_CHARS = 600  # a longer message right after a command is what the command expands to
_OUTCOME_CHARS_MIN = 60  # room for an outcome within a memory
_ENDED = 0.4  # the score of an outcome
_NOTHING = Words()
_ENDED_CHARS_MIN = 60  # of an outcome that is a memory by itself
_SAYS_CHARS_MIN = 60  # of the agent's text before it asks whether to go on
# Outcomes that need the text before them: "it now lives there", "all three fixed".
_LEANS = re.compile(
    r"\W*(?:i|it|these|those|they|both|all (?:of )?(?:\w+ )?(?:fixed|done|set)|same)\b",
    re.IGNORECASE,
)
_STOPPED_CHARS = 120
_LATE_TEXTS = 12
_QUOTE = re.compile(r"[\"\u201c]([^\"\u201c\u201d]{30,300})[\"\u201d]")
_DECLINES = re.compile(
    r"^[^:\n]{0,60}\b(?:don't|do not|not|no|never|skip|drop|ignore)\b[^:\n]{0,60}: ", re.IGNORECASE
)
# An additional order after a "yes", unrelated to the question.
_ADDS = re.compile(r"(?:also |and )?(?:add|create|write|run|commit|push|test|check)\b", re.I)
_TOLD = Judgement(Act.ENVIRONMENT, _ANSWERED)
_TAKEN_BACK = Judgement(Act.CORRECTION, STANDING)
_PICKED = Judgement(Act.DECISION, _ANSWERED)
_PICKED_OPTION = Judgement(Act.DECISION, STANDING)


class UserTurn(NamedTuple):
    """A turn: an exchange that the user began, with their own *words* in its message.

    *slot* identifies the message. *stopped*: they interrupted the agent just before. *template* is
    the text that a command expanded to, and *fresh* are the *words* without quotations of the
    agent. *worths* are a model's results for the sentences, by their text.
    """

    exchange: Exchange
    words: Words
    slot: str
    stopped: bool = False
    template: Words = _NOTHING
    fresh: Words = _NOTHING
    worths: Mapping[str, SentenceWorth] = MappingProxyType({})

    @property
    def own(self) -> str:
        """The text of the *fresh* words."""
        return "\n".join(self.fresh.paragraphs)


def turns(exchanges: Sequence[Exchange]) -> tuple[UserTurn, ...]:
    """Return the turns of *exchanges*: each begins with a message that the user wrote.

    A message of a program (a notification, a summary, the text of a command) begins no turn, and
    what the agent did after it belongs to the turn before. A pasted error does begin a turn.
    """
    result: list[UserTurn] = []
    count: Counter[str] = Counter()
    stopped = False
    for exchange in exchanges:
        own = without_asking(words(exchange.user))
        last = result[-1] if result else None
        if is_interruption(exchange.user):
            stopped = True
        is_template = last is not None and bool(last.words.command) and not last.exchange.texts
        is_template = is_template and len(exchange.user) > _TEMPLATE_CHARS
        is_by_user = bool(
            own.paragraphs or own.plan or own.is_answer or pasted_error(exchange.user)
        )
        if last and not own.command and (is_template or not is_by_user):
            last.exchange.append(exchange)
            if is_template:
                result[-1] = last._replace(template=own)
            continue
        count[exchange.user] += 1
        slot = slot_of(exchange.user, count[exchange.user])
        whole = replace(exchange, texts=list(exchange.texts), runs=list(exchange.runs))
        result.append(UserTurn(whole, own, slot, stopped))
        stopped = False
    return tuple(_with_fresh(result))


def _with_fresh(turns: Sequence[UserTurn]) -> Iterator[UserTurn]:
    """Yield *turns* with their *fresh* words."""
    agent_lines: list[str] = []
    for turn in turns:
        yield turn._replace(fresh=drop_quoted(turn.words, agent_lines))
        agent_lines += [fold_words(agent_text.text) for agent_text in turn.exchange.texts]


def compose_memories(session: Sequence[UserTurn]) -> list[NapCandidate]:
    """Return the candidates composed of the turns of a *session*, in their order."""
    candidates: list[NapCandidate] = []
    earlier: list[Exchange] = []
    for turn, after in zip_longest(session, session[1:]):
        own = list(_memories(turn, earlier, _conclusion_of(turn, after)))
        candidates += own or _confirmed_memory(turn)
        candidates += rules(turn.words.command, turn.template, turn.exchange.place, turn.slot)
        candidates += plan_memory(turn.words.plan, turn.exchange.place, turn.slot)
        earlier.append(turn.exchange)
    return candidates


def _confirmed_memory(turn: UserTurn) -> Iterator[NapCandidate]:
    """Yield the memory of the user's words if the agent repeats them."""
    if answer := find_confirmation(turn.own, turn.exchange):
        yield _memory(turn, UserPassage(turn.own, _TOLD), None, answer)


def _conclusion_of(turn: UserTurn, after: UserTurn | None) -> str:
    """Return the conclusion of *turn*, "" if there is none or the turn *after* rejects it.

    A user rejects it by denying the agent's last text, or by correcting it.
    """
    following = "\n".join(after.words.paragraphs) if after else ""
    ended = conclusion(turn.exchange, following)
    last = turn.exchange.texts[-1] if ended else None
    if (
        last
        and denies(following, last.text)
        and _place_of_ending(turn.exchange, ended) == last.place
    ):
        return ""
    return "" if after and corrects(after.exchange.user, ended, following) else ended


def corrects(user: str, statement: str, own: str) -> bool:
    """Return whether *user*, a message with *own* words, quotes or renumbers *statement*."""
    flat = fold_words(statement)
    is_quoted = any(fold_words(quote) in flat for quote in _QUOTE.findall(user))
    return (is_quoted and not approves(own)) or bool(find_changed_number(own, statement))


def slot_of(text: str, number: int) -> str:
    """Return the slot of the *number*-th message with this *text*; it is independent of places."""
    return hashlib.sha256(f"{number}:{text}".encode(errors="replace")).hexdigest()[:12]


def _is_question(text: str) -> bool:
    return bool(text) and judge(text).act is Act.QUESTION


def _interrupted_call(turn: UserTurn, earlier: Sequence[Exchange]) -> AnsweredLines | None:
    """Return the call that the user interrupted, None if there is none or it is unknown."""
    if not turn.stopped or not earlier or not earlier[-1].runs:
        return None
    run = earlier[-1].runs[-1]
    called = command(run)
    text = shorten(called.line) if called else edited_path(run)
    return AnsweredLines(f"(stopped) {cut(text, _STOPPED_CHARS)}", run.place) if text else None


def _memories(turn: UserTurn, earlier: Sequence[Exchange], ended: str) -> Iterator[NapCandidate]:
    """Yield the memories of one turn after the *earlier* ones; *ended* is its conclusion or ""."""
    own = turn.fresh
    whole = "\n".join(turn.words.paragraphs)
    if chosen := find_chosen(whole, earlier, turn.worths):
        yield from _passage_memories(turn, [UserPassage(whole, _PICKED_OPTION)], chosen, ended)
        return
    asked = _find_answered(turn.words, own, earlier) if whole else None
    mine = turn.own
    statement = (own if asked else own.without_lead()).without_rules()
    has_outcome = bool(ended) and _stands_alone(ended)
    kept = [
        passage._replace(text=with_items(passage.text, turn.exchange.user))
        for passage in find_passages(
            statement, turn.worths, stopped=turn.stopped, has_outcome=has_outcome
        )
    ] or [UserPassage(mine, _TAKEN_BACK)] * takes_back(mine, earlier)
    is_led = asked and (asked.is_marked or asked.is_denied or asked.is_fact)
    is_plain = asked is not None and not (is_led or approves(whole))
    if is_plain and answers_nothing(turn.worths) and not (kept and asked and asked.is_asked):
        asked = None
    if not kept and asked and (asked.is_fact or _answers(whole, asked)):
        lines = mine.split("\n")
        left = "\n".join(line for line in lines if asked.is_fact or not is_selection(line))
        is_any = left or asked.is_marked
        kept = [UserPassage(left, _judge_answer(asked))] if is_any else []
    elif not kept and ended and (pick := quoted_lines(turn.words, own)) and not _is_question(mine):
        asked, kept = AnsweredLines(pick, turn.exchange.place), [UserPassage("", _PICKED)]
    leave = without_permission_question(asked.text) if asked and not asked.is_marked else None
    if kept and leave is not None and len(leave) < _SAYS_CHARS_MIN:
        asked = None  # the message is more than an answer to a bare "shall I go on?"
    # The outcome of a step that the user approved, and the fix of an error that they showed, are
    # worth as much as an answer.
    is_requested = (leave is not None and approves(whole)) or pasted_error(turn.exchange.user)
    worth = _ANSWERED if is_requested else _ENDED
    if not kept and ended and (text := _outcome_text(turn.exchange, ended, mine, leave)):
        yield _outcome_memory(turn, text, worth)
    context = _fitting_answer(kept[-1], asked, whole) if kept else None
    yield from _passage_memories(turn, kept, context or _interrupted_call(turn, earlier), ended)


def _passage_memories(
    turn: UserTurn, passages: Sequence[UserPassage], context: AnsweredLines | None, ended: str
) -> Iterator[NapCandidate]:
    """Yield a memory for each of *passages*; a single short one is stored with its *context*.

    The conclusion *ended* is part of the last memory, or one by itself if it is of other work.
    """
    text = passages[0].text if passages else ""
    if len(passages) != 1 or len(text) > _ALONE_CHARS or is_self_contained(text):
        context = None
    mine = "\n".join(turn.words.paragraphs)
    is_related = context or turn.words.command or is_outcome_of(turn.exchange.user, mine, ended)
    for number, part in enumerate(passages):
        numbered = turn._replace(slot=f"{turn.slot}-{number}") if number else turn
        is_last = part is passages[-1]
        yield _memory(numbered, part, context, ended if is_related and is_last else "")
    if passages and not is_related and _stands_alone(ended):
        yield _outcome_memory(turn._replace(slot=f"{turn.slot}-outcome"), ended, _ENDED)


def _judge_answer(asked: AnsweredLines) -> Judgement:
    """Return the judgement of an answer by the text that it answers."""
    if asked.is_fact:
        return Judgement(Act.ENVIRONMENT, STANDING)
    return Judgement(Act.CORRECTION if asked.is_denied else Act.DECISION, _ANSWERED)


def _fitting_answer(
    part: UserPassage, asked: AnsweredLines | None, whole: str
) -> AnsweredLines | None:
    """Return *asked*; None if *part* is a correction of something else.

    *asked* is found by words of the *whole* message, which need not be those of the correction.
    """
    if asked is None or not part.text or part.judged.act is not Act.CORRECTION:
        return asked
    is_led = asked.is_marked or asked.is_asked or asked.is_denied or approves(whole)
    return asked if is_led or speaks_of(part.text, asked.text) else None


def _find_answered(whole: Words, own: Words, earlier: Sequence[Exchange]) -> AnsweredLines | None:
    """Return what *whole* answers of the agent's texts in *earlier* exchanges.

    That is the user's own question if the agent could not answer it. If the message quotes the
    line with its number, that line is used: in a later list the number may be that of another line.
    """
    texts = [text for exchange in earlier for text in exchange.texts]
    user = "\n".join(whole.paragraphs)
    asked = find_answered(user, texts) or find_own_question(user, earlier)
    if asked and asked.is_marked and (pick := quoted_lines(whole, own)):
        return asked if speaks_of(pick, asked.text) else asked._replace(text=pick)
    return asked


def _memory(
    turn: UserTurn, part: UserPassage, asked: AnsweredLines | None, ended: str
) -> NapCandidate:
    """Return the memory of a passage with the text that it answers and the conclusion, if any.

    An empty passage is a pick: the answered line is its text.
    """
    place = turn.exchange.place
    text = part.text
    asked_at: list[int] = []
    if asked and not text:
        lead = "The user's word" if _DECLINES.search(asked.text) else "The user picks"
        text = f"{lead}: {asked.text}"
    elif asked:
        question, asked_at = question_before(turn.exchange, asked)
        asked_at += [asked.asked_at] if asked.asked_at is not None else []
        text = f"{USER_PREFIX}{text}{ANSWER_PART}{question}{asked.text}"
    room = CHARS_MAX - len(text) - len(OUTCOME_PART)
    if ended and room > _OUTCOME_CHARS_MIN:
        text += OUTCOME_PART + cut(ended, room)
    end = [_place_of_ending(turn.exchange, ended)] if ended else []
    places = (place, *asked_at, *([asked.place] if asked else ()), *end)
    memory = NapMemory(
        cut(text, CHARS_MAX),
        kind_of(part.judged) or NapKind.DECISION,
        tuple(dict.fromkeys(places)),
        turn.slot,
        Origin.ASSISTANT if asked or ended else Origin.PERSON,
    )
    return NapCandidate(memory, part.judged.score, by_model=part.judged.by_model)


def _outcome_text(exchange: Exchange, ended: str, mine: str, leave: str | None) -> str:
    """Return the text of a memory of the conclusion *ended*, "" if it cannot be understood alone.

    It may be preceded by *leave*, the agent's text before it asked whether to go on, or by the
    question in *mine*, the user's words.
    """
    if _stands_alone(ended):
        return ended
    before = leave or (short_question(mine) if any(text.plain for text in exchange.texts) else "")
    return f"{before}{OUTCOME_PART}{ended}" if before else ""


def _stands_alone(ended: str) -> bool:
    """Return whether a conclusion is long enough and can be understood by itself."""
    leans = _LEANS.match(ended) and not ROOT_CAUSE.search(ended)
    return len(ended) >= _ENDED_CHARS_MIN and not leans


def _outcome_memory(turn: UserTurn, ended: str, score: float) -> NapCandidate:
    places = (turn.exchange.place, _place_of_ending(turn.exchange, ended))
    memory = NapMemory(ended, NapKind.OUTCOME, places, turn.slot, Origin.ASSISTANT)
    return NapCandidate(memory, score)


def _place_of_ending(exchange: Exchange, ended: str) -> int:
    """Return the place of the text that has the last sentence of *ended*, else the last place."""
    last = fold_words(sentences(ended)[-1][:QUOTED_CHARS])
    texts = exchange.texts[: -1 - _LATE_TEXTS : -1]
    return next((text.place for text in texts if last in fold_words(text.text)), exchange.end)


def _answers(text: str, asked: AnsweredLines) -> bool:
    """Return whether *text* settles what was *asked*: it agrees, chooses or gives a value.

    Permission for the next step settles nothing, nor does an order to do something now.
    """
    act = judge(text).act
    is_empty = only_names(text) or reports(spoken_form(text)) or settles_nothing(text, asked)
    if act is Act.QUESTION or is_empty:
        return False
    if asked.is_marked:  # picking a question to discuss next settles nothing
        return not takes_up(text) and not (is_selection(text) and asked.text.endswith("?"))
    if asked.is_denied or asks_permission(asked.text):
        return asked.is_denied
    if approves(text):
        more = text_after_agreement(text)
        is_order = judge(more).act is Act.REQUEST and _ADDS.match(more) is not None
        is_bare = len(more.split()) <= _BARE_WORDS and not (is_order and not POINTS.search(more))
        return is_bare or judge(more).act is not Act.REQUEST
    if act is not Act.REQUEST:
        return asked.is_asked and (chooses(asked.text) or speaks_of(text, asked.text))
    is_bare = len(text.split()) <= _BARE_WORDS and POINTS.search(text) is not None
    return asked.is_asked and is_bare and chooses(asked.text) and not is_bare_step(text)
