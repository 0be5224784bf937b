"""The ``<memory>`` block that goes into a prompt (SPEC 4)."""

from __future__ import annotations

from collections.abc import Iterable

from memd.view.view import view


def memory_block(lines: Iterable[tuple[str, str]]) -> str:
    r"""Return the block: one ``[TYPE] content`` for each (type, content), in the order given.

    >>> memory_block([])
    '<memory>\n</memory>'
    """
    shown = (f"[{kind.upper()}] {view(content, tags=('memory',))}" for kind, content in lines)
    return "\n".join(("<memory>", *shown, "</memory>"))
