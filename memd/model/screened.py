"""Texts that may be stored."""

from __future__ import annotations

from typing import NewType

Screened = NewType("Screened", str)
"""A text that passed the secrets screen.

Only ``encode/secrets.py`` and the readers of rows make one.
"""
