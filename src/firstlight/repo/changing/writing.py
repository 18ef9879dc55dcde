"""Whether commands in a text write to a cluster, and whether they make one for themselves first."""

import re

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
