"""A session in a few lines: what was asked and done, what went wrong, how it ended, what is open.

Made to be the first thing that the next session of the same project is told. Each line
is a field with a plain label, and a field that has nothing is left out; whoever writes
it in other words writes the same fields. A function of the exchanges alone.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from memd.domain.sleep.consolidation import (
    DIGEST_JOINT,
    ENDED_FIELD,
    OPEN_FIELD,
    USER_OPEN_FIELD,
    user_part,
)
from memd.extract.acknowledgements import acknowledges
from memd.sleep.distil.agent.calls import command, edited_path
from memd.sleep.distil.agent.outcomes import (
    OUTCOME_CHARS_MAX,
    is_worth_it,
    outcome,
    pasted_error,
    trust_in_conclusion,
)
from memd.sleep.distil.agent.put_off import OpenPoint
from memd.sleep.distil.agent.small_talk import without_small_talk
from memd.sleep.distil.agent.unfinished import find_unfinished
from memd.sleep.distil.agent.work import (
    addresses,
    changed_files,
    last_failure,
    ran_commands,
    working_commands,
)
from memd.sleep.distil.answers import cut
from memd.sleep.distil.exchanges import USERS_KINDS, Exchange, NapMemory
from memd.sleep.distil.language.left import LABEL, SUMS_UP, closes, drop_farewells
from memd.sleep.distil.language.prose import sentences as prose_sentences
from memd.sleep.distil.language.words import content_words, is_interruption, letters, words
from memd.sleep.distil.user.acts import approves
from memd.store.search.signs import SIGNS
from memd.text.words import content_stems, sentences

DIGEST_TOKENS_MAX = 300
_CHARS_PER_TOKEN = 4
_WORD_PIECE_CHARS, _CODE_PIECE_CHARS = 4, 3
_REQUEST_CHARS = 160
_MORE_MAX, _MORE_CHARS, _MORE_WORDS_MIN = 4, 90, 5  # of the requests between the first and the last
_WORDS_MIN, _AGREES_WORDS = 2, 4
FIELDS = (
    "Asked first",
    "Asked last",
    "Changed",
    "Commands that worked",
    "Addresses",
    "Went wrong",
    ENDED_FIELD,
    OPEN_FIELD,
    "Also asked",
)
"""What the words of an agent, or of a model that reads the session, may tell."""
_LINES = (*FIELDS[:-2], USER_OPEN_FIELD, *FIELDS[-2:])
_OF_ANY_TALK = frozenset({"Asked first", "Asked last", "Also asked", ENDED_FIELD})
# Which fields go first when there is no room for all.
_LEAST_FIRST = (
    "Also asked",
    "Addresses",
    "Went wrong",
    "Commands that worked",
    "Changed",
    "Asked last",
)

_BETWEEN = "; "  # open points; a brief parts them there
_POINT_SHARE = 3  # of the room of another field: a later brief tells what is open, and no more
_SAID_SHARE = 0.72
_PIECE = re.compile(rf"[{SIGNS}]|[^\W{SIGNS}]+|[^\w\s]")
_LEAVING = frozenset(("/exit", "/quit", "/clear", "/login", "/compact", "/model", "/resume"))
_SUMMARY_WORDS_MIN = 6  # "Status: 200 OK" sums up nothing
_RECENT = 3  # exchanges: an outcome so long before later work is not how the session ended
_TALK_RECENT = 8  # the same in a talk without any work
_ANSWER_CHARS = 300  # of one that is told as it stands
_STEMS_MIN = 2
# "That is done" says nothing.
_LITTLE = re.compile(
    r"\b(?:that|this|it|is|are|now|done|added|noted|saved|updated|written|good|fine|right|correct)\b",
    re.IGNORECASE,
)
_REFUSES = re.compile(r"\W*(?:not|never|nicht|pas|nada)\b", re.IGNORECASE)


def digest(exchanges: Sequence[Exchange], memories: Iterable[NapMemory] = ()) -> str:
    """Return the digest of a session, "" for one of which only a single request is known.

    *exchanges* are those of ``turns``: what a command expands to belongs to it.
    A question alone would be found by whoever asks it again, and answers nothing; several that were
    answered tell what the session was about. No message is repeated that one of the session's
    *memories* has, but how the first begins.
    At most DIGEST_TOKENS_MAX tokens, by four characters to a token and by word pieces.
    """
    memories = tuple(memories)
    worked = without_small_talk(exchanges, memories)
    requests = list(_requests(worked))
    if not requests:
        return ""
    first, between, last = _split_requests(requests, memories)
    runs = [run for exchange in exchanges for run in exchange.runs]
    ran = ran_commands(runs)
    fields = {
        "Asked first": first,
        "Asked last": last,
        "Changed": changed_files(runs),
        "Commands that worked": "; ".join(working_commands(ran)),
        "Addresses": ", ".join(addresses(exchanges, ran)),
        "Went wrong": last_failure(ran),
        **_ending_fields(_last_outcome(worked), find_unfinished(exchanges)),
        "Also asked": DIGEST_JOINT.join(_more_requests(between)),
    }
    is_known = any(text for name, text in fields.items() if name not in _OF_ANY_TALK)
    return _fit(fields) if is_known or _is_talk(requests, exchanges) else ""


def _is_talk(requests: Sequence[str], exchanges: Sequence[Exchange]) -> bool:
    """Return whether something came of a session without any work.

    That is an outcome that is worth it, or answers to several requests; the same asked again, in
    more words, or in a word ("and now?") is one.
    """
    asked = [exchange for exchange in exchanges if exchange.user]
    if not asked or _last_summary(asked[-1]) or _worth_outcome(asked, ""):
        return bool(asked)
    first, *others = map(content_words, requests)
    is_again = all(first <= each or each <= first for each in others)
    return not is_again and any(exchange.texts for exchange in asked)


def _ending_fields(ended: str, left: Sequence[OpenPoint]) -> dict[str, str]:
    """Return how a session ended and what it *left* open, apart by who says so.

    What is open stands there in any case, for a later brief reads it there. A sentence that says
    no more than that is not told of the end, nor an agent's that repeats a point of the user.
    """
    own = [point.text for point in left if point.by_user]
    own_words = list(map(content_words, own))
    others = [
        point.text
        for point in left
        if not (point.by_user or any(_covers(its, content_words(point.text)) for its in own_words))
    ]
    titles = [content_words(title) for title in (*own, *others)]
    every = frozenset(word for title in titles for word in title)
    kept = [
        sentence
        for sentence in sentences(ended)
        if not _covers(every, content_words(sentence))
        and not (
            LABEL.match(sentence) and any(_covers(content_words(sentence), its) for its in titles)
        )
    ]
    open_fields = {USER_OPEN_FIELD: _join_points(own), OPEN_FIELD: _join_points(others)}
    return {ENDED_FIELD: " ".join(kept), **open_fields}


def _join_points(points: Iterable[str]) -> str:
    """Return *points* as a field, whose semicolons part them: a point has none of its own."""
    return _BETWEEN.join(" ".join(each.split()).replace(_BETWEEN, ", ") for each in points)


def _covers(terms: frozenset[str], other: frozenset[str]) -> bool:
    """Return whether the words of one text say what the *other* does."""
    return bool(other) and len(terms & other) >= _SAID_SHARE * len(other)


def _fit(fields: dict[str, str]) -> str:
    """Return the fields as lines that are no longer than a digest may be.

    Those that matter least are left out where there is no room for them; where there is none for
    the others, they are told in fewer words: no open point is lost.
    """
    left = fields | dict.fromkeys(_LEAST_FIRST, "")
    for name in reversed(_LEAST_FIRST):
        more = {**left, name: fields[name]}
        if tokens(_lines(more)) <= DIGEST_TOKENS_MAX:
            left = more
    short, room = left, max(map(len, left.values()))
    while tokens(_lines(short)) > DIGEST_TOKENS_MAX:
        room -= room // 10 + 1
        short = _shorten(left, room)
    return _lines(short)


def _shorten(fields: dict[str, str], room: int) -> dict[str, str]:
    """Return *fields* with *room* characters for each that is always told, more for open points."""
    phrases = {name: cut(fields[name], room) for name in ("Asked first", ENDED_FIELD)}
    points = {
        name: _BETWEEN.join(
            cut(point, _POINT_SHARE * room) for point in fields[name].split(_BETWEEN)
        )
        for name in (USER_OPEN_FIELD, OPEN_FIELD)
    }
    return {**fields, **phrases, **points}


def _lines(fields: dict[str, str]) -> str:
    """Return a line for each field: no text within one begins a line, as a label does."""
    texts = {label: " ".join(fields[label].split()) for label in _LINES}
    return "\n".join(f"{label}: {text}" for label, text in texts.items() if text)


def tokens(text: str) -> int:
    """Return how many tokens *text* has at most, by its characters and by its word pieces.

    >>> tokens("go test ./..."), tokens("手引きを読む"), tokens("")
    (7, 6, 0)
    """
    pieces = sum(
        1 + (len(piece) - 1) // (_WORD_PIECE_CHARS if piece.isalpha() else _CODE_PIECE_CHARS)
        for piece in _PIECE.findall(text)
    )
    return max(pieces, -(-len(text) // _CHARS_PER_TOKEN))


def _requests(exchanges: Iterable[Exchange]) -> Iterator[str]:
    """Yield what the user asked for in each message that asks for something."""
    for exchange in exchanges:
        own = words(exchange.user)
        if own.command:
            # One after which the agent did nothing was for the assistant's own program.
            if own.command.split()[0] not in _LEAVING and (exchange.texts or exchange.runs):
                yield own.command[:_REQUEST_CHARS]
            continue
        text = " ".join(" ".join(own.paragraphs).split())
        if own.is_answer and not text:
            text = f"(a pasted answer) {_first_line(exchange.user)}"
        if len(text.split()) < _WORDS_MIN or _is_empty(text):
            continue
        yield cut(
            f"{text} {_title(exchange.user) or pasted_error(exchange.user)}"
            if text.endswith(":")
            else text,
            _REQUEST_CHARS,
        )


def _split_requests(
    requests: Sequence[str], memories: Iterable[NapMemory]
) -> tuple[str, list[str], str]:
    """Return the first of *requests*, those between, and the last, without what *memories* have.

    Of a first one that they have only the beginning, which tells what the session was about, and
    the next. Of one that was cut the last sentence need only begin like theirs.
    """
    known = {
        letters(sentence)
        for memory in memories
        if memory.kind in USERS_KINDS
        for line in user_part(memory.text).splitlines()
        for sentence in sentences(line)
    }
    first, *between = requests
    last = between.pop() if between else ""
    between = [each for each in between if not _is_known(each, known)]
    if _is_known(first, known):
        first = DIGEST_JOINT.join([cut(first, _MORE_CHARS), *between[:1]])
        del between[:1]
    return first, between, "" if _is_known(last, known) else last


def _is_known(request: str, known: Collection[str]) -> bool:
    *first, last = map(letters, sentences(request) or [request])
    is_begun = request.endswith("…") and any(each.startswith(last) for each in known)
    return (is_begun or last in known) and all(each in known for each in first)


def _more_requests(between: Sequence[str]) -> list[str]:
    """Return the last few requests that stand *between* the first and the last one."""
    more = [each for each in dict.fromkeys(between) if len(each.split()) >= _MORE_WORDS_MIN]
    return [cut(each, _MORE_CHARS) for each in more[-_MORE_MAX:]]


def _is_empty(text: str) -> bool:
    """Return whether *text* only agrees ("ok commit"), thanks or takes leave."""
    rest = drop_farewells(text)
    is_step = approves(rest) and len(rest.split()) <= _AGREES_WORDS
    return not rest or is_step or acknowledges(rest)


def _first_line(text: str) -> str:
    return next((line for line in map(str.strip, text.splitlines()) if line[:1].isalnum()), "")


def _title(text: str) -> str:
    """Return the first heading of what the user pasted."""
    heading = re.search(r"^#{1,3} (\S.{0,200})$", text, re.MULTILINE)
    return heading[1].strip() if heading else ""


def _last_outcome(exchanges: Sequence[Exchange]) -> str:
    """Return how the session ended: what the last answer to a real request says.

    A short answer is told in its own words, and where it says nothing, nothing is: what was said
    before was of another request. Of a longer one its outcome is told, or the last that is worth
    it. Thanks and leave are no requests; an agent that sums up even then says itself how it ended.
    """
    asked = [each for each in exchanges if each.user]
    if asked and (summary := _last_summary(asked[-1])):
        return summary
    following = ""
    while asked and _is_over(asked[-1]):
        following = asked.pop().user
    if not asked or trust_in_conclusion(following) <= 0 or _REFUSES.match(following):
        return ""
    answer = asked[-1].texts[-1].text if asked[-1].texts else ""
    if answer and len(answer) <= _ANSWER_CHARS and "\n" not in answer.strip():
        return _plain_answer(answer)
    return _worth_outcome(asked, following)


def _is_over(exchange: Exchange) -> bool:
    """Return whether *exchange* is of no request, or of one that nobody answered.

    After a mere yes the agent may work.
    """
    if not exchange.runs:
        own = " ".join(words(exchange.user).paragraphs)
        return not exchange.texts or bool(own and _is_empty(own))
    return closes(exchange.user) and not any(map(edited_path, exchange.runs))


def _plain_answer(text: str) -> str:
    """Return what a short answer states, "" where that is little or the middle of a quotation."""
    statement = " ".join(each.text for each in prose_sentences(text) if each.text[-1:] != "?")
    is_whole = statement.count('"') % 2 == 0
    stems = content_stems(_LITTLE.sub(" ", statement))
    return statement if is_whole and len(stems) >= _STEMS_MIN else ""


def _worth_outcome(asked: Sequence[Exchange], following: str) -> str:
    """Return the last outcome of *asked* that is worth it, without one the last of all.

    Where work followed for more than _RECENT exchanges, of which less is told, that is how it
    ended. A talk without any work did not end with what was said so long before.
    """
    last, worked = "", ""
    worked_at = 0
    is_talk = not any(each.runs for each in asked)
    for at, exchange in enumerate(reversed(asked)):
        if is_talk and at > _TALK_RECENT:
            return last
        text = outcome(exchange, following)
        if is_worth_it(text, exchange):
            return worked if worked and at - worked_at > _RECENT else text
        plain = text or outcome(exchange, following, by_rule=True)
        if plain and not worked and any(edited_path(run) or command(run) for run in exchange.runs):
            worked, worked_at = plain, at
        last = last or plain
        if not is_interruption(exchange.user) and words(exchange.user).paragraphs:
            following = exchange.user
    return last


def _last_summary(exchange: Exchange) -> str:
    """Return the sentence in which the agent sums up in its last words, "" without one."""
    text = exchange.texts[-1].text if exchange.texts else ""
    for line in text.splitlines():
        for sentence in sentences(line):
            label = SUMS_UP.match(sentence) if len(sentence) <= OUTCOME_CHARS_MAX else None
            if label and len(sentence[label.end() :].split()) >= _SUMMARY_WORDS_MIN:
                return sentence[label.end() :]
    return ""
