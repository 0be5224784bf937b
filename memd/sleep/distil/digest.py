"""Write the digest of a session: what was asked and done, how it ended, what is open. Pure.

The next session of the same project begins with it. Each line is a field with a label, and empty
fields are left out. A language model that rewrites a digest writes the same fields.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from memd.domain.sleep.consolidation import (
    DIGEST_JOINT,
    ENDED_FIELD,
    OPEN_FIELD,
    USER_OPEN_FIELD,
    corrected_part,
    user_part,
)
from memd.extract.acknowledgements import acknowledges
from memd.sleep.distil.agent.calls import command, edited_path
from memd.sleep.distil.agent.deferrals import OpenPoint
from memd.sleep.distil.agent.open_points import find_unfinished
from memd.sleep.distil.agent.outcomes import (
    OUTCOME_CHARS_MAX,
    outcome,
    pasted_error,
    trust_in_conclusion,
)
from memd.sleep.distil.agent.small_talk import without_small_talk
from memd.sleep.distil.agent.work import (
    addresses,
    changed_files,
    last_failure,
    ran_commands,
    working_commands,
)
from memd.sleep.distil.answers import cut
from memd.sleep.distil.environment.replacements import Withdrawal
from memd.sleep.distil.exchanges import USERS_KINDS, Exchange, NapMemory
from memd.sleep.distil.language.open_work import LABEL, SUMS_UP, closes, drop_farewells
from memd.sleep.distil.language.prose import sentences as prose_sentences
from memd.sleep.distil.language.words import content_words, is_interruption, letters, words
from memd.sleep.distil.user.speech_acts import approves
from memd.store.search.cjk_bigrams import SIGNS
from memd.text.words import content_stems, sentences, tells_only_secret

DIGEST_TOKENS_MAX = 300
_CHARS_PER_TOKEN, _WORD_PIECE_CHARS, _CODE_PIECE_CHARS = 4, 4, 3
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
    "Also said",
)
"""The labels that an agent, or a model that reads the session, may fill."""
_LINES = (*FIELDS[:-2], USER_OPEN_FIELD, *FIELDS[-2:])
_OF_ANY_TALK = frozenset({"Asked first", "Asked last", "Also said", ENDED_FIELD})
# The fields that are dropped if there is no room for all, the least important first.
_LEAST_FIRST = (
    "Also said",
    "Addresses",
    "Went wrong",
    "Commands that worked",
    "Changed",
    "Asked last",
)

_BETWEEN = "; "  # between open points; a brief splits the field there
_POINT_SHARE = 3  # an open point has this multiple of another field's room: later briefs use these
_SAID_SHARE = 0.72
_PIECE = re.compile(rf"[{SIGNS}]|[^\W{SIGNS}]+|[^\w\s]")
_LEAVING = frozenset(("/exit", "/quit", "/clear", "/login", "/compact", "/model", "/resume"))
_SUMMARY_WORDS_MIN = 6  # "Status: 200 OK" is no summary
_RECENT = 3  # exchanges; an outcome longer before later work is not how the session ended
_TALK_RECENT = 8  # the same for a session without tool calls
_ANSWER_CHARS = 300  # a shorter answer is quoted verbatim
_STEMS_MIN = 2
# Words without content: "That is done".
_LITTLE = re.compile(
    r"\b(?:that|this|it|is|are|now|done|added|noted|saved|updated|written|good|fine|right|correct)\b",
    re.IGNORECASE,
)
_REFUSES = re.compile(r"\W*(?:not|never|nicht|pas|nada)\b", re.IGNORECASE)


def digest(exchanges: Sequence[Exchange], memories: Iterable[NapMemory] = ()) -> str:
    """Return the digest of a session, "" if it would have only a single request.

    A lone question would match whoever asks it again, and answers nothing. *exchanges* are those of
    the turns (``compose.turns``). A message that one of *memories* corrects is left out, and one
    that is in them is not repeated, except the beginning of the first. At most DIGEST_TOKENS_MAX
    tokens (:func:`tokens`).
    """
    memories = tuple(memories)
    worked = without_small_talk(exchanges, memories)
    corrected = {at for each in memories if corrected_part(each.text) for at in each.places[1:]}
    requests = list(_requests(each for each in worked if each.place not in corrected))
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
        "Also said": DIGEST_JOINT.join(_more_requests(between)),
    }
    has_more = any(text for name, text in fields.items() if name != "Asked first")
    if not has_more and _contain(memories, first):
        return ""
    is_known = any(text for name, text in fields.items() if name not in _OF_ANY_TALK)
    return _fit(fields) if is_known or _is_talk(requests, exchanges) else ""


def _contain(memories: Iterable[NapMemory], request: str) -> bool:
    """Return whether *memories* contain all of *request*, as a pick does the question before it."""
    texts = "\n".join(letters(memory.text) for memory in memories)
    parts = (letters(part) for part in sentences(request) if not acknowledges(part))
    return all(part in texts for part in parts)


def _is_talk(requests: Sequence[str], exchanges: Sequence[Exchange]) -> bool:
    """Return whether a session without tool calls is worth a digest.

    It is with an outcome, or with answers to several different requests: a repeated or extended
    request is the same one.
    """
    asked = [exchange for exchange in exchanges if exchange.user]
    if not asked or _last_summary(asked[-1]) or _outcome_of_requests(asked, ""):
        return bool(asked)
    first, *others = map(content_words, requests)
    is_repeated = all(first <= other or other <= first for other in others)
    return not is_repeated and any(exchange.texts for exchange in asked)


def _ending_fields(ended: str, left: Sequence[OpenPoint]) -> dict[str, str]:
    """Return the fields of how a session ended and of what is open, by the user and by others.

    The open points are always whole, because later briefs read them. Sentences of the end, and
    points of others, that only repeat them are left out.
    """
    own = [point.text for point in left if point.by_user]
    own_words = list(map(content_words, own))
    others = [
        point.text
        for point in left
        if not (
            point.by_user or any(_covers(title, content_words(point.text)) for title in own_words)
        )
    ]
    titles = [content_words(title) for title in (*own, *others)]
    every = frozenset(word for title in titles for word in title)
    kept = [
        sentence
        for sentence in sentences(ended)
        if not _covers(every, content_words(sentence))
        and not (
            LABEL.match(sentence)
            and any(_covers(content_words(sentence), title) for title in titles)
        )
    ]
    open_fields = {USER_OPEN_FIELD: _join_points(own), OPEN_FIELD: _join_points(others)}
    return {ENDED_FIELD: " ".join(kept), **open_fields}


def _join_points(points: Iterable[str]) -> str:
    """Return *points* separated by semicolons; those within a point become commas."""
    return _BETWEEN.join(" ".join(point.split()).replace(_BETWEEN, ", ") for point in points)


def _covers(terms: frozenset[str], other: frozenset[str]) -> bool:
    """Return whether *terms* has nearly all words of *other*, and *other* is not empty."""
    return bool(other) and len(terms & other) >= _SAID_SHARE * len(other)


def _fit(fields: dict[str, str]) -> str:
    """Return the fields as lines within DIGEST_TOKENS_MAX.

    The least important fields are dropped first. If the others are still too long, each is cut, and
    each open point by itself, so that none is lost.
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
    """Return *fields* with those that are always kept cut to *room* characters.

    An open point has _POINT_SHARE times as much.
    """
    phrases = {name: cut(fields[name], room) for name in ("Asked first", ENDED_FIELD)}
    points = {
        name: _BETWEEN.join(
            cut(point, _POINT_SHARE * room) for point in fields[name].split(_BETWEEN)
        )
        for name in (USER_OPEN_FIELD, OPEN_FIELD)
    }
    return {**fields, **phrases, **points}


