"""Fits the head that judges sentences: ``python -m tests.bench.fit_sentences DIR [--keep]``.

The sentences are those of ``bench.sentences`` and, of agents, of ``bench.statements``; DIR holds
their pages. The head is a logistic regression on the states of each sentence and on the signs of
:mod:`memd.sleep.distil.sentence_worth`: of the user's one for the worth and one for each kind of
what is worth it, of the agent's one for the worth. The tables say what they keep with each writer
left out in turn: at the share of sentences "of the moment" (those of messages in which nothing is
worth remembering) that the rules keep, and at less; and at shares of the agent's that are clearly
worth it. The last one says the same of whole memories (``bench.fit_memories``), composed with the
writer left out. ``--keep`` writes the head of all writers that may be looked at into the package.
The model is that of MEMD_MODEL_DIR.
"""

from __future__ import annotations

import argparse
import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import memd.embedding
from bench import fit_memories, statements
from bench.sentence_judge import encoder
from bench.sentences import CLEAR, KINDS, labels, read_messages, read_page
from memd.embedding.encoders import FastembedEncoder
from memd.embedding.model_files import DIMENSION
from memd.embedding.sentence_head import HEAD_FILE, SentenceHead, parse
from memd.embedding.sentence_states import pool, windows_of
from memd.sleep.distil.agent.outcomes import places_to_judge
from memd.sleep.distil.sentence_worth import SENTENCES_MAX, signs, statement_signs
from memd.sleep.distil.user.speech_acts import WORTH, Act, Judgement, judge_sentence

Array = NDArray[np.float64]

HEAD = Path(memd.embedding.__file__).with_name(HEAD_FILE)
FOLDS = 9
HEADS = 6  # those that memories are composed with, each without a sixth of the writers
STATES_SCALE = 6.0  # of the states, whose parts are small: it is as a weaker ridge on them
RIDGE = 25.0
CLEAR_WEIGHT = 4.0
STATEMENT_SIGNS = ("bias", "score", "place", "sentences", "chars", "last text")
SIGNS = ("bias", *map(str, Act), "kept", "first", "last", "sentences", "turn", "chars")


class Row(NamedTuple):
    """A labelled sentence: *label* as in the file ("P2"), "" for what is not worth it."""

    text: str
    judged: Judgement
    writer: str
    label: str
    is_kept: bool
    is_moment: bool
    is_random: bool
    signs: dict[str, float]


class ReadWindow(NamedTuple):
    """A window as the reader has it: the states of its pieces, and the span of each sentence."""

    states: NDArray[np.float16]
    spans: list[tuple[int, int]]


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.fit_sentences", description=__doc__
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--keep", action="store_true", help="write the head into the package")
    options = parser.parse_args(argv)
    rows, features, _ = read(options.folder)
    for line in table(rows, features):
        print(line)
    of_agents = read_statements(options.folder)
    for line in statement_table(of_agents):
        print(line)
    memories, judged = fit_memories.read(options.folder, heads_without(rows, features, of_agents))
    for line in fit_memories.table(memories, judged):
        print(line)
    if options.keep:
        of_agent = fit_memories.fit([each for each in memories if each.by_agent])
        of_user = fit_memories.fit([each for each in memories if not each.by_agent])
        by_state = of_agent.states / STATES_SCALE
        written = package_head()  # plain statements have a fit of their own
        written |= document(fit(rows, features), fit_statements(of_agents), by_state)
        written["user_memory_signs"] = _rounded(of_user.signs)
        written["agent_memory_signs"] = _rounded({**of_agent.signs, fit_memories.STATES: 1.0})
        HEAD.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")


def package_head() -> dict[str, Any]:
    """Return the head of the package as it is written down."""
    head: dict[str, Any] = json.loads(HEAD.read_text("utf-8"))
    return head


def read(folder: Path) -> tuple[list[Row], Array, list[ReadWindow]]:
    """Return the sentences that may be looked at, the features of each, and their windows."""
    model = encoder()
    if model is None:
        raise SystemExit("run: memd model install")
    paths = {path.name: path for path in folder.rglob("*.md")}
    rows: list[Row] = []
    states = []
    read_windows: list[ReadWindow] = []
    for page in labels("fit"):
        for message in read_page(page, read_messages(paths[Path(page["path"]).name])):
            own = message.sentences[:SENTENCES_MAX]
            if not own:
                continue
            for at, text in enumerate(own):
                judged = judge_sentence(text, stopped=message.stopped)
                row_signs = dict(signs(text, judged, at, len(own), message.turn))
                rows.append(
                    Row(
                        text,
                        judged,
                        page["repo"].partition("/")[0],
                        message.worth.get(at, ""),
                        judged.score >= WORTH,
                        not message.worth,
                        message.is_random,
                        row_signs,
                    )
                )
            pooled, windows = read_states(model, own)
            states += pooled
            read_windows += windows
    return rows, features_of(rows, states), read_windows


