"""Output of search results: memories with their likelihood, and messages of sessions."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from memd.base.errors import InvalidError, MemdError
from memd.cli import say
from memd.cli.options import NAP_KINDS
from memd.cli.project import folder_name
from memd.cli.reach import call
from memd.cli.tables import id_for_reader

LIKELY = 0.5
DISPLAYED_MIN = 0.02
"""Relevance below which a memory is printed only together with the numbers."""
WORD_CELLS = 8
PASSAGE_LINES_MAX = 3  # of a memory on a terminal: most answers are whole, ten fit on a screen
RESULTS_MAX = 8
"""Results printed on a terminal unless more are asked for: about as many as it shows."""
NEWEST_READ = 50
FOREIGN_MIN = 3
FOREIGN_SHARE_MIN = 0.25
"""Of the newest memories: those in other languages, from which on the model is named."""
_CUT = {
    "gate": "of its kind (told, or kept by naps) none seems to answer; --mode words shows it",
    "bar": "its relevance is too low",
    "repeats": "repeats {of}",
    "room": "over the budget, or too many from one source",
}


def likelihood_word(memory: dict[str, Any]) -> str:
    """Return the likelihood that a memory answers, in a word.

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
    """Return the kind of a memory: that given by a nap, the kind of a turn, or the category."""
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
    """Print the results of a search in *mode*, best first; those of other projects name theirs.

    With *why*, or if *mode* is not hybrid, also relevances and what was left out; else *shortened*
    prints RESULTS_MAX at most on a terminal.
    """
    numbers = why or mode not in {None, "hybrid"}
    memories = [
        memory for memory in answer["memories"] if numbers or likelihood_word(memory) != "unlikely"
    ]
    shortened = shortened and not numbers and sys.stdout.isatty()
    shown = memories[:RESULTS_MAX] if shortened else memories
    for memory in shown:
        _show(memory, query, project_id, numbers=numbers)
    if more := len(memories) - len(shown):
        say.note(f"and {more} less likely: --top {len(memories)} shows them")
    if not memories:
        say.note(_why_nothing(answer))
        report_other_agents(agent_id)
    if unlikely := len(answer["memories"]) - len(memories):
        say.note(f"and {unlikely} unlikely: --why shows them")
    if numbers:
        _show_cut(answer)
    if answer.get("degraded"):
        say.note(f"memd: {answer['degraded']}")
    _report_facts(memories)
    if mode != "words" and not answer.get("degraded"):  # otherwise the model read nothing
        report_language(query)


def _why_nothing(answer: dict[str, Any]) -> str:
    least = answer.get("minimum_required_tokens")
    too_long = f"too long for an answer: {least} tokens; memd recall QUERY --budget {least}"
    return too_long if least else "nothing found"


def report_other_agents(agent_id: str | None) -> None:
    """Report to stderr that all memories are of other agents, unless *agent_id* was named."""
    if agent_id is not None:
        return
    with suppress(MemdError):
        if call("memory.count") == 0 and call("system.status")["memories"]:
            say.note(
                "the memories here are of other agents: memd agent list, then add --agent NAME"
            )


def _report_facts(memories: Sequence[dict[str, Any]]) -> None:
    """Report to stderr that another command searches facts, unless a memory is a likely answer."""
    if any(likelihood_word(memory) == "likely" for memory in memories):
        return
    with suppress(MemdError):
        if facts := call("system.status").get("facts"):
            say.note(f"memd org query searches {say.count(facts, 'fact')} of the organisation")


def report_language(text: str) -> None:
    """Report to stderr that the model in use reads English alone, where *text* is none."""
    from memd.text.languages import is_english

    if not is_english(text):
        _report_model()


def report_stored_languages() -> None:
    """Report the same where a quarter of the newest memories are in other languages."""
    from memd.text.languages import is_english

    with suppress(MemdError):
        page = call("memory.list", limit=NEWEST_READ)
        texts = [memory["content"] for memory in page["items"]]
        foreign = sum(not is_english(text) for text in texts)
        if foreign >= FOREIGN_MIN and foreign >= FOREIGN_SHARE_MIN * len(texts):
            _report_model()


def _report_model() -> None:
    from memd.base.paths import MODEL_NAME

    with suppress(MemdError):  # what was asked for is done: a hint must not fail it
        if call("model.status").get("in_use") == MODEL_NAME:
            say.note(
                f"{MODEL_NAME} reads English only. For other languages: memd model install "
                "--multilingual, then memd model use multilingual-e5-small"
            )


