"""Split an agent's Markdown text into plain sentences. Pure.

Code, headings, tables, quotations and task lists are left out. A line that ends with a colon is
joined with the list below it if the result is short.
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
"""Size of the caches of parsed texts and sentences, which several steps of a nap read."""
PROSE_CHARS_MAX = 40_000  # of one text; the end is read, because it has the conclusions
SENTENCE_CHARS_MAX = 300
_ITEMS_MAX = 5  # of a list that is joined with its lead
_GAP = 2  # lines between a lead and its list
_CUT_CHARS_MIN = 80  # left of a sentence that is cut at a clause
_THING_CHARS_MAX = 120  # read of one word, to bound the matching time

FENCES = ("```", "~~~")
"""What opens and closes a block of code."""
HEADLINE = re.compile(r"(#{1,6})\s+(.+)")
"""A Markdown heading; the groups are its level and its text."""
# Starts of headings, tables, quotations, tags, rules and shell commands.
_NO_PROSE = ("#", "|", ">", "<", "---", "===", "***", "$ ", "+-")
_ITEM = re.compile(r"(?:(?:[-*+•\u2013]|\(?\d{1,3}[.)]|\[[ xX]\])\s+)+")
CHECKBOX = re.compile(r"\s*(?:(?:[-*+•]|\d{1,3}[.)])\s+)?\[[ xX-]\]\s")
"""An item of a task list, "- [ ] ..."."""
_DONE_BOX = re.compile(r"\s*(?:[-*+•]\s+)?\[[xX-]\]\s")
# A heading of a to-do list.
_TASKS = re.compile(r"#{1,6}\s+(?:Updated )?To-?do(?:s| list)\b", re.IGNORECASE)
# "(2) " and symbols in front of a sentence.
_NUMBERED = re.compile(r"^\(\d{1,3}\)\s*[^\w\s`\"'(\[{<~./$@#*_&-]*\s*")
_BOLD_LEAD = re.compile(r"\*\*([^*\n]{3,80})\*\*")
# Pictograms and bullets in front of a text.
_SYMBOLS = re.compile(r"(?:[^\w\s`\"'(\[{<~./$@#*_&-]+\s*)+")
_LINK = re.compile(r"!?\[([^\]\[\n]{1,200})\]\([^()\s]{1,300}\)")
# "*italic*", "_italic_"
_ITALIC = re.compile(r"(?<![\w*_])([*_])([A-Za-z][A-Za-z' ,-]{0,80})\1(?![\w*_])")
# The gap after a sentence: before a capital, code, a bracket or a digit; or a CJK full stop.
_END = re.compile(
    r"(?<=[.!?])[)\"'*]*\s+(?=[\"'(`*]*[^\W\d_a-z]|[`\"'(\d])|(?<=[\u3002\uff01\uff1f])"
)
# An abbreviation or an initial, which does not end a sentence: "e.g.", "J."
_ABBREVIATED = re.compile(r"(?:\b(?:e\.g|i\.e|vs|etc|cf|approx|no|fig)|\b[A-Z])\.$", re.IGNORECASE)
_CODE_SIGNS = re.compile(r"[{}\[\]<>=|;$&#@\\_^~%\"+]|\w\(|\)\.")
_CODE_SHARE = 0.12  # of symbols in a line of code
_CODE_CHARS = 40  # a shorter line counts as this long, so that few symbols do not make it code
# Output of test runners and linters ("FAILED tests/a.py"), and code ("def f(", "@app.get(...)").
_PRINTED_LINE = Phrases(
    r"(?:FAILED|PASSED|ERROR|SKIPPED|XFAIL)\s+\S+(?:::|\.\w)|E\s{2,}\S"
    r"|[^\s:]{1,200}(?:::?[^\s:]{1,200}){0,9}::[^\s:]\S{0,200}\s+[A-Z]{4,}\b"
    r"|platform \w+ -- |(?:rootdir|cachedir|configfile|plugins): |collected \d+ items?\b"
    r"|\d+:\d+\s+(?:error|warning)\s|File \".*\", line \d+|={4,}|_{4,}"
    r"|from \S+ import\b|import [\w.]+(?: as \w+)?;?$|(?:async )?def \w+\(|class \w+[(:]"
    r"|@[\w.]+\(.*\)$|[\w.]+\((?:[^()]|\([^()]*\))*\);?$",
    0,
)
# Starts like a statement of code; enough symbols must confirm it.
_STATEMENT = Phrases(
    r"(?:return|raise|yield|await|assert|del|elif|except|with|for|if|while|const|let|var|export"
    r"|print|self|function|public|private|data|result|\w+ = )\b",
    0,
)
_STATEMENT_SIGNS = 3  # symbols that make such a line code
# A shell command: "git push origin main".
_COMMAND = Phrases(
    r"(?:cd|pip3?|npm|npx|pnpm|yarn|git|docker|python3?|curl|sudo|mkdir|chmod|ssh|brew|cargo"
    r"|kubectl|terraform|poetry|test -\w|echo) (?!\S+:? [A-Z])[^`]*[^.`:]$",
    0,
)
_WIDTH = 76  # columns from which a terminal may have wrapped a line
_HEADING = re.compile(r"#{1,6}\s")
_CODE = re.compile(r"`([^`\n]{1,120})`")
# A name: URL, path, option, call, identifier, file, version, "#12", ":8080", number.
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
    """A sentence as plain *text*, and the Markdown *source* it came from."""

    text: str
    source: str

    @property
    def things(self) -> frozenset[str]:
        """The names in the sentence, see ``things``."""
        return things(self.source)


@lru_cache(maxsize=READ_MAX)
def sentences(text: str) -> tuple[Sentence, ...]:
    r"""Return the sentences of an agent's *text* in order, none over SENTENCE_CHARS_MAX.

    >>> [sentence.text for sentence in sentences("## Done\n- **Port** is `8080`. It was 80.")]
    ['Port is 8080.', 'It was 80.']
    """
    return tuple(
        Sentence(_NUMBERED.sub("", plain(piece)), piece)
        for line in _lines(read_end(text))
        for piece in _pieces(line)
    )


def read_end(text: str) -> str:
    r"""Return the last PROSE_CHARS_MAX characters of *text*, from the start of a line.

    If they begin inside a code block, its fence is put in front.

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
    """Return the names in *text*: code, paths, options, addresses, versions, numbers."""
    code = _CODE.findall(text)
    for word in text.split():
        if not (word.isalpha() and word[1:].islower()):
            code += _THING.findall(word[:_THING_CHARS_MAX])
    return frozenset(code)


