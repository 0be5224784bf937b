"""What a brief puts first, and what it need not say (decision 0105)."""

from __future__ import annotations

import pytest

from memd.inject.brief.lines import (
    DIGEST_SESSIONS,
    BriefLine,
    digest_lines,
    drop_repeats,
    newest_first,
)
from memd.inject.brief.outdated_rules import current_rows
from memd.inject.brief.rows import (
    OPEN_POINTS_MAX,
    OUTCOME_SESSIONS,
    find_open_points,
    rank_rows,
    rank_rules,
    state_rule,
)
from memd.store.session.briefs import BriefMaterial, BriefRow

DAY = 86_400_000_000


def row(name: str, kind: str | None, session: int | None = 1, day: int = 1) -> BriefRow:
    return BriefRow(name, kind, "semantic", name, "person", 2, session, day * DAY, None)


def names(*rows: BriefRow) -> list[str]:
    return [row.memory_id for row in rank_rows(rows)]


def test_what_stands_for_good_comes_before_a_decision_and_that_before_an_outcome() -> None:
    order = names(row("a", "outcome"), row("b", "decision"), row("c", "correction"))
    assert order == ["c", "b", "a"]


def test_what_is_recent_comes_first_among_likes_and_a_digest_is_none_of_them() -> None:
    order = names(
        row("old", "decision", 1, 1),
        row("digest", "digest", 2, 2),
        row("new", "decision", 2, 2),
        row("newer", "decision", 3, 3),
    )
    assert order == ["newer", "new", "old"]


@pytest.mark.parametrize(
    "code", ["garage code is 5521#", "PIN der Karte: 4711", "le code de la porte est 23A90"]
)
def test_a_note_that_only_holds_a_code_is_not_told_unasked(code: str) -> None:
    assert names(row(code, None), row("the bakery is open on mondays", None)) == [
        "the bakery is open on mondays"
    ]


@pytest.mark.parametrize(
    "text", ["postcode is 79100", "exit code is 137", "the code 5521# is for guests, ask Ann first"]
)
def test_a_note_with_a_number_and_more_is_told(text: str) -> None:
    assert names(row(text, None)) == [text]


def test_an_outcome_comes_after_all_else_however_old_that_is() -> None:
    old = row("decision", "decision", 1, 1)
    outcomes = [row(f"o{n}", "outcome", n, n) for n in range(2, 30)]
    assert names(old, *outcomes)[:2] == ["decision", "o29"]


def test_what_an_agent_did_is_told_of_the_latest_sessions_alone_and_a_fact_of_all() -> None:
    name = row("The daughter is Ida.", "environment", 1, 1)
    outcomes = [row(f"o{n}", "outcome", n, n) for n in range(2, 30)]
    order = names(name, *outcomes)
    assert order[0] == name.memory_id
    assert order[1:] == [f"o{n}" for n in range(29, 29 - OUTCOME_SESSIONS, -1)]


def test_the_digest_of_a_session_after_which_others_told_something_is_not_told() -> None:
    digest = row("Asked first: a roast", "digest", 1, 1)
    others = [row(f"d{n}", "decision", n, n) for n in range(2, 9)]
    few, many = others[:DIGEST_SESSIONS], others[: DIGEST_SESSIONS + 1]
    [line] = digest_lines([digest, *few], BriefMaterial())
    assert line.about == " of session, 1970-01-02, before one of 1970-01-05 without a digest"
    assert digest_lines([digest, *many], BriefMaterial()) == []
    [line] = digest_lines([digest, row("use rye flour", "preference", 1, 3)], BriefMaterial())
    assert line.about == " of session, 1970-01-02"
    [own] = digest_lines([digest, *many], BriefMaterial(own_key=1))
    assert own.about.startswith(" of this session")


def test_a_rule_gives_way_to_a_decision_once_enough_sessions_went_on() -> None:
    """That is, one that has no room in the rules' own share of the brief."""
    rule = row("rule", "preference", 1, 1)
    decisions = [row(f"d{n}", "decision", n, n) for n in (2, 3, 4)]
    assert names(rule, *decisions[:1])[0] == "rule"
    assert names(rule, *decisions)[0] == "d4"


