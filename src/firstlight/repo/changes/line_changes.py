"""The lines of a text that say something and differ, and whether commands in them write to a cluster."""

import dataclasses
import difflib
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from firstlight.model import secret_words
from firstlight.model.change import ChangedField, ChangeVerb
from firstlight.model.place import Place
from firstlight.repo.changes import file_documents
from firstlight.repo.changes.compare_fields import ABSENT, DocumentDifference, Steps
from firstlight.repo.secrecy import secret_fields, secret_text

_HEREDOC = re.compile(r"<<-?\s*(?P<quote>['\"]?)(?P<word>[A-Za-z_]\w*)(?P=quote)")
_TRAILING = re.compile(r"\s(?P<mark>#|//)(?:\s.*)?$")
_TEMPLATE_COMMENT = re.compile(r"\{\{-?\s*/\*.*?\*/\s*-?\}\}|\{#.*?#\}", re.DOTALL)
_STATEMENT = re.compile(r"\{\{-?\s*(?:if|else|end|range|with|define|template|block|include|break|continue)\b|\{%")
_SECRET = re.compile(r"kind:\s*[\"']?Secret\b")


class Line(NamedTuple):
    """A line of a file."""

    number: int
    """From 1."""
    text: str
    is_hidden: bool = False
    """Whether it is part of a Secret."""
    parts: tuple[tuple[int, str], ...] = ()
    """Where a command goes on in further lines, each of them with its number."""


def lines_said(text: str, *, comments: Sequence[str] = ("#",), is_template: bool = False) -> list[Line]:
    """The lines that say something: none that is blank or only a comment; those of a here-document all do."""
    if is_template:
        text = _TEMPLATE_COMMENT.sub(lambda match: "\n" * match[0].count("\n"), text)
    found: list[Line] = []
    document: list[Line] = []
    end = ""
    is_continued = False
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if end:
            document.append(Line(number, line.rstrip()))
            if stripped == end:
                found += _hidden(document)
                document, end = [], ""
            continue
        is_comment = stripped.startswith(tuple(comments)) and not stripped.startswith("#!")
        if not stripped or is_comment:
            continue
        opened = _HEREDOC.search(stripped) if "#" in comments else None
        end = opened["word"] if opened else ""
        text_of = _without_comment(line.rstrip(), comments)
        if is_continued:
            found[-1] = _joined(found[-1], number, text_of)
        else:
            found.append(Line(number, text_of))
        is_continued = "#" in comments and text_of.endswith("\\")
    return [*found, *_hidden(document)]


def _joined(line: Line, number: int, text: str) -> Line:
    """A line that ends with a backslash, with the one that it goes on in."""
    parts = (*(line.parts or ((line.number, line.text),)), (number, text))
    return line._replace(text=f"{line.text[:-1].rstrip()} {text.strip()}", parts=parts)


def _hidden(document: Sequence[Line]) -> list[Line]:
    """The lines of a here-document; those of a Secret are not to be told."""
    is_secret = any(_SECRET.search(each.text) for each in document)
    return [each._replace(is_hidden=is_secret) for each in document]


def _without_comment(line: str, comments: Sequence[str]) -> str:
    match = _TRAILING.search(line)
    if match is None or match["mark"] not in comments or not line[: match.start()].strip():
        return line
    head = line[: match.start()]
    # Inside of quotes it is no comment.
    return head.rstrip() if head.count('"') % 2 == 0 and head.count("'") % 2 == 0 else line


def statements(text: str) -> list[Line]:
    """The lines of a template that say under which condition others count, or how often."""
    return [each for each in lines_said(text, is_template=True) if _STATEMENT.search(each.text)]


# Lines of Terraform whose values are secret by what stands around them: whose variable it is, a name beside it.


TERRAFORM_SUFFIXES = (".tf", ".tfvars", ".tofu", ".hcl")
_HEADER = re.compile(r"\b(?:variable|output)\s+\"?(?P<label>[\w.-]+)\"?\s*\{|(?P<name>[\w.-]+)\"?\s*[=:]\s*\{")
"""What a block is of."""
_NAMED = re.compile(r"\b(?:name|key)\"?\s*[=:]\s*\"(?P<name>[^\"]*)\"")
"""What tells in a block what its value is of."""
_SENSITIVE = re.compile(r"\bsensitive\s*=\s*true\b")
_QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"")
_BRACE = re.compile(r"[{}]")