def read_states(
    model: FastembedEncoder, own: list[str]
) -> tuple[list[NDArray[np.float32]], list[ReadWindow]]:
    """Return of the windows of a message what the head has of each, and what the reader has."""
    pooled, read_windows = [], []
    for window in windows_of(0, model.ids(own)):
        states = model.states([window.ids])
        pooled.append(pool([window], states))
        own_states = states[0, : len(window.ids)].astype(np.float16)
        spans = [(span.start, span.end) for span in window.spans]
        read_windows.append(ReadWindow(own_states, spans))
    return pooled, read_windows


def features_of(rows: Sequence[Row], states: Sequence[NDArray[np.float32]]) -> Array:
    """Return the features of *rows*: the pooled *states*, and the signs."""
    by_sign = np.array([[row.signs.get(name, 0.0) for name in SIGNS] for row in rows])
    return np.hstack([STATES_SCALE * np.vstack(states), by_sign])


def fit(rows: Sequence[Row], features: Array) -> Array:
    """Return a column of weights for the worth, and one for each kind."""
    worth = np.array([int(row.label[1]) if row.label else 0 for row in rows])
    share = np.where(worth == CLEAR, CLEAR_WEIGHT, 1.0)
    columns = [regress(features, worth > 0, share)]
    is_worth_it = worth > 0
    kinds = np.array([row.label[:1] for row in rows])
    columns += [
        regress(features[is_worth_it], kinds[is_worth_it] == kind, share[is_worth_it])
        for kind in KINDS
    ]
    return np.array(columns).T


def regress(features: Array, good: NDArray[np.bool_], share: Array) -> Array:
    """Return the weights of a logistic regression with a ridge on all but the bias."""
    ridge = np.full(features.shape[1], RIDGE)
    ridge[2 * DIMENSION] = 1e-3  # the bias
    return fit_memories.logistic_regression(features, good.astype(float), share, ridge)


def table(rows: Sequence[Row], features: Array) -> Iterator[str]:
    """Yield what is kept with writers left out in turn, by rule and by the head."""
    writers = sorted({row.writer for row in rows})
    fold = np.array([writers.index(row.writer) % FOLDS for row in rows])
    logits = np.zeros((len(rows), 1 + len(KINDS)))
    for left_out in range(FOLDS):
        own = fold == left_out
        rest = [row for row, is_own in zip(rows, own, strict=True) if not is_own]
        logits[own] = features[own] @ fit(rest, features[~own])
    random = np.array([row.is_random for row in rows])
    moment = random & np.array([row.is_moment for row in rows])
    clear = random & np.array([row.label[1:] == str(CLEAR) for row in rows])
    by_rule = np.array([row.is_kept for row in rows])
    kinds = np.array([row.label[:1] for row in rows])
    named = [KINDS[kind] for kind in KINDS]
    yield f"{len(rows)} sentences, {clear.sum()} clearly worth it, {moment.sum()} of the moment"
    yield "| | of the moment | clearly worth it | " + " | ".join(named) + " | of the right kind |"
    best = np.array(list(KINDS))[logits[:, 1:].argmax(1)]
    right = (best == kinds)[clear].mean()
    shares = (by_rule[moment].mean(), 0.04, 0.02)
    kept = {"the rules": by_rule}
    kept |= {
        f"the head at {share:.3f}": logits[:, 0] >= np.quantile(logits[moment, 0], 1 - share)
        for share in shares
    }
    for name, which in kept.items():
        by_kind = [f"{which[clear & (kinds == kind)].mean():.2f}" for kind in KINDS]
        figures = (f"{which[moment].mean():.3f}", f"{which[clear].mean():.3f}", *by_kind)
        yield f"| {name} | {' | '.join(figures)} | {right:.2f} |"


class Statements(NamedTuple):
    """The agents' sentences: whose agent it is, its worth, the rules' score, and the features."""

    writers: list[str]
    worths: NDArray[np.int64]
    scores: Array
    features: Array


