"""The rules of others: how keys of some three hundred issuers look, kept as data.

``secret_rules.json`` holds the rules of Betterleaks, the successor of gitleaks, and of
Veles, with their licences beside it; ``tests/support/secret_rules.py`` renews it. What
memd knows by itself stands in :mod:`memd.guard.secret_shapes`. Both run on RE2, so no
text can make a rule slow: a pass over the text tells whose keywords it has, and each of
those rules takes one more. A rule is compiled when a text first has its keywords; all of
them would take a fifth of a start.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from memd.guard.secret_shapes import SHAPES, SecretShape, mixed

_RULES = Path(__file__).with_suffix(".json")
_BYTES_MAX = 4 << 20  # of memory that one compiled pattern may take
_AFTER_A_NAME = r"""(?:[ \t\w.-]{0,20})[\s'"]{0,3}"""
"""How the rules write "a company's name, and soon a value": they say nothing of a lone value."""

NUMBER, ACCOUNT = r"\d(?:[ -]?\d){12}", r"[A-Z]{2}\d{2} ?[A-Z0-9]{4} ?[A-Z0-9]{4}"
ANY = rf"[!-~]{{14,}}|(?i:passw|login|_pwd|auth)|:\S+@|{NUMBER}|{ACCOUNT}"
"""What a text with a secret has at least: most texts are passed over by this alone."""

_HASH = re.compile(
    r"[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
)
_CALLED_SECRET = re.compile(r"key|token|secret|passw|auth|cred|api|pat\b|webhook", re.IGNORECASE)
_DOCUMENTED = re.compile(
    r"example|placeholder|x{5}|your[-_]|changeme|redacted|dummy|\*{3}|\.{3}", re.IGNORECASE
)


class Match(NamedTuple):
    """Where *shape* found its secret; *start* is where what leads to the secret begins."""

    shape: SecretShape
    start: int
    secret_start: int
    end: int


class Detector:
    """All shapes, each compiled when a text first has its keywords, and kept."""

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
        """Yield what the shapes find in *text*; with *wraps* those that may span lines alone."""
        data = text.encode("utf-8", "surrogatepass")
        plain = len(data) == len(text)
        for index in sorted(self._keywords.Match(data) or ()):
            shape = self._shapes[index]
            if wraps and not shape.wraps:
                continue
            spans = (_spans(shape, match) for match in self._pattern(index).finditer(data))
            for start, at, end in spans if plain else _in_characters(data, spans):
                yield Match(shape, start, at, end)

    def is_whole(self, shape: SecretShape, text: str) -> bool:
        """Return whether *text* is one secret of *shape* from end to end."""
        data = text.encode("utf-8", "surrogatepass")
        return self._pattern(self._index[id(shape)]).fullmatch(data) is not None

    @property
    def compiled(self) -> int:
        """How many shapes have been compiled."""
        return len(self._compiled)

    def _pattern(self, index: int) -> Any:
        if index not in self._compiled:  # two threads may both compile one; either will do
            self._compiled[index] = _compiled(self._shapes[index].pattern)
        return self._compiled[index]

    @cached_property
    def _index(self) -> dict[int, int]:
        return {id(shape): index for index, shape in enumerate(self._shapes)}


@lru_cache(maxsize=1)
def detector() -> Detector:
    """Return the detector of all shapes, memd's own first; made when a text first needs it."""
    return Detector(shapes())


def shapes() -> tuple[SecretShape, ...]:
    """Return all shapes, memd's own first."""
    return (*SHAPES, *_rules())


def shows(sign: str, text: str) -> bool:
    """Return whether *text* has *sign*: ANY, NUMBER or ACCOUNT."""
    return _sign(sign).search(text.encode("utf-8", "surrogatepass")) is not None


@cache
def _sign(pattern: str) -> Any:
    import re2

    return re2.compile(pattern)


def _compiled(pattern: str) -> Any:
    import re2

    options = re2.Options()
    options.log_errors = False
    options.max_mem = _BYTES_MAX
    return re2.compile(pattern, options)


def rules() -> dict[str, Any]:
    """Return the rules as they are kept."""
    return dict(json.loads(_RULES.read_text("utf-8")))


def _rules() -> Iterator[SecretShape]:
    held = rules()
    spared, without = _any_of(held["spared"]), held["without"]
    for rule in held["rules"]:
        named = _AFTER_A_NAME in rule["pattern"]
        yield SecretShape(
            rule["kind"],
            rule["pattern"],
            keywords=rule["keywords"],
            wraps=not named and r"\s" not in rule["pattern"].split("(?:\\\\?['\"\\x60]")[0],
            check=_Check(rule, spared, (*without, *rule.get("without", ()))),
            named=named,
            group=rule.get("group"),
        )


class _Check:
    """What a rule asks of a value that has the form: disorder, and no known placeholder."""

    def __init__(self, rule: dict[str, Any], spared: str, without: tuple[str, ...]) -> None:
        self._entropy = rule.get("entropy", 0.0)
        self._mixed = rule.get("mixed", False)
        self._spared = (spared, *((_any_of(rule["spared"]),) if "spared" in rule else ()))
        self._without = without

    def __call__(self, secret: str) -> bool:
        if _entropy(secret) < self._entropy or (self._mixed and not mixed(secret)):
            return False
        if _DOCUMENTED.search(secret) or any(
            _sign(spared).search(secret) for spared in self._spared
        ):
            return False
        low = secret.lower()
        return not any(word in low for word in self._without)


def _any_of(patterns: list[str]) -> str:
    return "|".join(f"(?:{pattern})" for pattern in patterns)


def is_named_hash(match: Match, text: str) -> bool:
    """Return whether a rule met a hash or an id after a company's name, and no word of secrets."""
    if not match.shape.named or not _HASH.fullmatch(text[match.secret_start : match.end].lower()):
        return False
    return not _CALLED_SECRET.search(text[match.start : match.secret_start])


def _entropy(secret: str) -> float:
    """Return Shannon's bits a character.

    >>> _entropy("aabb"), _entropy("aaaa")
    (1.0, 0.0)
    """
    length = len(secret)
    shares = [count / length for count in Counter(secret).values()]
    return -sum(share * math.log2(share) for share in shares) + 0.0


def _spans(shape: SecretShape, match: Any) -> tuple[int, int, int]:
    group = shape.group
    if group is None:
        # As gitleaks has it: the first group that took part, else all of it.
        group = next((one for one in range(1, match.re.groups + 1) if match.start(one) >= 0), 0)
    start, end = match.span(group)
    return match.start(), start, end


def _in_characters(
    data: bytes, spans: Iterator[tuple[int, int, int]]
) -> Iterator[tuple[int, int, int]]:
    """Translate places in UTF-8 to places in the text, in one pass."""
    byte = character = 0
    for span in spans:
        placed = []
        for place in span:
            character += len(data[byte:place].decode("utf-8", "surrogatepass"))
            byte = place
            placed.append(character)
        yield placed[0], placed[1], placed[2]