def hidden_lines(found: Sequence[Line]) -> list[Line]:
    """Lines, with those marked that are part of a block which is about a secret."""
    secret: set[int] = set()
    blocks: list[list[int]] = []
    for at, line in enumerate(found):
        if blocks:
            blocks[-1].append(at)
        for brace in _BRACE.findall(_QUOTED.sub('""', line.text)):
            if brace == "{":
                blocks.append([at])
            elif blocks:
                secret |= _terraform_hidden(blocks.pop(), found, at + 1)
    for block in blocks:  # those that are never closed
        secret |= _terraform_hidden(block, found, len(found))
    return [each._replace(is_hidden=True) if at in secret else each for at, each in enumerate(found)]


def _terraform_hidden(block: Sequence[int], found: Sequence[Line], end: int) -> set[int]:
    return set(range(block[0], end)) if _is_secret(found[each] for each in block) else set()


def _is_secret(lines: Iterable[Line]) -> bool:
    """Whether a block is about a secret, by its own lines, of which the first has what it is of."""
    first, *rest = (each.text for each in lines)
    headers = [match["label"] or match["name"] for match in _HEADER.finditer(first)]
    names = [match["name"] for text in (first, *rest) for match in _NAMED.finditer(text)]
    is_told = any(secret_words.is_secret_name(each) for each in (*headers, *names))
    return is_told or any(_SENSITIVE.search(text) for text in (first, *rest))


# Texts compared line by line, comments and blank lines aside.


MAX_LINES = 20_000
"""Of a text that is compared; nobody writes more by hand."""
MAX_FIELDS = 1_000
"""Of a text that differs; of what comes after them only grave commands are looked at."""
_GRAVE = re.compile(
    r"\b(?:kubectl|talosctl|omnictl|helm|helmfile|flux|argocd|terraform|tofu|clusterctl|rm|dd|mkfs|wipefs)\b|--force"
)
_PAIRS = 1_000_000


@dataclasses.dataclass(frozen=True, slots=True)
class _Changed:
    """Something on a line that differs; None is what is not there."""

    steps: Steps
    number: int
    before: str | None
    after: str | None
    is_secret: bool

    @property
    def verb(self) -> ChangeVerb:
        return (
            ChangeVerb.ADDED
            if self.before is None
            else ChangeVerb.REMOVED
            if self.after is None
            else ChangeVerb.CHANGED
        )


def line_fields(
    before: Sequence[Line], after: Sequence[Line], path: str, *, old_path: str = ""
) -> tuple[ChangedField, ...]:
    """What differs between lines; of a command with another argument only the argument."""
    return tuple(
        ChangedField(
            steps=each.steps,
            verb=each.verb,
            place=Place(old_path or path if each.verb is ChangeVerb.REMOVED else path, each.number),
            before=None if each.is_secret else each.before,
            after=None if each.is_secret else each.after,
            values=file_documents.values_at((), each.steps),
            is_secret=each.is_secret,
        )
        for each in _changed(before, after)
    )


def refined(found: DocumentDifference) -> Iterable[DocumentDifference]:
    """What differs inside of a value of a Taskfile: arguments of a command, lines of a script."""
    if not isinstance(found.before, str) or not isinstance(found.after, str):
        one, other = (_masked(each) for each in (found.before, found.after))
        return (dataclasses.replace(found, before=one, after=other),)
    before, after = lines_said(found.before), lines_said(found.after)
    made = []
    for each in _changed(before, after):
        is_long = "\n" in found.after.strip() or "\n" in found.before.strip()
        inner = each.steps if is_long else each.steps[1:]
        first, second = (_again(one, each.is_secret) for one in (each.before, each.after))
        line = each.number if is_long else 0
        made.append(DocumentDifference((*found.steps, *inner), each.verb, first, second, found.old, found.new, line))
    return made


def _masked(value: Any) -> Any:
    return secret_text.masked(value) if isinstance(value, str) else value


def _again(value: str | None, is_secret: bool) -> Any:
    """A value that is judged once more; one that is known to be secret is replaced by something that is, too."""
    return ABSENT if value is None else secret_fields.HIDDEN if is_secret else value


