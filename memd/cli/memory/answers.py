"""Print search results: memories with their likelihood, and messages of sessions."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from memd.base.errors import InvalidError, MemdError
from memd.cli import console
from memd.cli.connection import call
from memd.cli.options import NAP_KINDS
from memd.cli.project import folder_name
from memd.cli.tables import id_for_reader

LIKELY = 0.5
"""Relevance from which a memory is called likely."""
DISPLAYED_MIN = 0.02
"""Relevance below which a memory is unlikely, and printed only with ``--why``."""
WORD_CELLS = 8
"""Width of the column for the likelihood."""
PASSAGE_LINES_MAX = 3
"""Lines of a memory on a terminal: most answers are complete, and ten fit on a screen."""
RESULTS_MAX = 8
"""Results on a terminal unless ``--top`` asks for more: about as many as a screen shows."""
HINT_DAYS = 1
"""Between two hints that the model reads English only."""
NEWEST_READ = 50
"""Memories that are examined for their language."""
FOREIGN_MIN = 3
FOREIGN_SHARE_MIN = 0.25
"""From this number and share of memories in other languages on, another model is suggested."""
_CUT = {
    "gate": "of its kind (told, or kept by naps) none seems to answer; --mode words shows it",
    "bar": "its relevance is too low",
    "repeats": "repeats {of}",
    "room": "over the budget, or too many from one source",
}


def likelihood_word(memory: dict[str, Any]) -> str:
    """Return the likelihood that a memory answers, as a word.

    >>> [likelihood_word({"relevance_score": value}) for value in (0.7, 0.1, 0.01)]
    ['likely', 'possible', 'unlikely']
    """
    if memory.get("preference"):
        return "pref"
    relevance = memory.get("relevance_score")
    if relevance is None:
        return "-"
    if relevance >= LIKELY:
        return "likely"
    return "possible" if relevance >= DISPLAYED_MIN else "unlikely"


def kind_of(memory: dict[str, Any]) -> str:
    """Return the kind that a nap gave a memory, else the kind of a turn, else the category."""
    tags = memory["tags"] if "tags" in memory else memory["metadata"]["tags"]
    if "nap" in tags and (kind := next((tag for tag in tags if tag in NAP_KINDS), "")):
        return kind
    return str(memory.get("passing") or memory.get("category") or memory["memory_type"])


def show(
    answer: dict[str, Any],
    query: str,
    mode: str | None,
    agent_id: str | None,
    *,
    project_id: str | None,
    shortened: bool,
    why: bool,
) -> None:
    """Print the results of a search in *mode*, best first.

    With *why*, or if *mode* is not hybrid, print also the relevance of each memory, and what was
    left out. Otherwise *shortened* limits the output on a terminal to RESULTS_MAX. A memory of
    another project than *project_id* is printed with its project.
    """
    numbers = why or mode not in {None, "hybrid"}
    memories = [
        memory for memory in answer["memories"] if numbers or likelihood_word(memory) != "unlikely"
    ]
    shortened = shortened and not numbers and sys.stdout.isatty()
    printed = memories[:RESULTS_MAX] if shortened else memories
    for memory in printed:
        _show(memory, query, project_id, numbers=numbers)
    if hidden := len(memories) - len(printed):
        console.note(f"and {hidden} less likely: --top {len(memories)} shows them")
    if not memories:
        console.note(_why_nothing(answer))
        report_other_agents(agent_id)
    if unlikely := len(answer["memories"]) - len(memories):
        console.note(f"and {unlikely} unlikely: --why shows them")
    if numbers:
        _show_cut(answer)
    if answer.get("degraded"):
        console.note(f"memd: {answer['degraded']}")
    _report_facts(memories)
    if mode != "words" and not answer.get("degraded"):  # otherwise no model was used
        report_language(query)


def _why_nothing(answer: dict[str, Any]) -> str:
    least = answer.get("minimum_required_tokens")
    too_long = f"too long for an answer: {least} tokens; memd recall QUERY --budget {least}"
    return too_long if least else "nothing found"


def report_other_agents(agent_id: str | None) -> None:
    """Report to stderr if memories exist, but all of other agents; nothing if one was named."""
    if agent_id is not None:
        return
    with suppress(MemdError):
        if call("memory.count") == 0 and call("system.status")["memories"]:
            console.note(
                "the memories here are of other agents: memd agent list, then add --agent NAME"
            )


def _report_facts(memories: Sequence[dict[str, Any]]) -> None:
    """Report to stderr which command searches facts, unless a memory is a likely answer."""
    if any(likelihood_word(memory) == "likely" for memory in memories):
        return
    with suppress(MemdError):
        if call("system.status").get("facts"):  # of which this agent may not read all
            console.note("memd org query searches the facts of the organisation")


def report_language(text: str) -> None:
    """Report to stderr that the model in use reads English only, if *text* is not English.

    Once a day: who writes another language writes it all day.
    """
    from memd.text.languages import is_english

    if not is_english(text):
        _report_model(HINT_DAYS)


def report_stored_languages() -> None:
    """Report the same if a quarter of the newest memories are in other languages."""
    from memd.text.languages import is_english

    with suppress(MemdError):
        page = call("memory.list", limit=NEWEST_READ)
        texts = [memory["content"] for memory in page["items"]]
        foreign = sum(not is_english(text) for text in texts)
        if foreign >= FOREIGN_MIN and foreign >= FOREIGN_SHARE_MIN * len(texts):
            _report_model()


def _report_model(every_days: int = 0) -> None:
    """Report that the model in use reads English only, unless within *every_days* before."""
    from memd.assist.hook_marks import LASTING, Marks
    from memd.base.paths import MODEL_NAME, Paths

    with suppress(MemdError):  # only a hint: the command itself has succeeded
        if call("model.status").get("in_use") != MODEL_NAME:
            return
        marks = Marks(str(Paths.resolve().socket))
        if marks.update(f"{LASTING}english-only", MODEL_NAME, every_days * 86_400):
            console.note(
                f"{MODEL_NAME} reads English only. For other languages: memd model install "
                "--multilingual, then memd model use multilingual-e5-small"
            )


def explain(answer: dict[str, Any]) -> None:
    """Print to stderr the relevance of each memory, and what was left out and why."""
    if answer.get("gate") is not None:
        console.note(f"probability that anything answers: {answer['gate']:.2f}")
    for memory in answer["memories"]:
        console.note(f"{_number(memory)}  {id_for_reader(memory['id'])}  {likelihood_word(memory)}")
    _show_cut(answer)


def _show(memory: dict[str, Any], query: str, project_id: str | None, *, numbers: bool) -> None:
    """Print one memory: likelihood and matching passage, then its metadata dimmed."""
    first = f"{likelihood_word(memory):<{WORD_CELLS}}"
    if numbers:
        first = f"{_number(memory)}  {first}"
    room = console.width() - len(first) - len(console.BAR) - 1
    bar = f" {console.BAR}" if sys.stdout.isatty() else "  "
    lines = console.passages(memory["content"], query, room, PASSAGE_LINES_MAX)
    console.out(f"{console.bold(first)}{bar}{lines[0]}")
    for line in lines[1:]:
        console.out(f"{' ' * len(first)}{bar}{line}")
    indent = len(first) + len(bar)
    console.out(" " * indent + console.dim(_about(memory, project_id, indent)))


def _show_cut(answer: dict[str, Any]) -> None:
    """Print each memory that was left out, and why; unlikely ones only as a number by reason."""
    unlikely: Counter[str] = Counter()
    for cut in answer.get("cut", ()):
        if cut["by"] in ("gate", "bar") and cut["relevance_score"] < DISPLAYED_MIN:
            unlikely[cut["by"]] += 1
            continue
        of = id_for_reader(cut["of"]) if cut.get("of") else ""
        reason = _CUT[cut["by"]].format(of=of)
        console.note(
            f"left out {id_for_reader(cut['id'])} ({cut['relevance_score']:.2f}): {reason}"
        )
    for by, count in unlikely.items():
        console.note(f"left out {count} below {DISPLAYED_MIN}: {_CUT[by]}")


def _number(memory: dict[str, Any]) -> str:
    relevance = memory.get("relevance_score")
    return "   -" if relevance is None else f"{relevance:.2f}"


def _about(memory: dict[str, Any], project_id: str | None, indent: int) -> str:
    """Return the metadata of a memory in a line: date, kind, project, publisher, source, id.

    The project is left out if it is *project_id*, the one that was searched.
    """
    # The date of the event, if known, because an old note may have been imported today.
    when = console.local_time(str(memory.get("occurred_at") or memory["created_at"]))[:10]
    about = [when, kind_of(memory)]
    if memory.get("project_id") not in {None, project_id}:
        about.append(f"of {folder_name(memory['project_id'])}")
    if memory.get("is_shared"):
        about.append(f"shared by {memory['user_id']}")
    about += [memory[name] for name in ("speaker", "source") if memory.get(name)]
    short_id = id_for_reader(memory["id"])
    room = console.width() - len(short_id) - indent - 3
    return f"{console.line(' · '.join(about), room)} · {short_id}"


def refuse(**filters: object) -> None:
    """Raise InvalidError if one of *filters* is set, since ``--sessions`` does not apply it."""
    for name, value in filters.items():
        if value:
            raise InvalidError(
                f"--{name} filters memories, not the messages of sessions",
                field=f"--{name}",
                hint="leave it out, or search without --sessions",
            )


def search(**params: Any) -> None:
    """Search the messages of sessions and print the matches, best first."""
    answer = call("session.search", **params)
    if console.print_if_json(answer):
        return
    for turn in answer["items"]:
        _show_turn(turn)
    if not answer["items"]:
        console.note("no message of a session matches")


def speaker_label(role: str) -> str:
    """Return the label of a message's speaker.

    Programs choose roles freely, so an unknown one is prefixed: it must not look like memd's words.

    >>> speaker_label("user"), speaker_label("status: ok")
    ('user', 'by status: ok')
    """
    from memd.view.labels import ROLES

    return role if role in ROLES or role == "message" else f"by {console.line(role)}"


def _show_turn(turn: dict[str, Any]) -> None:
    """Print one message: speaker and matching passage, then its time and place dimmed."""
    who = speaker_label(turn["role"])
    console.out(
        f"{console.bold(who)}  {console.line(turn['snippet'], console.width() - len(who) - 2)}"
    )
    # The project is last, because a narrow terminal cuts the end of the line.
    where = [
        console.local_time(turn["at"]),
        f"message {turn['ordinal']}",
        f"session {turn['session_id']}",
    ]
    if turn.get("project_id"):
        where.append(f"project {turn['project_id']}")
    console.out("      " + console.dim(console.line(" · ".join(where), console.width() - 6)))
