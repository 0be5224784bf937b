"""Texts that may be stored."""

from __future__ import annotations

from typing import Literal, NewType

Screened = NewType("Screened", str)
"""A text that passed the secrets screen.

Only ``guard/secrets.py`` and the readers of rows make one.
"""

SecretsPolicy = Literal["redact", "refuse", "keep"]
"""What becomes of a secret that arrives: replaced, turned away, or kept and never shown."""
