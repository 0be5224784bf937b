"""Recognise standing wishes: how this person wants work to be done from now on. Pure.

People state them as a rule ("from now on"), as a wish about style ("keep your answers short"), as
something they say of themselves, or as a complaint in the form of a question ("why do you keep
adding comments?").

The patterns for other languages require a verb in the first person or an order, and a word that
makes it a rule. So a report ("wir benutzen gerade den alten Server") does not match.
"""

from __future__ import annotations

from memd.sleep.distil.language.scoped_wishes import (
    LEAD,
    NOT_PAST,
    asks_for_rule,
    has_wish_form,
    is_of_the_moment,
)
from memd.sleep.distil.language.signs import FIRST, words
from memd.sleep.distil.language.work_habits import COMPLAINS, SELF_DESCRIPTION, states_method
from memd.text.alternations import Phrases
from memd.text.languages import ALWAYS_OR_NEVER, LASTING, REPROACH

_LANGUAGES = (
    # German
    r"(?:wir|ich) (?:benutzen?|verwenden?|nutzen?|nehmen?|schreiben?|arbeiten?|mergen|committen)\b"
    r"[^.?!]*\b(?:nicht|kein\w*|nur|immer|grundsätzlich|statt|ausschließlich)",
    r"ich (?:will|möchte|mag|brauche)\b[^.?!]{0,20}\b(?:nicht|kein\w*|nie)",
    r"frage? (?:mich|uns)\b[^.?!]*\b(?:bevor|vorher|zuerst)",
    r"bevor du\b[^.?!]*, *(?:frag|sag|zeig|lies|prüf)\w*",
    r"(?:das|die|den)\b[^.?!]* mache? ich (?:selbst|selber)",
    r"(?:schreib|antwort|red|sprich|erklär|kommentier)\w*\b[^.?!]*\bauf (?:deutsch|englisch)",
    # French
    r"(?<!là )(?<!la )(?:on|nous) (?:n')?(?:utilis|écri|travaill|gard|préfér)\w*\b[^.?!]*"
    r"\b(?:pas|jamais|toujours|uniquement|seulement|plutôt que)",
    r"je ne veux (?:pas|plus|jamais|aucun)",
    r"demande[sz]?-(?:moi|nous)\b[^.?!]*\bavant",
    r"avant de\b[^.?!]*, *(?:demande|montre|vérifie|lance)\w*",
    r"à partir de maintenant",
    r"il est (?:impératif|obligatoire|interdit|indispensable) (?:de|que (?:tu|chaque|toute?s?))",
    r"arrête[sz]? (?:de \w+|d'\w+)",
    r"(?:répond|écri|parle|explique)\w*\b[^.?!]*\ben (?:français|anglais)",
    # Spanish and Portuguese
    r"usamos\b[^.?!]*(?:,| y| e) (?:no|não|nunca|sempre|siempre|só|solo)",
    r"(?:nunca|siempre|sempre|solo|só) (?:usamos|usa|use|haz|hagas|faça|corre|ejecuta|rode)",
    r"a partir de (?:ahora|agora)",
    r"(?:pregúnta|avísa|consúlta|muéstra)(?:me|nos)\b[^.?!]*\bantes",
    r"(?:me (?:pergunte|avise|mostre)|pergunte-me)\b[^.?!]*\bantes",
    r"antes de\b[^.?!]*, *(?:pregunta|avisa|muestra|corre|pergunte|avise|mostre|rode)\w*",
    r"no quiero (?:que |\w+)",
    r"não quero (?:que |\w+)",
    r"^\W*(?:por favor,? )?no (?:uses|hagas|agregues|añadas|toques|cambies|borres|escribas|vuelvas)"
    r"(?! (?:eso|esto|nada|lo|la)\b)",
    r"^\W*(?:por favor,? )?não (?:use|faça|adicione|toque|mude|apague|escreva|crie)"
    r"(?! (?:isso|isto|nada|o|a)\b)",
    r"(?:responde|responda|escribe|escreva|habla|fale)\w*\b[^.?!]*"
    r"\bem? (?:español|inglés|português|inglês)",
    r"(?:responde|escribe|habla)\w*\b[^.?!]*\ben (?:español|inglés)",
    # Italian
    r"usiamo\b[^.?!]*(?:,| e) (?:non|mai|sempre|solo)",
    r"non (?!apre|carica|parte|appare|funziona|va\b|si\b|ha\b|è\b)\w+ mai",
    r"mai più",
    r"d[a']? ?ora in (?:poi|avanti)|da adesso in poi|^\W*da (?:ora|adesso),? (?!è|non va|si\b)\w+",
    r"(?:chiedi|avvisa|mostra)(?:mi|ci)\b[^.?!]*\bprima",
    r"prima di\b[^.?!]*, *(?:chiedi|avvisa|mostra|esegui)\w*",
    r"non voglio (?:che |\w+)",
    r"(?:rispondi|scrivi|parla)\b[^.?!]*\bin (?:italiano|inglese)",
    # Dutch
    r"(?:we|wij|ik) (?:gebruiken?|werken?|schrijven?|houden?)\b[^.?!]*"
    r"\b(?:niet|geen|alleen|altijd|in plaats van)",
    r"ik heb liever",
    r"(?:ik|we|wij) wil(?:len)? (?:\w+ )?(?:geen|niet|nooit)",
    r"vraag (?:het )?(?:me|mij|ons)\b[^.?!]*\b(?:voordat|vooraf|eerst)",
    r"voordat je\b[^.?!]*, *(?:vraag|laat|lees|controleer)\w*",
    r"(?:antwoord|schrijf|praat|leg uit)\b[^.?!]*\bin het (?:nederlands|engels)",
)
_FOREIGN_WISHES = Phrases(rf"(?<!\w)(?:{'|'.join(_LANGUAGES)})(?!\w)")