def test_what_harms_somebody_if_it_is_forgotten_comes_with_the_lasting_rules() -> None:
    nuts = row("User: cashews nope, i'm allergic to tree nuts", "environment", 1, 1)
    milk = row("Ben is lactose-intolerant", None, None, 2)
    cake = row("The cake is for people with coeliac disease.", "outcome", 9, 9)
    rules = [row(f"r{n}", "preference", 9, n) for n in range(20, 23)]
    ranked = rank_rules([*rules, nuts, cake, milk])
    assert ranked[:2] == [milk, nuts]
    assert cake not in ranked


def test_rules_do_not_age_and_each_session_tells_its_latest_first() -> None:
    rules = [row(f"r{n}", "preference", 9, n) for n in (9, 10, 11)]
    first, decision = row("first", "constraint", 1, 1), row("d", "decision", 12, 12)
    order = [row.memory_id for row in rank_rules([first, *rules, decision])]
    assert order == ["r11", "first", "r10", "r9"]


@pytest.mark.parametrize(
    "lasting",
    ["Never push on Fridays", "Réponds dorénavant en français", "Antworte ab jetzt auf Deutsch"],
)
def test_a_rule_that_says_how_long_it_holds_comes_before_one_that_does_not(lasting: str) -> None:
    old = row("old", "preference", 1, 1)._replace(content=lasting)
    of_the_day = row("day", "preference", 9, 9)._replace(
        content="I do not want the blue one\nOutcome: It is never shown."
    )
    assert [row.memory_id for row in rank_rules([of_the_day, old])] == ["old", "day"]


def test_of_a_long_message_the_rules_are_told_and_no_greeting_and_no_task() -> None:
    rules = (
        "Before we start, a rule for this whole project: never edit anything below legacy/."
        " And commit messages are conventional commits in English."
    )
    task = "Today: GET /stock is slow (2-3 s), please find out why."
    assert state_rule(f"Hi! {rules} {task}") == rules
    assert state_rule(f"Hi!\n{rules}\n\n{task}") == rules
    asked = "Always run the tests, and show me the diff before you continue."
    assert state_rule(f"{asked} {task}") == asked
    assert state_rule("Hi! Please look at the menu.") == "Hi! Please look at the menu."


def test_no_session_takes_a_whole_brief_with_memories_of_one_kind() -> None:
    """The second of a session and kind counts two thirds, the third half, the fourth 0.4."""
    review = [row(f"c{n}", "correction", 2, n) for n in (2, 3, 4, 5)]
    order = names(*review, row("decision", "decision", 2, 5), row("rule", "constraint", 1, 1))
    assert order == ["c5", "rule", "decision", "c4", "c3", "c2"]


def digest(session: int, text: str) -> BriefRow:
    return row(f"d{session}", "digest", session, session)._replace(content=text)


def test_what_an_earlier_session_left_open_is_told_until_a_later_one_speaks_of_it() -> None:
    digests = [
        digest(
            1,
            "Asked first: a page\nOpen: measure how large folders load; document the wheel format",
        ),
        digest(2, "Asked first: the wheel\nOpen: publish the release notes"),
        digest(3, "Asked first: a talk\nOpen: the user stopped the agent; publish release notes"),
    ]
    signed = row("o", "outcome", 2, 2)._replace(content="The wheel format is documented.")
    [newest, oldest] = find_open_points(digests, [*digests, signed])
    assert (newest.digest.memory_id, newest.texts) == ("d3", ("publish release notes",))
    assert (oldest.digest.memory_id, oldest.texts) == (
        "d1",
        ("measure how large folders load",),
    )


def test_a_point_that_nobody_spoke_of_for_weeks_and_two_sessions_is_not_told() -> None:
    left = digest(1, "Asked first: a page\nOpen (user): sell the piano of the grandmother")
    between = [digest(2, "Asked first: a boat"), digest(3, "Asked first: a coat")]
    assert len(find_open_points([left, *between], [left, *between])) == 1
    late = digest(40, "Asked first: a lamp")
    assert find_open_points([left, *between], [left, *between, late]) == []
    assert len(find_open_points([left, between[0]], [left, between[0], late])) == 1


