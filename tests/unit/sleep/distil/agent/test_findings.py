"""What a long answer lists under a heading of its own is told by its titles."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memd.sleep.distil.agent.findings import FINDINGS_CHARS_MAX, find_list, findings
from memd.sleep.distil.exchanges import AgentText, Exchange, NapKind

REVIEW = """# Review of the importer

## Line by line

- ✅ Good naming in the whole file
- The loop in `rows()` is quadratic

## Top 3 Most Important Improvements

### 1. **`rows()` is quadratic in the number of files**

Lines 12-40 could be simplified:
- first read the index
- then read the rows

### 2. **No retry when the bucket is away**

```py
## Open issues
```

### 3. **.netrc is read by everybody**

## Test Recommendations

1. Cover the empty bucket as well
2. Cover a bucket that is away
"""


def _answer(user: str, text: str, place: int = 0) -> Exchange:
    return Exchange(place, user, (), [AgentText(place + 1, text)], [], place + 1)


def test_the_most_telling_list_of_an_answer_is_found_with_its_titles_alone() -> None:
    assert find_list(REVIEW) == (
        "Top 3 Most Important Improvements",
        (
            "rows() is quadratic in the number of files",
            "No retry when the bucket is away",
            ".netrc is read by everybody",
        ),
    )


def test_titles_may_be_lines_in_bold_or_items_with_a_lead_in_bold() -> None:
    bold = (
        "## Issues\n\n**1. The cache never expires (high)**\n\nWhy.\n\n**2. No index on `mail`**\n"
    )
    assert find_list(bold) == ("Issues", ("The cache never expires (high)", "No index on mail"))
    lead = "Still open:\n- **The docs** still name the old port\n- **Long naps** fail at noon\n"
    assert find_list(lead) == (
        "Still open",
        ("The docs still name the old port", "Long naps fail at noon"),
    )


def test_a_list_without_such_a_heading_and_a_single_item_are_none() -> None:
    assert find_list("## Changes\n- `a.py` reads the port\n- `b.py` is gone now\n") is None
    assert find_list("## Next steps\n- run the migration again\n") is None
    assert find_list("## Issues\n- none\n- ✅ Good tests all over\n") is None


def test_a_list_is_a_memory_that_says_what_it_is_about() -> None:
    (made,) = findings([_answer("look at the importer", REVIEW, 4)])
    assert made.memory.text == (
        "Review of the importer: Top 3 Most Important Improvements:"
        " 1. rows() is quadratic in the number of files; 2. No retry when the bucket is away;"
        " 3. .netrc is read by everybody."
    )
    assert made.memory.kind is NapKind.OUTCOME
    assert made.memory.places == (5, 4)


def test_without_a_title_it_is_about_the_command_or_the_request() -> None:
    text = "## Open questions\n- who owns the bucket in May\n- what happens with old keys\n"
    called = "<command-name>/audit</command-name><command-args>keys</command-args>"
    assert findings([_answer(called, text)])[0].memory.text.startswith(
        "/audit keys: Open questions: 1. who owns"
    )
    (asked,) = findings([_answer("what is left of the key rotation?", text)])
    assert asked.memory.text.startswith("left of the key rotation: Open questions: ")


def test_the_request_above_a_list_is_not_told_as_it_was_said() -> None:
    text = "## Next steps\n- push the new lock file\n- drop the old `v1` routes\n"
    for request in ("Please apply the same width to our projects page.", "what should we do next?"):
        (made,) = findings([_answer(request, text)])
        assert request.rstrip("?.") not in made.memory.text
    (held,) = findings([_answer("We never cache the projects page.", text)])
    assert held.memory.text.startswith("We never cache the projects page: Next steps: 1. push")


def test_a_long_request_is_told_by_its_beginning() -> None:
    text = "## Open questions\n- who owns the bucket in May\n- what happens with old keys\n"
    for asked, subject in (
        (
            "Thanks! Je souhaite que le code de l'importateur soit factorisé au maximum, dans tous"
            " les fichiers du dossier et pour toutes les cartes",
            "le code de l'importateur soit factorisé au maximum, dans tous les fichiers du dossier"
            " …",
        ),
        ("fix this shop git:(main) \u2717 [x] {a: 1} => (b) && c || d", ""),
    ):
        (made,) = findings([_answer(asked, text)])
        assert made.memory.text.startswith(f"{subject}: Open questions"[0 if subject else 2 :])


def test_a_comment_in_code_is_no_title() -> None:
    text = (
        "```sh\n# Fetch the bucket\n```\n## Issues\n- the loop is slow at noon\n- no retry at all\n"
    )
    assert findings([_answer("no, that is the old one", text)])[0].memory.text.startswith(
        "Issues: 1."
    )


def test_a_list_of_tasks_tells_nothing_of_what_came_of_them() -> None:
    tasks = "## Todo List\n\n- [x] Cut the tag of the release\n- [-] Push the tag\n- [ ] Tell all\n"
    assert find_list(tasks) is None
    assert find_list("## Issues\n- the loop is slow at noon\n- the lock is taken\n" + tasks) == (
        "Issues",
        ("the loop is slow at noon", "the lock is taken"),
    )


def test_what_announces_a_paste_or_says_no_is_no_subject() -> None:
    text = "## Open questions\n- who owns the bucket in May\n- what happens with old keys\n"
    for asked in ("I still get:", "no, that is the old list"):
        (made,) = findings([_answer(asked, text)])
        assert made.memory.text.startswith("Open questions: 1. who owns")


def test_the_same_list_has_the_same_slot_wherever_it_stands() -> None:
    (one,), (other,) = findings([_answer("go", REVIEW, 2)]), findings([_answer("go", REVIEW, 8)])
    assert one.memory.slot == other.memory.slot


@given(st.text(alphabet="#*- 1.a:\n`Issues", max_size=400))
def test_no_text_is_an_error_and_none_is_too_long(text: str) -> None:
    for each in findings([_answer("", "## Issues\n" + text)]):
        assert len(each.memory.text) <= FINDINGS_CHARS_MAX + 1
