"""The closed vocabulary of relations, and the verbs that express them.

| relation | means | only one at a time |
|---|---|---|
| uses | works with a tool, a language, a service | |
| standardises_on | has it as the standard or default, perhaps for a purpose | one per subject |
| prefers | likes it better than others | |
| requires | needs it | |
| depends_on | is built on it | |
| replaces | replaces it | |
| owns | is responsible for it | one owner |
| leads | leads it | one leader |
| works_on | | |
| member_of | is a member or employee of it | |
| part_of | | one whole |
| located_in | lives or runs there | one place |
| reports_to | | one superior |
| is | a role (the subject) is filled by the object | one per subject |
| is_a | is of this kind | |
| except_for | is an exception to it | |
| links_to | a wiki page names it | |
| related_to | any other relation of an explicit triple; the qualifier says which | |

``memd/org/temporal.py`` implements "only one at a time".
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

Tense = Literal["present", "past"]
VerbKind = Literal["state", "switch", "begin", "stop", "is"]

RELATIONS = frozenset(
    {
        "uses", "standardises_on", "prefers", "requires", "depends_on", "replaces", "owns", "leads",
        "works_on", "member_of", "part_of", "located_in", "reports_to", "is", "is_a", "except_for",
        "links_to", "related_to",
    }
)  # fmt: skip


class Verb(NamedTuple):
    """The meaning of a verb form; *inverted*: subject and object are swapped ("is owned by")."""

    relation: str
    kind: VerbKind = "state"
    tense: Tense = "present"
    inverted: bool = False
    bare: bool = False
    """Whether the form is an infinitive, which without a subject is a command ("use tabs")."""


_WORDS: dict[Verb, str] = {
    Verb("uses", bare=True): "use",
    Verb("uses"): "uses|is using|are using|relies on|rely on|runs on|run on|works with|work with",
    Verb("uses", tense="past"): "used|used to use|relied on|was using|were using",
    Verb("uses", "begin"): "started using|began using|adopted|introduced|have adopted|has adopted",
    Verb("uses", "stop"): "stopped using|abandoned|dropped|gave up|have stopped using"
    "|has stopped using|have dropped|has dropped",
    Verb("uses", "switch"): "switched|moved|migrated|changed|have switched|has switched"
    "|have migrated|has migrated|switched over|moved over|switch|migrate",
    Verb("standardises_on", "begin"): "standardised on|standardized on|settled on"
    "|have standardised on|have standardized on|has standardised on|has standardized on",
    Verb("standardises_on"): "standardise on|standardises on|standardize on|standardizes on",
    Verb("prefers", bare=True): "prefer",
    Verb("prefers"): "prefers",
    Verb("requires", bare=True): "require",
    Verb("requires"): "requires|must have",
    Verb("depends_on"): "depends on|depend on|is built on|is built on top of|is based on"
    "|are built on|are based on",
    Verb("replaces"): "replaces|supersedes|takes the place of",
    Verb("replaces", "begin"): "replaced|superseded|took the place of|has replaced",
    Verb("replaces", "begin", inverted=True): "is replaced by|was replaced by|were replaced by"
    "|was superseded by|is superseded by|has been replaced by",
    Verb("owns"): "owns|own|is responsible for|are responsible for|maintains|maintain"
    "|is the owner of|are the owners of|is in charge of",
    Verb("owns", inverted=True): "is owned by|are owned by|is maintained by|are maintained by"
    "|belongs to",
    Verb("leads"): "leads|is leading|is the lead of|is the head of|heads",
    Verb("leads", inverted=True): "is led by|is headed by",
    Verb("works_on"): "works on|is working on|are working on|work on",
    Verb("member_of"): "works at|works for|is a member of|are members of|is employed at",
    Verb("member_of", "begin"): "joined|has joined",
    Verb("member_of", "stop"): "left|has left",
    Verb("part_of"): "is part of|are part of|is a part of|is a component of|is a module of",
    Verb("located_in"): "is located in|are located in|lives in|live in|is based in|are based in"
    "|is hosted on|is hosted in|is hosted at|are hosted on|runs in|is deployed on|is deployed in"
    "|is stored in|are stored in",
    Verb("reports_to"): "reports to|report to",
    Verb("is", "is"): "is|are",
    Verb("is", "is", "past"): "was|were",
    Verb("except_for"): "is an exception to|are an exception to|is exempt from|are exempt from",
}  # fmt: skip
FORMS: dict[str, Verb] = {form: verb for verb, forms in _WORDS.items() for form in forms.split("|")}
"""The meaning of every verb form, in lower case."""

_NOT = (
    r"don't|doesn't|didn't|mustn't|shouldn't|can't|cannot|isn't|aren't|do not|does not|did not"
    r"|must not|should not|may not|can not|is not|are not|no longer|never|do no longer"
)
_ANY = "|".join(sorted((form.replace(" ", r"\s+") for form in FORMS), key=len, reverse=True))
VERB_PHRASE = re.compile(
    r"(?<![\w'\u2019.-])(?:(?P<modal>must|should|shall|will|may|can|would|could|might|had)\s+)?"
    rf"(?:(?P<no>{_NOT})\s+)?"
    r"(?:(?:always|now|currently|also|still|mostly|usually|generally|officially|recently|already"
    r"|just|then|ever|only|finally)\s+)?"
    rf"(?P<verb>{_ANY})(?P<after>\s+(?:not|no\s+longer)|n't)?(?![\w'\u2019-])",
    re.IGNORECASE,
)
"""Matches a verb with its modal and its negation."""

FIELDS: dict[str, Verb] = {
    "owner": Verb("owns", inverted=True),
    "maintainer": Verb("owns", inverted=True),
    "responsible": Verb("owns", inverted=True),
    "lead": Verb("leads", inverted=True),
    "uses": Verb("uses"),
    "stack": Verb("uses"),
    "replaces": Verb("replaces"),
    "requires": Verb("requires"),
    "depends on": Verb("depends_on"),
    "dependencies": Verb("depends_on"),
    "part of": Verb("part_of"),
    "location": Verb("located_in"),
    "located in": Verb("located_in"),
    "host": Verb("located_in"),
    "hosted on": Verb("located_in"),
    "member of": Verb("member_of"),
    "reports to": Verb("reports_to"),
    "standard": Verb("standardises_on"),
    "default": Verb("standardises_on"),
}
"""The keys of ``Owner: Ann`` lines, in lower case."""


def parse_relation(words: str) -> Verb | None:
    """Return the meaning of *words* between two arrows, None if the vocabulary lacks them.

    >>> parse_relation("depends_on"), parse_relation("is owned by").inverted
    (Verb(relation='depends_on', kind='state', tense='present', inverted=False, bare=False), True)
    """
    plain = " ".join(words.casefold().replace("_", " ").replace("-", " ").split())
    name = plain.replace(" ", "_")
    if name in RELATIONS:
        return Verb(name)
    form = FORMS.get(plain)
    return form if form and form.kind in {"state", "is"} else None
