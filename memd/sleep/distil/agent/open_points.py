"""Find what a session left open. Pure.

Open points come from what the user postponed at the end, and from one of these: the session's plan,
if it was kept up to date; what its last answer says is left; a list that a review put in order,
which people work through in later sessions. Other lists of issues or suggestions are no plan. A
missing point is better than one that was done since.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from memd.sleep.distil.agent.deferrals import OpenPoint, find_deferrals
from memd.sleep.distil.agent.findings import TitleList, find_list, find_lists
from memd.sleep.distil.agent.outcomes import outcome
from memd.sleep.distil.answers import cut
from memd.sleep.distil.exchanges import Exchange, ToolRun
from memd.sleep.distil.language.open_work import (
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
    describes_no_task,
    is_open_heading,
    is_remaining_work,
)
from memd.sleep.distil.language.prose import sentences
from memd.sleep.distil.language.words import is_interruption
from memd.text.words import content_stems
from memd.text.words import sentences as split_sentences

OPEN_MAX = 4
"""The number of open points in a digest, so that they leave room for its other fields."""
_TAIL_CHARS = 1_500  # the end of an answer, which is read
_HEADING_CHARS = 100
_LATEST = 3  # the last texts of an exchange, which are searched for a review
_STALE = 12  # exchanges; an older list is no longer open
_TAKEN_SHARE = 0.6  # of a title's words in a later text: it was taken up
_PICK_CHARS = 120  # the beginning of a message, which may pick titles by number
_REQUEST_CHARS = 4_000
_CLOSES_CHARS = 60  # of a message that ends the session
_PLAN_EXCHANGES = 2  # a plan that was last written before these is out of date
_UNTRACKED_RUNS = 10  # runs after a plan without a finished step; with more, it is out of date
_ANSWER_CHARS = 200  # the beginning of a result, which has the number of a created task

_STEP = re.compile(r"^[ \t]*[-*] \[(?: |⚡|~|-|>)\]\s+(.{3,200})$", re.MULTILINE)
_PLAN = re.compile(r"^[ \t]*[-*] \[(?: |⚡|~|-|>|x|X)\]\s+\S", re.MULTILINE)
_BOX = re.compile(r"^[ \t]*[-*] \[[xX]\]", re.MULTILINE)
_PLANNING = re.compile(r"todo|plan|task", re.IGNORECASE)
_PROPOSES = re.compile(r"create_?plan|exit_?plan", re.IGNORECASE)
_CREATED = re.compile(r"Task #(\d{1,4}) created")
_ENDED = frozenset(("completed", "cancelled", "deleted"))
_NUMBER = re.compile(r"\b\d{1,4}\b")
# "Rename `err` (observation 7)", "one name for the field (findings 12, 14)": numbers of a longer
# list that this one sums up. The user may pick by them.
_CITED = re.compile(
    r"\b(?:comment|finding|issue|item|observation|point)s?\s+(#?\d{1,4}(?:(?:,|/|\s?&|\sand)\s?#?\d{1,4})*)",
    re.IGNORECASE,
)
_QUOTES = ('"', "\u201c", "\u201e", "\u00ab", "'")


def find_unfinished(exchanges: Sequence[Exchange]) -> list[OpenPoint]:
    """Return at most OPEN_MAX short open points of a session.

    First what the user postponed; then the open steps of the plan, or else what the last answer
    lists as left.
    """
    real = [exchange for exchange in exchanges if exchange.texts or is_interruption(exchange.user)]
    answered = [exchange for exchange in real if exchange.texts and exchange.user]
    stopped = bool(real) and is_interruption(real[-1].user)
    text = _ending(answered)
    steps = [] if ALL_DONE.search(text) else _steps(exchanges)
    left = (
        steps
        or _open_boxes(text)
        or _open_titles(text)
        or _find_ordered(answered)
        or _open_sentences(text)
    )
    points = {point.text: point for point in map(OpenPoint, left)}
    put_off = {point.text: point for point in find_deferrals(exchanges)}
    stop = [OpenPoint("the user stopped the agent")] if stopped else []
    return [*stop, *(put_off | (points | put_off)).values()][:OPEN_MAX]


def _ending(answered: Sequence[Exchange]) -> str:
    """Return the end of the answer to the last message that does not just close the session.

    Later answers are appended: they may sum up what is left. Of one with tool calls, which reports
    them ("Committed."), only from a label such as "Open:" on.
    """
    texts: list[str] = []
    for exchange in reversed(answered):
        is_close = len(exchange.user) <= _CLOSES_CHARS and closes(exchange.user)
        text = exchange.texts[-1].text[-_TAIL_CHARS:]
        texts.append(_from_open_label(text) if is_close and exchange.runs else text)
        if not is_close:
            break
    return "\n\n".join(filter(None, reversed(texts)))


def _from_open_label(text: str) -> str:
    """Return *text* from the line on that has a label or heading of open points, "" without one."""
    lines = text.splitlines()
    for at, line in enumerate(lines):
        if _heads_open(line) or any(map(LABEL.match, split_sentences(line))):
            return "\n".join(lines[at:])
    return ""


def _open_boxes(text: str) -> list[str]:
    """Return the open boxes of *text*, none if no box is ticked: then it is only a proposal."""
    steps = _STEP.findall(text) if _BOX.search(text) else []
    return [cut(step.strip(), OPEN_CHARS) for step in steps if not step.rstrip().endswith("?")]


def _open_titles(text: str) -> list[str]:
    """Return the titles of the last list in *text* whose heading says that they are open."""
    lists = find_lists(_last_section(text), is_open_heading)
    titles = lists[0].titles if lists else ()
    return [cut(title, OPEN_CHARS) for title in titles if is_remaining_work(title)]


def _find_ordered(answered: Sequence[Exchange]) -> list[str]:
    """Return the titles of the latest list that a review put in order, without those taken up."""
    for at in range(len(answered) - 1, max(-1, len(answered) - 1 - _STALE), -1):
        for text in reversed(answered[at].texts[-_LATEST:]):
            listed = find_list(text.text)
            if listed is not None and ORDERED.search(listed.heading):
                left = _drop_taken_up(listed, answered[at + 1 :])
                return [cut(title, OPEN_CHARS) for title in left]
    return []


def _drop_taken_up(listed: TitleList, later: Sequence[Exchange]) -> list[str]:
    """Return the titles that no later exchange takes up.

    A message takes up all ("do all"), some by number ("1 and 3"), or one by its words, which may
    also be in the outcome. A number above the length of the list is of the longer list that it sums
    up, and counts if a title cites it: "Rename `err` (observation 7)".
    """
    picked: set[int] = set()
    cited: set[int] = set()
    texts: list[frozenset[str]] = []
    for exchange in later:
        if TAKES_ALL.search(exchange.user[:_PICK_CHARS]):
            return []
        numbers = set(map(int, _NUMBER.findall(exchange.user[:_PICK_CHARS])))
        if numbers and max(numbers) <= listed.places[-1]:
            picked |= numbers
        else:
            cited |= numbers
        texts += [
            content_stems(exchange.user[:_REQUEST_CHARS]),
            content_stems(outcome(exchange, by_rule=True)),
        ]
    return [
        title
        for number, title in zip(listed.places, listed.titles, strict=True)
        if number not in picked
        and not (_cited_numbers(title) & cited)
        and not _is_taken_up(content_stems(title), texts)
    ]


def _cited_numbers(title: str) -> set[int]:
    return {int(number) for match in _CITED.finditer(title) for number in _NUMBER.findall(match[1])}


def _is_taken_up(title: frozenset[str], texts: Sequence[frozenset[str]]) -> bool:
    return bool(title) and any(len(title & text) >= _TAKEN_SHARE * len(title) for text in texts)


def _last_section(text: str) -> str:
    """Return the last heading of open points with its list, up to the next line of prose.

    "" if the text above the list only offers it: "you might want to".
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
    """Return whether *line* is a heading of open points."""
    is_marked = line.startswith(("#", "**")) or line.rstrip("* ").endswith(":")
    return is_marked and len(line) <= _HEADING_CHARS and is_open_heading(line.strip("#*_: "))


