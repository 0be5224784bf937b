"""The documentation says what is there, and nothing that is not."""

from __future__ import annotations

import functools
import re
from pathlib import Path

import pytest
from support import docs

ROOT = docs.ROOT
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("*.md"))
ABSOLUTE = re.compile(r"(?<![\w.~>/])/(?:home|Users|root|work|tmp|opt|var|mnt|srv)/\w")


@functools.cache
def text(page: Path) -> str:
    return page.read_text("utf-8")


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("path", sorted(docs.PAGES))
def test_a_page_made_from_the_code_is_what_the_code_makes(path: str) -> None:
    written = (ROOT / path).read_text("utf-8")
    assert written == docs.PAGES[path](), "run: python -m tests.support.docs"


def test_every_command_has_a_summary_an_explanation_of_each_option_and_examples() -> None:
    from memd.cli.commands import COMMANDS, GROUPS
    from memd.cli.options import parameters

    entries = [*COMMANDS.values(), *(each for group in GROUPS.values() for each in group.entries)]
    for entry in entries:
        command = entry.load()
        assert (command.__doc__ or "").strip(), entry
        assert all(parameter.declaration.help for parameter in parameters(command)), entry
        lines = getattr(command, "examples", ())
        assert lines, entry
        assert any("memd " in line for line in lines), entry


def test_every_method_has_a_summary() -> None:
    from memd.serve.routes.routes import methods

    assert methods()
    for method in methods().values():
        assert method.summary.endswith("."), method.name


def test_a_page_names_no_place_of_one_machine() -> None:
    assert not [(name(page), paths) for page in PAGES if (paths := ABSOLUTE.findall(text(page)))]


def test_every_link_within_the_repository_leads_somewhere() -> None:
    links = [(page, link) for page in PAGES for link in re.findall(r"\]\(([^)#\s]+)\)", text(page))]
    assert len(links) > 100
    assert not [
        (name(page), link)
        for page, link in links
        if "://" not in link and not (page.parent / link).exists()
    ]


def test_every_link_to_a_heading_finds_it() -> None:
    lost = []
    for page in PAGES:
        for to, anchor in re.findall(r"\]\(([^)#\s]*)#([^)\s]+)\)", text(page)):
            if "://" not in to and anchor not in slugs(page.parent / to if to else page):
                lost.append((name(page), to, anchor))
    assert not lost


def slugs(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", text(page), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings}


def test_every_fence_is_closed_and_every_row_has_the_columns_of_its_table() -> None:
    for page in PAGES:
        _fences_and_rows(page)


def _fences_and_rows(page: Path) -> None:
    fenced, columns = False, 0
    for number, line in enumerate(text(page).splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        row = not fenced and line.startswith("|")
        cells = len(re.findall(r"(?<!\\)\|", line)) - 1 if row else 0
        assert not row or not columns or cells == columns, f"{name(page)}, line {number}"
        columns = cells
    assert not fenced, name(page)


def test_a_decision_says_situation_choice_and_price() -> None:
    assert len(DECISIONS) > 100
    for page in DECISIONS:
        assert re.match(rf"# 0*{int(page.stem[:4])}\b", text(page)), name(page)
        headings = re.findall(r"^(?:## |\*\*)(Situation|Choice|Price)\b", text(page), re.MULTILINE)
        assert headings == ["Situation", "Choice", "Price"], name(page)


def test_no_two_decisions_have_one_number() -> None:
    numbers = [page.stem[:4] for page in DECISIONS]
    assert len(numbers) == len(set(numbers))


def test_a_build_server_runs_the_test_command_of_the_readme() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    commands = re.findall(r"^python3 -m venv .*$", readme, re.MULTILINE)
    assert len(commands) == 2
    assert commands[1].endswith("-m tests.check")
    ran = (ROOT / ".ci" / "run").read_text("utf-8").splitlines()
    assert commands[1] in ran
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o100


def test_the_page_for_contributors_lists_the_steps_of_the_gate_in_order() -> None:
    from check import INTEGRATION, steps

    page = (ROOT / "docs" / "CONTRIBUTING.md").read_text("utf-8")
    names = re.findall(
        r"^\| `(\w+)` \|", page.partition("## The gate")[2].partition("\n## ")[0], re.M
    )
    assert names == [*(step.name for step in steps(long=False)), *INTEGRATION]


def test_the_architecture_names_every_package_and_only_those() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", page.partition("## Packages")[2], re.MULTILINE)
    named = [name for row in rows for name in re.findall(r"\w+", row)]
    package = ROOT / "memd"
    there = {path.parent.name for path in package.glob("*/__init__.py")}
    there |= {path.stem for path in package.glob("*.py") if not path.stem.startswith("__")}
    assert sorted(named) == sorted(there)


def test_the_page_about_usage_lists_every_event_and_what_its_values_do() -> None:
    from memd.domain.values import EventName
    from memd.signals.usage import Usage
    from memd.sleep.window import trigger

    page = text(ROOT / "docs" / "usage.md")
    assert set(re.findall(r"^\| `(event\.\w+)`", page, re.MULTILINE)) == set(EventName)
    rows = re.findall(r"^\| (`.*`) \| (.*) \|$", page, re.MULTILINE)
    before = trigger.WindowState(percent=65)
    for values, effect in rows:
        for value in re.findall(r"`([\w.]+)`", values) if "_" in values else ():
            usage = Usage(event=value, used_percent=65)
            reason = trigger.step(before, usage)[1]
            ended = reason is trigger.Reason.ENDED
            assert ("end the session" in effect, "may repeat" in effect) == (
                ended,
                reason is None and trigger.detect_emptying(before, usage, reason) is not None,
            ), value
