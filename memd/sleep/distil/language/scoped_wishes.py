"""Recognise standing wishes by their form: a scope in time or place, plus an instruction.

The scope is a phrase like "in future", "whenever" or "in this repo". The instruction is an order,
"should", "no X" or "we do". One of them alone is common in ordinary requests; both together are a
standing wish. Sentences about the current moment ("yet", "this time", "tomorrow") are none. Pure.
"""

from __future__ import annotations

from memd.sleep.distil.language.signs import words
from memd.text.alternations import Phrases

# Present tense verbs in "-ed": "we never exceed 80 columns".
_PRESENT_ED = r"(?:(?:ex|pro|suc)ceed|embed|feed|heed|need|seed|shed|speed|bleed|breed|wed|weed)\b"
_PAST = (
    rf"(?:(?!{_PRESENT_ED})\w+ed|got|had|did|was|were|saw|came|went|made|said|thought|knew|found|took"
    r"|gave|swam|ran|met|heard|wrote|slept|felt|kept|left|lost|paid|bought|built|spoke|won|drove|flew"
    r"|grew|held|learnt|taught|understood|told|meant|wore|broke|began|sent|sold|fell|became)"
)
NOT_PAST = rf"(?! {_PAST}\b)"
"""Follows "we never": a past tense verb reports an event, a present one states a rule."""
# Words that may open a sentence: "and", "ok please".
LEAD = r"^\W*(?:(?:and|also|but|so|ok(?:ay)?|please|then|oh|yes|note|fyi)\W+)*"
# Verbs of manner ("use", "name"); verbs of a single task ("fix", "move") are excluded.
_MANNER = (
    r"(?:use|keep|prefer|avoid|treat|call|name|write|phrase|spell|format|quote|cite|answer|reply"
    r"|leave|follow|stick|stay|respect|honou?r|assume|expect|favou?r|limit|target|round|sort"
    r"|put|store|give|say|ask|tell|mention|include|mark|tag|label)"
)
# Marks an instruction: "should", "don't", "no", "make sure".
_INSTRUCTS = (
    r"(?:must|should|shall|ought to|needs? to|ha(?:s|ve) to|don't|do not|never|always|no"
    r"|please|make sure|ensure|(?:is|are) (?:to be|not to)|(?:goes|go|gets?|belongs?) )"
)
# A scope in time: "in future", "from now on".
SPAN = (
    r"(?:in (?:the )?future|for the future|from (?:now|here|today|this point) on(?:wards?)?"
    r"|from here on(?: out)?|henceforth|(?:going|moving) forwards?|at all times"
    r"|under no circumstances|as a (?:general )?rule|by convention|on principle|in general"
    r"|generally|no matter what|whatever you do)"
)
# A scope in place: "everywhere", "in this repo", "in our tests".
HELD = (
    r"(?:throughout|everywhere|across the (?:board|project|repo\w*|code ?base)"
    r"|in (?:this|our|my|all|all of our|any of our) (?:repo\w*|projects?|code ?base|team|company"
    r"|house|shop|files?|texts?|docs?|documents?|documentation|tables?|reports?|e?mails?|tests?))"
)
_WISH_FORMS = (
    # "In future, leave the generated files alone"; "dates should be ISO going forward"
    rf"{LEAD}{SPAN}[,:]? (?!(?:it|that|this|is|are|was|i'll|we'll|will|there|speaking|perhaps"
    r"|maybe|might|(?:we|i|you|they) (?:will|can|could|may|might|would|was|were)"
    r"|(?:the|every|all) \w+(?: \w+)? (?:is|are) (?:broken|blank|empty|gone|missing|slow|down|stuck"
    r"|failing))\b)\w+",
    rf"\b{_INSTRUCTS}\b[^?]{{0,200}}\b{SPAN}(?=\W*$|[,;])",
    rf"{LEAD}{_MANNER}\b[^?]{{0,200}}\b(?:{SPAN}|{HELD})(?=\W*$|[,;])",
    rf"\b(?:we|i) [a-z]+ [^?]{{0,200}}\b{HELD}(?=\W*$)",
    # "Once you've finished a task, tick it in the list"
    rf"{LEAD}(?:once|each time|every time|any ?time|whenever) (?:you|we|i|an?|any)\b"
    r"(?! (?:were|was|had|did|could|got)\b)[^,?]{0,200},"
    r" (?!(?:it|that|this|there|i'll|we'll|we (?:were|had|did|will|can)|i|they)\b)\w+",
    # "Ask whenever you install something"
    rf"{LEAD}(?:please )?{_MANNER}\b[^?]{{0,200}}"
    r"\b(?:whenever|(?:each|every) time) (?:you|we|i|an?)\b",
    # "grams, not cups", as somebody wants them
    rf"{LEAD}(?:[^,.?]{{0,80}}, )?(?:use|give|write|send|show|call|prefer|say)\b[^.?]{{0,200}},"
    r" (?:not|never|and not) \w+(?: \w+)?(?=\W*$)",
    # "In release notes we want the reason first", "I expect you to test what you claim"
    rf"{LEAD}(?:in|for|on) (?:all |any )?(?:[a-z]+ )?[a-z]{{2,}}s,? (?:we|i) (?:want|need|like"
    r"|expect|require)\b(?! to\b)",
    r"\b(?:i|we) expect (?:you to|(?:all|every|each|any)\b)",
    # "No default exports anywhere", "tabs, not spaces", "favour clarity over speed"
    rf"{LEAD}(?:no (?!errors?|issues?|problems?|changes?|luck|results?|matches)[\w-]+"
    r"(?: [\w-]+){0,3} (?:anywhere|ever)(?=\W*$)|[\w-]+s,? not [\w-]+s(?=\W*$)"
    r"|(?:prefer|favou?r|choose|value) (?!(?:this|that|it)\b)[^.?]{3,80} over \w+"
    r"|(?:stay|keep) (?:away|out|off)(?: (?:from|of))? (?!(?:this|that|it|me)\b)\w+"
    r"|(?:our|my) \w+(?: team)? insists? on\b)",
    # "That's our convention", "our style", "we stick to"
    r"\b(?:it'?s|this is|that'?s|as) (?:our|my|the team's|a|the) (?:\w+ )?(?:convention|policy|rule"
    r"|practice|habit|standard|custom|guideline|way)\b",
    r"\bthat(?:'s| is) how (?:we|i) (?:work|do|like|want)\b",
    r"\b(?:our|my) (?:house |usual |general |personal )?(?:style|convention|policy|practice|habit"
    r"|preference|rule of thumb|standard|guideline)s?\b",
    r"\b(?:we|i) (?:\w+ly )?(?:stick to|tend to|stand by|insist on|only ever)\b",
    r"\bwhen (?:i|we) (?:say|write|ask for|mention)\b[^?]{0,200},"
    r" (?:i|we|it|that) (?:means?|want|expect)",
    # "Be patient with me", "not a fan of emojis", "clarity beats speed"
    rf"{LEAD}(?:please )?be (?:\w+ ){{1,3}}(?:with|to|about|in|when|towards?)\b",
    r"\bnot (?:a|much of a|really a) (?:\w+ )?(?:fan|believer|friend) (?:of|in)\b",
    r"\bi(?:'m| am) (?:allergic to|a (?:big |great )?(?:fan|believer|friend) (?:of|in))\b",
    r"\b\w+ (?:beats|trumps|wins over|comes before) \w+(?=\W*$)",
)
_WISH_FORM = Phrases("|".join(f"(?:{form})" for form in _WISH_FORMS))
# Only about the current moment or one thing at hand: "right now", "this time", "on this page".
_MOMENT = words(
    # "Nothing is rolled out yet" is a lasting state, and the reason for many decisions.
    r"(?<!rolled out )(?<!released )(?<!in production )(?<!launched )(?<!users )yet(?=\W*$|,)",
    r"(?:right|just|not|until) now",
    # "Since today" starts something that lasts.
    r"(?<!since )(?<!as of )(?<!from )(?<!starting )today(?! and (?:always|every))",
    r"tonight|tomorrow",
    # The current moment, in other languages
    r"(?<!ab )(?<!seit )heute|gerade|grad|diesmal|dieses mal|vorhin"
    r"|ich schau erst|nicht (?:vergessen|lange)"
    r"|(?:zeig|gib|schick) mir bitte nur",
    r"aujourd'hui|cette fois|pour l'instant|hoy|esta vez|ahora mismo|oggi|questa volta|hoje"
    r"|desta vez|vandaag|deze keer",
    r"(?:just )?this (?:once|time|morning|afternoon|evening|week)",
    r"(?:for|on|in) this (?:one|slide|page|case|run|step|part|task|round|commit|pr|branch|prototype"
    r"|demo|snippet|example|draft|mock-?up|sketch|scene)",
    r"(?:for|in) the next (?:scene|chapter|slide|run|step|round|draft)",
    r"(?:this|that|these|those|the (?:first|second|third|other|last|next|same|red|blue)) ones?"
    r"(?=\W*$|,)",
    r"(?:for|in) (?:this|the) (?:first|initial) (?:version|pass|iteration|draft|step|cut)",
    r"(?:a|one) (?:sec|second|moment|minute)",
    r"in (?:an?|one|two|three|ten|\d+|a few) (?:min(?:ute)?|hour)s?",
    r"(?:continue|look|see|do it|talk)(?: \w+){0,3} later",
    r"still (?:\w+ing|not|no)",
    r"(?:no|any|either|don't have a) preference|whatever you (?:like|prefer|want)",
)