def test_what_is_said_to_be_done_closes_a_point_with_fewer_of_its_words() -> None:
    left = digest(1, "Open (user): brownout on cold starts below 3.3v, havent looked into it yet")
    says = "Asked first: the fan\nAsked last: commit. cold start brownout is fixed btw, was the cap"
    assert find_open_points([left], [left, digest(2, says)]) == []
    for other in ("why is there a brownout on cold starts", "cold start brownout is not fixed"):
        later = digest(2, f"Asked first: the fan\nAsked last: {other}")
        assert len(find_open_points([left], [left, later])) == 1


@pytest.mark.parametrize(
    ("later", "is_open"),
    [
        ("Asked last: ok good, commit feat(PAY-1482), then lunch", False),
        ("Also said: great. \u00b7 and 2.14.1 goes out today at 11, Piotr drives", False),
        ("Asked last: commit feat(PAY-1483)", True),
        ("Asked last: PAY-1482 must be merged before the release", True),
        ("Asked last: not merged yet, PAY-1482 waits for Piotr", True),
    ],
)
def test_a_point_with_a_ticket_or_version_is_closed_by_its_name(later: str, is_open: bool) -> None:
    left = digest(1, "Open (user): raise 2.14.1 in settle for PAY-1482")
    points = find_open_points([left], [left, digest(2, f"Asked first: the fan\n{later}")])
    assert bool(points) == is_open


def test_a_numbered_step_is_taken_up_by_whoever_names_it() -> None:
    left = digest(1, "Open: /implement S5 - the form, the action and the flow; Next step: 1.")
    later = digest(2, "Asked first: S016 /implement S5\nAsked last: implement the flow")
    assert find_open_points([left], [left]) == [
        (left, ("/implement S5 - the form, the action and the flow",), False)
    ]
    assert find_open_points([left], [left, later]) == []
    other = digest(2, "Asked first: S016 /implement S6\nAsked last: S5 is later")
    assert len(find_open_points([left], [left, other])) == 1


@pytest.mark.parametrize(
    ("passes", "stays"),
    [
        ("Commit: the form and its tests are uncommitted", "Commit hooks for the form are missing"),
        ("Push the branch to the remote host", "Push notifications about the hives"),
        ("The changes are ready to deploy", "Deploy the changes of the form"),
        ("The page of the hives was updated", "The page of the hives is not updated"),
    ],
)
def test_what_passes_with_its_session_is_no_open_point(passes: str, stays: str) -> None:
    [point] = find_open_points([digest(1, f"Open: {passes}; {stays}")], [])
    assert point.texts == (stays,)


def test_a_brief_tells_no_more_than_a_few_open_points() -> None:
    many = "write the index chapter; sign every release; measure cold starts; drop python 3.10"
    points = find_open_points([digest(1, f"Open: {many} builds")], [])
    assert sum(len(each.texts) for each in points) == OPEN_POINTS_MAX


def test_an_open_point_has_who_said_it() -> None:
    both = digest(1, "Open (user): rotate the staging key\nOpen: document the wheel format")
    points = find_open_points([both], [])
    assert [(each.texts, each.by_user) for each in points] == [
        (("rotate the staging key",), True),
        (("document the wheel format",), False),
    ]


def command(purpose: str, session: int) -> BriefRow:
    return row(purpose, "environment", session, session)._replace(purpose=purpose)


def test_commands_do_not_age_and_tests_come_first_of_them() -> None:
    commands = [command("deploy", 2), command("test", 1), command("check", 1), command("run", 2)]
    later = [row(f"o{n}", "outcome", n, n) for n in range(3, 15)]
    order = names(*commands, *later)
    assert order[:5] == ["test", "check", "run", "deploy", "o14"]


def test_what_was_told_on_purpose_ages_with_the_sessions_after_it() -> None:
    ingested = row("told", None, None, 6)
    sessions = [row(f"d{n}", "decision", n, n) for n in range(1, 6)]
    assert names(ingested, *sessions)[0] == "told"
    assert names(ingested._replace(at_us=0), *sessions).index("told") == 4


