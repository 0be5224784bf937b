"""What a session left open. Pure, and a function of its exchanges alone."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from memd.sleep.distil.answers import cut
from memd.sleep.distil.exchanges import Exchange, Run
from memd.sleep.distil.findings import find_list
from memd.sleep.distil.language.phrases import PRINTED
from memd.sleep.distil.language.prose import sentences
from memd.sleep.distil.language.words import is_interruption
from memd.sleep.distil.outcomes import outcome

OPEN_MAX = 4
_OPEN_CHARS = 90
_LATEST = 3  # texts of an exchange, and exchanges, in which is looked for what is left
_STALE = 12  # exchanges; what was listed before is not told as open
_STEM_CHARS = 6
_TAKEN_SHARE = 0.6  # of a title's words in what is said later: it was taken up
_PICK_CHARS = 120  # of a message that picks titles by their numbers
_REQUEST_CHARS = 4_000

_STEP = re.compile(r"^[ \t]*[-*] \[(?: |⚡|~|-|>)\]\s+(.{3,200})$", re.MULTILINE)
_PLAN = re.compile(r"^[ \t]*[-*] \[(?: |⚡|~|-|>|x|X)\]\s+\S", re.MULTILINE)
_PLANNING = re.compile(r"todo|plan|task", re.IGNORECASE)
_CREATED = re.compile(r"Task #(\d{1,4}) created")
_ENDED = frozenset(("completed", "cancelled", "deleted"))
_ANSWER_CHARS = 200
_LABEL = r"^\W*(?:still )?(?:open|next|pending)(?: (?:items|points|tasks|up))?:\s*"
_STILL = re.compile(
    r"\b(?:remaining|remains(?! (?:the same|unchanged|as|in|intact)\b)"
    r"|(?<!can )(?<!could )still (?:needs?|open|to do|missing|fails?|left)|not yet"
    r"|left (?:to|undone|open)|next steps?(?= (?:is|are|was|will|would)\b|:| [\u2014\u2013-])"
    r"|follow-?up|to[ -]do\b|(?-i:TODOs?)(?=:| (?:is|are|remains?|in|left)\b)|untested"
    r"|before (?:merging|release)"
    r"|needs? to be (?:done|tested|verified|merged|pushed|deployed)"
    r"|ready to (?:test|push|merge|start|commit|deploy)"
    rf"|{_LABEL})",
    re.IGNORECASE,
)
_NARRATES = re.compile(
    r"^\W*(?:(?:now|next|first|then|finally|great|perfect|good)\b\W*)*"
    r"(?:let me|let's|i'll|i've|i have|i need|i want|now i|i(?= \w+ed\b)|we've|updating|marking"
    r"|if|you can|feel free|command stdout)\b",
    re.IGNORECASE,
)
_NOTHING = re.compile(r"\b(?:0|no|none|nothing)\b", re.IGNORECASE)
_DONE = re.compile(
    r"\b(?:fixed|done|resolved|addressed|created|completed?|closed|with"
    r"|made|implemented|applied|added|achieved)\b",
    re.IGNORECASE,
)
_IMPROVED = re.compile(r"\bimprovements\b", re.IGNORECASE)
_PROPOSED = re.compile(
    r"\b(?:top|most|recommend\w*|suggest\w*|possible|potential|future|further|next|proposed"
    r"|priority|remaining|needed|could|should)\b",
    re.IGNORECASE,
)
# A list of what was done may stand below "Summary and next steps".
_DID = re.compile(
    r"\W*(?:(?:also|now) )?(?:fixed|added|enhanced|improved|updated|created|implemented|removed"
    r"|moved|renamed|replaced|refactored|converted|cleaned|verified|completed|resolved|changed)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\b\d{1,4}\b")
_LONG_WORD = re.compile(r"[^\W\d_]\w{4,}")


def find_unfinished(exchanges: Sequence[Exchange]) -> list[str]:
    """Return what a session left open, in a few words each; OPEN_MAX at most.

    The open steps of its last plan; else what an answer listed last and nobody took up;
    else what the last answers say is still to be done.
    """
    steps = _steps([run for exchange in exchanges for run in exchange.runs])
    if steps:
        return [cut(step, _OPEN_CHARS) for step in steps[:OPEN_MAX]]
    real = [each for each in exchanges if each.texts or is_interruption(each.user)]
    stopped = bool(real) and is_interruption(real[-1].user)
    answered = [each for each in real if each.texts and each.user]
    left = (
        _open_titles(answered[-1:])
        or _open_sentences(answered[-1:])
        or _open_titles(answered)
        or _open_sentences(answered)
    )
    return [*["the user stopped the agent"] * stopped, *left][:OPEN_MAX]


def _open_titles(answered: Sequence[Exchange]) -> list[str]:
    """Return the titles of the list in which an answer ended last, without those taken up."""
    for at in range(len(answered) - 1, max(-1, len(answered) - 1 - _STALE), -1):
        for text in reversed(answered[at].texts[-_LATEST:]):
            made = find_list(text.text)
            if made is not None and not _tells_of_work(made.heading):
                left = _drop_taken_up(made.titles, answered[at + 1 :])
                return [cut(title, _OPEN_CHARS) for title in left if not _DID.match(title)]
    return []


def _tells_of_work(heading: str) -> bool:
    """Return whether a list has what was done, or is about to be: "Key improvements", "I'll fix".

    >>> [_tells_of_work(text) for text in ("Key improvements", "Top 5 improvements", "Issues")]
    [True, False, False]
    """
    if _DONE.search(heading) or _NARRATES.search(heading):
        return True
    return bool(_IMPROVED.search(heading)) and not _PROPOSED.search(heading)


def _open_sentences(answered: Sequence[Exchange]) -> list[str]:
    """Return what the last answers say is still to be done."""
    lines = [
        line.text
        for exchange in answered[: -1 - _LATEST : -1]
        for line in sentences(exchange.texts[-1].text)
    ]
    open_ones = (text for text in lines if _STILL.search(text) and not _is_none(text))
    texts = (re.sub(_LABEL, "", text, flags=re.IGNORECASE) for text in open_ones)
    return [cut(text, 2 * _OPEN_CHARS) for text in texts][:2]


def _is_none(text: str) -> bool:
    """Return whether a sentence asks, tells of the work, or says that nothing is left."""
    return text.endswith("?") or any(one.search(text) for one in (_NOTHING, _NARRATES, PRINTED))


def _drop_taken_up(titles: Sequence[str], later: Sequence[Exchange]) -> list[str]:
    """Return those of *titles* that nobody took up later, by their numbers or in their words."""
    picked: set[int] = set()
    texts: list[set[str]] = []
    for exchange in later:
        numbers = set(map(int, _NUMBER.findall(exchange.user[:_PICK_CHARS])))
        if numbers and max(numbers) <= len(titles):
            picked |= numbers
        texts += [_stems(exchange.user[:_REQUEST_CHARS]), _stems(outcome(exchange))]
    return [
        title
        for number, title in enumerate(titles, 1)
        if number not in picked and not _is_taken_up(_stems(title), texts)
    ]


def _is_taken_up(title: set[str], texts: Sequence[set[str]]) -> bool:
    return bool(title) and any(len(title & text) >= _TAKEN_SHARE * len(title) for text in texts)


def _stems(text: str) -> set[str]:
    return {word[:_STEM_CHARS].casefold() for word in _LONG_WORD.findall(text)}


def _steps(runs: Sequence[Run]) -> list[str]:
    """Return the steps of the latest plan that are not done: of a text, a list, or task by task."""
    for run in reversed(runs):
        if not _PLANNING.search(run.tool):
            continue
        given = run.given
        if isinstance(given, str) and _PLAN.search(given):
            return [step.strip() for step in _STEP.findall(given)]
        todos = given.get("todos", given.get("plan")) if isinstance(given, Mapping) else None
        if isinstance(todos, list):
            return [text for each in todos if (text := _step(each))]
    return _tasks(runs)


def _tasks(runs: Sequence[Run]) -> list[str]:
    """Return the tasks that were created one by one, with the number they got, and not ended."""
    left: dict[str, str] = {}
    for run in runs:
        if not isinstance(run.given, Mapping):
            continue
        created = _CREATED.search((run.result or "")[:_ANSWER_CHARS])
        subject = run.given.get("subject")
        if created and isinstance(subject, str):
            left[created[1]] = " ".join(subject.split())
        elif run.given.get("status") in _ENDED:
            left.pop(str(run.given.get("taskId")), None)
    return list(left.values())


def _step(each: object) -> str:
    if not isinstance(each, Mapping) or each.get("status") in _ENDED:
        return ""
    text = each.get("content") or each.get("step") or each.get("description")
    return " ".join(text.split()) if isinstance(text, str) else ""
