"""What a long answer, an approved plan or a written page says, a memory for each section. Pure.

Where the agent works by itself for long, what a week later is asked for stands in what
it wrote at the end: an evaluation, a summary of what was made, a plan that somebody
approved. Of each section the sentences are told that name most, below its heading.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import NamedTuple

from memd.domain.enums import Origin
from memd.sleep.distil.agent.calls import edited_path
from memd.sleep.distil.agent.outcomes import best_sentences, rate_sentences, trust_in_conclusion
from memd.sleep.distil.compose import OwnExchange, corrects
from memd.sleep.distil.exchanges import (
    NOTHING_JUDGED,
    Exchange,
    NapCandidate,
    NapKind,
    NapMemory,
    Run,
)
from memd.sleep.distil.language.prose import FENCES, HEADLINE, plain
from memd.sleep.distil.language.words import Words, words
from memd.sleep.distil.user.acts import STANDING
from memd.sleep.distil.user.quoted import drop_quoted, fold_words
from memd.text.alternations import Phrases

ANSWER_CHARS_MIN = 600
SECTION_CHARS_MAX = 700
PAGE_SLOT = "page:"
SECTION_SLOTS = ("report:", PAGE_SLOT, "plan")
"""The prefixes of the slots of sections."""
_SAID_CHARS_MIN = 100  # a step or a header alone says nothing a week later
_SECTIONS_MIN, _SECTIONS_MAX = 2, 5
_CHARS_A_SECTION = 700  # a text has a memory for each, of its best sections
_SENTENCES_MAX = 5
_LEAST = 1.0  # the score from which a sentence is told
_TITLE_CHARS_MAX = 90
_BOLD_LEVEL = 7
_TEXTS_BACK = 3
_RUNS_MIN = 5  # of an exchange in which the agent worked by itself
_SCORES = {NapKind.DECISION: 0.55, NapKind.OUTCOME: 0.35}
_PAGE_SCORE = 0.3

_BOLD_LINE = re.compile(r"\*\*([^*\n]{3,160})\*\*:?")
_ITEM = re.compile(r"^\s*(?:[-*+\u2022]|\(?\d{1,3}[.)])\s+")
_NUMBER = re.compile(r"^(?:\(?\d{1,2}[.):]|[^\w`(\[]+)\s*")
_APPROVED_PLAN = re.compile(r"^#+ Approved Plan:?\s*\n", re.MULTILINE)
_PLAN = re.compile(r"^Plan: ")
_APPROVED = re.compile(r"\bapproved\b", re.IGNORECASE)
_PLANNING_TOOL = re.compile(r"exit_?plan|plan_?exit", re.IGNORECASE)
_PAGE = re.compile(r"\.(?:md|markdown|rst|adoc)$", re.IGNORECASE)
_OWN_PAGE = re.compile(r"(?:^|/)\.[\w-]+/plans?/")
_ADDED = re.compile(r"^\+(?!\+\+ )", re.MULTILINE)
_GIST = Phrases(
    r"\b(?:bottom line|summary|recommend\w*|decisions?|conclusions?|root cause|cause|next steps?"
    r"|open|blockers?|limitations?|trade-?offs|approach|design|findings|result|verdict|keep"
    r"|not moving)\b"
)
_GIST_SCORE = 1.5
_ASIDE = re.compile(r"\s+[\u2014\u2013-]\s+|:\s+")
_SUBJECT_WORDS = 2
_LINES = re.compile(r"\s*\((?:lines? )?\d+(?:\s*[-\u2013,]\s*\d+)+\)")
_LEADS = 0.6  # what the first sentence of a line is worth more
_LEAD_CHARS = 24
_NOTHING_SAID = re.compile(r"\b(?:test plan|verification|table of contents|references)\b", re.I)


class TextSection(NamedTuple):
    """A heading, "" before the first, and what stands below it."""

    heading: str
    body: str


def reports(exchanges: Sequence[Exchange]) -> list[NapCandidate]:
    """Return what the plans, the pages and the last long answer of each exchange say."""
    candidates: list[NapCandidate] = []
    for exchange, after in zip_longest(exchanges, exchanges[1:]):
        if words(exchange.user).plan:
            candidates += _memories(exchange.user, NapKind.DECISION, exchange.place, "plan", "Plan")
        for run in exchange.runs:
            if plan := approved_plan(run):
                candidates += _memories(plan, NapKind.DECISION, run.place, "plan", "Plan approved")
            elif page := written_page(run):
                candidates += _memories(
                    page, NapKind.OUTCOME, run.place, f"{PAGE_SLOT}{edited_path(run)}", ""
                )
        if after is None or len(exchange.runs) >= _RUNS_MIN:
            candidates += _answer_memories(exchange, after.user if after else "")
    return list(_distinct(candidates))


def listed_rules(exchanges: Sequence[OwnExchange]) -> Iterator[NapCandidate]:
    """Yield the rules that the user lists in one message, a memory for a few headings.

    Those that mostly the agent had written are not theirs.
    """
    flat: list[str] = []
    for turn in exchanges:
        for number, text in enumerate(turn.own.rules):
            own = drop_quoted(Words(paragraphs=(text,)), flat).paragraphs
            if 2 * len("".join(own)) > len(text):
                place, slot = (turn.exchange.place,), f"{turn.slot}-rules{number}"
                memory = NapMemory(text, NapKind.PREFERENCE, place, slot, Origin.PERSON)
                yield NapCandidate(memory, STANDING)
        flat += [fold_words(each.text) for each in turn.exchange.texts]


def _distinct(candidates: Sequence[NapCandidate]) -> Iterator[NapCandidate]:
    """Yield *candidates*, each with a slot of its own: a heading may come twice."""
    count: Counter[str] = Counter()
    for each in candidates:
        slot = each.memory.slot
        count[slot] += 1
        if count[slot] > 1:
            slot = f"{slot}#{count[slot]}"
        yield each._replace(memory=each.memory._replace(slot=slot))


def _answer_memories(exchange: Exchange, following: str) -> Iterator[NapCandidate]:
    """Yield what the last long answer says, without what the user takes back in what follows."""
    if trust_in_conclusion(following) <= 0:
        return
    own = "\n".join(words(following).paragraphs)
    for text in exchange.texts[: -1 - _TEXTS_BACK : -1]:
        if len(text.text) >= ANSWER_CHARS_MIN:
            slot = hashlib.sha256(exchange.user.encode(errors="replace")).hexdigest()[:12]
            memories = _memories(
                text.text, NapKind.OUTCOME, text.place, f"report:{slot}", "", text.worths
            )
            yield from (each for each in memories if not corrects(following, each.memory.text, own))
            return


def approved_plan(run: Run) -> str:
    """Return the plan that *run* showed to the user and that they approved, "" for any other."""
    if not _PLANNING_TOOL.search(run.tool) or not _APPROVED.search((run.result or "")[:400]):
        return ""
    marked = _APPROVED_PLAN.search(run.result or "")
    if marked:
        return (run.result or "")[marked.end() :]
    plan = run.given.get("plan") if isinstance(run.given, Mapping) else ""
    return plan if isinstance(plan, str) else ""


def written_page(run: Run) -> str:
    """Return the page that *run* wrote whole, "" for anything else."""
    path = edited_path(run)
    if not _PAGE.search(path) or _OWN_PAGE.search(path):
        return ""
    given = run.given
    if isinstance(given, Mapping):
        text = next((given[key] for key in ("content", "file_text") if key in given), "")
    else:
        text = "\n".join(line[1:] for line in str(given).splitlines() if _ADDED.match(line))
    return text if isinstance(text, str) and len(text) >= ANSWER_CHARS_MIN else ""


def _memories(
    text: str,
    kind: NapKind,
    place: int,
    slot: str,
    label: str,
    worths: Mapping[str, float] = NOTHING_JUDGED,
) -> Iterator[NapCandidate]:
    """Yield a memory for each of the best sections of *text*, in their order, under its *label*."""
    title, scored = sections(text)
    rated = (_rating(each, worths) for each in scored)
    parts = [each for each in rated if len(each[2]) >= _SAID_CHARS_MIN]
    if len(parts) < _SECTIONS_MIN:
        return
    most = min(_SECTIONS_MAX, 1 + len(text) // _CHARS_A_SECTION)
    ranked = sorted(range(len(parts)), key=lambda at: (-parts[at][0], at))[:most]
    for at in sorted(ranked):
        called = title if at == min(ranked) else _subject(title)
        above = ": ".join(filter(None, (label, called)))
        _, heading, summary = parts[at]
        head = " \u2013 ".join(filter(None, (above, heading)))
        score = _PAGE_SCORE if slot.startswith(PAGE_SLOT) else _SCORES[kind]
        memory = NapMemory(
            f"{head}: {summary}" if head else summary,
            kind,
            (place,),
            f"{slot}:{heading or at}",
            Origin.ASSISTANT,
        )
        yield NapCandidate(memory, score, fills=True)


def _subject(title: str) -> str:
    """Return what a title is about, without what it says of it: only the first one says all.

    >>> _subject("The cache \u2014 an analysis against all peers"), _subject("Plan: the cache")
    ('The cache', 'Plan: the cache')
    """
    subject = _ASIDE.split(title, maxsplit=1)[0]
    return subject if len(subject.split()) >= _SUBJECT_WORDS else title


def _rating(section: TextSection, worths: Mapping[str, float]) -> tuple[float, str, str]:
    """Return how much a section says, its heading, and its best sentences."""
    if _NOTHING_SAID.search(section.heading):
        return 0.0, section.heading, ""
    starts = {_ITEM.sub("", line)[:_LEAD_CHARS] for line in section.body.splitlines()}
    lines = [
        (score + _LEADS * (sentence.source[:_LEAD_CHARS] in starts), sentence)
        for score, sentence in rate_sentences(section.body, worths=worths)
    ]
    text = _LINES.sub("", best_sentences(lines, _LEAST, _SENTENCES_MAX, SECTION_CHARS_MAX))
    scores = sorted((score for score, _ in lines), reverse=True)[:_SENTENCES_MAX]
    gist = _GIST_SCORE * bool(_GIST.search(section.heading))
    return sum(scores) + gist, section.heading, text


def sections(text: str) -> tuple[str, list[TextSection]]:
    r"""Return the title of *text*, "" without one, and its sections.

    >>> title, parts = sections("# Ports\nOf the lab.\n## 1. Web\nIt is `80`.")
    >>> title, [tuple(part) for part in parts]
    ('Ports', [('', 'Of the lab.'), ('Web', 'It is `80`.')])
    """
    title = ""
    body: list[str] = []
    result = [("", "", body)]
    parents: list[tuple[int, str]] = []
    fenced = False
    for raw in text.splitlines():
        line = raw.strip()
        fenced ^= line.startswith(FENCES)
        named, level = ("", 0) if fenced else _heading(line)
        if not named:
            body.append(raw)
            continue
        if line.startswith("# ") and not title:
            title, named = _PLAN.sub("", named), ""
        parents = [each for each in parents if each[0] < level]
        body = []
        result.append((parents[-1][1] if parents else "", named, body))
        parents.append((level, named))
    return title, list(_as_sections(result))


def _as_sections(parts: Sequence[tuple[str, str, Sequence[str]]]) -> Iterator[TextSection]:
    """Yield the sections that say something, of the heading above each, its own, and its lines."""
    count = Counter(named for _, named, _ in parts)
    for above, named, body in parts:
        if text := "\n".join(body).strip():
            is_told_above = above and named and count[named] > 1
            yield TextSection(f"{above}: {named}" if is_told_above else named, text)


def _heading(line: str) -> tuple[str, int]:
    """Return the heading that *line* is, without its number, and its level; "" for another line."""
    marked = HEADLINE.fullmatch(line)
    bold = _BOLD_LINE.fullmatch(line)
    named = marked[2] if marked else bold[1] if bold else ""
    level = len(marked[1]) if marked else _BOLD_LEVEL
    return _NUMBER.sub("", plain(named)).strip(" :.*")[:_TITLE_CHARS_MAX], level
