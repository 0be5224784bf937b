"""Lessons that are marked as such: lines that begin with ``Lesson:``. Pure.

Nothing is guessed: a line is marked as a lesson or is none.
"""

from __future__ import annotations

import re

LESSON_CHARS_MAX = 600  # a sentence or two, and never more than one memory
_WORDS_MIN = 3

_LESSON = re.compile(
    r"""
    ^[ \t]* (?: (?: [-*+•] | \d{1,2}[.)] ) [ \t]+ )? (?: \*\* | __ )?
    (?: lessons? (?: [ ] learn(?:ed|t) )? | lehren? | leçons? (?: [ ] apprises? )?
      | lecci(?:ón|ones) (?: [ ] aprendidas? )? | lezion[ei] (?: [ ] imparat[ae] )?
      | liç(?:ão|ões) (?: [ ] aprendidas? )? | geleerde [ ] les(?:sen)? )
    (?: \*\* | __ )? [ \t]? : (?: \*\* | __ )? [ \t]* (?P<said> \S .* ) $
    """,
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)


def extract_lessons(text: str) -> list[str]:
    r"""Return the lessons in lines of *text*, each once, in order.

    >>> extract_lessons("Fixed.\n- **Lesson learned:** run the linter before a push")
    ['run the linter before a push']
    """
    if ":" not in text:
        return []
    lessons = (_clean_sentence(line["said"]) for line in _LESSON.finditer(text))
    return list(dict.fromkeys(lesson for lesson in lessons if lesson))


def parse_lesson(text: str) -> str | None:
    """Return the lesson that *text* states, None if it states none or more than that.

    >>> parse_lesson("Lesson: run the linter before a push")
    'run the linter before a push'
    """
    line = _LESSON.fullmatch(text.strip())
    return (_clean_sentence(line["said"]) or None) if line else None


def _clean_sentence(text: str) -> str:
    """Return *text* without trailing emphasis, "" if that is no sentence."""
    text = text.strip()
    if text.count("**") % 2:
        text = text.removesuffix("**").rstrip()
    is_one = len(text) <= LESSON_CHARS_MAX and len(text.split()) >= _WORDS_MIN
    return text if is_one and not text.endswith("?") else ""
