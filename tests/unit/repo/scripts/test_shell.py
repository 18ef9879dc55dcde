"""Shell scripts as trees, and words with their variables put in."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight.repo import go_template
from firstlight.repo.scripts.shell import shell_expansion, shell_parser, shell_tree
from firstlight.repo.scripts.shell.shell_expansion import REPO, ExpandedText, ShellScope


def commands(text: str) -> list[list[str]]:
    """The words of every command, blocks and all."""
    found: list[list[str]] = []

    def walk(items: tuple[shell_tree.Item, ...]) -> None:
        for item in items:
            if isinstance(item, shell_tree.Pipeline):
                for command in item.commands:
                    if isinstance(command, shell_tree.ShellGroup):
                        walk(command.items)
                    elif command.words:
                        found.append([word.source for word in command.words])
            else:
                walk(item.items)

    walk(shell_parser.parse(text).items)
    return found


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a b  c", [["a", "b", "c"]]),
        ("a; b & c && d || e", [["a"], ["b"], ["c"], ["d"], ["e"]]),
        ("a | b |& c", [["a"], ["b"], ["c"]]),
        ("a 'b c' \"d e\" f\\ g", [["a", "b c", "d e", "f g"]]),
        ("a \\\n  b \\\r\n  c", [["a", "b", "c"]]),
        ("a # b\nc#d", [["a"], ["c#d"]]),
        ('a "$(b "c d" \'e)\')" f', [["a", "$(b \"c d\" 'e)')", "f"]]),
        ("a `b c` ${d:-e f} $((1 + 2))", [["a", "`b c`", "${d:-e f}", "$((1 + 2))"]]),
        ("X=1 Y='2 3' a", [["a"]]),
        ("a > out 2>&1 < in >>more &>all", [["a"]]),
        ("a 2>/dev/null b", [["a", "b"]]),
        ("if a; then b; elif c; then d; else e; fi", [["a"], ["b"], ["c"], ["d"], ["e"]]),
        ("if ! a; then b; fi; c", [["a"], ["b"], ["c"]]),
        ("for x in 1 2; do a $x; done", [["a", "$x"]]),
        ("while read x; do a; done < b", [["read", "x"], ["a"]]),
        ("until a; do b; done", [["a"], ["b"]]),
        ("case $x in a|b) c ;; (d) e;; *) f; (g) ;; esac; h", [["c"], ["e"], ["f"], ["g"], ["h"]]),
        ("f() { a; }\nfunction g { b; }\nfunction h() { c; }\nd", [["a"], ["b"], ["c"], ["d"]]),
        ("(a; b) && { c; }", [["a"], ["b"], ["c"]]),
        ("[[ $a == b && -f c ]] && d", [["[[", "$a", "==", "b"], ["-f", "c", "]]"], ["d"]]),
        ("a <<EOF\nb; c\nEOF\nd", [["a"], ["d"]]),
        ("a <<'X' | b <<-Y\n1\nX\n\t2\n\tY\nc", [["a"], ["b"], ["c"]]),
        ("a <(b c) d", [["a", "<(b c)", "d"]]),
        ("local -r x=(1 2) && a", [["a"]]),
        ("a '", [["a", ""]]),
        ("fi; done; esac; } ) a", [["a"]]),
    ],
)
def test_commands_are_found_in_every_construct(text: str, wanted: list[list[str]]) -> None:
    assert commands(text) == wanted


def test_every_command_has_the_line_of_its_first_word() -> None:
    text = "a\nb \\\n  c\n\nif d; then\n  e <<EOF\nx\nEOF\nfi\nf | \\\n  g\n"

    lines: list[tuple[str, int]] = []

    def walk(items: tuple[shell_tree.Item, ...]) -> None:
        for item in items:
            for command in item.commands if isinstance(item, shell_tree.Pipeline) else ():
                if isinstance(command, shell_tree.ShellGroup):
                    walk(command.items)
                else:
                    lines.append((command.words[0].source, command.line))

    walk(shell_parser.parse(text).items)
    assert lines == [("a", 1), ("b", 2), ("d", 5), ("e", 6), ("f", 10), ("g", 11)]


def test_heredocs_are_kept_with_their_line_and_whether_they_are_literal() -> None:
    (first, second) = shell_parser.parse("a <<EOF\n$x\nEOF\nb <<'EOF'\n$x\nEOF\n").items

    assert isinstance(first, shell_tree.Pipeline)
    assert isinstance(second, shell_tree.Pipeline)
    assert first.commands[0].stdin == shell_tree.Heredoc("$x\n", 2, is_literal=False)  # type: ignore[union-attr]
    assert second.commands[0].stdin == shell_tree.Heredoc("$x\n", 5, is_literal=True)  # type: ignore[union-attr]


def test_a_quote_that_is_not_closed_is_said() -> None:
    assert shell_parser.parse("a\nb 'c\nd").problems == ((2, "a quote is not closed"),)


def expanded(text: str, **variables: shell_expansion.Value) -> list[ExpandedText]:
    (item,) = shell_parser.parse(f"x {text}").items
    assert isinstance(item, shell_tree.Pipeline)
    (command,) = item.commands
    assert isinstance(command, shell_tree.Simple)
    scope = ShellScope(variables, "kubernetes", "scripts/boot.sh")
    return [each for word in command.words[1:] for each in shell_expansion.words(word, scope)]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("$A", [ExpandedText("one")]),
        ('"${A}/x"', [ExpandedText("one/x")]),
        ("'$A'", [ExpandedText("$A")]),
        ("$B", [ExpandedText("$B", ("B",))]),
        ("${B:-two}", [ExpandedText("two")]),
        ("${B:-$A}", [ExpandedText("one")]),
        ("${B:?must}", [ExpandedText("${B:?must}", ("B",))]),
        ("$LIST", [ExpandedText("p"), ExpandedText("q")]),
        ('"$LIST"', [ExpandedText("p q")]),
        ("$EMPTY x", [ExpandedText("x")]),
        ('"${ARRAY[@]}"', [ExpandedText("r s"), ExpandedText("t")]),
        ('pre"${ARRAY[@]}"', [ExpandedText("prer s t")]),
        ("${A%ne}", [ExpandedText("o")]),
        ("${FILE##*/}", [ExpandedText("c.yaml")]),
        ("${FILE%/*}", [ExpandedText("a/b")]),
        ("${A//x/y}", [ExpandedText("${A//x/y}", ("A",))]),
        ("$(date)", [ExpandedText("$(date)", ("$(…)",))]),
        ('"$(git rev-parse --show-toplevel)/x"', [ExpandedText(f"{REPO}/x")]),
        ('"$(dirname "$0")"', [ExpandedText(f"{REPO}/scripts")]),
        ('"$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"', [ExpandedText(REPO)]),
        ('"$(cd "$(dirname "$0")/../../.." && pwd)"', [ExpandedText(REPO)]),
        ("$(pwd)", [ExpandedText(f"{REPO}/kubernetes")]),
        ("$PWD", [ExpandedText(f"{REPO}/kubernetes")]),
    ],
)
def test_variables_are_put_in_where_the_script_says_what_they_hold(text: str, wanted: list[ExpandedText]) -> None:
    values: dict[str, shell_expansion.Value] = {
        "A": ExpandedText("one"),
        "LIST": ExpandedText("p q"),
        "EMPTY": ExpandedText(""),
        "ARRAY": (ExpandedText("r s"), ExpandedText("t")),
        "FILE": ExpandedText("a/b/c.yaml"),
    }

    assert expanded(text, **values) == wanted


def test_marks_of_templates_become_their_actions_again() -> None:
    rendered = go_template.render_leniently("{{.X}}/y", {}, missing_key=go_template.MissingKey.UNKNOWN)
    (item,) = shell_parser.parse(f"a {rendered.text}").items
    assert isinstance(item, shell_tree.Pipeline)
    (command,) = item.commands
    assert isinstance(command, shell_tree.Simple)

    assert shell_expansion.text(command.words[1], ShellScope({}, unknowns=rendered.unknowns)) == ExpandedText(
        "{{.X}}/y", (".X",)
    )


@given(st.text(alphabet="ab \n\t'\"`$(){}[]|&;<>\\#=EOF!*?~-/:0é"))
def test_any_text_is_a_script(text: str) -> None:
    script = shell_parser.parse(text)

    assert isinstance(script, shell_tree.Script)


@given(st.lists(st.text(alphabet="abc.-/=", min_size=1), min_size=1))
def test_plain_words_come_back_as_they_are(words: list[str]) -> None:
    quoted = " ".join(f"'{word}'" for word in words)

    assert commands(quoted) == [words]


HOSTILE = [
    "$(",
    '"',
    "(",
    "if a; then ",
    "a <<E\n",
    "a ",
    "${",
    "'a' ",
    '"$a" ',
    "a=$((",
    "x() { ",
    "case a in b) ",
    "\\\n",
]


@pytest.mark.parametrize("piece", [*HOSTILE, '"`$a', "$(a '", "<(", "for x in y; do "])
def test_hostile_scripts_are_read_in_time(piece: str) -> None:
    start = time.process_time()

    shell_parser.parse(piece * (50_000 // len(piece)))

    assert time.process_time() - start < 5
