"""What a session's tools did: the files that a command line writes."""

from __future__ import annotations

import pytest

from memd.sleep.distil.agent.calls import Command, is_noise
from memd.sleep.distil.agent.work import find_written_files


@pytest.mark.parametrize(
    ("line", "paths"),
    [
        ("echo '- opioids' >> weak.md", ["weak.md"]),
        ("""printf "03/10,Tom,520\\n" >> costs.csv; awk -F, '{s+=$3}' costs.csv""", ["costs.csv"]),
        ("cat > 'my notes.md' <<'EOF'", ["my notes.md"]),
        ("sed -i.bak -e s/1/2/ a.md b.md", ["a.md", "b.md"]),
        ("sed -i '' 's/a b/c/' a.md && git add a.md", ["a.md"]),
        ("ls | tee -a list.txt", ["list.txt"]),
        ("sed 's/1/2/' a.md", []),
        ("echo 'a > b.md'", []),
        ("grep x a.md > b.md 2>&1", []),
        ('echo x > "$HOME/a.md"', []),
        ("echo 'cut off > a.md", []),
    ],
)
def test_a_command_line_writes_what_it_puts_text_into(line: str, paths: list[str]) -> None:
    assert find_written_files(line) == paths


def test_a_timetable_of_the_machine_is_no_command_of_a_project() -> None:
    assert is_noise(Command("crontab -l | sed 's/0 18/30 6/' | crontab -", "crontab"))
