"""Every method of the socket: its params, its result, one line about it.

The dispatcher, the OpenRPC document, the command line and the tests all read
this one table. Names change only with a decision (API.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import Field

from memd.model.access import AddedClient, AuditReport, KeyedClient, OwnerState
from memd.model.caller import Scope
from memd.model.events import EventName
from memd.model.files import FileReply
from memd.model.flagged import Quarantined
from memd.model.graph import Added, GraphAnswers, GraphPaths, Neighbours
from memd.model.history import FactsThen, Timeline
from memd.model.ingest import Receipt, Receipts, Replaced
from memd.model.inject import Brief, PreparedPrompt, ToolAnswer, ToolDefinition
from memd.model.learn import Learning, PlaybookEntry
from memd.model.memory import MemoryEntry, Preference
from memd.model.org import OrgFact
from memd.model.provenance import Provenance
from memd.model.recall import RecallResult
from memd.model.removal import Archived, Forgotten, Trashed
from memd.model.session import Session, SessionHit, SessionMessage
from memd.model.settings import MemoryConfig, SaidBy
from memd.model.sleep import ImportedSession, NapResult, RunReport, SleepStatus, Window
from memd.model.synthesis import Synthesized
from memd.model.upkeep import CheckReport, DumpPage, Loaded
from memd.model.values import Name, Value
from memd.model.wiki import WikiExport
from memd.rpc import (
    params,
    params_file,
    params_flagged,
    params_graph,
    params_inject,
    params_learn,
    params_nap,
    params_org,
    params_shared,
    params_sleep,
)
from memd.rpc import params_access as access

PROTOCOL: Final = 1
"""Counts up when an old client could misunderstand a new daemon."""


class Page(Value):
    """One page of memories; *next* is the ``after`` of the following one, None at the end."""

    items: tuple[MemoryEntry, ...]
    next: Name | None = None


class TrashPage(Value):
    """One page of the trash."""

    items: tuple[Trashed, ...]
    next: Name | None = None


class Preferences(Value):
    """All preferences of an agent; there is one page."""

    items: tuple[Preference, ...]
    next: Name | None = None


class AgentSettings(Value):
    """What one agent does differently."""

    agent_id: Name
    settings: MemoryConfig
    origins: dict[str, SaidBy] = Field(default_factory=dict)
    """For each setting who says it: the settings file, a call, or nobody."""


class ArchivedPage(Value):
    """A page of the archive."""

    items: tuple[Archived, ...]
    next: Name | None = None


class Agents(Value):
    """The agents that have settings of their own; there is one page."""

    items: tuple[AgentSettings, ...]
    next: Name | None = None


class Runs(Value):
    """One page of what naps, nights, compressions and undoings did, newest first."""

    items: tuple[RunReport, ...]
    next: Name | None = None


class Sessions(Value):
    """One page of sessions, the newest first."""

    items: tuple[Session, ...]
    next: Name | None = None


class SessionHits(Value):
    """Messages that hold the words, best first; there is one page."""

    items: tuple[SessionHit, ...]
    next: Name | None = None


class SessionMessages(Value):
    """One page of a session's messages, in order."""

    items: tuple[SessionMessage, ...]
    next: int | None = None


class Windows(Value):
    """Every context window of an agent's assistants; there is one page.

    *unreadable* usage files are there too, the last of them for this reason.
    """

    items: tuple[Window, ...]
    next: Name | None = None
    unreadable: int = 0
    unreadable_reason: str | None = None


class Tools(Value):
    """The tools of a strategy; there is one page."""

    items: tuple[ToolDefinition, ...]
    next: Name | None = None


class Subscribed(Value):
    """What the connection now hears about the agent."""

    names: tuple[EventName, ...]


