"""SPEC D5 at the real socket with the real model: what the owner prefers comes first."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from support.commands import Memd
from support.daemon import Spawned, wait_until
from support.desk import Desk, text_of

from memd.base.errors import DeniedError
from memd.client import Client

pytestmark = pytest.mark.model


def test_preferences_come_first_and_are_marked(desk: Desk) -> None:
    desk.store("The kitchen is painted yellow.")
    desk.call("preference.set", name="tone", value="Be brief and direct.")

    first, second = desk.recall("What colour is the kitchen?", search_mode="dense")["memories"]

    assert first["preference"] is True
    assert first["preference_key"] == "tone"
    assert first["content"] == "Be brief and direct."
    assert first["relevance_score"] is None
    assert second["preference"] is False
    assert second["content"] == "The kitchen is painted yellow."


def test_preferences_are_there_when_nothing_is_relevant(desk: Desk) -> None:
    desk.call("preference.set", name="tone", value="Be brief and direct.")

    assert desk.contents("What is the boiling point of tungsten?") == ["Be brief and direct."]


def test_preferences_use_no_slot(desk: Desk) -> None:
    desk.store("The kitchen is painted yellow.")
    for number in range(4):
        desk.call("preference.set", name=f"p{number}", value=f"Rule number {number}.")

    memories = desk.recall("What colour is the kitchen?", top_k=1, search_mode="dense")["memories"]

    assert [memory["preference"] for memory in memories] == [True] * 4 + [False]


def test_preferences_take_at_most_half_of_the_budget_and_the_rest_is_counted(desk: Desk) -> None:
    for number in range(10):
        desk.call("preference.set", name=f"p{number}", value=f"Rule number {number} of the house.")
    cost = desk.recall("anything")["memories"][0]["token_count"]

    answer = desk.recall("anything", token_budget=cost * 6)

    assert len(answer["memories"]) == 3
    assert answer["preferences_left_out"] == 7
    assert answer["total_tokens"] == 3 * cost
    assert answer["budget_used"] == 0.5


def test_the_relevant_preference_goes_before_newer_ones(desk: Desk) -> None:
    desk.call("preference.set", name="editor", value="Use the Helix editor.")
    desk.call("preference.set", name="tone", value="Be brief and direct.")

    assert desk.contents("hello")[0] == "Be brief and direct."
    assert desk.contents("Which editor is used?")[0] == "Use the Helix editor."


def test_what_is_shown_as_a_preference_is_not_shown_again(desk: Desk) -> None:
    text = "I prefer PostgreSQL in 2026 at Acme because async APIs are reliable."
    desk.ingest(text, session_id="one")
    desk.ingest(text, session_id="two")
    assert desk.count() == 2

    assert desk.contents("Which database is preferred at Acme?") == [text]


def test_a_changed_mind_changes_the_preference(desk: Desk) -> None:
    for text in (
        "My favourite editor is Vim.",
        "My favourite editor is Helix.",
        "My favourite editor is Vim.",
    ):
        desk.ingest(text, session_id="s")
        assert desk.preferences() == {"favorite_editor": text}


def test_what_a_newer_preference_replaced_is_told_no_more(desk: Desk) -> None:
    tabs, spaces = "I prefer tabs over spaces.", "I prefer spaces over tabs."
    for session, (text, archived) in enumerate([(tabs, 0), (tabs, 0), (spaces, 2), (tabs, 3)]):
        desk.ingest(text, session_id=f"{session}")
        assert desk.contents("Are tabs used, or spaces?") == [text]
        assert desk.archived() == archived

    desk.call("preference.set", name="prefer_spaces_or_tabs", value="Tabs in Go, else spaces.")
    assert desk.contents("Are tabs used, or spaces?") == ["Tabs in Go, else spaces."]


def test_what_its_owner_takes_back_is_told_no_more(desk: Desk) -> None:
    desk.ingest("I prefer metric units.")
    desk.ingest("I hate cilantro.")
    desk.ingest("I now prefer imperial units instead of metric.")
    assert sorted(desk.preferences().values()) == [
        "I hate cilantro.", "I now prefer imperial units instead of metric.",
    ]  # fmt: skip

    with Client(desk.client.path) as program:
        place = {"agent_id": desk.agent_id, "origin": "person"}
        program.call("memory.ingest", {"text": "I love cilantro now.", **place})
    assert "I hate cilantro." in desk.preferences().values()
    desk.ingest("I actually love cilantro now.")
    assert list(desk.preferences().values()) == ["I now prefer imperial units instead of metric."]
    assert "I hate cilantro." not in desk.contents("What about cilantro?")


def test_of_a_list_of_wishes_what_is_taken_back_goes(desk: Desk) -> None:
    desk.call("preference.set", name="answers", value="Two sentences, no praise")

    desk.ingest("the thing with two sentences: forget that, from now on explain your reasoning")

    assert desk.preferences() == {"answers": "no praise"}
    desk.ingest("forget what I said about praise")
    assert desk.preferences() == {}


@pytest.mark.parametrize("end", ["I like coriander now", "forget that I hate coriander"])
def test_what_is_taken_back_in_words_is_archived_and_no_preference(desk: Desk, end: str) -> None:
    hates = "I hate coriander btw, never put that in anything"
    desk.ingest(hates, origin="person", session_id="one")
    desk.ingest("I hate fish", origin="person", session_id="one")
    assert len(desk.preferences()) == 2

    desk.ingest(end, origin="person", session_id="two")

    assert list(desk.preferences().values()) == ["I hate fish"]
    assert hates not in desk.contents("What about coriander?")
    (archived,) = desk.call("archive.search", text="coriander")
    desk.call("archive.restore_to_hot", id=archived["archival_id"])
    assert hates in desk.contents("What about coriander?")


def test_who_wants_none_of_a_thing_takes_a_kind_of_it_back(desk: Desk, memd: Memd) -> None:
    prose = "I prefer full sentences now, no bullet points any more"
    for text in ("I prefer short bullet points", prose):
        memd("add", text, "--agent", desk.agent_id)
    assert list(desk.preferences().values()) == [prose]
    assert desk.contents("Bullet points or sentences?") == [prose]


def test_a_list_of_no_preferences_says_where_the_wishes_of_naps_are(desk: Desk, memd: Memd) -> None:
    assert "no preferences; to set one" in memd("preference", "list", "--agent", desk.agent_id).err
    report = {"source": "codex", "session_id": "s", "event": "session_end", "used_percent": 40}
    rule = [{"role": "user", "content": "Never push to main, always open a PR."}]
    desk.call("usage.report", **report, messages=rule)
    notes = memd("preference", "list", "--agent", desk.agent_id).err
    assert "none that is in every prompt" in notes
    assert "wishes that naps kept of sessions, for briefs: memd list --category preference" in notes


def test_what_was_said_before_or_elsewhere_takes_nothing_back(desk: Desk) -> None:
    gone = "I don't want tea any more."
    desk.ingest(gone, session_id="s")
    desk.ingest("I prefer tea.")
    desk.ingest(gone, session_id="s")  # sent again
    desk.ingest(gone, occurred_at="2019-05-01T10:00:00Z")
    desk.ingest(gone, speaker="Ann")
    desk.ingest(gone, level="session", session_id="t")
    assert list(desk.preferences().values()) == ["I prefer tea."]

    desk.ingest("I prefer coffee.", level="project", project_id="/home/ada/hives")
    desk.ingest("I don't want coffee any more.")
    assert "I prefer coffee." in desk.preferences().values()
    desk.ingest(gone, session_id="later")
    assert "I prefer tea." not in desk.preferences().values()


def test_what_was_said_earlier_replaces_nothing_and_each_has_its_day(desk: Desk) -> None:
    """As when an older session is imported after a newer one."""
    new, old = "2026-02-03T10:00:00Z", "2025-02-03T10:00:00Z"
    desk.ingest("Can you make me a plan? My favourite editor is Helix.", occurred_at=new)
    desk.ingest("My favourite editor is Vim.", occurred_at=old)
    (preference,) = desk.call("preference.list")["items"]
    assert preference["updated_at"] == new
    assert text_of(desk.call("inject.prepare", query="hello")).startswith(
        "What the user prefers:\n- My favourite editor is Helix. (2026-02-03)"
    )


def test_a_nap_leaves_a_preference_its_day(desk: Desk) -> None:
    """It gives the turn that states it the tags of its kind."""
    text, at = "I hate coriander, leave it out of everything please.", "2026-02-03T10:00:00Z"
    desk.ingest(text, session_id="one", occurred_at=at)
    message = {"role": "user", "content": text, "timestamp": at}
    place = {"session_id": "one", "source": "a", "event": "session_end"}
    window = {"used_tokens": 100, "window_tokens": 1_000, "messages": [message]}
    assert desk.call("usage.report", **place, **window)["consolidated"]
    (preference,) = desk.call("preference.list")["items"]
    assert preference["updated_at"] == at


def test_of_two_values_the_later_said_is_told_whichever_came_first(desk: Desk) -> None:
    old, new = "My favourite editor is Vim.", "My favourite editor is Helix."
    desk.ingest(new, occurred_at="2026-02-03T10:00:00Z")
    desk.ingest(old, occurred_at="2025-02-03T10:00:00Z")
    assert desk.contents("Which editor, Vim or Helix?") == [new]
    assert desk.archived() == 1


def test_what_a_program_says_later_does_not_stand_against_the_owner(desk: Desk) -> None:
    with Client(desk.client.path) as program:
        place = {"agent_id": desk.agent_id}
        program.call("preference.set", {"name": "favorite_editor", "value": "nano", **place})
    desk.ingest("My favourite editor is Vim.", occurred_at="2026-02-03T10:00:00Z")
    assert desk.preferences() == {"favorite_editor": "My favourite editor is Vim."}


def test_a_preference_in_the_trash_does_not_stand_against_an_older_one(desk: Desk) -> None:
    receipt = desk.ingest("My favourite editor is Helix.", occurred_at="2026-02-03T10:00:00Z")
    desk.call("memory.delete", id=receipt["stored"][0]["id"])
    desk.ingest("My favourite editor is Vim.", occurred_at="2025-02-03T10:00:00Z")
    assert desk.preferences() == {"favorite_editor": "My favourite editor is Vim."}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "I always want metric units. But not for cooking, there I want cups.",
            "I always want metric units. But not for cooking, there I want cups.",
        ),
        ("My favourite dishes are:\n- ramen\n- dosa", "My favourite dishes are: - ramen - dosa"),
        ("I moved to Helix. I prefer it over Vim.", "I moved to Helix. I prefer it over Vim."),
        ("thanks! can you shorten it? I prefer short mails.", "I prefer short mails."),
    ],
)
def test_of_a_preference_only_what_was_asked_for_before_it_is_left_out(
    desk: Desk, text: str, line: str
) -> None:
    desk.ingest(text, occurred_at="2026-02-03T10:00:00Z")
    prompt = text_of(desk.call("inject.prepare", query="hello"))
    assert prompt == f"What the user prefers:\n- {line} (2026-02-03)"


def test_what_was_said_of_an_earlier_day_is_taken_back_by_a_later_one(desk: Desk) -> None:
    desk.ingest("I prefer metric units.", occurred_at="2026-02-03T10:00:00Z")
    desk.ingest("I no longer want metric units.", occurred_at="2026-02-04T10:00:00Z")
    assert desk.preferences() == {}


def test_a_change_of_mind_within_one_call_leaves_the_last_word(desk: Desk) -> None:
    tabs, spaces = "I prefer tabs over spaces.", "I prefer spaces over tabs."
    desk.call("memory.ingest_many", items=[{"text": text} for text in (tabs, spaces, tabs)])
    desk.settle()

    assert desk.contents("Are tabs used, or spaces?") == [tabs]
    assert desk.archived() == 1
    desk.call("memory.ingest_many", items=[{"text": text} for text in (spaces, tabs)])
    desk.settle()
    assert desk.contents("Are tabs used, or spaces?") == [tabs]
    assert desk.archived() == 1


def test_what_others_say_in_the_same_words_stays(desk: Desk) -> None:
    tabs = "I prefer tabs over spaces."
    desk.ingest(tabs, session_id="one", speaker="Ann")
    desk.store(tabs, session_id="two", origin="web")
    desk.ingest(tabs, session_id="three")
    desk.ingest("I prefer spaces over tabs.", session_id="three")

    sessions = [each["session_id"] for each in desk.call("memory.list")["items"]]
    assert sorted(sessions) == ["one", "three", "two"]
    assert desk.archived() == 1


def test_what_another_preference_states_stays_with_it(desk: Desk) -> None:
    tabs = "In this repo I prefer tabs over spaces."
    for project in ("/home/ada/hives", "/home/ada/shop"):
        desk.ingest(tabs, project_id=project)
    names = {each["project_id"]: each["name"] for each in desk.call("preference.list")["items"]}
    desk.call("preference.delete", name=names["/home/ada/shop"])

    (left,) = desk.call("preference.list")["items"]
    assert left["project_id"] == "/home/ada/hives"
    assert desk.contents("Tabs or spaces?", project_id="/home/ada/hives") == [tabs]
    assert desk.contents("Tabs or spaces?", project_id="/home/ada/shop") == []

    desk.ingest("I prefer tea.")
    desk.call("preference.set", name="drink", value="I prefer tea.")
    desk.call("preference.delete", name="drink")
    assert desk.contents("Which drink?") == ["I prefer tea."]


def test_a_preference_that_names_a_file_is_of_its_project(desk: Desk) -> None:
    desk.ingest("replace deploy.sh by a Makefile, I always type make", project_id="/home/ada/site")
    desk.ingest("fix src/cart.py first. I prefer small commits.", project_id="/home/ada/site")
    projects = {each["value"]: each["project_id"] for each in desk.call("preference.list")["items"]}
    assert projects == {
        "replace deploy.sh by a Makefile, I always type make": "/home/ada/site",
        "I prefer small commits.": None,
    }


def test_the_digest_of_the_session_that_stated_it_stays_and_a_nap_is_undone(desk: Desk) -> None:
    tabs, spaces = "I prefer tabs over spaces.", "I prefer spaces over tabs."
    for session, text in (("one", tabs), ("two", spaces)):
        ending = f"Summary: part {session} of the importer is done, its 12 tests pass now."
        transcript = "".join(
            json.dumps({"role": role, "content": content}) + "\n"
            for role, content in (("user", text), ("assistant", ending))
        )
        desk.call("session.import", text=transcript, session_id=session)
    desk.settle()

    digests = desk.call("memory.list", tags=["digest"])["items"]
    assert {each["session_id"] for each in digests} == {"one", "two"}
    assert desk.contents("tabs or spaces?")[0] == spaces
    assert tabs not in desk.contents("tabs or spaces?")
    (name,) = desk.preferences()
    desk.call("preference.delete", name=name)
    newest = desk.client.call("sleep.report", {"limit": 1})["items"][0]
    desk.client.call("sleep.undo", {"run_id": newest["run_id"]})
    assert tabs in desk.contents("tabs or spaces?")


def test_a_preference_told_again_in_bulk_is_not_lost(desk: Desk) -> None:
    desk.ingest("i prefer tea", session_id="one")

    desk.call("memory.ingest_many", items=[{"text": "i prefer tea", "session_id": "two"}])
    desk.settle()

    assert list(desk.preferences().values()) == ["i prefer tea"]
    assert desk.contents("hello") == ["i prefer tea"]


def test_a_preference_goes_with_its_memory(desk: Desk) -> None:
    receipt = desk.ingest("I prefer tea over coffee.")
    desk.call("memory.delete", id=receipt["stored"][0]["id"])

    assert desk.preferences() == {}
    assert desk.contents("tea") == []


def test_a_memory_goes_with_its_preference(desk: Desk) -> None:
    desk.ingest("I prefer tea over coffee.")
    desk.call("preference.delete", name="prefer_coffee_or_tea")

    assert desk.contents("Is it tea or coffee?") == []
    (archived,) = desk.call("archive.search", text="tea")
    desk.call("archive.restore_to_hot", id=archived["archival_id"])
    assert desk.contents("Is it tea or coffee?") == ["I prefer tea over coffee."]
    assert desk.preferences() == {}


def test_nobody_hides_the_owners_words_behind_a_preference_of_the_same_text(desk: Desk) -> None:
    desk.store("The backups are kept for a year.")
    with Client(desk.client.path) as program:
        program.call("preference.set", {"name": "x", "value": "The backups are kept for a year."})
        assert program.call("preference.delete", {"name": "x"})

    assert desk.contents("How long are backups kept?") == ["The backups are kept for a year."]


def test_preferences_need_the_category_procedural(desk: Desk) -> None:
    desk.call("preference.set", name="tone", value="Be brief and direct.")

    assert desk.contents("tone", memory_types=["semantic"]) == []
    assert desk.contents("tone", memory_types=["procedural"]) == ["Be brief and direct."]
    assert desk.contents("tone", categories=[]) == ["Be brief and direct."]


def test_a_preference_is_an_ordinary_memory_too(desk: Desk) -> None:
    (item,) = desk.ingest("I prefer tea over coffee.")["stored"]

    memory = desk.get(item["id"])

    assert memory is not None
    assert memory["category"] == item["category"] == "procedural"
    assert desk.contents("Which drink?", categories=["procedural"]) == ["I prefer tea over coffee."]
    listed = desk.call("preference.list")["items"]
    assert [entry["memory_id"] for entry in listed] == [item["id"]]


def test_a_preference_is_set_read_and_deleted_by_name(desk: Desk) -> None:
    assert desk.call("preference.get", name="tone") is None
    desk.call("preference.set", name="tone", value="Be brief.")
    desk.call("preference.set", name="tone", value="Be very brief.")

    assert desk.call("preference.get", name="tone")["value"] == "Be very brief."
    assert desk.preferences() == {"tone": "Be very brief."}
    assert desk.call("preference.delete", name="tone") is True
    assert desk.call("preference.delete", name="tone") is False
    assert desk.preferences() == {}


def test_a_preference_that_expired_is_told_no_more(desk: Desk) -> None:
    for lasting_s in (0.7, 5, 30):  # on a busy machine it may be over before it is seen
        soon = datetime.now(UTC) + timedelta(seconds=lasting_s)
        desk.ingest("I prefer tea over coffee.", expires_at=soon.isoformat())
        if desk.preferences():
            break
    else:
        raise AssertionError("it was never there")

    wait_until(lambda: not desk.preferences(), "the preference expires")

    assert desk.contents("tea") == []
    assert desk.count() == 0


def test_what_is_added_as_procedural_is_told_first(memd: Memd, desk: Desk) -> None:
    rule = "Answer in German, never with a preamble"
    desk.store("The kitchen is painted yellow.")

    memd("add", rule, "-c", "procedural", "--agent", desk.agent_id)

    block = memd("inject", "What colour is the kitchen?", "--agent", desk.agent_id).out
    assert 0 <= block.find(rule) < block.find("The kitchen is painted yellow.")
    first, *_ = desk.contents("What colour is the kitchen?")
    assert first == rule


def test_what_is_added_without_a_category_is_filed_by_what_it_says(memd: Memd, desk: Desk) -> None:
    for text in ("I prefer dark mode", "  The fridge  is blue "):
        memd("add", text, "--agent", desk.agent_id)
    memd("add", "I prefer light mode", "--speaker", "Ann", "--agent", desk.agent_id)

    assert list(desk.preferences().values()) == ["I prefer dark mode"]
    entries = desk.call("memory.list")["items"]
    assert [(entry["content"], entry["category"]) for entry in entries] == [
        ("I prefer light mode", "semantic"),
        ("  The fridge  is blue ", "semantic"),
        ("I prefer dark mode", "procedural"),
    ]


def test_the_language_of_answers_is_one_preference_in_whatever_language_it_is_said(
    memd: Memd, desk: Desk
) -> None:
    for text in (
        "Answer in German",
        "Bitte antworte immer auf Deutsch",
        "From now on answer everything in English",
        "Antworte auf Deutsch",
    ):
        memd("add", text, "--agent", desk.agent_id)
        assert desk.preferences() == {"answer_language": text}
    desk.ingest("Always answer in English from now on")
    assert desk.preferences() == {"answer_language": "Always answer in English from now on"}


def test_an_order_what_to_use_from_now_on_is_a_preference_of_its_project(desk: Desk) -> None:
    here, tabs, spaces = {"project_id": "/home/ada/hives"}, "use tabs, not spaces", "use spaces"
    desk.ingest(f"{tabs}, from now on", **here)
    desk.ingest(f"{spaces}, not tabs, from now on", **here)
    desk.ingest("use the tabs above", **here)
    assert list(desk.preferences().values()) == [f"{spaces}, not tabs, from now on"]
    assert desk.contents("Write a function", **here) == [f"{spaces}, not tabs, from now on"]
    assert desk.contents("Write a function") == []


def test_who_sets_a_preference_for_this_repo_is_told_that_all_projects_have_it(
    memd: Memd, desk: Desk
) -> None:
    rule = "In this repo branches are named feat/TICKET"
    named = memd("preference", "set", "branch", rule, "--agent", desk.agent_id)
    assert "for one project alone" in named.err
    assert desk.contents("Write a function", project_id="/home/ada/shop") == [rule]
    other = memd("preference", "set", "tea", "I drink tea", "--agent", desk.agent_id)
    assert other.err == "set tea: every prompt has it, of all projects\n"


def test_a_wish_that_lasts_is_one_in_a_chat_and_by_hand(memd: Memd, desk: Desk) -> None:
    wish, here = "please always answer short, i read on my phone", {"project_id": "/home/ada/hives"}
    desk.ingest(wish, session_id="s")
    assert list(desk.preferences().values()) == [wish]
    other = "never suggest pork for birte"
    assert "stored as a preference" in memd("add", other, "--agent", desk.agent_id).err
    desk.ingest("from now on call me Ada", session_id="t", **here)
    assert desk.contents("Write a function", **here)[0] == "from now on call me Ada"
    assert "from now on call me Ada" not in desk.contents("Write a function")


def test_who_ends_a_preference_by_hand_is_told(memd: Memd, desk: Desk) -> None:
    for old, new in (
        ("I always sit on the aisle on planes", "I like the window seat now, not the aisle"),
        ("please always answer short", "you can answer longer again"),
        ("Mein Lieblingstee ist Earl Grey", "Mein Lieblingstee ist jetzt Rooibos"),
    ):
        assert "ends the preference" not in memd("add", old, "--agent", desk.agent_id).err
        added = memd("add", new, "--agent", desk.agent_id)
        assert f"ends the preference: {old}\n" in added.err
        assert old not in desk.preferences().values()


def test_a_rule_that_begins_with_this_repo_holds_in_its_project_alone(
    memd: Memd, desk: Desk
) -> None:
    rule, here = "In this repo never commit the public folder", "/home/ada/hives"
    added = memd("add", rule, "--project", here, "--agent", desk.agent_id)

    assert f"stored as a preference: every prompt of {here} has it" in added.err
    assert desk.contents("Write a function", project_id=here) == [rule]
    assert desk.contents("Write a function") == []


def test_a_preference_for_this_repo_holds_in_its_project_alone(memd: Memd, desk: Desk) -> None:
    here, there = {"project_id": "/home/ada/hives"}, {"project_id": "/home/ada/shop"}
    tabs = "In this repo I prefer tabs over spaces."
    spaces = "In this repo I prefer spaces over tabs."
    everywhere = "I always want short answers."
    for project, text in ((here, tabs), (there, spaces), (here, everywhere), (there, tabs)):
        desk.ingest(text, **project)

    assert desk.contents("Write a function", **here) == [everywhere, tabs]
    assert desk.contents("Write a function", **there) == [tabs, everywhere]
    assert desk.contents("Write a function") == [everywhere]
    briefs = [text_of(desk.call("inject.brief", **project)) for project in (here, there, {})]
    assert [tabs in brief for brief in briefs] == [True, True, False]
    assert not any(spaces in brief for brief in briefs), "replaced by the later one of its project"
    assert all(everywhere in brief for brief in briefs)
    listed = memd("preference", "list", "--agent", desk.agent_id, "--json").json["items"]
    projects = [item["project_id"] for item in listed]
    assert projects == ["/home/ada/shop", None, "/home/ada/hives"]
    assert desk.archived() == 1


TASK = (
    "Please look at src/feed.ts: the RSS feed has wrong dates since the change to Temporal. Fix "
    "formatDate and add a test. I prefer small commits, one per change. When you are done, open "
    "the draft pull request."
)


def test_a_preference_in_a_task_is_its_sentence_and_the_task_a_memory(desk: Desk) -> None:
    desk.ingest(TASK)
    assert list(desk.preferences().values()) == ["I prefer small commits, one per change."]
    assert desk.contents("What is wrong with the RSS feed's dates?") == [
        "I prefer small commits, one per change.",
        TASK,
    ]
    prompt = text_of(desk.call("inject.prepare", query="What is wrong with the RSS feed's dates?"))
    assert prompt.count("formatDate") == 1
    desk.ingest("Now the cart page. I prefer small commits, one per change.")
    assert len(desk.preferences()) == 1
    assert desk.archived() == 0


def test_a_task_goes_with_the_preference_that_it_stated(desk: Desk) -> None:
    desk.ingest("Fix the feed, please. I prefer tabs over spaces.")
    desk.ingest("I prefer spaces over tabs.")
    assert list(desk.preferences().values()) == ["I prefer spaces over tabs."]
    assert desk.archived() == 1


def test_an_edited_task_rewords_its_preference_alone(desk: Desk) -> None:
    receipt = desk.ingest(TASK)
    memory_id = receipt["stored"][0]["id"]
    desk.call("memory.update", id=memory_id, content=TASK.replace("small", "tiny"))
    assert list(desk.preferences().values()) == ["I prefer tiny commits, one per change."]


def test_who_may_not_change_the_owners_preference_is_told_the_command_that_may(
    daemon: Spawned,
) -> None:
    name = {"name": "own tone", "agent_id": "told"}
    with daemon.client() as owner, Client(daemon.paths.socket) as other:
        owner.call("preference.set", {**name, "value": "formal"})
        hints = []
        for method, params in (("preference.set", {"value": "casual"}), ("preference.delete", {})):
            with pytest.raises(DeniedError) as caught:
                other.call(method, {**name, **params})
            hints.append(caught.value.hint)
    assert hints == [
        "as the owner: memd preference set 'own tone' VALUE --agent told",
        "as the owner: memd preference delete 'own tone' --agent told",
    ]
