"""The table of commands: their headings in ``memd --help``, and the modules of their functions.

A command is a plain function. Only the module of the command that runs is imported.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple


class Entry(NamedTuple):
    """A command: its name, its module below ``memd.cli``, and its function if named differently."""

    name: str
    module: str
    function: str = ""

    def load(self) -> Callable[..., Any]:
        """Import the module and return the function."""
        module = importlib.import_module(f"memd.cli.{self.module}")
        command: Callable[..., Any] = getattr(module, self.function or self.name)
        return command


class Group(NamedTuple):
    """Commands with a common first word, and a summary of what they do."""

    name: str
    summary: str
    entries: tuple[Entry, ...]


SECTIONS: dict[str, tuple[Entry | Group, ...]] = {
    "Get started": (
        Entry("demo", "demo"),
        Group("service", "Run the daemon at every login, by systemd or launchd.", (
            Entry("install", "daemon.service"),
            Entry("uninstall", "daemon.service"),
            Entry("status", "daemon.service"),
        )),
        Entry("connect", "connect.connect"),
        Entry("status", "daemon.serve"),
        Entry("doctor", "connect.doctor"),
    ),
    "Memories": (
        Entry("add", "memory.memories"),
        Entry("import", "transfer.transfer", "import_"),
        Entry("search", "memory.memories"),
        Entry("recall", "memory.memories"),
        Entry("get", "memory.memories"),
        Entry("why", "memory.entry"),
        Entry("list", "memory.memories", "list_"),
        Group("project", "List projects, and move memories to another project.", (
            Entry("list", "project", "list_projects"),
            Entry("move", "project"),
        )),
        Entry("edit", "memory.entry"),
        Group("preference", "Set, list and delete preferences, which every prompt contains.", (
            Entry("set", "memory.preference", "set_"),
            Entry("list", "memory.preference", "list_"),
            Entry("get", "memory.preference"),
            Entry("confirm", "memory.preference"),
            Entry("delete", "memory.preference"),
        )),
        Entry("export", "transfer.export"),
        Entry("wiki", "sleep.wiki"),
    ),
    "Called by assistants": (
        Entry("mcp", "connect.connect"),
        Entry("hook", "connect.connect"),
        Entry("statusline", "connect.connect"),
    ),
    "Prompts and lessons": (
        Entry("inject", "memory.inject"),
        Entry("brief", "memory.inject"),
        Entry("synthesize", "memory.inject"),
        Group("learn", "Store and list lessons, and tool patterns that worked.", (
            Entry("lesson", "memory.learn"),
            Entry("success", "memory.learn"),
            Entry("failure", "memory.learn"),
            Entry("list", "memory.learn", "list_"),
            Entry("playbook", "memory.learn"),
            Entry("prune", "memory.learn"),
            Entry("forget", "memory.learn"),
        )),
        Group("skill", "List and export skills made from failures.", (
            Entry("list", "memory.learn", "list_skills"),
            Entry("show", "memory.learn", "show_skill"),
            Entry("export", "memory.learn", "export_skills"),
        )),
        Group("llm", "Show what the optional language model does and costs.", (
            Entry("status", "llm"),
            Entry("jobs", "llm"),
        )),
    ),
    "Operational records": (
        Entry("records", "records"),
    ),
    "Naps and nights": (
        Entry("usage", "sleep.usage"),
        Entry("sleep", "sleep.sleep"),
        Entry("compress", "sleep.sleep"),
    ),
    "Organisational memory": (
        Group("org", "Write and query facts: policies, decisions, conventions.", (
            Entry("write", "org.org"),
            Entry("retract", "org.org"),
            Entry("show", "org.org"),
            Entry("query", "org.org"),
            Entry("policies", "org.org"),
            Entry("history", "org.org"),
            Entry("changes", "org.history"),
            Entry("propose", "org.review"),
            Entry("review", "org.review"),
            Entry("as-of", "org.history", "as_of"),
            Entry("timeline", "org.history"),
        )),
        Group("graph", "Query the graph of entities and their relations.", (
            Entry("neighbours", "org.graph"),
            Entry("path", "org.graph"),
            Entry("query", "org.graph"),
            Entry("add", "org.graph"),
        )),
        Group("shared", "Share memories among all agents.", (
            Entry("publish", "memory.shared"),
            Entry("search", "memory.shared"),
            Entry("retract", "memory.shared"),
        )),
    ),
    "Archive, trash and erasure": (
        Group("archive", "Search and restore archived memories.", (
            Entry("search", "memory.removal"),
            Entry("restore", "memory.removal"),
            Entry("turned-away", "memory.removal", "turned_away"),
            Entry("count", "memory.removal"),
        )),
        Entry("delete", "memory.removal"),
        Group("trash", "List and restore deleted memories.", (
            Entry("list", "memory.removal", "trash_list"),
            Entry("restore", "memory.removal", "trash_restore"),
        )),
        Entry("forget", "memory.removal"),
    ),
    "Access and audit": (
        Group("agent", "Set what an agent keeps, and for how long.", (
            Entry("set", "access.agent", "set_"),
            Entry("show", "access.agent"),
            Entry("list", "access.agent", "list_"),
        )),
        Group("client", "Create, list and revoke client keys.", (
            Entry("add", "access.client"),
            Entry("list", "access.client", "list_"),
            Entry("revoke", "access.client"),
        )),
        Group("owner", "Create the owner key, which signs what you write.", (
            Entry("init", "org.owner"),
            Entry("show", "org.owner"),
        )),
        Group("audit", "Show and verify the audit of changes and refusals.", (
            Entry("show", "access.audit"),
            Entry("verify", "access.audit"),
        )),
        Group("flagged", "Review memories that look like attacks.", (
            Entry("list", "memory.flagged", "list_"),
            Entry("show", "memory.flagged"),
            Entry("release", "memory.flagged"),
            Entry("add", "memory.flagged"),
        )),
    ),
    "Daemon and settings": (
        Entry("serve", "daemon.serve"),
        Entry("stats", "daemon.stats"),
        Group("model", "Install, switch and export embedding models.", (
            Entry("install", "upkeep.models"),
            Entry("list", "upkeep.model_switch", "list_"),
            Entry("add", "upkeep.model_switch"),
            Entry("use", "upkeep.model_switch"),
            Entry("undo", "upkeep.model_switch"),
            Entry("bench", "upkeep.model_switch"),
            Entry("export", "upkeep.models"),
            Entry("status", "upkeep.models"),
        )),
        Group("config", "Show and change settings.", (
            Entry("show", "upkeep.config"),
            Entry("path", "upkeep.config"),
            Entry("set", "upkeep.config", "set_value"),
            Entry("unset", "upkeep.config"),
        )),
        Group("profile", "Keep separate memories, each with its own daemon.", (
            Entry("list", "daemon.profile", "list_"),
            Entry("create", "daemon.profile"),
            Entry("remove", "daemon.profile"),
        )),
        Group("tune", "Tune recall to your own memories.", (
            Entry("run", "memory.tune"),
            Entry("status", "memory.tune"),
            Entry("cancel", "memory.tune"),
            Entry("use", "memory.tune"),
            Entry("undo", "memory.tune"),
        )),
        Entry("completion", "help"),
        Entry("version", "daemon.serve"),
    ),
    "Database": (
        Entry("check", "upkeep.upkeep"),
        Entry("rebuild", "upkeep.upkeep"),
        Entry("backup", "upkeep.backup"),
        Entry("restore", "upkeep.backup"),
        Entry("repair", "upkeep.backup"),
    ),
}  # fmt: skip
"""Headings of ``memd --help``, with the commands and groups under each."""

_ALL = [item for items in SECTIONS.values() for item in items]
COMMANDS: Mapping[str, Entry] = {item.name: item for item in _ALL if isinstance(item, Entry)}
GROUPS: Mapping[str, Group] = {item.name: item for item in _ALL if isinstance(item, Group)}


def find(argv: Sequence[str]) -> tuple[Entry, list[str]] | None:
    """Return the command that *argv* names, and its arguments; None if it names no command."""
    first, second = [*argv, "", ""][:2]
    if first in GROUPS:
        entry = next((entry for entry in GROUPS[first].entries if entry.name == second), None)
        return entry and (entry, list(argv[2:]))
    return (COMMANDS[first], list(argv[1:])) if first in COMMANDS else None


_PREFIX_CHARS = 4
"""Common first letters that make names similar, as in "prefs" for preference."""
_SYNONYMS = {
    "show": ["get", "why"],
    "find": ["search"],
    "query": ["search"],
    "ask": ["search", "recall"],
    "remember": ["add"],
    "remove": ["delete", "forget"],
    "rm": ["delete", "forget"],
    "undo": ["trash", "archive", "sleep"],
    "nap": ["sleep", "usage"],
    "night": ["sleep"],
    "sessions": ["search", "import"],
    "start": ["serve", "service"],
    "stop": ["service"],
    "install": ["service", "model"],
    "setup": ["connect", "service"],
}
"""Commands of other programs, and the commands of memd that do the same."""


def similar(word: str, names: Iterable[str]) -> str:
    """Return the *names* that are similar to *word*, in brackets; "" if there are none.

    >>> similar("serch", ["add", "search"]), similar("prefs", ["preference", "brief"])
    (' (similar: search)', ' (similar: preference, brief)')
    >>> similar("show", ["add", "get", "why"])
    ' (similar: get, why)'
    """
    from difflib import get_close_matches

    names = list(names)
    matches = [name for name in _SYNONYMS.get(word, ()) if name in names]
    matches += get_close_matches(word, names)
    if len(word) >= _PREFIX_CHARS and not word.startswith("-"):
        prefix = word[:_PREFIX_CHARS]
        matches = [*(name for name in names if name.startswith(prefix)), *matches]
    matches = list(dict.fromkeys(matches))
    return f" (similar: {', '.join(matches)})" if matches else ""
