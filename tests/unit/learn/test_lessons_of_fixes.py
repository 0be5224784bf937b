"""What naps saw cured, read as lessons (decision 0103): whatever a nap tells is one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memd.learn.propose import proposal_of
from memd.learn.tiers import as_tiers, sanitise_error, tiers_of
from memd.sleep.distil.exchanges import AgentText, Exchange, Run
from memd.sleep.distil.failures import ERROR_CHARS_MAX
from memd.sleep.distil.fixes import FIX_CHARS_MAX, fixes

LINE = (
    "npm run integration-tests-of-the-shop -- --grep 'orders that nobody has paid for in a month'"
)
ERROR = "Error: the schema of the orders does not have the column that the report asks for" * 2
WHY = (
    "The report asks for a column that the schema of the orders lost, because the migration of"
    " last week was never run against the database of the tests, which nobody had noticed."
)


def told(
    why: str = WHY, error: str = ERROR, line: str = LINE, did: str = "make migrate"
) -> list[str]:
    """Return what a nap tells of a command that failed, a change, and that it passes."""
    runs = [
        Run(1, "", "Bash", {"command": line}, f"Exit code 1\n{error}"),
        Run(3, "", "Edit", {"file_path": "/srv/shop/report.sql", "new_string": "x"}, "done"),
        Run(5, "", "Bash", {"command": did}, "done"),
        Run(7, "", "Bash", {"command": f"SHOP_ENVIRONMENT=the-tests-of-the-shop {line}"}, "ok"),
    ]
    exchange = Exchange(0, "run the tests", (), [AgentText(2, why)], runs, 9)
    return [each.memory.text for each in fixes([exchange])]


def test_the_error_is_quoted_and_why_it_came_is_told_whole() -> None:
    (fix,) = told(error="Error: no column `paid` in /srv/shop/orders.sql")
    lesson = proposal_of(fix)
    assert lesson is not None
    reads = "Error: no column `paid` in [PATH]"
    assert lesson.condition.endswith(f"The error reads: {reads}.")
    why = fix.partition("orders.sql. ")[2].partition(" Changed ")[0]
    assert len(why) > 100
    assert f"{reads}. {why} What cured it: " in lesson.discovery
    assert lesson.rationale.startswith(why)
    assert lesson.action.startswith("Change report.sql.")


def test_a_fix_that_is_cut_off_is_a_lesson_of_what_is_left() -> None:
    (fix,) = told(did="make migrate DATABASE=the-database-of-the-tests HOST=the-host-of-the-tests")
    assert len(fix) <= FIX_CHARS_MAX
    assert "It passes now" not in fix
    assert "Passes now" not in fix
    lesson = proposal_of(fix)
    assert lesson is not None
    assert lesson.action.startswith("Change report.sql.")


def test_a_fix_of_which_only_the_reason_is_told_is_cured_by_that() -> None:
    lesson = proposal_of("make failed: error: 5. The disk of the runner was full. It passes now.")
    assert lesson is not None
    assert lesson.action == "The disk of the runner was full."
    assert lesson.discovery.endswith("What cured it: the disk of the runner was full.")
    assert lesson.discovery.count("disk") == 1


def test_a_text_that_tells_no_cure_is_no_lesson() -> None:
    for text in (
        "",
        "make failed: error",
        "make failed: error. It passes now.",
        "all is well. It passes now.",
        f"make failed: {'x' * 2_000}. It passes now.",
    ):
        assert proposal_of(text) is None


@given(st.text(max_size=200), st.text(max_size=200), st.sampled_from(["make setup", "npm ci"]))
def test_whatever_a_nap_tells_is_a_lesson_that_is_read_back(why: str, error: str, did: str) -> None:
    for fix in told(why, f"Error: {error}", did=did):
        lesson = proposal_of(fix)
        assert lesson is not None
        tiers = tiers_of(as_tiers(lesson))
        assert tiers is not None
        assert tiers.condition == lesson.condition


def test_an_error_of_a_nap_is_never_cut_by_the_lesson() -> None:
    assert len(sanitise_error("x" * (ERROR_CHARS_MAX + 1))) == ERROR_CHARS_MAX + 1
