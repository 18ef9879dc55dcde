"""Shell scripts as trees, and words with their variables put in."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight.repo import go_template
from firstlight.repo.scripts.shell import expansion, parsing, tree
from firstlight.repo.scripts.shell.expansion import REPO, Scope, Text


def commands(text: str) -> list[list[str]]:
    """The words of every command, blocks and all."""
    found: list[list[str]] = []

    def walk(items: tuple[tree.Item, ...]) -> None:
        for item in items:
            if isinstance(item, tree.Pipeline):
                for command in item.commands:
                    if isinstance(command, tree.Group):
                        walk(command.items)
                    elif command.words:
                        found.append([word.source for word in command.words])
            else:
                walk(item.items)

    walk(parsing.parse(text).items)
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

    def walk(items: tuple[tree.Item, ...]) -> None:
        for item in items:
            for command in item.commands if isinstance(item, tree.Pipeline) else ():
                if isinstance(command, tree.Group):
                    walk(command.items)
                else:
                    lines.append((command.words[0].source, command.line))

    walk(parsing.parse(text).items)
    assert lines == [("a", 1), ("b", 2), ("d", 5), ("e", 6), ("f", 10), ("g", 11)]


def test_heredocs_are_kept_with_their_line_and_whether_they_are_literal() -> None:
    (first, second) = parsing.parse("a <<EOF\n$x\nEOF\nb <<'EOF'\n$x\nEOF\n").items

    assert isinstance(first, tree.Pipeline)
    assert isinstance(second, tree.Pipeline)
    assert first.commands[0].stdin == tree.Heredoc("$x\n", 2, is_literal=False)  # type: ignore[union-attr]
    assert second.commands[0].stdin == tree.Heredoc("$x\n", 5, is_literal=True)  # type: ignore[union-attr]


def test_a_quote_that_is_not_closed_is_said() -> None:
    assert parsing.parse("a\nb 'c\nd").problems == ((2, "a quote is not closed"),)


def expanded(text: str, **variables: expansion.Value) -> list[Text]:
    (item,) = parsing.parse(f"x {text}").items
    assert isinstance(item, tree.Pipeline)
    (command,) = item.commands
    assert isinstance(command, tree.Simple)
    scope = Scope(variables, "kubernetes", "scripts/boot.sh")
    return [each for word in command.words[1:] for each in expansion.words(word, scope)]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("$A", [Text("one")]),
        ('"${A}/x"', [Text("one/x")]),
        ("'$A'", [Text("$A")]),
        ("$B", [Text("$B", ("B",))]),
        ("${B:-two}", [Text("two")]),
        ("${B:-$A}", [Text("one")]),
        ("${B:?must}", [Text("${B:?must}", ("B",))]),
        ("$LIST", [Text("p"), Text("q")]),
        ('"$LIST"', [Text("p q")]),
        ("$EMPTY x", [Text("x")]),
        ('"${ARRAY[@]}"', [Text("r s"), Text("t")]),
        ('pre"${ARRAY[@]}"', [Text("prer s t")]),
        ("${A%ne}", [Text("o")]),
        ("${FILE##*/}", [Text("c.yaml")]),
        ("${FILE%/*}", [Text("a/b")]),
        ("${A//x/y}", [Text("${A//x/y}", ("A",))]),
        ("$(date)", [Text("$(date)", ("$(…)",))]),
        ('"$(git rev-parse --show-toplevel)/x"', [Text(f"{REPO}/x")]),
        ('"$(dirname "$0")"', [Text(f"{REPO}/scripts")]),
        ('"$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"', [Text(REPO)]),
        ('"$(cd "$(dirname "$0")/../../.." && pwd)"', [Text(REPO)]),
        ("$(pwd)", [Text(f"{REPO}/kubernetes")]),
        ("$PWD", [Text(f"{REPO}/kubernetes")]),
    ],
)
def test_variables_are_put_in_where_the_script_says_what_they_hold(text: str, wanted: list[Text]) -> None:
    values: dict[str, expansion.Value] = {
        "A": Text("one"), "LIST": Text("p q"), "EMPTY": Text(""), "ARRAY": (Text("r s"), Text("t")),
        "FILE": Text("a/b/c.yaml"),
    }  # fmt: skip

    assert expanded(text, **values) == wanted


def test_marks_of_templates_become_their_actions_again() -> None:
    rendered = go_template.render_leniently("{{.X}}/y", {}, missing_key=go_template.MissingKey.UNKNOWN)
    (item,) = parsing.parse(f"a {rendered.text}").items
    assert isinstance(item, tree.Pipeline)
    (command,) = item.commands
    assert isinstance(command, tree.Simple)

    assert expansion.text(command.words[1], Scope({}, unknowns=rendered.unknowns)) == Text("{{.X}}/y", (".X",))


@given(st.text(alphabet="ab \n\t'\"`$(){}[]|&;<>\\#=EOF!*?~-/:0é"))
def test_any_text_is_a_script(text: str) -> None:
    script = parsing.parse(text)

    assert isinstance(script, tree.Script)


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

    parsing.parse(piece * (50_000 // len(piece)))

    assert time.process_time() - start < 5
