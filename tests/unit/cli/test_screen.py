"""Lines that are drawn over, also after Ctrl-C has left its sign in the middle of them."""

import sys

import pytest

from firstlight.cli import screen


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> pytest.CaptureFixture[str]:
    monkeypatch.setattr(screen, "is_live", lambda stream: True)
    return capsys


def test_lines_are_taken_away_whole_wherever_the_cursor_is(terminal: pytest.CaptureFixture[str]) -> None:
    shown = screen.Screen()
    shown.draw(["infra   machine", "  cp-1"])
    sys.stderr.write("^C")
    shown.draw(["infra   etcd"])
    sys.stderr.write("^C")
    shown.clear()

    assert played(terminal.readouterr().err) == []


def test_what_is_being_done_is_one_line_that_goes(terminal: pytest.CaptureFixture[str]) -> None:
    with screen.doing() as say:
        say("rendering 12 components of infra")
        say("asking machines")
        before = terminal.readouterr().err

    assert played(before) == ["asking machines …"]
    assert played(before + terminal.readouterr().err) == []


def test_in_a_log_it_is_a_line_each_and_for_programs_none(capsys: pytest.CaptureFixture[str]) -> None:
    with screen.doing() as say, screen.doing(is_shown=False) as silent:
        say("rendering 12 components of infra")
        silent("asking machines")

    assert capsys.readouterr().err == "rendering 12 components of infra …\n"


def played(written: str) -> list[str]:
    """The lines that are left on a terminal: it knows what a screen writes, and no more."""
    rows, row, column = [""], 0, 0
    rest = written
    while rest:
        if rest.startswith("\x1b["):
            end = next(index for index, each in enumerate(rest[2:], 2) if each.isalpha())
            number, kind, rest = rest[2:end], rest[end], rest[end + 1 :]
            if kind == "A":
                row -= int(number)
            elif kind == "K":
                rows[row] = ""
            else:
                rows[row:] = [rows[row][:column]]
            continue
        each, rest = rest[0], rest[1:]
        if each == "\n":
            row, column = row + 1, 0
            rows += [""] if row == len(rows) else []
        elif each == "\r":
            column = 0
        else:
            line = rows[row].ljust(column)
            rows[row] = line[:column] + each + line[column + 1 :]
            column += 1
    return [each for each in rows if each]
