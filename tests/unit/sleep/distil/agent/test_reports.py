"""Long answers, approved plans and written pages, section by section (decision 0139)."""

from __future__ import annotations

from memd.sleep.distil.agent.reports import approved_plan, reports, sections, written_page
from memd.sleep.distil.distil import SessionTurns, distil
from memd.sleep.distil.exchanges import AgentText, Exchange, NapKind, ToolRun
from memd.sleep.distil.select import STRETCH_MEMORIES

REPORT = """# Gap analysis

## Bottom line

The registry in `pkg/factory/registry.go` does not build, because `NativePath` is missing from
the provider. The package alone compiles and its tests pass, so nobody noticed it.

## Recommended path

1. Add `NativePath` as a stub that returns `ErrUnsupported`, which is correct for good.
2. Guard `run` so that it points at `tool watch` instead of an error from the adapter.

## Test coverage

The provider has 4 tests in `provider_test.go` where its peers have 40. `database.go`, `watcher.go`
and `path_utils.go` have none, and the race in `watcher.go` was mended twice without one.

## References

See `docs/one.md` and `docs/two.md` for what was read before this was written down in full. Both
pages describe how the interface came to be as it is, who asked for it, and which of the other
providers have been changed since. None of that has to be read to do what is recommended above.
"""
PLAN = """# Plan: Move commands

## Context
The `list` command lives in `pkg/cmd/list.go` already.

## Keep in main.go
- `cloudURL` stays, for `PersistentPreRunE` reads it in `main.go`.
- `run`, `watch` and `sync` are not moved from `main.go` in this change at all.

## Login
- `CreateLoginCommand` takes the pointer and binds `--cloud-url` to it in `login.go`.
- `openBrowser` and `normalizeDeviceCode` move to `login.go` with the constants.
"""


def worked(text: str, user: str = "evaluate the provider", runs: int = 0) -> Exchange:
    done = [ToolRun(1, str(n), "Bash", {"command": "ls"}, "a") for n in range(runs)]
    return Exchange(0, user, texts=[AgentText(2, text)], runs=done, end=2)


def memories_of(*exchanges: Exchange) -> list[str]:
    return [each.memory.text for each in reports(exchanges)]


def test_each_section_of_a_long_answer_is_told_below_its_heading() -> None:
    bottom, coverage = memories_of(worked(REPORT))
    assert bottom.startswith("Gap analysis \u2013 Bottom line: The registry in pkg/factory")
    assert "4 tests in provider_test.go" in coverage


def test_short_answers_and_answers_on_the_way_are_not_told() -> None:
    assert memories_of(worked("Done. `a.py` is written.")) == []
    assert memories_of(worked(REPORT), worked("ok", "thanks")) == []
    assert memories_of(worked(REPORT, runs=8), worked("ok", "thanks")) != []


def test_what_the_user_takes_back_is_not_told() -> None:
    assert memories_of(worked(REPORT, runs=8), worked("ok", "no, that is wrong")) == []
    quoted = '"The registry in `pkg/factory/registry.go` does not build" is not what I see'
    (coverage,) = memories_of(worked(REPORT, runs=8), worked("ok", quoted))
    assert "Test coverage" in coverage


def test_a_plan_counts_once_it_is_approved() -> None:
    shown = ToolRun(3, "1", "ExitPlanMode", {"plan": PLAN}, "User has approved your plan.")
    assert approved_plan(shown) == PLAN
    assert approved_plan(shown._replace(result="The user doesn't want to proceed.")) == ""
    assert approved_plan(ToolRun(3, "1", "Bash", {"command": "plan"}, "approved")) == ""
    within = ToolRun(
        3, "1", "ExitPlanMode", "", f"User has approved it.\n## Approved Plan:\n{PLAN}"
    )
    assert approved_plan(within) == PLAN
    made = reports([Exchange(0, "move them", runs=[within], end=3)])
    assert {each.memory.kind for each in made} == {NapKind.DECISION}
    assert made[0].memory.text.startswith("Plan approved: Move commands \u2013 Keep in main.go: ")


def test_a_page_is_told_when_it_was_written_whole() -> None:
    given = {"file_path": "docs/gaps.md", "content": REPORT}
    run = ToolRun(1, "1", "Write", given, "File created successfully at: docs/gaps.md")
    assert written_page(run) == REPORT
    assert written_page(run._replace(arguments={"file_path": "gaps.py", "content": REPORT})) == ""
    assert (
        written_page(run._replace(arguments={"file_path": ".claude/plans/a.md", "content": REPORT}))
        == ""
    )
    patch = "**Add: `docs/gaps.md`**\n```diff\n" + "".join(
        f"+{line}\n" for line in REPORT.splitlines()
    )
    assert "## Bottom line" in written_page(ToolRun(1, "1", "apply_patch", patch, ""))


def test_sections_only_fill_what_others_leave() -> None:
    user = {"role": "user", "content": "Always use tabs in this project."}
    messages = [user, {"role": "assistant", "content": REPORT}]
    kinds = [each.kind for each in distil(SessionTurns.of(messages))]
    assert kinds[0] is NapKind.PREFERENCE
    assert kinds.count(NapKind.OUTCOME) >= 2
    many = [
        {"role": "user", "content": f"We never put module {n} behind flag-{n} in prod-{n}."}
        for n in range(STRETCH_MEMORIES)
    ]
    assert NapKind.OUTCOME not in [
        each.kind for each in distil(SessionTurns.of([*many, messages[1]]))
    ]


def test_a_fence_holds_no_heading() -> None:
    title, parts = sections("# One\n```\n# no heading\n```\n**Two:**\ntext")
    assert (title, [each.heading for each in parts]) == ("One", ["", "Two"])


def test_a_heading_that_comes_again_has_a_slot_of_its_own() -> None:
    again = REPORT.replace("## Test coverage", "## Bottom line")
    slots = [each.memory.slot for each in reports([worked(again)])]
    assert len(slots) == len(set(slots)) == 2
    assert slots[1] == f"{slots[0]}#2"


def test_a_heading_that_comes_again_is_told_with_the_one_above_it() -> None:
    web, mail = "## 1. Web\n### Choice\nIt is 80.", "## 2. Mail\n### Choice\nIt is 25."
    _, parts = sections(f"# Ports\n{web}\n{mail}\n### Price\nNone.")
    assert [each.heading for each in parts] == ["Web: Choice", "Mail: Choice", "Price"]
