"""Patterns of texts that give orders to their reader, for folded lower-case text.

A pattern runs only on texts with one of its hints. *strong* patterns have no benign meaning;
the others may occur in a manual, and count only in a text from outside (``domain/trust.py``).
"""

from __future__ import annotations

import re
from functools import cache, partial
from typing import NamedTuple

from memd.domain.trust import Flag


@cache
def _compile(words: str) -> re.Pattern[str]:
    return re.compile(words, re.MULTILINE)


class SuspicionShape(NamedTuple):
    """One pattern with its flag and hints."""

    flag: Flag
    hints: tuple[str, ...]
    words: str
    strong: bool = False
    needs: tuple[str, ...] = ()
    """If given, one of these must occur, too; for a pattern whose hints are common words."""

    def may_match(self, visible: str) -> bool:
        """Return whether the pattern may match *visible*, by substring searches."""
        if not any(hint in visible for hint in self.hints):
            return False
        return not self.needs or any(word in visible for word in self.needs)

    @property
    def pattern(self) -> re.Pattern[str]:
        """The pattern, compiled once, when a text first has one of the hints."""
        return _compile(self.words)


certain = partial(SuspicionShape, strong=True)
"""Makes a strong pattern."""

# Tag letters, bidirectional controls, variation selectors in a row, and invisible characters
# between letters: prose has none of them.
SMUGGLED = re.compile(
    "[\U000e0001-\U000e007f\u202a-\u202e\u2066-\u2069]|[\ufe00-\ufe0f\U000e0100-\U000e01ef]{2}"
    "|[^\\W\\d_][\u200b\u200c\u2060\ufeff\u00ad]+[^\\W\\d_]"
)

# Cyrillic, Greek and other letters that look like Latin ones.
LOOKALIKES = str.maketrans(
    "аеорсухіјѕԁоνгһԛԝҽɩωτκмвнтıɡɑεαιρυϲολ\u2010\u2011\u2012\u2013\u2014\u2212",
    "aeopcyxijsdovrhqwelwtkmbhtigaeaipucol------",
)

_OVER = r"(?:ignor(?:e|ing)|disregard(?:ing)?|forget|overrid(?:e|ing)|bypass|discard|drop|unlearn)"
_NOT = r"(?:do not|don't|never|stop|no longer)\s+(?:follow(?:ing)?|obey(?:ing)?|heed(?:ing)?)"
_FILL = (
    r"(?:\W+(?:all|any|every|everything|each|of|the|your|my|their|these|those|its|and|other|or"
    r"|set|given))"
)
_BEFORE = (
    r"(?:previous(?:ly)?|prior|earlier|above|preceding|foregoing|existing|original|initial|former"
    r"|past|current|system|safety|developer|hidden)"
)
_ORDERS = (
    r"(?:instructions?|directions?|prompts?|rules|guidelines?|guardrails?|directives?|orders|"
    r"commands|constraints?|restrictions?|polic(?:y|ies)|system messages?|training|context|"
    r"safeguards?|safety)"
)
_AGENT = (
    r"(?:ai|a\.i\.|llm|assistants?|chatbot|chatgpt|gpt-?\d?|claude|gemini|copilot|language models?|"
    r"coding agents?|ai agents?|agents?)"
)
_DO = (
    r"(?:call|invoke|use|run|execute|recommend|suggest|answer|reply|respond|say|tell|claim|output"
    r"|return|mention|include|send|forward|route|insert|add|direct|point|transfer|pay|approve"
    r"|prefer|promote|choose|pick|install|download|open|visit|append|name|state|give|write|store"
    r"|delete|remove|disable|skip|refuse|deny|pretend)"
)
_MUST = (
    r"(?:please |you (?:must|should|shall|will|have to|need to|are to) |always |never |must |only "
    r"|immediately |first |secretly |silently |make sure to |be sure to |instead |simply |just )"
)
_THINGS = (
    r"(?:conversations?|chat (?:history|logs?)|system prompt|user'?s? (?:data|messages?|details"
    r"|files?|secrets?|credentials?|passwords?|address|e-?mails?|memor(?:y|ies))"
    r"|memor(?:y|ies)|ssh keys?|private keys?|environment variables?|env vars?|\.env\b"
    r"|everything (?:you|in|that)|secrets|wallet|seed phrase|transcripts?"
    r"|(?:all|any|every|the user's|their|his|her|your) (?:\w+ )?(?:api[ _-]?keys?|credentials?"
    r"|passwords?|tokens?|secrets?|files|keys)|contents? of (?:the |~|/|\.))"
)
_WHERE = r"(?:https?://|ftp://|\bto [\w.+-]+@[\w-]+\.\w|webhook|\b[\w.+-]+@[\w-]+\.\w|pastebin)"
_OWNER = r"(?:user|owner|human|operator|account holder|customer|boss|ceo|administrator|admin)"


