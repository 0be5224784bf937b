"""``memd org``: write, retract, show and query facts and policies."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

from memd.base.clock import SystemClock, to_us
from memd.base.errors import NotFoundError
from memd.cli import console, options
from memd.cli.connection import call, daemon, iter_items
from memd.cli.tables import id_column, print_items, table, text_column, time_column, word_column
from memd.cli.times import parse_time

if TYPE_CHECKING:
    from memd.client import Client

FactId = Annotated[str, "ID", "Id of the fact, or its last six or more characters."]
Kind = Annotated[
    str | None,
    "--category, -c CATEGORY",
    "core_policy (or policy), adr (or decision), procedure, convention or entity_definition (or "
    "definition); default: convention, or with --fact that of the fact.",
]
Kinds = Annotated[
    list[str] | None,
    "--category, -c CATEGORY",
    "Filter; may be repeated: core_policy (or policy), adr (or decision), procedure, convention, "
    "entity_definition (or definition).",
]
Since = Annotated[
    str | None, "--from TIME", "Start of validity; a day means its beginning, in UTC."
]
Until = Annotated[str | None, "--until TIME", "End of validity; a day means its beginning, in UTC."]

_PAGE = 1_000
_CATEGORY_ALIASES = {"policy": "core_policy", "decision": "adr", "definition": "entity_definition"}
"""The words by which prompts call some categories."""


def category_of(word: str) -> str:
    """Return the category that *word* names; an unknown word is returned unchanged.

    >>> category_of("decision"), category_of("adr"), category_of("decree")
    ('adr', 'adr', 'decree')
    """
    return _CATEGORY_ALIASES.get(word, word)


def categories_of(words: list[str] | None) -> list[str] | None:
    """Return the categories that *words* name, None for none."""
    return [category_of(word) for word in words] if words else None


def category_to_write(word: str | None, fact_id: str | None) -> str:
    """Return the category that *word* names, by default that of the fact, retracted or not.

    It is a convention for a new fact. Raises NotFoundError for an unknown fact.
    """
    if word is not None:
        return category_of(word)
    if fact_id is None:
        return "convention"
    versions = _versions(fact_id)
    if not versions:
        raise _unknown_error(fact_id)
    return str(versions[-1]["category"])


@options.examples(
    'memd org write -c convention "We use Litestar for services, not Flask."',
    'memd org write "Ship on Tuesdays." --fact 0199f3a1-5c1e-7b32-9d1a-3f0f6f2f9b11',
    'memd org write -c decision "The team uses Flask." --until 2026-04-01',
)
def write(
    text: Annotated[str, "TEXT", "The fact."],
    category: Kind = None,
    tag: options.Tags = None,
    fact: Annotated[
        str | None, "--fact ID", "Fact to write a new version of; it replaces tags and times, too."
    ] = None,
    since: Since = None,
    until: Until = None,
) -> None:
    """Write a fact that every assistant can find. Prints its id.

    At a terminal the fact is signed with the owner key (created on first use); with
    MEMD_CLIENT_KEY_FILE it is written by the client of that key. The setting
    org_memory.write_access says who may write which category.
    """
    params = options.without_none(
        content=text,
        category=category_to_write(category, fact),
        tags=tag or None,
        fact_id=fact,
        valid_from=parse_time("--from", since),
        valid_to=parse_time("--until", until),
    )
    fact_id = _as_owner("org.write", params)
    console.answer({"id": fact_id}, fact_id)
    stored = call("org.get", fact_id=fact_id)
    console.report_secrets(text, stored["content"] if stored else "")
    if params["category"] == "core_policy":
        _warn_of_many(call("org.policies"))


@options.examples("memd org retract 0199f3a1-5c1e-7b32-9d1a-3f0f6f2f9b11")
def retract(fact_id: FactId) -> None:
    """Retract a fact. Its history is kept."""
    done = _as_owner("org.retract", {"fact_id": fact_id})
    console.print_if_json({"retracted": done})
    if not done:
        raise NotFoundError(f"no current fact has the id {console.line(fact_id)}")


@options.examples("memd org show 0199f3a1-5c1e-7b32-9d1a-3f0f6f2f9b11")
def show(fact_id: FactId) -> None:
    """Print one fact, with its author and dates.

    If its last version begins later, the version that holds until then comes first.
    """
    fact = call("org.get", fact_id=fact_id)
    versions = [version for version in _versions(fact_id) if version["content"] is not None]
    if console.is_json():
        proposed_by = versions[-1]["proposed_by"] if fact is not None else None
        console.print_json({"fact": fact, "proposed_by": proposed_by})
    elif fact is not None:
        holding = _find_holding(versions)
        shown = [version for version in versions if version in (holding, versions[-1])]
        console.note_fields({"id": fact["id"]}, _FIELD_CELLS)
        for version in shown:
            _print_version(version)
    if fact is None:
        raise NotFoundError(f"no current fact has the id {console.line(fact_id)}")


_FIELD_CELLS = 12


def _print_version(version: dict[str, Any]) -> None:
    fields = {name: version[name] for name in ("category", "version")}
    if validity := format_validity(version):
        fields["valid"] = validity
    console.note_fields({**fields, "written_at": version["timestamp"]}, _FIELD_CELLS)
    console.note(f"{'by:':<{_FIELD_CELLS}} {format_version_author(version)}")
    console.out(console.quote(version["content"]))


@options.examples(
    "memd org query which web framework do we use",
    "memd org query -c decision",
    'memd org query "deploy" -n 3 --json',
)
def query(
    words: Annotated[
        list[str] | None, "[TEXT...]", "Text to search for; default: the newest."
    ] = None,
    category: Kinds = None,
    limit: options.Limit = 5,
) -> None:
    """Search facts.

    Literal matches of TEXT come first, then facts that share words with it. Returns at most
    org_memory.extended_store.max_retrieved_per_query facts. Before a version that begins later
    stands the one that holds until then.
    """
    text = options.join_words(words) if words else None
    answer = call("org.query", context=text, categories=categories_of(category), limit=limit)
    _print_facts(answer, "no fact matches" if text or category else "no facts")
    if answer and not console.is_json():
        _report_limit(len(answer), limit)


@options.examples("memd org policies", "memd org policies --all", "memd org policies --json")
def policies(
    every: Annotated[
        bool, "--all", "Include policies that are no longer or not yet valid."
    ] = False,
) -> None:
    """List the policies, which every prompt contains.

    Those of the settings come first, then those that were written.
    """
    answer = call("org.policies", every=every)
    nothing = "no policies; the settings list some in org_memory.core_policies"
    _print_facts(answer, nothing)
    if not every:
        _warn_of_many(answer)


@options.examples("memd org history 0199f3a1-5c1e-7b32-9d1a-3f0f6f2f9b11")
def history(fact_id: FactId) -> None:
    """List all versions of a fact with date, author and validity."""
    items = _versions(fact_id)
    if console.print_if_json({"items": items}):
        return
    columns = (
        word_column("VERSION", "version"),
        time_column("WHEN", "timestamp"),
        word_column("BY", format_version_author),
        text_column("WHAT", format_change),
        word_column("VALID", format_validity, whole=True),
    )
    table(columns, items)
    if not items:
        raise _unknown_error(fact_id)


def _versions(fact_id: str) -> list[dict[str, Any]]:
    """Return all versions of a fact, oldest first, each valid at most until a later one begins."""
    with daemon() as client:
        versions = list(iter_items(client, "org.history", {"fact_id": fact_id, "limit": _PAGE}))
    begins: list[str] = []
    for version in reversed(versions):
        ends = [*begins, *([version["valid_to"]] if version["valid_to"] else [])]
        version["valid_to"] = min(ends, key=_us, default=None)
        begins = [*begins, version["valid_from"]] if version["valid_from"] else []
    return versions


def format_change(version: dict[str, Any]) -> str:
    """Format what a version says."""
    return "retracted" if version["content"] is None else str(version["content"])


def _find_holding(versions: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the version that holds now: of those that have begun the last, if it has not ended."""
    now_us = SystemClock().now_us()
    begun = [one for one in versions if not one["valid_from"] or _us(one["valid_from"]) <= now_us]
    is_over = bool(begun) and begun[-1]["valid_to"] and _us(begun[-1]["valid_to"]) <= now_us
    return begun[-1] if begun and not is_over else None


