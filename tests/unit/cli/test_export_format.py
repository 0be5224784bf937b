import json

import pytest

from memd.base.errors import InvalidError
from memd.cli.transfer import export


def test_an_exports_header_is_checked_and_not_imported() -> None:
    lines = [json.dumps(export.HEADER), "", json.dumps({"text": "a"})]
    assert list(export.jsonl_parts(lines, "f")) == [{"text": "a"}]


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ('{"memd": "export", "v": 99}', "version 99"),
        ('{"memd": "backup", "v": 1}', "not an export"),
        ("[1]", "line 1"),
        ("{", "line 1"),
    ],
)
def test_what_is_no_export_of_this_version_is_refused_by_line(line: str, what: str) -> None:
    with pytest.raises(InvalidError, match=what):
        list(export.jsonl_parts([line], "f"))
