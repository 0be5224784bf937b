"""A life as bars: aligned as text, and a picture that nothing can break out of."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.view.timeline import TEXT_BAR_CHARS, Bar, as_svg, as_text, axis

DAY = 86_400_000_000
NOW = 20_000 * DAY
SVG = "{http://www.w3.org/2000/svg}"
LIFE = [
    Bar("the team uses Flask", "Ann", None, NOW - 10 * DAY),
    Bar("the team uses Litestar", "Bob", NOW - 10 * DAY, None),
    Bar("the team uses Django", "Bob", NOW - 5 * DAY, NOW - 4 * DAY, is_retracted=True),
]


def test_every_bar_is_as_long_as_the_axis_and_says_which_ends_are_open() -> None:
    rows = as_text(LIFE, NOW)
    assert {len(bar) for bar, _, _ in rows} == {TEXT_BAR_CHARS + 2}
    assert rows[0][0].startswith("\u2039")
    assert not rows[0][0].endswith("\u203a")
    assert rows[1][0].endswith("\u203a")
    assert "\u2591" in rows[2][0]
    # What follows begins where the other ends.
    assert rows[0][0].rindex("\u2588") + 1 == rows[1][0].index("\u2588")
    assert axis(LIFE, NOW) == ("2024-09-23", "2024-10-05")


def test_the_picture_has_a_bar_and_a_title_for_each_stretch() -> None:
    root = _read(as_svg("the team", LIFE, NOW))
    groups = root.findall(f"{SVG}g")
    assert len(groups) == 3
    titles = [group.findtext(f"{SVG}title") for group in groups]
    assert titles[0] == "the team uses Flask: Ann"


HOSTILE = [
    "</text><script>alert(1)</script>",
    '" onload="alert(1)',
    "]]><!-- &lt;",
    "<![CDATA[",
    "&#x3c;script&#x3e;",
    "a\x00b\x1b[31mred\u202ebackwards",
    "\ufffe\uffff",
    "javascript:alert(1)",
    "x" * 10_000,
]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_stays_text(name: str) -> None:
    _is_harmless(as_svg(name, [Bar(name, name, None, None)], NOW))


@given(st.text(max_size=200), st.integers(-(1 << 61), 1 << 61), st.integers(0, 1 << 61))
def test_no_text_and_no_time_breaks_the_picture(text: str, start: int, length: int) -> None:
    bars = [Bar(text, text, start, start + length), *LIFE]
    _is_harmless(as_svg(text, bars, NOW))
    assert all(len(bar) == TEXT_BAR_CHARS + 2 for bar, _, _ in as_text(bars, NOW))


def _read(document: str) -> ET.Element:
    return ET.fromstring(document)  # noqa: S314  # what memd itself has just written


def _is_harmless(document: str) -> None:
    root = _read(document)
    for element in root.iter():
        assert element.tag.removeprefix(SVG) in {"svg", "g", "rect", "text", "line", "title"}
        assert not [key for key in element.attrib if key.startswith("on") or "href" in key]
