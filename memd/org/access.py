"""Who may write what everybody knows (SPEC 15.3). Pure: rules in, an answer out.

Fail closed: what no rule allows is forbidden, to humans too. How freely an agent
acts (autonomy) is kept with what it writes and changes nothing here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memd.base.errors import OrgMemoryAccessDeniedError
from memd.domain.caller import Caller
from memd.domain.enums import OrgFactCategory, SeniorityLevel
from memd.domain.org.org import OrgFactAuthor
from memd.domain.settings.org import WriteAccessConfig


def check_write_access(
    config: WriteAccessConfig, category: OrgFactCategory, author: OrgFactAuthor
) -> bool:
    """Return whether *author* may write *category*; False where there is no rule.

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
        f"{_named(author)} may not write {category}",
        field="category",
        hint=f"{_allowed(config, category)} may; anybody else can propose it: memd org propose",
    )


def readable(
    rules: Sequence[Mapping[OrgFactCategory, SeniorityLevel]], caller: Caller
) -> frozenset[OrgFactCategory]:
    """Return the categories that all of *rules* let *caller* read.

    Two sets of rules are those of an earlier time and today's: what either forbids
    stays hidden, for a rule that was made since would otherwise be passed by asking
    about yesterday. A category without a rule may be read by everybody; whoever has
    opened the file in this process, and the owner's own commands, may read it all.
    """
    if caller.is_owner:
        return frozenset(OrgFactCategory)
    rank = -1 if caller.seniority is None else caller.seniority.rank
    return frozenset(
        category
        for category in OrgFactCategory
        if all(category not in one or rank >= one[category].rank for one in rules)
    )


def author_of(caller: Caller) -> OrgFactAuthor:
    """Return as whom *caller* writes: the agent that its key states, never a human (SPEC D14).

    Raises OrgMemoryAccessDeniedError for a caller without a key.
    """
    if caller.seniority is None:
        raise OrgMemoryAccessDeniedError(
            f"client {caller.client} has no key that says how senior it is",
            hint="propose it instead: memd org propose",
        )
    return OrgFactAuthor(
        agent_id=caller.agent_id,
        seniority=caller.seniority,
        autonomy_level=caller.autonomy_level,
    )


def _named(author: OrgFactAuthor) -> str:
    return "a human" if author.is_human else f"agent {author.agent_id} ({author.seniority})"


def _allowed(config: WriteAccessConfig, category: OrgFactCategory) -> str:
    rule = config.rules.get(category)
    who = []
    if rule is not None and rule.human_allowed:
        who.append("a human")
    if rule is not None and rule.allowed_seniority is not None:
        who.append(f"an agent that is {rule.allowed_seniority} or above")
    return " or ".join(who) or "nobody"