def has_wish_form(spoken: str) -> bool:
    """Return whether a statement, in its spoken form, has the form of a standing wish.

    >>> has_wish_form("in future, leave the lock alone"), has_wish_form("leave the lock alone")
    (True, False)
    """
    return _WISH_FORM.search(spoken) is not None


def is_of_the_moment(spoken: str) -> bool:
    """Return whether a sentence is only about the current moment or one thing at hand.

    >>> is_of_the_moment("please don't commit yet"), is_of_the_moment("please don't commit")
    (True, False)
    """
    return _MOMENT.search(spoken) is not None


# "In that loop", "line 3", "option B"; but not what lasts as long as the work: "in this repo".
_AT_HAND = Phrases(
    r"\b(?:(?:in|for|on|of|with|at|over|to|from|about|into|by|under) (?:this|that|these|those)"
    r" (?!(?:repo\w*|projects?|code ?bases?|teams?|company|house\w*|apps?|workspaces?|machines?"
    r"|computers?|laptops?|families|family|accounts?|kinds?|sorts?|way)\b)\w+"
    r"|(?:this|these|those) one \w+"
    r"|(?:line|verse|page|slide|step) (?:\d+|one|two|three|four|five|six|seven|eight|nine|ten)"
    r"|(?:option|version|variant) \w)\b"
)


