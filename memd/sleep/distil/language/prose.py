"""What an agent wrote, sentence by sentence, without its Markdown. Pure.

Code, headings, rows of tables and quotations say nothing that stands for itself. A
line that ends in a colon is told with the list below it, where both are short.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from memd.sleep.distil.language.phrases import HANGING
from memd.text.alternations import Phrases
from memd.text.languages import FUNCTION_WORDS
from memd.text.words import is_inside

READ_MAX = 4096
"""So many texts and sentences are read once, whoever asks how they read."""
PROSE_CHARS_MAX = 40_000  # of one text; its end is read, where it says how things stand
SENTENCE_CHARS_MAX = 300
_ITEMS_MAX = 5
_GAP = 2  # lines between a lead and its list
_CUT_CHARS_MIN = 80
_THING_CHARS_MAX = 120  # of a name; what goes on behind it is read no further

FENCES = ("```", "~~~")
"""What the lines around a block of code begin with."""
HEADLINE = re.compile(r"(#{1,6})\s+(.+)")
"""A marked heading: its level and its text."""
_NO_PROSE = ("#", "|", ">", "<", "---", "===", "***", "$ ", "+-")
_ITEM = re.compile(r"(?:(?:[-*+•\u2013]|\(?\d{1,3}[.)]|\[[ xX]\])\s+)+")
CHECKBOX = re.compile(r"\s*(?:(?:[-*+•]|\d{1,3}[.)])\s+)?\[[ xX-]\]\s")
"""An item of a list of tasks."""
_DONE_BOX = re.compile(r"\s*(?:[-*+•]\s+)?\[[xX-]\]\s")
_TASKS = re.compile(r"#{1,6}\s+(?:Updated )?To-?do(?:s| list)\b", re.IGNORECASE)
_NUMBERED = re.compile(r"^\(\d{1,3}\)\s*[^\w\s`\"'(\[{<~./$@#*_&-]*\s*")
_BOLD_LEAD = re.compile(r"\*\*([^*\n]{3,80})\*\*")
_SYMBOLS = re.compile(r"(?:[^\w\s`\"'(\[{<~./$@#*_&-]+\s*)+")
_LINK = re.compile(r"!?\[([^\]\[\n]{1,200})\]\([^()\s]{1,300}\)")
_LEANING = re.compile(r"(?<![\w*_])([*_])([A-Za-z][A-Za-z' ,-]{0,80})\1(?![\w*_])")
_END = re.compile(
    r"(?<=[.!?])[)\"'*]*\s+(?=[\"'(`*]*[^\W\d_a-z]|[`\"'(\d])|(?<=[\u3002\uff01\uff1f])"
)
_SHORTENED = re.compile(r"(?:\b(?:e\.g|i\.e|vs|etc|cf|approx|no|fig)|\b[A-Z])\.$", re.IGNORECASE)
_CODE_SIGNS = re.compile(r"[{}\[\]<>=|;$&#@\\_^~%\"+]|\w\(|\)\.")
_CODE_SHARE = 0.12
_CODE_CHARS = 40
# What a test, a linter or a shell prints, and lines that only code has.
_PRINTED_LINE = Phrases(
    r"(?:FAILED|PASSED|ERROR|SKIPPED|XFAIL)\s+\S+(?:::|\.\w)|E\s{2,}\S"
    r"|[^\s:]{1,200}(?:::?[^\s:]{1,200}){0,9}::[^\s:]\S{0,200}\s+[A-Z]{4,}\b"
    r"|platform \w+ -- |(?:rootdir|cachedir|configfile|plugins): |collected \d+ items?\b"
    r"|\d+:\d+\s+(?:error|warning)\s|File \".*\", line \d+|={4,}|_{4,}"
    r"|from \S+ import\b|import [\w.]+(?: as \w+)?;?$|(?:async )?def \w+\(|class \w+[(:]"
    r"|@[\w.]+\(.*\)$|[\w.]+\((?:[^()]|\([^()]*\))*\);?$",
    0,
)
_STATEMENT = Phrases(
    r"(?:return|raise|yield|await|assert|del|elif|except|with|for|if|while|const|let|var|export"
    r"|print|self|function|public|private|data|result|\w+ = )\b",
    0,
)
_STATEMENT_SIGNS = 3
_COMMAND = Phrases(
    r"(?:cd|pip3?|npm|npx|pnpm|yarn|git|docker|python3?|curl|sudo|mkdir|chmod|ssh|brew|cargo"
    r"|kubectl|terraform|poetry|test -\w|echo) (?!\S+:? [A-Z])[^`]*[^.`:]$",
    0,
)
_WIDTH = 76  # columns from which a terminal's line may go on in the next one
_HEADING = re.compile(r"#{1,6}\s")
_CODE = re.compile(r"`([^`\n]{1,120})`")
_THING = re.compile(
    r"""
    https?://\S+ | ~?/?[\w.@-]+(?:/[\w.@*-]+)+/? | --?[a-z][\w-]+ | \w+(?:\.\w+)*\(\)
    | \b[a-z]+[A-Z]\w* | \b[A-Z][a-z0-9]+[A-Z]\w* | \b[a-z0-9]+_\w+ | \b[A-Z][A-Z0-9_]{2,}\b
    | (?<!\w)\.?[\w-]+\.[a-z]{1,5}\b
    | (?<!\w)\.[a-z][\w-]{2,} | \bv?\d+(?:\.\d+)+ | \bv\d+\b | \#\d+ | :\d{2,5}\b | \b\d{2,}\b
    """,
    re.VERBOSE,
)


class Sentence(NamedTuple):
    """A sentence as it can be told, and as it was written."""

    text: str
    source: str

    @property
    def things(self) -> frozenset[str]:
        """What it names."""
        return things(self.source)


@lru_cache(maxsize=READ_MAX)
def sentences(text: str) -> tuple[Sentence, ...]:
    r"""Return the sentences of an agent's *text* in order, none over SENTENCE_CHARS_MAX.

    >>> [each.text for each in sentences("## Done\n- **Port** is `8080`. It was 80.")]
    ['Port is 8080.', 'It was 80.']
    """
    return tuple(
        Sentence(_NUMBERED.sub("", plain(piece)), piece)
        for line in _lines(read_end(text))
        for piece in _pieces(line)
    )


def read_end(text: str) -> str:
    r"""Return the last PROSE_CHARS_MAX characters of *text*, from a line on; in code, they say so.

    >>> cut = read_end("```\n" + "x = 1\n" * 9_000 + "```\nThe end.")
    >>> cut[:10], cut[-12:]
    ('```\nx = 1\n', '```\nThe end.')
    """
    if len(text) <= PROSE_CHARS_MAX:
        return text
    begin = text.find("\n", len(text) - PROSE_CHARS_MAX) + 1
    fence = ""
    for line in map(str.strip, text[:begin].splitlines()):
        if line.startswith(FENCES):
            fence = "" if line.startswith(fence or "\0") else (fence or line[:3])
    return f"{fence}\n{text[begin:]}" if fence else text[begin:]


@lru_cache(maxsize=READ_MAX)
def things(text: str) -> frozenset[str]:
    """Return what *text* names: code, paths, options, addresses, versions, numbers."""
    code = _CODE.findall(text)
    for word in text.split():
        if not (word.isalpha() and word[1:].islower()):
            code += _THING.findall(word[:_THING_CHARS_MAX])
    return frozenset(code)


def is_code(source: str) -> bool:
    """Return whether a line is code, though nothing marks it as such.

    >>> is_code('.index("by_user", ["user_id"]).index("by_page", ["page_id"])')
    True
    >>> is_code("`Cache(path)[key]` opens `store.db` (once), because `len(rows) == 0`")
    False
    """
    rest = _THING.sub("", _CODE.sub("", source))
    return len(_CODE_SIGNS.findall(rest)) > _CODE_SHARE * max(len(rest), _CODE_CHARS)


def is_printed_line(line: str) -> bool:
    """Return whether a line, without its margin, is a program's or of one, whatever is around it.

    >>> is_printed_line("FAILED tests/test_a.py::test_b - Failed: DID NOT RAISE <class")
    True
    >>> is_printed_line("return {c.name: getattr(data, c.name) for c in columns}")
    True
    >>> is_printed_line("return the rows (as they were) to the page")
    False
    """
    if _PRINTED_LINE.match(line):
        return True
    signs = _CODE_SIGNS.findall(_CODE.sub("", line)) if _STATEMENT.match(line) else []
    if len(signs) >= _STATEMENT_SIGNS:
        return True
    words = line.split()
    return _COMMAND.match(line) is not None and not FUNCTION_WORDS.intersection(words[1:])


def plain(text: str) -> str:
    """Return *text* without the marks of Markdown, in one line, with apostrophes of one kind.

    >>> plain("**Set** `A=1`, see [the page](https://example.org)"), plain("**`x ** 2`**")
    ('Set A=1, see the page', 'x ** 2')
    """
    parts = _LINK.sub(r"\1", text).replace("\u2019", "'").split("`")
    # Every second part is code, in which nothing is a mark.
    parts[::2] = [_LEANING.sub(r"\2", part.replace("**", "")) for part in parts[::2]]
    return " ".join("".join(parts).split())


def _lines(text: str) -> Iterator[str]:
    """Yield the lines that are prose, an item of a list without its mark; a lead with its items."""
    lines = list(_prose(text))
    for at, (number, is_item, line) in enumerate(lines):
        if not line.endswith(":"):
            yield line
            continue
        below = [] if is_item else _below(lines[at + 1 : at + 2 + _ITEMS_MAX], number)
        leads = [bold[1] for each in below if (bold := _BOLD_LEAD.match(each)) and " " in bold[1]]
        wholes = (
            f"{line} {'; '.join(items)}." for items in (below, leads) if len(items) == len(below)
        )
        short = [whole for whole in wholes if below and len(whole) <= SENTENCE_CHARS_MAX]
        yield short[0] if short else _end_lead(line.rstrip(" :*"))


def _end_lead(lead: str) -> str:
    """Return *lead* as it is told without its list.

    Where it hangs and names nothing it loses its last sentence: "The next steps are".
    """
    if lead.rpartition(" ")[2].casefold() not in HANGING:
        return f"{lead}."
    ends = list(_END.finditer(lead))
    last = lead[ends[-1].start() :] if ends else lead
    return f"{lead} …" if things(last) else lead.removesuffix(last)


def _below(lines: Sequence[tuple[int, bool, str]], number: int) -> list[str]:
    """Return the items of the short list below line *number*, none where it is longer."""
    items: list[str] = []
    for _, is_item, text in lines:
        if not is_item:
            break
        items.append(text.rstrip(".;,"))
    near = bool(items) and lines[0][0] - number <= _GAP
    return items if near and len(items) <= _ITEMS_MAX else []


def _prose(text: str) -> Iterator[tuple[int, bool, str]]:
    """Yield number, whether it is an item of a list, and text of each line that is prose."""
    open_line: tuple[int, bool, str] | None = None
    for number, line in enumerate(_prose_lines(text.splitlines())):
        item = _ITEM.match(line)
        if open_line is not None and line and not item and _goes_on(open_line, line):
            open_line = (open_line[0], open_line[1], f"{open_line[2]} {line}")
            continue
        if open_line is not None:
            yield open_line
        rest = line[item.end() :] if item else line
        rest = _SYMBOLS.sub("", rest, count=1) if _SYMBOLS.match(rest) else rest
        open_line = (number, item is not None, rest) if rest and not _HEADING.match(rest) else None
    if open_line is not None:
        yield open_line


def _prose_lines(lines: Sequence[str]) -> Iterator[str]:
    """Yield *lines* without their margins, "" for each that is no prose: code, tables, tasks.

    What a terminal wrapped belongs to the printed line before.
    """
    fence, of_tasks, wraps = "", False, False
    for raw in lines:
        line = raw.strip()
        if line.startswith(FENCES):
            fence = "" if line.startswith(fence or "\0") else (fence or line[:3])
            line = ""
        is_box = CHECKBOX.match(line) is not None
        of_tasks = bool(_TASKS.match(line)) or (of_tasks and (not line or is_box))
        is_mark = line.startswith(_NO_PROSE) and not line.startswith("**")
        is_printed = is_printed_line(line) or (wraps and not _ITEM.match(line))
        wraps = is_printed and len(raw) >= _WIDTH
        is_none = fence or is_mark or of_tasks or _DONE_BOX.match(line) or is_printed
        yield "" if is_none else line


def _goes_on(line: tuple[int, bool, str], following: str) -> bool:
    last = line[2].rpartition(" ")[2].casefold()
    return (following[0].islower() or last in HANGING) and _is_open(line)


def _is_open(line: tuple[int, bool, str]) -> bool:
    return (
        not line[2].endswith((".", "!", "?", ":", ";", "|")) and len(line[2]) <= SENTENCE_CHARS_MAX
    )


def _pieces(line: str) -> Iterator[str]:
    """Yield the sentences of a line; one that is too long ends where a clause does."""
    whole = ""
    pieces = _END.split(line)
    for piece, following in zip(pieces, [*pieces[1:], ""], strict=True):
        whole = f"{whole} {piece}".strip() if whole else piece.strip()
        if _SHORTENED.search(whole[-8:]) or is_inside(whole, following):
            continue
        if whole:
            yield _cut(whole)
        whole = ""
    if whole:
        yield _cut(whole)


def _cut(text: str) -> str:
    if len(text) <= SENTENCE_CHARS_MAX:
        return text
    head = text[:SENTENCE_CHARS_MAX]
    end = max(head.rfind(mark) for mark in ("; ", " — ", " \u2013 ", " (", ", "))
    return head[:end] if end >= _CUT_CHARS_MIN else head[: head.rfind(" ")] + " …"
