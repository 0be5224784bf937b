"""``memd sleep`` and ``memd compress``: show, run, pause and undo nights and naps."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any

from memd.base.errors import InvalidError, InvalidStateError, NotFoundError
from memd.cli import console, options
from memd.cli.connection import LONG_SECONDS_MAX, call, daemon
from memd.cli.progress import Progress
from memd.cli.project import folder_name
from memd.cli.sleep.changes import print_changes
from memd.cli.tables import id_column, report_next, table, time_column, word_column

_ACTIONS = ("now", "dry_run", "undo", "report", "pause", "resume")
_REPORTS_SHOWN = 20

_EFFECTS = {
    "retention": "moved to the trash: past the retention",
    "consolidation": "archived behind summaries",
    "compression": "of old sessions archived behind summaries",
    "ageing": "moved into the archive",
    "cap": "archived: over the cap",
    "nap": "created",
}
"""What happened to the memories that each step counts."""
_UNDONE_NAP = "created, now in the trash, except for edited ones"

_UNDOABLE = {"night", "compress", "nap"}
_LATEST_SHOWN = 5

_WHY_NOTHING = {
    "night": "nothing to do; left alone are memories younger than a day, what naps made, and "
    "sessions and sources with less than three others",
    "compress": "nothing to do; left alone are sessions that have a digest, have a single turn or "
    "were used in the last six hours; without --force also up to ten others",
    "nap": "nothing new to remember",
}
"""Why a run of each kind did nothing."""


Steps = Annotated[
    list[str] | None,
    "--step NAME",
    "Run only retention, consolidation, compression, ageing or cap; may be repeated.",
]
InDays = Annotated[
    int | None, "--in DAYS", "With --dry-run: simulate the night this many days from now."
]


@options.examples(
    "memd sleep",
    "memd sleep --dry-run",
    "memd sleep --dry-run --in 30",
    "memd sleep --now",
    "memd sleep --now --step retention --step cap",
    "memd sleep --report",
    "memd sleep --report --limit 100",
    "memd sleep --undo 0199f3a1-5c1e-7b32-9d1a-3f0f6f2f9b11",
    "memd sleep --undo --last",
    "memd sleep --pause",
)
def sleep(
    run: Annotated[
        str | None,
        "[RUN]",
        "Run to report on or to undo: its id, or the last six or more characters.",
    ] = None,
    now: Annotated[bool, "--now", "Run a night now."] = False,
    dry_run: options.DryRun = False,
    undo: Annotated[
        bool,
        "--undo",
        "Undo RUN exactly; the memories of a nap go to the trash, except for edited ones.",
    ] = False,
    last: Annotated[
        bool, "--last", "With --undo: the last run that changed anything, if it is not undone yet."
    ] = False,
    report: Annotated[bool, "--report", "List runs, or report on RUN."] = False,
    limit: Annotated[
        int | None, "--limit, -n N", "With --report: page size; default: 20.", 1
    ] = None,
    after: options.After = None,
    pause: Annotated[bool, "--pause", "Pause nights until --resume."] = False,
    resume: Annotated[bool, "--resume", "Resume nights."] = False,
    step: Steps = None,
    in_days: InDays = None,
    agent: Annotated[
        str | None, "--agent NAME", "Only memories of this agent; default: all agents."
    ] = None,
) -> None:
    """Show, run, pause or undo naps and nights.

    Without options it shows the last and the next night. A night archives older memories behind
    short summaries and applies the retention and cap of the settings. Archived memories can still
    be searched, and each run can be undone.
    """
    action = _action(now=now, dry_run=dry_run, undo=undo, report=report, pause=pause, resume=resume)
    check_options(action, run, by_night=bool(step or agent or in_days), last=last)
    if (limit or after) and (action != "report" or run is not None):
        raise InvalidError("--limit and --after go with --report, and no run")
    if action == "undo":
        run_id = _last_undoable() if run is None else run
        _run("sleep.undo", {"run_id": run_id}, "undoing")
    elif action == "report":
        _reports(run, limit, after)
    elif action == "night":
        params = options.without_none(
            dry_run=dry_run, in_days=in_days, steps=step or None, agent_id=agent
        )
        _run("sleep.run", params, "sleeping")
    else:
        _status(action)


@options.examples("memd compress", "memd compress --force", "memd compress --sessions 3")
def compress(
    force: Annotated[bool, "--force", "Compress even if there are few sessions."] = False,
    sessions: Annotated[
        int | None, "--sessions N", "Number of sessions, oldest first; default: 5."
    ] = None,
    agent: options.Agent = None,
) -> None:
    """Replace the oldest sessions by short summaries.

    It needs more than ten sessions. A session that has a digest of a nap keeps its turns: the
    digest is its summary. The originals stay in the archive, and the run can be undone.
    """
    params = options.without_none(force=force, sessions=sessions, agent_id=agent)
    _run("sleep.compress", params, "compressing")


def status_line(status: dict[str, Any]) -> str:
    """Format a ``SleepStatus`` for ``memd status``: the last night and the next.

    >>> status_line({"enabled": True, "paused": True, "interval": "daily", "last": None})
    'no night yet; paused; to resume: memd sleep --resume'
    """
    running, last = status.get("running"), status.get("last")
    if running:
        return f"a {running['kind']} is running since {console.local_time(running['started_at'])}"
    before = f"last night {console.local_time(last['started_at'])}" if last else "no night yet"
    return f"{before}; {_next(status)}"


def _next(status: dict[str, Any]) -> str:
    if not status["enabled"]:
        return "off: consolidation.enabled is false in the settings"
    if status["paused"]:
        return "paused; to resume: memd sleep --resume"
    if status["interval"] == "never":
        return "none: consolidation.interval is never in the settings"
    if status.get("next_at") is None:
        return "the first one follows the first memory"
    waits = status.get("waits_for")
    return f"next {console.local_time(status['next_at'])}" + (
        f", waiting: {waits}" if waits else ""
    )


def _action(**flags: bool) -> str:
    """Return the chosen action; ``night`` for --now and --dry-run, ``status`` for none."""
    action = ["night" if name in {"now", "dry_run"} else name for name in _ACTIONS if flags[name]]
    if len(set(action)) > 1:
        raise InvalidError(
            "these options exclude each other",
            hint="use one of --now, --dry-run, --undo, --report, --pause and --resume",
        )
    return action[0] if action else "status"


def check_options(action: str, run: str | None, *, by_night: bool, last: bool) -> None:
    """Raise InvalidError for options that do not go together; *by_night*: one of a night is set."""
    if last and (action != "undo" or run is not None):
        raise InvalidError("--last goes with --undo, in place of a run", field="last")
    if action == "undo" and run is None and not last:
        raise InvalidError(
            "no run to undo was named", hint="memd sleep --report lists them; or use --last"
        )
    if run is not None and action not in {"undo", "report"}:
        is_option = run.replace("-", "_") in _ACTIONS
        hint = f"memd sleep --{run}" if is_option else None
        if run == "status":  # a command of other groups
            hint = "memd sleep"
        raise InvalidError("a run goes with --undo or --report only", field="run", hint=hint)
    if by_night and action != "night":
        raise InvalidError(
            "--step, --in and --agent apply to a night", hint="add --now or --dry-run"
        )


def _last_undoable() -> str:
    """Return the id of the last run that changed anything, and report it to stderr.

    Raises NotFoundError if there is none. If it is undone already, raises InvalidStateError instead
    of choosing the one before, which may be a nap of another day.
    """
    page = call("sleep.report", limit=_REPORTS_SHOWN)
    runs = [run for run in page["items"] if _has_changes(run)]
    before = next((run for run in runs if _can_be_undone(run)), None)
    if before is None:
        raise NotFoundError("no run is left to undo", hint="see: memd sleep --report")
    if runs[0]["state"] == "undone":
        raise InvalidStateError(
            f"the last run, a {_describe(runs[0])}, is undone already",
            hint=f"the one before is a {_describe(before)}: memd sleep --undo {before['run_id']}",
        )
    console.note(f"memd: undoing the {_describe(before)}")
    return str(before["run_id"])


def _describe(run: dict[str, Any]) -> str:
    return f"{_name(run)} of {console.local_time(run['started_at'])}, {_format_moved(run)}"


def _status(action: str) -> None:
    with daemon() as client:
        status: dict[str, Any] = client.call(f"sleep.{action}")
        latest: dict[str, Any] = client.call("sleep.report", {"limit": _LATEST_SHOWN})
    if console.print_if_json(status):
        return
    state = "paused" if status["paused"] else "on" if status["enabled"] else "off"
    _field("sleep", f"{state}, {status['interval']}")
    if status.get("running"):
        _field("running", status_line(status))
    last = status.get("last")
    _field(
        "last night",
        "-" if last is None else f"{console.local_time(last['started_at'])}, {_format_moved(last)}",
    )
    _field("next night", _next(status).removeprefix("next "))
    if status.get("next_at") and not status.get("waits_for"):
        console.note(
            "a night that is due starts once memd is idle for two minutes and on mains power"
        )
    if latest["items"] and action == "status":
        console.out("")
        _table(latest["items"])
    if last is not None:
        _print_undo(last)


def _reports(run: str | None, limit: int | None, after: str | None) -> None:
    page = call(
        "sleep.report", run_id=run, limit=None if run else limit or _REPORTS_SHOWN, after=after
    )
    if console.is_json():
        console.print_json(page)
    elif run:
        _print_run(page["items"][0])
    else:
        _table(page["items"])
        if not page["items"]:
            console.note(
                "no runs yet; nights start by themselves, and memd sleep --dry-run simulates one"
            )
        report_next(page)


def _table(runs: list[dict[str, Any]]) -> None:
    columns = (
        id_column("RUN", "run_id"),
        time_column("STARTED", "started_at"),
        word_column("KIND", _name),
        word_column("STATE", "state"),
        word_column("MEMORIES", _format_moved),
        id_column("SESSION", "session_id"),
        word_column("PROJECT", "project_id"),
        word_column("CLIENT", "client"),
    )
    table(columns, runs)


def _run(method: str, params: dict[str, Any], doing: str) -> None:
    """Start a run in the daemon, show its progress, and print its report."""
    with (
        daemon(seconds_max=LONG_SECONDS_MAX) as client,
        Progress(doing, unit="memories") as progress,
    ):
        try:
            done: dict[str, Any] = client.call(
                method, params, progress=lambda at, total: progress.at(at, total or None)
            )
        except KeyboardInterrupt:
            console.note(
                'memd: the run continues in the daemon; "memd sleep --pause" stops a night'
            )
            raise
        status: dict[str, Any] = client.call("sleep.status")
    if console.print_if_json(done):
        return
    _print_run(done)
    if done["state"] == "undone" and done["kind"] != "nap":
        console.note("the next night does the same again; to hold it off: memd sleep --pause")
    elif done["state"] == "running":
        console.note("memd: the run was stopped; to continue it: memd sleep --resume")
    elif done["dry_run"] and not done["steps"] and not params.get("in_days"):
        console.note("to simulate a later night: memd sleep --dry-run --in 30")
    elif not done["dry_run"] and not done["steps"] and (status["paused"] or not status["enabled"]):
        console.note(f"memd: nothing was done: {_next(status)}")


def _print_run(run: dict[str, Any]) -> None:
    """Print the report of one run: its state, a line per step, and how to undo it."""
    console.out(f"{_name(run)} {run['run_id']}: {run['state']}{_duration(run)}")
    since = "as of" if run["dry_run"] else "started"
    console.out(f"  {since} {console.local_time(run['started_at'])}, {_agent(run)}")
    if run["session_id"]:
        console.out(f"  {_session(run)}")
    for line in _steps(run):
        console.out(f"  {line}")
    for line in _faults(run):
        console.out(f"  {line}")
    print_changes(run)
    _print_undo(run)


def _faults(run: dict[str, Any]) -> Iterator[str]:
    kinds = ", ".join(run.get("detail", {}).get("errors", ()))
    if kinds and run.get("again_at"):
        yield f"stopped by the disk ({kinds}); continues {console.local_time(run['again_at'])}"
    elif kinds:
        yield f"failed: {kinds}"


def _steps(run: dict[str, Any]) -> Iterator[str]:
    for step in run["steps"]:
        effect = _EFFECTS.get(step["name"], "changed")
        if step["name"] == "nap" and run["state"] == "undone":
            effect = _UNDONE_NAP
        yield f"{step['name']:<14} {console.count(step['rows'], 'memory')} {effect}"
    summaries = run.get("detail", {}).get("summaries")
    if isinstance(summaries, int) and summaries:
        yield f"{'summaries':<14} {summaries:,} created"
    if not run["steps"]:
        yield _WHY_NOTHING.get(run["kind"], _WHY_NOTHING["night"])


def _can_be_undone(run: dict[str, Any]) -> bool:
    return run["state"] == "done" and not run["dry_run"] and _has_changes(run)


def _has_changes(run: dict[str, Any]) -> bool:
    return run["kind"] in _UNDOABLE and any(step["rows"] for step in run["steps"])


def _print_undo(run: dict[str, Any]) -> None:
    if _can_be_undone(run):
        console.note(f"to undo it: memd sleep --undo {run['run_id']}")


def _name(run: dict[str, Any]) -> str:
    names = {"compress": "compression"}
    name = names.get(run["kind"], str(run["kind"]))
    return f"simulated {name}" if run["dry_run"] else name


def _agent(run: dict[str, Any]) -> str:
    return f"agent {console.line(run['agent_id'])}" if run.get("agent_id") else "all agents"


def _session(run: dict[str, Any]) -> str:
    """Return the session of a nap, with its project and the client that it belongs to."""
    session = f"session {console.line(run['session_id'])}"
    if run["project_id"]:
        session += f", project {console.line(folder_name(run['project_id']))}"
    return session + (f", client {console.line(run['client'])}" if run["client"] else "")


def _duration(run: dict[str, Any]) -> str:
    if not run.get("finished_at"):
        return ""
    span = _read(run["finished_at"]) - _read(run["started_at"])
    return f" in {span.total_seconds():,.1f} s"


def _format_moved(run: dict[str, Any]) -> str:
    """Return how many memories a run moved, without ageing, which moves them a second time."""
    rows = sum(step["rows"] for step in run["steps"] if step["name"] != "ageing")
    return console.count(rows, "memory")


def _field(name: str, text: str) -> None:
    console.out(f"{name + ':':<12} {text}")


def _read(text: str) -> datetime:
    return datetime.fromisoformat(text)
