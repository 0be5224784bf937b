"""Models of audit entries, settings, presets, users and API keys (SPEC 19.2)."""

from __future__ import annotations

from typing import Literal

from memd.domain.values import Name, PlainText, Time, Value
from memd.records.kinds import Amount, Names, Risk, Sha256, Verdict
from memd.records.runs import JsonText


class AuditEntry(Value):
    """The verdict of a security check on a tool call; written once, deleted by age only."""

    id: Name
    timestamp: Time
    agent_id: Name | None = None
    task_id: Name | None = None
    tool_name: Name
    tool_category: Name
    action_type: Name
    arguments_hash: Sha256
    verdict: Verdict
    risk_level: Risk
    reason: PlainText
    matched_rules: Names = ()
    evaluation_duration_ms: Amount
    approval_id: Name | None = None


class StoredSetting(Value):
    """One setting of a program; the time of its last change is its version."""

    namespace: Name
    key: Name
    value: PlainText
    updated_at: Time


class CustomPreset(Value):
    """A custom personality preset."""

    name: Name
    config_json: JsonText
    description: PlainText = ""
    created_at: Time
    updated_at: Time


class User(Value):
    """A person who may sign in to the program that stores its records here."""

    id: Name
    username: Name
    password_hash: PlainText
    role: Literal["ceo", "manager", "board_member", "pair_programmer", "observer", "system"]
    must_change_password: bool = False
    created_at: Time
    updated_at: Time


class ApiKey(Value):
    """A user's key, by its hash."""

    id: Name
    key_hash: Sha256
    name: Name
    role: Literal["ceo", "manager", "board_member", "pair_programmer", "observer", "system"]
    user_id: Name
    created_at: Time
    expires_at: Time | None = None
    revoked: bool = False