def _changed(before: Sequence[Line], after: Sequence[Line]) -> Iterator[_Changed]:
    one, other = [each.text for each in before], [each.text for each in after]
    count = 0
    matcher = difflib.SequenceMatcher(None, one, other, autojunk=len(one) * len(other) > _PAIRS)
    for tag, i, j, k, m in matcher.get_opcodes():
        if tag == "equal":
            continue
        for at in range(max(j - i, m - k)):
            was = before[i + at] if i + at < j else None
            will = after[k + at] if k + at < m else None
            if count >= MAX_FIELDS and not any(each and _GRAVE.search(each.text) for each in (was, will)):
                continue
            for each in _line(was, will):
                count += 1
                yield each


def _line(was: Line | None, will: Line | None) -> Iterator[_Changed]:
    both = [each for each in (was, will) if each is not None]
    number, is_hidden = _number(was, both[-1]), any(each.is_hidden for each in both)
    first, second = was.text.strip() if was else None, will.text.strip() if will else None
    words = tuple(changed_words(first, second)) if first is not None and second is not None else ()
    for steps, one, other in words:
        way = (f"line {number}", *steps)
        is_secret = is_hidden or _texts_is_secret(way, one, first) or _texts_is_secret(way, other, second)
        yield _Changed(way, number, one, other, is_secret)
    if not words:
        way = (f"line {number}",)
        one, other = (None if each is None else secret_text.masked(each) for each in (first, second))
        is_secret = is_hidden or one == other or any(_is_whole(each) for each in (one, other) if each)
        yield _Changed(way, number, one, other, is_secret)


def _number(was: Line | None, shown: Line) -> int:
    """The number of a line; of a command in several the first of them that differs."""
    known = {text for _, text in was.parts} if was else set()
    return next((number for number, text in shown.parts if known and text not in known), shown.number)


def _texts_is_secret(steps: Steps, value: str | None, line: str | None) -> bool:
    """Whether a word of a line is a secret: if the line is masked, it is not there any more."""
    if not value or line is None:
        return False
    if secret_fields.by_name(steps[1:], value) or _is_whole(line):
        return True
    return not file_documents.FLAGS.intersection(steps) and value not in secret_text.masked(line)


def _is_whole(line: str) -> bool:
    """Whether nothing of a line may be told."""
    return line.startswith(secret_fields.HIDDEN[:4]) or secret_text.KIND_SECRET.search(line) is not None


# Commands in a text that write to a cluster, and whether it makes one for itself first.


_CONTINUED = re.compile(r"\\\r?\n\s*")
_END = re.compile(r"[;|&\n]|\$\(|`")
_WORD = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'|[^\s\"',\[\]()]+")
_VERBS = {
    "kubectl": {
        "apply", "create", "delete", "patch", "replace", "scale", "rollout", "label", "annotate", "drain", "set",
        "edit", "exec", "cp", "taint", "cordon", "uncordon", "run", "expose", "autoscale", "debug",
    },
    "talosctl": {
        "apply-config", "apply", "upgrade", "upgrade-k8s", "bootstrap", "reset", "patch", "reboot", "edit", "shutdown",
        "rollback", "wipe", "rotate-ca", "restart", "remove-member", "forfeit-leadership", "machineconfig",
    },
    "omnictl": {"apply", "delete", "sync"},
    "helmfile": {"apply", "sync", "destroy", "delete"},
    "helm": {"upgrade", "install", "uninstall", "delete", "rollback"},
    "flux": {"bootstrap", "install", "uninstall", "create", "delete", "resume", "suspend", "reconcile"},
    "argocd": {"app", "appset", "proj", "cluster", "repo"},
    "cilium": {"install", "upgrade", "uninstall"},
    "clusterctl": {"init", "move", "delete", "upgrade"},
    "kubeadm": {"init", "join", "reset", "upgrade"},
    "k0sctl": {"apply", "reset"},
    "topf": {"apply", "upgrade", "reset"},
    "terraform": {"apply", "destroy"},
    "tofu": {"apply", "destroy"},
}  # fmt: skip
WEIGHTY = frozenset({*_VERBS, *(verb for verbs in _VERBS.values() for verb in verbs), "rm"})
"""Words that make another command of a line."""
_READING = {
    "get", "describe", "kustomize", "version", "wait", "logs", "config", "cluster-info", "api-resources", "explain",
    "diff", "top", "auth", "status", "health", "list", "template", "lint", "show", "repo", "pull", "plan", "validate",
    "gen", "events", "check", "dashboard", "build", "completion", "fmt", "init", "test", "package", "dependency",
}  # fmt: skip
_MACHINES = {"talosctl", "omnictl", "topf", "clusterctl", "kubeadm", "k0sctl", "terraform", "tofu"}
"""Programs that no cluster for a test of another maker needs."""
_OWN = {("talosctl", "cluster"), ("helm", "plugin"), ("helm", "repo")}
"""What is only for the computer it runs on."""
_LOCAL = re.compile(r"\bkind +create|helm/kind-action|\bk3d +cluster|talosctl +cluster +create|setup-minikube")


