"""Recognise commands that are run once in the life of a project or of a change. Pure.

They create or move something, so a later session does not run them again.
"""

from __future__ import annotations

from memd.text.alternations import Phrases

COMMAND_PREFIX = r"(?:(?:sudo|time|env|[A-Za-z_]\w*=\S*) )*"
"""The pattern of what may come before the program of a command."""
# Creates a project or a part of it, which is done once: "pnpm create vite", "cargo new".
_SCAFFOLDS = Phrases(
    rf"{COMMAND_PREFIX}(?:(?:npm|pnpm|yarn|bun) (?:create|init)\b"
    r"|(?:npm|pnpm|yarn|bun|go|cargo|dotnet|uv"
    r"|poetry|composer|flutter|rails|mix|ng|nx|expo|django-admin)(?: mod)?"
    r" (?:init|new|create(?:-project)?|startproject|startapp|generate)\b"
    r"|(?:npx|pnpx|bunx|(?:pnpm|npm|yarn) (?:dlx|exec))(?: -\S+)*"
    r" (?:create-\S+|(?:@?[\w@./-]+ )+(?:--)?(?:init|create|new|add)\b))",
    0,
)
# Migrates a project from one tool to another, also once: "uvx migrate-to-uv", "npx js-to-ts src".
_MOVES_OVER = Phrases(
    rf"{COMMAND_PREFIX}"
    r"(?:npx|pnpx|bunx|uvx|pipx run|uv tool run|(?:pnpm|npm|yarn) (?:dlx|exec))(?: -\S+)*"
    r" [@\w./-]*(?:migrate-(?:to|from|config)|codemod|\w-to-\w)",
    0,
)
# Writes the file of a new migration, and migrates nothing: "goose create x", "alembic revision".
_NEW_MIGRATION = Phrases(
    r"\b(?:goose|dbmate|tern|migrat(?:e|ions?))(?: \S+)*? (?:create|new|add|generate)\b"
    r"|\bmigrat(?:e|ions?):(?:make|create|generate|diff)\b|\bmake:migration\b"
    r"|\b(?:ecto|oban)\.gen\.migration\b|\balembic(?: \S+)*? revision\b"
    r"|\bflask db (?:migrate|revision)\b|\brails g(?:enerate)?\b",
    0,
)


def runs_once(line: str) -> bool:
    """Return whether a command creates a project, a part of it or a migration, or moves it over.

    >>> runs_once("goose -dir db create outbox sql"), runs_once("goose -dir db up")
    (True, False)
    """
    begins = any(pattern.match(line) for pattern in (_SCAFFOLDS, _MOVES_OVER))
    return begins or _NEW_MIGRATION.search(line) is not None
