"""Choose the category of a text: step five of ingest (SPEC 1.7, D2, seed 004's table).

A hint by the client decides. Otherwise the first of these rules that matches:

- a preference of the owner is procedural;
- a statement about the current session or task is working;
- a rule of the work ("pull requests need two reviews") is procedural;
- a person's likes and reporting lines are social;
- a plain fact is semantic;
- any other text is episodic.

Working memories end with their session, so that rule requires the session or task to be named.
"now" and "today" occur in half of all messages and do not limit how long a statement holds.
"""

from __future__ import annotations

import re

from memd.domain.enums import MemoryCategory
from memd.text.preference import is_preference

_THIS_SESSION = re.compile(
    r"\b(?:in|during|within|for) (?:this|the current) (?:very |coding |chat |working )?session\b"
    r"|\b(?:currently|I'm|I am|we're|we are) "
    r"(?:implementing|refactoring|debugging|rebasing|bisecting|compiling)\b",
    re.IGNORECASE,
)

_VERBS = (
    "is|are|has|have|works?|uses?|prefers|runs?|lives?|owns?|speaks?|belongs?|depends?|requires?"
    "|supports?|provides?|contains?|includes?|stores?|maintains?|manages|implements?|replaces?"
    "|created|founded|invented|designed|wrote|built"
)
_THIS = (
    "project|repo|repository|codebase|service|app|application|team|company|package|module|library"
)

# A rule of the work: a step of a process and what it requires, "every release needs a changelog".
_STEP = (
    "(?:code |design |security )?reviews?|pull requests?|PRs?|merges?|commits?|deploys?"
    "|deployments?|releases?|hotfix(?:es)?|migrations?|rollbacks?|incidents?|refunds?|invoices?|purchases?"
)
_RULE = re.compile(
    rf"(?:^(?:[-*] )?|[.!?][\"')]* )(?:(?:all|every|each|any|our|the|production) ){{0,2}}"
    rf"(?:{_STEP}) (?:(?:always|here|also) )?"
    r"(?:requires?|needs?|must|has to|have to|goes? through)\b",
    re.IGNORECASE | re.MULTILINE,
)

# Words that are capitalised at the start of a sentence and are no names.
_NO_SUBJECT = (
    "It|There|That|This|These|Those|He|She|They|We|You|Here|What|Who|Where|When|Why|How|Which|If|Then"
    "|But|Because|Every(?:thing|one|body)|Some(?:thing|one|body)?|No(?:thing|body)|Any(?:thing|one)"
    "|All|Both|Not|Let|Is|Are|Do|Does|Did|Have|Has|Can|Could|Will|Would|Should|Life|Things"
)

# A sentence that begins with a subject and a verb of state. Case matters: a
# name has a capital.
_FACT = re.compile(
    rf"""
    (?:^(?:[-*]\ )?|[.!?]["')]*\ )
    (?:(?:Well|So|And|Also|Actually|Yes|Yeah|No|FYI|Note),?\ (?:that\ )?)?
    (?:
        I\ (?:am|have|work|use|own|live|speak|run)
      | I'm\ (?=an?\b|the\b|from\b|based\b|allergic\b|married\b|\d)
      | (?:[Tt]he|[Oo]ur|[Mm]y)\ [\w./'-]+(?:\ [\w./'-]+){{0,3}}?\ (?:{_VERBS})
      | [Tt]his\ (?:{_THIS})\ (?:{_VERBS})
      | (?!(?:{_NO_SUBJECT})\b)[A-Z][\w.+#-]+(?:\ (?:[A-Z]|v?\d)[\w.+#-]*){{0,3}}\ (?:{_VERBS})
    )
    \b(?!\ (?:been|gone|done|just|never|ever|going|to|so|gonna)\b|\ \w+ing\b)
    (?!\ (?:not\ )?(?:sure|glad|happy|sorry|excited|proud|here)\b)
    """,
    re.VERBOSE | re.MULTILINE,
)
# Likes and reporting lines of a person, named or given by role: "Ann prefers tea", "my boss
# reports to Ben". Not of the user.
_ROLE = (
    "lead|manager|boss|director|architect|designer|developer|engineer|reviewer|tester|team|client"
    "|customer|colleague|coworker|friend|neighbou?r|teacher|wife|husband|partner|mother|father|mom|dad"
    "|sister|brother|son|daughter"
)
_SOCIAL = re.compile(
    rf"""
    (?:^(?:[-*]\ )?|[.!?]["')]*\ )
    (?:
        (?:[Tt]he|[Oo]ur|[Mm]y)\ (?:[\w./'-]+\ ){{0,2}}?(?:{_ROLE})
      | (?!(?:{_NO_SUBJECT}|User|Users)\b)[A-Z][\w'-]+(?:\ [A-Z][\w'-]*){{0,2}}
    )
    \ (?:prefers|dislikes|insists\ on|reports\ to|mentors|gets\ along\ with)\b
    """,
    re.VERBOSE | re.MULTILINE,
)
_CATEGORY_PATTERNS = (
    (_RULE, MemoryCategory.PROCEDURAL),
    (_SOCIAL, MemoryCategory.SOCIAL),
    (_FACT, MemoryCategory.SEMANTIC),
)
_CHARS_MAX = 16_384
"""Characters of a text that are read; a chunk has fewer."""
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)")


def route(
    text: str, hint: MemoryCategory | None = None, *, by_owner: bool = True
) -> MemoryCategory:
    """Return the category of *text* (SPEC 1.7.1-3).

    Only the owner has preferences (SPEC D5): without *by_owner* that rule is skipped.

    >>> route("The user is a backend engineer.").value
    'semantic'
    """
    if hint is not None:
        return hint
    if by_owner and is_preference(text):
        return MemoryCategory.PROCEDURAL
    lines = fold_lines(text[:_CHARS_MAX])
    if _THIS_SESSION.search(lines):
        return MemoryCategory.WORKING
    return next(
        (category for pattern, category in _CATEGORY_PATTERNS if _states(pattern, lines)),
        MemoryCategory.EPISODIC,
    )


def fold_lines(text: str) -> str:
    r"""Return *text* with single spaces and without empty lines, for pattern matching.

    Patterns then need no ``\s+``, with which a hostile text could make them slow.

    >>> fold_lines("  a \t b\n \n\nc")
    'a b\nc'
    """
    lines = (" ".join(line.split()) for line in text.splitlines() if line)
    return "\n".join(filter(None, lines))


def _states(pattern: re.Pattern[str], text: str) -> bool:
    """Return whether *pattern* matches in *text*, and that sentence is not a question."""
    match = pattern.search(text)
    if match is None:
        return False
    end = _SENTENCE_END.search(text, match.end())
    return end is None or end[0] != "?"