def writers(text: str) -> set[str]:
    """The programs in a text that write to clusters there, as far as their words tell; a variable may say anything."""
    text = _CONTINUED.sub(" ", text)
    found: set[str] = set()
    for command in _END.split(text):
        words = [each.strip("\"'") for each in _WORD.findall(command)]
        rest: set[str] = set()  # what follows a word, gathered from the end: a line may have a hundred thousand
        has_variable = False
        for at, word in reversed([*enumerate(words)]):
            program = word.rpartition("/")[2]
            if program in _VERBS:
                is_open = has_variable and rest.isdisjoint(_READING)
                is_own = (program, *words[at + 1 : at + 2]) in _OWN
                if (is_open or not rest.isdisjoint(_VERBS[program])) and not is_own:
                    found.add(program)
            rest.add(word)
            has_variable = has_variable or word.startswith("$")
    return found


def makes_cluster(text: str) -> bool:
    """Whether it makes a cluster for a test."""
    return _LOCAL.search(text) is not None


def is_excused(programs: set[str]) -> bool:
    """Whether what these do may be meant for a cluster that was made for a test."""
    return not programs & _MACHINES


# Two command lines compared word by word.


_ASSIGNMENT = re.compile(
    r"(?:(?:export|readonly|local)\s+)?(?P<name>[A-Za-z_][\w.-]*)\s*(?::=|\?=|=|:)\s*(?P<value>[^=].*|)"
)
_PROGRAM = re.compile(r"[\w$./{-]")
_ALIKE = 0.4
"""Of the words of two lines, from which on one is the other with other arguments."""

ChangedWords = Iterator[tuple[Steps, str | None, str | None]]


def changed_words(before: str, after: str) -> ChangedWords:
    """The arguments that differ between command lines of one program, or the value of a variable; else nothing."""
    one, other = _ASSIGNMENT.fullmatch(before), _ASSIGNMENT.fullmatch(after)
    if one and other and one["name"] == other["name"]:
        yield (one["name"],), one["value"].strip("\"' "), other["value"].strip("\"' ")
        return
    first, second = _split(before), _split(after)
    if len(first) < 2 or len(second) < 2 or first[0] != second[0] or not _PROGRAM.match(first[0]):
        return
    matcher = difflib.SequenceMatcher(None, first, second, autojunk=False)
    if matcher.ratio() < _ALIKE:
        return
    differing = [each for each in matcher.get_opcodes() if each[0] != "equal"]
    if any(map(_is_other_command, (word for _, i, j, k, m in differing for word in (*first[i:j], *second[k:m])))):
        return
    for _, i, j, k, m in differing:
        for at in range(max(j - i, m - k)):
            was = first[i + at] if i + at < j else None
            will = second[k + at] if k + at < m else None
            flag = first[i - 1] if at == 0 and i and first[i - 1].startswith("-") and "=" not in first[i - 1] else ""
            yield _word(was, will, flag, k + at)


def _is_other_command(word: str) -> bool:
    """Whether a line with this word does something else than one without: it is more than an argument."""
    return word in WEIGHTY or any(mark in word for mark in (";", "|", "&", "`", "$("))


def _word(was: str | None, will: str | None, flag: str, at: int) -> tuple[Steps, str | None, str | None]:
    """One word of a command, under the name of its flag: ``--version 1.2`` and ``--set a.b=c`` alike."""
    steps: Steps = (flag,) if flag else ()
    while True:
        given = [each for each in (was, will) if each is not None]
        names = {each.partition("=")[0] for each in given}
        if len(steps) > 1 or len(names) > 1 or not all("=" in each for each in given):
            return steps or (f"[{at}]",), was, will
        steps = (*steps, names.pop())
        was, will = (None if each is None else each.partition("=")[2] for each in (was, will))


def _split(text: str) -> list[str]:
    text = text.strip().removesuffix("\\").removeprefix("@")
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()
