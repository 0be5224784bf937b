"""Lessons that somebody says in so many words: a line that begins with ``Lesson:``. Pure.

No guess is made about what could be one: a line says what it is, or it is none.
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


def lessons_in(text: str) -> list[str]:
    r"""Return the lessons that lines of *text* say, each once, in order.

    >>> lessons_in("Fixed.\n- **Lesson learned:** run the linter before a push")
    ['run the linter before a push']
    """
    if ":" not in text:
        return []
    lessons = (_sentence(line["said"]) for line in _LESSON.finditer(text))
    return list(dict.fromkeys(lesson for lesson in lessons if lesson))


def as_lesson(text: str) -> str | None:
    """Return the lesson that *text* is, None where it is none or says something besides.

    >>> as_lesson("Lesson: run the linter before a push")
    'run the linter before a push'
    """
    line = _LESSON.fullmatch(text.strip())
    return (_sentence(line["said"]) or None) if line else None


def _sentence(text: str) -> str:
    """Return *text* without the end of its emphasis, "" if that is no sentence."""
    text = text.strip()
    if text.count("**") % 2:
        text = text.removesuffix("**").rstrip()
    is_one = len(text) <= LESSON_CHARS_MAX and len(text.split()) >= _WORDS_MIN
    return text if is_one and not text.endswith("?") else ""
