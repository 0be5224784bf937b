"""A session in a few lines: what was asked and done, what went wrong, how it ended, what is open.

Made to be the first thing that the next session of the same project is told. Each line
is a field with a plain label, and a field that has nothing is left out; whoever writes
it in other words writes the same fields. A function of the exchanges alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from memd.domain.sleep.consolidation import OPEN_FIELD, USER_OPEN_FIELD, user_part
from memd.extract.acknowledgements import ACKNOWLEDGES
from memd.sleep.distil.acts import approves
from memd.sleep.distil.agent.calls import Command, command, edited_path, is_check, is_noise, shorten
from memd.sleep.distil.agent.outcomes import OUTCOME_CHARS_MAX, is_worth_it, outcome, pasted_error
from memd.sleep.distil.agent.unfinished import OpenPoint, find_unfinished
from memd.sleep.distil.answers import cut
from memd.sleep.distil.exchanges import USERS_KINDS, Exchange, NapMemory, Run
from memd.sleep.distil.language.failures import has_failed
from memd.sleep.distil.language.left import LABEL, SUMS_UP, drop_farewells
from memd.sleep.distil.language.words import content_words, is_interruption, letters, words
from memd.text.languages import SIGNS
from memd.text.words import sentences

DIGEST_TOKENS_MAX = 300
_CHARS_PER_TOKEN = 4
_WORD_PIECE_CHARS, _CODE_PIECE_CHARS = 4, 3
_REQUEST_CHARS = 160
_MORE_MAX, _MORE_CHARS, _MORE_WORDS_MIN = 4, 90, 5  # of the requests between the first and the last
_WORDS_MIN, _AGREES_WORDS = 2, 4
_FILES_MAX, _COMMANDS_MAX, _ADDRESSES_MAX, _COMMAND_CHARS = 8, 4, 3, 110
FIELDS = (
    "Asked first",
    "Asked last",
    "Changed",
    "Commands that worked",
    "Addresses",
    "Went wrong",
    "Ended with",
    OPEN_FIELD,
    "Also asked",
)
"""What the words of an agent, or of a model that reads the session, may tell."""
_LINES = (*FIELDS[:-2], USER_OPEN_FIELD, *FIELDS[-2:])
_ASKED = frozenset({"Asked first", "Asked last", "Also asked"})
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
_JOINT = " \u00b7 "  # requests
_POINT_SHARE = 3  # of the room of another field: a later brief tells what is open, and no more
_SAID_SHARE = 0.72
_PIECE = re.compile(rf"[{SIGNS}]|[^\W{SIGNS}]+|[^\w\s]")
_LOCAL = re.compile(
    r"\bhttps?://(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\])(?::\d{2,5})?(?:/[\w./-]{0,60})?"
    r"|\b(?:localhost|127\.0\.0\.1):\d{2,5}\b"
)
_OWN = re.compile(r"/\.(?:claude|codex|gemini|cursor)/")  # the assistant's own notes and plans
_SCRATCH = re.compile(r"(?:^|/)(?:tmp|scratchpad|node_modules|\.git)/|^/private/")
_LEAVING = frozenset(("/exit", "/quit", "/clear", "/login", "/compact", "/model", "/resume"))
_SHARE = 0.9  # of the files; the folder in which so many are is their folder
_PARTS_MAX = 3
_SUMMARY_WORDS_MIN = 6  # "Status: 200 OK" sums up nothing
_RECENT = 3  # exchanges: an outcome so long before later work is not how the session ended
_TALK_RECENT = 8  # the same in a talk without any work


class _CommandRun(NamedTuple):
    """A command that ran, and whether it failed."""

    command: Command
    failed: bool


def digest(exchanges: Sequence[Exchange], memories: Iterable[NapMemory] = ()) -> str:
    """Return the digest of a session, "" for one of which nothing is known but what was asked.

    *exchanges* are those of ``turns``: what a command expands to belongs to it.
    A question alone would be found by whoever asks it again, and answers nothing. Nor does the
    digest repeat a message that one of the session's *memories* has, but how the first begins.
    At most DIGEST_TOKENS_MAX tokens, by four characters to a token and by word pieces.
    """
    requests = list(_requests(exchanges))
    if not requests:
        return ""
    first, others = _split_first(requests, memories)
    runs = [run for exchange in exchanges for run in exchange.runs]
    ran = [
        _CommandRun(line, has_failed(run))
        for run in runs
        if run.result is not None and (line := command(run))
    ]
    fields = {
        "Asked first": first,
        "Asked last": others[-1] if others else "",
        "Changed": _changed_files(runs),
        "Commands that worked": "; ".join(_working_commands(ran)),
        "Addresses": ", ".join(_addresses(exchanges, ran)),
        "Went wrong": _last_failure(ran),
        **_ending_fields(_last_outcome(exchanges), find_unfinished(exchanges)),
        "Also asked": _JOINT.join(_more_requests(others[:-1])),
    }
    return _fit(fields) if any(fields[name] for name in _LINES if name not in _ASKED) else ""


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
    return {"Ended with": " ".join(kept), **open_fields}


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
    phrases = {name: cut(fields[name], room) for name in ("Asked first", "Ended with")}
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


def _split_first(requests: Sequence[str], memories: Iterable[NapMemory]) -> tuple[str, list[str]]:
    """Return the first of *requests*, and the others without those that *memories* have.

    Of a first one that they have only the beginning, which tells what the session was about; if
    they have every one, all. Of one that was cut the last sentence need only begin like theirs.
    """
    known = {
        letters(sentence)
        for memory in memories
        if memory.kind in USERS_KINDS
        for line in user_part(memory.text).splitlines()
        for sentence in sentences(line)
    }
    first, *others = requests
    left = [each for each in others if not _is_known(each, known)]
    if _is_known(first, known):
        begin = [cut(first, _MORE_CHARS), *left[:-1][:1]]  # and the next, if it is not the last
        return (_JOINT.join(begin), left[len(begin) - 1 :]) if left else (first, others)
    return first, left


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
    return not rest or is_step or ACKNOWLEDGES.fullmatch(rest) is not None


def _first_line(text: str) -> str:
    return next((line for line in map(str.strip, text.splitlines()) if line[:1].isalnum()), "")


def _title(text: str) -> str:
    """Return the first heading of what the user pasted."""
    heading = re.search(r"^#{1,3} (\S.{0,200})$", text, re.MULTILINE)
    return heading[1].strip() if heading else ""


def _changed_files(runs: Sequence[Run]) -> str:
    """Return the files that were written, the latest first, and the folder that they share."""
    paths = dict.fromkeys(
        path for run in reversed(runs) if (path := edited_path(run)) and not _SCRATCH.search(path)
    )
    folder = _common_folder([path for path in paths if path[0] == "/" and not _OWN.search(path)])
    names = dict.fromkeys(_within(path, folder) for path in paths)
    shown = list(names)[:_FILES_MAX]
    more = f" and {len(names) - _FILES_MAX} more" if len(names) > _FILES_MAX else ""
    return ", ".join(shown) + more + (f" in {folder.rstrip('/')}" if folder else "")


def _common_folder(paths: Sequence[str]) -> str:
    """Return the folder, with its slash, in which nearly all of *paths* are, "" without one."""
    if not paths:
        return ""
    count = Counter(folder for path in paths for folder in _parents(path))
    most = [folder for folder, times in count.items() if times >= _SHARE * len(paths)]
    return max(most, key=len, default="")


def _parents(path: str) -> Iterator[str]:
    """Yield the folders of *path*, without the root."""
    end = path.rfind("/")
    while end > 0:
        yield path[: end + 1]
        end = path.rfind("/", 0, end)


def _within(path: str, folder: str) -> str:
    """Return *path* below *folder*; of one that is elsewhere only its end."""
    if folder and path.startswith(folder):
        return path.removeprefix(folder)
    parts = path.split("/")
    return path if len(parts) <= _PARTS_MAX else "/".join(("…", *parts[-_PARTS_MAX:]))


def _working_commands(ran: Sequence[_CommandRun]) -> list[str]:
    """Return the commands that passed, those used most first, each in its shortest form."""
    count: Counter[str] = Counter()
    shortest: dict[str, str] = {}
    for each in ran:
        name = each.command.about
        if each.failed or not name or is_noise(each.command):
            continue
        count[name] += 1
        line = shorten(each.command.line)
        known = shortest.get(name)
        shortest[name] = line if known is None or len(line) < len(known) else known
    return [shortest[name] for name, _ in count.most_common(_COMMANDS_MAX)]


def _addresses(exchanges: Sequence[Exchange], ran: Sequence[_CommandRun]) -> list[str]:
    """Return the local addresses that were named last."""
    texts = [
        text
        for each in exchanges
        for text in (each.user, *(agent_text.text for agent_text in each.texts))
    ]
    texts += [each.command.line for each in ran]
    addresses = [address for text in texts for address in _LOCAL.findall(text[-20_000:])]
    return list(dict.fromkeys(reversed(addresses)))[:_ADDRESSES_MAX]


def _last_failure(ran: Sequence[_CommandRun]) -> str:
    """Return the last command that failed, and whether it passed later, in no words of the tool's.

    What a tool prints could say anything. Of what was cured, fixes tell it, each with its origin.
    """
    passed: set[str] = set()
    cured = ""
    for each in reversed(ran):
        name = each.command.about
        if not each.failed:
            passed.add(name)
        elif not (is_noise(each.command) or is_check(each.command)):
            line = f"{cut(shorten(each.command.line), _COMMAND_CHARS)} failed"
            if name not in passed:
                return line
            cured = cured or f"{line} (passes now)"
    return cured


def _last_outcome(exchanges: Sequence[Exchange]) -> str:
    """Return the last outcome that is worth it, without one the last of all.

    An agent that sums up in the end says it itself. Where work followed for more than _RECENT
    exchanges, of which less is told, that is how it ended. A talk without any work did not end with
    what was said so long before.
    """
    following, last, worked = "", "", ""
    worked_at = 0
    asked = [each for each in exchanges if each.user]
    is_talk = not any(each.runs for each in asked)
    for at, exchange in enumerate(reversed(asked)):
        if is_talk and at > _TALK_RECENT:
            return last
        if not at and (summary := _last_summary(exchange)):
            return summary
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
