"""Which conclusions of an agent are worth a memory."""

from __future__ import annotations

from typing import Any

import pytest

from memd.sleep.distil.distil import SessionTurns, distil
from memd.sleep.distil.exchanges import NapKind
from memd.sleep.distil.language.outcome_signs import OUTCOME_WORTH, outcome_worth

WORTH_IT = [
    "Moved the retry into client.py, so that a worker no longer gives up after one timeout.",
    "The importer failed because rows.csv has a byte order mark; it is read as utf-8-sig now.",
    "Renamed `load_all` to `load_pages` and updated its four callers in src/pages.",
    "Set poolSize to 12: 340 ms at p95 instead of 900 ms.",
    "Le cache est dans build/cache.json, et `make clean` le supprime.",
]
NOT_WORTH_IT = [
    "Next steps: 1. Improve error handling; 2. Write more tests; 3. Deploy to production.",
    "better looking page cards: Improvements: 1. Modern Layout; 2. Robust Styling; 3. Clean Code.",
    "Checking the config fileReviewing how the cache is builtPlanning the tests.",
    "✅ Everything is complete and production-ready! You can now try it and let me know:",
    "First, we need to fix the failing test. You will need to run the migration:",
    "A detailed step-by-step explanation of how the script works.",
]


@pytest.mark.parametrize("text", WORTH_IT)
def test_what_was_done_and_why_is_worth_a_memory(text: str) -> None:
    assert outcome_worth(text) >= OUTCOME_WORTH


@pytest.mark.parametrize("text", NOT_WORTH_IT)
def test_plans_titles_and_praise_are_not(text: str) -> None:
    assert outcome_worth(text) < OUTCOME_WORTH


def _outcomes(answer: str) -> list[str]:
    asked: list[dict[str, Any]] = [
        {"role": "user", "content": "make the cards of the page look better"},
        {"role": "assistant", "content": answer},
        {"role": "user", "content": "thanks"},
    ]
    return [each.text for each in distil(SessionTurns.of(asked)) if each.kind is NapKind.OUTCOME]


def test_a_nap_keeps_no_list_of_titles() -> None:
    titles = "## Key improvements\n1. **Modern page layout**\n2. **Robust card styling**\n"
    done = "Cards in src/cards.css use a grid of three columns now, because flex wrapped them.\n"
    assert [text for text in _outcomes(f"{titles}\n{done}") if "Robust" in text] == []
    assert any("grid of three columns" in text for text in _outcomes(f"{titles}\n{done}"))
