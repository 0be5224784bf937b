"""Phrase lists that classify sentences of an agent and short answers of a user.

``opening`` matches a phrase at the start of a text, ``anywhere`` in all of it, both as whole words.
Most lists are English. A sentence that matches no list stays unclassified.
"""

from __future__ import annotations

import re

from memd.text.alternations import Phrases, anywhere, opening


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# The agent's account of its work ("Let me ...", "Here's ..."). Such sentences are never stored.
NARRATION = opening(
    """
    let me, let's, let us, i'll, i will, i'm going to, i need, i want, i should, now, here's,
    here is, here are, looking, want me, would you, shall, should i, do you, you can, you could,
    feel free, the next step, working on, time to, api error, request timed out, credit balance,
    claude usage limit, usage limit, rate limit, prompt is too long, conversation too long,
    no response requested,
    the user (?:is|was|has|wants|wanted|asks|asked|says|said|mentioned|needs|just|didn't),
    je (?:vais|vois|m'excuse|comprends|commence|constate|ne (?:peux|vois) pas), laisse[sz]?-moi,
    maintenant, vérifions, voyons, regardons, ajoutons, créons, remplaçons, commençons, testez,
    teste, dis-moi, dites-moi, peux-tu, pouvez-vous, vous (?:pouvez|voulez|devriez),
    tu (?:peux|veux),
    souhaites-tu, souhaitez-vous, veux-tu, voulez-vous, si (?:tu veux|vous voulez), parfait,
    excellent, d'accord, en regardant,
    ich (?:werde|sehe|verstehe|kann nicht|schaue|prüfe), lass mich, lassen sie mich, jetzt, perfekt,
    möchtest du, möchten sie, du kannst, sie können,
    voy a, déjame, ahora, veo que, vamos a, perfecto, entiendo, puedes, quieres, no puedo,
    vou, deixe-me, agora, vejo que, perfeito, entendi, você pode, não posso,
    vedo che, sto per, lasciami, adesso, perfetto, capisco, puoi, vuoi, non posso,
    ik (?:ga|zie|begrijp|kan niet), laat me, je kunt, wil je,
    теперь, сейчас, давайте, отлично, понятно, я (?:вижу|буду|не могу), вы можете, хотите,
    (?:让我|我来|我将|我会|现在(?:让|我|来)|好的|您可以|你可以|请问|我看到|我无法)\\w*
    """,
    before=r"(?:(?:now|next|first|then|good|ok|okay|yes)\b[,.:—]?\s+|[\u00bf\u00a1])*",
)
# Announces the next step: "Let me check". The text before it is not the final answer.
ANNOUNCES = Phrases(
    r"\W*(?:(?:now|next|first|so|ok(?:ay)?|then)\W+)*"
    r"(?:let me(?! know| be )|let's(?! encrypt)|i'm going to|(?:i'll|i will)\b.*\b(?:now|next)\b)"
    r"|\W*(?:now|next)\W+(?:i'll|i will)\b"
)
# A thought of the agent ("The user wants ..."), which some recorders store as its text.
THOUGHT = opening(
    """
    the user (?:wants|wanted|asks|asked|says|said|reports|mentions|mentioned|confirmed|clarified
    |provided|approved|would like), the user is (?:saying|getting|reporting|still|experiencing
    |ready|right|pointing|asking|now|telling|also|confirming|seeing|referring|happy|frustrated),
    the user has (?:asked|provided|confirmed|reported|given|clarified|now|said)
    """,
    before=r"(?:(?:okay|ok|alright|so|now|hmm|good|great|perfect)\b[,.!:—]?\s+)*",
)
# Praise of one's own work: "the names are clear".
FINE = Phrases(
    r"\b(?:is|are|looks?|seems?) (?:very |all |well[- ])?"
    r"(?:clear|good|fine|correct|consistent|solid|clean|readable|structured|named|appropriate)\b"
)
# An intention: "I also need to ..."
INTENDS = re.compile(
    r"\bI (?:also |still |just |now )?(?:need|want|plan|have) to\b|\bI'll\b|\bI will\b|\blet me\b",
    re.IGNORECASE,
)
# A step of a plan, not a result: "Add a test", "line 12".
TASK = opening(
    """
    add, update, move, remove, use, run, check, read, create, fix, consider, make, delete, replace,
    try, keep, write, test, verify, push, install, set, look, find, change, extract, rename, then,
    whether, if,
    lines? \\d+
    """
)
# Starts with a pronoun, so it needs the sentence before: "This is ..."
POINTING = opening(
    "this, that, these, those, it, they, both, each, same, which, he, she, its, their"
)
# Words of a sentence that states a result.
GIST = _words(
    """
    because since so instead require requires need needs needed fixed added removed moved renamed
    replaced deleted changed extracted updated switched reverted implemented created stored live
    lives located written port only must never always longer not already default use uses return
    returns work works means cause caused expected still remain remains remaining left open matches
    handle handles cover covers verify verified measured faster slower decide decided recommend
    recommended support supports skip skips
    """
)
# A text that ends with one of these is incomplete: "the changes are", "it checks that".
HANGING = _words(
    """
    that with are is was were be include includes included including state states follows following
    to for as by of in on from and or like can will have has when if these below here need needs
    enforces the a an use using run running try via
    avec que de du des par sur le la les un une et ou en suivant suivante suivants suivantes
    mit der die das und oder folgende folgenden con el los las y o por siguiente
    """
)
# Hedged: not certain enough to be a conclusion.
HEDGE = anywhere(
    "probably, might, maybe, perhaps, could, should, would, likely, seems?, appears?, i think,"
    " consider, if you, want, let me, may"
)
# Not certain enough to be a cause, or still to be verified.
UNSURE = anywhere(
    "probably, might, maybe, perhaps, could, possibly, likely, let me, let's, i'll, seems?,"
    " appears?, may, consider, should, would, check if, check whether, verify"
)
# States the cause of a failure.
CAUSE = anywhere(
    """
    so they, so it, don't, can't, wasn't, weren't, isn't, doesn't, didn't, does not, root cause,
    the (?:issue|problem|cause|reason|error|bug|culprit|failure) (?:is|was|comes), caused by,
    because, due to, since, requires?, required, needs?, missing, instead of,
    renamed, no longer, wrong, mismatch, conflicts?, stale, hardcoded, overwrit\\w+, expects?,
    not (?:set|installed|defined|found|available|supported|running), fails? when,
    only (?:checks?|looks?|handles?|supports?|works), was (?:never|not|still|using|missing),
    fix (?:is|was), why (?:the|it), became, used to,
    (?:is|was|are|were) (?:undefined|null|empty|none|nil)
    """
)
# States a reason explicitly; stricter than CAUSE.
# A cause that was found: "the root cause is ...", "Found it: ...", "die Ursache war ...".
ROOT_CAUSE = Phrases(
    r"\b(?:root|actual|real|true|underlying) cause(?: (?:of|for|behind) [^.:]{3,60}?)?"
    r"(?: ?:| (?:is|was)\b(?! (?:still|un\w+|to|whether|in )))"
    r"|\b(?:is|was|are|were) (?:the |its )?(?:root|actual|real|true|underlying) cause\b"
    r"|\b(?:is|was|are|were) the (?:cause|culprit)\b"
    r"|\A(?:[^.:]{0,20}\W)?(?:found|see) (?:it|the (?:bug|problem|cause|culprit|issue)): "
    r"|\b(?:eigentliche |wahre |wirkliche )?ursache(?: (?:da)?für [^.:]{3,60}?)?"
    r"(?: ?:| (?:ist|war)\b(?! (?:noch|un\w+)))"
)
# The user asks for a cause, or guesses one: "why", "prob the fx call", "is it the cache?"
GUESS = Phrases(
    r"\b(?:prob(?:ably|s)?|maybe|perhaps|suspect|i (?:think|guess|bet)|my guess|might be|could be"
    r"|must be|looks like|sounds like|why|reason|cause|(?:is|was|are|were) (?:it|that|this)"
    r"|vermutlich|wahrscheinlich|vielleicht|liegt es)\b"
)
# The agent confirms it: "Yes: ...", "Confirmed, ...".
CONFIRMS = Phrases(
    r"\W*(?:yes|yep|yeah|right|correct|confirmed|exactly|indeed|ja|genau|stimmt|oui|sí)"
    r"\s?[:,.!\u2013\u2014-]+\s*(?=\w)"
)
# Before or after such words: no cause, or none that was found.
NO_CAUSE = Phrases(
    r"\b(?:not|\w+n't|cannot|if|whether|unless|once|find|identify|determine|investigat\w+"
    r"|look(?:ing)? for|unclear|unknown|nicht|kein\w*|ob|wenn|falls|sobald|suchen?|unklar"
    r"|unbekannt)\b[^.:;,]{0,40}\b(?:cause|ursache)\b|\A[^:]*\?"
)
BECAUSE = anywhere(
    """
    because, due to, root cause, caused by,
    the (?:issue|problem|cause|reason|culprit) (?:is|was), (?:that's|this is) why,
    weil, wegen, ursache, parce qu\\w+, à cause d\\w*, porque, debido a, perché, a causa di, omdat
    """
)
# The user reports a failure, in their own words or with pasted output.
TROUBLE = Phrases(
    r"error|exception|traceback|\bfail|panic|fatal|undefined|cannot|can't|not found|warning|✖|✗|❌"
    r"|did nothing|\bwhy\b|broken|crash|doesn't|does not|didn't|isn't|not work|wrong|confus|missing"
    r"|\bflak(?:y|ey|es)\b|makes? (?:no )?sense"
)
# An error in text that the user pasted.
PASTED_ERROR = re.compile(r"error|exception|traceback|\bfail|panic|✖|✗", re.IGNORECASE)
# A line of a diff.
PATCH = re.compile(r"^(?:diff --git|@@ -\d|[+-]{3} \S)", re.MULTILINE)
# The user is satisfied: "works, thanks".
PLEASED = opening(
    "great, works?, thanks?, thank you, perfect, nice, awesome, excellent, cool, beautiful,"
    " love it, good, that works, lgtm, yes, yep, yup",
    before=r"\W{0,3}",
)
# The user rejects what was done: "no", "it still ...", "revert".
DENIED = opening(
    """
    no, nope, wrong, wtf, wth, dude, that(?:'s| is) (?:not|wrong), that did(?:n't| not| nothing),
    it(?:'s| is)? (?:still|not|doesn't|does not|didn't), undo, revert, stop, wait,
    not (?:what|quite|true|right), you (?:didn't|did not|broke|forgot)
    """,
    before=r"\W{0,3}",
)
PRINTED = Phrases(
    r"\\n|\b\d\d:\d\d:\d\d[.,]\d{3}\b|\b(?:DEBUG|INFO|WARN|TRACE) +[a-z][\w.]+ -|\berror TS\d+"
    r"|^\W*(?:INFO|WARN(?:ING)?|ERROR|DEBUG)\] |=\{|=>\s*[{(]|[{;]$|\); *(?://|$)|<\w+ [\w-]+=|/>"
    r"|\b(?:gzip: )?\d+\.\d+ kB\b|\bcreate mode \d{6}\b|\b\d+ insertions?\(\+\)|^\W*git \w+ -"
    r"|^import\b.*\bfrom ['\"]|^\{ \w+:|\bconsole\.log\(|^// "
    r"|^\W*(?:const|let|var|import|export|return)(?: const| let| default| async)? \w+ ?[=({]"
    r"|^\W*\"[\w-]+\": |^[a-z_][\w.\[\]]* = (?!.*(?:→|->)).*[(\[{]"
    r"|\bMath\.\w+\(|\bfunction\(\) ?\{|, // \w"
    r"|\w@[\w.-]+[ :][~/\w.-]+ ?[%$#](?: |\.?$)|\bnpm (?:WARN|ERR!)|\| [^|\n]* \||\|\.?$"
    r"|\u00b7{4}|^\W*@@ -\d|^\W*warning: |^\W*\d+ (?:\u2502|\||\u0393\u00f6\u00e9) "
    r"|\b(?:INSERT INTO|CREATE TABLE|SELECT \*|DELETE FROM|ALTER TABLE) \w"
    r"|^\W*Lines (?:added|removed|changed): \d|\) # [A-Z]|^\w+ :\w+, [A-Z]\w*\.\w"
    r"|^\W*\(\w[\w.]*Error\) |^\W*\{:?\w+, |: \w*\(\), \w+: \w*\(\)|^[\w./-]+\.\w{1,4}:\d+:"
    r"|^\W*\((?:use \W?git|commit or)"
    r"|\b(?:deleted|modified|new file): \S+ (?:deleted|modified|new file):"
    r"|^\W*(?:[\w .#:>-]{1,60}\{ )?[a-z-]+: [^;]{1,60};"
    # Status lines of the agent that some recorders join: "Reading a.pyEditing b.py".
    r"|^\W*[A-Z][a-z]+ing\b.{0,200}?[a-z][A-Z][a-z]{3,}ing [`\w]"
    r"|^\W*(?:error|warning) title=|^\W*(?:Tool use|Called tool):"
    r"|</\w+>|\bdefp? \w+\(|^\W*@callback |\u0393\u00f6"
    r"|^\W*\d\d:\d\d:\d\d\b|^Search instead for\b|\+ (?:CategoryInfo|FullyQualifiedErrorId)\b",
    0,
)
"""Program output or source code in a line, which is not a sentence of the agent."""
