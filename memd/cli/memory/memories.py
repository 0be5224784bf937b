"""``memd add``, ``search``, ``recall``, ``get`` and ``list``."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

from memd.base.errors import InvalidError, MemdError
from memd.cli import console, options
from memd.cli.connection import call, daemon
from memd.cli.project import find_project_id, project_id_or_here
from memd.cli.tables import id_column, report_next, table, text_column, time_column, word_column
from memd.cli.times import parse_range

if TYPE_CHECKING:
    from memd.client import Client

_PART_ENDS = re.compile(r"[.!;:,] | (?:and|und|et|y|e|en) ")
LONG_TOKENS = 2_000
"""Length above which a memory rarely fits into a prompt."""

Query = Annotated[list[str], "QUERY...", "The question, with or without quotes."]
Top = Annotated[int | None, "--top, -n N", "Maximum number of memories."]
Mode = Annotated[str | None, "--mode MODE", "hybrid, dense or words."]
Archived = Annotated[bool, "--archived", "Include compressed and archived memories."]
Turns = Annotated[
    bool, "--turns", "Include turns that state nothing: questions, requests, remarks."
]
Sessions = Annotated[bool, "--sessions", "Search the full text of sessions instead."]
Why = Annotated[bool, "--why", "Show each relevance as a number, and what was left out."]


@options.examples(
    'memd add "We deploy with blue-green since March"',
    'memd add "I prefer short answers"',
    'memd add "Answer in German, never with a preamble" --category procedural',
    "git log -1 --format=%B | memd add - --tag git",
)
def add(
    words: Annotated[list[str], "TEXT...", "The text; - reads stdin."],
    category: options.Category = None,
    namespace: options.Namespace = None,
    tag: options.Tags = None,
    speaker: Annotated[str | None, "--speaker NAME", "Who said the text."] = None,
    session: options.Session = None,
    project: options.PromptProject = None,
    agent: options.Agent = None,
) -> None:
    """Store a text as it is. Prints the id of the memory.

    A text that states a preference ("I prefer", "I always", "never", "answer in German"), or that
    is added as procedural, is part of every prompt; with "in this repo" or "in this project" only
    of the prompts of that project. One that begins with something else is a fact, as the command
    says then: only prompts that it answers have it.
    """
    from memd.cli.memory import answers
    from memd.text.preference import default_category

    content = options.text_or_stdin(options.join_words(words))
    params = options.without_none(
        category=category or default_category(content, speaker),
        content=content,
        namespace=namespace,
        speaker=speaker,
        session_id=session,
        project_id=project_id_or_here(project, agent, stores=True),
        agent_id=agent,
    )
    params["metadata"] = {"tags": tag or []}
    with daemon() as client:
        before = set[str]()
        with suppress(MemdError):
            before = _preferences(client, agent)
        memory_id = client.call("memory.store", {**params, "merge": True})
        console.answer({"id": memory_id}, memory_id)
        with suppress(MemdError):  # only hints: the memory is stored
            for value in before - _preferences(client, agent):
                console.note(f"ends the preference: {console.line(value)}")
            entry = client.call("memory.get", options.without_none(id=memory_id, agent_id=agent))
            if entry and entry["updated_at"] not in {None, entry["created_at"]}:
                console.note("known already")
                return
            if entry:
                console.report_secrets(content, entry["content"])
                _report_use(entry)
                if category is None and speaker is None:
                    _report_fact(entry)
    answers.report_language(content)


def _preferences(client: Client, agent: str | None) -> set[str]:
    """Return the wordings of the agent's preferences."""
    page = client.call("preference.list", options.without_none(agent_id=agent))
    return {preference["value"] for preference in page["items"]}


def _report_fact(entry: dict[str, Any]) -> None:
    """Report to stderr that a text is no preference, of which a part begins like one.

    That part may as well be a statement: "they met, and never wrote".
    """
    from memd.text.directives import begins_directive

    parts = _PART_ENDS.split(" ".join(entry["content"].split()))
    if entry["category"] == "semantic" and any(map(begins_directive, parts)):
        console.note(
            "stored as a fact: only prompts that it answers have it; a preference is a sentence of "
            "its own, or added with --category procedural"
        )


def _report_use(entry: dict[str, Any]) -> None:
    """Report to stderr that a stored memory is too long for prompts, or is in every prompt."""
    if entry["token_count"] > LONG_TOKENS:
        console.note(
            f"one memory of {entry['token_count']} tokens: few prompts have room for it; "
            "memd import FILE stores a long text in pieces"
        )
    elif entry["category"] == "procedural":
        project_id = entry["project_id"]
        if entry["level"] == "project":
            console.note(f"stored as a preference: every prompt of {project_id} has it")
        elif project_id is None:
            console.note("stored as a preference: every prompt has it")
        else:
            console.note(
                "stored as a preference: every prompt has it, of all projects; "
                'one for this project alone begins with "In this project"'
            )


