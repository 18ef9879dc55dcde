"""Whether commands in a text write to a cluster, and whether they make one for themselves first."""

import difflib
import re
import shlex
from collections.abc import Iterator

from firstlight.repo.changes.compare_fields import Steps

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
