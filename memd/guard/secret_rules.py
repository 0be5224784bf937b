"""The detector of secrets: memd's own shapes, and third-party rules for some 300 issuers of keys.

``secret_rules.json`` has the rules of Betterleaks, the successor of gitleaks, and of Veles; their
licences are in the same folder, and ``tests/support/secret_rules.py`` updates it. memd's own
shapes are in :mod:`memd.guard.secret_shapes`.

All patterns run on RE2, whose time is linear in the text. One pass finds the rules whose keywords
a text has, then each of these rules takes one pass. A rule is compiled when a text first has its
keywords; compiling all would take a fifth of memd's start time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from memd.guard.secret_checks import entropy, is_mixed, is_placeholder, is_random
from memd.guard.secret_shapes import ASSIGNED, SHAPES, SecretShape

_RULES = Path(__file__).with_suffix(".json")
_BYTES_MAX = 4 << 20  # of memory for one compiled pattern
_AFTER_NAME = r"""(?:[ \t\w.-]{0,20})[\s'"]{0,3}"""
"""This part of a rule's pattern shows that a value is a secret only after its issuer's name."""

NUMBER, ACCOUNT = r"\d(?:[ -]?\d){12}", r"[A-Z]{2}\d{2} ?[A-Z0-9]{4} ?[A-Z0-9]{4}"
_LOGIN_WORDS = (
    r"passw|pass(?:phrase|code)|(?:_|\b)(?:pass|pwd?|psk)\b|kennwort|contraseña|mot de passe"
    r"|wachtwoord|senha|palavra|lösenord|adgangskode|hasło|app[ -]|pin\b|login|user|cred|zugang"
    r"|auth"
)
ANY = rf"[!-~]{{14,}}|(?i:{_LOGIN_WORDS})|:\S+@|{NUMBER}|{ACCOUNT}"
"""Matches every text with a secret; the others, which are most, need no further pattern."""

_HASH = re.compile(
    r"[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
)
_SECRET_NAME = re.compile(r"key|token|secret|passw|auth|cred|api|pat\b|webhook", re.IGNORECASE)
_SECRET_KEY = re.compile(
    r"(?i:api|access|secret|auth|private|sign(?:ing)?|encryption|master|service|account|client"
    r"|licen[sc]e|admin|deploy)(?i:[ _-]?(?:key|schlüssel))$|[A-Z0-9]_KEY$"
)
_OPEN_KEY = re.compile(
    r"(?i:publi(?:c|shable)|pub|cache|host|primary|foreign|sort|partition|idempotency|redis|s3"
    r"|object|row)(?i:[ _-]?(?:key|schlüssel))$"
)
_KEY = re.compile(r"key|schlüssel", re.IGNORECASE)
_NAME_CHARS_MAX = 24


class Match(NamedTuple):
    """A secret of *shape*; *start* is where the whole match begins, before the secret itself."""

    shape: SecretShape
    start: int
    secret_start: int
    end: int


class Detector:
    """Finds secrets of all shapes; compiles a shape when a text first has its keywords."""

    def __init__(self, shapes: tuple[SecretShape, ...]) -> None:
        import re2

        self._shapes = shapes
        options = re2.Options()
        options.case_sensitive = False
        self._keywords = re2.Set.SearchSet(options)
        for shape in shapes:
            self._keywords.Add(shape.keywords)
        self._keywords.Compile()
        self._compiled: dict[int, Any] = {}

    def find(self, text: str, *, wraps: bool = False) -> Iterator[Match]:
        """Yield the matches in *text*; with *wraps* only of shapes that may span lines."""
        data = text.encode("utf-8", "surrogatepass")
        plain = len(data) == len(text)
        for index in sorted(self._keywords.Match(data) or ()):
            shape = self._shapes[index]
            if wraps and not shape.wraps:
                continue
            spans = (_spans(shape, match) for match in self._pattern(index).finditer(data))
            for start, at, end in spans if plain else _to_characters(data, spans):
                yield Match(shape, start, at, end)

    def is_whole(self, shape: SecretShape, text: str) -> bool:
        """Return whether *text* is one secret of *shape* from end to end."""
        data = text.encode("utf-8", "surrogatepass")
        return self._pattern(self._index[id(shape)]).fullmatch(data) is not None

    @property
    def compiled_count(self) -> int:
        """How many shapes have been compiled."""
        return len(self._compiled)

    def _pattern(self, index: int) -> Any:
        if index not in self._compiled:  # a race of two threads is harmless
            self._compiled[index] = _compile(self._shapes[index].pattern)
        return self._compiled[index]

    @cached_property
    def _index(self) -> dict[int, int]:
        return {id(shape): index for index, shape in enumerate(self._shapes)}


@lru_cache(maxsize=1)
def detector() -> Detector:
    """Return the detector of all shapes, memd's own first, made on first use."""
    return Detector(shapes())


def shapes() -> tuple[SecretShape, ...]:
    """Return all shapes, memd's own first; of those for the same secret, the first names it."""
    return (*SHAPES, *_rule_shapes(), ASSIGNED)


def has_sign(sign: str, text: str) -> bool:
    """Return whether *text* has *sign*: ANY, NUMBER or ACCOUNT."""
    return _compile_sign(sign).search(text.encode("utf-8", "surrogatepass")) is not None


@cache
def _compile_sign(pattern: str) -> Any:
    import re2

    return re2.compile(pattern)


def _compile(pattern: str) -> Any:
    import re2

    options = re2.Options()
    options.log_errors = False
    options.max_mem = _BYTES_MAX
    return re2.compile(pattern, options)


def read_rules() -> dict[str, Any]:
    """Return the content of the rules' file."""
    return dict(json.loads(_RULES.read_text("utf-8")))


def _rule_shapes() -> Iterator[SecretShape]:
    """Yield the third-party rules as shapes; in the file, "spared" and "without" are exceptions."""
    content = read_rules()
    spared, without = _any_of(content["spared"]), content["without"]
    for rule in content["rules"]:
        has_name = _AFTER_NAME in rule["pattern"]
        yield SecretShape(
            rule["kind"],
            rule["pattern"],
            keywords=rule["keywords"],
            wraps=not has_name and r"\s" not in rule["pattern"].split("(?:\\\\?['\"\\x60]")[0],
            check=_Check(rule, spared, (*without, *rule.get("without", ()))),
            named=has_name,
            group=rule.get("group"),
        )


class _Check:
    """A rule's check of a value of its form: enough entropy, and no known placeholder."""

    def __init__(self, rule: dict[str, Any], spared: str, without: tuple[str, ...]) -> None:
        self._entropy = rule.get("entropy", 0.0)
        self._mixed = rule.get("mixed", False)
        self._spared = (spared, *((_any_of(rule["spared"]),) if "spared" in rule else ()))
        self._without = without

    def __call__(self, secret: str) -> bool:
        if entropy(secret) < self._entropy or (self._mixed and not is_mixed(secret)):
            return False
        if is_placeholder(secret) or any(
            _compile_sign(spared).search(secret) for spared in self._spared
        ):
            return False
        low = secret.lower()
        return not any(word in low for word in self._without)


def _any_of(patterns: list[str]) -> str:
    return "|".join(f"(?:{pattern})" for pattern in patterns)


def has_harmless_name(match: Match, text: str) -> bool:
    """Return whether the name before a value tells that it opens nothing.

    After an issuer's name without a word for secrets, a hash or an id is one of a commit or a
    project: "sonar project 0a1b...". A key of a cache or a row opens nothing, nor does a public
    one; a value after "key" alone, without capitals, is usually one of these.
    """
    secret = text[match.secret_start : match.end]
    if match.shape.named:
        is_hash = _HASH.fullmatch(secret.lower()) is not None
        return is_hash and not _SECRET_NAME.search(text[match.start : match.secret_start])
    if match.shape is not ASSIGNED or not (key := _KEY.match(text, match.start)):
        return False
    name = text[max(0, match.start - _NAME_CHARS_MAX) : key.end()]
    if _OPEN_KEY.search(name):
        return True
    return not (is_random(secret) or _SECRET_KEY.search(name))


def _spans(shape: SecretShape, match: Any) -> tuple[int, int, int]:
    """Return the start of the match, and the start and end of the secret in it."""
    group = shape.group
    if group is None:
        # As in gitleaks: the first group that matched, else the whole match.
        group = next((n for n in range(1, match.re.groups + 1) if match.start(n) >= 0), 0)
    start, end = match.span(group)
    return match.start(), start, end


def _to_characters(
    data: bytes, spans: Iterator[tuple[int, int, int]]
) -> Iterator[tuple[int, int, int]]:
    """Convert byte offsets in UTF-8 to character offsets, in one pass."""
    byte = character = 0
    for span in spans:
        offsets = []
        for offset in span:
            character += len(data[byte:offset].decode("utf-8", "surrogatepass"))
            byte = offset
            offsets.append(character)
        yield offsets[0], offsets[1], offsets[2]
