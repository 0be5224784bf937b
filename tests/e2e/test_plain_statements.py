"""Naps keep what is plainly stated though no word says that it lasts (decisions 0289, 0308, 0319).

It stands alone in a message, or beside an order.
"""

from __future__ import annotations

from itertools import cycle
from pathlib import Path

import pytest
from bench import classified
from bench.kept_scores import stands_in
from support.distilled import sections_of

from memd.embedding.embed import load_encoder
from memd.embedding.model_files import read_manifest
from memd.sleep.distil.exchanges import NapKind
from memd.text.words import sentences

SAYINGS = sections_of(Path(__file__).parents[1] / "unit" / "sleep" / "distil" / "sayings.txt")
PLAIN = "plain "
TOLD_IN_DOCS = (
    "postgres is 14.9 on prod",
    "we dropped GraphQL, everything new is plain REST",
    "you only ever run plan, I run apply",
    "the csv is semicolon separated, it only LOOKS like one column",
)
# Of those in even places, which were looked at, and of those in odd ones, which were not.
KEPT = {
    "conventions": (42, 46),
    "environment": (22, 23),
    "decisions": (23, 23),
    "constraints": (19, 20),
    "people": (20, 19),
}
MOMENTS_KEPT = {"conventions, of the moment": (12, 11), "moment": (3, 1)}
# The same beside an order, in all.
BESIDE_KEPT = {
    "conventions": 80,
    "environment": 48,
    "decisions": 45,
    "constraints": 38,
    "people": 39,
}
BESIDE_MOMENTS_KEPT = {"conventions, of the moment": 27, "moment": 14}


@pytest.fixture(autouse=True)
def installed(model_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Judge sentences with the model in *model_dir*."""
    manifest = read_manifest(model_dir)
    assert manifest is not None
    model = load_encoder(model_dir, manifest)
    monkeypatch.setattr(classified, "encoder", lambda: model)


def is_kept(saying: str, text: str | None = None) -> bool:
    """Return whether *saying* is in a memory of a message that says it, or of *text*."""
    messages = [
        {"role": "user", "content": "Look at the folder of the project and say what is in it."},
        {"role": "assistant", "content": "It holds twelve files, most of them changed last week."},
        {"role": "user", "content": text or saying},
        {"role": "assistant", "content": "Understood."},
    ]
    longest = max(sentences(saying), key=len)
    memories = classified.distilled(messages)
    return any(stands_in(longest, m.text) for m in memories if m.kind is not NapKind.DIGEST)


@pytest.mark.parametrize("text", TOLD_IN_DOCS)
def test_what_the_changelog_says_is_kept_is(text: str) -> None:
    assert is_kept(text)


def test_plain_statements_are_kept_and_few_sayings_that_sound_like_them() -> None:
    hits = {
        name.removeprefix(PLAIN): [is_kept(saying) for saying in its if saying]
        for name, its in SAYINGS.items()
        if name.startswith(PLAIN)
    }
    halves = {name: (sum(its[::2]), sum(its[1::2])) for name, its in hits.items()}
    assert set(halves) == {*KEPT, *MOMENTS_KEPT}
    for name, (even, odd) in KEPT.items():
        assert halves[name][0] >= even, name
        assert halves[name][1] >= odd, name
    for name, (even, odd) in MOMENTS_KEPT.items():
        assert halves[name][0] <= even, name
        assert halves[name][1] <= odd, name


def test_plain_statements_are_kept_beside_orders() -> None:
    orders = cycle(each for each in SAYINGS["moments typed"] if each and "//" not in each)
    kept = {}
    for name in (*BESIDE_KEPT, *BESIDE_MOMENTS_KEPT):
        its = [saying for saying in SAYINGS[PLAIN + name] if saying]
        mixed = [beside(saying, next(orders), at) for at, saying in enumerate(its)]
        kept[name] = sum(is_kept(one, text) for one, text in zip(its, mixed, strict=True))
    for name, least in BESIDE_KEPT.items():
        assert kept[name] >= least, name
    for name, most in BESIDE_MOMENTS_KEPT.items():
        assert kept[name] <= most, name


def beside(saying: str, order: str, at: int) -> str:
    """Return a message that says both, the *saying* first where *at* is even."""
    first, second = (saying, order) if at % 2 == 0 else (order, saying)
    return f"{first}{'' if first[-1] in '.!?' else '.'} {second}"
