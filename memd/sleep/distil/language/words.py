"""Extract what the user wrote from a message in the user's name. Pure.

Such a message also contains text that the user did not write: tags, summaries and templates of the
program, logs, code, pasted answers and documents. What remains is prose in paragraphs.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple

from memd.sleep.distil.language.pasted_answers import answer_span
from memd.sleep.distil.language.prose import READ_MAX, is_printed_line
from memd.sleep.distil.language.rule_lists import rule_texts, without_listed
from memd.text.alternations import Phrases
from memd.text.languages import FUNCTION_WORDS, PROSE_WORDS, has_english_word
from memd.text.quotation import without_dictation
from memd.text.words import content_stems, sentences

TEXT_CHARS_MAX = 200_000
"""How much of a message is read; nobody types more."""
PASTE_SHARE = 0.35
"""Share of pasted lines from which all lines between them count as pasted, too."""
_SYMBOL_SHARE = 0.12  # of symbols in a line that a program printed
_PROSE_SHARE = 0.19  # of common words in a sentence
_PROSE_WORDS = 7  # fewer words always count as prose
_JUDGED_CHARS = 20  # shorter lines have too few characters for a share of symbols
_LINE_CHARS_MAX = 2000  # a longer line is not typed
_MARGIN = 8  # columns of indentation that patterns read
_TYPED_CHARS_MAX = 8000  # a longer message is not typed
_BRIEF_CHARS = 1800  # shortest brief for an agent
_YOU_CHARS = 200  # a brief has one "you" in fewer characters, on average
_PLAN_HEADINGS = 3  # a document with as many headings,
_PLAN_CHARS = 1000  # and as long, may be a pasted plan
_SIGNS = frozenset({"So", "Sm", "Sk"})
"""Unicode categories of pictograms; a line that begins with one is program output."""
_LETTER_SIGNS = frozenset("\u2139")
"""Pictograms that Unicode classifies as letters."""

# Messages that a program wrote in the user's name.
_NOT_WRITTEN = Phrases(
    r"\s*(?:\[Request interrupted|This session is being continued from a previous conversation"
    r"|Caveat: The messages below were generated|The following is the Codex agent history"
    r"|Base directory for this skill:|# AGENTS\.md\b"
    # Prompts of an editor: to fix an error, to write an instructions file
    r"|For the code present, we get this error:"
    r"|Analyze this codebase to generate or update `\.github/copilot-instructions\.md`"
    # Buttons, and edits that Copilot recorded as a message
    r"|@agent (?:Continue: \"Continue to iterate\?\"|Try Again)\s*$|File editing session\s*$"
    # Cursor, when a plan is carried out
    r"|Implement the (?:plan as specified|following to-dos from the plan)\W+(?:it|the plan) is"
    r" attached"
    r"|<(?:task-notification|local-command|bash-std|system-|user_instructions|environment_context"
    r"|INSTRUCTIONS)\b)",
    0,
)
_INTERRUPTED = re.compile(r"\s*\[Request interrupted\b")
_TYPED = "<command-"
_COMMAND = re.compile(r"<command-name>\s*/?([\w:.-]+)\s*</command-name>")
_COMMAND_ARGS = re.compile(r"<command-args>(.*?)</command-args>", re.DOTALL)
# A program's tag has a hyphen or an underscore: "<system-reminder>". HTML tags rarely do.
_TAG = re.compile(r"<(/?)([a-zA-Z]+[-_][\w-]*)\b[^<>]*>")
_YOU = re.compile(r"\b(?:you|your|yourself)\b", re.IGNORECASE)
_HEADING = re.compile(r"^#{1,4}[ \t]+(\S.*)$", re.MULTILINE)
_SECTION = re.compile(r"#{1,3}[ \t]+\S")
_SUMMARY = re.compile(
    r"\b(?:context|summary|overview|goals?|problem|background|motivation|why|purpose)\b",
    re.IGNORECASE,
)
# Words of a plan, not of other documents.
_PLANS = Phrases(
    r"\b(?:plans?|planned|planning|implement\w*|proposal|spec|specification|design|approach"
    r"|roadmap|phases?|steps?|tasks?|milestones?|goals?|requirements?|todo|issue #?\d+|refactor\w*"
    r"|migrat\w+|plan[oe]?|umsetzung|schritte?)\b"
)
# Titles of documents that describe and plan nothing: "Root cause analysis".
_ANALYSIS = Phrases(
    r"^\W*(?!.*\bplan)(?:\w+\W+){0,4}(?:analysis|observations?|findings|recap|review|problems?"
    r"|issues|errors?|breakdown|understanding)\b"
)
# An assistant's answer before its headings: "Below is a ...", "Let's analyze the error".
_ANSWER = Phrases(
    r"\bbelow,? (?:i(?:['\u2019]ll| will)|(?:is|are) an?)\b|\blet['\u2019]s (?:analy[sz]e|evaluate"
    r"|examine|break (?:down|this down)) (?:whether|the (?:provided|given|code|error|test))"
)
# A heading of a transcript: "## User".
_SPEAKER = re.compile(r"\W*(?:user|assistant|human|agent|system|me|you)\W*$", re.IGNORECASE)
_INLINE = re.compile(r"\[(?:Image|Pasted text)[^\]\n]*\]|data:[\w/+.-]+;base64,\S+")
_FENCED = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[^\n]*$|\Z)", re.DOTALL | re.MULTILINE)

_BULLET = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)])\s+")
# The start of a line that a program printed, or of code or a quotation.
_MACHINE = re.compile(
    r"""\s*(?:
        \[?\d{2,4}[-/:]\d\d[-/:]\d\d            # a log's time, a prompt's
      | \[?(?:INFO|WARN(?:ING)?|ERROR|DEBUG|TRACE|FATAL)\b(?!\ (?:is|was|that|in)\b)
      | (?:\$|%|>{1,3}|\u276f|➜|»|\#{1,6})\s           # a prompt, a quotation, a heading
      | [\w.-]+@[\w.-]+[:\s~].*[$%#]\s
      | %{1,2}[a-z]\w{2,}(?:\s|$)   # a notebook's magic
      | Traceback\ \(|File\ ".*",\ line|(?:async\ )?at\ \S+\s?\(|at\ (?:async\ )?\S*://
      | An?\ (?:\w+\ ){0,2}(?:error|exception)\ (?:has\ )?occurred\b
      | \#\d+\ (?:\[|\d+\.\d|DONE\b|CACHED|ERROR|resolving|exporting|transferring)  # a build's step
      | Caused\ by:|(?:fatal|remote|hint|error|warning):\s|[a-z][\w-]*:\s'[^']*'\s
      | goroutine\ \d+\ \[|created\ by\ \S+[./]\S+(?:\ in\ goroutine\ \d+)?$   # Go's
      | [A-Z][a-z]+-[A-Z]\w+\s:\s|sudo\s+[a-z-]+\s+[-/]
      | (?:npm|yarn|pnpm|pip|cargo|gyp|make)\s+(?:error|warn(?:ing)?|ERR!|notice|info)\b
      | (?:FAIL|PASS|not\ ok)\s+\S+\.\w{1,5}\b
      # a program's name and its message; a transcript
      | [\w./-]+\.(?:sh|py|js|ts|rb|php|pl|go|rs|exe):\s|[\w.-]+:\s\[\w+\]\s
      | \[\d+\]\s+\w+(?:\s\w+)*:|(?:Assistant|Human|ChatGPT):\s
      | \[?\d{1,2}:\d\d:\d\d\b|[A-Z]\w*(?:\s\w+){0,3}:\s*[\d.]+(?:\s?\w{1,9})?\s*$
      | (?:JSON|YAML|TOML|XML|SQL|Syntax|Parse)\w*:\s.*\b(?:not\ allowed|expected|invalid)\b
      | no\ function\ clause\ matching\b|key\ :\w+\ not\ found\b   # Elixir's
      | (?:Process|Command|Task)\ (?:exited|finished|failed|completed)\ (?:with|in)\b
      | Found\ \d+\ (?:error|warning|issue|problem)s?\b|No\ fixes\ available\b
      | (?:OK|PASS|PASSED|FAIL|FAILED|SKIP|WARN|\?\?|[MADRU]{1,2})\s+[~./\w-]*/\S*\s*$
      | [-*]?\s*\[[^\]]+\]\([^)\s]*:\d+\)   # a finding that links to its line
      | (?:\S+\s){0,5}\S*(?:Error|Exception|Warning):\s
      | \S+\.\w{1,5}(?:\?\S*)?:\d+(?::\d+)?(?:\s|:|$)    # file:line, of a page too
      | \d+:\d+\s+(?:error|warning)\s   # a linter's finding
      | \S+\(\d+,\d+\):|\(\w+\):\d+|\[[\w:./-]+:[\w:./-]+\]\s
      | \[[\w.-]+/[\w.-]+\]\s|View\ (?:results|logs|details|run):\s   # a mail of a forge
      | \[[a-z][\w-]+\]\s.*:\d+$|\S+\s(?:\S+\.\w{1,5}|@[\w-]+|<[\w\ ]+>):\d+$   # a console's
      | @?[\w./-]+:[a-z][\w-]*:\s
      | \d+\.\d{2,4}\s+(?!(?:then|it\ is|is|pls|please|dann|bitte|ist)\b)\S   # a build's time
      | [\w.-]+:\d+\s+(?:\W|Uncaught|GET|POST|PUT|Failed|Access|Error)
      | (?:stack|Uncaught|Access\ to\ \w+\ at)\b.*(?:://|Error)
      | (?:Use|Run|See|Try)\ ["'`\u201c].*--help
      | diff\ --git|@@\ |[+-]{3}\s|[+]\S
      | \|.*\|\s*$|[-=_*~]{3,}\s*$|[─-▟]
      # another assistant's answer: points with a lead in bold
      | (?:[-*+]|\d{1,3}[.)])\s+(?:\[[\ xX]\]\s+)?\*\*[^*\n]{2,80}\*\*
      | (?:Okay|Sure|Certainly|Alright)[,!]\ let['\u2019]s\ (?:break\ down|analy[sz]e|examine)\b
      | (?:import|from\ \S+\ import|const|var|def|class|func(?:tion)?|return|public)\s.*[:;{(=]
      | </?[a-zA-Z][^>]*>|//|/\*|\#include
      | ["\u201c].*["\u201d]\s*$|['\u2018]\w.*['\u2019]\s*$   # another's words
      | If\ you\ need\ specific\ details\ from\ before\ exiting\ plan\ mode
      | [\]})]+[,;]?\s*$
      | "?[\w.-]+"?\s*[:=]\s*\S+,?\s*$         # key: value
    )""",
    re.VERBOSE,
)
_CODE_END = re.compile(r"\S\.\w{1,5}:\d+:\d+\)?\s*$|(?:\S;|\{)\s*$|\)\s*[,{]\s*$|\\$")
# Three or more columns, separated by at least three blanks or a tab.
_COLUMNS = re.compile(r"\S+(?: \S+)*(?:(?: {3,}|\t+)\S+(?: \S+)*){2,}\s*$")
_INDENTED = re.compile(r"(?: {4}|\t)\s*(?![-*+]\s|\d{1,3}[.)]\s)\S")
_NAMED = re.compile(
    r"`[^`\n]*+`|\b\w++://\S+|[~.@]?/?[\w.@-]++(?:/[\w.@-]++)++|--[\w-]+"
    r"|(?<![\w-])[\w-]+(?:[._]\w+)+"
)
_SYMBOLS = re.compile(r"[{}\[\]()<>=|;$&*#@\\/_^~%\"+]")
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)?")
_CONTENT = re.compile(r"[^\W_][\w'-]*")
_PLAIN_WORDS = PROSE_WORDS | set(
    "dont doesnt didnt isnt wasnt cant wont pls plz".split()  # noqa: SIM905
)
_PLEASE = re.compile(r"\b(?:please|pls|plz|bitte)\b", re.IGNORECASE)
_LETTER = re.compile(r"[^\W\d_]")
_LATIN = re.compile(r"[a-zA-ZÀ-ɏ]")


class Words(NamedTuple):
    """The parts of one message.

    *paragraphs*: the user's prose in order, with line breaks.
    *pasted*: the lines that the user did not write.
    *command*: a slash command with its arguments ("/review 150"), or "".
    *plan*: title and summary of a pasted plan, or "".
    *is_brief*: a program wrote the message for an agent; *paragraphs* has only its opening.
    *is_answer*: a model's answer was pasted; *paragraphs* has the text around it.
    *rules*: lists of rules, by heading.
    *asked*: sentences that the user asks to remember, and whether firmly (``RememberRequest``).
    """

    paragraphs: tuple[str, ...] = ()
    pasted: str = ""
    command: str = ""
    plan: str = ""
    is_brief: bool = False
    is_answer: bool = False
    rules: tuple[str, ...] = ()
    asked: Mapping[str, bool] = MappingProxyType({})

    def without_lead(self) -> Words:
        """Return these words without a last sentence that ends with a colon.

        "This is wrong, too:" means nothing without the text that was pasted below it.
        """
        if not self.paragraphs or not self.paragraphs[-1].endswith(":"):
            return self
        last = self.paragraphs[-1]
        last = last[: len(last) - len(sentences(last)[-1])].rstrip()
        return self._replace(paragraphs=(*self.paragraphs[:-1], *([last] if last else ())))

    def without_rules(self) -> Words:
        """Return these words without the lines that are in *rules*."""
        if not self.rules:
            return self
        return self._replace(paragraphs=without_listed(self.paragraphs, self.rules))


@lru_cache(maxsize=READ_MAX)
def words(text: str) -> Words:
    r"""Return the writer's own words in *text*, a message of the user.

    >>> words("use tabs\n\n```py\nx = 1\n```").paragraphs
    ('use tabs',)
    """
    if text.lstrip().startswith(_TYPED) and (command := _COMMAND.search(text)):
        arguments = _COMMAND_ARGS.search(text)
        return Words(command=f"/{command[1]} {arguments[1].strip() if arguments else ''}".rstrip())
    if _NOT_WRITTEN.match(text):
        return Words()
    text = _INLINE.sub(" ", _strip_tags(text[:TEXT_CHARS_MAX]))
    if answer := answer_span(text):
        text = f"{text[: answer[0]]}\n\n{text[answer[1] :]}"
    rules = rule_texts(text) if len(text) <= _TYPED_CHARS_MAX else ()
    headings = list(_HEADING.finditer(_FENCED.sub("", text)))
    plan = ""
    if len(headings) >= _PLAN_HEADINGS and len(text) >= _PLAN_CHARS:
        text = _FENCED.sub("", text)
        is_rules = 2 * sum(map(len, rules)) > len(text)  # mostly rules, so no plan
        plan, text = "" if is_rules else _plan_summary(text), text[: headings[0].start()]
        if _ANSWER.search(text):
            plan, text, rules = "", "", ()
    lines = _FENCED.sub("\n\f\n", text).splitlines()
    is_alone = sum(bool(line.strip()) for line in lines) == 1
    machine = [_is_machine(line, is_alone=is_alone) for line in lines]
    for index in list(_between(lines, machine)):
        machine[index] = True
    pasted = "\n".join(line for line, is_pasted in zip(lines, machine, strict=True) if is_pasted)
    typed = [
        ("" if is_pasted else without_dictation(line.strip()))
        for line, is_pasted in zip(lines, machine, strict=True)
    ]
    paragraphs = _paragraphs(typed)
    if is_brief := _is_brief("\n".join(paragraphs)):
        paragraphs, rules = paragraphs[:1], ()
    return Words(
        tuple(paragraphs),
        pasted.strip(),
        plan=plan,
        is_brief=is_brief,
        is_answer=answer is not None,
        rules=rules,
    )


SAYS_LITTLE = content_stems("use have get like love need want add make do see go work")
"""Stems of verbs too common to show that two sentences have the same subject."""


def content_words(text: str) -> frozenset[str]:
    """Return the words of *text* in lower case, without function words of any language.

    >>> sorted(content_words("Delete the web-app's v2"))
    ['delete', 'v2', "web-app's"]
    """
    return frozenset(map(str.casefold, _CONTENT.findall(text))) - FUNCTION_WORDS


def is_interruption(text: str) -> bool:
    """Return whether *text* is the program's marker that the user interrupted the agent.

    >>> is_interruption("[Request interrupted by user for tool use]")
    True
    """
    return _INTERRUPTED.match(text) is not None


def is_prose(text: str) -> bool:
    """Return whether *text* reads like a sentence.

    Short texts and texts in other than Latin letters always do.

    >>> is_prose("Downloading release linux tarball checksum verification step finished")
    False
    """
    letters = len(_LETTER.findall(text))
    if not letters or len(_LATIN.findall(text)) < letters / 2:
        return True
    terms = [word.casefold() for word in _WORD.findall(text)]
    plain = sum(word in _PLAIN_WORDS or not word.isalpha() for word in terms)
    return len(terms) < _PROSE_WORDS or plain >= _PROSE_SHARE * len(terms)


def _is_brief(prose: str) -> bool:
    """Return whether *prose* is a program's brief for an agent: long, with many "you"."""
    count = len(_YOU.findall(prose)) if len(prose) >= _BRIEF_CHARS else 0
    return len(prose) > _TYPED_CHARS_MAX or count * _YOU_CHARS > len(prose)


def _plan_summary(text: str) -> str:
    """Return the title of a plan and its summary section, or else its first section.

    Return "" for other documents: a manual, a transcript, program output.
    """
    headings = list(_HEADING.finditer(text))
    title = " ".join([text[: headings[0].start()], *(heading[1] for heading in headings)])
    is_transcript = any(_SPEAKER.match(heading[1]) for heading in headings)
    if (
        is_transcript
        or _ANALYSIS.match(headings[0][1])
        or _is_machine(headings[0][1])
        or not (_PLANS.search(title) or _WORD.search(text[: headings[0].start()]))
    ):
        return ""
    ends = [*(heading.start() for heading in headings[1:]), len(text)]
    bodies = [text[h.end() : end].strip() for h, end in zip(headings, ends, strict=True)]
    summary = next((i for i, h in enumerate(headings) if _SUMMARY.search(h[1])), 0)
    body = bodies[summary] or next(filter(None, bodies), "")
    lines = [line for line in body.splitlines() if line.strip()]
    prose = [line for line in lines if not (_is_machine(line) or is_printed_line(line.strip()))]
    return "\n".join([headings[0][1].strip(), *prose])


def _strip_tags(text: str) -> str:
    """Return *text* without the tags of programs and their contents.

    A tag without an end tag stays.
    """
    tags = list(_TAG.finditer(text))
    last_ends = {tag[2]: tag.start() for tag in tags if tag[1]}
    parts, begin, open_name = list[str](), 0, ""
    for tag in tags:
        if not open_name and not tag[1] and last_ends.get(tag[2], -1) > tag.start():
            parts.append(text[begin : tag.start()])
            open_name = tag[2]
        elif open_name and tag[1] and tag[2] == open_name:
            open_name, begin = "", tag.end()
    return "\n".join([*parts, text[begin:]])


def _is_machine(line: str, *, is_alone: bool = False) -> bool:
    """Return whether a program printed *line*.

    The only line of a message (*is_alone*) counts as prose with one English word or a "please", or
    if each of its sentences does by itself.
    """
    bare = line.strip()
    if not bare or len(bare) > _LINE_CHARS_MAX:
        return bool(bare) or line == "\f"
    # Patterns start with "\s*" and would try every column of a wide margin.
    shown = " " * min(_MARGIN, len(line) - len(line.lstrip())) + bare
    if _MACHINE.match(shown) or _CODE_END.search(bare) or _INDENTED.match(line):
        return True
    is_sign = unicodedata.category(bare[0]) in _SIGNS or bare[0] in _LETTER_SIGNS
    if is_sign or _COLUMNS.match(bare):
        return True
    if not _LETTER.search(bare):
        return not bare[0].isdigit()
    plain = _NAMED.sub("", _BULLET.sub("", bare))
    if len(plain) >= _JUDGED_CHARS and len(_SYMBOLS.findall(plain)) > _SYMBOL_SHARE * len(plain):
        return True
    asks = has_english_word(plain) or _PLEASE.search(plain)
    is_typed = is_alone and (asks or all(map(is_prose, sentences(plain))))
    return not (is_prose(plain) or is_typed)


def _between(lines: list[str], machine: list[bool]) -> Iterator[int]:
    """Yield the indexes from the first to the last pasted line of a section.

    Only where PASTE_SHARE of the lines are pasted. Each heading starts a section, because rules of
    a template may follow below a diff.
    """
    begins = [index for index, line in enumerate(lines) if _SECTION.match(line)]
    for begin, end in pairwise([0, *begins, len(lines)]):
        pasted = [i for i in range(begin, end) if machine[i] and i not in begins]
        if not pasted:
            continue
        span = range(pasted[0], pasted[-1] + 1)
        if len(pasted) >= PASTE_SHARE * sum(bool(lines[i].strip()) for i in span):
            yield from span


def _paragraphs(lines: list[str]) -> list[str]:
    """Return the runs of lines that are not empty, each joined by line breaks."""
    texts: list[str] = []
    current: list[str] = []
    for line in [*lines, ""]:
        if line:
            current.append(line)
        elif current:
            texts.append("\n".join(current))
            current = []
    return texts


def letters(text: str) -> str:
    """Return the letters and digits of *text* in lower case, to compare two texts.

    >>> letters("Use `uv`, please.") == letters("use uv please")
    True
    """
    return "".join(filter(str.isalnum, text)).casefold()
