"""One crossing fires once, whoever else is watched."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.assist.events import COMPACTS, END, EVENTS
from memd.base.errors import InvalidError
from memd.signals.usage import Usage
from memd.sleep.window.trigger import (
    REARM,
    THRESHOLD,
    Emptying,
    Reason,
    WindowState,
    check_event,
    detect_emptying,
    fill,
    merge,
    step,
)

NOON = datetime(2026, 3, 17, 12, 0, tzinfo=UTC)

tokens = st.none() | st.integers(0, 250_000)
usages = st.builds(
    Usage,
    used_tokens=tokens,
    window_tokens=st.sampled_from([None, 30_000, 200_000, 1_000_000]),
    compact_at_tokens=st.sampled_from([None, 20_000, 167_000]),
    used_percent=st.none() | st.floats(0, 1_000),
    event=st.sampled_from([None, "statusline", "Stop"]),
)
announcing = st.builds(
    replace, usages, event=st.sampled_from([None, "PreCompact", "PreCompress", "SessionEnd"])
)


def run(*samples: Usage, state: WindowState | None = None) -> list[Reason | None]:
    """Return what each sample calls for, one after the other."""
    state = state or WindowState()
    reasons = []
    for usage in samples:
        state, reason = step(state, usage)
        reasons.append(reason)
    return reasons


def used(count: int, window: int | None = 30_000, event: str | None = None) -> Usage:
    return Usage(used_tokens=count, window_tokens=window, event=event)


def test_the_documents_figures_decide_as_documented() -> None:
    assert run(used(25_000)) == [Reason.FULL]
    assert run(used(24_000)) == [Reason.FULL]
    assert run(used(23_999)) == [None]


def test_the_same_crossing_never_fires_twice() -> None:
    assert run(used(24_300), used(24_300), used(24_600), used(29_999)) == [
        Reason.FULL, None, None, None,
    ]  # fmt: skip


def test_only_a_window_that_emptied_below_the_rearm_share_fires_again() -> None:
    assert run(used(24_000), used(18_000), used(24_000)) == [Reason.FULL, None, None]
    assert run(used(24_000), used(17_999), used(24_000)) == [Reason.FULL, None, Reason.FULL]


def test_an_unknown_window_is_the_documents_budget() -> None:
    assert run(used(24_000, None)) == [Reason.FULL]
    state, reason = step(WindowState(), used(24_000, None), max_tokens=200_000)
    assert (state.armed, reason) == (True, None)


def test_a_budget_of_nothing_never_fills() -> None:
    assert step(WindowState(), used(24_000, None), max_tokens=0)[1] is None
    assert step(WindowState(), used(24_000, None), max_tokens=-1)[1] is None


def test_the_window_ends_where_the_assistant_compacts() -> None:
    early = Usage(window_tokens=1_000_000, compact_at_tokens=400_000)
    assert run(replace(early, used_tokens=319_999)) == [None]
    assert run(replace(early, used_tokens=320_000)) == [Reason.FULL]
    assert fill(WindowState(used=50_000, compact_at=100_000)) == 0.5


def test_a_percentage_alone_is_a_share_of_the_window() -> None:
    assert run(Usage(used_percent=79.9), Usage(used_percent=80)) == [None, Reason.FULL]
    assert fill(WindowState(percent=40.0, window=1_000_000, compact_at=500_000)) == 0.8
    assert fill(WindowState(percent=80.0, compact_at=100_000)) == 0.8


def test_a_hook_without_a_window_leaves_the_one_of_the_status_line() -> None:
    state, _ = step(WindowState(), used(100_000, 200_000, event="statusline"))
    state, reason = step(state, Usage(event="Stop"))
    assert (state.used, state.window, state.event, reason) == (100_000, 200_000, "Stop", None)
    state, reason = step(state, used(160_000, None))
    assert (state.window, reason) == (200_000, Reason.FULL)


def test_a_new_percentage_is_not_outvoted_by_tokens_of_before_nor_tokens_by_a_percentage() -> None:
    state, _ = step(WindowState(), used(162_000, 200_000))
    state, _ = step(state, Usage(used_percent=20.0))
    assert fill(state) == pytest.approx(0.2)
    assert state.armed
    state, reason = step(WindowState(percent=20.0), used(24_000, None))
    assert (fill(state), reason) == (0.8, Reason.FULL)


@pytest.mark.parametrize("name", ["PreCompact", "preCompact", "experimental.session.compacting"])
def test_what_comes_before_a_compaction_fires_however_full_the_window_is(name: str) -> None:
    assert run(used(3_000, event=name)) == [Reason.EVENT]
    assert run(Usage(event=name)) == [Reason.EVENT]
    assert run(used(24_000), used(25_000, event=name)) == [Reason.FULL, Reason.EVENT]


def test_the_drop_after_an_announced_compaction_is_no_second_reason() -> None:
    assert run(used(23_000), used(23_500, event="PreCompact"), used(4_000)) == [
        None, Reason.EVENT, None,
    ]  # fmt: skip


def test_a_compression_that_gemini_merely_tries_fires_only_in_a_window_that_fills() -> None:
    attempt = "PreCompress"
    assert run(Usage(event=attempt)) == [None]
    assert run(used(17_999, event=attempt)) == [None]
    assert run(used(18_000, event=attempt)) == [Reason.EVENT]
    assert run(used(24_000), used(25_000, event=attempt)) == [Reason.FULL, None]
    assert run(used(18_000, event=attempt), used(18_500, event=attempt)) == [Reason.EVENT, None]


@pytest.mark.parametrize("name", ["SessionEnd", "sessionEnd", "TaskComplete"])
def test_the_end_of_a_session_fires(name: str) -> None:
    assert run(used(10, event=name)) == [Reason.ENDED]
    assert run(used(24_000), Usage(event=name)) == [Reason.FULL, Reason.ENDED]


def test_a_session_that_goes_on_after_its_end_still_has_its_crossing() -> None:
    assert run(used(20_000, event="SessionEnd"), used(24_000, event="statusline")) == [
        Reason.ENDED, Reason.FULL,
    ]  # fmt: skip


def test_an_end_in_a_full_window_is_one_reason_not_two() -> None:
    assert run(used(25_000, event="SessionEnd"), used(25_000, event="statusline")) == [
        Reason.ENDED, None,
    ]  # fmt: skip


def test_an_event_that_is_read_again_after_a_restart_is_no_news() -> None:
    for ended in (used(9_000, event="SessionEnd"), Usage(event="SessionEnd", at=NOON)):
        assert run(ended, ended) == [Reason.ENDED, None]
    later = NOON.replace(hour=13)
    assert run(Usage(event="PreCompact", at=NOON), Usage(event="PreCompact", at=later)) == [
        Reason.EVENT, Reason.EVENT,
    ]  # fmt: skip


def test_a_drop_by_more_than_a_quarter_says_that_a_compaction_was_missed() -> None:
    assert run(used(20_000), used(15_000)) == [None, None]
    assert run(used(20_000), used(14_999)) == [None, Reason.DROPPED]
    assert run(Usage(used_percent=70), Usage(used_percent=20)) == [None, Reason.DROPPED]
    assert run(used(140_000, 200_000), Usage(used_percent=20)) == [None, Reason.DROPPED]


def test_a_larger_window_is_no_drop() -> None:
    assert run(used(150_000, 200_000), used(150_000, 1_000_000)) == [None, None]


def test_the_drop_after_a_crossing_that_fired_only_arms_again() -> None:
    assert run(used(24_000), used(3_000), used(24_000)) == [Reason.FULL, None, Reason.FULL]


def test_a_low_threshold_does_not_fire_at_every_sample() -> None:
    state, fired = WindowState(), []
    for count in (12_000, 12_100, 11_999, 12_100, 8_900, 12_000):
        state, reason = step(state, used(count), threshold=0.4, drop=0.9)
        fired.append(reason)
    assert fired == [Reason.FULL, None, None, None, None, Reason.FULL]


@given(samples=st.lists(announcing, max_size=30))
def test_between_two_crossings_that_fire_the_window_was_below_the_rearm_share(
    samples: list[Usage],
) -> None:
    state, seen = WindowState(), []
    for usage in samples:
        state, reason = step(state, usage)
        seen.append((fill(state), reason))
    full = [place for place, (_, reason) in enumerate(seen) if reason is Reason.FULL]
    assert all((seen[place][0] or 0) >= THRESHOLD for place in full)
    for first, second in pairwise(full):
        assert any(share is not None and share < REARM for share, _ in seen[first:second])


@given(samples=st.lists(st.tuples(st.sampled_from("ab"), announcing), max_size=30))
def test_two_sessions_fire_as_each_would_alone(samples: list[tuple[str, Usage]]) -> None:
    states = {"a": WindowState(), "b": WindowState()}
    together: dict[str, list[Reason | None]] = {"a": [], "b": []}
    for name, usage in samples:
        states[name], reason = step(states[name], usage)
        together[name].append(reason)
    for name, reasons in together.items():
        assert reasons == run(*(usage for other, usage in samples if other == name))


@given(samples=st.lists(usages, max_size=8), places=st.lists(st.integers(0, 8), max_size=8))
def test_samples_that_say_nothing_change_nothing_wherever_they_come(
    samples: list[Usage], places: list[int]
) -> None:
    padded = list(samples)
    for place in places:
        padded.insert(place, Usage())
    reasons = [reason for reason in run(*padded) if reason]
    assert reasons == [reason for reason in run(*samples) if reason]


@given(first=usages, second=usages)
def test_what_is_said_last_counts_and_what_is_not_said_stays(first: Usage, second: Usage) -> None:
    state = merge(merge(WindowState(), first), second)
    assert state.window == (second.window_tokens or first.window_tokens)
    assert state.event == (second.event or first.event)
    if second.used_tokens is not None:
        assert state.used == second.used_tokens


def emptyings(*samples: Usage) -> list[Emptying | None]:
    """Return how each sample says that the window was emptied."""
    state, kinds = WindowState(), []
    for usage in samples:
        after, reason = step(state, usage)
        kinds.append(detect_emptying(state, usage, reason))
        state = after
    return kinds


def test_a_window_is_emptied_by_an_announced_compaction_and_by_a_fall_of_its_fill() -> None:
    assert emptyings(used(20_000), used(21_000), used(9_000)) == [None, None, Emptying.FELL]
    assert emptyings(used(20_000), used(20_000, event="PreCompact")) == [None, Emptying.ANNOUNCED]
    for event in ("PostCompact", "session.compacted"):
        assert emptyings(used(20_000), used(5_000, event=event))[-1] is Emptying.ANNOUNCED


def test_a_full_window_and_an_ended_session_are_not_emptied() -> None:
    assert emptyings(used(20_000), used(25_000), used(25_000, event="SessionEnd"))[1:] == [None] * 2


def test_an_event_that_is_read_again_empties_nothing_again() -> None:
    event = replace(used(20_000, event="PostCompact"), at=NOON)
    assert emptyings(event, event) == [Emptying.ANNOUNCED, None]
    assert emptyings(event, replace(event, at=NOON.replace(hour=13)))[-1] is Emptying.ANNOUNCED


def test_a_fall_within_what_the_settings_allow_is_none() -> None:
    assert emptyings(used(20_000), used(15_001)) == [None, None]
    before = WindowState(used=20_000, window=30_000)
    assert detect_emptying(before, used(15_001), None, drop=0.2) is Emptying.FELL


@pytest.mark.parametrize(
    ("event", "guess"),
    [
        ("end", "SessionEnd"), ("session_finished", "SessionEnd"), ("compact", "PreCompact"),
        ("PostCompaction", "PostCompact"), ("turns", "turn"),
    ],
)  # fmt: skip
def test_a_misspelt_event_is_refused_with_the_nearest_one(event: str, guess: str) -> None:
    with pytest.raises(InvalidError, match="turn, PreCompact, PostCompact, SessionEnd") as refusal:
        check_event(event)

    assert refusal.value.field == "event"
    assert (refusal.value.hint or "").startswith(f"did you mean {guess}? ")


def test_an_event_like_no_other_is_refused_without_a_guess() -> None:
    with pytest.raises(InvalidError) as refusal:
        check_event("xyz")

    assert "did you mean" not in (refusal.value.hint or "")


def test_every_event_of_the_hooks_is_known() -> None:
    for event in (
        None,
        "turn",
        "statusline",
        "session_end",
        *(e for s in EVENTS.values() for e in s),
    ):
        check_event(event)


@pytest.mark.parametrize(
    ("event", "action"), [pair for own in EVENTS.values() for pair in own.items()]
)
def test_what_a_hook_takes_for_an_end_or_a_compaction_naps(event: str, action: str) -> None:
    (reason,) = run(used(20_000, event=event))

    assert (reason is Reason.ENDED) == (action == END)
    assert (reason is Reason.EVENT) == (action == COMPACTS)
