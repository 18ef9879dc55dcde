"""What a repo would have Argo CD execute on the computer where it runs: options and programs of argocd-cm, credentials.

They are looked for as text, like the other settings: in argocd-cm, its patches, and the values of the chart. Config
management plugins are not among them, since a lab has no sidecars in which they would run.
"""

import re
from collections.abc import Iterator

from firstlight.model import kustomize_options
from firstlight.model.place import Place
from firstlight.model.repo_command import RepoCommand
from firstlight.repo.argocd import definition
from firstlight.repo.work_tree import YAML, WorkTree

_WORDS = ("kustomize.buildOptions", "kustomize.path.", "execProviderConfig")
_KEY = re.compile(r"""kustomize\.(?P<what>buildOptions|path)(?P<version>[\w.-]*)["']?\s*:(?P<rest>.*)""")
_COMMAND = re.compile(r"""["']?execProviderConfig["']?\s*:""")
_AROUND = " \t,\"'}>|"


def wanted(tree: WorkTree) -> tuple[RepoCommand, ...]:
    """Everything that needs the user's word before a rehearsal lets Argo CD execute it, in the order of files."""
    found: dict[tuple[str, ...], RepoCommand] = {}
    for path in tree.files:
        if path.endswith((*YAML, ".json")) and any(definition.mentions(tree, path, each) for each in _WORDS):
            for each in _of(path, (tree.text(path) or "").splitlines()):
                found.setdefault(each.words, each)
    return tuple(found.values())


def _of(path: str, lines: list[str]) -> Iterator[RepoCommand]:
    for number, line in enumerate(lines):
        if line.lstrip().startswith("#"):
            continue
        if key := _KEY.search(line):
            name = f"kustomize.{key['what']}{key['version']}"
            said = _value(key["rest"], lines, number)
            words = kustomize_options.refused(said) if key["what"] == "buildOptions" else (said,)
            if any(words):
                yield _command(path, number, (name, *words))
        if _COMMAND.search(line):
            yield _command(path, number, ("execProviderConfig",))


def _value(rest: str, lines: list[str], number: int) -> str:
    """The value of a key: on its line, or on the next ones that are indented further."""
    indent = len(lines[number]) - len(lines[number].lstrip())
    parts = [rest.strip(_AROUND + "-+0123456789") if rest.strip()[:1] in (">", "|") else rest]
    for line in lines[number + 1 :]:
        if not line.strip() or len(line) - len(line.lstrip()) <= indent:
            break
        parts.append(line)
    return " ".join(word for part in parts for each in part.split() if (word := each.strip(_AROUND)))


def _command(path: str, number: int, words: tuple[str, ...]) -> RepoCommand:
    return RepoCommand(words=("argocd", *words), component="Argo CD", what="setting", place=Place(path, number + 1))
