"""What the code cites is in the repository: ``docs/spec``, ``docs/decisions``, nothing else.

``docs/spec/README.md`` says how a citation is written. A number is an anchor when a heading, a
line of a list or the first cell of a table row begins with it.
"""

from __future__ import annotations

import ast
import functools
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import sources
from support.sources import ROOT

SPEC = ROOT / "docs" / "spec"
PROMISES, EXAMPLES = SPEC / "promises.md", SPEC / "examples.md"
FOLDERS = ("memd", "tests", "docs", "systemd", "launchd")
TEXTS = {".py", ".md", ".sql", ".service", ".socket", ".toml"}
THIS = Path(__file__).resolve()

NUMBER = r"(?:[DHPX]\d+|\d+[a-z]?(?:\.\d+)*)"
LIST = rf"({NUMBER}(?:(?:,\s+(?:and\s+)?|\s+and\s+|\s+or\s+|\s+to\s+|-){NUMBER}(?![\w%]))*)"
ANCHOR = re.compile(rf"^(?:#+ ({NUMBER})\b|\s*- \*\*({NUMBER})\*\*|\| ({NUMBER}) \|)", re.MULTILINE)
ELSEWHERE = "HOUSE|STORE|MODEL|RANKER|NAPS|CLIENTS|EVAL|FIELD|PLATFORM|AUDIT|EXAMPLES|STYLE|API"
"""Pages that are not in the repository."""


@functools.cache
def texts() -> tuple[tuple[Path, str], ...]:
    """Return the files that may cite something; a comment or docstring is one line of text."""
    paths = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "pyproject.toml"]
    for folder in FOLDERS:
        paths += sorted(path for path in (ROOT / folder).rglob("*") if path.suffix in TEXTS)
    return tuple(
        (path, re.sub(r"\n[ \n]*(?:#+ |-- )?", " ", path.read_text("utf-8")))
        for path in paths
        if path.resolve() != THIS
    )


def anchors(*pages: Path) -> set[str]:
    """Return the numbers under which something stands in *pages*."""
    matches = (match for page in pages for match in ANCHOR.finditer(page.read_text("utf-8")))
    return {next(filter(None, match.groups())) for match in matches}


def numbers(listed: str) -> Iterator[str]:
    """Yield each number of a list such as ``1.3.7-8, D2 to D4 and 5a``.

    >>> list(numbers("1.3.7-8, D2 to D4 and 5a"))
    ['1.3.7', '1.3.8', 'D2', 'D3', 'D4', '5a']
    >>> list(numbers("6.9-6.11, H08"))
    ['6.9', '6.10', '6.11', 'H08']
    """
    last = ""
    for joint, number in re.findall(rf"(-|to\s+|)({NUMBER})", listed):
        if joint and last:
            head, first = _split(last)
            to = int(re.sub(r"\D", "", number.rpartition(".")[2]))
            width = len(last) - len(head)
            for each in range(first + 1, to + 1):
                yield f"{head}{each:0{width}}" if head == "H" else f"{head}{each}"
        else:
            yield number
        last = number


def _split(number: str) -> tuple[str, int]:
    match = re.fullmatch(r"(.*?)(\d+)", number)
    assert match, number
    return match[1], int(match[2])


def cited(name: str) -> dict[str, str]:
    """Return each number that is cited as *name*, and a file that does."""
    return {
        number: str(path.relative_to(ROOT))
        for path, text in texts()
        for listed in re.findall(rf"\b{name}\s+{LIST}", text)
        for number in numbers(listed)
    }