def _open_sentences(text: str) -> list[str]:
    """Return the first two sentences of *text* that say what is still to be done.

    After a label such as "Open:", the parts between semicolons are separate.
    """
    left: list[list[str]] = []
    for line in sentences(text):
        if line.text.startswith(_QUOTES):
            continue  # quoted from a draft, or from somebody else
        label = LABEL.match(line.text)
        words = line.text[label.end() :] if label else line.text
        if (
            (label or UNDONE.search(words))
            and not describes_no_task(line.text)
            and is_remaining_work(words)
        ):
            points = words.split("; ") if label else [words]
            left.append(points if all(map(is_remaining_work, points)) else [words])
    return [cut(point, 2 * OPEN_CHARS) for points in left[:2] for point in points]


def _steps(exchanges: Sequence[Exchange]) -> list[str]:
    """Return the open steps of the latest plan, none if it was not kept up to date."""
    planned_at = max(
        (at for at, exchange in enumerate(exchanges) if any(map(_plans, exchange.runs))),
        default=-1,
    )
    worked_at = [at for at, exchange in enumerate(exchanges) if exchange.texts or exchange.runs]
    if planned_at not in worked_at[-_PLAN_EXCHANGES:]:
        return []
    runs = [run for exchange in exchanges for run in exchange.runs]
    last_plan = max(at for at, run in enumerate(runs) if _plans(run))
    steps, has_done = _plan_state(runs)
    is_current = has_done or len(runs) - last_plan <= _UNTRACKED_RUNS
    # A step "test it" that the agent hands to the user is never ticked.
    is_work = not all(map(TRIES.match, steps))
    return [cut(step, OPEN_CHARS) for step in steps] if is_current and is_work else []


