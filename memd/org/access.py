"""Decide who may write and read organisational memory (SPEC 15.3). Pure.

A category without a write rule can be written by nobody, humans included. An agent's autonomy level
is stored with its facts and does not affect access.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memd.base.errors import OrgMemoryAccessDeniedError
from memd.domain.caller import LOCAL, OPERATOR, Caller
from memd.domain.enums import OrgFactCategory, SeniorityLevel
from memd.domain.org.org import OrgFactAuthor
from memd.domain.settings.org import WriteAccessConfig


def check_write_access(
    config: WriteAccessConfig, category: OrgFactCategory, author: OrgFactAuthor
) -> bool:
    """Return whether *author* may write *category*; False without a rule.

    >>> human = OrgFactAuthor(is_human=True)
    >>> check_write_access(WriteAccessConfig(), OrgFactCategory.CORE_POLICY, human)
    True
    """
    rule = config.rules.get(category)
    if rule is None:
        return False
    if author.is_human:
        return rule.human_allowed
    if rule.allowed_seniority is None or author.seniority is None:
        return False
    return author.seniority.rank >= rule.allowed_seniority.rank


def require_write_access(
    config: WriteAccessConfig, category: OrgFactCategory, author: OrgFactAuthor
) -> None:
    """Raise OrgMemoryAccessDeniedError when *author* may not write *category*."""
    if check_write_access(config, category, author):
        return
    raise OrgMemoryAccessDeniedError(
        f"{_describe(author)} may not write {category}",
        field="category",
        hint=f"{_describe_allowed(config, category)} may; "
        "anybody else can propose it: memd org propose",
    )


def readable_categories(
    rules: Sequence[Mapping[OrgFactCategory, SeniorityLevel]], caller: Caller
) -> frozenset[OrgFactCategory]:
    """Return the categories that *caller* may read by every one of *rules*.

    For a query about an earlier time, pass the rules of that time and today's. Otherwise a query
    about yesterday would bypass a rule that was added since. A category without a rule may be read
    by everybody. The owner's commands, and code that opened the file in this process, may read all.
    """
    if caller.is_owner:
        return frozenset(OrgFactCategory)
    rank = -1 if caller.seniority is None else caller.seniority.rank
    return frozenset(
        category
        for category in OrgFactCategory
        if all(category not in rule or rank >= rule[category].rank for rule in rules)
    )


def author_of(caller: Caller) -> OrgFactAuthor:
    """Return the author of *caller*'s writes: the agent of its key, never a human (SPEC D14).

    Raises OrgMemoryAccessDeniedError for a caller without a key, or whose key has no seniority.
    """
    if caller.seniority is None:
        if caller.client == LOCAL:
            raise OrgMemoryAccessDeniedError(
                "a client that has no key writes no facts", hint="propose it: memd org propose"
            )
        if caller.client == OPERATOR:
            raise OrgMemoryAccessDeniedError(
                "the owner's commands write no facts without the owner's signature",
                hint="memd org write, at a terminal, signs it",
            )
        raise OrgMemoryAccessDeniedError(
            f"the key of client {caller.client} has no seniority",
            hint="propose it: memd org propose; or the owner makes a new key: "
            f'"memd client revoke {caller.client}", then '
            f'"memd client add {caller.client} --seniority LEVEL" with its other options',
        )
    return OrgFactAuthor(
        agent_id=caller.agent_id,
        seniority=caller.seniority,
        autonomy_level=caller.autonomy_level,
    )


def _describe(author: OrgFactAuthor) -> str:
    return "a human" if author.is_human else f"agent {author.agent_id} ({author.seniority})"


def _describe_allowed(config: WriteAccessConfig, category: OrgFactCategory) -> str:
    rule = config.rules.get(category)
    authors = []
    if rule is not None and rule.human_allowed:
        authors.append("a human")
    if rule is not None and rule.allowed_seniority is not None:
        authors.append(f"an agent that is {rule.allowed_seniority} or above")
    return " or ".join(authors) or "nobody"