def prose(path: Path) -> Iterator[str]:
    """Yield the docstrings and comments of a module."""
    for node in sources.nodes(path):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield str(node.value.value)
    for token in tokenize.generate_tokens(io.StringIO(sources.text(path)).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


def test_every_citation_of_the_specification_resolves() -> None:
    pages = set(SPEC.glob("*.md")) - {PROMISES, EXAMPLES}
    lettered = {number for number in anchors(PROMISES, EXAMPLES) if number[0].isalpha()}
    citations, there = cited("SPEC"), anchors(*pages) | lettered
    for path, text in texts():
        for number in re.findall(r"\((D\d+)\)", text):
            citations.setdefault(number, str(path.relative_to(ROOT)))
    assert len(citations) > 100
    assert {n: path for n, path in citations.items() if n not in there} == {}


def test_every_citation_of_a_promise_resolves() -> None:
    citations, there = cited("PROMISES"), anchors(PROMISES)
    assert citations
    assert {n: path for n, path in citations.items() if n not in there} == {}


def test_every_example_that_is_named_is_listed_and_every_listed_file_is_there() -> None:
    there = anchors(EXAMPLES)
    named = {
        number: path.name
        for path in sorted((ROOT / "tests" / "examples").glob("test_x*.py"))
        for number in re.findall(r"\bX\d+\b", path.read_text("utf-8").partition('\n"""')[0])
    }
    assert named
    assert {n: path for n, path in named.items() if n not in there} == {}
    for name in re.findall(r"`(tests/\S+\.py)`", EXAMPLES.read_text("utf-8")):
        assert (ROOT / name).is_file(), name


@pytest.mark.parametrize("name", ["architecture.md", "CONTRIBUTING.md", "glossary.md"])
def test_every_file_that_a_guide_names_is_there(name: str) -> None:
    """A path in code font is one from the root; within ``memd`` a package may come first."""
    text = (ROOT / "docs" / name).read_text("utf-8")
    paths = re.findall(r"`((?:[\w.]+/)+[\w.]*)`", text)
    gone = {path for path in paths if not any((r / path).exists() for r in (ROOT, ROOT / "memd"))}
    assert gone == set()


def test_no_number_of_the_specification_has_two_places() -> None:
    for pages in ([PROMISES], [EXAMPLES], sorted(set(SPEC.glob("*.md")) - {PROMISES, EXAMPLES})):
        anchors = [m for page in pages for m in ANCHOR.findall(page.read_text("utf-8"))]
        places = ["".join(groups) for groups in anchors]
        assert sorted({number for number in places if places.count(number) > 1}) == []


def test_every_decision_that_is_cited_exists() -> None:
    there = {int(page.stem[:4]) for page in (ROOT / "docs" / "decisions").glob("*.md")}
    missing: dict[str, str] = {}
    for path, text in texts():
        names = re.findall(r"\bdecisions/(\d{4})", text)
        names += re.findall(r"\((0[01]\d\d)\)", text) if "decisions" in path.parts else []
        for listed in re.findall(
            r"\b[Dd]ecisions?\s+(\d{2,4}(?:(?:,\s+| and | to |-)\d{2,4})*)\b", text
        ):
            names += re.findall(r"\d+", listed)
        missing |= {name: str(path.relative_to(ROOT)) for name in names if int(name) not in there}
    assert missing == {}


@pytest.mark.parametrize("folder", ["memd", "tests"])
def test_no_docstring_or_comment_cites_a_page_that_is_not_here(folder: str) -> None:
    page = re.compile(rf"\b(?:{ELSEWHERE})(?:\.md\b| [A-Z]?\d)|\((?:{ELSEWHERE})[),]")
    begins = re.compile(rf"\s*(?:# )?(?:{ELSEWHERE}): ")
    mentioned = re.compile(rf"{page.pattern}|(?:\"\"\"|#)\s*(?:{ELSEWHERE}): ")
    offending = {
        f"{path.relative_to(ROOT)}: {text.strip()[:60]}"
        for path in sorted((ROOT / folder).rglob("*.py"))
        if path.resolve() != THIS and mentioned.search(sources.text(path))
        for text in prose(path)
        if page.search(text) or begins.match(text)
    }
    assert offending == set()


def test_no_page_cites_a_page_that_is_not_here() -> None:
    page = re.compile(rf"\b(?:{ELSEWHERE})(?:\.md\b| \d+(?:\.\d+)*\b)")
    offending = {
        f"{path.relative_to(ROOT)}: {match}"
        for path, text in texts()
        if path.suffix != ".py"
        for match in page.findall(text)
    }
    assert offending == set()


def test_no_number_of_a_review_stays() -> None:
    finding = re.compile(r"\baudit(?:'s)?(?: finding| line)? \d+\.\d+", re.IGNORECASE)
    offending = {str(path.relative_to(ROOT)) for path, text in texts() if finding.search(text)}
    assert offending == set()