def refers_to_current_work(spoken: str) -> bool:
    """Return whether a sentence points to one of the things at hand.

    >>> refers_to_current_work("no logging in that loop")
    True
    >>> refers_to_current_work("no logging in this project")
    False
    """
    return _AT_HAND.search(spoken) is not None


# "In May we decided", "the team has agreed"; but not a condition ("if we decided") or a step of
# the current work ("I decided to try it").
_DECIDED = Phrases(
    r"^\W*(?:(?!(?:if|when|once|unless|whether|why|what|which|because|since|had)\b)"
    r"[\w']+\W+){0,4}?"
    r"(?:(?:we|i|(?:the|our) team)(?:'ve| have| has| had)?"
    r"(?: (?:all|both|also|just|now|finally|already))*"
    r" (?:decided|agreed|chose|chosen|opted|settled)\b(?! to (?:go|try|look|check|see|wait|leave"
    r"|stop|start|continue|take|do|skip|move on)\b)"
    r"|wir haben (?:uns )?(?:[\w-]+ ){0,8}(?:entschieden|beschlossen|vereinbart|geeinigt)\b"
    r"|(?:on a|nous avons) (?:décidé|convenu|choisi)\b|(?:hemos )(?:decidido|acordado|elegido)\b"
    r"|decidimos\b|abbiamo (?:deciso|scelto)\b|we hebben (?:[\w-]+ ){0,8}(?:besloten|afgesproken)\b"
    r"|мы (?:решили|договорились|выбрали)\b)"
)
# "So tunnel it is", "blue it is for the hall", but not "wow, how late it is", "bedtime it is".
_IT_IS = Phrases(
    r"\W*(?:(?:so|ok(?:ay)?|right|alright|fine|well|then|yes|yeah|yep|and|cool|great|i guess)\W+)*"
    r"(?:the |an? )?(?!(?:\w*time|strange|weird|odd|sad|funny|hard|true|late|early) it\b)"
    r"(?:(?!(?:what|whatever|how|that|this|which|where|when|who|why|if|as|like|because|think|know"
    r"|see|say|says|tell|sure|it|is|bed|night|break|now|here|there|for|of|with"
    r"|about|to|in|on|at|by|from)\b)[\w'-]+ ){1,4}"
    r"it is(?: then)?(?=\W*$|[.,;!]| (?:for|from|on|in) )"
    r"|\W*(?:(?:i|we)(?:'ve| have)? )?changed (?:my|our) minds?[,:;]\W*(?:we|i|it|he|she|they"
    r"|the|no|all|both|not)\b(?:\W+\w+){2}"
    r"|\W*in the end,? (?:we|i)(?:'ve| have)? (?:took|taken|chose|picked|went with|kept|bought"
    r"|booked)\b"
)


