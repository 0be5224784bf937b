"""Fits the reviewed table.

    python -m tests.bench.fit_ranker FILE --transcripts DIR --public DIR

With ``--table`` it prints the tables of ``memd/recall/ranking/weights.py`` ready to paste, and says
whether they are those in use. Without, it first prints, for each kind of text
(``bench.beds``), what is lost by a fit on the other kinds (``--judge coding``: that kind alone);
then, with each dialogue, day and topic left out in turn, what the gate lets through at each
threshold, what a default prompt would hold at each bar, and how far its relevances can be relied
on. ``--beds`` names the kinds, by default all. How it is fitted is in ``bench.fitting``.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from bench import beds
from bench.fitting import HONEST, Judged, fitted, judge, without_vectors
from bench.samples import Sample, folds
from memd.recall.ranking.rankings import GATE_TOP, answer_bar
from memd.recall.ranking.weights import HYBRID, WITHOUT_TOKENS, WITHOUT_VECTORS, Weights
from memd.recall.select import ENTRIES_MAX

TABLES = {
    "HYBRID": HYBRID,
    "WITHOUT_TOKENS": WITHOUT_TOKENS,
    "WITHOUT_VECTORS": WITHOUT_VECTORS,
}
FITTED = frozenset("HGABOUS")  # what naps composed (C, CX) has a table of its own
BINS = 10
BIN_MIN = 50
DRAWS = 200
SEED = 7
NOISE = 0.021  # in a number of a table
THRESHOLDS = (0.0, 0.02, 0.03, 0.05, 0.08, 0.10, 0.12, 0.14, 0.15, 0.16, 0.17, 0.18, 0.20, 0.25)
BARS = (0.020, 0.022, 0.025, 0.0265, 0.028, 0.030, 0.034)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.fit_ranker", description=__doc__)
    parser.add_argument("file", type=Path, nargs="?")
    parser.add_argument("--beds", nargs="+", choices=beds.BEDS, default=beds.BEDS)
    parser.add_argument("--judge", choices=beds.BEDS)
    parser.add_argument("--table", action="store_true", help="print nothing but the tables")
    parser.add_argument("--keep-ranker", action="store_true", help="fit gate and calibration only")
    beds.add_sources(parser)
    options = parser.parse_args(argv)
    sources = beds.Sources(options.file, options.transcripts, options.cache, options.public)
    samples = [s for bed in options.beds for s in beds.samples(bed, sources) if s.kind in FITTED]
    if options.table:
        sys.exit(print_tables(samples))
    if len(options.beds) > 1:
        for bed in [options.judge] if options.judge else options.beds:
            print("\n".join(fit_on(samples, bed)))
        if options.judge:
            return
    for name in TABLES:
        print("\n".join(report(samples, name, keep=options.keep_ranker)))


def print_tables(samples: Sequence[Sample]) -> int:
    """Print the tables of a fit; returns 1 where they are not those in use."""
    same = True
    for name, reviewed in TABLES.items():
        made = fitted(for_table(samples, reviewed), reviewed)
        print(code(name, made))
        same = same and alike(made, reviewed)
    print(f"# these are {'' if same else 'not '}the tables in use")
    return int(not same)


def for_table(samples: Sequence[Sample], reviewed: Weights) -> list[Sample]:
    """Return *samples* as the table *reviewed* meets them."""
    if reviewed is WITHOUT_VECTORS:
        return [without_vectors(sample) for sample in samples]
    return list(samples)


def alike(made: Weights, reviewed: Weights) -> bool:
    """Return whether two tables are the same up to ``NOISE`` in each of their numbers.

    Which of two equally near candidates is the last is drawn anew with each store.
    """
    pairs = [
        (made.features, reviewed.features),
        (made.calibration, reviewed.calibration),
        (made.gate, reviewed.gate),
        ({"": made.offset}, {"": reviewed.offset}),
        ({"": made.gate_offset}, {"": reviewed.gate_offset}),
    ]
    return all(
        one.keys() == other.keys() and all(abs(one[n] - other[n]) <= NOISE for n in one)
        for one, other in pairs
    )


def report(samples: Sequence[Sample], name: str, *, keep: bool) -> Iterator[str]:
    """Yield the figures of a fit, left out in turn, those of the reviewed table *name*, and code.

    To *keep* is to fit gate and calibration over the reviewed ranker.
    """
    reviewed = TABLES[name]
    features = reviewed.features if keep else None
    chosen = for_table(samples, reviewed)
    judgements = {
        "left out in turn": left_out(chosen, reviewed, features),
        "as reviewed": told_by(reviewed, chosen),
    }
    for how, judged in judgements.items():
        yield f"# {name}, {how}"
        yield from table(judged)
        yield from selection(judged, reviewed)
        yield from reliability(judged)
    yield code(name, fitted(chosen, reviewed, features))


def left_out(
    samples: Sequence[Sample], reviewed: Weights, features: Mapping[str, float] | None = None
) -> list[Judged]:
    """Return every sample, judged by a table that was fitted without what is like it."""
    judged: list[Judged] = []
    for train, test in folds(samples):
        judged += told_by(fitted(train, reviewed, features), test)
    return judged


def told_by(weights: Weights, samples: Sequence[Sample]) -> list[Judged]:
    """Return the samples as *weights* ranks them; where nothing was found, the gate is shut."""
    return [
        judge(sample, weights) if sample.candidates else Judged(sample, [], {}, [], 0.0)
        for sample in samples
    ]


def fit_on(samples: Sequence[Sample], judge_bed: str) -> list[str]:
    """Return how the bed *judge_bed* is ranked by tables fitted on itself, on the others, on all.

    Of itself and of all beds each fold is left out in turn; ``reviewed`` is the table in use.
    """
    own = [sample for sample in samples if sample.bed == judge_bed]
    others = [sample for sample in samples if sample.bed != judge_bed]
    small = [sample for sample in samples if sample.kind == "S"]
    rows = {
        "itself": crossed(own, small),
        "the others": told_by(fitted(others, HYBRID), own),
        "all": crossed(own, others),
        "reviewed": told_by(HYBRID, own),
    }
    lines = [f"# judged on {judge_bed}, fitted on"]
    return lines + [f"{name:11} {figures(judged)}" for name, judged in rows.items()]


def crossed(own: Sequence[Sample], always: Sequence[Sample]) -> list[Judged]:
    """Return *own*, each fold judged by a table fitted on its other folds and on *always*."""
    judged: list[Judged] = []
    for train, test in folds(own):
        judged += told_by(fitted([*train, *always], HYBRID), test)
    return judged


def figures(judged: Sequence[Judged]) -> str:
    """Return R@10 past the gate, what the gate costs, what foreign it lets through, the gap."""
    honest = [each for each in judged if each.sample.kind in HONEST]
    past = _mean(each.recall for each in honest)
    past_gate = _mean(each.recall * (each.chance >= HYBRID.gate_min) for each in honest)
    shares = [
        f"{kind} {_mean(each.chance >= HYBRID.gate_min for each in its):.0f}"
        for kind, its in _by_kind(judged).items()
        if kind not in HONEST
    ]
    return f"R@10 {past:.1f}, lost to the gate {past - past_gate:.1f}; answered: {' '.join(shares)}"


def table(judged: Sequence[Judged]) -> Iterator[str]:
    """Yield R@10 of honest questions and the shares of the others answered, by threshold."""
    for bed, kind, its in _groups(judged):
        names = sorted({each.sample.name for each in its}) if kind == "S" else [""]
        for name in names:
            some = [each for each in its if name in ("", each.sample.name)]
            yield (
                f"gate, {bed} {kind} {name}".rstrip()
                + ": "
                + "  ".join(
                    f"{least:.2f} {_mean(_past_gate(each, least) for each in some):.1f}"
                    for least in THRESHOLDS
                )
            )


def _past_gate(each: Judged, least: float) -> float:
    passes = each.chance >= least
    return each.recall * passes if each.sample.kind in HONEST else float(passes)


def selection(judged: Sequence[Judged], reviewed: Weights) -> Iterator[str]:
    """Yield what a default prompt would hold of each kind at each bar, near-duplicates and all."""
    for bed, kind, its in _groups(judged):
        if kind in {"G", "S"}:
            continue
        for bar in BARS:
            weights = replace(reviewed, bar=bar)
            chosen = [_worth(each, weights) for each in its]
            entries = sum(map(len, chosen))
            line = f"bar {bar:.4f}, {bed} {kind}: entries {entries / len(its):.2f}"
            if kind == "H":
                held = [
                    sum(rights) / each.sample.gold
                    for each, rights in zip(its, chosen, strict=True)
                    if each.sample.gold
                ]
                useful = sum(map(sum, chosen)) / max(1, entries)
                line += f", evidence {_mean(held):.1f}, useful {100 * useful:.1f}"
            yield f"{line}, answered {_mean(map(bool, chosen)):.1f}"


def _worth(each: Judged, weights: Weights) -> list[bool]:
    """Return of each entry that is worth its place whether it answers."""
    bar = answer_bar(weights, each.chance)
    pairs = list(zip(each.items, each.right, strict=True))
    return [right for item, right in pairs if item.relevance >= bar][:ENTRIES_MAX]


def reliability(judged: Sequence[Judged]) -> Iterator[str]:
    """Yield, of ten bins of the relevance, how many entries fall in and how many answer.

    Beside the largest gap stands what chance alone makes of relevances that are all true.
    """
    for bed, kind, its in _groups(judged):
        if kind != "H":
            continue
        entries = [
            (item.relevance, right)
            for each in its
            for item, right in list(zip(each.items, each.right, strict=True))[:GATE_TOP]
        ]
        bins: dict[int, list[tuple[float, bool]]] = defaultdict(list)
        for relevance, right in entries:
            bins[min(BINS - 1, int(BINS * relevance))].append((relevance, right))
        means = {at: np.array(rows, float).mean(0) for at, rows in sorted(bins.items())}
        for at, (mean, right) in means.items():
            size = len(bins[at])
            yield f"relevance {at / BINS:.1f}, {bed}: {size}, {mean:.3f} told, {right:.3f} true"
        large = [abs(s - r) for at, (s, r) in means.items() if len(bins[at]) >= BIN_MIN]
        chance = gaps_by_chance([[s for s, _ in rows] for rows in bins.values()])
        half, most = np.percentile(chance, [50, 95])
        gap = f"{max(large, default=0.0):.3f}, by chance {half:.3f}, in one of 20 over {most:.3f}"
        yield f"relevance, {bed}: largest gap {gap}"


def gaps_by_chance(bins: Iterable[Sequence[float]]) -> list[float]:
    """Return the largest gaps that would be found if each of the relevances in *bins* were true."""
    chance = np.random.default_rng(SEED)
    large = [np.array(relevances) for relevances in bins if len(relevances) >= BIN_MIN]
    return [
        max(
            (
                abs(relevances.mean() - (chance.random(len(relevances)) < relevances).mean())
                for relevances in large
            ),
            default=0.0,
        )
        for _ in range(DRAWS)
    ]


def _groups(judged: Sequence[Judged]) -> Iterator[tuple[str, str, list[Judged]]]:
    """Yield the samples by bed and kind."""
    for bed in dict.fromkeys(each.sample.bed for each in judged):
        for kind, its in _by_kind([each for each in judged if each.sample.bed == bed]).items():
            yield bed, kind, its


def _by_kind(judged: Sequence[Judged]) -> dict[str, list[Judged]]:
    kinds: dict[str, list[Judged]] = defaultdict(list)
    for each in judged:
        kinds[each.sample.kind].append(each)
    return kinds


def _mean(values: Iterable[float]) -> float:
    """Return the mean in percent, 0 of nothing."""
    numbers = list(values)
    return 100 * sum(numbers) / len(numbers) if numbers else 0.0


def code(name: str, weights: Weights) -> str:
    """Return *weights* as they stand in the reviewed table."""
    return "\n".join(
        [
            f"{name} = Weights(",
            f"    features=MappingProxyType({dict(weights.features)}),",
            f"    calibration=MappingProxyType({dict(weights.calibration)}),",
            f"    offset={weights.offset},",
            f"    gate=MappingProxyType({dict(weights.gate)}),",
            f"    gate_offset={weights.gate_offset},",
            f"    gate_min={weights.gate_min},  # these four are chosen by eye",
            f"    quiet={weights.quiet},",
            f"    bar={weights.bar},",
            f"    doubt={weights.doubt},",
            ")",
        ]
    )


if __name__ == "__main__":
    main()