def explain(answer: dict[str, Any]) -> None:
    """Print to stderr the relevance of each memory, and what was left out and why."""
    if answer.get("gate") is not None:
        say.note(f"probability that anything answers: {answer['gate']:.2f}")
    for memory in answer["memories"]:
        say.note(f"{_number(memory)}  {id_for_reader(memory['id'])}  {likelihood_word(memory)}")
    _show_cut(answer)


def _show(memory: dict[str, Any], query: str, project_id: str | None, *, numbers: bool) -> None:
    """Print one memory: likelihood and matching passage, then its metadata in grey."""
    first = f"{likelihood_word(memory):<{WORD_CELLS}}"
    if numbers:
        first = f"{_number(memory)}  {first}"
    room = say.width() - len(first) - len(say.BAR) - 1
    bar = f" {say.BAR}" if sys.stdout.isatty() else "  "
    lines = say.passages(memory["content"], query, room, PASSAGE_LINES_MAX)
    say.out(f"{say.bold(first)}{bar}{lines[0]}")
    for line in lines[1:]:
        say.out(f"{' ' * len(first)}{bar}{line}")
    indent = len(first) + len(bar)
    say.out(" " * indent + say.dim(_about(memory, project_id, indent)))


def _show_cut(answer: dict[str, Any]) -> None:
    """Print what was left out, a line each; what is unlikely anyway is counted by its reason."""
    unlikely: Counter[str] = Counter()
    for cut in answer.get("cut", ()):
        if cut["by"] in ("gate", "bar") and cut["relevance_score"] < DISPLAYED_MIN:
            unlikely[cut["by"]] += 1
            continue
        of = id_for_reader(cut["of"]) if cut.get("of") else ""
        reason = _CUT[cut["by"]].format(of=of)
        say.note(f"left out {id_for_reader(cut['id'])} ({cut['relevance_score']:.2f}): {reason}")
    for by, count in unlikely.items():
        say.note(f"left out {count} below {DISPLAYED_MIN}: {_CUT[by]}")


def _number(memory: dict[str, Any]) -> str:
    relevance = memory.get("relevance_score")
    return "   -" if relevance is None else f"{relevance:.2f}"


def _about(memory: dict[str, Any], project_id: str | None, indent: int) -> str:
    """Return the metadata of a memory in a line: date, kind, project, publisher, source, id.

    The project is named where it is not the one that was searched in.
    """
    # The date of the event if known: an old note or session is not of today.
    when = say.local_time(str(memory.get("occurred_at") or memory["created_at"]))[:10]
    about = [when, kind_of(memory)]
    if memory.get("project_id") not in {None, project_id}:
        about.append(f"of {folder_name(memory['project_id'])}")
    if memory.get("is_shared"):
        about.append(f"shared by {memory['user_id']}")
    about += [memory[name] for name in ("speaker", "source") if memory.get(name)]
    short_id = id_for_reader(memory["id"])
    return f"{say.line(' · '.join(about), say.width() - len(short_id) - indent - 3)} · {short_id}"


def refuse(**filters: object) -> None:
    """Raise InvalidError for an option that filters memories only."""
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
    if say.print_if_json(answer):
        return
    for hit in answer["items"]:
        _show_turns(hit)
    if not answer["items"]:
        say.note("no message of a session matches")


def speaker_label(role: str) -> str:
    """Return the speaker of a message; an unknown role, chosen by a program, is prefixed.

    >>> speaker_label("user"), speaker_label("status: ok")
    ('user', 'by status: ok')
    """
    from memd.view.labels import ROLES

    return role if role in ROLES or role == "message" else f"by {say.line(role)}"


def _show_turns(hit: dict[str, Any]) -> None:
    """Print one message: speaker and matching passage, then its place in grey."""
    who = speaker_label(hit["role"])
    say.out(f"{say.bold(who)}  {say.line(hit['snippet'], say.width() - len(who) - 2)}")
    # What is cut on a narrow terminal is the project, often a path, not what finds the message.
    where = [say.local_time(hit["at"]), f"message {hit['ordinal']}", f"session {hit['session_id']}"]
    if hit.get("project_id"):
        where.append(f"project {hit['project_id']}")
    say.out("      " + say.dim(say.line(" · ".join(where), say.width() - 6)))