def states_decision(plain: str) -> bool:
    """Return whether a sentence says explicitly that something was decided.

    >>> states_decision("We agreed to drop Python 3.9."), states_decision("I decided to try it")
    (True, False)
    >>> states_decision("so tunnel it is"), states_decision("what a day it is")
    (True, False)
    """
    return _DECIDED.match(plain) is not None or _IT_IS.match(plain) is not None


# Standing wishes in the form of a question: "could you always ...?", "kannst du künftig ...?". The
# word that makes it a rule must apply to the assistant. After "why" or "that" it belongs to the
# subject of the question, after a noun to what is to be built ("make the dialog always stay open").
_YOU = (
    r"(?:(?:can|could|will|would) (?:you|u|ya)(?: be so kind as to)?"
    r"|(?:would it be|is it) possible (?:for you )?to|(?:any chance|do you think) you (?:can|could)"
    r"|(?:might|may|can|could) i ask (?:you to|that you))"
    r"(?: (?:please|pls|plz|just|also|maybe|kindly))*"
)
# Up to 200 characters without a word that would move the rule to another clause, and without a
# verb of one edit: "can you rename it everywhere".
_REQUEST_REST = (
    r"(?:(?!\b(?:why|whether|if|how|what|where|which|who|that|so|until|fix|find|look|see"
    r"|explain|rename|replace|swap|merge)\b)[^?]){0,200}"
)
_EACH_TIME = (
    rf"(?:(?:every ?time|each time|whenever|before) (?:you|we|u|i (?:ask|say|tell))|{HELD}"
    r"|make it (?:a|the|your) (?:habit|rule)|in (?:everything|anything|whatever) (?:you|we|i)"
    r"|(?:each|every) (?:reply|answer|response|commit|message|change|pr|pull request))"
)
_ASKS_ENGLISH = (
    rf"{LEAD}{SPAN}[,:]? (?:please )?(?:{_YOU}|(?:can|could) we)",
    rf"{_YOU} (?:mind )?(?:always|never|not|quit|avoid(?:ing)?|refrain|no longer"
    r"|stop(?:ping)? (?:it )?(?:\w+ly )?(?:\w+ing|with))",
    rf"{LEAD}{_YOU}\b(?:(?!\b(?:why|whether)\b)[^?]){{0,200}}\b{SPAN}",
    rf"{LEAD}{_YOU}\b{_REQUEST_REST}\b(?:{_EACH_TIME}|(?:always|every ?time|each time)(?=\W*$))",
    rf"{LEAD}{_YOU}\b{_REQUEST_REST}, (?:please )?(?:always|never)",
    rf"{LEAD}(?:{_YOU}|(?:can|could) we)\b"
    r"(?:(?!\b(?:why|whether|if|how|what)\b)[^?]){0,200}\b(?:to|we|you|i)"
    rf" (?:always|never){NOT_PAST}",
    rf"{LEAD}{_YOU} (?:mind )?(?:\w+ly )?ask(?:ing)?(?: me| us)?(?: first)? before",
    rf"{LEAD}{_YOU} remember (?:that|i|i'm|we|my|our)",
    rf"{LEAD}(?:can|could) we (?:please )?(?:(?:make sure|agree)\b[^?]{{0,200}}"
    rf"\b(?:{SPAN}|{_EACH_TIME})|(?:have|keep|use)\b{_REQUEST_REST}\b(?:{SPAN}|{_EACH_TIME}))",
)
# For each language: the polite form ("kannst du"), the words that make a rule, and the words after
# which a rule word belongs to something else.
_ASKS_OTHERS = (
    (
        r"(?:kannst|könntest|würdest|magst) du|können wir|könnten sie",
        r"immer(?! (?:noch|wieder|mehr))|nie(?:mals)?|ab (?:jetzt|sofort|heute)|künftig|zukünftig"
        r"|in zukunft|grundsätzlich|generell|jedes ?mal|nicht mehr|nicht immer|aufhören"
        r"|dir (?:an|ab)gewöhnen"
        r"|(?:vor|nach) jedem",
        r"warum|wieso|weshalb|ob|was|wie|wo|dass|damit|welche\w*|der nie|die nie|das nie",
    ),
    (
        r"(?:peux|pourrais|voudrais)-tu|(?:pouvez|pourriez)-vous|tu (?:peux|pourrais)"
        r"|vous (?:pouvez|pourriez)|ça (?:te|vous) dérangerait",
        r"toujours|(?:ne )?(?:plus )?jamais|désormais|dorénavant|à l'avenir|chaque fois"
        r"|à partir de (?:maintenant|là)|dès maintenant|arrêter (?:de|d')|ne plus|avant chaque"
        r"|après chaque",
        r"pourquoi|si|comment|où|quand|ce qui|que|qui|quoi|quel\w*",
    ),
    (
        r"(?:puedes|podrías|podés|puede|podría|te importaría|podemos|serías tan amable)",
        r"siempre|nunca(?: más)?|(?:de ahora )?en adelante|a partir de (?:ahora|hoy)|cada vez"
        r"|acostumbrarte a|dejar de|ya no|no volver a|en el futuro|antes de cada|después de cada",
        r"por ?qué|si|cómo|dónde|cuándo|qué|que|cuál\w*",
    ),
    (
        r"(?:você (?:pode|poderia|consegue)|(?:pode|podes|poderia|podias|podemos))",
        r"sempre|nunca(?: mais)?|a partir de (?:agora|hoje)|daqui (?:para|pra) (?:a )?frente"
        r"|de agora em diante|toda vez|cada vez|parar de|deixar de|no futuro|não \w+r mais"
        r"|antes de cada",
        r"por ?qu[eê]|se|como|onde|quando|que|quê|qual\w*",
    ),
    (
        r"(?:puoi|potresti|può|potrebbe|ti dispiacerebbe|possiamo)",
        r"sempre|mai(?: più)?|d'ora in (?:poi|avanti)|da ora(?: in poi)?|in futuro|ogni volta"
        r"|smettere di|smetterla di|evitare di|prima di ogni|dopo ogni",
        r"perché|se|come|dove|quando|che|cosa|quale\w*",
    ),
    (
        r"(?:kun|kan|zou|wil) (?:je|jij|u)",
        r"altijd|nooit(?: meer)?|voortaan|vanaf (?:nu|vandaag)|van nu af aan|in het vervolg"
        r"|in de toekomst|(?:elke|iedere) keer|stoppen met|ophouden met|niet meer|geen \w+ meer",
        r"waarom|of|hoe|wat|waar|wanneer|dat|die|welke?",
    ),
    (
        r"(?:можешь|мог бы|могла бы|можете|могли бы|можно)",
        r"всегда|никогда|впредь|в будущем|каждый раз|больше не|перестать"
        r"|перед каждым|после каждого",
        r"почему|зачем|ли|как|где|когда|что|чтобы|котор\w+",
    ),
)


