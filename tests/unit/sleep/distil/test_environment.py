"""Where things are and how they are run, each thing once and the newest."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.sleep.distil.environment.commands import COMMANDS_SLOT, covers_a_part, runners
from memd.sleep.distil.environment.environment import environment
from memd.sleep.distil.exchanges import AgentText, Exchange, NapKind, ToolRun


def _bash(line: str, result: str = "ok") -> ToolRun:
    return ToolRun(3, "", "Bash", {"command": line}, result)


def _exchange(place: int, answer: str, *runs: ToolRun, user: str = "go on") -> Exchange:
    return Exchange(
        place, user, (), [AgentText(place + 1, answer)] if answer else [], list(runs), place + 1
    )


def _facts(*exchanges: Exchange) -> dict[str, str]:
    return {each.memory.slot: each.memory.text for each in environment(exchanges)}


def _sentences(*texts: str) -> Sequence[str]:
    facts = _facts(*(_exchange(2 * at, text) for at, text in enumerate(texts)))
    return [text for slot, text in facts.items() if not slot.startswith(COMMANDS_SLOT)]


def test_the_commands_that_passed_are_a_memory_for_each_purpose_in_their_shortest_form() -> None:
    exchange = _exchange(
        0,
        "",
        _bash("cd /srv/shop && npm test -- --grep basket 2>&1 | tail -5"),
        _bash("npm test"),
        _bash("npm run build", "Exit code 1\nerror"),
        _bash("cd /srv/shop && docker compose up -d db"),
        _bash("ls -la"),
        _bash("docker compose --help"),
    )
    assert _facts(exchange) == {
        f"{COMMANDS_SLOT}test": "To run the tests here: npm test",
        f"{COMMANDS_SLOT}run": "To start or run it here: docker compose up -d db",
    }
    assert {made.memory.kind for made in environment([exchange])} == {NapKind.ENVIRONMENT}


@pytest.mark.parametrize("line", ["make check", "just check", "make lint", "cargo clippy"])
def test_what_checks_is_told_to_check(line: str) -> None:
    facts = _facts(_exchange(0, "", _bash(line), _bash("npm test")))
    assert facts[f"{COMMANDS_SLOT}check"] == f"To lint or check the code here: {line}"


def test_a_folder_that_a_command_names_does_not_tell_what_it_is_for() -> None:
    logged_in = "ssh -p 2222 deploy@web.example.org uptime"
    timed = ("/usr/bin/time -v ./target/release/sieve big.log", "hyperfine build/bin/sieve")
    assert told_commands("npm test", logged_in, *timed) == ["npm test"]
    facts = _facts(_exchange(0, "", _bash("./target/release/sieve"), _bash("ops/deploy.sh")))
    assert facts == {
        f"{COMMANDS_SLOT}run": "To start or run it here: ./target/release/sieve",
        f"{COMMANDS_SLOT}deploy": "To deploy or release it: ops/deploy.sh",
    }


def told_commands(*lines: str) -> list[str]:
    """Return the commands that a session which ran *lines* is told to have run."""
    facts = _facts(_exchange(0, "", *(_bash(line) for line in lines)))
    return [line for text in facts.values() for line in text.partition(": ")[2].split("; ")]


def test_what_sets_up_or_installs_neither_tests_nor_builds() -> None:
    exchange = _exchange(
        0,
        "",
        _bash("pnpm create playwright --quiet"),
        _bash("npx create-next-app@latest test-shop"),
        _bash("npx tailwindcss init -p"),
        _bash("cargo new build-tools"),
        _bash("npx playwright install chromium"),
        _bash("make install"),
        _bash("npm ci && npm test"),
        _bash("pytest tests/install"),
    )
    assert _facts(exchange) == {
        f"{COMMANDS_SLOT}install": "To install it or set it up here: npx playwright install"
        " chromium; make install",
        f"{COMMANDS_SLOT}test": "To run the tests here: npm ci && npm test; pytest tests/install",
    }


def test_what_moves_a_project_to_another_tool_is_run_once() -> None:
    movers = (
        "uvx migrate-to-uv",
        "npx -y @eslint/migrate-config .eslintrc",
        "npx js-to-ts src",
    )
    assert told_commands(*movers, "npm test") == ["npm test"]
    migrates = ("npx prisma migrate deploy", "uv run alembic upgrade head")
    assert told_commands(*migrates, *movers) == list(migrates)


@pytest.mark.parametrize(
    "line",
    [
        "goose -dir db/migrations create outbox sql",
        "migrate create -ext sql -dir db -seq orders",
        "dbmate new orders",
        "uv run alembic revision --autogenerate -m orders",
        "npx knex migrate:make orders",
        "bin/rails g migration AddOrders",
        "php artisan make:migration orders",
        "diesel migration generate orders",
        "sqlx migrate add orders",
        "dotnet ef migrations add Orders",
        "npx sequelize-cli migration:generate --name orders",
        "mix ecto.gen.migration orders",
    ],
)
def test_what_writes_a_new_migration_migrates_nothing(line: str) -> None:
    migrates = ("goose -dir db/migrations up", "npx knex migrate:latest", "rails db:migrate")
    assert told_commands(migrates[0], line) == [migrates[0]]
    assert told_commands(*migrates[1:], line) == list(migrates[1:])


def test_a_script_is_not_how_a_project_is_run_whatever_calls_its_interpreter() -> None:
    scripts = ("uv run python scripts/pg_to_sqlite.py", "poetry run tools/b.py", "./scripts/a.sh")
    others = ("npm test", "./gradlew bootRun")
    assert told_commands(*others, *scripts, 'uv run python -c "import app"') == list(others)
    servers = ("uv run python main.py", "uv run uvicorn app.main:app")
    assert told_commands(*servers, *scripts) == list(servers)


def test_what_make_is_called_for_tells_what_a_command_is_for() -> None:
    lines = ("make deploy", "make dist", "make", "make install", "docker compose up -d --build")
    facts = _facts(_exchange(0, "", *map(_bash, lines)))
    assert {slot.removeprefix(COMMANDS_SLOT): text for slot, text in facts.items()} == {
        "deploy": "To deploy or release it: make deploy",
        "build": "To build or compile it here: make dist; make",
        "install": "To install it or set it up here: make install",
        "run": "To start or run it here: docker compose up -d --build",
    }


def test_what_sets_up_a_runner_makes_its_command_one_of_two() -> None:
    lines = ("pnpm create playwright --quiet", "pnpm exec playwright test")
    assert told_commands(*lines) == [lines[1]]


def test_a_runner_that_was_removed_or_is_not_found_is_gone() -> None:
    exchange = _exchange(
        0,
        "",
        _bash("npm test", 'Exit code 1\nnpm error Missing script: "test"'),
        _bash("tox", "Exit code 127\nbash: tox: command not found"),
        _bash("pip install tox"),
        _bash("tox"),
        _bash("pnpm remove -D @playwright/test"),
        _bash("npx vitest run"),
        _bash("npm run build", "Exit code 1\nsrc/a.ts: error TS2304"),
    )
    gone = {each.memory.old_runners for each in environment([exchange])}
    assert gone == {("playwright", "test")}


def test_what_removes_a_package_and_what_saves_the_work_is_no_command_of_the_project() -> None:
    removing = "poetry remove black -G dev && git commit -qam 'Use ruff format only'"
    assert told_commands("pytest -q && git commit -qam 'More tests; all pass'", removing) == [
        "pytest -q"
    ]


def test_what_follows_the_removal_of_a_package_is_a_command_of_the_project() -> None:
    assert told_commands("cargo remove once_cell && cargo +1.80 check && cargo test") == [
        "cargo +1.80 check && cargo test"
    ]
    changing = "uv remove tags && uv add 'django==5.1.2' && python manage.py check"
    assert told_commands(changing) == ["python manage.py check"]


def test_what_only_looks_writes_a_text_or_accepts_a_change_is_no_command_of_the_project() -> None:
    lines = (
        "ssh web1 'cd shop && cat package.json | grep next'",
        "apply_patch <<'EOF'\n*** Begin Patch\n*** End Patch\nEOF",
        "python build.py <<EOF\n1\nEOF",
        "cargo insta test --accept",
    )
    assert told_commands("npm test", *lines * 3) == ["npm test"]
    accepting = "cargo insta review --accept && cargo nextest run"
    assert told_commands("cargo nextest run", accepting, "npx jest --updateSnapshot") == [
        "cargo nextest run"
    ]


def test_a_command_of_another_folder_is_told_with_it() -> None:
    assert told_commands(
        "cd /srv/shop && go test ./...",
        "cd /srv/shop/ && go build ./...",
        'cd "/srv/shop/my web" && npm test',
        "cd /srv/shop && cd ./docs; npm run build",
        "cd /srv/bank && npm start",
    ) == [
        "go test ./...",
        'cd "my web" && npm test',
        "go build ./...",
        "cd docs && npm run build",
        "cd /srv/bank && npm start",
    ]


def test_the_folder_of_one_command_is_not_that_of_the_project() -> None:
    lines = ("npm test", "npm run build", "cd /srv/bank && npm start")
    assert told_commands(*lines) == list(lines)
    trial = ("npm test", "npm run build", "cd /tmp/trial && npm start", 'cd "/tmp/a b" && make')
    assert told_commands(*trial) == ["npm test", "npm run build"]


def test_a_command_in_a_folder_that_the_line_does_not_tell_is_none() -> None:
    unknown = ("cd .. && npm start", "cd - && make", 'cd "$ROOT" && npm ci')
    assert told_commands("npm test", "npm run build", *unknown) == ["npm test", "npm run build"]


def test_the_project_is_the_folder_above_those_that_commands_enter() -> None:
    assert told_commands(
        "cd /srv/shop && make test",
        "cd /srv/shop/web && npm test",
        "cd /srv/shop/web && npm run build",
        "cd .storybook && npm start",
    ) == [
        "make test",
        "cd web && npm test",
        "cd web && npm run build",
        "cd .storybook && npm start",
    ]


def test_a_folder_above_the_project_that_is_only_looked_at_is_not_the_project() -> None:
    lines = ("cd /srv && ls", "cd /srv/shop && npm test", "cd /srv/shop && npm run build")
    assert told_commands(*lines) == ["npm test", "npm run build"]


def test_what_a_command_reads_from_another_is_not_cut_off() -> None:
    inner = "docker exec $(docker ps -q | head -1) pytest"
    lines = (inner, "npm run migrate 2>&1 && npm test")
    assert told_commands(*lines) == list(lines)


def test_folders_on_windows_are_told_apart() -> None:
    assert told_commands(
        "cd C:\\srv\\shop && npm test",
        "cd C:\\srv\\shop\\ && npm test",
        "cd C:\\srv\\shop\\web && npm run build",
    ) == ["npm test", "cd web && npm run build"]


def test_a_folder_tells_not_what_its_command_is_for() -> None:
    exchange = _exchange(0, "", _bash("cd tests && npm start"), _bash("npm run build"))
    assert f"{COMMANDS_SLOT}test" not in _facts(exchange)
    assert _facts(exchange)[f"{COMMANDS_SLOT}run"].endswith("cd tests && npm start")


def test_what_is_run_in_a_part_of_the_project_covers_a_part() -> None:
    assert covers_a_part("To run the tests here: cd web && npm test")
    assert not covers_a_part("To run the tests here: npm test; cd web && npm test")


@pytest.mark.parametrize(
    ("line", "is_part"),
    [
        ("cargo test parser", True),
        ("cargo test --release parser::empty", True),
        ("cargo +1.80 test", True),
        ("cargo clippy -p api", True),
        ("go test -run TestCart ./...", True),
        ("pytest -q orders", True),
        ("python manage.py test orders", True),
        ("npm test -- -t cart", True),
        ("npx vitest run cart", True),
        ("dbt build --select fct_sales+", True),
        ("dbt build --select=fct_sales", True),
        ("dbt build --target ci", False),
        ("cargo test --features sqlite", False),
        ("cargo test -- --nocapture", False),
        ("pytest -n auto", False),
        ("pytest tests", False),
        ("python -m pytest -p no:cacheprovider", False),
        ("pnpm test --run", False),
        ("npx vitest run", False),
        ("go test ./...", False),
    ],
)
def test_an_argument_selects_a_part_of_the_tests(line: str, is_part: bool) -> None:
    assert covers_a_part(f"To run the tests here: {line}") is is_part


def test_the_command_for_all_tests_comes_before_those_for_a_part() -> None:
    lines = ("pytest tests/a.py",) * 3 + ("npx jest cart",) * 2 + ("make test",)
    assert told_commands(*lines) == ["make test", "pytest tests/a.py"]


def test_one_command_alone_takes_only_room_that_others_leave() -> None:
    [alone] = environment([_exchange(0, "", _bash("tectonic -X build"))])
    assert alone.memory.text == "To build or compile it here: tectonic -X build"
    assert alone.fills
    assert environment([_exchange(0, "", _bash("terraform plan"))]) == []
    assert not any(
        each.fills for each in environment([_exchange(0, "", _bash("make"), _bash("make test"))])
    )


def test_what_was_run_for_the_day_alone_is_not_told() -> None:
    exchange = _exchange(
        0,
        "",
        ToolRun(3, "", "Write", {"file_path": "/srv/reproduce.py", "content": "x"}, "ok"),
        _bash("python reproduce.py"),
        _bash("python reproduce.py"),
        _bash("python reproduce.py"),
        _bash("solve 1475"),
        _bash("pip install -e ."),
        _bash("uv run pytest"),
    )
    assert _facts(exchange) == {
        f"{COMMANDS_SLOT}test": "To run the tests here: uv run pytest",
        f"{COMMANDS_SLOT}install": "To install it or set it up here: pip install -e .",
    }


@pytest.mark.parametrize(
    ("line", "purpose"),
    [("uv sync", "install"), ("go mod download", "install"), ("./bin/shop sync", "run")],
)
def test_a_word_that_many_programs_have_says_its_purpose_after_a_package_manager_only(
    line: str, purpose: str
) -> None:
    facts = _facts(_exchange(0, "", _bash(line), _bash("npm test")))
    assert facts[f"{COMMANDS_SLOT}{purpose}"].endswith(f": {line}")


def test_what_the_user_types_in_a_terminal_is_told_with_its_folder() -> None:
    first = "it hangs\n\nada@box:~/shop/web$ ./bin/serve --port 8080\nlistening"
    later = "now this\n[10:12  ~/shop/jobs] bin/work --once\ndone"
    exchanges = [_exchange(0, "", user=first), _exchange(2, "", user=later)]
    assert _facts(*exchanges) == {
        f"{COMMANDS_SLOT}by-hand": (
            "The user runs: ./bin/serve --port 8080 in ~/shop/web; bin/work --once in ~/shop/jobs"
        )
    }


@pytest.mark.parametrize(
    "pasted",
    [
        "[28:0214/165949.353:ERROR:shared_image_manager.cc(220)] Trying to produce one",
        "  \u276f src/undo.test.js:317:26",
        " \u276f browser (chromium) src/undo.test.js (7 tests | 4 failed) 120915ms",
        "ada@box:/srv/shop$ the remote host runs on linux",
    ],
)
def test_what_only_looks_like_a_terminal_is_no_command(pasted: str) -> None:
    assert _facts(_exchange(0, "", user=f"it fails\n{pasted}\ndone")) == {}


@pytest.mark.parametrize(
    ("opening", "is_own"),
    [
        ("user reports this on windows logs:", False),
        ("a customer on Fedora wrote:", False),
        ("one of our users got this:", False),
        ("This is from a customer.", False),
        ("can you reproduce this bug report?", False),
        ("what about issue #231", False),
        ("Ein Kunde schreibt:", False),
        ("Jemand hat gemeldet:", False),
        ("Das kam von einem Nutzer:", False),
        ("as a user i get this:", True),
        ("the user table has 3 rows too many:", True),
        ("the user service fails:", True),
        ("the user got created, but then:", True),
        ("I reported this to the vendor:", True),
        ("so melde ich mich als Benutzer an:", True),
        ("Die Kunden-Tabelle hat das Feld nicht:", True),
    ],
)
def test_what_another_person_ran_is_no_command_of_the_user(opening: str, is_own: bool) -> None:
    exchange = _exchange(0, "", user=f"{opening}\n\n$ bin/logs --level error\nerror: line 1")
    assert bool(_facts(exchange)) is is_own


def test_what_sets_up_the_shell_is_no_command_of_its_own() -> None:
    text = "To run the tests here: export A=1; pytest tests/a.py; B=2; cd web && npx vitest run"
    assert runners(text) == {"pytest", "web vitest"}
    assert runners(text, {"pytest"}) == {"web vitest"}
    assert covers_a_part("To run the tests here: export A=1; pytest tests/a.py")
    assert not covers_a_part("To run the tests here: export A=1; pytest")


def test_a_number_is_no_command() -> None:
    counts = (_bash("10000"), _bash("10000"), _bash("10000"))
    assert list(_facts(_exchange(0, "", *counts, _bash("npm test"), _bash("npm start")))) == [
        f"{COMMANDS_SLOT}test",
        f"{COMMANDS_SLOT}run",
    ]


@pytest.mark.parametrize("line", ["npm install -D zod", "pip install jinja2", "pnpm add nanoid"])
def test_what_adds_a_package_sets_nothing_up(line: str) -> None:
    commands = _facts(_exchange(0, "", _bash(line), _bash("npm test"), _bash("npm start")))
    assert f"{COMMANDS_SLOT}install" not in commands


@pytest.mark.parametrize("line", ["npm install", "pip install -r dev.txt", "uv pip install -e ."])
def test_what_installs_a_project_sets_it_up(line: str) -> None:
    commands = _facts(_exchange(0, "", _bash(line), _bash("npm test"), _bash("npm start")))
    assert commands[f"{COMMANDS_SLOT}install"].endswith(line)


def test_a_sentence_that_a_model_finds_worth_nothing_is_not_told() -> None:
    text = "The dev server listens on http://localhost:5173 since the move."
    exchange = _exchange(0, text)
    assert _facts(exchange) != {}
    exchange.texts = [each._replace(worths={text: -3.0}) for each in exchange.texts]
    assert _facts(exchange) == {}


def test_a_sentence_that_says_where_something_runs_is_told() -> None:
    assert _sentences("The dev server listens on http://localhost:5173 since the move.") == [
        "The dev server listens on http://localhost:5173 since the move."
    ]
    assert _sentences("Let me see. `API_KEY` must be set in `.env` before the worker starts.") == [
        "API_KEY must be set in .env before the worker starts."
    ]


def test_what_is_planned_guessed_or_asked_is_not_told() -> None:
    assert not _sentences(
        "Setting `API_KEY` in `.env` requires a restart of localhost:5173.",
        "`API_KEY` should be set in `.env` on localhost:5173.",
        "Is `API_KEY` set in `.env` for localhost:5173?",
        "Let me see where `API_KEY` is read from `.env`.",
        "Either `API_KEY` is stored in `.env` or the port 5173 is taken.",
    )


def test_of_one_subject_the_newest_is_told_and_one_sentence_a_stretch() -> None:
    texts = (
        "The database listens on localhost:5432 and needs `PG_USER`.",
        "The database listens on localhost:5432 and requires `PG_USER` and `PG_PASS`.",
        "The queue lives at localhost:6379 here.",
    )
    assert _sentences(*texts) == [texts[1].replace("`", "")]


def test_a_slot_names_the_subject_and_so_is_the_same_in_another_session() -> None:
    one = _facts(_exchange(0, "The proxy listens on localhost:8443 and needs `TLS_KEY`."))
    other = _facts(_exchange(8, "The proxy runs on localhost:8443 and requires `TLS_CERT`."))
    assert set(one) == set(other) == {"env:localhost:8443"}


@given(st.lists(st.tuples(st.text(max_size=200), st.text(max_size=200)), max_size=4))
def test_no_session_is_an_error_and_no_memory_is_too_long(texts: list[tuple[str, str]]) -> None:
    exchanges = [
        _exchange(2 * at, f"It listens on localhost:5432 {answer}", _bash(answer), user=f"$ {user}")
        for at, (user, answer) in enumerate(texts)
    ]
    for each in environment(exchanges):
        assert len(each.memory.text) <= 480


def test_advice_and_a_guess_say_nothing_of_where_a_thing_is() -> None:
    assert _sentences("In the deploy job of CI: confirm the key is read from DEPLOY_KEY.") == []
    assert _sentences("Either the port is set in .env or it was read from PORT_FILE.") == []
    assert _sentences("The deploy key is read from DEPLOY_KEY in the CI job.") != []
