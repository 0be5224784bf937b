"""JSON by the C functions that Python's ``json`` is made of, without what is around them.

``json`` compiles its patterns when it is loaded: a third of what a hook takes. Where another
Python has these functions in another shape, it is ``json`` itself. Standard library only.
"""

from __future__ import annotations

TYPE_CHECKING = False  # that of typing is loaded with the patterns, too
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_SPACE = " \t\n\r"
_BOM = b"\xef\xbb\xbf"


def loads(text: bytes | bytearray | str) -> Any:
    r"""Return what *text*, in UTF-8, says; raises ValueError, RecursionError when too deep.

    >>> loads(b' {"a": [1, 2.5, null, "\\u00e9"]}\n'), loads("1")
    ({'a': [1, 2.5, None, 'é']}, 1)
    """
    string = text if isinstance(text, str) else text.removeprefix(_BOM).decode()
    begin = len(string) - len(string.lstrip(_SPACE))
    try:
        value, end = _scan(string, begin)
    except (StopIteration, SystemError):
        # The latter from a Python that looks for the error in json and does not load it.
        raise ValueError("this is not JSON") from None
    if string[end:].strip(_SPACE):
        raise ValueError("something stands behind the JSON")
    return value


def dumps(value: object) -> str:
    r"""Return *value* as JSON in ASCII, without spaces; raises TypeError for what has none.

    >>> dumps({"a": [1, None, "é"]})
    '{"a":[1,null,"\\u00e9"]}'
    """
    return "".join(_encode(value))


def _loaded() -> tuple[Callable[[str, int], tuple[Any, int]], Callable[[object], Any]]:
    """Return what reads a value from a place on, and what writes one in pieces."""
    try:
        import _json

        known: Any = _json
        encode = known.make_encoder(
            None, _refuse, known.encode_basestring_ascii, None, ":", ",", False, False, True
        )  # fmt: skip
        scan: Any = known.make_scanner(_Context)

        def pieces(value: object) -> Any:
            return encode(value, 0)

        if scan('{"a": [1]}', 0) == ({"a": [1]}, 10) and "".join(pieces("a")) == '"a"':
            return scan, pieces
    except (ImportError, AttributeError, TypeError):
        pass
    import json

    decoder: Any = json.JSONDecoder()
    return decoder.scan_once, json.JSONEncoder(separators=(",", ":")).iterencode


class _Context:
    """What the scanner asks for: values as ``json`` reads them."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float


def _refuse(value: object) -> object:
    raise TypeError(f"no JSON for a {type(value).__name__}")


_scan, _encode = _loaded()