def _us(time: str) -> int:
    return to_us(datetime.fromisoformat(time))


def format_validity(item: dict[str, Any]) -> str:
    """Format the valid time of a fact, a version or a proposal, in UTC; "" for always.

    >>> format_validity({"valid_from": None, "valid_to": "2026-03-01T00:00:00Z"})
    'until 2026-03-01'
    """
    return " ".join(
        f"{word} {console.line(item[key]).removesuffix('T00:00:00Z')}"
        for word, key in (("from", "valid_from"), ("until", "valid_to"))
        if item[key]
    )


def _unknown_error(fact_id: str) -> NotFoundError:
    return NotFoundError(f"no fact has the id {console.line(fact_id)}")


def _as_owner(method: str, params: dict[str, Any]) -> Any:
    """Call *method*, with the owner's signature unless the environment names a client key."""
    from memd.cli.org import owner

    with daemon() as client:
        if owner.is_owner():
            from memd.org.signature import fact_content, request_content
            from memd.serve.routes.org import WriteFactParams
            from memd.serve.validation import validate

            params = _with_whole_id(client, params)
            text = (
                request_content(validate(WriteFactParams, params))
                if method == "org.write"
                else fact_content(kind="RETRACT", fact_id=params["fact_id"])
            )
            params = {**params, "signature": owner.sign(client, method, text)}
        return client.call(method, params)


