"""Words with their variables put in, as far as the script itself says what they hold."""

import dataclasses
import posixpath
import re
from collections.abc import Mapping, Sequence

from firstlight.repo import go_template
from firstlight.repo.scripts.shell.shell_tree import ShellPiece, ShellPieceKind, ShellWord

REPO = "/@repo"
"""Where the repo lies, for scripts that ask for absolute paths; nobody has such a directory."""
MAX_VALUE = 100_000
"""Characters of a variable; a loop that appends to itself must end somewhere."""
MAX_WORDS = 2_000
"""Words that one word may become."""
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_OWN_DIRECTORY = re.compile(r"dirname\W+(?:\$0|\$\{?BASH_SOURCE)[^/]*((?:/\.\.)*)")


@dataclasses.dataclass(frozen=True, slots=True)
class ExpandedText:
    """A word or value, and which of its variables are not known."""

    text: str
    unknowns: tuple[str, ...] = ()

    @property
    def is_known(self) -> bool:
        """Whether nothing in it is left open."""
        return not self.unknowns

    @property
    def shown(self) -> str:
        """For people: paths below the repo are relative to it."""
        return self.text.replace(f"{REPO}/", "").replace(REPO, ".")


Value = ExpandedText | tuple[ExpandedText, ...]
"""Of a variable; a tuple is an array."""


@dataclasses.dataclass(frozen=True, slots=True)
class ShellScope:
    """What is known while a command is read."""

    variables: Mapping[str, Value]
    directory: str | None = "."
    """The working directory, from the repo's root; None where it is not known."""
    script: str = ""
    """The file that is read."""
    unknowns: tuple[go_template.Unknown, ...] = ()
    """What the marks in the text stand for."""


def words(word: ShellWord, scope: ShellScope) -> list[ExpandedText]:
    """What a word becomes: usually one word, several for arrays and for unquoted lists, none for an empty variable."""
    if len(word.pieces) == 1 and word.pieces[0].kind == ShellPieceKind.VARIABLE:
        piece = word.pieces[0]
        value = _variable(piece, scope)
        if isinstance(value, tuple):
            return list(value)
        if not piece.is_quoted and value.is_known and not value.text.strip():
            return []
        if not piece.is_quoted and value.is_known and len(value.text.split()) > 1:
            return [ExpandedText(each) for each in value.text.split()[:MAX_WORDS]]
        return [value]
    if len(word.pieces) == 2 and word.pieces[0].text == "" and word.pieces[1].operation.startswith("[@]"):
        return words(ShellWord(word.pieces[1:], word.line), scope)
    return [text(word, scope)]


def text(word: ShellWord, scope: ShellScope) -> ExpandedText:
    """A word as one text."""
    return joined([_piece(piece, scope) for piece in word.pieces])


def joined(parts: Sequence[ExpandedText], separator: str = "") -> ExpandedText:
    """Texts made one."""
    made = separator.join(part.text for part in parts)
    unknowns = tuple(dict.fromkeys(name for part in parts for name in part.unknowns))
    if len(made) > MAX_VALUE:
        return ExpandedText(made[:100], (*unknowns, "…"))
    return ExpandedText(made, unknowns)


def inner(source: str, scope: ShellScope) -> ExpandedText:
    """A text with variables in it, such as the lines of a heredoc or the fallback of a variable."""
    unknowns: list[str] = []

    def value(match: re.Match[str]) -> str:
        found = scope.variables.get(match[1] or match[2])
        if isinstance(found, ExpandedText) and found.is_known:
            return found.text
        unknowns.append(match[1] or match[2])
        return match.group()

    made = _VARIABLE.sub(value, source)
    if "$(" in made or "`" in made:
        unknowns.append("$(…)")
    return unmarked(ExpandedText(made, tuple(dict.fromkeys(unknowns))), scope)


def unmarked(value: ExpandedText, scope: ShellScope) -> ExpandedText:
    """A text with the template's actions back in the place of their marks."""
    if not go_template.has_mark(value.text):
        return value
    names = [each.name or each.text for each in go_template.find(value.text, scope.unknowns)]
    restored = go_template.restore(value.text, scope.unknowns)
    return ExpandedText(restored, tuple(dict.fromkeys([*value.unknowns, *(names or ["{{…}}"])])))


def _piece(piece: ShellPiece, scope: ShellScope) -> ExpandedText:
    match piece.kind:
        case ShellPieceKind.LITERAL:
            return unmarked(ExpandedText(piece.text), scope)
        case ShellPieceKind.VARIABLE:
            value = _variable(piece, scope)
            return joined(value, " ") if isinstance(value, tuple) else value
        case ShellPieceKind.SUBSTITUTION:
            return _substitution(piece, scope)


def _variable(piece: ShellPiece, scope: ShellScope) -> Value:
    value = scope.variables.get(piece.text)
    if value is None and piece.text in ("0", "BASH_SOURCE") and scope.script:
        value = ExpandedText(f"{REPO}/{scope.script}")
    if piece.text == "PWD" and value is None and scope.directory is not None:
        value = ExpandedText(posixpath.normpath(f"{REPO}/{scope.directory}"))
    if piece.fallback is not None and (value is None or value == ExpandedText("")):
        return inner(piece.fallback.strip("\"'"), scope)
    if value is None:
        return unmarked(ExpandedText(piece.source, (piece.text,)), scope)
    if isinstance(value, tuple):
        if piece.operation in ("[@]", "[*]") or not piece.operation:
            return value
        return ExpandedText(piece.source, (piece.text,))
    return _changed(value, piece) if piece.operation and piece.operation != "[0]" else value


def _changed(value: ExpandedText, piece: ShellPiece) -> ExpandedText:
    """``${X%.yaml}`` and its likes, where the pattern is a plain text."""
    sign = piece.operation[:2] if piece.operation[:2] in ("%%", "##") else piece.operation[:1]
    pattern = piece.operation[len(sign) :]
    if sign in ("##", "#") and pattern == "*/":
        return ExpandedText(value.text.rpartition("/")[2], value.unknowns)
    if sign in ("%", "%%", "#", "##") and not any(each in pattern for each in "*?[$"):
        cut = value.text.removesuffix(pattern) if "%" in sign else value.text.removeprefix(pattern)
        return ExpandedText(cut, value.unknowns)
    if sign == "/*" or piece.operation == "%/*":
        return ExpandedText(posixpath.dirname(value.text), value.unknowns)
    return ExpandedText(piece.source, (*value.unknowns, piece.text))


def _substitution(piece: ShellPiece, scope: ShellScope) -> ExpandedText:
    """The few substitutions whose answer is known: where the repo, the script and the shell are."""
    source = piece.text.strip()
    if piece.source.startswith(("<(", ">(")):
        return unmarked(ExpandedText(piece.source), scope)
    if source.startswith("git rev-parse --show-toplevel"):
        return ExpandedText(REPO)
    if source == "pwd" and scope.directory is not None:
        return ExpandedText(posixpath.normpath(f"{REPO}/{scope.directory}"))
    own = _OWN_DIRECTORY.search(source)
    if own is not None and scope.script:
        directory = posixpath.normpath(f"{REPO}/{posixpath.dirname(scope.script)}{own[1]}")
        return ExpandedText(directory if directory.startswith(REPO) else REPO)
    return unmarked(ExpandedText(piece.source, ("$(…)",)), scope)
