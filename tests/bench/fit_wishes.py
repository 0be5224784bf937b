"""Fits what tells wishes and plain statements: ``python -m tests.bench.fit_wishes DIR [--keep]``.

"No sudo.", "Postgres is 14.9 on prod", "we dropped GraphQL": no word says that it lasts, and it
does. ``written.jsonl`` has 11,700 messages of thirty writers of our own, as people type them:
with what is worth remembering in them and its kind, and a good third of the moment that sound
alike. DIR holds the pages of ``bench.sentences``, whose sentences that are not worth it are of the
moment, and whose wishes are taken, too. Head and reader (``bench.fit_reader``, which needs torch)
tell a wish, and what is plainly stated: rules of a project, decisions, corrections, facts. For the
latter each message counts again with one of the moment beside it, as people mix what they tell
with what they ask for. Writers are in three groups, and each is judged by a fit on the other two.
The first table says what is past each bar that no rule keeps; the second one what whole naps keep
of the messages of each writer, alone and beside others. ``--keep`` writes the weights into the
package, over those of ``bench.fit_sentences --keep`` for the kinds; ``bench.fit_life_changes
--keep`` must follow. It takes an hour.
"""

from __future__ import annotations

import argparse
import base64
import json
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from bench import fit_reader
from bench.fit_memories import logistic_regression
from bench.fit_reader import Examples, Weights
from bench.fit_sentences import (
    CLEAR_WEIGHT,
    HEAD,
    SIGNS,
    STATES_SCALE,
    ReadWindow,
    Row,
    features_of,
    package_head,
    read,
    read_states,
    regress,
)
from bench.nap_scores import stands_in
from bench.sentence_judge import distilled, encoder
from bench.sentences import CLEAR
from memd.embedding.model_files import DIMENSION
from memd.embedding.sentence_head import SentenceHead, parse
from memd.embedding.sentence_reader import READER_FILE, SentenceReader, pack
from memd.sleep.distil.exchanges import NapKind
from memd.sleep.distil.sentence_worth import SENTENCES_MAX, signs
from memd.sleep.distil.user.speech_acts import WORTH, judge_sentence
from memd.text.languages import is_foreign
from memd.text.words import sentences

Array = NDArray[np.float64]

WRITTEN = Path(__file__).with_name("written.jsonl")
WISH, PLAIN = "P", "KDCE"
KINDS = WISH + PLAIN
WRITERS = "abcdefklmnopqrstuvwxyzABCD"
"""Those whose messages have more than one sentence; the others told statements alone."""
RIDGE = 8.0
MIXED_MOMENT = 0.5  # so many messages of the moment are put beside another, too
MIXED_WISH_WEIGHT = 0.3  # of those, for wishes, which gain less from them
BESIDE_WEIGHT = 0.5  # of what stands beside something worth it: it may belong to it
READER_SHARE = 0.5
OWN_KIND_WEIGHT = 0.25  # of our own sentences where kinds are told apart
GROUPS = 3
"""Of writers; each is judged by a fit on the others."""
BARS = (0.75, 1.0, 1.25, 1.5)
DONE = {"role": "assistant", "content": "Done. I changed the file as you asked."}


class Written(NamedTuple):
    """The sentences of pages and of our own messages, with what the fits know of each."""

    rows: list[Row]
    features: Array
    windows: list[ReadWindow]


class Fit(NamedTuple):
    """The weights of the head for plain statements, wishes and kinds, and those of the reader."""

    head: Array
    kinds: Array
    reader: Weights

    def parts(self) -> tuple[SentenceHead, SentenceReader]:
        """Return head and reader as the package would have them."""
        return parse(package_head() | document(self)), SentenceReader(self.reader)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.fit_wishes", description=__doc__)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--keep", action="store_true", help="write the weights into the package")
    options = parser.parse_args(argv)
    messages = read_messages()
    mixed = [*beside_others(messages)]
    written = read_all(options.folder, messages, mixed)
    fits = [fit(written, left_out=group) for group in range(GROUPS)]
    for line in (*table(written, fits), *nap_table(messages, mixed, fits)):
        print(line)
    if options.keep:
        last = fit(written)
        head = package_head() | document(last)
        HEAD.write_text(json.dumps(head, indent=1) + "\n", encoding="utf-8")
        HEAD.with_name(READER_FILE).write_bytes(pack(last.reader))


def read_all(
    folder: Path, messages: Sequence[dict[str, Any]], mixed: Sequence[dict[str, Any]]
) -> Written:
    """Return the sentences of the pages in *folder*, of our *messages* and of the *mixed* ones."""
    parts = [
        Written(*read(folder)),
        read_written(messages),
        read_written(mixed, is_mixed=True),
    ]
    rows = [row for part in parts for row in part.rows]
    features = np.vstack([part.features for part in parts])
    features[:, 2 * DIMENSION + SIGNS.index("turn")] = 0.0
    return Written(rows, features, [window for part in parts for window in part.windows])


def read_messages() -> list[dict[str, Any]]:
    """Return our own messages: the writer, the text, and what is worth it with its label."""
    return [json.loads(line) for line in WRITTEN.read_text("utf-8").splitlines()]


