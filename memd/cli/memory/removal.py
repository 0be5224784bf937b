"""``memd delete``, ``forget``, ``trash`` and ``archive``."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from memd.base.errors import InvalidError, MemdError, MemoryNotFoundError
from memd.cli import console, options
from memd.cli.connection import LONG_SECONDS_MAX, call, change_each, daemon, exit_if_missing
from memd.cli.notes.folder import absolute
from memd.cli.notes.note import source_name
from memd.cli.tables import id_column, print_items, text_column, time_column, word_column

if TYPE_CHECKING:
    from memd.client import Client

_LINE_CELLS = 100
_ARCHIVED_ID = id_column(cell=lambda item: item["entry"]["id"])
_ARCHIVED = time_column("ARCHIVED", "archived_at")
_ARCHIVED_TEXT = text_column("TEXT", lambda item: item["entry"]["content"])


@options.examples("memd delete 0199f3a1-5c1e-7b32-9d1a-3f0f6f2f9b11")
def delete(memory_ids: options.MemoryIds, agent: options.Agent = None) -> None:
    """Move memories to the trash.

    They can be restored for a week, unless the setting daemon.undo_days says otherwise.
    """
    change_each("memory.delete", memory_ids, agent, "deleted", console.NO_MEMORY)


@options.examples(
    "memd forget 0199f3a1-5c1e-7b32-9d1a-3f0f6f2f9b11",
    "memd forget --source notes/2025.md --dry-run",
    "memd forget --source notes/2025.md --yes",
    "memd forget --source chatgpt-export.zip --dry-run",
    "memd forget --session planning-2026 --dry-run",
)
def forget(
    memory_ids: Annotated[
        list[str] | None, "[ID...]", "Ids, or the last six or more characters of each."
    ] = None,
    source: Annotated[
        str | None,
        "--source REF",
        "Everything from this source: a file, a folder, or all chats of an export.",
    ] = None,
    session: Annotated[
        str | None, "--session ID", "Everything from this session, including its messages."
    ] = None,
    yes: options.Yes = False,
    dry_run: options.DryRun = False,
    agent: options.Agent = None,
) -> None:
    """Erase memories permanently.

    No table, cache or page of the database keeps any of them. Only an old backup can bring them
    back.
    """
    selections = [_forget_params(memory_ids, source, session)]
    with daemon(seconds_max=LONG_SECONDS_MAX) as client:
        preview = _erase(client, selections, agent, dry_run=True)
        _report_missing(memory_ids or (), preview["ids"])
        if source and not preview["count"]:
            selections = _of_file(absolute(Path(source)))
            preview = _erase(client, selections, agent, dry_run=True)
        if not preview["count"] and not preview["messages"]:
            _exit_not_found(source, session, preview)
        if not dry_run:
            _confirm(preview, yes=yes)
            preview = _erase(client, selections, agent, dry_run=False)
    if console.print_if_json(preview):
        return
    console.out(f"{'would erase' if dry_run else 'erased'} {_count(preview)}")
    if dry_run:
        _show(preview)
    for left in preview.get("backups", ()):
        console.note(f"a backup may still hold it: {left}")


@options.examples("memd trash list", "memd trash list --json")
def trash_list(
    limit: options.PageLimit = 50,
    after: options.After = None,
    agent: options.Agent = None,
) -> None:
    """List the trash, and when each memory is erased."""
    page = call("trash.list", limit=limit, after=after, agent_id=agent)
    print_items(
        page,
        (
            id_column(),
            time_column("DELETED", "trashed_at"),
            time_column("ERASED AT", "erase_at"),
            word_column("REASON", "reason"),
            text_column("TEXT", "content"),
        ),
        nothing="the trash is empty" if after is None else "no more deleted memories",
    )
    if agent is None and after is None and not (page["items"] or console.is_json()):
        _report_other_trash(limit)


def _report_other_trash(limit: int) -> None:
    """Report to stderr how many memories are in the trash of other agents."""
    with suppress(MemdError):
        for other in call("agent.list")["items"]:
            page = call("trash.list", limit=limit, agent_id=other["agent_id"])
            if number := len(page["items"]):
                count = f"{number:,}{' or more' if page['next'] else ''}"
                command = f"memd trash list --agent {shlex.quote(other['agent_id'])}"
                console.note(f"{count} of agent {console.line(other['agent_id'])}: {command}")


@options.examples("memd trash restore 0199f3a1-5c1e-7b32-9d1a-3f0f6f2f9b11")
def trash_restore(memory_ids: options.MemoryIds, agent: options.Agent = None) -> None:
    """Restore memories from the trash, byte for byte."""
    change_each("trash.restore", memory_ids, agent, "restored", "not in the trash:")


def _forget_params(
    memory_ids: list[str] | None, source: str | None, session: str | None
) -> dict[str, Any]:
    """Return the params of ``memory.forget``. Raises InvalidError unless exactly one is given."""
    in_session = None if session is None else {"session_id": session}
    params: dict[str, Any] = options.without_none(
        ids=memory_ids or None, source=source or None, filter=in_session
    )
    if not params:
        raise InvalidError("nothing to forget was named", hint="give ids, --source or --session")
    if len(params) > 1:
        raise InvalidError(
            "ids, --source and --session exclude each other", hint="give one of them"
        )
    return params


def _of_file(path: Path) -> list[dict[str, Any]]:
    """Return the params for what an import of *path* stored: its text, or a session for each chat.

    A file is imported under its absolute path, however it was named.
    """
    from memd.cli.transfer.foreign import chat_names, is_export

    selections: list[dict[str, Any]] = [{"source": source_name(path)}]
    if path.exists():
        with suppress(InvalidError):  # no export
            if is_export(path):
                selections += [{"filter": {"session_id": name}} for name in chat_names(path)]
    return selections


def _erase(
    client: Client, selections: Sequence[dict[str, Any]], agent: str | None, *, dry_run: bool
) -> dict[str, Any]:
    """Erase each of *selections*, and return the results as one."""
    common = options.without_none(agent_id=agent)
    results = [
        client.call("memory.forget", {**common, **selection, "dry_run": dry_run})
        for selection in selections
    ]
    whole: dict[str, Any] = dict(results[0])
    for result in results[1:]:
        for name in ("count", "messages"):
            whole[name] += result[name]
        for name in ("ids", "texts", "backups"):
            whole[name] = list(dict.fromkeys([*whole[name], *result[name]]))
        whole["proof"] = " ".join(filter(None, (whole["proof"], result["proof"])))
    return whole


def _report_missing(ids: Sequence[str], known_ids: Sequence[str]) -> None:
    """Report each of *ids* that no memory has. A short id is the end of a full one."""
    for short_id in ids:
        if len(ids) <= len(known_ids):
            return
        if not any(memory_id.endswith(short_id) for memory_id in known_ids):
            console.note(f"memd: {console.NO_MEMORY} {console.line(short_id)}")
            if hint := console.id_hint(short_id):
                console.note(f"      {hint}")


def _exit_not_found(source: str | None, session: str | None, preview: dict[str, Any]) -> None:
    """Report that nothing matches, and exit."""
    console.print_if_json(preview)
    if source:
        console.note(f"memd: no memory has the source {console.line(source)}")
        console.note("to erase an imported session: memd forget --session ID")
    if session:
        console.note(f"memd: nothing is stored of session {console.line(session)}")
    raise console.CommandExit(console.Exit.ERROR)


def _confirm(preview: dict[str, Any], *, yes: bool) -> None:
    if not yes:
        _show(preview)
    console.confirm(f"Erase {_count(preview)} permanently?", yes=yes)


def _show(preview: dict[str, Any]) -> None:
    """Print the beginnings of the first texts to be erased, and the number of the rest."""
    for text in preview["texts"]:
        console.note(f"  {console.line(text, min(console.width(), _LINE_CELLS) - 2)}")
    hidden = preview["count"] - len(preview["texts"])
    if hidden and preview["texts"]:
        console.note(f"  and {hidden:,} more")


def _count(preview: dict[str, Any]) -> str:
    text = console.count(preview["count"], "memory")
    if messages := preview["messages"]:
        text += f" and {console.count(messages, 'message')} of its session"
    return text


@options.examples('memd archive search "old deploy notes"', "memd archive search -n 20 --json")
def search(
    query: Annotated[str | None, "[QUERY]", "Words to search for; default: the newest."] = None,
    category: options.Kind = None,
    namespace: options.Namespace = None,
    tag: options.Tags = None,
    session: options.Session = None,
    limit: options.Limit = 50,
    agent: options.Agent = None,
) -> None:
    """Search the archive.

    It holds memories that were summarised, over the cap, or unimportant.
    """
    answer = call(
        "archive.search",
        text=query,
        session_id=session,
        agent_id=agent,
        limit=limit,
        **options.filters(category, namespace, tag),
    )
    print_items(
        {"items": answer},
        (_ARCHIVED_ID, _ARCHIVED, word_column("REASON", "reason"), _ARCHIVED_TEXT),
        nothing="no archived memory matches" if query else "the archive is empty",
        limit=limit,
    )


@options.examples(
    "memd archive restore 0199f3a1-5c1e-7b32-9d1a-3f0f6f2f9b11",
    "memd archive restore --show 0199f3a1-5c1e-7b32-9d1a-3f0f6f2f9b11",
)
def restore(
    memory_ids: Annotated[
        list[str],
        "ID...",
        "Ids of memories, archival ids, or the last six or more characters of them.",
    ],
    show: Annotated[bool, "--show", "Print the memories; leave them in the archive."] = False,
    agent: options.Agent = None,
) -> None:
    """Restore memories from the archive, with their ids."""
    entries, missing = _fetch_archived(memory_ids, agent, show=show)
    if not console.print_if_json({"archived" if show else "restored": entries, "missing": missing}):
        for item in entries:
            _print(item) if show else console.out(item["id"])
    exit_if_missing(missing, "not in the archive:")


def _fetch_archived(
    memory_ids: list[str], agent: str | None, *, show: bool
) -> tuple[list[dict[str, Any]], list[str]]:
    """Fetch archived memories, or restore them without *show*.

    Return their entries, and the ids that are not in the archive.
    """
    method = "archive.restore" if show else "archive.restore_to_hot"
    entries, missing = [], []
    with daemon() as client:
        for memory_id in memory_ids:
            try:
                entries.append(
                    client.call(method, options.without_none(id=memory_id, agent_id=agent))
                )
            except MemoryNotFoundError:
                missing.append(memory_id)
    return entries, missing


@options.examples("memd archive turned-away", "memd archive turned-away --restore")
def turned_away(
    restore: Annotated[bool, "--restore", "Restore all of them."] = False,
    limit: options.PageLimit = 50,
    after: options.After = None,
    agent: options.Agent = None,
) -> None:
    """List or restore texts that were archived as unimportant."""
    if restore:
        count = call("archive.restore_turned_away", agent_id=agent, everybody=agent is None)
        console.answer({"restored": count}, f"restored {count:,}")
        return
    agent_column = word_column("AGENT", lambda item: item["entry"]["agent_id"])
    page = call(
        "archive.turned_away", agent_id=agent, everybody=agent is None, limit=limit, after=after
    )
    print_items(
        page,
        (_ARCHIVED_ID, _ARCHIVED, agent_column, _ARCHIVED_TEXT),
        nothing="nothing was turned away" if after is None else "nothing else was turned away",
    )


@options.examples("memd archive count", "memd archive count --json")
def count(agent: options.Agent = None) -> None:
    """Print the number of memories in the archive."""
    number = call("archive.count", agent_id=agent)
    console.answer({"count": number}, str(number))


def _print(item: dict[str, Any]) -> None:
    entry = item["entry"]
    console.note_fields({name: item[name] for name in ("archival_id", "reason", "archived_at")}, 13)
    console.note_fields({name: entry[name] for name in ("id", "category", "created_at")}, 13)
    console.out(console.quote(entry["content"]))