def _polite_wish(you: str, rule: str, other: str) -> str:
    """Return the pattern of *you* and *rule* in either order, without *other* between them."""
    gap = rf"(?:(?!\b(?:{other})\b)[^?]){{0,200}}"
    return rf"(?:{rule}),? (?:\w+ ){{0,2}}(?:{you})|(?:{you})\b{gap}\b(?:{rule})"


_ASKED = words(*_ASKS_ENGLISH, *(_polite_wish(*parts) for parts in _ASKS_OTHERS))


def asks_for_rule(spoken: str) -> bool:
    """Return whether a question, in its spoken form, is a polite standing wish.

    >>> asks_for_rule("could you always give the units?"), asks_for_rule("is it always metres?")
    (True, False)
    >>> asks_for_rule("can you see why it always gives metres?")
    False
    """
    return _ASKED.search(spoken) is not None


# "Always" and "never" with a verb of an event make a report, not a wish: "it always fails".
_REPEATED_ENGLISH = (
    r"(?<!you )(?:always|never|constantly|every ?time|each time)(?: \w+ly)?"
    r" (?:gets? (?:an?|the|this|that|these|no|\d|stuck)|(?:sees?|hits?) (?:an?|the|this|that|no|\d)"
    r"|receives?|ends? up|runs? into|loses?|fails?|crash(?:es)?|hangs?|freez\w+|times? out"
    r"|comes? back|shows? up|loads?|arrives?|returns? (?:null|nothing|none|an? err)|throws?"
    r"|breaks?)",
    # "I never looked", but not "I never liked tabs"
    rf"(?:i|we) never (?!(?:liked|loved|wanted|enjoyed|cared|needed)\b){_PAST}",
)
_EVENT_VERBS = (
    # German, Dutch
    r"bekomm\w+|krieg\w*|funktionier\w+|lädt|stürzt|hängt|kommt|erscheint|passiert|crasht|bricht"
    r"|scheitert|dauer(?:t|n)|zeigt|geht(?:'s| es| das)|gehts|kommen|werkt|laadt|verschijnt|komt",
    # French
    r"s'arrêtent?|plantent?|marchent?|fonctionnent?|affichent?|chargent?|arrivent?|renvoi\w+"
    r"|bloquent?",
    # Spanish, Portuguese, Italian
    r"sale|llega|falla|aparecen?|carga|funciona|se (?:cierra|cuelga)|devuelve|arranca|fecha|trava"
    r"|chega|falha|carrega|dá|arriva|funziona|carica|(?:si )?blocca|appare|crasha|restituisce",
    # Russian
    r"вылетает|падает|доходит|приходит|работает|грузится|появляется|зависает|выдаёт|выдает",
)
_OFTEN = (
    r"immer|ab jetzt|nie(?:mals)?|toujours|jamais|siempre|nunca|sempre|mai|altijd|nooit|всегда"
    r"|никогда"
)
_REPEATED_OTHERS = (
    rf"(?:{'|'.join(_EVENT_VERBS)})\b[^.,?!]{{0,40}}\b(?:{_OFTEN})",
    rf"(?:{_OFTEN})\b[^.,?!]{{0,25}}\b(?:{'|'.join(_EVENT_VERBS)})",
)
_REPEATED = words(*_REPEATED_ENGLISH, *_REPEATED_OTHERS)
_OBLIGATION = words(
    r"must|should|shall|(?:has|have|needs?) to|muss|müssen|soll(?:en)?|darf|dürfen|doit|doivent"
    r"|debe|deben|deve|devono|devem|moet|moeten|должн\w+"
)


