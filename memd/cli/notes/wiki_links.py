"""Wiki links and inline tags of Obsidian and basic-memory. Pure.

A link is replaced by its words, so that it can be searched and quoted; an inline tag becomes a
tag of its section. Code is left unchanged: ``[[ -f x ]]`` is shell.
"""

from __future__ import annotations

import re

from memd.base.limits import NAME_CHARS_MAX, TAGS_MAX
from memd.cli.notes.sections import code_lines

_LINK = re.compile(r"!?\[\[(?! )([^\[\]|\n]{1,300})(?:\|([^\[\]\n]{1,300}))?\]\]")
_BLOCK_NAME = re.compile(r"(?<=\S) \^[\w-]{1,100}$")
_TAG = re.compile(r"(?<!\S)#([^\W\d_][\w/-]{0,199})")
_COLOUR = re.compile(r"[0-9a-fA-F]{3}(?:[0-9a-fA-F]{3})?")
_CODE = re.compile(r"(`+)[^`\n]{1,1000}\1(?!`)")


def read_links(text: str) -> str:
    """Replace the links in *text* by their words, and remove block names.

    >>> read_links("See [[notes/Ledger#Design]], [[PostgreSQL 16|Postgres]]. ^b1")
    'See Ledger > Design, Postgres (PostgreSQL 16).'
    """
    if "[[" not in text and " ^" not in text:
        return text
    lines = text.split("\n")
    code = code_lines(lines)
    return "\n".join(
        line if number in code else _BLOCK_NAME.sub("", _outside_code(line))
        for number, line in enumerate(lines)
    )


def inline_tags(text: str) -> tuple[str, ...]:
    """Return the inline tags in *text*, without duplicates and colours.

    >>> inline_tags("Paid late #invoices #finance/ledger, shown in #ff8800; issue #12.")
    ('invoices', 'finance/ledger')
    """
    if "#" not in text:
        return ()
    lines = text.split("\n")
    code = code_lines(lines)
    plain = (_CODE.sub("", line) for number, line in enumerate(lines) if number not in code)
    matches = (match[1].rstrip("-/") for line in plain for match in _TAG.finditer(line))
    tags = (tag for tag in matches if not _COLOUR.fullmatch(tag) and len(tag) <= NAME_CHARS_MAX)
    return tuple(dict.fromkeys(tags))[:TAGS_MAX]


def _outside_code(line: str) -> str:
    if "[[" not in line:
        return line
    parts: list[str] = []
    end = 0
    for code in _CODE.finditer(line):
        parts += [_LINK.sub(_words, line[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*parts, _LINK.sub(_words, line[end:])])


def _words(link: re.Match[str]) -> str:
    """Return the words of a link: its label followed by its target, or its target."""
    page, _, heading = link[1].partition("#")
    name = page.rsplit("/", 1)[-1].strip()
    heading = "" if heading.startswith("^") else heading.replace("#", " > ").strip()
    target = " > ".join(part for part in (name, heading) if part)
    label = (link[2] or "").strip()
    if not label or not target or label.casefold() == target.casefold():
        return label or target or link[0]
    return f"{label} ({target})"