def _warn_of_many(policies: list[dict[str, Any]]) -> None:
    """Warn if the valid policies do not fit into a prompt of the default size."""
    from memd.domain.inject import PREPARE_TOKENS, policies_tokens

    tokens = policies_tokens(policy["content"] for policy in policies)
    if tokens > PREPARE_TOKENS:
        console.note(
            f"memd: the policies take about {tokens:,} tokens: a prompt of {PREPARE_TOKENS:,}, "
            "the default, leaves some out"
        )


def _with_whole_id(client: Client, params: dict[str, Any]) -> dict[str, Any]:
    """Return *params* with the full id of the fact, because a short id must not be signed."""
    if params.get("fact_id") is None:
        return params
    versions = client.call("org.history", {"fact_id": params["fact_id"], "limit": 1})["items"]
    return {**params, "fact_id": versions[0]["fact_id"]} if versions else params


def _report_limit(number: int, limit: int) -> None:
    """Report to stderr that *number* facts are as many as *limit* or the settings allow."""
    from memd.base.paths import Paths
    from memd.cli.upkeep.config import settings_of

    settings, _ = settings_of(Paths.resolve())
    if number == settings.org_memory.extended_store.max_retrieved_per_query:
        key = "org_memory.extended_store.max_retrieved_per_query"
        console.note(f"the first {number}; {key} allows no more")
    elif number == limit:
        console.note(f"the first {number}; a higher --limit shows more")


def _print_facts(facts: list[dict[str, Any]], nothing: str) -> None:
    columns = (
        id_column(),
        word_column("CATEGORY", "category"),
        text_column("TEXT", "content"),
        word_column("VALID", format_validity, whole=True),
    )
    rows = facts if console.is_json() else [row for fact in facts for row in _rows(fact)]
    print_items({"items": rows}, columns, nothing=nothing)


def _rows(fact: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the row of a fact; before it, if it begins later, the version that holds now."""
    holding = _find_holding(_versions(fact["id"])) if not _find_holding([fact]) else None
    return [{**holding, "id": fact["id"]}, fact] if holding else [fact]


def format_version_author(item: dict[str, Any]) -> str:
    """Format the author of a version, and the agent that had proposed it."""
    author = format_author(
        {part: item[f"author_{part}"] for part in ("agent_id", "seniority", "is_human")}
    )
    proposer = item["proposed_by"]
    return author if proposer is None else f"{author}, proposed by {console.line(proposer)}"


def format_author(author: dict[str, Any]) -> str:
    """Format the author of a fact.

    >>> format_author({"is_human": False, "agent_id": "ada", "seniority": "senior"})
    'ada (senior)'
    """
    if author["is_human"]:
        return "a human"
    return f"{console.line(author['agent_id'])} ({author['seniority']})"