@options.examples(
    "memd search how do we deploy",
    'memd search postgres -n 20 --json | jq ".memories[].id"',
    "memd search --turns what did I ask about the dentist",
    'memd search dentist --since "3 months ago"',
    "memd search --sessions connection refused --since 2026-03 --until yesterday",
)
def search(
    query: Query,
    top: Top = None,
    category: options.Kind = None,
    namespace: options.Namespace = None,
    tag: options.Tags = None,
    project: options.PromptProject = None,
    mode: Mode = None,
    archived: Archived = False,
    turns: Turns = False,
    sessions: Sessions = False,
    session: options.SessionToRead = None,
    since: options.Since = None,
    until: options.Until = None,
    why: Why = False,
    agent: options.Agent = None,
) -> None:
    """Search memories by meaning and words.

    Prints the memories that are likely or possible answers, those of this project first; --top
    prints more. --turns also searches questions, requests and remarks, and --sessions the messages
    of sessions. Neither is added to prompts, but "memd archive restore" turns one into a memory.
    """
    from memd.cli.memory import answers

    text = options.join_words(query)
    low, high = parse_range(since, until)
    if sessions:
        answers.refuse(
            category=category, namespace=namespace, tag=tag, mode=mode, archived=archived,
            turns=turns,
        )  # fmt: skip
        answers.search(
            query=text, session_id=session, since=low, until=high,
            project_id=find_project_id(project, agent), limit=top, agent_id=agent,
        )  # fmt: skip
        return
    project_id = project_id_or_here(project, agent)
    flags = {"include_compressed": archived, "include_passing": turns, "preferences": "matching"}
    answer = call(
        "memory.recall", query=text, top_k=top, project_id=project_id, search_mode=mode,
        session_id=session, occurred_since=low, occurred_until=high, show_sources=True, why=why,
        agent_id=agent, **flags, **options.filters(category, namespace, tag),
    )  # fmt: skip
    if console.print_if_json(answer):
        return
    answers.show(answer, text, mode, agent, project_id=project_id, shortened=top is None, why=why)


@options.examples('memd recall "how do we deploy?"', 'memd recall "my editor" --budget 500')
def recall(
    query: Query,
    top: Top = None,
    budget: options.Budget = None,
    category: options.Kind = None,
    namespace: options.Namespace = None,
    tag: options.Tags = None,
    project: options.PromptProject = None,
    mode: Mode = None,
    since: options.Since = None,
    until: options.Until = None,
    why: Annotated[
        bool, "--why", "Show the relevance of each memory, and what was left out."
    ] = False,
    agent: options.Agent = None,
) -> None:
    """Print the <memory> block for a question, as programs get it."""
    low, high = parse_range(since, until)
    answer = call(
        "memory.recall",
        query=options.join_words(query),
        top_k=top,
        token_budget=budget,
        project_id=project_id_or_here(project, agent),
        search_mode=mode,
        occurred_since=low,
        occurred_until=high,
        show_sources=True,
        why=why,
        agent_id=agent,
        **options.filters(category, namespace, tag),
    )
    if console.print_if_json(answer):
        return
    console.out(console.quote_prompt(answer["prompt_block"]))
    if why:
        from memd.cli.memory import answers

        answers.explain(answer)
    if answer.get("minimum_required_tokens"):
        console.note(
            f"no memory fits: the smallest needs {answer['minimum_required_tokens']} tokens"
        )


@options.examples("memd get 0199f3a1-5c1e-7b32-9d1a-3f0f6f2f9b11 --json")
def get(memory_id: options.MemoryId, agent: options.Agent = None) -> None:
    """Print one memory.

    Its text goes to stdout, the rest to stderr.
    """
    entry = call("memory.get", id=memory_id, agent_id=agent)
    if entry is None:
        raise console.unknown_memory(memory_id)
    if console.print_if_json({"memory": entry}):
        return
    fields = {name: entry[name] for name in entry if name not in {"content", "metadata"}}
    console.note_fields(options.without_none(**fields), 13)
    for name, value in entry["metadata"].items():
        if value:
            text = ", ".join(value) if isinstance(value, list) else str(value)
            console.note(f"{name + ':':<13} {console.line(text)}")
    console.out(console.quote(entry["content"]))


@options.examples(
    "memd list --limit 20",
    'memd list --since "last week"',
    "memd list --category procedural --tag git",
    "memd list --session 6f2f9b11 --tag nap",
    "memd list --project .",
    "memd list --no-project --turns",
    "memd list --json",
)
def list_(
    category: options.Kind = None,
    namespace: options.Namespace = None,
    tag: options.Tags = None,
    session: options.SessionToRead = None,
    project: options.Project = None,
    any_project: Annotated[bool, "--no-project", "Only memories of no project."] = True,
    turns: Turns = False,
    since: options.Since = None,
    until: options.Until = None,
    limit: options.PageLimit = 50,
    after: options.After = None,
    agent: options.Agent = None,
) -> None:
    """List memories, newest first.

    A memory that a nap kept is listed with its kind, such as decision, instead of its category. It
    has the tag nap: --session ID --tag nap lists what naps kept of a session, without its turns.
    """
    if project and not any_project:
        raise InvalidError("--project and --no-project exclude each other")
    low, high = parse_range(since, until)
    page = call(
        "memory.list",
        session_id=session,
        project_id=find_project_id(project, agent),
        projectless=not any_project,
        include_passing=turns,
        occurred_since=low,
        occurred_until=high,
        after=after,
        limit=limit,
        agent_id=agent,
        **options.filters(category, namespace, tag),
    )
    if console.print_if_json(page):
        return
    _print_page(page, "no memories" if after is None else "no more memories")
    if after is None and not page["items"]:
        from memd.cli.memory import answers

        answers.report_other_agents(agent)
    report_next(page, since=low, until=high)  # absolute: "yesterday" would change its meaning


def _print_page(page: dict[str, Any], nothing: str) -> None:
    """Print the memories of a page, newest first; *nothing* to stderr if there are none."""
    from memd.cli.memory import answers

    columns = (
        id_column(),
        time_column("WHEN", _time_of),
        word_column("KIND", answers.kind_of),
        text_column("TEXT", "content"),
    )
    table(columns, page["items"])
    if not page["items"]:
        console.note(nothing)


def _time_of(memory: dict[str, Any]) -> str:
    """Return when the event of a memory happened, else when it was stored, to the second."""
    return re.sub(r"\.\d+", "", str(memory.get("occurred_at") or memory["created_at"]))
