"""Tables of the verbs and nouns that ask for relations in a question. Pure.

These words are called cues, and each has one or more readings. A verb's relation is walked in the
direction that its position between subject and object gives. A noun ("the owner of", "Ann's team")
has a fixed direction.
"""

from __future__ import annotations

from typing import NamedTuple

from memd.extract.verbs import FORMS


class CueEdge(NamedTuple):
    """One reading of a verb; *inverted*: its subject is the relation's object ("is led by")."""

    relation: str
    inverted: bool = False


class Noun(NamedTuple):
    """One reading of a noun.

    *forward*: the possessor ("Ann" in "Ann's team") is the statement's subject, else its object.
    """

    relation: str
    forward: bool


_NO_CUES = frozenset(("is", "are", "was", "were"))  # occur in too many questions

# Verb forms that occur in questions but not in statements.
_QUESTION_FORMS: dict[tuple[CueEdge, ...], str] = {
    (CueEdge("uses"),): "use|used|using|rely on|work with|working with",
    (CueEdge("uses", True),): "used by|used at|used in",
    (CueEdge("standardises_on"),): "standardise on|standardize on|standardised on|standardized on",
    (CueEdge("prefers"),): "prefer|prefers|preferred",
    (CueEdge("prefers", True),): "preferred by",
    (CueEdge("requires"), CueEdge("depends_on")): "require|need|needs|required|needed",
    (CueEdge("requires", True), CueEdge("depends_on", True)): "required by|needed by",
    (CueEdge("depends_on"), CueEdge("requires")): "depend on|depends on|depend|depends|based on"
    "|built on|built upon|build on",
    (CueEdge("replaces"),): "replace|replaces|replaced|supersede|supersedes|superseded",
    (CueEdge("replaces", True),): "replaced by|superseded by",
    (CueEdge("owns"),): "own|owns|owned|responsible for|in charge of|maintain|maintains|maintaining"
    "|looks after|look after|builds|build|develops",
    (CueEdge("owns", True),): "owned by|maintained by|looked after by|built by|developed by",
    (CueEdge("owns", True), CueEdge("part_of"), CueEdge("member_of")): "belong to|belongs to",
    (CueEdge("leads"),): "lead|leads|leading|led|head|heads|run by|manages|manage|managed",
    (CueEdge("leads", True), CueEdge("reports_to")): "led by|headed by|managed by",
    (CueEdge("works_on"), CueEdge("member_of")): "work on|works on|working on|worked on",
    (CueEdge("works_on", True),): "worked on by",
    (CueEdge("member_of"), CueEdge("works_on"), CueEdge("located_in")): "work|works|working|work in"
    "|works in|work at|works at|work for|works for|employed at|joined|join",
    (CueEdge("member_of"), CueEdge("part_of"), CueEdge("located_in")): "is in|are in|is on|are on"
    "|member of|members of|in|on",
    (CueEdge("part_of"), CueEdge("member_of")): "part of|component of|module of|contained in",
    (CueEdge("part_of", True),): "contain|contains|consist of|consists of|include|includes",
    (CueEdge("located_in"),): "located|located in|live|lives|live in|lives in|hosted|hosted in"
    "|hosted on|hosted at|based|based in|deployed|deployed in|deployed on|deployed to|stored"
    "|stored in|run in|runs in|running in|sit|sits",
    (CueEdge("located_in"), CueEdge("uses")): "run|runs|run on|runs on|running on",
    (CueEdge("located_in", True), CueEdge("uses", True)): "host|hosts|hosting",
    (CueEdge("reports_to"),): "report to|reports to|reporting to|report|reports",
    (CueEdge("except_for"),): "exempt from|exempt|exception to|exception from",
    (CueEdge("links_to"),): "link to|links to|linked to",
}  # fmt: skip

VERBS: dict[str, tuple[CueEdge, ...]] = {
    **{
        form: (CueEdge(verb.relation, verb.inverted),)
        for form, verb in FORMS.items()
        if form not in _NO_CUES
    },
    **{form: options for options, forms in _QUESTION_FORMS.items() for form in forms.split("|")},
}
"""Readings of each verb phrase, in lower case, the likeliest first."""

WEAK = frozenset(("in", "on", "run", "runs", "work", "works", "report", "reports", "sit", "sits"))
"""Verb phrases that may ask for no relation at all: a reading of the question may ignore them."""

_NOUNS: dict[tuple[Noun, ...], str] = {
    (
        Noun("member_of", True),
        Noun("leads", True),
        Noun("owns", False),
        Noun("works_on", False),
        Noun("part_of", True),
    ): "team|group|department|squad|guild|company|employer|unit",
    (Noun("owns", False),): "owner|owners|maintainer|maintainers",
    (Noun("leads", False),): "lead|leader|head|leads|heads|leaders",
    (Noun("reports_to", True), Noun("leads", False)): "manager|boss|superior|supervisor",
    (Noun("reports_to", False),): "report|reports|subordinates",
    (Noun("member_of", False), Noun("reports_to", False)): "member|members|people|staff|engineers",
    (Noun("located_in", True),): "location|place|home|city|country|region|host|site|town|office",
    (Noun("standardises_on", True),): "standard|default|standards",
    (Noun("replaces", False),): "replacement|successor|replacements",
    (Noun("replaces", True),): "predecessor",
    (Noun("depends_on", True), Noun("requires", True)): "dependency|dependencies|prerequisite"
    "|requirement|requirements|prerequisites|foundation",
    (Noun("part_of", False),): "component|components|part|parts|module|modules",
    (Noun("except_for", False),): "exception|exceptions",
    (Noun("uses", True),): "tool|tools|stack|language|languages|framework|frameworks|database"
    "|databases|technology|library|libraries",
    (Noun("uses", False),): "user|users",
    (Noun("owns", True), Noun("works_on", True)): "product|products|service|services|project"
    "|projects|system|systems",
    (Noun("prefers", True),): "preference|favourite|favorite",
    (Noun("is", True),): "name|identity|holder",
    (Noun("is_a", True),): "kind|type|sort",
}  # fmt: skip

NOUNS: dict[str, tuple[Noun, ...]] = {
    word: options for options, words in _NOUNS.items() for word in words.split("|")
}
"""Readings of each noun, in lower case. A noun is a cue only with a possessor ("Ann's team")."""

PHRASE_WORDS_MAX = max(phrase.count(" ") for phrase in VERBS) + 1