def line(text: str) -> BriefLine:
    return BriefLine(text, "decision", text)


def test_what_others_said_in_other_order_is_not_said_again() -> None:
    lines = [line("The port is 8443, and the tests run with make check.")]
    again = line("Tests run with make check; the port is 8443.")
    new = line("The tests run with make check on port 9000, behind nginx.")
    assert drop_repeats([again, new, new], lines) == [new]


@pytest.mark.parametrize("kind", ["decision", "correction", "preference", "constraint"])
def test_what_was_decided_is_told_though_the_last_session_asked_for_it(kind: str) -> None:
    decided = BriefLine("d", kind, "We drop Redis and use cachetools.", at_us=DAY)
    asked = BriefLine("digest", "digest", f"Asked first: {decided.text}", at_us=2 * DAY)
    assert drop_repeats([decided], [asked]) == [decided]
    assert drop_repeats([decided._replace(kind="outcome")], [asked]) == []
    ended = asked._replace(text=f"Asked first: a cache\nEnded with: {decided.text}")
    assert drop_repeats([decided], [ended]) == []


def test_an_older_line_in_the_same_words_hides_no_newer_decision() -> None:
    older = BriefLine("a", "decision", "Use Redis on the stage, cachetools elsewhere.", at_us=DAY)
    newer = BriefLine(
        "b", "decision", "Use cachetools on the stage, Redis elsewhere.", at_us=2 * DAY
    )
    assert drop_repeats([older, newer], []) == [older, newer]
    assert drop_repeats([newer, older], []) == [newer]
    outcomes = [each._replace(kind="outcome") for each in (older, newer)]
    assert drop_repeats(outcomes, []) == outcomes[:1]


def test_commands_are_told_again_only_as_a_whole() -> None:
    label = "To run the tests here"

    def tests(*commands: str) -> BriefLine:
        text = f"{label}: {'; '.join(commands)}"
        return BriefLine(text, "environment", text, commands=frozenset(commands))

    e2e, both = tests("pnpm exec playwright test"), tests("pnpm test", "pnpm exec playwright test")
    assert drop_repeats([e2e, tests("pnpm test")], []) == [e2e, tests("pnpm test")]
    assert drop_repeats([both, tests("pnpm test")], []) == [both]
    digest_line = BriefLine("d", "digest", "Commands that worked: pnpm test; pnpm exec jest test")
    assert drop_repeats([tests("pnpm test")], [digest_line]) == [tests("pnpm test")]


def test_of_each_kind_the_newest_line_comes_first() -> None:
    lines = [
        BriefLine("d1", "decision", "", at_us=1),
        BriefLine("c4", "correction", "", at_us=4),
        BriefLine("d3", "decision", "", at_us=3),
    ]
    assert [each.id for each in newest_first(lines)] == ["d3", "c4", "d1"]


def test_a_line_without_words_is_not_told() -> None:
    assert drop_repeats([line("?!")], []) == []


def current(*rows: BriefRow, day: int = 400) -> list[str]:
    return [each.content for each in current_rows(rows, day * DAY)]


STYLE = "british spelling please, and APA citations. limit is 20,000 words."


@pytest.mark.parametrize(
    ("later", "left"),
    [
        (
            "She wants IEEE citations instead of APA.",
            "british spelling please. limit is 20,000 words.",
        ),
        ("and she wants american spelling after all", "APA citations. limit is 20,000 words."),
        ("And she cut the limit to 15,000 words.", "british spelling please, and APA citations."),
        ("In the appendix IEEE citations instead of APA", STYLE),
        ("the abstract has 300 words now", STYLE),
        ("limit the pool to 20 workers now", STYLE),
        ("Is it IEEE citations instead of APA?", STYLE),
        ("we are over the limit again, by 1,500 words", STYLE),
        ("they dropped american spelling", STYLE),
    ],
)
def test_of_a_rule_what_changed_since_is_not_told(later: str, left: str) -> None:
    assert current(row(STYLE, "preference"), row(later, "decision", day=2)) == [left, later]
    assert current(row(STYLE, "preference", day=3), row(later, "decision", day=2))[0] == STYLE


