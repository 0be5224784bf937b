"""X21: who decides how long a memory is kept."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from memd.api import MemoryCategory, MemoryConfig, RetentionConfig, RetentionRule
from memd.sleep.night.retention import cutoffs

NOW = datetime(2026, 3, 17, tzinfo=UTC)
EPISODIC = MemoryCategory.EPISODIC


def _rule(days: int | None) -> tuple[RetentionRule, ...]:
    return () if days is None else (RetentionRule(category=EPISODIC, retention_days=days),)


@pytest.mark.parametrize(
    ("agent_rule", "company_rule", "agent_default", "company_default", "kept"),
    [
        (7, 30, 90, 365, 7),
        (None, 30, 90, 365, 30),
        (None, None, 90, 365, 90),
        (None, None, None, 365, 365),
        (None, None, None, None, None),
    ],
)
def test_x21_the_narrowest_word_counts_and_the_agent_before_the_company(
    agent_rule: int | None,
    company_rule: int | None,
    agent_default: int | None,
    company_default: int | None,
    kept: int | None,
) -> None:
    company = RetentionConfig(rules=_rule(company_rule), default_retention_days=company_default)
    agent = MemoryConfig(retention_days=agent_default, retention_overrides=_rule(agent_rule))

    found = cutoffs(company, agent, NOW).get(EPISODIC)

    assert found == (None if kept is None else NOW - timedelta(days=kept))
