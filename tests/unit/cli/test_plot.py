"""The SVG of ``memd stats --plot`` is whole, plain, and safe to open."""

from __future__ import annotations

import re
from typing import Any

import pytest

from memd.cli.daemon.stats import draw_svg, lines

METHOD = {"requests": 3, "errors": {"busy": 1}, "mean_us": 9, "p50_us": 900, "p95_us": 4_000,
          "p99_us": 9_000}  # fmt: skip
METRICS: dict[str, Any] = {
    "methods": {"memory.recall": METHOD, "<script>": {**METHOD, "requests": 1}},
    "asked": {"prompt": {"given": 3, "nothing": 1}, "recall": {"nothing": 2}},
    "given": {"prompt": {"memories": 5, "in_window": 7}, "recall": {"memories": 0}},
    "works": {"night": {"done": 2, "failed": 1, "seconds": 3.5, "last_seconds": 1.25}},
    "queues": {"writes": 0, "embedding": 4}, "records": {"tasks": 10_000},
    "file_bytes": 5_000_000, "uptime_s": 3_700,
    "uptake": {"answers": 9, "given": 40, "tellable": 31, "taken_up": 12},
}  # fmt: skip
HISTORY: dict[str, Any] = {
    "days": [{"day": f"2026-03-0{n}", "added": n, "total": 10 * n} for n in range(1, 6)],
    "works": [
        {"work": "nap", "at": "2026-03-01T12:00:00Z", "seconds": 0.5, "is_success": True},
        {"work": "night", "at": "2026-03-02T03:00:00Z", "seconds": 2.5, "is_success": True},
        {"work": "nap", "at": "2026-03-02T12:00:00Z", "seconds": 0.0, "is_success": False},
    ],
}
EMPTY = {
    **METRICS,
    "methods": {},
    "asked": {},
    "given": {},
    "works": {},
    "records": {},
    "uptake": {},
}


def tags(svg: str) -> list[str]:
    """Return the names of the elements, and see that each is closed in its place."""
    opened: list[str] = []
    names: list[str] = []
    for end, name, alone in re.findall(r"<(/?)([a-z]+)(?:\s[a-zA-Z0-9-]+=\"[^\"<&]*\")*(/?)>", svg):
        if end:
            assert opened.pop() == name
            continue
        names.append(name)
        if not alone:
            opened.append(name)
    assert opened == []
    assert svg.count("<") == svg.count(">") == len(re.findall(r"<", svg))
    return names


def test_every_panel_is_drawn() -> None:
    svg = draw_svg(METRICS, HISTORY)
    elements = tags(svg)
    assert elements[0] == "svg"
    assert set(elements) <= {"svg", "rect", "g", "text", "path", "polyline", "circle"}
    assert (elements.count("g"), elements.count("polyline"), elements.count("circle")) == (5, 1, 3)
    assert elements.count("rect") == 1 + 2 * (2 + 2 + 2)
    (points,) = re.findall(r'points="([^"]*)"', svg)
    heights = [float(point.partition(",")[2]) for point in points.split()]
    assert len(heights) == 5
    assert heights == sorted(heights, reverse=True)  # more is higher
    assert "3 of 4, 5 texts" in svg
    assert "0.9 / 4.0" in svg


def test_a_name_is_text_and_nothing_is_fetched() -> None:
    svg = draw_svg(METRICS, HISTORY)
    assert "&lt;script&gt;" in svg
    assert not re.search(r"<script|href|url\(|<!|http(?!://www\.w3\.org/2000/svg)", svg)


@pytest.mark.parametrize("days", [[], [{"day": "2026-03-01", "added": 0, "total": 0}]])
def test_a_store_that_is_new_has_five_empty_panels(days: list[Any]) -> None:
    svg = draw_svg(EMPTY, {"days": days, "works": []})
    tags(svg)
    assert svg.count("nothing yet") == 5


@pytest.mark.parametrize("seconds", [0.0, 5.0])
def test_one_value_is_no_division_by_nothing(seconds: float) -> None:
    work = {**HISTORY["works"][0], "seconds": seconds}
    day = [{"day": "2026-03-01", "added": 1, "total": 1}]
    fast = {"methods": {"system.hello": {**METHOD, "p50_us": 0, "p95_us": 0}}}
    tags(draw_svg({**EMPTY, **fast}, {"days": day, "works": [work]}))


def test_a_person_reads_what_was_counted() -> None:
    output = "\n".join(lines(METRICS, HISTORY))
    for part in (
        "memories:   50, 15 of them from the last 5 days; 5.0 MB",
        "waiting:    writes 0, embedding 4",
        "records:    tasks 10,000",
        "since the daemon started, 1:01:40 ago:",
        "prompts:  4, 3 with results: 5 memories, 7 in window",
        "nights:   2, 1 failed, 3.5 s in total, the last one 1.2 s",
    ):
        assert part in output
    work = {"done": 1.0, "failed": 0.0, "seconds": 2.0, "last_seconds": 2.0}
    compressions = lines({**METRICS, "works": {"compress": work}}, HISTORY)
    assert "  compressions: 1, 0 failed" in "\n".join(compressions)
    row = next(line for line in output.splitlines() if "memory.recall" in line)
    assert row.split() == ["memory.recall", "3", "1", "0.9", "4.0", "9.0"]
    assert "method" not in "\n".join(lines(EMPTY, HISTORY))


def test_a_person_reads_what_was_taken_up_as_an_estimate() -> None:
    expected = "  answers:  9 to prompts with memories: 40 given, 12 of 31 measurable ones used"
    assert f"{expected} (estimated)" in lines(METRICS, HISTORY)
    assert not [line for line in lines(EMPTY, HISTORY) if "measurable" in line]
