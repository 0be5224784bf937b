"""What a session left open. Pure, and a function of its exchanges alone.

Told is what the user put off at its end, and its plan as last kept up to date, or what its last
answer says: rather nothing than what
was done since. A list of issues or suggestions says nothing of what is left to do, unless a review
put it in order: whoever does that goes through it point by point, in later sessions too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from memd.sleep.distil.agent.findings import TitleList, find_list, find_lists
from memd.sleep.distil.agent.outcomes import outcome
from memd.sleep.distil.agent.put_off import OpenPoint, find_put_off
from memd.sleep.distil.answers import cut
from memd.sleep.distil.exchanges import Exchange, Run
from memd.sleep.distil.language.left import (
    ALL_DONE,
    ITEM,
    LABEL,
    OFFERED,
    OPEN_CHARS,
    ORDERED,
    TAKES_ALL,
    TRIES,
    UNDONE,
    closes,
    is_left,
    is_open_heading,
    tells_of_nothing,
)
from memd.sleep.distil.language.prose import sentences
from memd.sleep.distil.language.words import is_interruption
from memd.text.words import content_stems

OPEN_MAX = 4
_TAIL_CHARS = 1_500  # of an answer: what stands before is not how it ends
_HEADING_CHARS = 100
_LATEST = 3  # texts of an exchange, in which a review is looked for
_STALE = 12  # exchanges; what was listed before is not told as open
_TAKEN_SHARE = 0.6  # of a title's words in what is said later: it was taken up
_PICK_CHARS = 120  # of a message that picks titles by their numbers
_REQUEST_CHARS = 4_000
_CLOSES_CHARS = 60
_PLAN_EXCHANGES = 2  # the last ones, in which a plan was kept up to date
_UNTRACKED_RUNS = 10  # after a plan of which no step is done: nobody kept it up to date
_ANSWER_CHARS = 200

_STEP = re.compile(r"^[ \t]*[-*] \[(?: |⚡|~|-|>)\]\s+(.{3,200})$", re.MULTILINE)
_PLAN = re.compile(r"^[ \t]*[-*] \[(?: |⚡|~|-|>|x|X)\]\s+\S", re.MULTILINE)
_BOX = re.compile(r"^[ \t]*[-*] \[[xX]\]", re.MULTILINE)
_PLANNING = re.compile(r"todo|plan|task", re.IGNORECASE)
_PROPOSES = re.compile(r"create_?plan|exit_?plan", re.IGNORECASE)
_CREATED = re.compile(r"Task #(\d{1,4}) created")
_ENDED = frozenset(("completed", "cancelled", "deleted"))
_NUMBER = re.compile(r"\b\d{1,4}\b")
# "Rename `err` (observation 7)", "one name for the field (findings 12, 14)": the numbers by which
# the user picks what a review also sums up in a shorter list.
_CITED = re.compile(
    r"\b(?:comment|finding|issue|item|observation|point)s?\s+(#?\d{1,4}(?:(?:,|/|\s?&|\sand)\s?#?\d{1,4})*)",
    re.IGNORECASE,
)
_QUOTES = ('"', "\u201c", "\u201e", "\u00ab", "'")


def find_unfinished(exchanges: Sequence[Exchange]) -> list[OpenPoint]:
    """Return what a session left open, in a few words each; OPEN_MAX at most.

    What the user put off; then the open steps of its plan, if that was kept up to date to the end;
    else what its last answer lists as left, or says so.
    """
    real = [each for each in exchanges if each.texts or is_interruption(each.user)]
    stopped = bool(real) and is_interruption(real[-1].user)
    text = _ending([each for each in real if each.texts and each.user])
    steps = [] if ALL_DONE.search(text) else _steps(exchanges)
    left = (
        steps
        or _open_boxes(text)
        or _open_titles(text)
        or _find_ordered([each for each in real if each.texts and each.user])
        or _open_sentences(text)
    )
    points = {point.text: point for point in map(OpenPoint, left)}
    put_off = {point.text: point for point in find_put_off(exchanges)}
    stop = [OpenPoint("the user stopped the agent")] if stopped else []
    return [*stop, *(put_off | (points | put_off)).values()][:OPEN_MAX]


def _ending(answered: Sequence[Exchange]) -> str:
    """Return the end of the answer to the last message that did more than to close the session.

    With it what was answered since then without any work: it may sum up what is left.
    """
    texts: list[str] = []
    for exchange in reversed(answered):
        is_close = len(exchange.user) <= _CLOSES_CHARS and closes(exchange.user)
        if not is_close or not exchange.runs:
            texts.append(exchange.texts[-1].text[-_TAIL_CHARS:])
        if not is_close:
            break
    return "\n\n".join(reversed(texts))


def _open_boxes(text: str) -> list[str]:
    """Return the open ones of the boxes in *text*, some of which are ticked."""
    steps = _STEP.findall(text) if _BOX.search(text) else []
    return [cut(step.strip(), OPEN_CHARS) for step in steps if not step.rstrip().endswith("?")]


def _open_titles(text: str) -> list[str]:
    """Return the titles of the last list in *text* whose heading says that they are left."""
    lists = find_lists(_last_section(text), is_open_heading)
    titles = lists[0].titles if lists else ()
    return [cut(title, OPEN_CHARS) for title in titles if is_left(title)]


def _find_ordered(answered: Sequence[Exchange]) -> list[str]:
    """Return the titles of the latest list that a review put in order, without those taken up.

    Whoever orders what is to be done goes through it point by point, in later sessions too.
    """
    for at in range(len(answered) - 1, max(-1, len(answered) - 1 - _STALE), -1):
        for text in reversed(answered[at].texts[-_LATEST:]):
            made = find_list(text.text)
            if made is not None and ORDERED.search(made.heading):
                left = _drop_taken_up(made, answered[at + 1 :])
                return [cut(title, OPEN_CHARS) for title in left]
    return []


def _drop_taken_up(made: TitleList, later: Sequence[Exchange]) -> list[str]:
    """Return the titles that nobody took up later: all, by number or in their words.

    A number above their count is of the longer list that they sum up, and may stand in a title.
    """
    picked: set[int] = set()
    cited: set[int] = set()
    texts: list[frozenset[str]] = []
    for exchange in later:
        if TAKES_ALL.search(exchange.user[:_PICK_CHARS]):
            return []
        numbers = set(map(int, _NUMBER.findall(exchange.user[:_PICK_CHARS])))
        if numbers and max(numbers) <= made.places[-1]:
            picked |= numbers
        else:
            cited |= numbers
        texts += [
            content_stems(exchange.user[:_REQUEST_CHARS]),
            content_stems(outcome(exchange, by_rule=True)),
        ]
    return [
        title
        for number, title in zip(made.places, made.titles, strict=True)
        if number not in picked
        and not (_cited_numbers(title) & cited)
        and not _is_taken_up(content_stems(title), texts)
    ]


def _cited_numbers(title: str) -> set[int]:
    return {int(number) for match in _CITED.finditer(title) for number in _NUMBER.findall(match[1])}


def _is_taken_up(title: frozenset[str], texts: Sequence[frozenset[str]]) -> bool:
    return bool(title) and any(len(title & text) >= _TAKEN_SHARE * len(title) for text in texts)


def _last_section(text: str) -> str:
    """Return the last heading of what is left with its list, up to the next line of prose.

    "" where a line between them offers it: "you might want to".
    """
    lines = text.splitlines()
    at = max((at for at, line in enumerate(lines) if _heads_open(line)), default=-1)
    section: list[str] = lines[at : at + 1] if at >= 0 else []
    has_item = False
    for line in lines[at + 1 :] if section else ():
        is_item = ITEM.match(line) is not None
        is_prose = bool(line.strip()) and not (line[:1].isspace() or is_item)
        if is_prose and has_item:
            break
        if is_prose and OFFERED.search(line):
            return ""
        section.append(line)
        has_item = has_item or is_item
    return "\n".join(section)


def _heads_open(line: str) -> bool:
    is_marked = line.startswith(("#", "**")) or line.rstrip("* ").endswith(":")
    return is_marked and len(line) <= _HEADING_CHARS and is_open_heading(line.strip("#*_: "))


def _open_sentences(text: str) -> list[str]:
    """Return what *text* says is still to be done."""
    left: list[str] = []
    for line in sentences(text):
        if line.text.startswith(_QUOTES):
            continue  # of a draft, or of what somebody else says
        label = LABEL.match(line.text)
        words = line.text[label.end() :] if label else line.text
        if (label or UNDONE.search(words)) and not tells_of_nothing(line.text) and is_left(words):
            left.append(cut(words, 2 * OPEN_CHARS))
    return left[:2]


def _steps(exchanges: Sequence[Exchange]) -> list[str]:
    """Return the open steps of the latest plan, none of one that was not kept up to date."""
    at = max((at for at, each in enumerate(exchanges) if any(map(_plans, each.runs))), default=-1)
    worked = [place for place, each in enumerate(exchanges) if each.texts or each.runs]
    if at not in worked[-_PLAN_EXCHANGES:]:
        return []
    runs = [run for exchange in exchanges for run in exchange.runs]
    place = max(place for place, run in enumerate(runs) if _plans(run))
    steps, done = _plan_state(runs)
    is_kept = done or len(runs) - place <= _UNTRACKED_RUNS
    # Nobody ticks "test it" once the person is asked to.
    is_work = not all(map(TRIES.match, steps))
    return [cut(step, OPEN_CHARS) for step in steps] if is_kept and is_work else []


def _plans(run: Run) -> bool:
    """Return whether *run* writes a plan; some recorders write a second, empty one beside it."""
    return bool(run.given) and _PLANNING.search(run.tool) is not None


def _plan_state(runs: Sequence[Run]) -> tuple[list[str], bool]:
    """Return the open steps of the latest plan and whether one is done.

    A plan is a text with boxes, a list, or tasks one by one. What was changed in one without being
    recorded is not known.
    """
    for run in reversed(runs):
        if not _plans(run):
            continue
        given = run.given
        if isinstance(given, str) and _PLAN.search(given):
            return [step.strip() for step in _STEP.findall(given)], bool(_BOX.search(given))
        if not isinstance(given, Mapping):
            continue
        todos = given.get("todos", given.get("plan"))
        if _PROPOSES.search(run.tool) or (given.get("merge") and todos is None):
            return [], False
        if isinstance(todos, list):
            steps = _merge_changes(runs, todos) if given.get("merge") else list(map(_step, todos))
            return [step for step in steps if step], not all(steps)
    return _tasks(runs)


def _merge_changes(runs: Sequence[Run], changed: Sequence[object]) -> list[str]:
    """Return the open steps, "" for one that is done, of a list of which some were *changed*."""
    steps: dict[object, str] = {}
    for run in runs:
        todos = run.given.get("todos") if isinstance(run.given, Mapping) else None
        for each in todos if isinstance(todos, list) and _plans(run) else ():
            if isinstance(each, Mapping):
                steps[each.get("id")] = _step(each)
    return list(steps.values()) if None not in steps else list(map(_step, changed))


def _tasks(runs: Sequence[Run]) -> tuple[list[str], bool]:
    """Return the tasks that were created one by one, with the number they got, and not ended."""
    left: dict[str, str] = {}
    done = False
    for run in runs:
        if not isinstance(run.given, Mapping):
            continue
        created = _CREATED.search((run.result or "")[:_ANSWER_CHARS])
        subject = run.given.get("subject")
        if created and isinstance(subject, str):
            left[created[1]] = " ".join(subject.split())
        elif run.given.get("status") in _ENDED:
            done = left.pop(str(run.given.get("taskId")), None) is not None or done
    return list(left.values()), done


def _step(each: object) -> str:
    if not isinstance(each, Mapping) or each.get("status") in _ENDED:
        return ""
    text = each.get("content") or each.get("step") or each.get("description")
    return " ".join(text.split()) if isinstance(text, str) else ""
