"""The answer of another model that somebody pastes is not their word."""

from __future__ import annotations

import pytest

from memd.sleep.distil.distil import SessionTurns, distil
from memd.sleep.distil.exchanges import NapKind
from memd.sleep.distil.language.words import words

_POINTS = """\
This involves modifying `store/lock.py`, and it is crucial for correctness.

**Task 1: Take the lock once**

*   **Goal:** Always take the lock in `open()`, never in `read()`.
*   **Why:** Two writers could take it, which must not happen any more.
*   **How:** We use the lock of the file instead of one of our own.

```python
# store/lock.py
def open(path):
    return Lock(path)
```

These tasks should address the pending corrections. Remember to test these changes thoroughly.
We must never hold it for longer than a second, and the rest of the code stays as it is for now.
"""


@pytest.mark.parametrize(
    "opening",
    [
        "Okay, here are the detailed tasks for your developers.",
        "Okay, let's tackle the gaps in how the lock is taken.",
        "Here are the complete implementations for all requested improvements:",
        "Let's implement the lock step by step. I'll break this down file by file.",
        "Your implementation looks sound. Let me analyze it and suggest some refinements:",
        "Voici les étapes pour corriger le verrou.",
    ],
)
def test_a_pasted_answer_is_nobodys_word(opening: str) -> None:
    whole = words(f"{opening}\n\n{_POINTS}")
    assert (whole.paragraphs, whole.plan, whole.rules) == ((), "", ())
    assert whole.is_answer


def test_what_stands_around_a_pasted_answer_is_its_writer_s() -> None:
    pasted = f"```\nOkay, here is the code.\n\n{_POINTS}\n```"
    text = f"We never push, so only apply this:\n\n{pasted}\n\nNo tests."
    assert words(text).paragraphs == ("We never push, so only apply this:", "No tests.")


def test_a_document_of_bold_points_and_code_alone_is_an_answer() -> None:
    points = "".join(f"*   **Point {at}:** never take the lock twice in it\n" for at in range(12))
    assert words(
        f"## 1. The lock\n\nThis is crucial.\n\n{points}\n```python\npass\n```\n"
    ).is_answer
    assert not words(f"## 1. The lock\n\nThis is crucial.\n\n{points}").is_answer


@pytest.mark.parametrize(
    "text",
    [
        "Okay, let's keep the lock in `open()` and never take it in `read()`.\n" * 12,
        "Here is the plan of the lock:\n- never take it twice\n- always close it\n" * 10,
        f"I ran it, and this is what I want instead:\n\n{_POINTS}",
    ],
)
def test_a_person_who_opens_or_lists_like_a_model_is_read(text: str) -> None:
    assert not words(text).is_answer


def test_what_came_of_a_pasted_answer_is_told_without_it() -> None:
    done = "Moved the lock of the file into `store/lock.py`, because two writers could take it."
    session = [
        {"role": "user", "content": f"Okay, here are the detailed tasks.\n\n{_POINTS}"},
        {"role": "assistant", "content": done},
    ]
    kept = [(each.kind, each.text) for each in distil(SessionTurns.of(session))]
    assert kept[0] == (NapKind.OUTCOME, done.replace("`", ""))
    assert kept[1][1].startswith(
        "Asked first: (a pasted answer) Okay, here are the detailed tasks."
    )
    assert "thoroughly" not in str(kept)
