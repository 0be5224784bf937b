"""The memory block, as it stands in a prompt (SPEC 4)."""

from __future__ import annotations

from collections.abc import Iterable

from memd.view.view import MEMORY_TAG, view


def memory_block(lines: Iterable[tuple[str, str]]) -> str:
    r"""Return the block of *lines*, pairs of type and content, in the order given.

    One line for each memory, longer where the content has lines of its own. No
    content can end the block. Without memories the block is empty.

    >>> print(memory_block([("semantic", "User likes tea.")]))
    <memory>
    [SEMANTIC] User likes tea.
    </memory>
    """
    inner = [f"[{view(kind, one_line=True).upper()}] {view(content)}" for kind, content in lines]
    return "\n".join([f"<{MEMORY_TAG}>", *inner, f"</{MEMORY_TAG}>"])
