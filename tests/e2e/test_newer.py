"""What a person says now is told before what they said before, by the real model."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.daemon import spawned

pytestmark = pytest.mark.model

# What was said, what is said months later, and a question in the words of the first.
OUTDATED = (
    (
        "staging host is heron, that's the raspberry pi under my desk",
        "the pi under my desk died. staging is plover now, an old NUC",
        "What is the staging host?",
    ),
    (
        "never commit without asking me first, I like to look at the diff",
        "stop asking me for each commit, commit small steps on your own",
        "Do you have to ask before a commit?",
    ),
    (
        "my doctor thinks I'm lactose intolerant since last week",
        "it isn't lactose at all, I have coeliac disease, so no gluten",
        "Am I lactose intolerant?",
    ),
    (
        "payment is mollie, the keys are in 1Password",
        "Mollie is out, they pay with Stripe because of the subscriptions",
        "Which payment provider?",
    ),
)
# Two things, of which the second one was said later.
ALIKE = (
    (
        "the big tent weighs 3.1 kg with pegs",
        "the small stove weighs 400 g now, it was the pot that was heavy",
        "How much does the big tent weigh?",
    ),
)
RULE_ANSWER = "Understood, I will ask before every commit."


def test_what_is_said_now_comes_before_what_it_outdates(tmp_path: Path, model_dir: Path) -> None:
    with (
        spawned(tmp_path, {"MEMD_MODEL_DIR": str(model_dir)}) as daemon,
        daemon.client() as client,
    ):
        early = [old for old, _, _ in (*OUTDATED, *ALIKE)]
        late = [new for _, new, _ in (*OUTDATED, *ALIKE)]
        for day, text in enumerate([*early, *late], 1):
            turn = {"text": text, "origin": "person", "session_id": f"s{day}"}
            at = f"2026-03-{day:02}T10:00:00Z"
            client.call("memory.ingest", {**turn, "agent_id": "ada", "occurred_at": at})
        answer = {"text": RULE_ANSWER, "origin": "assistant", "session_id": "s2"}
        at = "2026-03-02T10:01:00Z"
        client.call("memory.ingest", {**answer, "agent_id": "ada", "occurred_at": at})
        answers = [
            client.call("memory.recall", {"agent_id": "ada", "query": query})["memories"]
            for _, _, query in (*OUTDATED, *ALIKE)
        ]

    for (old, new, _), entries in zip(OUTDATED, answers, strict=False):
        texts = [entry["content"] for entry in entries]
        relevance = [entry["relevance_score"] for entry in entries if not entry["preference"]]
        assert new in texts, texts
        assert old not in texts or texts.index(new) < texts.index(old)
        assert RULE_ANSWER not in texts or texts.index(new) < texts.index(RULE_ANSWER)
        assert relevance == sorted(relevance, reverse=True)
    ((old, new, _),) = ALIKE
    assert answers[-1][0]["content"] == old
