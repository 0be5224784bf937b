"""Print which memories a run changed, with the command that lists the rest."""

from __future__ import annotations

import shlex
from collections import defaultdict
from typing import Any

from memd.cli import console
from memd.cli.tables import id_column, table, text_column, word_column

_SHOWN_MAX = 10
"""Memories of one agent and state."""
_STATES = {
    "trashed": ("in the trash", "memd trash list"),
    "archived": ("archived", "memd archive search"),
    "compressed": ("archived", "memd archive search"),
    "quarantined": ("quarantined", "memd flagged list"),
}
"""What each state is called, and which command lists such memories."""
_VISIBLE = ("created", "memd list")


def print_changes(run: dict[str, Any]) -> None:
    """Print the first memories that *run* changed, by agent and state, and how many more."""
    groups: dict[tuple[str, tuple[str, str]], list[dict[str, Any]]] = defaultdict(list)
    for change in run["changes"]:
        groups[change["agent_id"], _STATES.get(change["state"], _VISIBLE)].append(change)
    table(
        (
            id_column(),
            word_column("AGENT", "agent_id"),
            word_column("NOW", lambda change: _STATES.get(change["state"], _VISIBLE)[0]),
            text_column("TEXT", lambda change: change["text"] or "not shown"),
        ),
        [change for group in groups.values() for change in group[:_SHOWN_MAX]],
    )
    for (agent, (state, command)), group in groups.items():
        if (more := len(group) - _SHOWN_MAX) > 0:
            place = f"{command} --agent {shlex.quote(agent)}"
            console.note(f"and {more:,} more {state}: {console.line(place)}")
    if run["left_out"]:
        console.note(f"and {run['left_out']:,} more changes")