def beside_others(messages: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield each message that has something worth it, and half of the others, with another beside.

    The other one is of the moment and of the same writer, and stands before or after it.
    """
    chance = random.Random(1)
    by_writer: dict[str, list[dict[str, Any]]] = {}
    for message in messages:
        by_writer.setdefault(message["writer"], []).append(message)
    for own in by_writer.values():
        of_moment = [each for each in own if not each["worth"]]
        for message in own:
            if message["worth"] or chance.random() < MIXED_MOMENT:
                first, second = chance.sample([message, chance.choice(of_moment)], 2)
                between = chance.choice([" ", " ", "\n"])
                if between == " " and first["text"][-1] not in ".!?:;":
                    between = ". "
                yield message | {"text": first["text"] + between + second["text"]}


def read_written(messages: Sequence[dict[str, Any]], *, is_mixed: bool = False) -> Written:
    """Return the sentences of our own messages.

    Those of *is_mixed* ones, which nobody wrote as they are, are marked as not random.
    """
    model = encoder()
    if model is None:
        raise SystemExit("run: memd model install")
    rows: list[Row] = []
    states = []
    read_windows: list[ReadWindow] = []
    for message in messages:
        lines = message["text"].split("\n")
        own = [sentence for line in lines for sentence in sentences(line)][:SENTENCES_MAX]
        for at, text in enumerate(own):
            judged = judge_sentence(text)
            worth = [label for part, label in message["worth"] if part in text or text in part]
            rows.append(
                Row(
                    text,
                    judged,
                    message["writer"],
                    worth[0] if worth else "",
                    judged.score >= WORTH,
                    not message["worth"],
                    not is_mixed,
                    dict(signs(text, judged, at, len(own), 0)),
                )
            )
        pooled, windows = read_states(model, own)
        states += pooled
        read_windows += windows
    return Written(rows, features_of(rows, states), read_windows)


def is_ours(row: Row) -> bool:
    """Return whether *row* is of a message of our own; those of the pages have longer names."""
    return len(row.writer) == 1


def fit(written: Written, left_out: int | None = None) -> Fit:
    """Return the fit of all writers, or of those who are not of the group *left_out*.

    Plain statements and wishes are each told from what is not worth it; what is worth it for
    another reason is left out. The log-odds are the mean of head and reader.
    """
    weights = np.array([[_weight(row, kinds) for kinds in (PLAIN, WISH)] for row in written.rows])
    targets = np.array([[row.label[:1] in [*k] for k in (PLAIN, WISH)] for row in written.rows])
    if left_out is not None:
        weights[_groups(written.rows) == left_out] = 0.0
    ridge = np.full(written.features.shape[1], RIDGE)
    ridge[2 * DIMENSION] = 1e-3  # the bias
    columns = []
    for target, weight in zip(targets.T.astype(float), weights.T, strict=True):
        which = weight > 0
        known = (written.features[which], target[which], weight[which])
        columns.append(logistic_regression(*known, ridge))
    head = (1 - READER_SHARE) * np.array(columns).T
    of_signs = written.features[:, 2 * DIMENSION :]
    reader, sign_weights = fit_reader.fit(
        Examples(written.windows, of_signs, targets.astype(float), weights)
    )
    head[2 * DIMENSION :] += READER_SHARE * sign_weights
    for name in ("outputs.weight", "outputs.bias"):
        reader[name] = READER_SHARE * reader[name]
    return Fit(head, fit_kinds(written, left_out), reader)


def fit_kinds(written: Written, left_out: int | None = None) -> Array:
    """Return a column of weights for each kind of what is worth it, of pages and of our own.

    People tell an assistant other things than recorded sessions have, so both count.
    """
    rows = written.rows
    which = np.array([bool(row.label) and not is_foreign(row.text) for row in rows])
    which &= np.array([row.is_random or not is_ours(row) for row in rows])
    if left_out is not None:
        which &= _groups(rows) != left_out
    clear = np.array([row.label[1:] == str(CLEAR) for row in rows])
    share = np.where(clear, CLEAR_WEIGHT, 1.0)
    share[[is_ours(row) for row in rows]] *= OWN_KIND_WEIGHT
    kinds = np.array([row.label[:1] for row in rows])
    return np.array(
        [regress(written.features[which], kinds[which] == kind, share[which]) for kind in KINDS]
    ).T


def _weight(row: Row, kinds: str) -> float:
    if is_foreign(row.text) or (row.label and row.label[0] not in kinds):
        return 0.0
    if is_ours(row):
        share = 1.0 if row.label or row.is_moment else BESIDE_WEIGHT
        return share if row.is_random or kinds == PLAIN else share * MIXED_WISH_WEIGHT
    return float(not row.label or (kinds == WISH and row.label == "P2"))


def table(written: Written, fits: Sequence[Fit]) -> Iterator[str]:
    """Yield what is past each bar, by the fits of the groups that the writers are not of."""
    rows = written.rows
    known = np.array([not is_foreign(row.text) for row in rows])
    ours = np.array([is_ours(row) for row in rows])
    mixed = ours & np.array([not row.is_random for row in rows])
    logits = _logits(written, fits)
    moment = known & np.array([row.is_moment and row.is_random and not row.is_kept for row in rows])
    several = known & np.array([row.writer in [*WRITERS] for row in rows])
    of_kind = {k: several & np.array([row.label == f"{k}2" for row in rows]) for k in KINDS}
    own_count, of_pages = (ours & ~mixed).sum(), (~ours & moment).sum()
    yield f"{own_count} sentences of our own, {of_pages} of the moment on the pages"
    yield "of each kind, past the bar: alone / beside others"
    yield "| | recorded, of the moment | ours, of the moment | " + " | ".join(KINDS) + " |"
    for name, column in (("plain", 0), ("wish", 1)):
        for bar in BARS:
            past = logits[:, column] >= bar
            shares = [
                f"{past[which & ~mixed].mean():.2f}/{past[which & mixed].mean():.2f}"
                for which in of_kind.values()
            ]
            let = f"{past[~ours & moment].sum()} | {past[several & moment].mean():.3f}"
            yield f"| {name} {bar} | {let} | {' | '.join(shares)} |"


def _logits(written: Written, fits: Sequence[Fit]) -> Array:
    """Return the log-odds of each sentence by the fit that does not know its writer."""
    groups = _groups(written.rows)
    logits = np.zeros((len(groups), 2))
    for group, its in enumerate(fits):
        logits[groups == group] = written.features[groups == group] @ its.head
    readers = [its.parts()[1] for its in fits]
    start = 0
    for window in written.windows:
        own = slice(start, start + len(window.spans))
        states = window.states.astype(np.float32)
        logits[own] += readers[groups[start]].logits(states, window.spans)[:, :2]
        start += len(window.spans)
    return logits


def _groups(rows: Sequence[Row]) -> NDArray[np.int64]:
    return np.array([group_of(row.writer) for row in rows])


def group_of(writer: str) -> int:
    """Return the group of a writer: our own are spread evenly."""
    return sum(writer.encode()) % GROUPS


def nap_table(
    messages: Sequence[dict[str, Any]], mixed: Sequence[dict[str, Any]], fits: Sequence[Fit]
) -> Iterator[str]:
    """Yield what naps over one message each keep of a writer, with a fit on others."""
    yield "| whole naps | of the moment, kept | " + " | ".join(KINDS) + " |"
    for writer in WRITERS:
        head, reader = fits[group_of(writer)].parts()
        with (
            patch("memd.sleep.distil.sentence_worth.sentence_head", lambda its=head: its),
            patch("memd.embedding.sentence_states.sentence_head", lambda its=head: its),
            patch("memd.embedding.sentence_states.sentence_reader", lambda its=reader: its),
        ):
            for name, all_ in ((writer, messages), (f"{writer} beside others", mixed)):
                shares = _shares(each for each in all_ if each["writer"] == writer)
                yield f"| {name} | {' | '.join(shares)} |"


def _shares(messages: Iterable[dict[str, Any]]) -> list[str]:
    """Return how many are kept of those of the moment, and of what is worth it of each kind."""
    kept: Counter[str] = Counter()
    labelled: Counter[str] = Counter()
    for message in messages:
        for label, is_kept in _kept(message):
            labelled[label] += 1
            kept[label] += is_kept
    return [f"{kept[label]} of {labelled[label]}" for label in ("", *(f"{k}2" for k in KINDS))]


def _kept(message: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    """Yield of each part that is worth it its label and whether a memory holds it.

    Of a message of the moment "" and whether there is any memory.
    """
    memories = distilled([{"role": "user", "content": message["text"]}, DONE])
    texts = [memory.text for memory in memories if memory.kind is not NapKind.DIGEST]
    if not message["worth"]:
        yield "", bool(texts)
    for part, label in message["worth"]:
        yield label, any(part in text or stands_in(part, text) for text in texts)


def document(its: Fit) -> dict[str, Any]:
    """Return what the head file says of plain statements, wishes and kinds."""
    states, of_signs = STATES_SCALE * its.head[: 2 * DIMENSION], its.head[2 * DIMENSION :]
    head = package_head()
    all_ = np.frombuffer(base64.b64decode(head["states"]), dtype="<f2")
    all_ = all_.reshape(2 * DIMENSION, -1).copy()
    all_[:, 1 : 1 + len(KINDS)] = STATES_SCALE * its.kinds[: 2 * DIMENSION]
    by_name = zip(SIGNS, its.kinds[2 * DIMENSION :].round(3).tolist(), strict=True)
    return {
        "states": base64.b64encode(all_.tobytes()).decode(),
        "signs": {name: [head["signs"][name][0], *weights] for name, weights in by_name},
        "written": base64.b64encode(states.astype("<f2").tobytes()).decode(),
        "written_signs": {
            name: [round(float(each), 3) for each in row]
            for name, row in zip(SIGNS, of_signs, strict=True)
        },
    }


if __name__ == "__main__":
    main()