def read_statements(folder: Path) -> Statements:
    """Return the agents' sentences that may be looked at."""
    model = encoder()
    assert model is not None
    writers: list[str] = []
    worths: list[int] = []
    rows: list[list[float]] = []
    states = []
    for page, path in statements.pages(folder, "fit"):
        exchanges = statements.by_place(read_messages(path))
        read = [statements.read_turn(turn, exchanges) for turn in page["turns"]]
        for text, is_last in (each for texts in read if texts for each in _judged(texts)):
            writers += [page["repo"].partition("/")[0]] * len(text.worths)
            worths += text.worths
            for at, (score, line) in enumerate(text.sentences):
                own = statement_signs(score, line.text, at, len(text.worths), is_last=is_last)
                rows.append([value for _, value in own])
            windows = windows_of(0, model.ids([line.text for _, line in text.sentences]))
            states += [pool([window], model.states([window.ids])) for window in windows]
    by_sign = np.array(rows)
    features = np.hstack([STATES_SCALE * np.vstack(states), by_sign])
    at_score = STATEMENT_SIGNS.index("score")
    return Statements(writers, np.array(worths), by_sign[:, at_score], features)


def _judged(texts: Sequence[statements.ReadText]) -> Iterator[tuple[statements.ReadText, bool]]:
    """Yield of the texts of a turn what a nap has judged, and whether it is the last such text."""
    kept = []
    for text in texts:
        places = places_to_judge(text.sentences, is_last=text.is_last)
        own = [text.sentences[at] for at in places]
        kept.append(text._replace(sentences=own, worths=[text.worths[at] for at in places]))
    judged = [text for text in kept if text.sentences]
    yield from ((text, at == len(judged) - 1) for at, text in enumerate(judged))


def fit_statements(read: Statements, which: NDArray[np.bool_] | None = None) -> Array:
    """Return the weights for the worth of an agent's sentence, fitted on *which* of them."""
    own = np.ones(len(read.worths), dtype=bool) if which is None else which
    share = np.where(read.worths == CLEAR, CLEAR_WEIGHT, 1.0)
    return regress(read.features[own], read.worths[own] > 0, share[own])


def statement_table(read: Statements) -> Iterator[str]:
    """Yield what is told with writers left out in turn, by the rules' score and by the head."""
    writers = sorted(set(read.writers))
    fold = np.array([writers.index(writer) % FOLDS for writer in read.writers])
    logits = np.zeros(len(fold))
    for left_out in range(FOLDS):
        own = fold == left_out
        logits[own] = read.features[own] @ fit_statements(read, ~own)
    clear, junk = read.worths == CLEAR, read.worths == 0
    yield f"{len(fold)} sentences of agents, {clear.sum()} clearly worth it, {junk.sum()} not"
    yield "| clearly worth it that are told | from | told | of these clearly worth it | not |"
    for name, rated in (("score", read.scores), ("head", logits)):
        for kept in (0.8, 0.7, 0.6, 0.5, 0.4):
            bar = np.quantile(rated[clear], 1 - kept)
            above = rated >= bar
            figures = f"{clear[above].mean():.2f} | {junk[above].mean():.2f}"
            yield f"| {kept} | {name} {bar:.2f} | {above.sum()} | {figures} |"


def heads_without(
    rows: Sequence[Row], features: Array, read: Statements
) -> dict[str, SentenceHead]:
    """Return for each writer a head that was fitted without them, except for plain statements.

    The weights for those are the package's (``bench.fit_wishes``), which took what each writer did
    not mean to last for examples of the moment: they lift less of it than they would of a
    stranger's.
    """
    writers = sorted({row.writer for row in rows} | set(read.writers))
    fold = {writer: at % HEADS for at, writer in enumerate(writers)}
    own = np.array([fold[row.writer] for row in rows])
    of_agents = np.array([fold[writer] for writer in read.writers])
    heads = []
    for left_out in range(HEADS):
        rest = [row for row, its in zip(rows, own, strict=True) if its != left_out]
        weights = fit(rest, features[own != left_out])
        made = document(
            weights, fit_statements(read, of_agents != left_out), np.zeros(2 * DIMENSION)
        )
        heads.append(parse(package_head() | made))
    return {writer: heads[at] for writer, at in fold.items()}


def document(weights: Array, of_statements: Array, of_memories: Array) -> dict[str, Any]:
    """Return what the head file says of sentences; *of_memories* are weights of states alone."""
    of_states = (weights[: 2 * DIMENSION], of_statements[: 2 * DIMENSION], of_memories)
    all_ = np.column_stack(of_states)
    by_name = {
        name: [round(float(each), 3) for each in row]
        for name, row in zip(SIGNS, weights[2 * DIMENSION :], strict=True)
    }
    of_agent = zip(STATEMENT_SIGNS, of_statements[2 * DIMENSION :], strict=True)
    return {
        "signs": by_name,
        "statement_signs": _rounded(dict(of_agent)),
        "states": base64.b64encode((STATES_SCALE * all_).astype("<f2").tobytes()).decode(),
    }


def _rounded(weights: Mapping[str, float]) -> dict[str, float]:
    return {name: round(float(each), 3) for name, each in weights.items()}


if __name__ == "__main__":
    main()
