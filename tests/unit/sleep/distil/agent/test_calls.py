"""What tools were called for, in the shapes in which programs write it down."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.sleep.distil.agent.calls import COMMAND_CHARS_MAX, about, command, edited_path
from memd.sleep.distil.exchanges import ToolRun


def _run(tool: str, given: object, result: str | None = "") -> ToolRun:
    return ToolRun(0, "1", tool, given, result)


@pytest.mark.parametrize(
    ("tool", "given", "line"),
    [
        ("Bash", {"command": "npm test", "description": "Run tests"}, "npm test"),
        ("Bash", "Run the tests\n\n`npm test`", "npm test"),
        ("Bash", "Count\n\n```bash\npython - <<'EOF'\nprint(1)\nEOF\n```", "python - <<'EOF'"),
        ("shell", {"command": ["bash", "-lc", "cargo build"]}, "cargo build"),
        ("shell", {"command": ["cargo", "build"]}, "cargo build"),
        ("shell", {"type": "exec", "action": {"command": ["make", "all"]}}, "make all"),
        ("exec_command", {"cmd": "pytest -q"}, "pytest -q"),
        ("run_shell_command", {"command": "go vet ./..."}, "go vet ./..."),
        ("python", "python reproduce.py", "python reproduce.py"),
    ],
)
def test_a_command_line_is_read_in_each_programs_shape(tool: str, given: object, line: str) -> None:
    read = command(_run(tool, given))
    assert read is not None
    assert read.line == line


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Read", {"file_path": "a.py"}),
        ("str_replace_editor", {"command": "view", "path": "/a.py"}),
        ("edit", "edit 1:2\nx = 1\nend_of_edit"),
        ("Read", "`./main.go`"),
        ("Bash", None),
        ("Bash", ["ls"]),
        ("Bash", "Re-run with UTF-8 output encoding"),
    ],
)
def test_what_calls_no_shell_is_no_command(tool: str, given: object) -> None:
    assert command(_run(tool, given)) is None


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("cd /srv && go test -v ./pkg/store", "go test"),
        ("DEBUG=1 npm run build -- --watch", "npm run build"),
        ("python3 -m pytest tests/unit", "python3 -m pytest"),
        ("node scripts/seed.js", "node scripts/seed.js"),
        ("sudo systemctl restart nginx", "systemctl restart"),
        ("/usr/local/bin/terraform plan -out x", "terraform plan"),
        ('pytest -k "a && b" tests', "pytest"),
        ("echo 'x; y' && make test", "make test"),
        ('FLAGS="a; b" npm run build', "npm run build"),
        ("echo it's set; make test", "make test"),
        ("echo hi", ""),
        ("", ""),
    ],
)
def test_a_command_is_called_by_program_and_subcommand(line: str, name: str) -> None:
    assert about(line) == name


@pytest.mark.parametrize(
    ("tool", "given", "result", "path"),
    [
        ("Write", {"file_path": "/srv/a.py", "content": "x"}, "", "/srv/a.py"),
        ("Edit", "", "The file /srv/a.py has been updated successfully.", "/srv/a.py"),
        ("Write", "```py\nx\n```", "File created successfully at: /srv/b c.py", "/srv/b c.py"),
        ("str_replace_editor", {"command": "create", "path": "/r.py"}, "ok", "/r.py"),
        ("str_replace_editor", {"command": "view", "path": "/r.py"}, "ok", ""),
        ("edit", "edit 1:1\nx\nend_of_edit", "[File: /r.py (9 lines total)]\n1:x", "/r.py"),
        ("apply_patch", "*** Begin Patch\n*** Update File: lib/a.rb\n@@", "Done", "lib/a.rb"),
        ("shell", {"command": ["apply_patch", "*** Begin Patch\n*** Add File: n.md"]}, "", "n.md"),
        ("replace", {"file_path": "x.ts", "new_string": "1"}, "Error: no match", ""),
        ("Read", {"file_path": "a.py"}, "x = 1", ""),
    ],
)
def test_the_file_that_was_written_is_known(
    tool: str, given: object, result: str, path: str
) -> None:
    assert edited_path(_run(tool, given, result)) == path


@given(st.one_of(st.text(), st.dictionaries(st.text(max_size=8), st.text()), st.none()), st.text())
def test_no_call_is_an_error(given: object, result: str) -> None:
    for tool in ("Bash", "Edit", "shell"):
        run = _run(tool, given, result)
        read = command(run)
        assert read is None or 0 < len(read.line) <= COMMAND_CHARS_MAX
        assert isinstance(edited_path(run), str)