def is_code(source: str) -> bool:
    """Return whether a line is code, by its share of symbols outside names and backticks.

    >>> is_code('.index("by_user", ["user_id"]).index("by_page", ["page_id"])')
    True
    >>> is_code("`Cache(path)[key]` opens `store.db` (once), because `len(rows) == 0`")
    False
    """
    text = _THING.sub("", _CODE.sub("", source))
    return len(_CODE_SIGNS.findall(text)) > _CODE_SHARE * max(len(text), _CODE_CHARS)


def is_printed_line(line: str) -> bool:
    """Return whether a stripped line is program output, code or a command.

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
    """Return *text* without Markdown, in one line, with straight apostrophes.

    >>> plain("**Set** `A=1`, see [the page](https://example.org)"), plain("**`x ** 2`**")
    ('Set A=1, see the page', 'x ** 2')
    """
    parts = _LINK.sub(r"\1", text).replace("\u2019", "'").split("`")
    # Every second part is inline code, which keeps its asterisks.
    parts[::2] = [_ITALIC.sub(r"\2", part.replace("**", "")) for part in parts[::2]]
    return " ".join("".join(parts).split())


def _lines(text: str) -> Iterator[str]:
    """Yield the lines of prose, list items without their marks, and leads with their items."""
    lines = list(_prose(text))
    for index, (number, is_item, line) in enumerate(lines):
        if not line.endswith(":"):
            yield line
            continue
        below = [] if is_item else _below(lines[index + 1 : index + 2 + _ITEMS_MAX], number)
        leads = [bold[1] for item in below if (bold := _BOLD_LEAD.match(item)) and " " in bold[1]]
        # The whole items if they fit, else their bold leads.
        joined = (
            f"{line} {'; '.join(items)}." for items in (below, leads) if len(items) == len(below)
        )
        short = [text for text in joined if below and len(text) <= SENTENCE_CHARS_MAX]
        yield short[0] if short else _end_lead(line.rstrip(" :*"))


def _end_lead(lead: str) -> str:
    """Return *lead* as a sentence without its list.

    An incomplete last sentence ("The next steps are") ends with an ellipsis if it names something,
    and is dropped otherwise.
    """
    if lead.rpartition(" ")[2].casefold() not in HANGING:
        return f"{lead}."
    ends = list(_END.finditer(lead))
    last = lead[ends[-1].start() :] if ends else lead
    return f"{lead} …" if things(last) else lead.removesuffix(last)


def _below(lines: Sequence[tuple[int, bool, str]], number: int) -> list[str]:
    """Return the items of the list below line *number*, none if it is too long or too far."""
    items: list[str] = []
    for _, is_item, text in lines:
        if not is_item:
            break
        items.append(text.rstrip(".;,"))
    is_close = bool(items) and lines[0][0] - number <= _GAP
    return items if is_close and len(items) <= _ITEMS_MAX else []


def _prose(text: str) -> Iterator[tuple[int, bool, str]]:
    """Yield (line number, is list item, text) of each line of prose, wrapped lines joined."""
    open_line: tuple[int, bool, str] | None = None
    for number, line in enumerate(_prose_lines(text.splitlines())):
        item = _ITEM.match(line)
        if open_line is not None and line and not item and _continues(open_line, line):
            open_line = (open_line[0], open_line[1], f"{open_line[2]} {line}")
            continue
        if open_line is not None:
            yield open_line
        body = line[item.end() :] if item else line
        body = _SYMBOLS.sub("", body, count=1) if _SYMBOLS.match(body) else body
        open_line = (number, item is not None, body) if body and not _HEADING.match(body) else None
    if open_line is not None:
        yield open_line


def _prose_lines(lines: Sequence[str]) -> Iterator[str]:
    """Yield *lines* stripped, "" for each that is not prose: code, tables, tasks, output.

    A line after a long line of output continues it, because a terminal may have wrapped it.
    """
    fence, in_tasks, wraps = "", False, False
    for raw in lines:
        line = raw.strip()
        if line.startswith(FENCES):
            fence = "" if line.startswith(fence or "\0") else (fence or line[:3])
            line = ""
        is_box = CHECKBOX.match(line) is not None
        in_tasks = bool(_TASKS.match(line)) or (in_tasks and (not line or is_box))
        is_mark = line.startswith(_NO_PROSE) and not line.startswith("**")
        is_printed = is_printed_line(line) or (wraps and not _ITEM.match(line))
        wraps = is_printed and len(raw) >= _WIDTH
        is_skipped = fence or is_mark or in_tasks or _DONE_BOX.match(line) or is_printed
        yield "" if is_skipped else line


def _continues(line: tuple[int, bool, str], following: str) -> bool:
    """Return whether *following* continues the unfinished *line*."""
    last = line[2].rpartition(" ")[2].casefold()
    return (following[0].islower() or last in HANGING) and _is_open(line)


def _is_open(line: tuple[int, bool, str]) -> bool:
    return (
        not line[2].endswith((".", "!", "?", ":", ";", "|")) and len(line[2]) <= SENTENCE_CHARS_MAX
    )


def _pieces(line: str) -> Iterator[str]:
    """Yield the sentences of a line; one that is too long is cut, if possible at a clause."""
    sentence = ""
    pieces = _END.split(line)
    for piece, following in zip(pieces, [*pieces[1:], ""], strict=True):
        sentence = f"{sentence} {piece}".strip() if sentence else piece.strip()
        if _ABBREVIATED.search(sentence[-8:]) or is_inside(sentence, following):
            continue
        if sentence:
            yield _cut(sentence)
        sentence = ""
    if sentence:
        yield _cut(sentence)


def _cut(text: str) -> str:
    if len(text) <= SENTENCE_CHARS_MAX:
        return text
    head = text[:SENTENCE_CHARS_MAX]
    end = max(head.rfind(mark) for mark in ("; ", " — ", " \u2013 ", " (", ", "))
    return head[:end] if end >= _CUT_CHARS_MIN else head[: head.rfind(" ")] + " …"
