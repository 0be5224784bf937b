"""What a long answer lists under a heading of its own is told by its titles."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memd.sleep.distil.agent.findings import TitleList, find_list

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


def test_the_most_telling_list_of_an_answer_is_found_with_its_titles_alone() -> None:
    assert find_list(REVIEW) == TitleList(
        "Top 3 Most Important Improvements",
        (
            "rows() is quadratic in the number of files",
            "No retry when the bucket is away",
            ".netrc is read by everybody",
        ),
        (1, 2, 3),
    )


def test_titles_may_be_lines_in_bold_or_items_with_a_lead_in_bold() -> None:
    bold = (
        "## Issues\n\n**1. The cache never expires (high)**\n\nWhy.\n\n**2. No index on `mail`**\n"
    )
    assert find_list(bold) == TitleList(
        "Issues", ("The cache never expires (high)", "No index on mail"), (1, 2)
    )
    lead = "Still open:\n- **The docs** still name the old port\n- **Long naps** fail at noon\n"
    assert find_list(lead) == TitleList(
        "Still open",
        ("The docs still name the old port", "Long naps fail at noon"),
        (1, 2),
    )


def test_a_list_without_such_a_heading_and_a_single_item_are_none() -> None:
    assert find_list("## Changes\n- `a.py` reads the port\n- `b.py` is gone now\n") is None
    assert find_list("## Next steps\n- run the migration again\n") is None
    assert find_list("## Issues\n- none\n- ✅ Good tests all over\n") is None


def test_code_in_what_explains_a_title_takes_nothing_from_it() -> None:
    issues = "## Issues\n1. **Tags are kept**: `<a href='/'/>` stays\n2. **No index on `mail`**\n"
    listed = find_list(issues)
    assert listed is not None
    assert listed.titles == ("Tags are kept", "No index on mail")


def test_a_list_of_tasks_tells_nothing_of_what_came_of_them() -> None:
    tasks = "## Todo List\n\n- [x] Cut the tag of the release\n- [-] Push the tag\n- [ ] Tell all\n"
    assert find_list(tasks) is None
    assert find_list(
        "## Issues\n- the loop is slow at noon\n- the lock is taken\n" + tasks
    ) == TitleList(
        "Issues",
        ("the loop is slow at noon", "the lock is taken"),
        (1, 2),
    )


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    made = find_list(f"## Issues\n{text}")
    assert made is None or all(len(title.split()) >= 3 for title in made.titles)
