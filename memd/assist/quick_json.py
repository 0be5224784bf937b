"""Read and write JSON with the C functions of Python's ``json``, without importing ``json``.

Importing ``json`` compiles regular expressions, which takes a third of a hook's time. The C
functions are not documented: if they behave differently in some Python, ``json`` is used.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing would load re, too
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_SPACE = " \t\n\r"
_BOM = b"\xef\xbb\xbf"


def loads(text: bytes | bytearray | str) -> Any:
    r"""Parse *text*, in UTF-8 if it is bytes. Raises ValueError, or RecursionError if too deep.

    >>> loads(b' {"a": [1, 2.5, null, "\\u00e9"]}\n'), loads("1")
    ({'a': [1, 2.5, None, 'é']}, 1)
    """
    string = text if isinstance(text, str) else text.removeprefix(_BOM).decode()
    begin = len(string) - len(string.lstrip(_SPACE))
    try:
        value, end = _scan(string, begin)
    except (StopIteration, SystemError):
        # SystemError: in some versions the scanner needs json's error class, which is not loaded.
        raise ValueError("this is not JSON") from None
    if string[end:].strip(_SPACE):
        raise ValueError("there is text after the JSON")
    return value


def dumps(value: object) -> str:
    r"""Return *value* as JSON in ASCII, without spaces. Raises TypeError for other types.

    >>> dumps({"a": [1, None, "é"]})
    '{"a":[1,null,"\\u00e9"]}'
    """
    return "".join(_encode(value))


def _load_codec() -> tuple[Callable[[str, int], tuple[Any, int]], Callable[[object], Any]]:
    """Return the scanner (text, position -> value, end) and the encoder (value -> texts)."""
    try:
        import _json

        codec: Any = _json
        encode = codec.make_encoder(
            None, _refuse, codec.encode_basestring_ascii, None, ":", ",", False, False, True
        )  # fmt: skip
        scan: Any = codec.make_scanner(_Context)

        def iterencode(value: object) -> Any:
            return encode(value, 0)

        if scan('{"a": [1]}', 0) == ({"a": [1]}, 10) and "".join(iterencode("a")) == '"a"':
            return scan, iterencode
    except (ImportError, AttributeError, TypeError):
        pass
    import json

    decoder: Any = json.JSONDecoder()
    return decoder.scan_once, json.JSONEncoder(separators=(",", ":")).iterencode


class _Context:
    """The options of the scanner, as in ``json.JSONDecoder``."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float


def _refuse(value: object) -> object:
    raise TypeError(f"no JSON for a {type(value).__name__}")


_scan, _encode = _load_codec()