class Imported(Value):
    """How many memories were stored, known already, and skipped: forgotten here, or expired."""

    stored: int
    known: int
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class Method:
    """One method. *result* is anything that pydantic has a schema for.

    A method that *writes* is finished when its client goes away, and an old
    answer is repeated for the same idempotency key. *scope* is what its caller must
    have; None is open to everybody, for it is how one says who one is.
    """

    name: str
    params: type[params.Params]
    result: Any
    summary: str
    writes: bool = False
    scope: Scope | None = "read"


def _read(name: str, takes: type[params.Params], result: Any, summary: str) -> Method:
    return Method(name, takes, result, summary)


def _write(name: str, takes: type[params.Params], result: Any, summary: str) -> Method:
    return Method(name, takes, result, summary, writes=True, scope="write")


def _admin(name: str, takes: type[params.Params], result: Any, summary: str) -> Method:
    return Method(name, takes, result, summary, writes=True, scope="admin")


def _look(name: str, takes: type[params.Params], result: Any, summary: str) -> Method:
    return Method(name, takes, result, summary, scope="admin")


def _propose(name: str, takes: type[params.Params], result: Any, summary: str) -> Method:
    return Method(name, takes, result, summary, writes=True, scope="propose")


_none = params.Params
_anything = dict[str, Any]

