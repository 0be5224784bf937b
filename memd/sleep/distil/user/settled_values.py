"""Recognise sentences that settle a value by naming it: "the font should be Inter". Pure.

They are as short as orders of the moment, so only two forms count: a list that is said to be whole
("colours: navy and sand, nothing else"), and the name for something that is given a name once, such
as a font or a domain. "The header should be smaller" settles nothing. Decision 0381.
"""

from __future__ import annotations

from memd.text.alternations import Phrases

# "Colours: navy and sand, nothing else", but not the form of an answer or a message at hand.
_NOTHING_ELSE = Phrases(
    r"\W*(?:(?:ok(?:ay)?|and|so|also|then)\W+)*(?:the |our )?"
    r"(?!(?:output|answer|reply|reply with|result|commit|message|title|body|subject|todo|next|now"
    r"|step|scope|task|plan|fix|change|print|show|return)s?\b)"
    r"[\w-]+(?: [\w-]+)?: ?(?:[^:?]{2,60}(?:,| and | or | & )[^:?]{2,60}),"
    r" (?:and )?(?:nothing|no one|nobody) else\W*"
)
# "The font should be Inter": a named value of what one chooses a value for.
_SHALL_BE = Phrases(
    r"\W*(?i:(?:(?:ok(?:ay)?|and|so|also|then|oh)\W+)*(?:the |our )(?:[\w-]+ ){0,2}"
    r"(?:font|typeface|theme|palette|name|title|slogan|motto|tagline|domain|prefix|licen[cs]e"
    r"|currency|language|locale|time ?zone|branch|framework|database|default|brand)"
    r" (?:should|must|shall|has to|is to) be (?:called |set to )?)"
    r"(?!(?:True|False|None|Null|NULL)\b)[A-Z][\w.+#&/ -]{1,40}\W*",
    0,
)


def settles_value(plain: str) -> bool:
    """Return whether a sentence, in its spoken form, settles a value by naming it.

    >>> settles_value("the font should be Inter"), settles_value("the font should be bigger")
    (True, False)
    >>> settles_value("colours: navy and sand, nothing else")
    True
    """
    return any(pattern.fullmatch(plain) for pattern in (_NOTHING_ELSE, _SHALL_BE))
