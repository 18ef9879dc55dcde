"""Which scripts of a repo name a file; what they do with it is the business of another reader."""

import dataclasses
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from firstlight.model.cluster import Machine, MachineRole
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.repo.talos import config_facts, config_files, document_kinds, loose_files
from firstlight.repo.talos.cluster_declaration import ConfigPart, ConfigRank, TalosDeclaration, TalosStyle
from firstlight.repo.talos.loose_files import LooseFile
from firstlight.repo.work_tree import WorkTree

_SCRIPT = re.compile(
    r"(^|/)(\.?[Tt]askfile[^/]*|\.?[Jj]ustfile|[Mm]akefile|[^/]+\.(just|sh|bash|mk))$|(^|/)\.?taskfiles?/.+\.ya?ml$"
)


def scripts_naming(tree: WorkTree, names: Iterable[str]) -> dict[str, str]:
    """Those of some file names that stand in a Taskfile, justfile, Makefile or shell script, with the first one."""
    patterns = {name: re.compile(rf"(?<![\w.-]){re.escape(name)}(?![\w-])") for name in names}
    found: dict[str, str] = {}
    for path in tree.files if patterns else ():
        if _SCRIPT.search(path) and (text := tree.text(path)):
            for name, pattern in patterns.items():
                if name not in found and name in text and pattern.search(text):
                    found[name] = path
    return found


# Machine configs and patches as talosctl takes them: clusters by their names and directories.
#
# ``talos/infra/…`` is the cluster ``infra``; configs and templates right in ``talos/`` are the base of all clusters
# below it, or of the only one. Which template a script takes is not known here; if scripts name one of several, it is
# that.


@dataclasses.dataclass(frozen=True, slots=True)
class _Group:
    """Files of one cluster."""

    name: str
    files: tuple[LooseFile, ...]
    diagnostics: tuple[Diagnostic, ...] = ()


def read(tree: WorkTree, loose: Sequence[LooseFile]) -> list[TalosDeclaration]:
    """The clusters of files that belong to no tool."""
    counted, diagnostics = _without_rivals(tree, loose)
    found = []
    for group in _groups(counted):
        found.append(_declaration(group, diagnostics))
        diagnostics = []
    return found


def _groups(loose: Sequence[LooseFile]) -> list[_Group]:
    by_directory: dict[str, list[LooseFile]] = {}
    for each in loose:
        by_directory.setdefault(each.directory_cluster, []).append(each)
    shared = by_directory.get("", [])
    below = {name: own for name, own in by_directory.items() if name}
    if below and shared and not any(each.machine for each in shared):
        return _with_base(below, shared)
    return [group for name, own in by_directory.items() for group in _named(name, own)]


def _with_base(below: Mapping[str, Sequence[LooseFile]], shared: Sequence[LooseFile]) -> list[_Group]:
    """The clusters of directories, on the base of what stands above them."""
    named = next((each for each in shared if each.name), None)
    nameless = [directory for directory, own in below.items() if not any(each.name for each in own)]
    diagnostics: list[Diagnostic] = []
    if named and named.named and len(nameless) > 1:
        message = f"{_and(nameless)} get the same clusterName from here: {named.name}"
        hint = "Give each a name of its own: contexts and certificates of two clusters would look the same."
        diagnostics.append(Diagnostic.warning("talos-cluster-name-shared", message, at=named.named, fix=hint))
    found = []
    for directory, own in below.items():
        name = next((each.name for each in own if each.name), directory)
        if named and nameless == [directory]:
            name = named.name
        found.append(_Group(name, (*shared, *own), tuple(diagnostics)))
        diagnostics = []
    return found


def _named(directory: str, own: list[LooseFile]) -> Iterator[_Group]:
    """The clusters of one directory: those that its configs name, else the one that it is."""
    names = sorted({each.name for each in own if each.name})
    if len(names) <= 1:
        yield _Group(names[0] if names else directory, tuple(own))
        return
    diagnostics = []
    by_name: dict[str, list[LooseFile]] = {name: [] for name in names}
    for each in own:
        likely = [each.name] if each.name else [name for name in names if _names(each.path, name)]
        if len(likely) == 1:
            by_name[likely[0]].append(each)
        else:
            message = f"nothing says for which cluster this is: {', '.join(names)}; it is not counted"
            hint = "Put it into a directory of the cluster."
            diagnostics.append(Diagnostic.unknown("cluster-unclear", message, at=Place(each.path), fix=hint))
    for index, (name, mine) in enumerate(by_name.items()):
        yield _Group(name, tuple(mine), tuple(diagnostics) if index == 0 else ())


def _names(path: str, name: str) -> bool:
    """Whether a path has a name in it, not as a part of a longer word."""
    return re.search(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])", path) is not None


