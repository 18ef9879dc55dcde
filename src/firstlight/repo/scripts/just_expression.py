"""Expressions of just, as far as reading can tell them: strings, variables, ``+``, ``/`` and a few functions."""

import posixpath
import re
from collections.abc import Mapping

from firstlight.repo import go_template
from firstlight.repo.go_template import unknown_values
from firstlight.repo.scripts.shell.shell_expansion import REPO, ExpandedText

TOKEN = re.compile(
    r"""
    (?P<space>[ \t]+)
    | (?P<string>'''.*?'''|\"\"\".*?\"\"\"|'[^']*'|"(?:[^"\\]|\\.)*")
    | (?P<backtick>`[^`]*`)
    | (?P<name>[A-Za-z_][\w-]*(?:::[A-Za-z_][\w-]*)*)
    | (?P<sign>:=|&&|==|!=|=~|[:()+/,=*$@{}\[\]?|&])
    | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\", "\n": ""}
_INTERPOLATION = re.compile(r"\{\{(?!\{)(.*?)\}\}", re.DOTALL)
_MAX_NESTING = 20


def string(text: str) -> str:
    """The text of a string, without its quotes."""
    if text.startswith(("'''", '"""')):
        inner, is_raw = text[3:-3].removeprefix("\n"), text.startswith("'")
    else:
        inner, is_raw = text[1:-1], text.startswith("'")
    return inner if is_raw else _ESCAPE.sub(lambda match: _ESCAPES.get(match[1], match.group()), inner)


def tokens(text: str) -> list[tuple[str, str]]:
    """Kinds and texts, without space."""
    return [(match.lastgroup or "", match.group()) for match in TOKEN.finditer(text) if match.lastgroup != "space"]


def evaluate(text: str, variables: Mapping[str, ExpandedText], *, directory: str, root: str) -> ExpandedText:
    """What an expression gives; if that is not known, its own text with the names of what is missing."""
    evaluation = _Evaluation(tokens(text), variables, directory=directory, root=root)
    value = evaluation.sum(0)
    if not evaluation.is_done or value is None:
        missing = tuple(dict.fromkeys(evaluation.missing)) or (text.strip(),)
        return ExpandedText(f"{{{{ {text.strip()} }}}}", missing)
    return value


def render(
    text: str, variables: Mapping[str, ExpandedText], *, directory: str, root: str
) -> go_template.RenderedTemplate:
    """A line of a recipe with its ``{{…}}`` put in; what is not known is marked."""
    unknowns: list[go_template.Unknown] = []

    def value(match: re.Match[str]) -> str:
        found = evaluate(match[1], variables, directory=directory, root=root)
        if found.is_known:
            return found.text
        reason = f"{', '.join(found.unknowns)} is not known"
        unknowns.append(go_template.Unknown(match.group(), reason, name=found.unknowns[0]))
        return unknown_values.mark(len(unknowns) - 1)

    made = _INTERPOLATION.sub(value, go_template.remove_marks(text)).replace("{{{{", "{{")
    return go_template.RenderedTemplate(made, tuple(unknowns))


class _Evaluation:
    def __init__(
        self, found: list[tuple[str, str]], variables: Mapping[str, ExpandedText], *, directory: str, root: str
    ) -> None:
        self._tokens = found
        self._at = 0
        self._variables = variables
        self._directory = directory
        self._root = root
        self.missing: list[str] = []

    @property
    def is_done(self) -> bool:
        """Whether every token was used."""
        return self._at >= len(self._tokens)

    def sum(self, depth: int) -> ExpandedText | None:
        """``a + b / c``; both bind alike, from left to right."""
        value = self._term(depth)
        while not self.is_done and self._tokens[self._at][1] in ("+", "/"):
            sign = self._tokens[self._at][1]
            self._at += 1
            other = self._term(depth)
            if value is None or other is None:
                return None
            joined = value.text + other.text if sign == "+" else posixpath.join(value.text, other.text.lstrip("/"))
            value = ExpandedText(joined, value.unknowns + other.unknowns)
        return value

    def _term(self, depth: int) -> ExpandedText | None:
        if self.is_done or depth > _MAX_NESTING:
            return None
        kind, text = self._tokens[self._at]
        self._at += 1
        if kind == "string":
            return ExpandedText(string(text))
        if kind == "name":
            return self._call(text, depth) if self._takes("(") else self._variable(text)
        if text == "(":
            value = self.sum(depth + 1)
            return value if self._takes(")") else None
        if text == "/":
            other = self._term(depth)
            return None if other is None else ExpandedText("/" + other.text, other.unknowns)
        self.missing.append(text if kind == "backtick" else "an expression")
        return None

    def _takes(self, sign: str) -> bool:
        if not self.is_done and self._tokens[self._at][1] == sign:
            self._at += 1
            return True
        return False

    def _variable(self, name: str) -> ExpandedText | None:
        value = self._variables.get(name)
        if value is None or not value.is_known:
            self.missing.append(name)
            return None
        return value

    def _call(self, name: str, depth: int) -> ExpandedText | None:
        arguments: list[ExpandedText | None] = []
        while not self.is_done and not self._takes(")"):
            arguments.append(self.sum(depth + 1))
            if not self._takes(",") and not (not self.is_done and self._tokens[self._at][1] == ")"):
                break
        if name in ("justfile_directory", "justfile_dir"):
            return ExpandedText(posixpath.normpath(f"{REPO}/{self._root}"))
        if name in ("source_directory", "source_dir", "module_directory", "invocation_directory"):
            return ExpandedText(posixpath.normpath(f"{REPO}/{self._directory}"))
        if name in ("env", "env_var_or_default") and len(arguments) == 2:
            return arguments[1]
        if name in ("quote", "trim", "absolute_path", "clean") and len(arguments) == 1:
            return arguments[0]
        if name in ("join", "parent_directory") and arguments and all(each is not None for each in arguments):
            texts = [each.text for each in arguments if each is not None]
            return ExpandedText(posixpath.join(*texts) if name == "join" else posixpath.dirname(texts[0]))
        self.missing.append(f"{name}({arguments[0].text})" if arguments and arguments[0] else f"{name}()")
        return None
