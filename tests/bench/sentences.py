"""What naps keep of what people say: ``python -m tests.bench.sentences DIR``.

``labels/others/sentences-fit.jsonl`` and ``-held.jsonl`` refer to messages of 74 writers to their
agents, in public repositories (``labels/README.md``): readers who knew no rule read them sentence
by sentence and wrote down what a new session would do better work for knowing. The messages are
drawn at random, up to 170 of a writer, and beside them some of which rules kept something
(*drawn*); these are not scored. The division is by writer; those of the second (``--held``) are
only scored. DIR holds the pages, in folders of whatever names. A message that is cut into other
sentences today counts as *changed*.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench.nap_scores import stands_in
from bench.reader_labels import LABELS
from bench.sentence_judge import distilled
from bench.transcripts import Message, specstory
from memd.sleep.distil.compose import turns
from memd.sleep.distil.exchanges import NapKind, NapMemory, split_exchanges
from memd.text.words import sentences

KINDS = {
    "P": "preference",
    "K": "constraint",
    "D": "decision",
    "C": "correction",
    "E": "environment",
}
CLEAR = 2
"""The strength of what is clearly worth it; 1 may be argued about."""


class ReadMessage(NamedTuple):
    """The sentences of a message, and which are worth it.

    *place* is that of the message. *worth* is by the places of the sentences, each as in the file
    ("P2"); *is_random* says that the message was drawn at random, *turn* which one it is, *stopped*
    that the agent had been interrupted.
    """

    place: int
    sentences: list[str]
    worth: dict[int, str]
    is_random: bool
    turn: int
    stopped: bool


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.sentences", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--held", action="store_true", help="the writers that are only scored")
    options = parser.parse_args(argv)
    print(json.dumps(measure(options.folder, "held" if options.held else "fit")))


def measure(folder: Path, split: str) -> dict[str, Any]:
    """Return what is kept of the messages drawn at random, sentences by kind, as [kept, all]."""
    paths = {path.name: path for path in folder.rglob("*.md")}
    rows = labels(split)
    if missing := sorted({Path(row["path"]).name for row in rows} - set(paths)):
        raise SystemExit(f"no page {missing[0]} below {folder}")
    asked = sum(len(row["messages"]) for row in rows)
    read: list[tuple[ReadMessage, list[bool]]] = []
    for row in rows:
        messages = read_messages(paths[Path(row["path"]).name])
        memories = [each for each in distilled(messages) if each.kind is not NapKind.DIGEST]
        read += [(each, _are_kept(each, memories)) for each in read_page(row, messages)]
    drawn = [each for each in read if each[0].is_random]
    kept, whole = Counter[str](), Counter[str]()
    for message, are_kept in drawn:
        for at, label in message.worth.items():
            group = KINDS[label[0]] if int(label[1]) == CLEAR else "may be argued about"
            whole[group] += 1
            kept[group] += are_kept[at]
        if not message.worth:
            whole["messages of the moment"] += 1
            kept["messages of the moment"] += any(are_kept)
    clear = [sum(counts[kind] for kind in KINDS.values()) for counts in (kept, whole)]
    return {
        "messages": len(drawn),
        "changed": asked - len(read),
        "clearly worth it": clear,
        **{group: [kept[group], whole[group]] for group in sorted(whole)},
    }


def labels(split: str) -> list[dict[str, Any]]:
    """Return the labelled messages of *split*, by page."""
    path = LABELS / "others" / f"sentences-{split}.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def read_messages(path: Path) -> list[Message]:
    """Return the messages of a recorded page."""
    return specstory(path.read_text("utf-8", errors="replace"), sidechains=False)


def _are_kept(message: ReadMessage, memories: Sequence[NapMemory]) -> list[bool]:
    """Return of each sentence of *message* whether it stands in one of the *memories*."""
    texts = [each.text for each in memories if message.place in each.places]
    return [any(stands_in(sentence, text) for text in texts) for sentence in message.sentences]


def read_page(row: dict[str, Any], messages: Sequence[Message]) -> Iterator[ReadMessage]:
    """Yield the labelled messages of one page that are cut as they were when they were read."""
    labelled = {message["place"]: message for message in row["messages"]}
    for number, turn in enumerate(turns(split_exchanges(messages))):
        place = turn.exchange.place
        lines = [line for paragraph in turn.fresh.paragraphs for line in paragraph.split("\n")]
        own = [sentence for line in lines for sentence in sentences(line)]
        label = labelled.get(place)
        if label is not None and label["of"] == len(own):
            worth = {int(at): each for at, each in label.get("worth", {}).items()}
            is_random = "drawn" not in label
            yield ReadMessage(place, own, worth, is_random, number, turn.stopped)


if __name__ == "__main__":
    main()