def _plans(run: ToolRun) -> bool:
    """Return whether *run* writes a plan; some recorders add a second run without arguments."""
    return bool(run.arguments) and _PLANNING.search(run.tool) is not None


def _plan_state(runs: Sequence[ToolRun]) -> tuple[list[str], bool]:
    """Return the open steps of the latest plan, and whether any step is done.

    A plan is a text with boxes, a list of steps, or a series of tasks. ([], False) for a plan that
    is only proposed, and for a change whose list was not recorded.
    """
    for run in reversed(runs):
        if not _plans(run):
            continue
        given = run.arguments
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


def _merge_changes(runs: Sequence[ToolRun], changed: Sequence[object]) -> list[str]:
    """Return the steps of a list that runs change in part, "" for each that is done.

    If any step has no id, only the last *changed* ones are known.
    """
    steps: dict[object, str] = {}
    for run in runs:
        todos = run.arguments.get("todos") if isinstance(run.arguments, Mapping) else None
        for todo in todos if isinstance(todos, list) and _plans(run) else ():
            if isinstance(todo, Mapping):
                steps[todo.get("id")] = _step(todo)
    return list(steps.values()) if None not in steps else list(map(_step, changed))


def _tasks(runs: Sequence[ToolRun]) -> tuple[list[str], bool]:
    """Return the open ones of the tasks that were created one by one, and whether any is done.

    The tool numbers a task when it creates it ("Task #3 created"); later runs name that number.
    """
    left: dict[str, str] = {}
    has_done = False
    for run in runs:
        if not isinstance(run.arguments, Mapping):
            continue
        created = _CREATED.search((run.result or "")[:_ANSWER_CHARS])
        subject = run.arguments.get("subject")
        if created and isinstance(subject, str):
            left[created[1]] = " ".join(subject.split())
        elif run.arguments.get("status") in _ENDED:
            has_done = left.pop(str(run.arguments.get("taskId")), None) is not None or has_done
    return list(left.values()), has_done


def _step(todo: object) -> str:
    """Return the text of a step, "" if it is done."""
    if not isinstance(todo, Mapping) or todo.get("status") in _ENDED:
        return ""
    text = todo.get("content") or todo.get("step") or todo.get("description")
    return " ".join(text.split()) if isinstance(text, str) else ""
