"""OCI artifacts that a workflow or a script of this repo pushes, and the directory that each of them holds.

``flux push artifact oci://REGISTRY/NAME:TAG --path=DIRECTORY``, the action that wraps it, and ``oras push``. Workflows
are not run: a variable stands for its only value in the same file, and for anything where there is none.
"""

import dataclasses
import posixpath
import re
from collections.abc import Iterator, Mapping

from firstlight.repo.flux.artifact_generators import SourceTree
from firstlight.repo.flux.artifact_tree import ArtifactTree
from firstlight.repo.work_tree import WorkTree, join

_FILES = re.compile(
    r"(?:\.(?:github|gitea|forgejo)/(?:workflows|actions)/.*\.ya?ml|(?:.*/)?\.?gitlab-ci[^/]*\.ya?ml|\.gitlab/.*\.ya?ml"
    r"|(?:.*/)?\.?(?:woodpecker|drone)[^/]*\.ya?ml|\.woodpecker/.*\.ya?ml|azure-pipelines[^/]*\.ya?ml|\.azure/.*\.ya?ml"
    r"|\.circleci/.*\.ya?ml|Jenkinsfile|(?:.*/)?(?:Task|task)file[^/]*\.ya?ml|\.?task(?:file)?s?/.*\.ya?ml"
    r"|(?:.*/)?(?:GNUm|M|m)akefile|.*\.mk|(?:.*/)?\.?[jJ]ustfile|.*\.just|.*\.(?:sh|bash)|\.?mise(?:/config)?\.toml)"
)
"""Files that people have pushes in."""
_COMMAND = re.compile(
    r"\b(?P<program>flux\s+push\s+artifact|oras\s+push)\b"
    r"(?P<rest>(?:[^\n\\]|\\\n|\\.)*(?:\n[ \t]+(?:--?[a-z]|oci://)[^\n]*)*)"
)
_ACTION = re.compile(
    r"^(?P<indent>[ ]*)(?:- )?uses:[ ]*[\"']?[\w.-]+/[\w.-]+/actions/push@[^\n]*\n"
    r"(?P<rest>(?:[ ]*\n|(?P=indent)[ ]*[^ \n-][^\n]*\n)*)",
    re.MULTILINE,
)
_PATH = re.compile(r"(?:^|\s)(?:--path|-f)(?:=|[ \t]+|(?=-))(?P<value>\"[^\"]*\"|'[^']*'|\$\{\{[^}]*\}\}[^\s]*|\S+)")
_URL = re.compile(r"oci://(?:\$\{\{[^}]*\}\}|\{\{[^}]*\}\}|\$\([^)]*\)|[^\s\"'])+")
_ORAS_NAME = re.compile(r"(?:^|\s)(?P<value>[\w${][^\s\"'=]*/[^\s\"'=]*)")
_VARIABLE = re.compile(
    r"\$\{\{\s*(?P<github>[^}]*?)\s*\}\}|\{\{\s*(?P<task>[^}]*?)\s*\}\}"
    r"|\$\((?P<command>[^)]*)\)|\$\{?(?P<shell>\w+)[^}\s/]*\}?"
)
_ROOTS = {
    "github.workspace", "GITHUB_WORKSPACE", "CI_PROJECT_DIR", "git rev-parse --show-toplevel", ".ROOT_DIR",
    ".TASKFILE_DIR", "CURDIR", "ROOT", "ROOT_DIR", "REPO_ROOT", "PROJECT_ROOT", "justfile_directory()",
}  # fmt: skip
"""What stands for the directory of the repo."""
_ASSIGNMENT = re.compile(
    r"^[ \t]*(?:export[ ]+|-[ ]+)?(?P<name>[A-Za-z_]\w*)[ ]?(?:[:?]?=|:)[ ]*"
    r"(?P<value>\"[^\"\n]*\"|'[^'\n]*'|[^\s#]+)[ ]*(?:#.*)?$",
    re.MULTILINE,
)
_MOVES = re.compile(rb"working-directory:|(?:^|[;&|\s])(?:cd|pushd) ", re.MULTILINE)
_KNOWN = "_pushes"
_ANYTHING = "\0"
_LONGEST = 2000
"""Characters of a command; people write ten lines."""


@dataclasses.dataclass(frozen=True, slots=True)
class ArtifactPush:
    """A command that pushes an artifact."""

    file: str
    repository: str
    """Registry and name, with a NUL for each part that is not known."""
    path: str
    """The directory from the repo's root; empty where it is not known."""
    reason: str = ""
    """Why it is not known."""


def pushes(tree: WorkTree) -> tuple[ArtifactPush, ...]:
    """Every push that the workflows and scripts of a repo have."""
    known: tuple[ArtifactPush, ...] | None = tree.__dict__.get(_KNOWN)
    if known is None:
        known = tree.__dict__[_KNOWN] = tuple(
            each for path in tree.files if _FILES.fullmatch(path) for each in _in(tree, path)
        )
    return known