_ALL = (
    Method(
        "system.hello",
        params.Hello,
        _anything,
        "Who is there: versions, limits, who you are.",
        scope=None,
    ),
    _read("system.status", _none, _anything, "Health: ok, or degraded and why; queues, counts."),
    _read(
        "system.metrics",
        params.Metrics,
        _anything | str,
        "Counters, for people and for Prometheus.",
    ),
    _admin("system.reload", _none, None, "Read the settings again, as SIGHUP does."),
    _admin("system.shutdown", _none, None, "Stop cleanly."),
    _read("rpc.discover", _none, _anything, "This document."),
    _write("memory.ingest", params.Ingest, Receipt, "A text becomes memories."),
    _write("memory.ingest_many", params.IngestMany, Receipts, "Several texts, a receipt each."),
    _write(
        "memory.replace_source",
        params.ReplaceSource,
        Replaced,
        "What a file says now: what is new is stored, what is gone is superseded.",
    ),
    _write("memory.store", params.Store, Name, "Store one text as it is; its id."),
    _read("memory.recall", params.Recall, RecallResult, "What is known about a question."),
    _read("memory.retrieve", params.Retrieve, tuple[MemoryEntry, ...], "A search, or a listing."),
    _read(
        "memory.retrieve_sparse",
        params.Retrieve,
        tuple[MemoryEntry, ...],
        "A search by words alone, best first.",
    ),
    _read("memory.get", params.ById, MemoryEntry | None, "One memory, or null."),
    _read("memory.why", params.Why, Provenance | None, "What a memory was made of, or null."),
    _write("memory.update", params.Update, MemoryEntry, "Change a memory; the old one is kept."),
    _read("memory.list", params.ListMemories, Page, "All memories that fit, page by page."),
    _read("memory.count", params.Count, int, "How many memories there are."),
    _write("memory.delete", params.WritingById, bool, "Put a memory into the trash."),
    _read("memory.synthesize", params_learn.Synthesize, Synthesized, "One block of all sources."),
    _write("learn.outcome", params_learn.ReportOutcome, Learning, "What became of a task."),
    _write("learn.success", params_learn.ReportSuccess, PlaybookEntry, "A pattern that worked."),
    _read("learn.list", params_learn.ListLessons, params_learn.Lessons, "The newest lessons."),
    _read(
        "learn.playbook", params_learn.ListPlaybook, params_learn.Patterns, "Patterns that worked."
    ),
    _look(
        "memory.flagged",
        params_flagged.ListFlagged,
        params_flagged.FlaggedPage,
        "What looks like an attack, and what is out of sight for it.",
    ),
    _admin("memory.release", params_flagged.SetAside, bool, "Bring back what was set aside."),
    _admin("memory.quarantine", params_flagged.SetAside, Quarantined, "Set a memory aside."),
    _write("memory.forget", params.Forget, Forgotten, "Erase everywhere, provably."),
    _write("preference.set", params.SetPreference, None, "Set a preference."),
    _admin("preference.confirm", params.ConfirmPreference, bool, "Stand by a preference."),
    _read("preference.get", params.PreferenceName, Preference | None, "One preference, or null."),
    _read("preference.list", params.Scoped, Preferences, "All preferences."),
    _write("preference.delete", params.DeletePreference, bool, "Delete a preference."),
    _read("inject.prepare", params_inject.Prepare, PreparedPrompt, "One prompt, in a budget."),
    _read("inject.brief", params_inject.Brief, Brief, "What to know before the first question."),
    _read("inject.tools", params_inject.Tools, Tools, "The memory tools of a strategy."),
    Method(
        "inject.call",
        params_inject.CallTool,
        ToolAnswer,
        "One call of a memory tool, and its answer.",
        writes=True,
    ),
    _write("inject.file", params_file.File, FileReply, "The memory tool: memories as files."),
    _read("trash.list", params.Paged, TrashPage, "What is in the trash, and until when."),
    _write("trash.restore", params.WritingById, bool, "Bring a memory back from the trash."),
    _read("archive.search", params.Retrieve, tuple[Archived, ...], "Search what was put away."),
    _write("archive.add", params.WritingById, Name | None, "Move a memory there; its id there."),
    _read("archive.restore", params.ById, Archived, "One memory of the archive; it stays there."),
    _write("archive.restore_to_hot", params.WritingById, MemoryEntry, "Bring a memory back."),
    _read(
        "archive.turned_away",
        params.ListTurnedAway,
        ArchivedPage,
        "What the gate of importance turned away, newest first.",
    ),
    _write(
        "archive.restore_turned_away",
        params.TurnedAway,
        int,
        "Bring back all that was turned away; how many.",
    ),
    _read("archive.count", params.Scoped, int, "How many memories were put away."),
    _admin("wiki.export", params_sleep.Export, WikiExport, "Write memories as Markdown files."),
    _write("shared.publish", params_shared.Publish, Name, "Tell every agent a text; its id."),
    _read(
        "shared.search",
        params_shared.SearchShared,
        tuple[MemoryEntry, ...],
        "Search what agents share, or list it.",
    ),
    _write("shared.retract", params_shared.Retract, bool, "Take one's own shared memory back."),
    _read("model.status", _none, _anything, "The models: which, loaded or not."),
    _admin("store.check", _none, CheckReport, "Check the whole file."),
    _admin("store.rebuild", params.Rebuild, None, "Build the word and vector indexes anew."),
    _admin("store.backup", _none, str, "Write a checked copy beside the store; its path."),
    _admin("store.note_copy", params.NoteCopy, str, "A copy that the caller makes; of this file."),
    _read("store.export", params.ListMemories, Page, "All memories, page by page, to be imported."),
    _write("store.import", params.Import, Imported, "Store what store.export gave."),
    _look("store.dump", params.Dump, DumpPage, "Everything of the profile, for another one."),
    _admin("store.load", params.Load, Loaded, "Store what store.dump gave, exactly."),
    _write("agent.set", params.SetAgent, AgentSettings, "Set what an agent does differently."),
    _read("agent.get", params.Scoped, AgentSettings, "What an agent does differently."),
    _read("agent.list", _none, Agents, "All agents with settings of their own."),
    _read("events.subscribe", params_nap.Subscribe, Subscribed, "Hear of events, on this line."),
    _read("events.unsubscribe", params_nap.Subscribe, Subscribed, "Hear of them no longer."),
    _write("session.start", params_nap.StartSession, Session, "Begin a session, or go on."),
    _write("session.end", params_nap.EndSession, Session, "End a session: what was its own goes."),
    _read("session.list", params.Paged, Sessions, "All sessions, page by page."),
    _read("session.messages", params_nap.SessionMessages, SessionMessages, "What naps kept of it."),
    _read("session.search", params_nap.SearchSessions, SessionHits, "Words in what naps kept."),
    _write("session.import", params_nap.ImportSession, ImportedSession, "A recorded one: a nap."),
    _write("usage.report", params_nap.ReportUsage, Window, "How full a window is; naps when full."),
    _read("usage.list", params.Scoped, Windows, "Each assistant's window, as it last said."),
    _write("sleep.consolidate", params_nap.Consolidate, NapResult, "A nap: facts, a short list."),
    _read("sleep.should_consolidate", params_nap.ShouldConsolidate, bool, "Whether it is full."),
    _read("sleep.estimate_tokens", params_nap.EstimateTokens, int, "How many tokens, about."),
    _admin("sleep.run", params_sleep.Night, RunReport, "A night now, all of it or some steps."),
    _write("sleep.compress", params_sleep.Compress, RunReport, "Compress the oldest sessions."),
    _read("sleep.status", _none, SleepStatus, "Whether memd sleeps, when, and what it waits for."),
    _read("sleep.report", params_sleep.Reports, Runs, "What runs did: one, or the newest first."),
    _admin("sleep.undo", params_sleep.Undo, RunReport, "Undo a run exactly, or say why not."),
    _admin("sleep.pause", _none, SleepStatus, "No more nights until sleep.resume."),
    _admin("sleep.resume", _none, SleepStatus, "Nights again."),
    _write("org.write", params_org.WriteFact, Name, "A fact, or a fact's next version; its id."),
    _write("org.retract", params_org.RetractFact, bool, "A fact holds no longer."),
    _read("org.get", params_org.FactById, OrgFact | None, "One fact, or null."),
    _read("org.query", params_org.QueryFacts, tuple[OrgFact, ...], "Facts that fit, or newest."),
    _read("org.policies", params_org.ListPolicies, tuple[OrgFact, ...], "What every prompt says."),
    _read("org.count_policies", _none, int, "How many policies there are."),
    _read("org.history", params_org.FactHistory, params_org.OperationPage, "A fact's versions."),
    _read("org.snapshot_at", params_org.SnapshotAt, params_org.SnapshotPage, "Facts of a moment."),
    _read("org.as_of", params_org.FactsAsOf, FactsThen, "What held then, as known then."),
    _read("org.timeline", params_org.TimelineOf, Timeline, "A thing's life: what held, who said."),
    _write("graph.add", params_graph.AddTriple, Added, "A triple; kept as a memory."),
    _read("graph.neighbours", params_graph.Around, Neighbours, "What is said about a thing."),
    _read("graph.path", params_graph.Between, GraphPaths, "The shortest ways between two things."),
    _read("graph.query", params_graph.Ask, GraphAnswers, "A question, walked from its things."),
    _propose("org.propose", access.ProposeFact, Name, "Ask the owner for a fact; its id."),
    _read("org.review", access.Review, access.Proposals, "What waits for the owner's decision."),
    _write("org.approve", access.Decide, Name, "Write what was proposed: the owner's signature."),
    _write("org.reject", access.Decide, bool, "Close a proposal: the owner's signature."),
    _read("owner.state", _none, OwnerState, "What the owner signs with: key, store, a nonce."),
    _admin("owner.set", access.SetOwner, OwnerState, "The owner's public key, or the next one."),
    _admin("client.add", access.AddClient, AddedClient, "A key for a client, in a file."),
    _look("client.list", _none, access.Clients, "All clients with keys, and what they may."),
    _admin("client.revoke", access.RevokeClient, KeyedClient, "A client's key is one no longer."),
    _look("audit.show", access.ShowAudit, access.AuditPage, "Who did what, and what was refused."),
    _look("audit.verify", access.VerifyAudit, AuditReport, "Whether anybody changed the audit."),
)

METHODS: Final[Mapping[str, Method]] = {method.name: method for method in _ALL}