def _without_rivals(tree: WorkTree, loose: Sequence[LooseFile]) -> tuple[list[LooseFile], list[Diagnostic]]:
    """Leave out templates for the same machines as another one that scripts name, if they name only that."""
    rivals: dict[str, list[LooseFile]] = {}
    for each in loose:
        if each.is_whole and each.file.is_template and not each.machine and each.role is None:
            rivals.setdefault(posixpath.dirname(each.path), []).append(each)
    left: dict[str, Diagnostic] = {}
    for several in (each for each in rivals.values() if len(each) > 1):
        names = {each.path: posixpath.basename(each.path) for each in several}
        used = scripts_naming(tree, names.values())
        for each in several:
            if used and names[each.path] not in used:
                message = f"no script names this template, and {', '.join(sorted(used))} is named: it is not counted"
                left[each.path] = Diagnostic.unknown("talos-template-unused", message, at=Place(each.path))
    return [each for each in loose if each.path not in left], list(left.values())


def _and(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _declaration(group: _Group, diagnostics: list[Diagnostic]) -> TalosDeclaration:
    parts = [part for each in group.files for part in _parts(each)]
    machines, more = _machines(group)
    for each in group.files:
        diagnostics = [*diagnostics, *each.file.diagnostics]
    return TalosDeclaration(
        cluster=group.name,
        place=_place(group),
        style=TalosStyle.PLAIN,
        machines=machines,
        parts=tuple(parts),
        kinds={each.path: each.kinds for each in group.files},
        diagnostics=(*diagnostics, *group.diagnostics, *more),
    )


def _place(group: _Group) -> Place:
    named = next((each.named for each in group.files if each.named and each.name == group.name), None)
    return named or Place(next((each.path for each in group.files if each.directory_cluster), group.files[0].path))


def _parts(loose: LooseFile) -> Iterator[ConfigPart]:
    patch = ConfigRank.MACHINE if loose.machine else ConfigRank.SET if loose.role else ConfigRank.ALL
    rank = ConfigRank.BASE if loose.is_whole else patch
    for config in loose.configs:
        yield ConfigPart(config, rank, loose.role, loose.machine)


def _machines(group: _Group) -> tuple[tuple[Machine, ...], list[Diagnostic]]:
    """The machines that files are for."""
    by_name: dict[str, list[LooseFile]] = {}
    for each in group.files:
        if each.machine and each.configs:
            by_name.setdefault(each.machine, []).append(each)
    base = {each.role for each in group.files if not each.machine and each.is_whole and each.role}
    schematics = [each for each in group.files if document_kinds.SCHEMATIC in each.kinds]
    machines, guessed = [], []
    for name, own in by_name.items():
        role = next((each.role for each in own if each.role), base.copy().pop() if len(base) == 1 else None)
        if role is None:
            guessed.append(name)
        machines.append(_machine(name, own, role or MachineRole.CONTROL_PLANE, schematics))
    diagnostics = []
    if guessed:
        verb, what = ("is", "a control plane") if len(guessed) == 1 else ("are", "control planes")
        message = f"nothing says what {_and(guessed)} {verb}: taken for {what}"
        diagnostics.append(
            Diagnostic.unknown(
                "machine-role-unknown", message, at=by_name[guessed[0]][0].configs[0].place(), fix="Write machine.type."
            )
        )
    if not machines and any(each.is_patch for each in group.files):
        message = "no machine is named in these configs: which there are, is not known"
        diagnostics.append(Diagnostic.unknown("machines-unnamed", message, at=_place(group)))
    return tuple(machines), diagnostics


def _machine(name: str, own: Sequence[LooseFile], role: MachineRole, schematics: Sequence[LooseFile]) -> Machine:
    found = config_facts.machine_facts_of(config for each in own for config in each.configs)
    stem = config_files.stem(own[0].path)
    extensions: tuple[str, ...] = ()
    if len(schematics) == 1:
        values = (each.value for each in schematics[0].file.documents)
        extensions = next((each for each in map(config_facts.schematic_extensions, values) if each), ())
    return Machine(
        name=name,
        role=role,
        place=own[0].configs[0].place(),
        address=stem if config_facts.is_address(stem) else found.address,
        install_disk=found.install_disk,
        schematic=found.schematic,
        extensions=found.extensions or extensions,
    )


def is_left_over(loose: LooseFile, declared: Sequence[TalosDeclaration]) -> tuple[TalosDeclaration, ...]:
    """The declarations of tools that a file stands below; empty if it is a cluster's by itself."""
    if loose.name and loose.name not in {each.cluster for each in declared}:
        return ()
    near = [each for each in declared if loose_files.is_below(loose.path, each.directory)]
    deepest = max((each.directory.count("/") + bool(each.directory) for each in near), default=0)
    return tuple(each for each in near if each.directory.count("/") + bool(each.directory) == deepest)
