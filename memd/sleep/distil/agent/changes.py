"""Tell what the same session did about a finding of the agent. Pure.

"`lease.go:12` sets 2 s" is no longer so once the user orders 30 s and the agent sets it. The
finding is still worth keeping as the reason, but told as of then, with the change (decision 0412).
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterable, Iterator, Sequence

from memd.domain.sleep.consolidation import OUTCOME_PART, composed_parts
from memd.sleep.distil.agent.calls import command, edited_path, is_noise
from memd.sleep.distil.agent.outcomes import shows_trouble, trust_in_conclusion
from memd.sleep.distil.agent.reports import SECTION_SLOTS
from memd.sleep.distil.answers import cut
from memd.sleep.distil.compose import UserTurn
from memd.sleep.distil.exchanges import Exchange, NapKind, NapMemory
from memd.sleep.distil.language.prose import sentences, things
from memd.sleep.distil.language.replies import text_after_agreement
from memd.sleep.distil.language.signs import POINTS
from memd.text.alternations import Phrases
from memd.text.words import content_stems
from memd.text.words import sentences as split_sentences

BEFORE_CHANGE = "Before the change: "
"""Begins a finding that the same session changed; the change follows as its outcome."""
_TURNS_MAX = 3  # turns after a finding in which it is changed
_CHANGE_CHARS = 240
_SHARED_MIN, _TELLING_MIN = 2, 3  # stems
_NAME_CHARS = 6  # fewer may be a number or a suffix
_GENERIC = content_stems("test file line code error fail change add set run fix use now make")
# Begins a report of a change: "Set the limit to 5", "Done, ...", "The relay now listens".
_CHANGED = Phrases(
    r"\W*(?:(?:ok(?:ay)?|right|good|yes|all|both|i(?:'ve| have)?)\W+)*"
    r"(?:done|set(?! up\b)|changed|replaced|rewritten|rewrote|fixed|added|removed|moved|renamed"
    r"|dropped|converted|switched|deleted|raised|lowered|increased|reduced|updated|wired|made"
    r"|implemented|split|turned|pinned|bumped|reverted|wrapped|extracted|derived|enabled|disabled"
    r"|corrected|adjusted|patched|resolved|swapped|put)\b"
    r"|(?!now\b)[^.,;:!?]{2,80} (?:now (?:\w+s|are|have)\b|(?:is|are) [^.,;:!?]{2,80} now\W*$)"
)
_POINTS_BACK = re.compile(r"\b(?:both|all|it|them|these|those)\b", re.IGNORECASE)


def with_changes(turns: Sequence[UserTurn], memories: Iterable[NapMemory]) -> list[NapMemory]:
    """Return *memories*, each finding that a later one of *turns* changed told with that change.

    *turns* are all turns of the session. A finding is an outcome of a turn that shows trouble and
    changed nothing.
    """
    begins = [turn.exchange.place for turn in turns]
    return [
        _with_change(memory, turns[max(bisect(begins, memory.places[0]) - 1, 0) :])
        for memory in memories
    ]


def _with_change(memory: NapMemory, turns: Sequence[UserTurn]) -> NapMemory:
    """Return *memory*, a finding with its change; *turns* begin with the one that it is of."""
    exchange = turns[0].exchange
    if memory.kind is not NapKind.OUTCOME or memory.slot.startswith(SECTION_SLOTS):
        return memory
    finding = " ".join(composed_parts(memory.text))
    has_change = any(map(edited_path, exchange.runs)) or any(map(_reports_change, _texts(finding)))
    if has_change or not shows_trouble(exchange):
        return memory
    later = turns[1 : 1 + _TURNS_MAX]
    for number, turn in enumerate(later):
        following = later[number + 1].own if number + 1 < len(later) else ""
        change = _find_change(turn.exchange)
        is_tied = change and _is_tied(f"{turn.own} {change}", finding)
        is_tied = is_tied or (number == 0 and _leans(turn.own)) or _runs_again(exchange, turn)
        if change and is_tied and trust_in_conclusion(following) > 0:
            return memory._replace(text=f"{BEFORE_CHANGE}{finding}{OUTCOME_PART}{change}")
    return memory


def _find_change(exchange: Exchange) -> str:
    """Return the sentence in which the agent reports what it changed, "" if it reports nothing.

    Reports that say little ("Done.") come last.
    """
    texts = (text for each in exchange.texts for text in _texts(each.text))
    reports = list(filter(_reports_change, texts))
    return cut(next(filter(_is_telling, reports), next(iter(reports), "")), _CHANGE_CHARS)


def _texts(text: str) -> Iterator[str]:
    return (sentence.text for sentence in sentences(text))


def _reports_change(sentence: str) -> bool:
    """Return whether a sentence of the agent says what it changed, or how things are now.

    >>> _reports_change("Set leaseTTL = 30s."), _reports_change("The file sets 2 s.")
    (True, False)
    """
    return _CHANGED.match(sentence) is not None


def _is_telling(report: str) -> bool:
    """Return whether a report of a change says by itself what was changed."""
    return len(content_stems(report)) >= _TELLING_MIN and not _POINTS_BACK.search(report)


def _is_tied(text: str, finding: str) -> bool:
    """Return whether *text* has a name or two words of *finding*, which tell its subject.

    >>> finding = "`lease.go` sets leaseTTL to 2 s"
    >>> _is_tied("30 s for leaseTTL", finding), _is_tied("the lease of 30 s", finding)
    (True, False)
    """
    names = things(text) & things(finding)
    stems = content_stems(text) & content_stems(finding) - _GENERIC
    return any(len(name) >= _NAME_CHARS for name in names) or len(stems) >= _SHARED_MIN


def _leans(own: str) -> bool:
    """Return whether the user's words, right after a finding, are about it: "yes", "set it to 5".

    >>> _leans("yes please"), _leans("set it to 5"), _leans("ok, add a page for the orders")
    (True, True, False)
    """
    more = text_after_agreement(own)
    first = next(iter(split_sentences(more)), "")
    return not more or POINTS.search(first) is not None


def _runs_again(exchange: Exchange, turn: UserTurn) -> bool:
    """Return whether *turn* runs a command of *exchange* again, on the same thing."""
    return bool(_list_targets(exchange) & _list_targets(turn.exchange))


def _list_targets(exchange: Exchange) -> frozenset[tuple[str, str]]:
    """Return each argument of the commands in *exchange*, with the name of the command."""
    called = (each for each in map(command, exchange.runs) if each and not is_noise(each))
    return frozenset(
        (each.about, word)
        for each in called
        for word in each.line.split()
        if not word.startswith("-") and word not in each.about.split()
    )
