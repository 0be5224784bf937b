import pytest

from memd.cli.progress import LINE_EVERY_US, Progress


class Held:
    now = 0

    def now_us(self) -> int:
        return self.now

    def monotonic_us(self) -> int:
        return self.now


def test_without_a_terminal_a_line_is_written_at_most_every_five_seconds(
    capsys: pytest.CaptureFixture[str],
) -> None:
    clock = Held()
    with Progress("importing", unit="parts", clock=clock) as progress:
        for done in range(1, 11):
            clock.now += LINE_EVERY_US // 4
            progress.at(done, 10)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.splitlines() == [
        "importing: 4 parts of 10 parts",
        "importing: 8 parts of 10 parts",
    ]
