"""Recognise standing wishes that have no word like "always": working methods and self-descriptions.

A working method applies to any future task: "test it before you hand it back", "ask if something is
unclear". A sentence about a thing at hand ("test this one first") does not match.

Self-descriptions and complaints also say how a person wants work to be done: "I read on a phone, so
keep it short", "we're a Python shop", "nobody asked for a README". A complaint must be about what
the agent does by itself ("you keep adding comments"), not about an event ("you keep hitting the
same error"). Pure.
"""

from __future__ import annotations

from memd.sleep.distil.language.signs import words
from memd.text.alternations import Phrases

# Words that may open a sentence.
_LEAD = (
    r"^\W*(?:(?:and|also|but|so|ok(?:ay)?|please|then|oh|yes|no|note|fyi|btw|again|just|always)"
    r"\W+)*"
)
# Verbs of work in general.
_WORK_VERBS = (
    r"(?:use|re-?use|keep|prefer|favou?r|avoid|write|name|put|give|add|ask|test|check|document"
    r"|comment|minimi[sz]e|reduce|limit|follow|respect|stick to|try to \w+|work|rely on|extend"
    r"|choose|make sure|be|commit|push|update|split|refactor|do|take|show|explain|mark|run)"
)
# Checks ("verify", "ask"), and the steps that they precede ("report", "delete").
_CHECKS = (
    r"(?:verify|verified|check|checked|double[- ]?check|test|tested|confirm|validate|review|ask"
    r"|look|search|read|think|plan|explain|show|tell|let me (?:know|review|see|approve|check)"
    r"|get my|wait for|back ?up|make (?:a backup|a copy|sure)|i want to (?:approve|review|see)"
    r"|run (?:all |the |your )?(?:tests?|linters?|type ?checks?|builds?|formatter|suite))"
)
_NEXT_STEP = (
    r"(?:sa(?:y|id)|claim|tell|report|hand|declar|announc|answer|reply|respond|propos|suggest"
    r"|assum|implement|cod|chang|edit|touch|appl|commit|push|merg|delet|remov|add|writ|creat"
    r"|install|proceed|mark|mov|call|deploy|releas|consider)(?:y|e|ies|ing|es|s)?\b"
)
# An occasion to ask: "unclear", "stuck", "a better way".
_DOUBT = (
    r"(?:unclear|not clear|unsure|not sure|uncertain|not certain|ambiguous|ambiguity|in doubt"
    r"|doubts?|stuck|don't know|do not know|lack(?:ing)?|need (?:more|further|to know|clarif\w+"
    r"|context)|disagree|a better (?:way|idea|option|approach)|contradict\w*)"
)
# A unit of work: "each commit", "a task".
_PIECE = (
    r"(?:\w+ )?(?:commits?|changes?|steps?|tasks?|sub-?tasks?|edits?|features?|fix(?:es)?|sessions?"
    r"|iterations?|migrations?|merges?|push(?:es)?|releases?|deploy(?:s|ments?)?|refactor\w*"
    r"|phases?|rounds?|milestones?)"
)
# "In this repo", "everywhere"
_HERE = (
    r"(?:(?:in|on|across|within|throughout) (?:this|our|my|the(?: (?:whole|entire))?)"
    r" (?:repo\w*|projects?|code ?base|app|team|company)|everywhere|throughout)"
)
# "Confirm", "signed off", "given the ok"
_APPROVES = (
    r"(?:approve|confirm|agree|accept|okay|ok|sign(?:ed)? off|green ?light"
    r"|g(?:i|a)ven? (?:you )?(?:the|my) (?:go|ok|okay|approval|permission))(?:e?d)?"
)
# Not about one thing at hand: "... to update this file".
_NOT_AT_HAND = r"(?!.*\b(?:this|these|that|those|it|them) ?(?:one|page|file|step)?\W*$)"
_METHODS = (
    # "Favour plain functions wherever you can", "update the readme as you go"
    rf"{_LEAD}(?!(?:do|take|show|explain|run|check|update|test|add)\b.*\bapp(?:ropriate|licable)\b){_WORK_VERBS}\b"
    rf"(?!.*\bif possible)[^?]{{1,160}}\b(?:(?:when(?:ever)?|where(?:ver)?)"
    r" (?:you can|it(?:'s| is) possible|possible|applicable|appropriate|feasible|it makes sense)"
    r"|as (?:needed|necessary|much as (?:you can|possible)|far as possible|often as possible"
    r"|few \w+ as possible|you go(?: along)?)|step by step|in small (?:steps|commits|increments"
    r"|pieces)|often|regularly|frequently)(?=\W*$|[,;]| and\b)",
    # "Verify the sums before you report them", "before you touch the schema please make a copy"
    rf"{_LEAD}{_CHECKS}\b[^?]{{0,120}}\bbefore (?:you(?:'re)? )?(?:\w+ )?{_NEXT_STEP}",
    rf"\bbefore you {_NEXT_STEP}[^.,?]{{0,60}} please (?:always |first )*\w+",
    # "If something is ambiguous, ask", "push back when you disagree"
    rf"\b(?:if|when(?:ever)?|where(?:ver)?) [^,?]{{0,60}}\b{_DOUBT}\b[^,?]{{0,60}},"
    r" (?:please |just |always |then |you (?:can|should|must) )*"
    r"(?:ask|tell|let me know|say|stop|check|raise|flag|search|look)\b",
    r"\bif (?:you|something|anything) (?:can(?:'t|not| not)|(?:are|is) (?:unable|not able))"
    r" [^,?]{2,80}, (?:please |just |then )*(?:say|tell|ask|flag|note|stop|let me know|mark)\b",
    rf"{_LEAD}(?:feel free to )?(?:ask|tell me|say so|stop|raise|flag|push back|challenge|search"
    rf"|look (?:it )?up)\b[^.?]{{0,60}}\b(?:if|when(?:ever)?) [^.?,]{{0,50}}\b{_DOUBT}\b",
    r"\bfeel free to (?:push back|refactor|disagree|challenge|suggest|correct me|say|ask|object)\b",
    # "Tick the box after each task", "after finishing a task, tick it"
    rf"{_LEAD}(?!(?:i|we|it|they|there|the|this)\b)\w+ [^?]{{2,120}}\b(?:after|before|with)"
    rf" (?:each|every|any) {_PIECE}\b",
    rf"{_LEAD}(?:after|before|once|when) \w+ing (?:each|every|any|an?) {_PIECE}\b[^,?]{{0,40}},",
    # "Follow the patterns of the code around", but not "follow this pattern"
    rf"{_LEAD}(?:follow|respect|adhere to|conform to|be consistent with|stick (?:to|with)|mirror)"
    r" (?!(?:this|these|that|those|the (?:following|above|below|same))\b)[^.?]{0,40}\b(?:patterns?"
    r"|style|conventions?|guidelines?|best practices|standards|idioms|principles|code ?base)\b",
    rf"{_LEAD}{_WORK_VERBS}\b[^,?]{{1,60}}[,;] (?:and )?(?:don't|do not) just \w+",
    # "Make sure you edit the files directly"
    rf"{_LEAD}(?:make sure|be sure|ensure) (?:that )?(?:you|to)"
    r" (?![^?.,]*\b(?:this|that|it|these|them)\b)[^?.,]{3,80}"
    r"\b(?:directly|carefully|thoroughly|properly|consistently|first|beforehand|in full)"
    r"(?=\W*$|[,;])",
    # "Tell me whenever there is a risk", "let me know if a decision is to be made"
    r"\b(?:tell|warn|alert|notify|remind|inform|consult|ask|check with) (?:me|us)"
    r" (?:whenever|(?:each|every) time|any ?time)\b",
    r"\b(?:let me know|(?:tell|warn|check with) me|flag|(?:stop(?:ping)? (?:and|to) )?ask(?: me)?)"
    r" (?:if|when|before|about|where) [^.?]{0,60}\b(?:decisions?|risk\w*|trade-?offs?"
    r"|assumptions?|breaking changes?)\b",
    # "If I approve, you can carry it out", "do nothing until I have confirmed"
    rf"\b(?:if|once|after|when) (?:i|we)(?:'ve| have)? {_APPROVES}\b[^.?]{{0,30}}"
    r"\b(?:you|we(?:'ll| will)|then|execute|implement|proceed|start|begin)\b",
    rf"\b(?:don't|do not|never|wait|nothing)\b[^.?]{{0,60}}\b(?:until|unless|before) (?:i|we)"
    rf"(?:'ve| have)? {_APPROVES}\b",
    rf"{_LEAD}plan(?: it)? first\b(?! (?:\w+ ){{0,3}}(?:page|step|one))",
    # "Don't waste tokens", "we follow this workflow"
    r"(?:\b(?:not|never|stop|no|without|avoid)|n't)\b[^.?]{0,25}\bwast(?:e|ed|ing)"
    r" (?:\w+ ){0,2}(?:tokens?|context|credits|words|my time)\b",
    r"\b(?:we(?:'ll| will)?|let's|you|please|always)(?: \w+){0,2} (?:follow|stick to|keep to)"
    r" (?:this|the following|my|our) (?:\w+ )?(?:flow|work ?flow|process|procedure|routine|loop)\b",
    # "Call me Jo", "I go by Jo"; but "call me back", "I go by train"
    rf"{_LEAD}(?:(?:you can|just|do) )*call me (?!(?:when|if|back|at|on|in|later|tomorrow"
    r"|tonight|an?|the|crazy|old|names?|out|up|stupid|paranoid|lazy|picky|maybe)\b)"
    r"[\w'-]+(?: [\w'-]+)?(?=\W*$|,| from now| please| pls| instead| not )",
    r"(?:^\W*|[,;.] )(?:(?:everyone calls|people call) me"
    r"|i go by(?! (?:bus|train|car|bike|foot|the|what|how)\b)) ?\w+",
    # "No backwards compatibility"
    r"(?:\b(?:no|not|never|without)|n't)\b[^.?;]{0,50}"
    r"\b(?:backwards?[- ]?compatib\w+|legacy (?:code|support))",
    # In brackets, "stick to the best practices of Perl"; anywhere, "using small, targeted edits"
    r"[(;] ?(?:follow|stick to|keep to|adhere to) [^.?)]{0,40}"
    r"\b(?:conventions?|guidelines?|best practices|standards|idioms|principles)\b",
    r"\b(?:using|with|in|as|make|only) (?:small|targeted|minimal|surgical|incremental|tiny)"
    r"(?:,? \w+){0,2} (?:edits?|diffs?|commits|patches|increments)\b",
    r"\btry (?:\w+ ){0,2}to avoid (?!(?:this|that|it)\b)\w+",
    # "Don't be lazy", "don't ask me for the obvious"
    r"(?:\b(?:not|never|stop)|n't) be(?:ing)? (?:so |too |that )?(?:lazy|smug|verbose|shy"
    r"|sycophantic|clever|vague|chatty|wordy|dramatic|rude|pedantic)\b",
    r"(?:\b(?:not|never)|n't) (?:ask|tell) me (?:to|for|about|dumb|stupid|obvious|the same)\b",
    # "Check your work", "treat the archive as read-only"
    rf"{_LEAD}(?:double[- ]?check|verify|check|review|test|proof-?read) (?:all )?your (?:own )?"
    r"(?:work|answers?|code|changes|edits|output|assumptions|claims|sources|facts|math)\b",
    rf"{_LEAD}(?:treat|regard) (?!(?:this|that|it|these|them)\b)[^.?,]{{3,60}} as (?:if )?\w",
    rf"{_LEAD}(?:put|store|place|write|save) (?:all|any|every|new) (?:new |the )?(?:scripts?|docs?"
    r"|documentation|tests?|notes?|plans?|logs?|reports?|assets?|configs?|components?|types?"
    r"|constants?|styles?|translations?) (?:in|into|under|next to|inside|at)\b",
    # "Answer in whole sentences", "write the comments in Polish"
    rf"{_LEAD}(?:answer|reply|respond)(?: to me| me)? (?:in|as|like|briefly|shortly|with)\b"
    r"(?! (?:a )?(?:yes|no|the (?:number|letter))\b)",
    rf"{_LEAD}write (?:(?:all|the|your|our|any) )?(?:\w+ )?(?:messages|comments|docstrings|docs"
    r"|documentation|texts|answers) (?:in|like|as)\b",
    # Habits and priorities: "I usually test by hand", "speed matters more than size"
    r"(?:^\W*|[,;] (?:and |but |so |as )?)(?:i|we) (?:typically|usually|normally|generally|mostly"
    r"|often) (?!(?:see|get|got|have|had|find|found|expect|notice|would|am|are|can|could|now|\w+ed)"
    r"\b)\w+",
    rf"{_LEAD}(?:i|we) (?:value|favou?r|prioriti[sz]e|believe in|care (?:more )?about)"
    r" (?!(?:what|how|the way|that|this|it|your?)\b)\w+",
    r"\b(?:is|are) (?:\w+ )?more important (?:to (?:me|us) )?than\b"
    r"|\bmatters? more (?:to (?:me|us) )?than\b|\bmatters? (?:more |a lot |most )to (?:me|us)\b",
    rf"{_LEAD}(?:i come from (?!the\b)\w+|i have a background in|my background is in)\b",
    r"\bi(?:'ll| will)? (?:do|handle|take care of) (?!(?:it|this|that)\b)[^.?,;]{3,40}[,;]"
    r" (?:and )?you\b",
    # "That is not wanted in this repo", "kept in cents everywhere", "yarn, not npm, in this repo"
    r"\b(?:not|never) (?:welcome|allowed|wanted|tolerated|acceptable|permitted|used) (?:in|on|at"
    r"|within) (?:this|our|my|the) (?:repo\w*|projects?|code ?base|team|company|house|commits?)",
    r"\b(?:is|are) (?:always |only )?(?:stored|kept|written|formatted|named|given|measured|spelled)"
    rf" (?!.*\b(?:wrong|wrongly|twice|incorrectly)\b)[^?]{{0,60}}\b{_HERE}(?=\W*$)",
    rf",? not \w+,? {_HERE}(?=\W*$)",
    # Lessons: "so that we don't trip over it again", "make a rule to never do that"
    r"\bso (?:that )?(?:we|you|i) (?:do not|don't|never|won't) [^?]{3,80}\bagain\b",
    rf"{_LEAD}(?:make|add|create|write|put) (?:an?|another|the) (?:\w+ )?rule to (?:record|remember"
    r"|note|enforce|ensure|require|always|never|not|avoid)\b",
    r"^\W*(?:again|as always),? (?:no|don't|do not|please|never|use|keep)\b",
    r"^\W*(?:(?:please|and|also)\W+)*(?:don't|do not|never) forget to (?:always )?(?:update|run"
    rf"|commit|test|document|use|keep|follow|ask)\b{_NOT_AT_HAND}",
)
_METHOD = Phrases("|".join(f"(?:{method})" for method in _METHODS))


