"""What a long answer lists under a heading of its own: issues, improvements, what is left. Pure.

Reviews, audits and reports end in such a list, and what of it nobody did is what the
next session asks for. Its titles are told in one memory, in their order, without their
explanations.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from memd.domain.enums import Origin
from memd.sleep.distil.exchanges import Exchange, NapCandidate, NapKind, NapMemory
from memd.sleep.distil.language.phrases import PRINTED
from memd.sleep.distil.language.prose import CHECKBOX, FENCES, HEADLINE, is_code, plain, read_end
from memd.sleep.distil.language.words import words
from memd.sleep.distil.user.acts import Act, judge, without_order
from memd.text.languages import FUNCTION_WORDS
from memd.text.words import sentences

FINDINGS_CHARS_MAX = 700
LIST_SLOT = "list:"
"""The prefix of the slots of lists."""
_TITLE_CHARS_MAX = 130
_TITLE_WORDS_MIN = 3
_PRINTED_CHARS = 300
_TITLES_MIN, _TITLES_MAX = 2, 8
_SUBJECT_CHARS_MAX = 90
_CLAUSE_CHARS_MIN = 40
_SUBJECT_WORDS_MIN = 6
_WORDS_MAX = 7  # of a sentence of the moment that is all about its thing
_LEAD_CHARS_MAX = 80
_BOLD_LEVEL = 7
_SCORE = 0.75

# The heading of a list that is worth its titles, the best kind first.
_HEADINGS = tuple(
    re.compile(rf"\b(?:{names})\b", re.IGNORECASE)
    for names in (
        r"top \d+|top (?:\w+ )?(?:issues|improvements|priorities|findings)|most important"
        r"|critical|must fix|key (?:issues|findings|problems)|blockers",
        r"issues|improvements|findings|problems|concerns|bugs|risks|remaining|still open|left to do"
        r"|next steps|open (?:questions|items|issues|points)|todos?|follow-?ups?"
        r"|not (?:done|addressed)",
        r"recommend(?:ations|ed)|suggest(?:ions|ed)|gaps|missing|limitations|caveats",
    )
)
_OF_THE_MOMENT = frozenset({Act.QUESTION, Act.REQUEST, Act.ACKNOWLEDGEMENT, Act.APPROVAL})
_GREETS = frozenset({Act.ACKNOWLEDGEMENT, Act.APPROVAL})
_PART = re.compile(r"[,;:]\s|\s[\u2014\u2013-]\s|\s(?=(?:so|and|but|because|which|et|und|y)\s)")
_ENDS = " .:?!,;"
# How somebody begins to ask or to want, and no part of what it is about.
_BEGINS = re.compile(
    r"\W*(?:(?:please|pls|so|and|but|now|ok(?:ay)?|also|then|just|alright|great|thanks|hey|hi|well"
    r"|(?:do|don't) you think|(?:can|could|would|will|should|do|does|did) (?:you|we|i|it|they)"
    r"|(?:is|are|was|were|has|have) (?:it|there|we|you)|i(?:'d| would)? (?:want|like|need|think)"
    r"|we (?:can|could|want|need|should)|(?:us|me|you) to|let'?s|(?:make )?sure"
    r"|(?:what|how|why|where|which|when|who)"
    r"(?:'s| (?:is|are|was|were|does|do|did|can|should|would|to))?"
    r"|help|tell|show|me|us|if|that|to|is|it|this|will|est-ce que?|peux-tu|pouvez-vous|tu peux"
    r"|je (?:veux|voudrais|souhaite)(?: que)?|il faut(?: que)?|s'il te plaît|qu'est-ce que"
    r"|c'est quoi|peut-on|kannst du|könntest du|bitte|ich (?:will|möchte|brauche)|was ist|wie|warum"
    r"|wir (?:brauchen|wollen)|puedes|podrías|por favor|(?:quiero|necesito|quero|preciso)(?: que)?"
    r"|qué|cómo|puoi|potresti|voglio(?: che)?|você pode|kun je|ik wil)(?![\w'-]))",
    re.IGNORECASE,
)
_THING = re.compile(r"[^\s()\[\]\"'`,;:!?]+(?:://\S+)?(?<![.])")
_BOLD_LINE = re.compile(r"\*\*([^*\n]{3,200})\*\*:?")
_NUMBERED = re.compile(r"(?:\*\*)?\(?\d{1,2}[.):]\s+(?:\*\*)?")
_ITEM = re.compile(r"(?:[-*+•]|\(?\d{1,3}[.)])\s+")
_BOLD_LEAD = re.compile(r"\*\*(.{3,200}?)\*\*")
_CLAUSE = re.compile(r"\s[—\u2013-]\s|[.;:]\s|[.:]$")
_NO_SUBJECT = re.compile(r"\W*(?:no|nope|nah|wrong|ok(?:ay)?|yes|yup|yeah)\b", re.IGNORECASE)
_FINE = re.compile(
    r"\W*(?:\(\d+\)\s*)?(?:✅|good\b|none\b|no (?:issues|findings)\b)", re.IGNORECASE
)


class TitleList(NamedTuple):
    """A heading and the titles of what it lists, in their order."""

    heading: str
    titles: tuple[str, ...]


def find_lists(text: str, is_heading: Callable[[str], bool]) -> list[TitleList]:
    r"""Return the lists of *text* whose heading *is_heading* accepts, in their order.

    >>> find_lists("**Rest:**\n- Sign the release files\n", lambda text: text.startswith("Rest"))
    [TitleList(heading='Rest', titles=('Sign the release files',))]
    """
    return [each for each in _sections(text, is_heading) if each.titles]


def find_list(text: str) -> TitleList | None:
    r"""Return the list of *text* that is most worth keeping, None without one.

    >>> find_list("## Next steps\n1. **Cache the index** for a fast start\n2. Drop the `v1` routes")
    TitleList(heading='Next steps', titles=('Cache the index', 'Drop the v1 routes'))
    """
    sections = [each for each in _sections(text, _is_ranked) if len(each.titles) >= _TITLES_MIN]
    ranked = [(rank, at) for at, each in enumerate(sections) if (rank := _rank(each.heading)) >= 0]
    return sections[min(ranked)[1]] if ranked else None


def findings(exchanges: Sequence[Exchange]) -> list[NapCandidate]:
    """Return what the answers of *exchanges* list, a memory for each answer that does."""
    made = map(_finding_of, exchanges)
    return [candidate for candidate in made if candidate is not None]


def _finding_of(exchange: Exchange) -> NapCandidate | None:
    for agent_text in reversed(exchange.texts):
        made = find_list(agent_text.text)
        if made is None:
            continue
        text = list_line(made, _subject(agent_text.text) or _read_subject(exchange.user))
        places = (agent_text.place, exchange.place)
        # A message may say the same as another one, but not with the same list below it.
        mark = hashlib.sha256(f"{exchange.user}:{made.heading}".encode(errors="replace"))
        slot = f"{LIST_SLOT}{mark.hexdigest()[:12]}"
        memory = NapMemory(text, NapKind.OUTCOME, places, slot, Origin.ASSISTANT)
        return NapCandidate(memory, _SCORE)
    return None


def _read_subject(user: str) -> str:
    """Return what a message of the user asks for, as a subject."""
    own = words(user)
    return own.command or _short_subject((own.paragraphs or ("",))[0])


def _short_subject(asked: str) -> str:
    """Return what was asked as a subject, "" for what only announces a paste or says no.

    Of what was wanted or asked at the moment what it is about, of a long sentence its beginning.

    >>> _short_subject("Thanks! Can you check my new gitignore? does it look right")
    'my new gitignore'
    """
    text = " ".join(asked.split())
    if text.endswith(":") or _NO_SUBJECT.match(text):
        return ""
    first = text
    if judge(text).act in _OF_THE_MOMENT:
        first = _shorten(next((each for each in sentences(text) if _is_subject(each)), ""))
    if len(first) <= _SUBJECT_CHARS_MAX:
        return first.rstrip(_ENDS)
    clause = list(_PART.finditer(first, _CLAUSE_CHARS_MIN, _SUBJECT_CHARS_MAX))
    short = first[: clause[-1].start()] if clause else first[:_SUBJECT_CHARS_MAX].rpartition(" ")[0]
    return f"{short.rstrip(_ENDS)} \u2026"


def _shorten(sentence: str) -> str:
    """Return what a *sentence* of the moment is about, never the whole of it as it was said.

    >>> _shorten("the button on the left of the page is much too big"), _shorten("it is red now")
    ('the button on the left of the …', '')
    """
    short = _topic(sentence)
    parts = sentence.split()
    if short != sentence.strip(_ENDS):
        return short
    return f"{' '.join(parts[:_WORDS_MAX])} \u2026" if len(parts) > _WORDS_MAX + 1 else ""


def _topic(sentence: str) -> str:
    """Return what a request or question is about, in its own words; "" where it says no more.

    >>> _topic("Please apply the same width to our projects page.")
    'the same width to our projects page'
    >>> _topic("can you tell me why is the page of the shop so slow?"), _topic("what next?")
    ('the page of the shop so slow', '')
    """
    left = without_order(sentence)
    while begins := _BEGINS.match(left):
        left = left[begins.end() :]
    left = left.strip(" .:?!,;\u2026-")
    names = {word.casefold() for word in _THING.findall(left)} - FUNCTION_WORDS
    return left if len(names) > 1 else ""


def _is_subject(sentence: str) -> bool:
    """Return whether *sentence* says what it is about: no greeting, and no line of a program."""
    is_greeting = judge(sentence).act in _GREETS and len(sentence.split()) < _SUBJECT_WORDS_MIN
    return not (is_greeting or len(sentence.split()) < _TITLE_WORDS_MIN or is_code(sentence))


def list_line(made: TitleList, subject: str) -> str:
    """Return a list as one line, as many of its titles as fit."""
    text = f"{subject.rstrip(' .:')}: {made.heading}:" if subject else f"{made.heading}:"
    for number, title in enumerate(made.titles, 1):
        part = f" {number}. {title};"
        if len(text) + len(part) > FINDINGS_CHARS_MAX:
            break
        text += part
    return text.rstrip(";") + "."


def _subject(text: str) -> str:
    """Return the title of a whole answer, "" where it has none; a comment in code is no title."""
    fenced = False
    for line in map(str.strip, text.splitlines()):
        fenced ^= line.startswith(FENCES)
        heading = None if fenced else HEADLINE.match(line)
        if heading:
            return plain(heading[2])[:_SUBJECT_CHARS_MAX] if len(heading[1]) == 1 else ""
    return ""


def _rank(heading: str) -> int:
    return next((at for at, names in enumerate(_HEADINGS) if names.search(heading)), -1)


def _is_ranked(heading: str) -> bool:
    return _rank(heading) >= 0


def _sections(text: str, is_heading: Callable[[str], bool]) -> list[TitleList]:
    """Return each heading that *is_heading* accepts with the titles below it."""
    lists: list[TitleList] = []
    heading, depth, style = "", 0, ""
    titles: list[str] = []
    fenced = False
    for raw in read_end(text).splitlines():
        line = raw.strip()
        if line.startswith(FENCES):
            fenced = not fenced
            continue
        if fenced or not line:
            continue
        if CHECKBOX.match(line):
            heading = ""  # a list of tasks, which says nothing of what came of them
            continue
        marked, level = _heading(line)
        numbered = bool(_NUMBERED.match(marked)) and bool(heading)
        if marked and not numbered and (level <= depth or is_heading(marked) or not heading):
            lists.append(TitleList(heading, tuple(titles)))
            heading = plain(marked).rstrip(" :.") if is_heading(marked) else ""
            depth, style, titles = level, "", []
            continue
        its = "heading" if numbered else _style(raw)
        # The first title says what the others look like: what looks otherwise explains one.
        style = style or its
        if heading and its and its == style and len(titles) < _TITLES_MAX:
            titles += _title(marked or line)
    lists.append(TitleList(heading, tuple(titles)))
    return [each for each in lists if each.heading]


def _heading(line: str) -> tuple[str, int]:
    """Return a heading and its level, "" for any other line; a line in bold is below all others."""
    heading = HEADLINE.match(line)
    if heading:
        return heading[2], len(heading[1])
    bold = _BOLD_LINE.fullmatch(line)
    if bold:
        return bold[1], _BOLD_LEVEL
    lead = line.endswith(":") and len(line) <= _LEAD_CHARS_MAX and not _ITEM.match(line)
    return (line, _BOLD_LEVEL + 1) if lead else ("", 0)


def _style(raw: str) -> str:
    """Return what kind of item a line is, "" for what is none or stands below one."""
    if raw[:1].isspace() or not _ITEM.match(raw):
        return ""
    return "number" if _NUMBERED.match(raw) else "bullet"


def _title(line: str) -> list[str]:
    """Return the title that a heading or an item is, none where it says that all is well."""
    numbered = _NUMBERED.match(line)
    item = numbered or _ITEM.match(line)
    text = line[item.end() :] if item else line
    if numbered and numbered[0].endswith("**"):
        text = f"**{text}"
    if _FINE.match(text) or PRINTED.search(text[:_PRINTED_CHARS]):
        return []
    bold = _BOLD_LEAD.match(text)
    title = plain(bold[1] if bold else text).rstrip(" .:;,*")
    if bold and len(title.split()) < _TITLE_WORDS_MIN:
        title = plain(text)
    if len(title) > _TITLE_CHARS_MAX:
        clause = _CLAUSE.search(title, 20, _TITLE_CHARS_MAX)
        title = title[: clause.start()] if clause else title[:_TITLE_CHARS_MAX].rpartition(" ")[0]
    title = title.rstrip(" .:;,*")
    return [title] if len(title.split()) >= _TITLE_WORDS_MIN else []
