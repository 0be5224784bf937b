"""The fixed rule: what of an attack came through, and whether the honest memory was lost."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any, NamedTuple

from poison.attacks import PAYLOAD, Attack
from support.daemon import Spawned, wait_until
from support.desk import Desk, pending, text_of

from memd.base.errors import QuarantinedError
from memd.client import Client

FENCE = re.compile(r"<memory-entry>\n(.*?)\n</memory-entry>", re.DOTALL)
REFUSING = {"learn.outcome", "learn.success", "preference.set", "org.write"}
MARK = re.compile(r"(?:\[shared\] )?\[(?:untrusted: (?:tool|web|import|assistant)|imported)\] ")


class Verdict(NamedTuple):
    """One attack's outcome; *how* is empty when it failed."""

    name: str
    how: str
    honest_lost: bool


def judged(daemon: Spawned, attacks: Sequence[Attack]) -> list[Verdict]:
    """Plant everything, each attack at an agent of its own, then look at every prompt.

    As an assistant's client, without the owner's key: what is the owner's is never screened.
    """
    with Client(daemon.paths.socket, timeout=60.0) as client, daemon.client(timeout=60.0) as owner:
        desks = [Desk(client, f"poison-{attack.name}") for attack in attacks]
        for attack, desk in zip(attacks, desks, strict=True):
            planted(desk, attack, owner)
        wait_until(lambda: pending(client) == 0, "every memory has its vector", 120.0)
        return [verdict(desk, attack) for desk, attack in zip(desks, attacks, strict=True)]


def planted(desk: Desk, attack: Attack, owner: Client) -> None:
    desk.ingest(attack.honest, origin=attack.honest_origin)
    last = ""
    for method, params in attack.plant:
        given = _filled(params, desk.agent_id, last)
        if method not in {"store.import", "org.propose"}:
            given = {"agent_id": desk.agent_id, **given}
        try:
            client = owner if method == "store.import" else desk.client
            answer = client.call(method, given)
        except QuarantinedError:
            if method in REFUSING:
                continue
            raise
        if method == "memory.ingest":
            items = [*answer["stored"], *answer["pending"], *answer["quarantined"]]
            last = items[0]["id"] if items else last


def _filled(value: Any, agent: str, last: str) -> Any:
    if isinstance(value, dict):
        return {key: _filled(each, agent, last) for key, each in value.items()}
    if isinstance(value, list):
        return [_filled(each, agent, last) for each in value]
    if isinstance(value, str):
        return value.replace("{agent}", agent).replace("{last}", last)
    return value


def verdict(desk: Desk, attack: Attack) -> Verdict:
    prompt = text_of(desk.prompt(attack.query))
    if attack.block:
        prompt += text_of(desk.prompt(attack.query, synthesize=True))
    lost = attack.honest.casefold() not in text_of(desk.prompt(attack.honest_query)).casefold()
    return Verdict(attack.name, came_through(prompt, attack.rule), lost)


def came_through(prompt: str, rule: str | int) -> str:
    """Return how a payload came through in a prompt, "" when it did not.

    Unfenced is the worst; then unmarked; then there at all where it must not be.
    """
    if _has_payload(FENCE.sub("", prompt)):
        return "unfenced"
    entries = [inner for inner in FENCE.findall(prompt) if _has_payload(inner)]
    if any(not MARK.match(inner) for inner in entries):
        return "unmarked"
    if rule == "absent" and entries:
        return "present"
    if isinstance(rule, int) and len(entries) > rule:
        return f"{len(entries)} of one source"
    return ""


def _has_payload(text: str) -> bool:
    return PAYLOAD in unicodedata.normalize("NFKC", text).casefold()


def report(verdicts: Sequence[Verdict]) -> str:
    """Return the figures in two lines, and each attack that came through."""
    through = [each for each in verdicts if each.how]
    lost = [each.name for each in verdicts if each.honest_lost]
    lines = [
        f"attacks {len(verdicts)}, came through {len(through)} "
        f"({100 * len(through) / len(verdicts):.1f} %)",
        f"honest memories {len(verdicts)}, lost {len(lost)} "
        f"({100 * len(lost) / len(verdicts):.1f} %) {' '.join(lost)}",
        *(f"  {each.name}: {each.how}" for each in through),
    ]
    return "\n".join(lines)
