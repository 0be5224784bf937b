"""Find lists under a heading in a long answer, such as issues, improvements or next steps. Pure.

Reviews, audits and reports end in such a list, and the next session asks for the items that nobody
did. Only the titles of the items are returned, without their explanations.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from memd.sleep.distil.language.phrases import PRINTED
from memd.sleep.distil.language.prose import CHECKBOX, FENCES, HEADLINE, plain, read_end
from memd.text.alternations import Phrases

_TITLE_CHARS_MAX = 130
_TITLE_WORDS_MIN = 3
_PRINTED_CHARS = 300  # the beginning of an item, checked for output of a program
_TITLES_MIN, _TITLES_MAX = 2, 8
_LEAD_CHARS_MAX = 80  # of a line that ends with a colon and introduces a list
_BOLD_LEVEL = 7  # of a heading that is a line in bold; Markdown's levels end at 6

# Headings of lists that are worth keeping, the best kind first.
_HEADINGS = tuple(
    Phrases(rf"\b(?:{names})\b")
    for names in (
        r"top \d+|top (?:\w+ )?(?:issues|improvements|priorities|findings)|most important"
        r"|critical|must fix|key (?:issues|findings|problems)|blockers",
        r"issues|improvements|findings|problems|concerns|bugs|risks|remaining|still open|left to do"
        r"|next steps|open (?:questions|items|issues|points)|todos?|follow-?ups?"
        r"|not (?:done|addressed)",
        r"recommend(?:ations|ed)|suggest(?:ions|ed)|gaps|missing|limitations|caveats",
    )
)
_BOLD_LINE = re.compile(r"\*\*([^*\n]{3,200})\*\*:?")
_NUMBERED = re.compile(r"(?:\*\*)?\(?\d{1,2}[.):]\s+(?:\*\*)?")
_ITEM = re.compile(r"(?:[-*+•]|\(?\d{1,3}[.)])\s+")
_BOLD_LEAD = re.compile(r"\*\*(.{3,200}?)\*\*")
_CLAUSE = re.compile(r"\s[—\u2013-]\s|[.;:]\s|[.:]$")
_FINE = re.compile(
    r"\W*(?:\(\d+\)\s*)?(?:✅|good\b|none\b|no (?:issues|findings)\b)", re.IGNORECASE
)


class TitleList(NamedTuple):
    """A heading and the titles of its items, in order, with their places in the list from 1 on."""

    heading: str
    titles: tuple[str, ...]
    places: tuple[int, ...]


def find_lists(text: str, is_heading: Callable[[str], bool]) -> list[TitleList]:
    r"""Return the lists of *text* whose heading *is_heading* accepts, in order.

    >>> find_lists("**Rest:**\n- Sign the release files\n", lambda text: text.startswith("Rest"))
    [TitleList(heading='Rest', titles=('Sign the release files',), places=(1,))]
    """
    return [section for section in _sections(text, is_heading) if section.titles]


def find_list(text: str) -> TitleList | None:
    r"""Return the list of *text* with the best kind of heading, None if there is no list.

    >>> find_list("## Next steps\n1. **Cache the index** first\n2. Good\n3. Drop the `v1` routes")
    TitleList(heading='Next steps', titles=('Cache the index', 'Drop the v1 routes'), places=(1, 3))
    """
    sections = [
        section for section in _sections(text, _is_ranked) if len(section.titles) >= _TITLES_MIN
    ]
    # A heading that is accepted with its markup may have no rank without it.
    ranked = [
        (rank, at) for at, section in enumerate(sections) if (rank := _rank(section.heading)) >= 0
    ]
    return sections[min(ranked)[1]] if ranked else None


def _rank(heading: str) -> int:
    """Return the index of the kind of a heading in ``_HEADINGS``, -1 for any other heading."""
    return next((at for at, names in enumerate(_HEADINGS) if names.search(heading)), -1)


def _is_ranked(heading: str) -> bool:
    return _rank(heading) >= 0


def _sections(text: str, is_heading: Callable[[str], bool]) -> list[TitleList]:
    """Return each heading that *is_heading* accepts with the titles below it."""
    lists: list[TitleList] = []
    heading, depth, style = "", 0, ""
    titles: dict[int, str] = {}
    items = 0
    fenced = False
    for raw in read_end(text).splitlines():
        line = raw.strip()
        if line.startswith(FENCES):
            fenced = not fenced
            continue
        if fenced or not line:
            continue
        if CHECKBOX.match(line):
            heading = ""  # a task list: its boxes are read by ``open_points``
            continue
        marked, level = _heading(line)
        numbered = bool(_NUMBERED.match(marked)) and bool(heading)
        if marked and not numbered and (level <= depth or is_heading(marked) or not heading):
            lists.append(TitleList(heading, tuple(titles.values()), tuple(titles)))
            heading = plain(marked).rstrip(" :.") if is_heading(marked) else ""
            depth, style, titles, items = level, "", {}, 0
            continue
        line_style = "heading" if numbered else _style(raw)
        # The first item sets the style of the list; items of another style explain one of them.
        style = style or line_style
        if heading and line_style and line_style == style and len(titles) < _TITLES_MAX:
            items += 1
            if title := _title(marked or line):
                titles[items] = title
    lists.append(TitleList(heading, tuple(titles.values()), tuple(titles)))
    return [section for section in lists if section.heading]


def _heading(line: str) -> tuple[str, int]:
    """Return the text and level of a heading, ("", 0) for any other line.

    A line in bold is below the levels of Markdown, and a line that ends with a colon below that.
    """
    heading = HEADLINE.match(line)
    if heading:
        return heading[2], len(heading[1])
    bold = _BOLD_LINE.fullmatch(line)
    if bold:
        return bold[1], _BOLD_LEVEL
    lead = line.endswith(":") and len(line) <= _LEAD_CHARS_MAX and not _ITEM.match(line)
    return (line, _BOLD_LEVEL + 1) if lead else ("", 0)


def _style(raw: str) -> str:
    """Return the kind of list item that *raw* is, "" for any other line and for nested items."""
    if raw[:1].isspace() or not _ITEM.match(raw):
        return ""
    return "number" if _NUMBERED.match(raw) else "bullet"


def _title(line: str) -> str:
    """Return the title of a heading or item.

    It is "" for output of a program, for "no issues" and for fewer than three words.
    """
    numbered = _NUMBERED.match(line)
    item = numbered or _ITEM.match(line)
    text = line[item.end() :] if item else line
    if numbered and numbered[0].endswith("**"):
        text = f"**{text}"
    bold = _BOLD_LEAD.match(text)
    named = bold[1] if bold else text
    if _FINE.match(text) or PRINTED.search(named[:_PRINTED_CHARS]):
        return ""
    title = plain(named).rstrip(" .:;,*")
    if bold and len(title.split()) < _TITLE_WORDS_MIN:
        title = plain(text)
    if len(title) > _TITLE_CHARS_MAX:
        clause = _CLAUSE.search(title, 20, _TITLE_CHARS_MAX)
        title = title[: clause.start()] if clause else title[:_TITLE_CHARS_MAX].rpartition(" ")[0]
    title = title.rstrip(" .:;,*")
    return title if len(title.split()) >= _TITLE_WORDS_MIN else ""
