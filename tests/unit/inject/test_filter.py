"""SPEC 8.7: what may be put into a prompt."""

from __future__ import annotations

import logging

import pytest
from support.entries import a_scored

from memd.domain.memory import MemoryMetadata
from memd.domain.settings.retrieval import ScoredMemory
from memd.inject.pipeline import (
    MemoryFilterStrategy,
    PassthroughMemoryFilter,
    TagBasedMemoryFilter,
    filter_for_injection,
)

TAGGED = a_scored("why", 0.9, metadata=MemoryMetadata(tags=("adr", "non-inferable")))
PLAIN = a_scored("what", 0.8)
BOTH = (TAGGED, PLAIN)


class _Broken:
    """A filter that raises what it is given."""

    strategy_name = "broken"

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def filter_for_injection(self, memories: tuple[ScoredMemory, ...]) -> tuple[ScoredMemory, ...]:
        raise self._error


def test_spec_8_7_only_memories_with_the_tag_pass() -> None:
    tagged = TagBasedMemoryFilter()

    assert tagged.filter_for_injection(BOTH) == (TAGGED,)
    assert tagged.strategy_name == "tag_based"
    assert TagBasedMemoryFilter(" adr ").filter_for_injection(BOTH) == (TAGGED,)
    assert TagBasedMemoryFilter("other").filter_for_injection(BOTH) == ()


@pytest.mark.parametrize("tag", ["", "  "])
def test_spec_8_7_a_blank_tag_is_refused(tag: str) -> None:
    with pytest.raises(ValueError, match="required_tag"):
        TagBasedMemoryFilter(tag)


def test_spec_8_7_passthrough_lets_everything_pass() -> None:
    assert PassthroughMemoryFilter().filter_for_injection(BOTH) is BOTH
    assert PassthroughMemoryFilter().strategy_name == "passthrough"


def test_both_are_strategies() -> None:
    assert isinstance(TagBasedMemoryFilter(), MemoryFilterStrategy)
    assert isinstance(PassthroughMemoryFilter(), MemoryFilterStrategy)


def test_spec_8_7_an_explicit_filter_beats_the_setting() -> None:
    assert filter_for_injection(BOTH) == BOTH
    assert filter_for_injection(BOTH, non_inferable_only=True) == (TAGGED,)
    assert filter_for_injection(BOTH, PassthroughMemoryFilter(), non_inferable_only=True) == BOTH


def test_spec_8_7_a_filter_that_fails_lets_nothing_pass(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert filter_for_injection(BOTH, _Broken(KeyError("why"))) == ()

    assert "KeyError" in caplog.text
    assert "'why'" not in caplog.text


@pytest.mark.parametrize("error", [MemoryError(), RecursionError(), KeyboardInterrupt()])
def test_an_exhausted_system_is_not_swallowed(error: BaseException) -> None:
    with pytest.raises(type(error)):
        filter_for_injection(BOTH, _Broken(error))
