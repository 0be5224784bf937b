"""SPEC 15.3: who may write what. Fail closed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memd.base.errors import OrgMemoryAccessDeniedError
from memd.domain.caller import Caller
from memd.domain.enums import AutonomyLevel, OrgFactCategory, SeniorityLevel
from memd.domain.org.org import OrgFactAuthor
from memd.domain.settings.org import CategoryWriteRule, WriteAccessConfig
from memd.org.access import author_of, check_write_access, require_write_access

HUMAN = OrgFactAuthor(is_human=True)
SHIPPED = WriteAccessConfig()


def an_agent(seniority: str, autonomy: AutonomyLevel | None = None) -> OrgFactAuthor:
    return OrgFactAuthor(
        agent_id="ada", seniority=SeniorityLevel(seniority), autonomy_level=autonomy
    )


@pytest.mark.parametrize(
    ("author", "category", "may"),
    [
        (HUMAN, "core_policy", True),
        (an_agent("c_suite"), "core_policy", False),
        (an_agent("junior"), "adr", False),
        (an_agent("mid"), "adr", False),
        (an_agent("senior"), "adr", True),
        (an_agent("lead"), "procedure", True),
        (HUMAN, "convention", True),
    ],
)
def test_the_shipped_rules_are_the_documented_ones(
    author: OrgFactAuthor, category: str, *, may: bool
) -> None:
    """SPEC 15.3.1, 22.10."""
    assert check_write_access(SHIPPED, OrgFactCategory(category), author) is may


def test_a_category_without_a_rule_is_denied_to_everybody() -> None:
    """SPEC 15.3.2."""
    nothing = WriteAccessConfig(rules={})
    for category in OrgFactCategory:
        for author in (HUMAN, an_agent("c_suite")):
            assert not check_write_access(nothing, category, author)


def test_the_definition_of_an_entity_has_a_rule_of_its_own() -> None:
    """SPEC 15.3.2, D14: in the original nobody could write one."""
    definition = OrgFactCategory.ENTITY_DEFINITION
    assert check_write_access(SHIPPED, definition, an_agent("senior"))
    assert check_write_access(SHIPPED, definition, HUMAN)
    assert not check_write_access(SHIPPED, definition, an_agent("mid"))


def test_a_human_needs_the_rule_to_allow_humans() -> None:
    """SPEC 15.3.3."""
    rule = CategoryWriteRule(allowed_seniority=SeniorityLevel.JUNIOR, human_allowed=False)
    config = WriteAccessConfig(rules={OrgFactCategory.ADR: rule})
    assert not check_write_access(config, OrgFactCategory.ADR, HUMAN)
    assert check_write_access(config, OrgFactCategory.ADR, an_agent("junior"))


@pytest.mark.parametrize("least", SeniorityLevel)
def test_an_agent_needs_the_least_seniority_or_more(least: SeniorityLevel) -> None:
    """SPEC 15.1.2, 15.3.3: by position, not by the alphabet."""
    config = WriteAccessConfig(
        rules={OrgFactCategory.ADR: CategoryWriteRule(allowed_seniority=least)}
    )
    levels = list(SeniorityLevel)
    may = [
        level
        for level in levels
        if check_write_access(config, OrgFactCategory.ADR, an_agent(level))
    ]
    assert may == levels[levels.index(least) :]


@pytest.mark.parametrize("autonomy", AutonomyLevel)
def test_how_freely_an_agent_acts_changes_nothing(autonomy: AutonomyLevel) -> None:
    """SPEC 15.1.3."""
    assert check_write_access(SHIPPED, OrgFactCategory.ADR, an_agent("senior", autonomy))
    assert not check_write_access(SHIPPED, OrgFactCategory.ADR, an_agent("mid", autonomy))


def test_a_denial_says_who_may_and_what_else_can_be_done() -> None:
    """SPEC 15.3.3."""
    with pytest.raises(
        OrgMemoryAccessDeniedError, match=r"ada \(mid\) may not write adr"
    ) as caught:
        require_write_access(SHIPPED, OrgFactCategory.ADR, an_agent("mid"))
    assert caught.value.field == "category"
    assert "senior or above" in str(caught.value.hint)
    with pytest.raises(OrgMemoryAccessDeniedError) as caught:
        require_write_access(WriteAccessConfig(rules={}), OrgFactCategory.ADR, HUMAN)
    assert str(caught.value.hint).startswith("nobody may")
    require_write_access(SHIPPED, OrgFactCategory.ADR, HUMAN)


def test_the_rules_cannot_be_changed() -> None:
    """SPEC 15.3.4."""
    mine = {OrgFactCategory.ADR: CategoryWriteRule()}
    config = WriteAccessConfig(rules=mine)
    with pytest.raises(TypeError):
        config.rules[OrgFactCategory.ADR] = CategoryWriteRule()  # type: ignore[index]  # that it is refused is the test
    mine.clear()
    assert OrgFactCategory.ADR in config.rules


def test_over_the_socket_an_author_is_what_the_key_says() -> None:
    """SPEC D14: never a human, and nobody without a key."""
    caller = Caller(
        client="editor",
        agent_id="ada",
        seniority=SeniorityLevel.LEAD,
        autonomy_level=AutonomyLevel.SEMI,
    )
    author = author_of(caller)
    assert (author.agent_id, author.seniority, author.autonomy_level) == (
        "ada",
        SeniorityLevel.LEAD,
        AutonomyLevel.SEMI,
    )
    assert not author.is_human
    with pytest.raises(OrgMemoryAccessDeniedError, match="key of client editor has no seniority"):
        author_of(replace(caller, seniority=None))
