"""``memd org propose`` and ``memd org review``: propose facts, and approve or reject them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

from memd.base.errors import InvalidError
from memd.cli import console, options
from memd.cli.connection import call, daemon, iter_items
from memd.cli.org.org import Kind, Since, Until, category_to_write, format_validity
from memd.cli.tables import id_column, table, text_column, word_column
from memd.cli.times import parse_time

if TYPE_CHECKING:
    from memd.client import Client

_PAGE = 1_000
_END_CHARS = 6
"""Characters that the end of an id must have to stand for it."""


@options.examples(
    'memd org propose -c core_policy "Never push on a Friday."',
    'memd org propose "Ship on Tuesdays." --fact 0199f3a1-5c1e-7b32-9d1a-3f0f6f2f9b11',
    "memd org propose --retract 0199f3a1-5c1e-7b32-9d1a-3f0f6f2f9b11",
)
def propose(
    text: Annotated[str | None, "[TEXT]", "The proposed fact."] = None,
    category: Kind = None,
    tag: options.Tags = None,
    fact: Annotated[str | None, "--fact ID", "Fact to propose a new version of."] = None,
    since: Since = None,
    until: Until = None,
    retract: Annotated[str | None, "--retract ID", "Propose to retract this fact."] = None,
    agent: options.Agent = None,
) -> None:
    """Propose a fact to the owner, or to retract one.

    Prints the id of the proposal.
    """
    if (text is None) is (retract is None):
        raise InvalidError("give either a TEXT or --retract ID")
    if retract is not None:
        proposal_id = call("org.propose", fact_id=retract, retract=True, agent_id=agent)
    else:
        proposal_id = call(
            "org.propose",
            content=text,
            category=category_to_write(category, fact),
            tags=tag or None,
            fact_id=fact,
            valid_from=parse_time("--from", since),
            valid_to=parse_time("--until", until),
            agent_id=agent,
        )
    console.answer({"id": proposal_id}, proposal_id)


@options.examples(
    "memd org review",
    "memd org review --json",
    "memd org review --approve 0199f3a1-5c1e-7b32-9d1a-3f0f6f2f9b11",
)
def review(
    approve: Annotated[str | None, "--approve ID", "Approve this proposal."] = None,
    reject: Annotated[str | None, "--reject ID", "Reject this proposal."] = None,
) -> None:
    """Review proposals one by one.

    With --json or in a pipe, lists them. Approving and rejecting require the owner key, so memd
    asks for its passphrase.
    """
    if approve and reject:
        raise InvalidError("--approve and --reject exclude each other", hint="use one of them")
    with daemon() as client:
        items = list(iter_items(client, "org.review", {"limit": _PAGE}))
        if approve or reject:
            decision = _decide(client, items, approve or reject, bool(approve))
            console.print_if_json(decision)
            return
        if console.is_json():
            console.print_json({"items": items})
        elif not sys.stdin.isatty() or not sys.stdout.isatty():
            _list(items)
        else:
            _walk(client, items)


def _list(items: list[dict[str, Any]]) -> None:
    columns = (
        id_column(),
        word_column("CATEGORY", "category"),
        word_column("CLIENT", "client"),
        text_column(
            "WHAT", lambda proposal: proposal["content"] or f"retract {proposal['fact_id']}"
        ),
    )
    table(columns, items)
    if not items:
        console.note("nothing was proposed")


def _walk(client: Client, items: list[dict[str, Any]]) -> None:
    for number, proposal in enumerate(items, 1):
        console.out(
            console.bold(
                f"{number} of {len(items)}: {proposal['kind'].lower()} {proposal['category']}"
            )
        )
        console.out(
            f"  proposed by {_proposer(proposal)}, {console.local_time(proposal['at'], zone=True)}"
        )
        if proposal["fact_id"]:
            console.out(f"  about the fact {proposal['fact_id']}")
        if problem := _validity(proposal):
            console.out(f"  {problem}")
        console.out(console.quote(proposal["content"] or "(retract this fact)"))
        sys.stderr.write("[a]pprove, [r]eject, [s]kip, [q]uit? ")
        sys.stderr.flush()
        answer = sys.stdin.readline().strip().lower()[:1]
        if answer in {"a", "r"}:
            _decide(client, items, proposal["id"], answer == "a")
        elif answer == "q" or not answer:
            return
    if not items:
        console.note("nothing was proposed")


def _decide(
    client: Client,
    items: list[dict[str, Any]],
    proposal_id: str | None,
    yes: bool,
) -> dict[str, Any]:
    """Approve or reject the proposal whose id ends in *proposal_id*, with the owner's signature."""
    from memd.cli.org.owner import sign
    from memd.domain.org.access import Proposal
    from memd.org.signature import proposal_content

    end = proposal_id or ""
    matches = [
        proposal for proposal in items if len(end) >= _END_CHARS and proposal["id"].endswith(end)
    ]
    if len(matches) != 1:
        which = "several open proposals end in" if matches else "no open proposal has"
        raise InvalidError(f"{which} this id", hint="memd org review --json lists them")
    proposal_id = matches[0]["id"]
    action = "org.approve" if yes else "org.reject"
    signature = sign(client, action, proposal_content(Proposal.model_validate(matches[0])))
    answer = client.call(action, {"id": proposal_id, "signature": signature})
    console.note(f"written as {answer}" if yes else "rejected")
    return {"id": proposal_id, "approved": yes, "fact_id": answer if yes else None}


def _validity(proposal: dict[str, Any]) -> str:
    """Format the validity and tags of a proposed fact.

    >>> _validity({"valid_from": None, "valid_to": "2026-03-01T00:00:00Z", "tags": ["web"]})
    'until 2026-03-01, tagged web'
    """
    tags = f"tagged {console.line(' '.join(proposal['tags']))}" if proposal["tags"] else ""
    return ", ".join(filter(None, (format_validity(proposal), tags)))


def _proposer(proposal: dict[str, Any]) -> str:
    """Format who made a proposal.

    >>> _proposer({"author_id": "ada", "client": "claude", "clients": 3})
    'ada, client claude, and 2 other clients'
    """
    others = proposal["clients"] - 1
    more = f", and {console.count(others, 'other client')}" if others else ""
    return f"{console.line(proposal['author_id'])}, client {console.line(proposal['client'])}{more}"
