"""A bed weighs in a fit what was decided, whatever its size, as do the small stores."""

from __future__ import annotations

import pytest
from bench.fit import BED_WEIGHTS, GROUP_WEIGHTS, bed_shares, weighed
from bench.samples import Sample


def sample(bed: str, kind: str = "H") -> Sample:
    return Sample(kind, "fold", "", 1, [], [], bed)


MIXED = [
    *(sample("dialogues", kind) for kind in "HHHHGAAB"),
    *(sample("everyday", kind) for kind in "HHB"),
    *(sample("small", "S") for _ in range(4)),
]
GROUPS = [each.kind if each.kind != "S" else "S+" for each in MIXED]


def total(bed: str) -> float:
    shares = weighed(MIXED, GROUPS, GROUP_WEIGHTS)
    return float(sum(s for each, s in zip(MIXED, shares, strict=True) if each.bed == bed))


@pytest.mark.parametrize("count", [1, 9])
def test_a_bed_weighs_the_same_in_the_ranker_whatever_its_size(count: int) -> None:
    shares = bed_shares([sample("dialogues")] * count + [sample("coding"), sample("everyday")])
    weights = [BED_WEIGHTS[bed] for bed in ("dialogues", "coding", "everyday")]
    assert [sum(shares[:count]), *shares[count:]] == pytest.approx(
        [weight / sum(weights) for weight in weights]
    )


def test_every_bed_weighs_the_same_in_the_gate_whatever_groups_it_has() -> None:
    assert total("dialogues") == pytest.approx(total("everyday"))


def test_the_small_stores_keep_their_own_part_of_the_gate() -> None:
    assert total("small") == pytest.approx(GROUP_WEIGHTS["S+"])


def test_a_bed_alone_is_weighed_group_by_group() -> None:
    alone = [each for each in MIXED if each.bed == "dialogues"]
    shares = weighed(alone, [each.kind for each in alone], GROUP_WEIGHTS)
    honest = sum(share for each, share in zip(alone, shares, strict=True) if each.kind == "H")
    assert honest == pytest.approx(GROUP_WEIGHTS["H"])
    assert sum(shares) == pytest.approx(sum(GROUP_WEIGHTS[kind] for kind in "HGAB"))
