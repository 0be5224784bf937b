"""What naps tell of what agents say: ``python -m tests.bench.statements DIR``.

``labels/others/statements-fit.jsonl`` and ``-held.jsonl`` refer to turns of recorded sessions in
public repositories (``labels/README.md``): readers who knew no rule read what the agent said at the
end of each, sentence by sentence, and wrote down what somebody would be glad to know a week later.
The turns are drawn at random, up to 26 of a writer. The division is by writer; those of the
second (``--held``) are only scored. DIR holds the pages, in folders of whatever names. A turn
of which a sentence that is worth it is cut otherwise today counts as *changed*.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench.nap_scores import stands_in
from bench.reader_labels import LABELS
from bench.sentence_judge import distilled
from bench.sentences import read_messages
from bench.transcripts import Message
from memd.sleep.distil.agent.outcomes import RatedSentence, rate_sentences, words_asked
from memd.sleep.distil.compose import turns
from memd.sleep.distil.exchanges import Exchange, NapKind, split_exchanges

CLEAR = 2
"""The worth of what is clearly worth it; 1 may be argued about, 0 is what nobody asks for."""
SHA_CHARS = 8


class ReadText(NamedTuple):
    """The sentences of a text that a reader judged, rated by rule, and the worth of each.

    *is_last* says whether it is the last of its turn.
    """

    sentences: list[RatedSentence]
    worths: list[int]
    is_last: bool


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.statements", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--held", action="store_true", help="the writers that are only scored")
    options = parser.parse_args(argv)
    print(json.dumps(measure(options.folder, "held" if options.held else "fit")))


def measure(folder: Path, split: str) -> dict[str, Any]:
    """Return how many of the sentences are told, as [told, all], and what turns that are tell."""
    kept, whole = Counter[int](), Counter[int]()
    best = Counter[int | None]()
    for page, path in pages(folder, split):
        messages = read_messages(path)
        exchanges = by_place(messages)
        memories = [each.text for each in distilled(messages) if each.kind is not NapKind.DIGEST]
        for turn in page["turns"]:
            texts = read_turn(turn, exchanges)
            own = [] if texts is None else list(_flat(texts))
            mine = [worth for worth, text in own if any(stands_in(text, each) for each in memories)]
            whole.update(worth for worth, _ in own)
            kept.update(mine)
            best[None if texts is None else max(mine, default=-1)] += 1
    turns_kept = best[0] + best[1] + best[CLEAR]
    return {
        "turns": best.total(),
        "changed": best[None],
        "clearly worth it": [kept[CLEAR], whole[CLEAR]],
        "may be argued about": [kept[1], whole[1]],
        "turns of which something is told": turns_kept,
        "of these clearly worth it": round(best[CLEAR] / turns_kept, 3),
        "of these not worth it": round(best[0] / turns_kept, 3),
    }


def pages(folder: Path, split: str) -> list[tuple[dict[str, Any], Path]]:
    """Return the labels of each page of *split*, and where it lies below *folder*."""
    lines = (LABELS / "others" / f"statements-{split}.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    paths = {path.name: path for path in folder.rglob("*.md")}
    if missing := sorted({Path(row["path"]).name for row in rows} - set(paths)):
        raise SystemExit(f"no page {missing[0]} below {folder}")
    return [(row, paths[Path(row["path"]).name]) for row in rows]


def by_place(messages: Sequence[Message]) -> dict[int, Exchange]:
    """Return the exchanges of a session by the places of their first messages."""
    made = turns(split_exchanges(messages))
    return {each.exchange.place: each.exchange for each in made}


def read_turn(row: dict[str, Any], exchanges: Mapping[int, Exchange]) -> list[ReadText] | None:
    """Return what was judged of the texts of a turn, None where it is cut otherwise today."""
    exchange = exchanges.get(row["place"])
    if exchange is None:
        return None
    asked = words_asked(exchange)
    texts: list[ReadText] = []
    for text in exchange.texts:
        if (shown := row["texts"].get(str(text.place))) is not None:
            sentences = list(rate_sentences(text.text, asked))[:shown]
            worths = [row["worth"].get(sha(each.text), 0) for _, each in sentences]
            texts.append(ReadText(sentences, worths, text is exchange.texts[-1]))
    count = sum(worth > 0 for each in texts for worth in each.worths)
    return texts if count >= len(row["worth"]) else None


def sha(text: str) -> str:
    """Return how the labels name a sentence."""
    return hashlib.sha256(text.encode()).hexdigest()[:SHA_CHARS]


def _flat(texts: Sequence[ReadText]) -> Iterator[tuple[int, str]]:
    for text in texts:
        for (_, line), worth in zip(text.sentences, text.worths, strict=True):
            yield worth, line.text


if __name__ == "__main__":
    main()
