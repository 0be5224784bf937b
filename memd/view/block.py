"""The memory block, as it stands in a prompt (SPEC 4)."""

from __future__ import annotations

from collections.abc import Iterable

from memd.view.labels import body
from memd.view.view import MEMORY_TAG, view


def memory_block(lines: Iterable[tuple[str, str] | tuple[str, str, str]]) -> str:
    r"""Return the block of *lines*, each a type and a content, in the order given.

    One line for each memory, longer where the content has lines of its own. No
    content can end the block, or begin a line with a label. Without memories the block
    is empty. A third text is memd's own mark of whose word a line is, "" for the owner's.

    >>> print(memory_block([("semantic", "User likes tea.")]))
    <memory>
    [SEMANTIC] User likes tea.
    </memory>
    """
    inner = [
        f"{''.join(mark)}[{view(kind, one_line=True).upper()}] {body(content)}"
        for kind, content, *mark in lines
    ]
    return "\n".join([f"<{MEMORY_TAG}>", *inner, f"</{MEMORY_TAG}>"])
