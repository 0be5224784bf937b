"""The memory block, as it stands in a prompt (SPEC 4)."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from memd.view.labels import body
from memd.view.view import MEMORY_TAG, view

SHARED_LABEL = "[shared] "


def memory_block(lines: Iterable[tuple[str, str]], shared: Collection[int] = ()) -> str:
    r"""Return the block of *lines*, pairs of type and content, in the order given.

    One line for each memory, longer where the content has lines of its own. No
    content can end the block, or begin a line with a label. Without memories the block
    is empty. The lines at the places *shared* say that they are another agent's word, as
    SPEC 11.1 labels them.

    >>> print(memory_block([("semantic", "User likes tea.")]))
    <memory>
    [SEMANTIC] User likes tea.
    </memory>
    """
    inner = [
        f"{SHARED_LABEL if place in shared else ''}"
        f"[{view(kind, one_line=True).upper()}] {body(content)}"
        for place, (kind, content) in enumerate(lines)
    ]
    return "\n".join([f"<{MEMORY_TAG}>", *inner, f"</{MEMORY_TAG}>"])
