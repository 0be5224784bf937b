"""What an agent wrote is read sentence by sentence, without Markdown, code and tables."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memd.sleep.distil.language.prose import SENTENCE_CHARS_MAX, plain, sentences

ANSWER = """## What changed

The **worker** reads `QUEUE_URL` now. It was hardcoded before, e.g. in `jobs.py`.

```py
print("no prose")
```

| File | Lines |
|------|-------|
| a.py | 12 |

> a quotation

- ✅ `retry.py` — three attempts instead of one
- [ ] Docs are missing
1. The first of *two* steps
"""


def _texts(text: str) -> list[str]:
    return [each.text for each in sentences(text)]


def test_sentences_are_told_without_headings_code_tables_and_quotations() -> None:
    assert _texts(ANSWER) == [
        "The worker reads QUEUE_URL now.",
        "It was hardcoded before, e.g. in jobs.py.",
        "retry.py — three attempts instead of one",
        "Docs are missing",
        "The first of two steps",
    ]


def test_what_a_sentence_names_is_known() -> None:
    (one,) = sentences("Run `make db` against localhost:5433 with --fast, see docs/db.md")
    assert {"make db", ":5433", "--fast", "docs/db.md"} <= one.things


def test_a_line_that_ends_in_a_colon_is_told_with_a_short_list_below_it() -> None:
    assert _texts("The cache has two layers:\n\n- memory, 60 s\n- Redis.\n")[0] == (
        "The cache has two layers: memory, 60 s; Redis."
    )


def test_a_line_above_a_long_list_stands_alone_without_its_colon() -> None:
    text = "Added retries to all jobs in `jobs.py`:\n" + "- a job that is retried now\n" * 6
    assert _texts(text)[0] == "Added retries to all jobs in jobs.py."


def test_a_line_that_hangs_without_its_list_is_not_told() -> None:
    text = "The disk is full. The next steps are:\n\nAll of them wait."
    assert _texts(text) == ["The disk is full.", "All of them wait."]
    assert _texts("The steps in `ci.yml` are:\n\nAll wait.")[0] == "The steps in ci.yml are …"
    assert sentences("The script checks that:\n\n```sh\nls\n```") == ()


def test_what_a_test_a_linter_or_a_shell_printed_and_bare_code_are_no_prose() -> None:
    printed = """\
platform linux -- Python 3.11.10, pytest-8.3.5, pluggy-1.5.0 -- /home/ada/workspace/bin/pytho
n cachedir: .pytest_cache
rootdir: /home/ada/workspace
FAILED tests/test_store.py::test_lock - Failed: DID NOT RAISE <class
E       Failed: DID NOT RAISE <class 'Exception'>
tests/test_store.py::test_open PASSED [ 63%]
0:0  error  Parsing error: ESLint was configured to run on <root>/src/app.test.ts
return {c.name: getattr(data, c.name) for c in columns}
raise ValueError(f"Unsupported from_type '{name}'")
from store.types import Lock
with pytest.raises(errors.SchemaError): check(rows, Model, force=True)
print("Please set them in your .env file")
pip install -r requirements.txt
git push origin main
"""
    assert _texts(f"The lock is taken twice.\n\n{printed}\nThe port is 80.") == [
        "The lock is taken twice.",
        "The port is 80.",
    ]


def test_a_long_text_that_is_cut_within_code_has_no_code_in_its_prose() -> None:
    code = "```\n" + "the first line of it is read\n" * 2_000 + "```\n"
    assert _texts(f"{code}The port is 80.") == ["The port is 80."]


def test_a_sentence_that_ends_where_its_code_stood_is_not_told() -> None:
    assert _texts("To see the packages, you can use:\n```sh\npip list\n```\nThe port is 80.") == [
        "The port is 80."
    ]
    assert _texts("The room comes from `insets` and\n`spacing.sm` below it.") == [
        "The room comes from insets and spacing.sm below it."
    ]


def test_tasks_that_are_done_or_begun_and_a_list_of_tasks_are_no_prose() -> None:
    tasks = "- [x] Cut the tag\n- [-] Push the tag\n"
    assert _texts(f"The tag is v2.\n{tasks}- [ ] The docs name v1") == [
        "The tag is v2.",
        "The docs name v1",
    ]
    assert _texts(f"## Todo List\n\n{tasks}- [ ] Tell all\n\nThe tag is v2.") == ["The tag is v2."]


def test_a_list_with_leads_in_bold_is_told_by_them_where_it_is_long() -> None:
    steps = "".join(f"- **Step {name}** — {'much is done there, ' * 6}\n" for name in "abc")
    assert _texts(f"The plan has three parts:\n{steps}")[0] == (
        "The plan has three parts: Step a; Step b; Step c."
    )


def test_a_line_that_was_wrapped_is_one_sentence() -> None:
    assert _texts("The proxy listens\non port 8443.") == ["The proxy listens on port 8443."]


def test_marks_inside_code_are_no_marks() -> None:
    assert plain("`*_test.py` and `__init__` are **not** _counted_") == (
        "*_test.py and __init__ are not counted"
    )


def test_a_sentence_that_is_too_long_ends_where_a_clause_does() -> None:
    clause = "the queue is drained before the worker stops"
    (one,) = _texts("; ".join([clause] * 12))
    assert one.endswith("worker stops")
    assert len(one) <= SENTENCE_CHARS_MAX


@given(st.text(alphabet="ab `*_[]()#|>-.:;!?~\n0é。A", max_size=400))
def test_no_text_is_an_error_and_none_is_too_long(text: str) -> None:
    assert all(len(each.text) <= SENTENCE_CHARS_MAX + 2 for each in sentences(text))
