"""Make memories of the sections of long answers, approved plans and written pages. Pure.

When the agent works on its own for long, the useful text is what it wrote at the end: an
evaluation, a summary, an approved plan. A memory has the heading of a section and its best
sentences.
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
from memd.sleep.distil.compose import UserTurn, corrects
from memd.sleep.distil.exchanges import (
    NOTHING_JUDGED,
    Exchange,
    NapCandidate,
    NapKind,
    NapMemory,
    ToolRun,
)
from memd.sleep.distil.language.prose import FENCES, HEADLINE, plain
from memd.sleep.distil.language.words import Words, words
from memd.sleep.distil.user.quotations import drop_quoted, fold_words
from memd.sleep.distil.user.speech_acts import STANDING
from memd.text.alternations import Phrases

ANSWER_CHARS_MIN = 600
"""A shorter answer or page is no report."""
SECTION_CHARS_MAX = 700
PAGE_SLOT = "page:"
"""The prefix of the slots of a written page's sections; its path follows."""
SECTION_SLOTS = ("report:", PAGE_SLOT, "plan")
"""The prefixes of the slots of sections."""
_SUMMARY_CHARS_MIN = 100  # a single step or header is useless a week later
_SECTIONS_MIN, _SECTIONS_MAX = 2, 5
_CHARS_A_SECTION = 700  # a text may have one memory more for each of these
_SENTENCES_MAX = 5
_SCORE_MIN = 1.0  # the score from which a sentence is quoted
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
_LEADS = 0.6  # added to the score of the first sentence of a line
_LEAD_CHARS = 24
_SKIPPED_HEADING = re.compile(r"\b(?:test plan|verification|table of contents|references)\b", re.I)


class TextSection(NamedTuple):
    """A heading ("" for the text before the first) and the text below it."""

    heading: str
    body: str


def reports(exchanges: Sequence[Exchange]) -> list[NapCandidate]:
    """Return memories of the plans, the pages and the last long answer of each exchange.

    A long answer counts in the last exchange, or after at least five tool calls.
    """
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


def listed_rules(exchanges: Sequence[UserTurn]) -> Iterator[NapCandidate]:
    """Yield the rules that the user lists in one message.

    Rules are skipped if the user quotes more than half of their text from the agent.
    """
    agent_texts: list[str] = []
    for turn in exchanges:
        for number, text in enumerate(turn.words.rules):
            own = drop_quoted(Words(paragraphs=(text,)), agent_texts).paragraphs
            if 2 * len("".join(own)) > len(text):
                place, slot = (turn.exchange.place,), f"{turn.slot}-rules{number}"
                memory = NapMemory(text, NapKind.PREFERENCE, place, slot, Origin.PERSON)
                yield NapCandidate(memory, STANDING)
        agent_texts += [fold_words(agent_text.text) for agent_text in turn.exchange.texts]


def _distinct(candidates: Sequence[NapCandidate]) -> Iterator[NapCandidate]:
    """Yield *candidates* with distinct slots: a heading may occur twice."""
    count: Counter[str] = Counter()
    for candidate in candidates:
        slot = candidate.memory.slot
        count[slot] += 1
        if count[slot] > 1:
            slot = f"{slot}#{count[slot]}"
        yield candidate._replace(memory=candidate.memory._replace(slot=slot))


def _answer_memories(exchange: Exchange, following: str) -> Iterator[NapCandidate]:
    """Yield memories of the last long answer, without sections that the next message corrects."""
    if trust_in_conclusion(following) <= 0:
        return
    own = "\n".join(words(following).paragraphs)
    for text in exchange.texts[: -1 - _TEXTS_BACK : -1]:
        if len(text.text) >= ANSWER_CHARS_MIN:
            slot = hashlib.sha256(exchange.user.encode(errors="replace")).hexdigest()[:12]
            memories = _memories(
                text.text, NapKind.OUTCOME, text.place, f"report:{slot}", "", text.worths
            )
            for candidate in memories:
                if not corrects(following, candidate.memory.text, own):
                    yield candidate
            return