def reports_repeated_event(spoken: str) -> bool:
    """Return whether a sentence reports what happens again and again, and sets no rule.

    >>> reports_repeated_event("we always get a 401 from it")
    True
    >>> reports_repeated_event("we always ask Ann first")
    False
    >>> reports_repeated_event("der Login funktioniert nie")
    True
    >>> reports_repeated_event("what is the etiquette, i never swam there")
    True
    >>> reports_repeated_event("we never exceed a minute")
    False
    """
    return _REPEATED.search(spoken) is not None and _OBLIGATION.search(spoken) is None


# A person or a pet of the user's: "my mother", "our cleaner", "Dr. Ames".
_OF_MINE = (
    r"(?:(?:my|our) (?:[\w-]+ )?(?:mum|mom|mother|dad|father|parents?|wife|husband|partner|sister"
    r"|brother|son|daughter|kids?|child|children|grandma|grandpa|grandmother|grandfather|aunt|uncle"
    r"|cousin|neighbou?r|carer|nurse|doctor|teacher|tutor|cleaner|boss|manager|dog|cat)"
    r"|(?:mr|mrs|ms|dr)\.? [\w-]+)"
)
# "My mother now takes it twice a day"
_NOW_DOES = Phrases(
    rf"{LEAD}{_OF_MINE} now (?:takes?|ha(?:s|ve)|gets?|eats?|drinks?|walks?|comes?|goes|go|costs?"
    r"|works?|lives?|wears?|uses?|needs?|pays?|earns?|weighs?|learns?|plays?|teach(?:es)?|speaks?)\b"
)
# "Forget selling the piano", but not "forget building it"
_GIVES_UP = Phrases(
    rf"{LEAD}forget (?:about )?(?!(?:nothing|anything|everything|something|thing)\b)\w+ing\b"
    r"(?!.*\b(?:it|this|that)\b)"
)


def states_new_habit(plain: str) -> bool:
    """Return whether a sentence says what a person close to the user does now, as a change.

    >>> states_new_habit("my mother now takes it at noon"), states_new_habit("it now takes long")
    (True, False)
    """
    return _NOW_DOES.match(plain) is not None


def abandons_plan(plain: str) -> bool:
    """Return whether a sentence gives up a plan.

    >>> abandons_plan("forget selling the piano"), abandons_plan("forget about that meeting thing")
    (True, False)
    """
    return _GIVES_UP.match(plain) is not None
