"""The text of a script in words and operators: quotes, continued lines, comments, heredocs and substitutions."""

import dataclasses
import re
from collections.abc import Iterator

from firstlight.repo.scripts.shell.shell_tree import Heredoc, ShellPiece, ShellPieceKind, ShellWord

_OPERATOR = re.compile(r"&&|\|\||;;&|;;|;&|\|&|<<<|<<-|<<|>>|>\||<&|>&|&>>|&>|[;&|()<>\n]")
_REDIRECT = re.compile(r"(\d*)(<<<|<<-|<<|>>|>\||<&|>&|&>>|&>|<(?!\()|>(?!\())")
_PLAIN = re.compile(r"[^\s\\'\"`$;&|()<>]+")
_INSIDE_QUOTES = re.compile(r"[^\"\\$`]+")
_NAME = re.compile(r"[A-Za-z_]\w*|[0-9@*#?$!-]")
_BRACES = re.compile(r"#?!?([A-Za-z_]\w*|[0-9@*]+)(.*)", re.DOTALL)


@dataclasses.dataclass(frozen=True, slots=True)
class Operator:
    """An operator or a line end."""

    text: str
    line: int


@dataclasses.dataclass(frozen=True, slots=True)
class Redirect:
    """Where a stream goes to or comes from."""

    number: str
    operator: str
    target: ShellWord | Heredoc


Token = ShellWord | Operator | Redirect