# Acts of the agent before which it is to ask.
_ACTS = (
    r"(?:commit|push|merg|delet|remov|releas|deploy|publish|overwrit|renam|chang|edit|touch|ask"
    r"|add|writ|creat|us|runn?|apologi[sz]|explain|guess|assum|repeat|refactor|implement|install"
    r"|start)\w*"
)
# "We always get an error" reports an event.
_NOT_EVENT = (
    r"(?! (?:get|see|hit|receive|end up|run into|lose|fail|crash|land|arrive|notice|find|hear)\b)"
)
# "I always forget which" says what somebody does not know.
_NOT_KNOWN = r"(?! (?:forget|mix|confuse|wonder|remember|know|understand|struggle)\b)"
# "Why do we always wait here" is a question.
_NOT_ASKED = r"(?<!why )(?<!why do )(?<!can )(?<!could )(?<!may )(?<!should )"
# "Every time I click it" describes a bug.
_NOT_TRIED = r"(?! (?:try|click|open|load|run|start|press|reload|save|go|log)\b)"
# After "always" or "never" at the beginning of a sentence, all but the verb of an order: "always
# fails on CI", "never the second one", "always late".
_NO_ORDER = (
    r"(?! (?:[a-z]+(?<![su])s|(?!bring|sing)\w+ing|(?!apply|reply|rely|supply)\w+ly|an?|the|my"
    r"|your|his|her|our|its?|th(?:is|at|ese|ose|ere)|he|she|they|we|you|i|in|on|at|to|for|by|with|from"
    r"|as|so|too|very|when|if|because|of|not?|and|or|but|ever|mind|again|more|less|been|seen|done|gone|known"
    r"|heard|enough|late|early|good|nice|better|best|worse|happy|glad|sure|same|here|about|up|down"
    r"|out|off|over|under|only|just|quite|one|two|all|any|some|every|each|worth|fun|true|wrong|right"
    r"|busy|tired|slow|empty|broken|available|welcome|possible|necessary|easy|hard|nothing|something"
    r"|forget|lose|confuse|wonder|struggle|happen|work(?=\W*$))\b)"
)
# An explicit rule: "from now on", "remember to", "we always", "ask before you push".
_RULE = words(
    r"from now on(?!,? (?:it|this|that|the \w+)(?: \w+)?"
    r" (?:is (?!to\b)|was|does|fails|shows|crashes|segfaults|hangs|throws|prints))",
    r"(?<!won't )(?<!can't )(?:please |always )?remember (?:to|that|this|not)",
    r"(?<!i )(?<!we )(?<!you )remember when \w+ing\b",
    r"keep in mind",
    r"(?<!will )in (?:the )?future,? (?:please|you|use|don't|do not|always|never|ask|just"
    r"|(?:we|i) (?:want|should|must|always|never|don't|won't))",
    r"(?:please|always|never|don't|do not) [^.;]*\b(?:in (?:the )?future|going forward)",
    r"going forward,?",
    r"next time(?! (?:i|we)(?:'ll| will| can| might)\b)",
    rf"every time (?:you|we)|^\W*(?:\w+\W+){{0,2}}every time i{_NOT_TRIED}",
    rf"whenever (?:you|we)|^\W*(?:\w+\W+){{0,2}}whenever i{_NOT_TRIED}",
    r"in general,? (?:you|we|i|please|use|don't|do not|always|never)",
    r"by default,? (?:we|i|you)(?! (?:will|can|should) see\b)",
    rf"{_NOT_ASKED}(?:i|we) (?:always|never){_NOT_KNOWN}{NOT_PAST}{_NOT_EVENT}",
    rf"(?:you|please|do) (?:should )?(?:always|never){NOT_PAST}",
    r"(?<!should i )(?<!should we )"
    r"(?:always|never) (?:ask|use|run|write|put|keep|add|commit|push|check|make|say|tell|start)",
    rf"{LEAD}(?:always|never){NOT_PAST}{_NOT_EVENT}{_NO_ORDER} [a-z][a-z-]+(?= \w| [\"'])",
    # "..., but never rhyme": an order at the start of a clause.
    r"(?:^\W*|[,;:] |\b(?:but|and|so|also|please) )(?:always|never) (?:send|draft|delete|book|share"
    r"|buy|pay|mail|email|publish|answer|reply|show|give|leave|change|remove|edit|quote|cite|sign"
    r"|invite|order|schedule|plan|include|format|explain|translate|rhyme|reveal|forward|cancel"
    r"|confirm|rename|round|copy|call|offer|promise|suggest|assume|invent)\b(?! (?:it|this)\W*$)",
    r"^\W*(?:please )?(?:don't|do not|never) (?:ever|again|touch|commit|push|mention"
    r"|add comments|apologi[sz]e|ask me|tell me (?:what|to|how)|just tell)",
    r"my (?:preference|convention|rule)",
    # A recurring occasion: "when you commit, run the tests".
    r"^\W*(?:and |also |but |so )*when(?:ever)? (?:you \w+|\w+ing)\b[^,?]*,?"
    r"(?<! to) (?:please |always |then |first |you )*"
    r"(?:use|run|ask|don't|do not|never|always|make sure|keep|add|write|check|tell|stop|avoid"
    r"|prefer|should|must|do it)",
    r"^\W*(?:and |also |but )*if you(?:'re| are)? (?:not sure|unsure|in doubt|stuck|need|want"
    r"|have to|must|don't know|can't)[^,?]*, (?:please |always |then |first |just )*"
    r"(?:use|run|ask|don't|do not|never|check|tell|stop|say|leave)",
    rf"before (?:you(?:'re)? |every |each |any )?{_ACTS}[^.,]*, (?:please |always |first )*"
    r"(?:ask|run|check|tell|show|make sure|read|you (?:must|should|have to))",
    rf"(?:ask|tell|check with|show)(?: me| us| it)?(?: first)? before (?:you )?{_ACTS}",
    r"without (?:my (?:ok|okay|approval|permission|consent)|(?:first )?asking(?: me)?(?: first)?)",
    r"unless i (?:\w+ )?(?:ask|say|tell|want|request)\w*",
    r"(?:one|1) (?:\w+ ){0,2}at a time",
)
# Style of answers, code and texts: "I hate tabs", "keep it short", "answer in German".
_STYLE = words(
    r"(?:i|we) (?:always|never|usually|generally|strongly|really|much)? ?"
    r"(?:prefer|hate|dislike|love)"
    r"(?! to (?:know|see|hear)| (?:this|that|these|it(?! when))\b)",
    r"(?:i|we)(?:'d| would) (?:rather|prefer|love it|like it if|appreciate)"
    r"(?! (?:work on|fix|continue|focus|start|finish|see|try|wait)\b)",
    r"i(?:'ll| will| can| am going to|'m going to) [^.;,]*\bmyself",
    r"just (?:tell|show|give) me(?! (?:the|a|an) (?:\w+ )?(?:lists?|names?|links?|urls?|files?)\b)",
    r"(?:stop|quit) \w+ing",
    r"(?:i|we) (?:do not|don't) (?:want|like|need) (?:you|your|any|(?:so|too) many|too much|long"
    r"|all th(?:e|ese|ose)"
    r"|to be asked|comments|summaries|explanations)",
    r"(?:i|we) (?:like|want|prefer)(?: it when)? (?:(?:my|your|our|the) )?"
    r"(?:short|small|simple|concise|brief|plain|terse|clean|minimal|explicit|readable|direct)\w*"
    r"(?: \w+)?",
    r"keep (?:(?:it|this|them|things|your \w+|the \w+|all \w+|commits?|answers?|replies|responses?"
    r"|explanations?|comments?|messages?|functions?|changes|code)"
    r"(?: \w+)?) (?:as )?(?:short|brief|simple|small|concise|terse|minimal|focused|clean"
    r"|to the point)",
    r"be (?:more |very |as |much )*(?:concise|brief|terse|succinct|less verbose|to the point)",
    r"(?:too|so|less|overly) (?:verbose|wordy|chatty|long-winded)",
    r"(?:answer|reply|respond|talk|speak|write|explain)(?: to me| back| everything)? (?:only )?in "
    r"(?:english|german|french|spanish|italian|portuguese|dutch|chinese|japanese|russian|polish"
    r"|plain|simple|short|full)\b",
    r"(?:i|we) (?:find|think) [^.;]{3,60}"
    r" (?:easier|harder|hard|more readable|less readable|annoying|confusing|distracting)",
    r"it(?:'s| is) (?:really |so |very )?annoying (?:when|that|if)",
    r"i (?:can't|cannot) stand",
    r"(?:drives|(?<!that )(?<!this )(?<!it )(?:is|are) driving) me",
    r"we (?:also |only |mostly )?(?:focus|favou?r|avoid|value|follow)",
    r"better (?:to )?(?:not )?(?:to )?\w+ .* than",
    r"(?:this|it) is (?:just |only )?(?:a |an )?(?:prototyp\w+|experiment|proof of concept)",
    r"we(?:'re| are) (?:just |only )?prototyping",
    r"i care (?:more )?about",
    r"i reverted(?! (?:and|to|your|the|my|back|prior)\b)",
)
# Customs of this place, and habits of the user: "our convention is", "I deploy myself".
_HABIT = words(
    r"make it (?:a|the|your) (?:habit|rule)",
    r"it(?:'s| is) (?:imperative|mandatory|obligatory|forbidden|essential)"
    r" (?:to|that (?:you|we|all|any|every|each|no))",
    r"in (?:this|our|my) (?:repo|repository|project|codebase|team|house|company)\W+(?:we|i|you"
    r"|always"
    r"|never|use|don't|do not|please)",
    r"^\W*(?:and |also |so )*(?:our|my|the) (?:\w+ )?(?:conventions?|house style|policy"
    r"|guidelines?)"
    r"(?: here| for [^.;,]{3,40}| in [^.;,]{3,40})? (?:is|are|says?)",
    r"we (?:generally|usually|normally|typically|mostly|tend to|try to|aim to) (?!now\b)\w+",
    r"(?:record|remember|document|note|save)(?:ing)? (?:this|that|these|my) (?:\w+ )?"
    r"(?:preference|rule|convention)s?",
    r"for (?:future|later) reference",
    r"^\W*(?:and |also |just )?for reference",
    r"(?<!won't )(?<!can't )remember(?=:)",
    r"for (?:all|any|every) new \w+(?! [^.?!]*:$)",
    r"by default,? (?:use|keep|don't|do not|never|always)",
    r"as (?:i|we)(?:'ve)? (?:said|mentioned|told you) (?:before|already)",
    r"^\W*(?:like|as) i said\W",
    r"forgot to [^.;,]*\bagain",
    r"i(?:'m| am) (?:new to|not (?:very |so )?familiar with|used to)",
    r"assume (?:that )?(?:i|we) (?:know|have|am|are|use|don't)",
    r"i (?:always |usually )?(?:commit|push|merge|deploy|release|review|handle"
    r"|do) [^.;,?]*\bmyself",
    r"leave (?:the |all |any )?[^.;,?]{2,40} to me",
)
# A step tied to an occasion: "if in doubt, ask", "before each push, rebase".
_EACH = words(
    r"^\W*(?:and |also |so )*(?:when|if) (?:in doubt|unsure|unclear|something is unclear)",
    r"if you(?:'re| are) (?:going|about) to [^,?]*,? (?:please |always |first )*(?:ask|tell|check"
    r"|show)",
    r"^\W*(?:and |also |but )*before (?:each |every |any )?(?:you )?"
    r"(?:push|commit|merg|releas|deploy|publish|delet|renam|chang)\w*(?: [^,?]{0,30})?,"
    r" (?:please |always |first |you )*(?:rebase|squash|format|lint|update|run|ask|check"
    r"|make sure|tell)",
    r"^\W*(?:and |also |but )*after (?:each|every) \w+",
    r"(?:read|look (?:at|into|up)|check|search|ask)\b [^.;,?]{0,50}\bbefore (?:you )?"
    r"(?:answer|edit|touch|writ|assum|guess|suggest|propos)\w*",
)
# A plan is to be shown first: "first explain your plan", "wait for my ok".
_FIRST_SHOWN = words(
    r"^\W*(?:please |but |and )*first,? (?:please )?(?:explain|show|describe|outline|propose"
    r"|present|tell me)\b[^.?]*\b(?:plans?|approach|ideas?|how|proposal)",
    r"(?:explain|show|describe|outline|propose|present|see|know)\b[^.?]*\bbefore"
    r" (?:you |we |i |it(?:'s| is) |they(?:'re| are) )?(?:\w+ )?"
    r"(?:implement|start|begin|cod(?:e|ing)|chang|edit|proceed|carried|made)\w*",
    r"wait for my (?:ok|okay|approval|go|confirmation|answer)",
)
# Things that occur in answers.
_IN_ANSWERS = (
    r"(?:emojis?|emoticons?|exclamation (?:marks?|points?)|bullet points?|bullets|em[- ]dashes"
    r"|preambles?|small talk|apologies|disclaimers|filler|fluff|pleasantries|jargon|analog(?:y|ies)"
    r"|metaphors?|comparisons|jokes|puns|hints|rhymes|recaps|summaries|praise|compliments|flattery)"
)
# Style of answers without a word for a rule: "shorter answers", "no emojis", "stop the jokes".
_TALK = words(
    r"^\W*(?:please )?(?:answer|reply|respond|talk|speak|write|explain)(?: it| things| everything)?"
    r"(?: to)? (?:me|us) (?:in|like|as if|as)",
    r"^\W*(?:please )?skip (?:the |all |any )?(?:pleasantries|intros?|introductions?|preambles?"
    r"|recaps?|summar(?:y|ies)|small talk|apolog\w+|disclaimers?|explanations?)",
    r"^\W*(?:\w+ )?(?:less|fewer|shorter|short|brief|simpler|plain) (?:text|words|answers?|replies"
    r"|responses?|explanations?|comments?|summaries|output|talk|prose|sentences|messages)",
    r"^\W*(?:and |also )?no (?!need|problem|worries|idea|rush|thanks|change)[\w-]+(?: [\w-]+){0,4}"
    r",? (?:please|pls)(?=\W*$)",
    rf"^\W*(?:and |also |but )?no {_IN_ANSWERS}(?: any ?more| either| in your \w+)?(?=\W*$)",
    r"(?:(?:stop|quit|enough)(?: with| of)?|no more)(?: the| your| all| these| those)* "
    rf"{_IN_ANSWERS}"
    r"(?=\W*$|[,;]| (?:please|pls|and|any ?more|from now)\b)",
    r"(?:can|could|would) you (?:mind )?(?:please )?(?:keep|mak)(?:e|ing)? (?:all )?(?:the|your) "
    r"(?:answers?|replies|responses?|explanations?|comments?|messages?|summaries)",
)
# A repeated complaint: "why do you keep", "how often must I say", "I told you not to".
_AGAIN = words(
    r"why (?:do|are|must|would|did) you (?:always|keep|still|constantly|again|insist|continue)",
    r"how (?:many times|often) (?:do|must|should|did|have) (?:i|we)"
    r" (?:(?:have|need) to )?(?:say|said|tell|told|repeat\w*|ask(?:ed)?|explain\w*|remind\w*"
    r"|correct\w*) (?:you|this|that|it|myself)\b",
    r"(?:i|we)(?:'ve| have)? (?:already |clearly |explicitly |specifically )*"
    r"(?:told|reminded|warned) you (?:\w+ ){0,3}(?:not|never|to|that|times|before|already)",
    r"(?:i|we)(?:'ve| have)? asked you (?:\w+ ){0,2}(?:not|never|times|before|already)",
    r"(?:i|we)(?:'ve| have)? (?:already |clearly |explicitly )+(?:told|asked|said)",
    r"(?:i|we) (?:said|told you) (?:not to|no \w+|never)",
    r"you (?:keep (?:on )?(?!it\b|the\b|this\b|that\b|say|tell|claim|hit|gett|see|fail)"
    r"\w+ing|constantly"
    r"|always forget|never listen"
    r"|never (?:use|run|read|check|ask|follow))",
    r"(?:make|ensure|making) (?:sure )?(?:that )?you (?:always|never|don't ever)",
)
# A reproach: "why didn't you run the tests", "I didn't ask for".
_REPROACHES = words(
    r"why (?:didn't|don't|aren't|haven't|won't|wouldn't|did you not|are you not|do you not) you"
    r" (?!think|see|know|find|agree|like)",
    r"why (?:are you|did you|do you)[^?]*, (?:and )?not\b",
    r"(?:i|we) (?:didn't|never|did not) (?:ask|want|tell|request)(?:ed)?(?: you| for)",
)
# An order to write rules down, or into the file that agents read: "add to CLAUDE.md".
_WRITES_RULES = Phrases(
    rf"{FIRST}(?:let'?s )?(?:add|create|make|write|record|update|put|save|document|include|note)\b"
    r"[^.?]{0,80}(?:(?<!lint )(?<!css )(?<!ignore )(?<!wall )\b(?:rules?|guidelines?|conventions?"
    r"|preferences?|(?:copilot|cursor|claude|agents?|ai) instructions)\b"
    r"|\b(?:CLAUDE|AGENTS|GEMINI|copilot-instructions)\.md\b|\.cursorrules\b"
    r"|\.mdc\b)"
)
_STANDING = (
    _RULE,
    _STYLE,
    _HABIT,
    _EACH,
    _FIRST_SHOWN,
    _TALK,
    _AGAIN,
    SELF_DESCRIPTION,
    ALWAYS_OR_NEVER,
    LASTING,
    _FOREIGN_WISHES,
    REPROACH,
)
# Those that are standing wishes also in the form of a question.
_REMINDS = (_AGAIN, _TALK, COMPLAINS, REPROACH)
# Limited to now, so no standing wish.
_FOR_NOW = words(
    r"for (?:now|the moment|the time being)",
    r"until (?:then|tomorrow)",
    r"^\W*(?:(?:ok(?:ay)?|so|and|please)\W+)*(?:(?:can|could|would) you"
    r" (?:please )?)?now,? (?!on\b)",
)
# "It still fails, we look next time" postpones, and wishes for nothing.
_PUTS_OFF = Phrases(
    r"(?:^|[,;.] )\W*(?:(?:so|then|and|but)\W+)*(?:i|we)(?:'ll| will)?"
    r" (?!(?:want|need|would|expect|prefer|hope|said|told)\b)(?:[\w']+ ){1,5}?next time\W*$"
)