def approved_plan(run: ToolRun) -> str:
    """Return the plan that *run* showed and the user approved, "" for any other run."""
    if not _PLANNING_TOOL.search(run.tool) or not _APPROVED.search((run.result or "")[:400]):
        return ""
    marked = _APPROVED_PLAN.search(run.result or "")
    if marked:
        return (run.result or "")[marked.end() :]
    plan = run.arguments.get("plan") if isinstance(run.arguments, Mapping) else ""
    return plan if isinstance(plan, str) else ""


def written_page(run: ToolRun) -> str:
    """Return the text of the documentation page that *run* wrote as a whole, else ""."""
    path = edited_path(run)
    if not _PAGE.search(path) or _OWN_PAGE.search(path):
        return ""
    given = run.arguments
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
    """Yield a memory for each of the best sections of *text*, in their order.

    Its text is "LABEL: TITLE - HEADING: SENTENCES"; only the first memory has the whole title.
    """
    title, text_sections = sections(text)
    rated = (_rating(section, worths) for section in text_sections)
    parts = [part for part in rated if len(part[2]) >= _SUMMARY_CHARS_MIN]
    if len(parts) < _SECTIONS_MIN:
        return
    count_max = min(_SECTIONS_MAX, 1 + len(text) // _CHARS_A_SECTION)
    ranked = sorted(range(len(parts)), key=lambda at: (-parts[at][0], at))[:count_max]
    for at in sorted(ranked):
        name = title if at == min(ranked) else _subject(title)
        _, heading, summary = parts[at]
        above = ": ".join(filter(None, (label, name)))
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
    """Return the subject of a title: the part before a dash or colon, if it has two words.

    >>> _subject("The cache \u2014 an analysis against all peers"), _subject("Plan: the cache")
    ('The cache', 'Plan: the cache')
    """
    subject = _ASIDE.split(title, maxsplit=1)[0]
    return subject if len(subject.split()) >= _SUBJECT_WORDS else title


def _rating(section: TextSection, worths: Mapping[str, float]) -> tuple[float, str, str]:
    """Return the score of a section, its heading, and its best sentences as one text."""
    if _SKIPPED_HEADING.search(section.heading):
        return 0.0, section.heading, ""
    starts = {_ITEM.sub("", line)[:_LEAD_CHARS] for line in section.body.splitlines()}
    lines = [
        (score + _LEADS * (sentence.source[:_LEAD_CHARS] in starts), sentence)
        for score, sentence in rate_sentences(section.body, worths=worths)
    ]
    text = _LINES.sub("", best_sentences(lines, _SCORE_MIN, _SENTENCES_MAX, SECTION_CHARS_MAX))
    scores = sorted((score for score, _ in lines), reverse=True)[:_SENTENCES_MAX]
    gist = _GIST_SCORE * bool(_GIST.search(section.heading))
    return sum(scores) + gist, section.heading, text


def sections(text: str) -> tuple[str, list[TextSection]]:
    r"""Return the title of *text* ("" without one) and its sections that have text.

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
        heading, level = ("", 0) if fenced else _heading(line)
        if not heading:
            body.append(raw)
            continue
        if line.startswith("# ") and not title:
            title, heading = _PLAN.sub("", heading), ""
        parents = [parent for parent in parents if parent[0] < level]
        body = []
        result.append((parents[-1][1] if parents else "", heading, body))
        parents.append((level, heading))
    return title, list(_as_sections(result))


def _as_sections(parts: Sequence[tuple[str, str, Sequence[str]]]) -> Iterator[TextSection]:
    """Yield the sections with text, from *parts*: the heading above, the heading, the lines.

    A heading that occurs more than once is preceded by the one above it.
    """
    count = Counter(heading for _, heading, _ in parts)
    for above, heading, body in parts:
        if text := "\n".join(body).strip():
            is_ambiguous = above and heading and count[heading] > 1
            yield TextSection(f"{above}: {heading}" if is_ambiguous else heading, text)


def _heading(line: str) -> tuple[str, int]:
    """Return the text of a heading without its number, and its level; "" for any other line."""
    marked = HEADLINE.fullmatch(line)
    bold = _BOLD_LINE.fullmatch(line)
    heading = marked[2] if marked else bold[1] if bold else ""
    level = len(marked[1]) if marked else _BOLD_LEVEL
    return _NUMBER.sub("", plain(heading)).strip(" :.*")[:_TITLE_CHARS_MAX], level
