"""A correction told on purpose is in a prompt wherever what it corrects is, and before it."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.daemon import spawned

pytestmark = pytest.mark.model

# A statement, how somebody corrects it days later, and a question about it.
CORRECTED = (
    (
        "The watchdog timeout on the valve board is 4 seconds",
        "correction: watchdog is 8 seconds, 4 was too short",
        "How long until the board resets itself?",
    ),
    (
        "The uart console runs at 115200 baud",
        "actually the console is at 921600 now",
        "At which speed do I open the serial port?",
    ),
    (
        "Redis holds the sessions of the shop",
        "we no longer use Redis, Valkey has the sessions",
        "Where does the shop keep who is logged in?",
    ),
    (
        "Marta is the contact at the hosting company",
        "Correction: contact at the hosting company is Jonas",
        "Whom do I call when the hosting is down?",
    ),
    (
        "Invoices are sent on the first of the month",
        "actually invoices go out on the fifth",
        "When do customers get their bill?",
    ),
    (
        "The freezer in the cellar is set to -18 degrees",
        "my mistake, the freezer is set to -20",
        "How cold is it in the freezer?",
    ),
    (
        "Nightly builds are kept for thirty days",
        "scratch that, nightly builds are kept for ten days only",
        "How far back can I download a build?",
    ),
    (
        "Der Hausmeister kommt dienstags",
        "Korrektur: der Hausmeister kommt jetzt donnerstags",
        "An welchem Tag ist der Hausmeister da?",
    ),
)
OTHERS = (
    "The lid of the terrarium is blue",
    "Actually I liked the second draft of the poster more",
    "We no longer buy oat milk at the corner shop",
    "The printer on the second floor jams on thick paper",
    "Correction: the choir meets in room 12",
)


def test_a_correction_comes_with_what_it_corrects_and_before_it(
    tmp_path: Path, model_dir: Path
) -> None:
    with (
        spawned(tmp_path, {"MEMD_MODEL_DIR": str(model_dir)}) as daemon,
        daemon.client() as client,
    ):
        for text in (*(old for old, _, _ in CORRECTED), *OTHERS, *(new for _, new, _ in CORRECTED)):
            client.call("memory.ingest", {"agent_id": "ada", "text": text})
        answers = [
            client.call("memory.recall", {"agent_id": "ada", "query": question})["memories"]
            for _, _, question in CORRECTED
        ]
    texts_of_each = [[entry["content"] for entry in entries] for entries in answers]
    for (old, new, _), texts in zip(CORRECTED, texts_of_each, strict=True):
        if old in texts:
            assert new in texts
            assert texts.index(new) < texts.index(old)
    assert (
        sum(new in texts for (_, new, _), texts in zip(CORRECTED, texts_of_each, strict=True)) >= 7
    )