def states_method(spoken: str) -> bool:
    """Return whether a statement, in its spoken form, describes a working method.

    >>> states_method("ask me if something is unclear"), states_method("ask me about the header")
    (True, False)
    """
    return _METHOD.search(spoken) is not None


# Self-descriptions and complaints.

_OPENS = r"^\W*(?:(?:and|also|but|so|ok(?:ay)?|please|oh|yes|no|note|fyi|btw|again|remember)\W+)*"
# Stems of verbs of what an agent does by itself.
_AGENT_VERBS = (
    r"(?:add|rewrit|re-?writ|refactor|comment|commit|push|creat|invent|delet|remov|renam|chang"
    r"|touch|reformat|install|explain|summari[sz]|apologi[sz]|guess|assum|skip|forget|mock|run|us"
    r"|writ|ignor|re-?order|bump|migrat|over-?\w+|put|mak|edit|overwrit|repeat|ask)"
)
_WORK = (
    r"(?:components?|modules?|endpoints?|functions?|methods?|class(?:es)?|commits?|prs?"
    r"|pull requests?|tests?|test cases?|migrations?|(?:source )?files?|bugs?"
    r"|bug ?fix(?:es)?|releases?|changes?|features?"
    r"|scripts?|packages?|services?|tables?|routes?|tickets?|issues?|dates?|texts?"
    r"|strings?|branch(?:es)?|dependenc(?:y|ies)|variables?|errors?|docs?|reports?)"
)
# "Every module gets a test", "dates are stored in UTC"
_HANDLED = (
    r"(?:gets?|needs?|goes|go|ha(?:s|ve) to|must|comes? with|belongs?|is (?:stored|written|named)"
    r"|are (?:stored|written|named))\b"
)
# The request after a reason: "I read on a phone, so keep it short".
_ASKED = (
    r"(?:please |then |just |so )*(?:give|keep|avoid|use|no|make(?! (?:it|this|that|them)\b)|don't"
    r"|do not|never|leave|spare)"
)
SELF_DESCRIPTION = words(
    # Who they are and where they work: "I'm a nurse", "we're on Windows".
    rf"{_OPENS}(?:i'm|i am|we're|we are) (?:an?|the|no|not an?|on an?) (?:\w+[\w.+#]* ){{0,3}}"
    r"(?:user|dev|developer|programmer|engineer|designer|beginner|newbie|novice|expert|writer|scientist"
    r"|teacher|nurse|shop|house|person|guy|speaker)s?\b(?! (?:page|story|table|list|id|name|menu))",
    rf"{_OPENS}(?:(?:i|we) (?:currently |only )?(?:are|am|work)|i'm|we're)"
    r" (?:currently |only |all )?(?:on|in|with|using) (?:an? )?(?:windows|linux|mac ?os\w*|macs?"
    r"|ubuntu|debian|fedora|arch|nixos|wsl|chromebook|zsh|bash|fish|powershell|vim|neovim|emacs"
    r"|vs ?code|intellij|pycharm|xcode|podman)\b",
    r"(?:i|we) (?:develop|code|program|build|deploy|work)(?! (?:this|that|it)\b)[^.,?]{0,30}"
    r" (?:on|under) (?:an? |my )?(?:windows|linux|mac ?os\w*|macs?|ubuntu|debian|raspberry)\b",
    r"i (?:don't|do not|can't|cannot) (?:really |at all )?(?:know (?:at all )?how to )?"
    r"(?:program|code)\b",
    r"i(?:'m| am) (?:colou?r[- ]?blind|dyslexic|blind|deaf|left-handed)",
    r"i have (?:dyslexia|adhd|a data cap|a slow)",
    r"(?:help|suit)s? me (?:a lot|best|more)|(?:is|are) (?:easier|harder|best|better) for me",
    # A request with its reason: "I pay per token, so keep it short".
    rf"{_OPENS}(?:my|our|i|we|i'm|we're)"
    r"(?! (?:have \w+ (?:second|minute|hour)|can't (?:see|find)))\b"
    r"(?![^,]*\b(?:lost|was|were|had|got|closed|broke|crashed|late|missing|\w+ed|now)\b)"
    rf"[^,?]{{6,90}}, (?:so |and )?{_ASKED}\b",
    r"because (?:i|we|my|our) (?:\w+ )?(?:read|use|work|review|pay|live|deploy|share|print)\b",
    # Complaints: "I'm tired of emojis", "you keep adding comments".
    r"(?:i'm|i am|we're|we are) (?:so |really )?(?:sick|tired|sick and tired) of"
    r"(?! (?:this|that|it)\b)",
    r"^\W*(?:(?:please|and|ok(?:ay)?)\W+)*(?:enough (?:with|of)|spare me|hands off|quit \w+ing)",
    rf"you (?:tend to|have a (?:tendency|habit)|always|constantly|keep(?: on)?)"
    rf" (?:\w+ )?{_AGENT_VERBS}(?:e|ing|s)?\b(?! (?:errors?|the (?:same|wrong)|me\b|an? error))",
    rf"(?:second|third|fourth|fifth|\d(?:nd|rd|th)) time (?:now )?(?:that )?you(?:'ve| have)?"
    rf" (?:{_AGENT_VERBS}|ran|wrote|made|forgot|did)\w*",
    r"asked you (?:\w+ )?(?:twice|three times|several times|repeatedly|many times)",
    r"(?:nobody|no one) (?:\w+ )?(?:asked|requested) (?:you )?(?:for|to)",
    r"(?:that|this|it) (?:was|is)(?:n't| not) (?:part of (?:the|your|this) (?:task|job)"
    r"|what i asked(?: you)? (?:for|to))",
    r"i (?:only|just) asked (?:you )?(?:for|to)",
    r"i don't remember (?:asking|telling)",
    r"(?:ignor|violat|disobey|disregard|not follow|n't follow)\w* (?:\w+ )?(?:my|our|the)"
    r" (?:\w+ )?(?:instructions?|rules?|guidelines?|orders)",
    r"(?:my|our) (?:\w+ )?(?:instructions?|rules?|guidelines?) (?:\w+ )?"
    r"(?:say|said|state|tell|told|tried|forbid|forbade|prevent)s?\b",
    r"your (?:llm|ai|model|agent|assistant) (?:keeps?|always|constantly)",
    # Nobody uses the product yet: "we have no users".
    r"(?:nothing|it|this|the (?:\w+ )?(?:app|bot|product|project|site|game|system))(?:'s| is| has)?"
    r"(?: not|n't)?(?: been)? (?:in production|rolled out|released|launched) yet",
    r"(?:there are|we have|it has) no (?:real |actual )?users(?: yet)?",
    # What each piece of work gets: "every module gets a test".
    rf"{_OPENS}(?:every|each|any|all)(?: new| single)? {_WORK} {_HANDLED}",
    rf"{_OPENS}(?:anything|everything) (?!in (?:this|that)\b)[^,.?]{{3,60}}"
    rf" (?:goes|must|should|needs|has to|belongs|is generated)\b",
    rf"{_OPENS}(?:when|if) an? (?:new )?{_WORK} [^,?]{{3,80}},"
    r" (?:please |then |always )*(?:mark|make|use|add|write|put|split|ask|tell|run|call|name)\b",
    r"(?:on (?:mon|tues|wednes|thurs|fri|satur|sun)days)",
    r"^(?!\W*(?:\w+\W+){0,2}suggest)[^?]*\b(?:at|to|in) the (?:end|start|beginning|top|bottom) of"
    r" (?:each|every|your|all) (?:\w+ )?(?:response|answer|repl(?:y|ie)|message"
    r"|commit|file|session|task)s?",
    rf"{_OPENS}(?:add|create|make|write) (?:an?|the|another) (?:\w+ )?rules? (?:to|in|for|that)\b"
    r"[^?]*\b(?:that|to|so that) \w+",
    rf"{_OPENS}(?:add|write|update|adjust|change|extend|put)\b[^.?]{{0,60}}"
    r"\b(?:rules?|instructions|guidelines)\b[^.?]{0,30}"
    r"\b(?:so (?:that )?(?:you|agents?|the (?:agent|ai|assistant))"
    r"|to (?:always|never|ensure|enforce|prevent))\b",
)  # fmt: skip
"""Self-descriptions and complaints, which are standing wishes without a word like "always"."""
COMPLAINS = words(
    r"who (?:told|asked) you to",
    r"why (?:is|are) there (?:an?|so many|such)\b[^?]*\b(?:again|every|everywhere|all over)",
    r"why (?:\w+ ){1,8}(?:in|on|at) (?:every|each) \w+",
)
"""A complaint in the form of a question."""