def pushed(tree: WorkTree, url: str) -> SourceTree | None:
    """The files that an OCI artifact holds; None where nothing in the repo pushes it.

    Args:
        tree: The repo.
        url: The address of the OCIRepository.
    """
    wanted = url.removeprefix("oci://").rstrip("/").lower()
    found = [(score, each) for each in pushes(tree) if (score := _likeness(each.repository, wanted))]
    if not found:
        return None
    best = max(score for score, _ in found)
    of_best = [each for score, each in found if score == best]
    paths = {each.path for each in of_best}
    first = of_best[0]
    if len(paths) > 1:
        return SourceTree(None, f"{url} is pushed from several directories, in {first.file} among others")
    if not first.path:
        return SourceTree(None, f"{first.file} pushes {url}, but {first.reason}")
    if first.path != "." and not tree.is_dir(first.path):
        return SourceTree(None, f"{first.file} pushes {url} from {first.path}, which is made when it runs")
    doubt = "" if best > 1 else f"{first.file} pushes an artifact that is probably {url}"
    if first.path == ".":
        return SourceTree(tree, doubt)
    trees: dict[str, ArtifactTree] = tree.__dict__.setdefault(f"{_KNOWN}_trees", {})
    if first.path not in trees:
        files = {posixpath.relpath(each, first.path): each for each in tree.below(first.path)}
        trees[first.path] = ArtifactTree(tree, files)
    return SourceTree(trees[first.path], doubt)


def _likeness(pattern: str, wanted: str) -> int:
    """2 where a push is surely the wanted one, 1 where it may be, 0 where it is not."""
    if _ANYTHING not in pattern:
        return 2 if pattern.lower() == wanted else 0
    literal = pattern.lower().rpartition("/")[2].replace(_ANYTHING, "")
    shape = ".+".join(re.escape(each) for each in pattern.lower().split(_ANYTHING))
    if not re.fullmatch(shape, wanted):
        return 0
    return 2 if literal else 1


def _in(tree: WorkTree, path: str) -> Iterator[ArtifactPush]:
    data = tree.bytes(path) or b""
    if b"push" not in data or not (b"flux" in data or b"oras" in data):
        return
    text = data.decode(errors="replace")
    variables = _variables(text)
    for match in _ACTION.finditer(text):
        fields = {
            key: value.strip().strip("\"'")
            for key, _, value in (line.strip().partition(":") for line in match["rest"].splitlines())
        }
        if fields.get("repository"):
            name = _resolved(fields["repository"], variables)
            yield _push(path, name, fields.get("path") or ".", variables, is_moved=False)
    for match in _COMMAND.finditer(text):
        if _is_comment(text, match.start()):
            continue
        rest = match["rest"][:_LONGEST].replace("\\\n", " ")
        if match["program"].startswith("oras"):
            named = _ORAS_NAME.search(rest)
            if named:
                name = _without_tag(_resolved(named["value"], variables))
                yield ArtifactPush(path, name, "", "which of its files are in it is for oras to say")
            continue
        url = _URL.search(rest)
        if url is None:
            written = re.search(r"\$\{?\w+\}?", rest)
            whole = _resolved(written[0], variables) if written else _ANYTHING
            name = _without_tag(whole.removeprefix("oci://"))
        else:
            name = _without_tag(_resolved(url[0], variables).removeprefix("oci://"))
        written_path = _PATH.search(rest)
        yield _push(
            path, name, written_path["value"] if written_path else "", variables, is_moved=bool(_MOVES.search(data))
        )


def _is_comment(text: str, at: int) -> bool:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line.lstrip().startswith("#")


def _push(file: str, name: str, written: str, variables: Mapping[str, str], *, is_moved: bool) -> ArtifactPush:
    value = _resolved(written.strip("\"'"), variables, is_path=True)
    if not value or value == "-":
        return ArtifactPush(file, name, "", "not from a directory that it names")
    if _ANYTHING in value:
        return ArtifactPush(file, name, "", f"the directory {written.strip(chr(34))[:80]} is only known when it runs")
    if is_moved and not value.startswith("/"):
        return ArtifactPush(file, name, "", f"{value[:80]} is below a directory that it changes to")
    path = join(".", value.lstrip("/") or ".")
    if path is None:
        return ArtifactPush(file, name, "", f"{value[:80]} is not in the repo")
    return ArtifactPush(file, name, path)


def _variables(text: str) -> dict[str, str]:
    """Variables with one value in a file, by whichever syntax."""
    found: dict[str, set[str]] = {}
    for match in _ASSIGNMENT.finditer(text):
        found.setdefault(match["name"], set()).add(match["value"].strip("\"'"))
    return {name: values.pop() for name, values in found.items() if len(values) == 1}


def _resolved(written: str, variables: Mapping[str, str], *, is_path: bool = False) -> str:
    def value(match: re.Match[str]) -> str:
        name = next(each for each in match.groups() if each is not None)
        bare = name.removeprefix("env.").removeprefix(".").removeprefix("vars.")
        if is_path and name in _ROOTS:
            return "/"
        known = variables.get(bare)
        return known if known is not None and not known.startswith(("|", ">")) else _ANYTHING

    for _ in range(4):
        after = _VARIABLE.sub(value, written)
        if after == written:
            break
        written = after
    return written


def _without_tag(name: str) -> str:
    before, slash, last = name.partition("@")[0].rpartition("/")
    return f"{before}{slash}{last.partition(':')[0]}".rstrip("/")
