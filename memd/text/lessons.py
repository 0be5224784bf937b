"""Parse lessons: lines that begin with ``Lesson:``. Pure."""

from __future__ import annotations

import re

LESSON_CHARS_MAX = 600
"""Characters of a lesson: one or two sentences, which fit into one memory."""
_WORDS_MIN = 3
"""Words of a lesson: fewer are a heading."""

# "- **Lesson learned:** run the linter"; also in six other languages.
_LESSON = re.compile(
    r"""
    ^[ \t]* (?: (?: [-*+•] | \d{1,2}[.)] ) [ \t]+ )? (?: \*\* | __ )?
    (?: lessons? (?: [ ] learn(?:ed|t) )? | lehren? | leçons? (?: [ ] apprises? )?
      | lecci(?:ón|ones) (?: [ ] aprendidas? )? | lezion[ei] (?: [ ] imparat[ae] )?
      | liç(?:ão|ões) (?: [ ] aprendidas? )? | geleerde [ ] les(?:sen)? )
    (?: \*\* | __ )? [ \t]? : (?: \*\* | __ )? [ \t]* (?P<lesson> \S .* ) $
    """,
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)


def extract_lessons(text: str) -> list[str]:
    r"""Return the lessons in *text*, each once, in order.

    >>> extract_lessons("Fixed.\n- **Lesson learned:** run the linter before a push")
    ['run the linter before a push']
    """
    if ":" not in text:
        return []
    lessons = (_clean_lesson(line["lesson"]) for line in _LESSON.finditer(text))
    return list(dict.fromkeys(lesson for lesson in lessons if lesson))


def parse_lesson(text: str) -> str | None:
    """Return the lesson if *text* is one line that states a lesson, else None.

    >>> parse_lesson("Lesson: run the linter before a push")
    'run the linter before a push'
    """
    line = _LESSON.fullmatch(text.strip())
    return (_clean_lesson(line["lesson"]) or None) if line else None


def _clean_lesson(text: str) -> str:
    """Return *text* without a closing ``**``; "" for a question, or a text of another length."""
    text = text.strip()
    if text.count("**") % 2:  # its partner precedes the lesson: "**Lesson: never force-push**"
        text = text.removesuffix("**").rstrip()
    has_length = len(text) <= LESSON_CHARS_MAX and len(text.split()) >= _WORDS_MIN
    return text if has_length and not text.endswith("?") else ""
