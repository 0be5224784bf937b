"""The params of ``inject.file``."""

from __future__ import annotations

from memd.model.files import FileCommand
from memd.rpc.params import Writing


class File(FileCommand, Writing):
    """One command of the file view, and whose memories it is about."""
