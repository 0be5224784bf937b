"""SPEC 16.16, D21: the wiki follows the store, and forgetting reaches it."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import pytest
from support.daemon import WAIT_S
from support.store import ADA, BOB, bytes_of, stored, tell

from memd.backends.rooms import Rooms
from memd.base.errors import InvalidError
from memd.domain.settings.consolidation import WikiExportConfig
from memd.domain.values import EventName
from memd.sleep.wiki.exports import Wiki, build_wiki

WORD = "quincunx"


def a_wiki(house: Rooms, tmp_path: Path, **settings: object) -> Wiki:
    return build_wiki(house, WikiExportConfig.model_validate(settings), tmp_path / "wiki")


async def test_an_export_shows_what_is_visible_to_its_agent_only(
    house: Rooms, tmp_path: Path
) -> None:
    away, here = await stored(house, "Ann keeps bees.", "Bob sails.")
    await stored(house, "of another", caller=BOB)
    await house.archive.move_to_archive(ADA, away)

    done = await a_wiki(house, tmp_path).export(ADA)

    assert done.path == str(tmp_path / "wiki" / "ada")
    assert [path.name for path in (tmp_path / "wiki").rglob("raw/*")] == [f"{here}.md"]


async def test_what_was_only_asked_is_not_in_the_wiki(house: Rooms, tmp_path: Path) -> None:
    (fact, _) = await tell(house, "Ann keeps bees.", "Does Ann keep bees?")
    await a_wiki(house, tmp_path).export(ADA)
    assert [path.name for path in (tmp_path / "wiki").rglob("raw/*")] == [f"{fact}.md"]


async def test_what_was_forgotten_goes_from_the_wiki(house: Rooms, tmp_path: Path) -> None:
    wiki = a_wiki(house, tmp_path)
    (secret, _) = await stored(house, f"The safe opens with {WORD}.", "Bob sails.")
    await wiki.export(ADA)
    assert WORD.encode() in bytes_of(tmp_path / "wiki")
    await house.trash.forget(ADA, ids=[secret])

    assert await wiki.remove_forgotten(ADA) is None
    assert WORD.encode() not in bytes_of(tmp_path / "wiki")


async def test_forgetting_makes_no_wiki_where_there_is_none(house: Rooms, tmp_path: Path) -> None:
    assert await a_wiki(house, tmp_path).remove_forgotten(ADA) is None
    assert not (tmp_path / "wiki").exists()


async def test_a_wiki_that_cannot_be_brought_up_to_date_is_named(
    house: Rooms, tmp_path: Path
) -> None:
    wiki = a_wiki(house, tmp_path)
    await stored(house, "Bob sails.")
    await wiki.export(ADA)
    (tmp_path / "wiki" / "ada" / "index.md").write_text("# mine now\n")

    assert await wiki.remove_forgotten(ADA) == str(tmp_path / "wiki" / "ada")
    assert await a_wiki(house, tmp_path, enabled=False).remove_forgotten(ADA) == str(
        tmp_path / "wiki" / "ada"
    )


async def test_an_export_elsewhere_is_named_when_something_is_forgotten(
    house: Rooms, tmp_path: Path
) -> None:
    (secret,) = await stored(house, f"The safe opens with {WORD}.")
    done = await a_wiki(house, tmp_path).export(ADA, str(tmp_path / "elsewhere"))

    forgotten = await house.trash.forget(ADA, ids=[secret])

    assert done.path == str(tmp_path / "elsewhere" / "ada")
    assert forgotten.backups == (done.path,)


async def test_a_target_is_an_absolute_path(house: Rooms, tmp_path: Path) -> None:
    with pytest.raises(InvalidError, match="absolute"):
        await a_wiki(house, tmp_path).export(ADA, "notes")


@pytest.mark.parametrize(
    ("export_root", "root"), [(None, "wiki"), ("notes", "notes"), ("/srv/x", "/srv/x")]
)
async def test_the_root_is_memds_own_or_what_the_settings_say(
    house: Rooms, tmp_path: Path, export_root: str | None, root: str
) -> None:
    assert a_wiki(house, tmp_path, export_root=export_root).root == tmp_path / root


async def test_a_root_in_the_owners_home_may_be_written_with_a_tilde(
    house: Rooms, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "me"))

    assert a_wiki(house, tmp_path, export_root="~/w").root == tmp_path / "me" / "w"


@pytest.mark.parametrize(
    ("settings", "follows"),
    [
        ({"enabled": True, "trigger": "on_consolidation"}, True),
        ({"enabled": True}, False),
        ({"trigger": "on_consolidation"}, False),
    ],
)
async def test_a_consolidation_is_followed_by_an_export_if_the_settings_say_so(
    house: Rooms, tmp_path: Path, settings: dict[str, object], follows: bool
) -> None:
    events: list[str] = []
    wiki = a_wiki(house, tmp_path, **settings)
    emit = wiki.wrap_emit(lambda agent_id, name, body: events.append(f"{agent_id} {name} {body}"))
    await stored(house, "Bob sails.")
    task = asyncio.create_task(wiki.run())

    emit("ada", EventName.STORED, {})
    emit("ada", EventName.CONSOLIDATED, {"kind": "night"})

    assert len(events) == 2
    if follows:
        async with asyncio.timeout(WAIT_S):
            while not (tmp_path / "wiki" / "ada" / "index.md").exists():  # noqa: ASYNC110  # a file tells nobody
                await asyncio.sleep(0.01)
    else:
        assert not wiki.pending_agents
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


async def test_more_of_one_instant_than_a_view_holds_is_cut_and_said_so(
    house: Rooms, tmp_path: Path
) -> None:
    await stored(house, *(f"Lamp number {number}." for number in range(12)))

    done = await a_wiki(house, tmp_path, max_entries_per_view=10).export(ADA)

    assert (done.raw, done.cut) == (10, ("raw",))