REPORT = "the report runs 05:30 UTC on airflow, dag daily_report. if late, tell #data"


@pytest.mark.parametrize(
    ("later", "outcome", "left"),
    [
        ("move schedule to 05:00 UTC", "daily_report is at 05:00 UTC.", "dag daily_report."),
        ("move the report to 05:00 UTC", "Done.", "dag daily_report."),
        ("move schedule to 05:00 UTC", "weekly_report is at 05:00 UTC.", ""),
        ("move the report to 7 UTC", "Done.", ""),
    ],
)
def test_a_time_that_was_moved_since_is_not_told(later: str, outcome: str, left: str) -> None:
    moved = row(f"{later}\nOutcome: {outcome}", "environment", day=2)
    moved = moved._replace(is_as_written=True, origin="assistant")
    rest = f"{left} if late, tell #data" if left else REPORT
    assert current(row(REPORT, "environment"), moved)[0] == rest


def test_only_the_user_changes_a_rule_and_what_harms_stays() -> None:
    rule, later = "APA citations, please\nAlways.", "IEEE citations instead of APA"
    agents = row(later, "environment", day=2)._replace(origin="assistant")
    assert current(row(rule, "preference"), agents)[0] == rule
    harms = "I'm allergic to APA citations"
    assert current(row(harms, "preference"), row(later, "decision", day=2))[0] == harms


def test_a_rule_of_which_all_has_changed_is_told_by_what_is_new() -> None:
    new = "No APA any more: IEEE citations instead of APA citations."
    assert current(row("APA citations please", "preference"), row(new, "decision", day=2)) == [new]
    assert current(row("APA citations please", "decision"), row(new, "decision", day=2))[1] == new


@pytest.mark.parametrize(
    ("text", "is_told"),
    [
        ("interview is on 14 January at 11:00 with Femke", False),
        ("the movers come on 19 August at 8", True),
        ("standup is on Wednesday at 10:00", True),
        ("the voucher is valid until 2 February, 12:00", True),
        ("I start at the water board on 1 February", True),
    ],
)
def test_an_appointment_is_told_until_its_day_is_over(text: str, is_told: bool) -> None:
    assert current(row(text, "environment"), day=200) == [text] * is_told
    assert current(row(text, "environment"), day=3) == [text]


WASHER = "The dryer leaks. The mechanic Mr Wulff comes on 4 December"
MONTEUR = "Die Waschmaschine verliert Wasser, der Monteur Herr Wulff kommt am 4. Dezember"


@pytest.mark.parametrize(
    ("text", "later", "left"),
    [
        (WASHER, "the mechanic moved it: he comes on 8 December", ["The dryer leaks."]),
        (WASHER, "the mechanic comes on 8 December, too", [WASHER]),
        (WASHER, "the mechanic of the road bike now comes on 8 December", [WASHER]),
        (WASHER, "the mechanic comes on 4 December now, at 10", [WASHER]),
        (MONTEUR, "Der Monteur für die Waschmaschine kommt erst am 8. Dezember.", []),
        (MONTEUR, "Der Monteur für die Waschmaschine heißt Herr Wulff, nicht erst 4", [MONTEUR]),
    ],
)
def test_an_appointment_that_was_moved_since_is_not_told(
    text: str, later: str, left: list[str]
) -> None:
    assert current(row(text, None), row(later, "correction", day=2), day=3) == [*left, later]
    asked = f"Asked first: hello\nAlso said: is it true? \u00b7 {later}"
    digest = row(asked, "digest", day=2)._replace(is_as_written=True, origin="assistant")
    assert current(row(text, None), digest, day=3) == [*left, asked]
    assert current(row(text, None, day=3), row(later, "correction", day=2), day=4)[0] == text


def test_a_part_of_a_rule_that_is_a_wish_ended_since_is_not_told() -> None:
    rule = row("British spelling, use bullet points. Never use em dashes.", "preference", 1, 1)
    end = row("stop the bullet points please", "preference", 2, 2)
    rest, _ = (each.content for each in current_rows([rule, end], 3 * DAY))
    assert rest == "British spelling. Never use em dashes."
    assert current_rows([rule], 3 * DAY) == [rule]