def _lines(fields: dict[str, str]) -> str:
    """Return a line for each field that is not empty; line breaks within a field become spaces."""
    texts = {label: " ".join(fields[label].split()) for label in _LINES}
    return "\n".join(f"{label}: {text}" for label, text in texts.items() if text)


def tokens(text: str) -> int:
    """Return an upper estimate of the tokens of *text*, by its characters and its word pieces.

    >>> tokens("go test ./..."), tokens("手引きを読む"), tokens("")
    (7, 6, 0)
    """
    pieces = sum(
        1 + (len(piece) - 1) // (_WORD_PIECE_CHARS if piece.isalpha() else _CODE_PIECE_CHARS)
        for piece in _PIECE.findall(text)
    )
    return max(pieces, -(-len(text) // _CHARS_PER_TOKEN))


def _requests(exchanges: Iterable[Exchange]) -> Iterator[str]:
    """Yield the request in each message of the user, without thanks, approvals and farewells."""
    for exchange in exchanges:
        own = words(exchange.user)
        if own.command:
            # A command that the agent did not react to was for the program itself.
            if own.command.split()[0] not in _LEAVING and (exchange.texts or exchange.runs):
                yield own.command[:_REQUEST_CHARS]
            continue
        text = " ".join(" ".join(own.paragraphs).split())
        if own.is_answer and not text:
            text = f"(a pasted answer) {_first_line(exchange.user)}"
        if len(text.split()) < _WORDS_MIN or _is_empty(text) or tells_only_secret(text):
            continue
        if text.endswith(":"):
            text += f" {_title(exchange.user) or pasted_error(exchange.user)}"
        yield cut(text, _REQUEST_CHARS)


def _split_requests(
    requests: Sequence[str], memories: Collection[NapMemory]
) -> tuple[str, list[str], str]:
    """Return the first of *requests*, those between, and the last, without those in *memories*.

    Left out are also those between with a name that the user refuses in one of *memories*. If the
    first one is in a memory, it is shortened to its beginning and joined with the next: it says
    what the session was about.
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
    withdrawal = [Withdrawal.of(user_part(memory.text)) for memory in memories]
    between = [
        request
        for request in between
        if not _is_known(request, known)
        and not any(each.refuses(content_words(request)) for each in withdrawal)
    ]
    if _is_known(first, known):
        first = DIGEST_JOINT.join([cut(first, _MORE_CHARS), *between[:1]])
        del between[:1]
    return first, between, "" if _is_known(last, known) else last


def _is_known(request: str, known: Collection[str]) -> bool:
    """Return whether all sentences of *request* are *known*; one that was cut, by its beginning."""
    *first, last = map(letters, sentences(request) or [request])
    is_cut = request.endswith("…") and any(sentence.startswith(last) for sentence in known)
    return (is_cut or last in known) and all(sentence in known for sentence in first)


def _more_requests(between: Sequence[str]) -> list[str]:
    """Return the last few distinct requests *between* the first and the last one, shortened."""
    distinct = dict.fromkeys(between)
    long = [request for request in distinct if len(request.split()) >= _MORE_WORDS_MIN]
    return [cut(request, _MORE_CHARS) for request in long[-_MORE_MAX:]]


def _is_empty(text: str) -> bool:
    """Return whether *text* only agrees ("ok commit"), thanks or says goodbye."""
    content = drop_farewells(text)
    is_step = approves(content) and len(content.split()) <= _AGREES_WORDS
    return not content or is_step or acknowledges(content)


def _first_line(text: str) -> str:
    """Return the first line of *text* that begins with a letter or digit, "" without one."""
    return next((line for line in map(str.strip, text.splitlines()) if line[:1].isalnum()), "")


def _title(text: str) -> str:
    """Return the first Markdown heading of *text*, "" without one."""
    heading = re.search(r"^#{1,3} (\S.{0,200})$", text, re.MULTILINE)
    return heading[1].strip() if heading else ""


def _last_outcome(exchanges: Sequence[Exchange]) -> str:
    """Return how the session ended, by the answer to its last request, "" if unknown.

    A summary in the agent's last words comes first. A short answer is quoted; without content, the
    result is "", because earlier answers are about other requests. A longer answer gives its
    outcome, or else the last one. Thanks and farewells are no requests.
    """
    asked = [exchange for exchange in exchanges if exchange.user]
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
    return _outcome_of_requests(asked, following)


def _is_over(exchange: Exchange) -> bool:
    """Return whether *exchange* has no request, or one that nobody answered.

    With tool calls it counts as a request, unless it closes the session and edits nothing: after a
    mere "yes" the agent may work.
    """
    if not exchange.runs:
        own = " ".join(words(exchange.user).paragraphs)
        return not exchange.texts or bool(own and _is_empty(own))
    return closes(exchange.user) and not any(map(edited_path, exchange.runs))


def _plain_answer(text: str) -> str:
    """Return the statements of a short answer, "" without content or within a quotation."""
    statement = " ".join(
        sentence.text for sentence in prose_sentences(text) if sentence.text[-1:] != "?"
    )
    is_whole = statement.count('"') % 2 == 0
    stems = content_stems(_LITTLE.sub(" ", statement))
    return statement if is_whole and len(stems) >= _STEMS_MIN else ""


def _outcome_of_requests(asked: Sequence[Exchange], following: str) -> str:
    """Return the last outcome of *asked*; those that the model rejects come last.

    A later outcome of work wins if more than _RECENT exchanges are between. Without tool calls,
    only the last _TALK_RECENT exchanges count.
    """
    last, worked = "", ""
    worked_at = 0
    is_talk = not any(exchange.runs for exchange in asked)
    for at, exchange in enumerate(reversed(asked)):
        if is_talk and at > _TALK_RECENT:
            return last
        if text := outcome(exchange, following):
            return worked if worked and at - worked_at > _RECENT else text
        plain = outcome(exchange, following, by_rule=True)
        if plain and not worked and any(edited_path(run) or command(run) for run in exchange.runs):
            worked, worked_at = plain, at
        last = last or plain
        if not is_interruption(exchange.user) and words(exchange.user).paragraphs:
            following = exchange.user
    return last


def _last_summary(exchange: Exchange) -> str:
    """Return the sentence after a label such as "Status:" in the agent's last text, "" if none."""
    text = exchange.texts[-1].text if exchange.texts else ""
    for line in text.splitlines():
        for sentence in sentences(line):
            label = SUMS_UP.match(sentence) if len(sentence) <= OUTCOME_CHARS_MAX else None
            if label and len(sentence[label.end() :].split()) >= _SUMMARY_WORDS_MIN:
                return sentence[label.end() :]
    return ""