class Lexer:
    """Reads a script from the first character to the last; what is broken is noted, and reading goes on."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._counted, self._line = 0, 1
        self._waiting: list[tuple[int, str, str, bool]] = []  # of heredocs: place in the output, operator, end, literal
        self.problems: list[tuple[int, str]] = []

    def tokens(self) -> list[Token]:
        """All of them."""
        found: list[Token] = []
        while (token := self._next(len(found))) is not None:
            found.append(token)
            if isinstance(token, Operator) and token.text == "\n":
                self._read_heredocs(found)
        self._read_heredocs(found)
        return found

    def _here(self) -> int:
        """The line of the current character; counted forward only."""
        if self._at > self._counted:
            self._line += self._text.count("\n", self._counted, self._at)
            self._counted = self._at
        return self._line

    def _next(self, count: int) -> Token | None:
        text = self._text
        while self._at < len(text):
            character = text[self._at]
            if character in " \t\r":
                self._at += 1
            elif text.startswith("\\\n", self._at) or text.startswith("\\\r\n", self._at):
                self._at = text.index("\n", self._at) + 1
            elif character == "#":
                end = text.find("\n", self._at)
                self._at = len(text) if end < 0 else end
            else:
                break
        if self._at >= len(text):
            return None
        line = self._here()
        redirect = _REDIRECT.match(text, self._at)
        if redirect is not None:
            return self._redirect(redirect, line, count)
        operator = _OPERATOR.match(text, self._at)
        if operator is not None and not text.startswith(("<(", ">("), self._at):
            self._at = operator.end()
            return Operator(operator.group(), line)
        return self._word(line)

    def _redirect(self, match: re.Match[str], line: int, count: int) -> Token | None:
        self._at = match.end()
        number, operator = match.groups()
        while self._at < len(self._text) and self._text[self._at] in " \t":
            self._at += 1
        if self._at >= len(self._text):
            return None
        if self._text[self._at] in "\n;&|()<>" and not self._opens():
            return Operator(";", line)
        start = self._at
        word = self._word(line)
        if operator in ("<<", "<<-"):
            is_literal = any(sign in self._text[start : self._at] for sign in "'\"\\")
            end = "".join(piece.text for piece in word.pieces)
            self._waiting.append((count, operator, end, is_literal))
            return Redirect(number, operator, Heredoc("", line, is_literal))
        return Redirect(number, operator, word)

    def _read_heredocs(self, found: list[Token]) -> None:
        """The bodies stand after the line that announces them."""
        for place, operator, end, is_literal in self._waiting:
            line, lines = self._here(), []
            while self._at < len(self._text):
                stop = self._text.find("\n", self._at)
                stop = len(self._text) if stop < 0 else stop
                current = self._text[self._at : stop].rstrip("\r")
                self._at = min(stop + 1, len(self._text))
                if current.strip() == end:
                    break
                lines.append(current.lstrip("\t") if operator == "<<-" else current)
            redirect = found[place]
            assert isinstance(redirect, Redirect)
            body = "".join(f"{each}\n" for each in lines)
            found[place] = dataclasses.replace(redirect, target=Heredoc(body, line, is_literal))
        self._waiting.clear()

    def _word(self, line: int) -> ShellWord:
        pieces = tuple(_joined(self._pieces("")))
        return ShellWord(pieces, line)

    def _pieces(self, quote: str) -> Iterator[ShellPiece]:
        """The pieces of a word, or of what stands inside of double quotes."""
        text = self._text
        while self._at < len(text):
            character = text[self._at]
            if quote and character == quote:
                return
            if not quote and (character in " \t\r\n;&|)" or (character in "(<>" and not self._opens())):
                return
            if character == "\\":
                yield from self._escaped(quote)
            elif character in "$`" or (not quote and character in "<>"):
                yield self._expansion(bool(quote))
            elif not quote and character in "'\"":
                yield from self._quoted(character)
            elif quote:
                inside = _INSIDE_QUOTES.match(text, self._at)
                assert inside is not None  # the signs that it leaves out were looked at above
                yield ShellPiece(ShellPieceKind.LITERAL, inside.group(), inside.group(), is_quoted=True)
                self._at = inside.end()
            else:
                match = _PLAIN.match(text, self._at)
                end = match.end() if match else self._at + 1
                yield ShellPiece(ShellPieceKind.LITERAL, text[self._at : end], text[self._at : end])
                self._at = end

    def _opens(self) -> bool:
        return self._text.startswith(("<(", ">("), self._at)

    def _escaped(self, quote: str) -> Iterator[ShellPiece]:
        following = self._text[self._at + 1 : self._at + 2]
        self._at += 2
        if following == "\n":
            return
        if following == "\r" and self._text[self._at : self._at + 1] == "\n":
            self._at += 1
            return
        kept = "\\" if quote and following not in '$`"\\' else ""
        yield ShellPiece(ShellPieceKind.LITERAL, kept + following, kept + following, is_quoted=True)

    def _quoted(self, quote: str) -> Iterator[ShellPiece]:
        line = self._here()
        self._at += 1
        if quote == "'":
            end = self._text.find("'", self._at)
            if end < 0:
                self.problems.append((line, "a quote is not closed"))
                end = len(self._text)
            yield ShellPiece(
                ShellPieceKind.LITERAL, self._text[self._at : end], self._text[self._at : end], is_quoted=True
            )
        else:
            yield ShellPiece(ShellPieceKind.LITERAL, "", "", is_quoted=True)  # an empty string is a word too
            yield from self._pieces('"')
            if self._at >= len(self._text):
                self.problems.append((line, "a quote is not closed"))
            end = self._at
        self._at = end + 1

    def _expansion(self, is_quoted: bool) -> ShellPiece:
        text, start = self._text, self._at
        if text.startswith(("$(", "<(", ">("), start) or text[start] == "`":
            self._at = _end_of_substitution(text, start)
            inner = text[start + 1 : self._at - 1] if text[start] == "`" else text[start + 2 : self._at - 1]
            return ShellPiece(ShellPieceKind.SUBSTITUTION, inner, text[start : self._at], is_quoted)
        if text.startswith("${", start):
            self._at = _end_of_braces(text, start)
            return _braces(text[start + 2 : self._at - 1], text[start : self._at], is_quoted=is_quoted)
        name = _NAME.match(text, start + 1)
        if name is None or text[start] != "$":
            self._at = start + 1
            return ShellPiece(ShellPieceKind.LITERAL, text[start], text[start], is_quoted)
        self._at = name.end()
        return ShellPiece(ShellPieceKind.VARIABLE, name.group(), text[start : self._at], is_quoted)


def _braces(inner: str, source: str, *, is_quoted: bool) -> ShellPiece:
    match = _BRACES.fullmatch(inner)
    if match is None or inner.startswith(("#", "!")):
        return ShellPiece(ShellPieceKind.SUBSTITUTION, inner, source, is_quoted)
    name, operation = match.groups()
    if operation.startswith((":-", "-", ":=", "=")):
        return ShellPiece(ShellPieceKind.VARIABLE, name, source, is_quoted, operation.lstrip(":")[1:])
    if operation.startswith((":?", "?")):
        return ShellPiece(ShellPieceKind.VARIABLE, name, source, is_quoted)
    return ShellPiece(ShellPieceKind.VARIABLE, name, source, is_quoted, None, operation)


def _end_of_braces(text: str, start: int) -> int:
    """Where ``${…}`` ends; braces inside are counted."""
    depth, at = 0, start + 1
    while at < len(text):
        if text[at] == "{":
            depth += 1
        elif text[at] == "}":
            depth -= 1
            if not depth:
                return at + 1
        elif text[at] == "\\":
            at += 1
        at += 1
    return len(text) + 1


_SUBSTITUTION_SIGN = re.compile(r"\\.|'[^']*'|\"|\(|\)|`|\$\(|[^\\'\"()`$]+|\$", re.DOTALL)


def _end_of_substitution(text: str, start: int) -> int:
    """Where ``$(…)``, ``<(…)`` or a backquoted piece ends."""
    if text[start] == "`":
        at = start + 1
        while at < len(text) and text[at] != "`":
            at += 2 if text[at] == "\\" else 1
        return at + 1
    at, depth, quotes = start + 2, 1, [False]  # for each level whether it is inside of double quotes
    while at < len(text):
        match = _SUBSTITUTION_SIGN.match(text, at)
        sign = match.group() if match else text[at]
        if quotes[-1] and sign.startswith("'"):
            sign = "'"  # an apostrophe in a double-quoted text quotes nothing
        at += len(sign)
        if sign == '"':
            quotes[-1] = not quotes[-1]
        elif sign == "$(" or (sign == "(" and not quotes[-1]):
            depth += 1
            quotes.append(False)
        elif sign == ")" and not quotes[-1]:
            depth -= 1
            quotes.pop()
            if not depth:
                return at
    return len(text) + 1


def _joined(pieces: Iterator[ShellPiece]) -> Iterator[ShellPiece]:
    """Neighbouring literals of the same kind made one; the empty piece of a quote vanishes beside others."""
    kept: ShellPiece | None = None
    for piece in pieces:
        if kept is not None and kept.kind == piece.kind == ShellPieceKind.LITERAL and kept.is_quoted == piece.is_quoted:
            kept = dataclasses.replace(kept, text=kept.text + piece.text, source=kept.source + piece.source)
            continue
        if kept is not None:
            yield kept
        kept = piece
    if kept is not None:
        yield kept