def is_standing_wish(spoken: str) -> bool:
    """Return whether a sentence, in its spoken form, is a standing wish.

    >>> is_standing_wish("why do you keep adding comments?"), is_standing_wish("why is it slow?")
    (True, False)
    """
    if _FOR_NOW.search(spoken) or _PUTS_OFF.search(spoken) or is_of_the_moment(spoken):
        return False
    # A statement is also tested as a question, because question marks are often left out.
    if has_wish_form(spoken) or states_method(spoken) or asks_for_rule(spoken):
        return True
    return any(pattern.search(spoken) for pattern in _STANDING)


def only_describes_self(spoken: str) -> bool:
    """Return whether a standing wish matches only as a statement about oneself.

    >>> only_describes_self("I'm a nurse"), only_describes_self("I'm a nurse, always ask me")
    (True, False)
    """
    others = (pattern for pattern in _STANDING if pattern is not SELF_DESCRIPTION)
    is_other = has_wish_form(spoken) or states_method(spoken) or asks_for_rule(spoken)
    return not is_other and not any(pattern.search(spoken) for pattern in others)


def reproaches(spoken: str) -> bool:
    """Return whether a sentence reproaches the agent for what it did or did not do.

    >>> reproaches("why didn't you run the tests?"), reproaches("why did it run the tests?")
    (True, False)
    """
    return _REPROACHES.search(spoken) is not None


def writes_rules(text: str) -> bool:
    """Return whether *text* orders to write rules down, so that the list below it has rules.

    >>> writes_rules("Add these to CLAUDE.md:"), writes_rules("Add these to the menu:")
    (True, False)
    """
    return _WRITES_RULES.match(text) is not None


def is_reminder(spoken: str) -> bool:
    """Return whether a question is a standing wish, often a repeated one."""
    return asks_for_rule(spoken) or any(pattern.search(spoken) for pattern in _REMINDS)