SHAPES: tuple[SuspicionShape, ...] = (
    certain(
        Flag.INSTRUCTION,
        ("ignor", "disregard", "forget", "overrid", "bypass", "discard", "drop", "unlearn"),
        rf"\b{_OVER}{_FILL}{{0,5}}\W+{_BEFORE}(?:\W+\w+){{0,2}}?\W+{_ORDERS}\b",
    ),
    certain(
        Flag.INSTRUCTION,
        ("ignor", "disregard", "forget", "overrid", "bypass", "discard", "unlearn"),
        rf"\b(?:ignore|disregard|forget|override|bypass|discard|unlearn)\W+(?:about\W+)?"
        rf"(?:all|any|every|everything|your|what(?:ever)?)\b{_FILL}{{0,3}}\W+(?:{_ORDERS}\b"
        r"(?!\s+(?:file|files|folder|error|errors|warning|warnings|in|for|from|on)\b)"
        r"|(?:you (?:were|have been|are|know|'ve been)\b(?:\W+\w+){0,3}\W+(?:told|given|"
        r"instructed|taught|said))|(?:before|above|prior)\b)",
    ),
    certain(
        Flag.INSTRUCTION,
        ("ignor", "disregard", "forget", "overrid"),
        rf"\b(?:ignore|disregard|forget|override)\W+(?:the|all|any|these|those)\W+{_ORDERS}\W+"
        r"(?:above|before|you (?:were|have)|given (?:to you|above|before|earlier)|so far)",
    ),
    certain(
        Flag.INSTRUCTION,
        ("follow", "obey", "heed"),
        rf"\b{_NOT}{_FILL}{{0,4}}\W+(?:{_BEFORE}|your)(?:\W+\w+){{0,2}}?\W+{_ORDERS}\b",
    ),
    certain(
        Flag.INSTRUCTION,
        ("system prompt", "system message", "initial prompt", "hidden prompt"),
        r"\b(?:reveal|leak|repeat|print|output|show|disclose|paste|send|dump|tell me|override)"
        r"\W+(?:\w+\W+){0,3}?(?:your|hidden|secret)\W+(?:\w+\W+){0,2}?"
        r"(?:system prompt|system message|initial prompt|prompt)\b",
    ),
    certain(
        Flag.INSTRUCTION,
        ("you are now", "you're now", "you are no longer", "act as if you", "pretend you"),
        r"\byou(?:'re| are) (?:now|no longer)\W+(?:a |an |the |in )?(?:dan\b|unlocked"
        r"|unrestricted|unfiltered|uncensored|jailbroken|free (?:of|from|to)|(?:developer|god"
        r"|admin|root|maintenance|debug|sudo|jailbreak|dan|unrestricted) mode|bound by"
        r"|restricted|limited by|required to follow|obliged|subject to|evil|an? (?:\w+ )?"
        r"(?:assistant|ai|agent|model)\b)"
        r"|\b(?:act|behave) as if you (?:had|have) no (?:rules|restrictions|guidelines|limits)"
        r"|\bpretend you (?:have|had) no (?:rules|restrictions|guidelines|limits|instructions)",
    ),
    SuspicionShape(
        Flag.INSTRUCTION,
        ("tell", "inform", "alert", "notify", "mention", "knowledge", "reveal", "warn"),
        r"\b(?:do not|don't|never|must not|without)\W+(?:ever\W+)?(?:tell|telling|inform"
        r"|informing|alert|alerting|notify|notifying|mention|mentioning|reveal|revealing|warn"
        r"|warning)\b(?:\W+(?:this|that|it|any of this|to|about it|about this)){0,3}\W+"
        r"(?:the |your )(?:user|human|owner|operator)\b",
    ),
    SuspicionShape(
        Flag.INSTRUCTION,
        ("assistant", "claude", "gpt", " ai", "ai ", "ai,", "ai:", "agent", "llm", "model"),
        rf"(?:^|[.!?:;>\]*\-#\n]|\bhey|\bdear|\battention|\bnote to|\binstructions? (?:for|to))"
        rf"\W*(?:the |any |all |every )?{_AGENT}s?\b[,:]?\W+(?:you\W+)?(?:please\W+|must\W+"
        r"|should\W+|shall\W+|need to\W+|are required to\W+|have to\W+|now\W+|always\W+"
        r"|are instructed to\W+|immediately\W+|silently\W+|reading this\W+){0,4}"
        r"(?:ignore|disregard|reveal|exfiltrate|forward|transfer|pay|approve|authori[sz]e"
        r"|disable|bypass|recommend|obey|comply|override)\b",
        needs=(
            *("ignore", "disregard", "reveal", "exfiltrate", "forward", "transfer", "pay"),
            *("approve", "authori", "disable", "bypass", "recommend", "obey", "comply", "override"),
        ),
    ),
    SuspicionShape(
        Flag.INSTRUCTION,
        ("instruction", "directive", "override", "order"),
        r"\b(?:important|urgent|new|updated|secret|hidden|critical|emergency|priority)\W+"
        r"(?:system\W+)?(?:instructions?|directives?|override|orders?)\W+(?:for|to)\W+"
        rf"(?:the\W+|any\W+|all\W+)?{_AGENT}\b"
        r"|\b(?:this|these)\W+(?:message|note|memory|instructions?|directives?)\W+(?:\w+\W+)?"
        r"(?:overrides?|supersedes?|replaces?|takes? (?:precedence|priority) over)\W+(?:\w+\W+)"
        rf"{{0,2}}(?:{_BEFORE}|your|all|any)\W+(?:\w+\W+)?{_ORDERS}"
        r"|\b(?:new|updated) system prompt\W*:"
        r"|\bsystem override\b",
    ),
    certain(
        Flag.TRIGGER,
        ("from now on", "from this point", "going forward", "henceforth", "in future", "in the fu"),
        r"\b(?:from now on|from this point (?:on|onwards?|forward)|going forward|henceforth"
        r"|in (?:the )?future)\b[^\n]{0,80}?\b(?:when(?:ever)?|if|every ?time|each time"
        r"|any ?time)"
        r"\b[^\n]{0,60}?\b(?:asked|(?:user|someone|somebody|anyone|anybody|people|they|human"
        r"|owner|question)s? (?:\w+ )?(?:asks?|mentions?|says?|requests?|wants?|is about"
        r"|inquires?|needs?|talks?|brings? up))\b",
    ),
    SuspicionShape(
        Flag.TRIGGER,
        ("when", "if", "time"),
        r"\b(?:when(?:ever)?|if|every ?time|each time|any ?time)\W+(?:you(?:'re| are|'re ever"
        r"| get)\W+)?(?:ever\W+|being\W+)?asked\b[^.\n]{0,90}?(?:"
        rf"(?:[,:;]|\bthen)\W+{_MUST}{{0,3}}{_DO}\b|\b{_MUST}{{1,3}}{_DO}\b)",
    ),
    SuspicionShape(
        Flag.TRIGGER,
        ("when", "if", "time"),
        r"\b(?:when(?:ever)?|if|every ?time|each time|any ?time)\W+(?:the |a |an |any )?"
        r"(?:user|someone|somebody|anyone|anybody|human|owner|customer|person|they|he|she)s?\W+"
        r"(?:asks?|mentions?|says?|requests?|wants?|inquires?|talks?|brings? up)\b[^.\n]{0,90}?"
        r"\b(?:you must|you should|you will|you are to|always|never|secretly|silently"
        r"|without (?:telling|asking))\W+(?:\w+\W+)?"
        rf"{_DO}\b",
    ),
    SuspicionShape(
        Flag.TRIGGER,
        ("future ",),
        r"\b(?:always|never|must|remember|you|recommend|prefer)\b[^\n]{0,120}?\b(?:in|for|to)"
        r"\W+(?:all\W+|any\W+|every\W+|your\W+)*future\W+(?:sessions?|conversations?|chats?"
        r"|interactions?|answers?|repl(?:y|ies)|responses)\b"
        r"|\b(?:in|for)\W+(?:all\W+|any\W+|every\W+|your\W+)*future\W+(?:sessions?"
        r"|conversations?|chats?|interactions?|answers?)\b[^\n]{0,80}?\b(?:always|never"
        r"|you must|must|recommend|prefer)\b",
    ),
    SuspicionShape(
        Flag.TRIGGER,
        ("your answer", "your repl", "your response", "your output", "of your "),
        r"\b(?:include|add|append|insert|mention|recommend|prepend|begin|start|end)\b"
        r"[^.\n]{0,60}\b(?:all|every|each|any)\W+(?:one\W+)?(?:of\W+)?your\W+(?:\w+\W+)?"
        r"(?:answers?|repl(?:y|ies)|responses?|outputs?|messages?)\b",
    ),
    SuspicionShape(
        Flag.ROLE,
        ("<|", "[inst]", "<<sys>>", "### instruction", "### system", "[/inst]"),
        r"<\|(?:im_start|im_end|system|user|assistant|endoftext|eot_id|start_header_id)\|>"
        r"\W*(?:system|user|assistant|developer)?\W*\n?[^\n]{0,3}\w|\[/?inst\]|<<sys>>"
        r"|^#{2,4} ?(?:instructions?|system(?: prompt)?) ?:\W*\n?\W*\w",
    ),
    SuspicionShape(
        Flag.ROLE,
        ("system", "human", "assistant", "developer"),
        r"^[\W_]*(?:system|developer)(?:[ _](?:message|prompt|note|override|notice))?[\W_]*?"
        r"[:>\]]\W*(?:you(?:'re| are| must| will| should)?|ignore|from now on|always|never|new"
        r"|override|the user|obey|execute|act|forget|disregard|all|assistant|comply)\b"
        r"|^\W*(?:human|user)\W?: ?[^\n]*\n+(?:[^\n]*\n+)?\W*(?:assistant|ai)\W?: ?(?:sure|yes"
        r"|of course|certainly|okay|ok|understood|i will|i'll|absolutely)\b",
    ),
    certain(
        Flag.AUTHORITY,
        ("authori", "approved", "consent", "permission", "waive", "signed off"),
        rf"(?<!if )(?<!once )(?<!when )(?<!after )(?<!until )(?<!whether )(?<!unless )"
        rf"\b(?:the|your|my) (?<!if the )(?<!once the )(?<!when the )(?<!after the )"
        rf"(?<!until the )(?<!whether the )(?<!unless the ){_OWNER}\W+"
        r"(?:has\W+|have\W+|had\W+|already\W+|explicitly\W+|fully\W+|previously\W+"
        r"|permanently\W+|hereby\W+|personally\W+){0,3}(?:pre-?)?(?:authori[sz]e[ds]?"
        r"|approve[ds]?"
        r"|consent(?:s|ed)|waive[ds]?|signed off|gave (?:\w+ )?(?:permission|consent|approval)"
        r"|given (?:\w+ )?(?:permission|consent|approval)|grant(?:s|ed) (?:\w+ )?permission)\b"
        r"[^.;\n]{0,100}?\b(?:payments?|purchases?|transfers?|transactions?|wire|refunds?"
        r"|deleti\w+|delete|delet\w+|credentials?|secrets?|passwords?|sharing|sending|send"
        r"|upload\w*|export\w*|admin|root|sudo|without (?:asking|confirm\w+|review|approval)"
        r"|(?:all|any|every|future) (?:\w+ )?(?:actions?|requests?|commands?|tools?|changes?"
        r"|calls?|operations?)|bypass\w*|disabl\w+|unrestricted|full access)",
    ),
    SuspicionShape(
        Flag.AUTHORITY,
        ('"trust"', '"origin"', "trust=", "trust:", "[memd:", "trust level", "origin="),
        r"[\"']trust[\"'] ?[:=] ?(?:[\"'](?:human|owner|person|high|trusted|verified|full|user"
        r"|system)[\"']|2\b)|[\"']origin[\"'] ?[:=] ?[\"'](?:person|human|user|owner"
        r"|system)[\"']"
        r"|^\W*(?:\[|\()?(?:trust|trust level|origin)[:=] ?(?:owner|human|person|trusted|high"
        r"|verified|system)\b|^\[memd:[0-9a-f]{4,}\]",
    ),
    SuspicionShape(
        Flag.FENCE,
        ("memory", "memory-entry", "rnemory", "memd"),
        r"<\s*[/\u2044\u2215\u2571\u29f8\\]\s*(?:memory[-_ ]?(?:entry|context|block)"
        r"|untrusted[\w-]*|memd[\w-]*)\b",
    ),
    certain(
        Flag.EXFILTRATION,
        ("http", "@", "webhook", "ftp://", "pastebin"),
        r"\b(?:send|post|upload|forward|e-?mail|transmit|exfiltrate|leak|submit|report|copy"
        rf"|deliver|curl|pipe|push|beacon)\b[^\n]{{0,100}}?{_THINGS}[^\n]{{0,100}}?{_WHERE}",
    ),
    SuspicionShape(
        Flag.EXFILTRATION,
        ("](http",),
        r"!\[[^\]\n]*\]\(https?://[^)\s]*[?&/=](?:\{|\$|<|%7b|\[)?(?:secret|data|chat"
        r"|conversation"
        r"|prompt|history|memor|token|key|env|leak|exfil)\w*(?:\}|>|%7d|\])?",
    ),
    SuspicionShape(
        Flag.TOOL_CALL,
        ("tool_call", "function_call", "tool_use", "<invoke", "the tool", " tool ", "the function"),
        r"\"(?:tool_calls?|function_call|tool_use)\"\s*:|<\W?(?:tool_call|function_calls?"
        r"|tool_use"
        r"|invoke name)|\b(?:call|invoke|use|run|execute) the (?:\w+ )?(?:tool|function) \W?\w+"
        r"|\b(?:call|invoke) (?:the )?\W?\w+\W? tool\b",
    ),
)
"""Patterns for folded text: English, and markup of any language."""
