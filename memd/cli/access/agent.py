"""``memd agent``: settings of single agents.

Fields that are not given stay unchanged. What the settings file sets for an agent
(``memory.agents``) can only be changed there; ``show`` prints the origin of each setting.
"""

from __future__ import annotations

from typing import Annotated, Any

from memd.base.errors import InvalidError
from memd.cli import console, options
from memd.cli.connection import call, daemon
from memd.cli.tables import print_items, text_column, word_column
from memd.domain.enums import MemoryCategory

_FOREVER = "forever"
_ORIGINS = {"file": "the settings file", "call": "memd agent set", "default": "default"}
"""What ``memd agent show`` prints for the origin of a setting."""


@options.examples(
    "memd agent set reviewer --level project",
    "memd agent set reviewer --retention-days 90 --retain episodic=30 --retain social=365",
    "memd agent set reviewer --retention-days forever --retain episodic=forever",
)
def set_(
    name: Annotated[str, "NAME", "Name of the agent."],
    level: Annotated[
        str | None, "--level LEVEL", "What is kept: none, session, project or persistent."
    ] = None,
    retention_days: Annotated[
        str | None, "--retention-days N", "Days to keep memories; forever: as the settings say."
    ] = None,
    retain: Annotated[
        list[str] | None,
        "--retain CATEGORY=DAYS",
        "Retention of one category; replaces all rules; forever in place of DAYS removes its rule.",
    ] = None,
) -> None:
    """Change the settings of an agent. Options that are not given stay unchanged."""
    params = options.without_none(level=level)
    if retention_days is not None:
        params["retention_days"] = _days("--retention-days", retention_days)
    if retain:
        rules = [_rule(text) for text in retain]
        params["retention_overrides"] = [rule for rule in rules if rule["retention_days"]]
    if not params:
        raise InvalidError(
            "nothing to set was named", hint="give --level, --retention-days or --retain"
        )
    with daemon() as client:  # not call(), which would drop a None; here it means forever
        answer = client.call("agent.set", {"agent_id": name, **params})
    _print_settings(answer)


@options.examples("memd agent show", "memd agent show reviewer", "memd agent show reviewer --json")
def show(
    name: Annotated[str | None, "[NAME]", "Name of the agent; default: your own."] = None,
) -> None:
    """Show the settings of an agent and where each comes from."""
    _print_settings(call("agent.get", agent_id=name))


@options.examples("memd agent list", "memd agent list --json")
def list_() -> None:
    """List all agents and their settings."""
    print_items(
        call("agent.list"),
        (
            word_column("AGENT", "agent_id", whole=True),
            word_column("LEVEL", lambda item: item["settings"]["type"]),
            word_column("KEPT", lambda item: _format_days(item["settings"])),
            text_column("BY CATEGORY", lambda item: _format_rules(item["settings"])),
        ),
        nothing="no agent has stored anything yet",
    )


def _print_settings(answer: dict[str, Any]) -> None:
    if console.print_if_json(answer):
        return
    console.out(f"{'agent:':<13} {console.line(answer['agent_id'])}")
    settings = answer["settings"]
    for field, label, value in (
        ("type", "level:", settings["type"]),
        ("retention_days", "kept:", _format_days(settings)),
        ("retention_overrides", "by category:", _format_rules(settings)),
    ):
        origin = _ORIGINS.get(answer["origins"].get(field, ""), "")
        console.out(f"{label:<13} {value:<24} {origin}".rstrip())


def _format_days(settings: dict[str, Any]) -> str:
    days = settings["retention_days"]
    return "-" if days is None else console.count(days, "day")


def _format_rules(settings: dict[str, Any]) -> str:
    rules = settings["retention_overrides"]
    return ", ".join(f"{r['category']}={r['retention_days']}" for r in rules) or "-"


def _days(option: str, text: str) -> int | None:
    """Parse a number of days; "forever" is None.

    >>> _days("--retention-days", "30"), _days("--retention-days", "forever")
    (30, None)
    """
    if text == _FOREVER:
        return None
    if not text.isdecimal() or int(text) < 1:
        raise InvalidError(f"{option} must be a number of days or forever, not {text}")
    return int(text)


def _rule(text: str) -> dict[str, Any]:
    """Parse CATEGORY=DAYS into a retention rule; "forever" is None, which is no rule.

    >>> _rule("social=365"), _rule("episodic=forever")["retention_days"]
    ({'category': 'social', 'retention_days': 365}, None)
    """
    category, equals, days = text.partition("=")
    if not equals:
        raise InvalidError(
            f"--retain must be CATEGORY=DAYS, not {text}",
            hint="memd agent set NAME --retain episodic=30",
        )
    if category not in set(MemoryCategory):
        raise InvalidError(f"--retain must be {', '.join(MemoryCategory)}, not {category}")
    return {"category": category, "retention_days": _days(f"--retain {category}", days)}
