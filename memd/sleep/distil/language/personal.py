"""Wishes that are said of somebody: what they are and need, and what they are tired of.

"I read on a phone, so keep it short", "we're a Python shop", "nobody asked for a README":
no word of a rule is in them, and each says how this person wants work done. A complaint
is of what the agent does by itself ("you keep adding comments"), not of what happens to it
("you keep hitting the same error"). Pure.
"""

from __future__ import annotations

from memd.sleep.distil.language.signs import words

_LEAD = r"^\W*(?:(?:and|also|but|so|ok(?:ay)?|please|oh|yes|no|note|fyi|btw|again|remember)\W+)*"
# What an agent does of its own accord.
_DOES = (
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
_HANDLED = (
    r"(?:gets?|needs?|goes|go|ha(?:s|ve) to|must|comes? with|belongs?|is (?:stored|written|named)"
    r"|are (?:stored|written|named))\b"
)
_ASKED = (
    r"(?:please |then |just |so )*(?:give|keep|avoid|use|no|make(?! (?:it|this|that|them)\b)|don't"
    r"|do not|never|leave|spare)"
)
SAID_OF_ONESELF = words(
    # Who they are, and where they work.
    rf"{_LEAD}(?:i'm|i am|we're|we are) (?:an?|the|no|not an?|on an?) (?:\w+[\w.+#]* ){{0,3}}"
    r"(?:user|dev|developer|programmer|engineer|designer|beginner|newbie|novice|expert|writer|scientist"
    r"|teacher|nurse|shop|house|person|guy|speaker)s?\b(?! (?:page|story|table|list|id|name|menu))",
    rf"{_LEAD}(?:(?:i|we) (?:currently |only )?(?:are|am|work)|i'm|we're)"
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
    # Why they want it so.
    rf"{_LEAD}(?:my|our|i|we|i'm|we're)"
    r"(?! (?:have \w+ (?:second|minute|hour)|can't (?:see|find)))\b"
    r"(?![^,]*\b(?:lost|was|were|had|got|closed|broke|crashed|late|missing|\w+ed|now)\b)"
    rf"[^,?]{{6,90}}, (?:so |and )?{_ASKED}\b",
    r"because (?:i|we|my|our) (?:\w+ )?(?:read|use|work|review|pay|live|deploy|share|print)\b",
    # What they are tired of.
    r"(?:i'm|i am|we're|we are) (?:so |really )?(?:sick|tired|sick and tired) of"
    r"(?! (?:this|that|it)\b)",
    r"^\W*(?:(?:please|and|ok(?:ay)?)\W+)*(?:enough (?:with|of)|spare me|hands off|quit \w+ing)",
    rf"you (?:tend to|have a (?:tendency|habit)|always|constantly|keep(?: on)?)"
    rf" (?:\w+ )?{_DOES}(?:e|ing|s)?\b(?! (?:errors?|the (?:same|wrong)|me\b|an? error))",
    rf"(?:second|third|fourth|fifth|\d(?:nd|rd|th)) time (?:now )?(?:that )?you(?:'ve| have)?"
    rf" (?:{_DOES}|ran|wrote|made|forgot|did)\w*",
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
    # Who uses what is made: nobody, so far.
    r"(?:nothing|it|this|the (?:\w+ )?(?:app|bot|product|project|site|game|system))(?:'s| is| has)?"
    r"(?: not|n't)?(?: been)? (?:in production|rolled out|released|launched) yet",
    r"(?:there are|we have|it has) no (?:real |actual )?users(?: yet)?",
    # What every piece of the work gets.
    rf"{_LEAD}(?:every|each|any|all)(?: new| single)? {_WORK} {_HANDLED}",
    rf"{_LEAD}(?:anything|everything) (?!in (?:this|that)\b)[^,.?]{{3,60}}"
    rf" (?:goes|must|should|needs|has to|belongs|is generated)\b",
    rf"{_LEAD}(?:when|if) an? (?:new )?{_WORK} [^,?]{{3,80}},"
    r" (?:please |then |always )*(?:mark|make|use|add|write|put|split|ask|tell|run|call|name)\b",
    r"(?:on (?:mon|tues|wednes|thurs|fri|satur|sun)days)",
    r"^(?!\W*(?:\w+\W+){0,2}suggest)[^?]*\b(?:at|to|in) the (?:end|start|beginning|top|bottom) of"
    r" (?:each|every|your|all) (?:\w+ )?(?:response|answer|repl(?:y|ie)|message"
    r"|commit|file|session|task)s?",
    rf"{_LEAD}(?:add|create|make|write) (?:an?|the|another) (?:\w+ )?rules? (?:to|in|for|that)\b"
    r"[^?]*\b(?:that|to|so that) \w+",
    rf"{_LEAD}(?:add|write|update|adjust|change|extend|put)\b[^.?]{{0,60}}"
    r"\b(?:rules?|instructions|guidelines)\b[^.?]{0,30}"
    r"\b(?:so (?:that )?(?:you|agents?|the (?:agent|ai|assistant))"
    r"|to (?:always|never|ensure|enforce|prevent))\b",
)  # fmt: skip
"""How somebody is, and what they are tired of: it lasts, though no word says for how long."""
COMPLAINS = words(
    r"who (?:told|asked) you to",
    r"why (?:is|are) there (?:an?|so many|such)\b[^?]*\b(?:again|every|everywhere|all over)",
    r"why (?:\w+ ){1,8}(?:in|on|at) (?:every|each) \w+",
)
"""A question that asks for nothing."""
