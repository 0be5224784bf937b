"""The concrete things of a text that a session may need again: paths, symbols, numbers, errors.

The benches' own rules, apart from those of the product: a figure must not be
measured with the ruler that made it. Line numbers in the margin of a listing
are how a tool displays a file; nobody refers to them as they stand there.
"""

from __future__ import annotations

import re

KINDS = ("paths", "symbols", "numbers", "errors")

_MARGIN = re.compile(r"^[^\S\n]*\d+(?:→|\t|:|-)", re.MULTILINE)
_ENDINGS = (
    "c cfg css db go h html ini js json jsonl lock log md mod py rb rs sh sql toml ts tsx txt yml"
    " yaml"
)
_PATH = re.compile(
    rf"(?<![\w@:/.-])(?:~|\.{{1,2}})?(?:/?[\w@.+-]+)?(?:/[\w@.+-]+)+"
    rf"|(?<![\w/.-])[\w-]+(?:\.[\w-]+)*\.(?:{'|'.join(_ENDINGS.split())})\b"
)
_ERRNO = (
    "ACCES|ADDRINUSE|AGAIN|BUSY|CONNREFUSED|CONNRESET|EXIST|INVAL|ISDIR|NOENT|NOSPC|PERM|PIPE"
    "|TIMEDOUT"
)
_ERROR = re.compile(rf"\b(?:[A-Z][A-Za-z]*(?:Error|Exception|Warning)|E(?:{_ERRNO}))\b")
_SYMBOL = re.compile(
    r"\b(?:[A-Za-z]\w*_\w+"  # snake_case, CONSTANT_CASE
    r"|[a-z]+[a-z0-9]*[A-Z]\w*|[A-Z][a-z0-9]+[A-Z]\w*"  # camelCase, PascalCase
    r"|[A-Za-z_]\w+(?=\())"  # call(
)
_NUMBER = re.compile(r"(?<![\w.-])\d{3,}(?![\w-])")


def things(text: str) -> dict[str, set[str]]:
    """Return the things in *text* by kind; a path's parts are not symbols too.

    >>> things("ValueError in src/app.py at parse_line(4711)")["symbols"]
    {'parse_line'}
    """
    text = _MARGIN.sub("", text)
    paths = {path.rstrip(".-") for path in _PATH.findall(text)}
    rest = _PATH.sub(" ", text)
    errors = set(_ERROR.findall(rest))
    return {
        "paths": {path for path in paths if _is_path(path)},
        "symbols": set(_SYMBOL.findall(rest)) - errors,
        "numbers": set(_NUMBER.findall(rest)),
        "errors": errors,
    }


def _is_path(path: str) -> bool:
    """Tell src/app.py and /opt from "either/or": an ending, two slashes, or a root."""
    return "." in path or path.count("/") > 1 or path[0] in "/~"
