"""What came of an exchange, and why something went wrong, in the agent's own sentences."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.sleep.distil.agent.outcomes import (
    CAUSE_CHARS_MAX,
    OUTCOME_CHARS_MAX,
    cause,
    conclusion,
    outcome,
    pasted_error,
    trust_in_conclusion,
)
from memd.sleep.distil.exchanges import AgentText, Exchange, ToolRun

BUILT = (
    "Let me check the importer.",
    "Done. Here's a summary:\n\n- `importer.py` — rows are read in batches of `500` now, because"
    " the driver keeps every open cursor in memory\n- Tests pass\n\nWant me to run it?",
)


def _exchange(user: str, *texts: str, runs: tuple[ToolRun, ...] = ()) -> Exchange:
    answers = [AgentText(place, text) for place, text in enumerate(texts, 1)]
    return Exchange(0, user, (), answers, list(runs), len(texts))


def test_the_outcome_is_what_the_last_text_concludes_without_narration_and_questions() -> None:
    assert outcome(_exchange("the importer eats all memory", *BUILT)) == (
        "importer.py — rows are read in batches of 500 now, because the driver keeps every open"
        " cursor in memory."
    )


@pytest.mark.parametrize(
    "text",
    [
        "Je vais modifier `store.py` pour que le verrou `Lock` soit pris une seule fois.",
        "Maintenant, ajoutons la fonction `take` dans `store.py` et dans `lock.py`.",
        "Laissez-moi restaurer `store.py` en utilisant les fonctions de `lock.py`.",
        "Je ne peux pas ouvrir de compte pour vous dans `store.py` ou `lock.py`.",
        "Ich werde `store.py` und `lock.py` so anpassen, dass `Lock` einmal genommen wird.",
        "Ahora voy a cambiar `store.py` y `lock.py` para que `Lock` sea único.",
        "Теперь добавим функцию `take` в `store.py` и `lock.py` для `Lock`.",
    ],
)
def test_what_the_agent_is_about_to_do_or_cannot_is_told_in_no_language(text: str) -> None:
    assert outcome(_exchange("the lock is taken twice", text)) == ""


def test_that_all_went_well_is_told_only_with_what_else_it_says() -> None:
    more = "All 12 cache tests pass when `REDIS_URL` points to port `6380` instead of `6379`."
    assert outcome(_exchange("test it", "All tests pass.")) == ""
    assert outcome(_exchange("test it", more)) == more.replace("`", "")


def test_states_that_a_recorder_joined_are_no_outcome() -> None:
    joined = "Checking `a.py` for hooksSearching for `on_click` usesPlanning the `a.py` tests"
    assert outcome(_exchange("go on", joined)) == ""


def test_a_report_is_told_by_its_list_alone() -> None:
    report = "- `a.py` reads the port from `PORT` because of the proxy\n" * 120
    issues = "## Top 2 issues\n1. **The cache never expires**\n2. **No index on mail**\n"
    assert outcome(_exchange("review it", report)) != ""
    assert outcome(_exchange("review it", report + issues)) == ""


def test_an_exchange_that_only_narrates_has_no_outcome() -> None:
    texts = ("Let me look at `a.py`.", "Now I'll run `make`.", "Done.", "All tests pass.")
    assert outcome(_exchange("make it work", *texts)) == ""


def test_what_the_program_says_of_its_own_trouble_is_no_outcome() -> None:
    text = "API Error: 500 the port of `server.py` is not available because of an internal error."

    assert outcome(_exchange("move the server to port 4010", text)) == ""


@pytest.mark.parametrize(
    "line",
    [
        'rows = sorted(set(row["stage_id"] for row in crew_rows["all_of_them"]))',
        'await crew.withIndex("by_stage", (q) => q.eq("stage_id", args.stageId)).collect()',
        '"explanation": "Checking whether the server of stage.py answers on port 4010"',
        "ada@stage-1 crew.example.org % npm run build && npm start -- --port 4010",
        "I\u2019m going to move the port of `stage.py` to `4010` in `crew.toml`.",
        "npm WARN deprecated stage@1.0.6: use crew@2.0.0 of the registry instead",
        "/srv/stage/history/2026-01-02.md | L5046 | deleted: stage/lights.py |",
        "The user wants to change the name of `stage.py` to `hall.py` in `crew.toml`.",
        "warning: function stage/4010 of crew.toml is not implemented (in module hall.py)",
        "INSERT INTO stage_rows values of `crew.toml` on port 4010 were added",
        "start_stage(4010) # Starts the stage of `crew.toml` on its port",
        ".stage-light { color: #4010aa; border-width: 4010px; } fixed because crew.toml",
        "Lines added: 4010, lines removed: 51 in `crew.toml` of the stage",
        "ENGAGING THE STAGE ON PORT 4010 BECAUSE `CREW.TOML` WAS FIXED",
        "I plan to move the port of `stage.py` to `4010` in `crew.toml`.",
    ],
)
def test_what_a_program_printed_code_and_thoughts_are_no_outcome(line: str) -> None:
    assert outcome(_exchange("move the stage to port 4010", line)) == ""


def test_what_stands_among_printed_lines_is_printed() -> None:
    line = "the port `4010` of `stage.py` is the default of `crew.toml`."
    printed = "warning: function crew/1 of hall.py is never called here."
    text = f"{printed}\n{line}\n{printed}"
    assert outcome(_exchange("move the stage to port 4010", text)) == ""
    assert "4010" in outcome(_exchange("move the stage to port 4010", f"{printed}\n{line}"))


def test_an_earlier_text_is_told_where_the_last_one_concludes_nothing() -> None:
    texts = ("The port is hardcoded to `8080` in `proxy.ts`.", "Now let me run the linter.")
    assert "8080" in outcome(_exchange("where is the port set?", *texts))


def test_a_conclusion_that_the_user_takes_back_is_not_told() -> None:
    assert outcome(_exchange("x", *BUILT), "no, that did nothing") == ""
    assert outcome(_exchange("x", *BUILT), "great, now the docs") != ""


@pytest.mark.parametrize(
    ("following", "least", "most"),
    [
        ("Works, thanks!", 1.1, 2.0),
        ("Nope. Still the same", 0.0, 0.0),
        ("wrong file", 0.0, 0.0),
        ("now I get\nTypeError: x is undefined", 0.1, 0.9),
        ("next, the docs", 1.0, 1.0),
        ("nothing else, thank you", 1.0, 1.0),
        ("", 1.0, 1.0),
    ],
)
def test_the_users_next_words_tell_how_far_a_conclusion_is_trusted(
    following: str, least: float, most: float
) -> None:
    assert least <= trust_in_conclusion(following) <= most


def test_a_cause_is_told_where_a_command_failed() -> None:
    broken = ToolRun(1, "1", "Bash", {"command": "npm start"}, "Exit code 1\nEADDRINUSE")
    texts = ("The issue is that port `3000` is held by the old container.", "Restarted it.")
    assert cause(_exchange("start it", *texts, runs=(broken,))) == (
        "The issue is that port 3000 is held by the old container."
    )
    assert cause(_exchange("start it", *texts)) == ""


def test_a_cause_is_told_where_the_user_shows_an_error_and_never_a_guess() -> None:
    user = "ModuleNotFoundError: No module named 'yaml'"
    sure = "`requirements-dev.txt` is missing `pyyaml`, which the loader requires."
    guess = "It's probably because `pyyaml` is missing in `requirements-dev.txt`."
    assert cause(_exchange(user, sure)) != ""
    assert cause(_exchange(user, guess)) == ""


def test_a_sentence_is_told_once_where_it_is_cause_and_outcome() -> None:
    text = "The build fails when `NODE_ENV` is not set, because `webpack.config.js` reads it."
    assert conclusion(_exchange("why does the build fail?", text)) == text.replace("`", "")


def test_the_error_that_the_user_pasted_stands_before_its_cause() -> None:
    user = (
        "now the release stops\n$ make release\nbuilding\nLockError: only lockfile 3 is supported"
    )
    text = (
        "The runner has `npm 8`, which still writes lockfile 2. Updated `release.yml` to `npm 10`."
    )
    assert conclusion(_exchange(user, text)) == (
        "LockError: only lockfile 3 is supported\n"
        "The runner has npm 8, which still writes lockfile 2. Updated release.yml to npm 10."
    )


def test_a_patch_that_the_user_pasted_shows_no_error() -> None:
    user = "review it\n@@ -1,2 +1,2 @@\n-raise ValueError: old\n+raise ValueError: new"
    assert pasted_error(user) == ""


def test_the_same_exchange_says_the_same_whatever_is_said_before_it() -> None:
    exchange = _exchange("the importer eats all memory", *BUILT)
    before = Exchange(
        7, exchange.user, (AgentText(2, "The disk was full."),), exchange.texts, [], 9
    )
    assert conclusion(exchange) == conclusion(before)


@given(st.text(max_size=300), st.text(max_size=600), st.text(max_size=80))
def test_no_text_is_an_error_and_none_is_too_long(user: str, text: str, following: str) -> None:
    exchange = _exchange(user, text)
    assert len(outcome(exchange, following)) <= OUTCOME_CHARS_MAX + 2
    assert len(cause(exchange)) <= CAUSE_CHARS_MAX + 2


@pytest.mark.parametrize(
    "answer",
    [
        "Next steps: 1. Improve error handling; 2. Write more tests; 3. Deploy to production.",
        "Checking the config fileReviewing how the cache is builtPlanning the tests.",
        "\u2705 Everything is complete and production-ready! You can now try it and let me know:",
        "First, we need to fix the failing test. You will need to run the migration:",
        "## Key improvements\n1. **Modern page layout**\n2. **Robust card styling**\n",
    ],
)
def test_plans_and_titles_are_no_outcome(answer: str) -> None:
    assert outcome(Exchange(0, "make the cards look better", texts=[AgentText(1, answer)])) == ""
