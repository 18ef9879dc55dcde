"""Puts together what several files declare about one cluster."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from firstlight.model.cluster import Cluster, ConfigBase, FactDoubt, Machine, MachinePart, MachineRole, Network
from firstlight.model.diagnostic import Diagnostic, Severity
from firstlight.model.place import Place
from firstlight.repo.reader_result import ReaderResult
from firstlight.repo.talos import config_facts, document_kinds, manifest_origins
from firstlight.repo.talos.cluster_declaration import ConfigPart, ConfigRank, TalosDeclaration
from firstlight.repo.talos.config_facts import StatedFact
from firstlight.repo.talos.config_files import ConfigDocument, mapping
from firstlight.repo.work_tree import WorkTree

_SHOWN = {
    "network.pods": "pod subnets",
    "network.services": "service subnets",
    "network.dns_domain": "the DNS domain",
    "network.endpoint": "the endpoint",
    "network.vip": "the virtual address",
    "network.cni": "the CNI",
    "network.kube_proxy": "whether Talos brings kube-proxy",
    "network.core_dns": "whether Talos brings CoreDNS",
    "schedules_on_control_planes": "whether control planes take workloads",
    "kubernetes": "the version of Kubernetes",
    "talos": "the version of Talos",
}


def cluster(tree: WorkTree, name: str, declarations: Sequence[TalosDeclaration]) -> ReaderResult:
    """One cluster out of everything that declares it."""
    chosen, diagnostics = _choose(declarations)
    doubts = {field: doubt for field, fact in chosen.items() if (doubt := _doubt(fact)) is not None}
    chosen = {field: fact for field, fact in chosen.items() if not fact.variable}
    parts = [part for each in declarations for part in each.parts]
    machines, more = _machines(declarations, parts)
    roles = {machine.id or machine.name: machine.role for machine in machines}
    origins = manifest_origins.of(tree, name, declarations, roles)
    files: dict[str, tuple[str, ...]] = {}
    for each in declarations:
        files |= each.kinds
    network = {key.removeprefix("network."): fact.value for key, fact in chosen.items() if key.startswith("network.")}
    bases = {each.base for each in declarations}
    whole = Cluster(
        name=name,
        base=next((each for each in _BASES if each in bases), ConfigBase.UNKNOWN),
        unread=tuple(dict.fromkeys(_unread(tree, declarations, files))),
        place=declarations[0].place,
        machines=machines,
        network=Network(**network),
        files=tuple(Place(path) for path in sorted(files)),
        said={field: fact.place for field, fact in chosen.items()},
        doubts=doubts,
        documents=dict(sorted(files.items())),
        talos_secrets=document_kinds.secrets_reference(tree, files),
        parts=tuple(
            MachinePart(config=each.config, role=each.role, machine=each.machine)
            for each in sorted(parts, key=lambda part: part.rank)
        ),
        **{field: fact.value for field, fact in chosen.items() if not field.startswith("network.")},
    )
    said = [diagnostic for each in declarations for diagnostic in each.diagnostics]
    everything = (
        *said, *diagnostics, *_conditional(chosen), *more, *unknown_fields(part.config for part in parts),
        *_static_pods(parts), *origins.diagnostics, *document_kinds.exposed_secrets(part.config for part in parts),
    )  # fmt: skip
    return ReaderResult(
        clusters=(whole,),
        origins=origins.origins,
        unreached=origins.unreached,
        diagnostics=tuple(dict.fromkeys(everything)),
    )


_BASES = (ConfigBase.WHOLE, ConfigBase.GENERATED)
_HIDES = frozenset({
    "cluster-unclear", "omni-file-missing", "omni-file-unreadable", "omni-yaml-wrong", "talm-chart-not-rendered",
    "talos-config-encrypted", "talos-file-missing", "talos-template-hole", "talos-template-not-yaml",
    "talos-template-wrong",
})  # fmt: skip
"""Codes of what may hide any part of a machine config."""


def _unread(tree: WorkTree, declarations: Iterable[TalosDeclaration], files: Mapping[str, Any]) -> Iterable[Diagnostic]:
    """What shapes the machine configs and was not read."""
    for each in declarations:
        yield from each.unread
        yield from (found for found in each.diagnostics if found.code in _HIDES)
    for found in tree.diagnostics:
        if found.severity is Severity.ERROR and found.places and found.place.path in files:
            yield found


@dataclasses.dataclass(frozen=True, slots=True)
class _Said:
    """A fact, and how much it counts."""

    fact: StatedFact
    rank: ConfigRank
    special: int
    """0 for the cluster or its control plane, 1 for workers, 2 for one machine: what is special counts last."""
    is_field: bool = False
    """Said in a field that the tool has for it."""


def _choose(declarations: Iterable[TalosDeclaration]) -> tuple[dict[str, StatedFact], list[Diagnostic]]:
    """What counts, by field: of the least special the highest rank, of that the last.

    A patch may differ from what it patches. What is not patched must agree, and with a field that the tool has for it.
    """
    by_field: dict[str, list[_Said]] = {}
    for declaration in declarations:
        for said in _said(declaration):
            by_field.setdefault(said.fact.field, []).append(said)
    chosen: dict[str, StatedFact] = {}
    diagnostics: list[Diagnostic] = []
    for field, entries in sorted(by_field.items()):
        winner = max(reversed(entries), key=_weight)
        chosen[field] = winner.fact
        others = {
            _meaning(each.fact): each.fact
            for each in entries
            if each.is_field or each.rank == winner.rank or (each.special and each.rank > winner.rank)
        }
        for meaning, other in others.items():
            if meaning != _meaning(winner.fact) and not (other.variable or winner.fact.variable):
                message = (
                    f"{_SHOWN[field]}: {_shown(other.value)} here, {_shown(winner.fact.value)} in {chosen[field].place}"
                )
                diagnostics.append(
                    Diagnostic.warning(
                        "cluster-facts-differ", message, at=other.place, fix="Say it once, or the same in both."
                    )
                )
    return chosen, diagnostics


def _doubt(fact: StatedFact) -> FactDoubt | None:
    """Return why a fact is not certain; None where it is."""
    if fact.variable:
        return FactDoubt(f"{_SHOWN[fact.field]} is {fact.variable}, which only a run tells", fact.place)
    if fact.is_conditional:
        why = f"a template says {_SHOWN[fact.field]} only under a condition"
        return FactDoubt(why, fact.place, is_conditional=True)
    return None


def _weight(said: _Said) -> tuple[int, int, bool]:
    return -said.special, said.rank, not said.fact.is_conditional


def _said(declaration: TalosDeclaration) -> Iterable[_Said]:
    for fact in declaration.facts:
        yield _Said(fact, ConfigRank.BASE, 0, is_field=True)
    for part in declaration.parts:
        special = 2 if part.rank is ConfigRank.MACHINE else 1 if part.role is MachineRole.WORKER else 0
        for fact in config_facts.cluster_facts(part.config):
            yield _Said(fact, part.rank, special)


def _meaning(fact: StatedFact) -> Any:
    if fact.field in {"kubernetes", "talos"}:
        return str(fact.value).removeprefix("v")
    return fact.value.rstrip("/") if isinstance(fact.value, str) else fact.value


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(value) if isinstance(value, tuple) else str(value)


def _machines(
    declarations: Sequence[TalosDeclaration], parts: Sequence[ConfigPart]
) -> tuple[tuple[Machine, ...], list[Diagnostic]]:
    """The machines, each with what the patches say about it."""
    machines: list[Machine] = []
    first: dict[str, Machine] = {}
    diagnostics: list[Diagnostic] = []
    filled = _Filler(parts)
    for declared in (machine for each in declarations for machine in each.machines):
        machine = filled.machine(declared)
        known = first.setdefault(machine.name, machine)
        if known is machine or (known.place.path == machine.place.path and known.place != machine.place):
            machines.append(machine)  # two of one name in a file are two machines, of which the plan tells
        elif known.place != machine.place:
            message = f"two machines are called {machine.name}, also at {known.place}: only that one counts"
            fix = "Give each machine its own name."
            diagnostics.append(Diagnostic.warning("machine-name-twice", message, at=machine.place, fix=fix))
    return tuple(machines), diagnostics


class _Filler:
    """Fills machines with what parts say about them: what is for many is read once."""

    def __init__(self, parts: Sequence[ConfigPart]) -> None:
        ordered = sorted(parts, key=lambda each: each.rank)
        self.own: dict[str, list[ConfigPart]] = {}
        for part in ordered:
            if part.machine:
                self.own.setdefault(part.machine, []).append(part)
        self.shared = {
            role: config_facts.machine_facts_of(
                each.config for each in ordered if not each.machine and each.role in (None, role)
            )
            for role in MachineRole
        }

    def machine(self, machine: Machine) -> Machine:
        """A machine with everything that is known of it."""
        mine = self.own.get(machine.id or machine.name, [])
        own = config_facts.machine_facts_of(each.config for each in mine)
        found = own.over(self.shared[machine.role])
        return dataclasses.replace(
            machine,
            address=machine.address or own.address,
            patches=tuple(dict.fromkeys(each.config.place() for each in mine)),
            install_disk=machine.install_disk or found.install_disk,
            schematic=machine.schematic or found.schematic,
            extensions=machine.extensions or found.extensions,
        )


def _conditional(chosen: Mapping[str, StatedFact]) -> Iterable[Diagnostic]:
    """Facts that a template says only under a condition, which is taken for true."""
    by_path: dict[str, list[StatedFact]] = {}
    for fact in chosen.values():
        if fact.is_conditional:
            by_path.setdefault(fact.place.path, []).append(fact)
    for found in by_path.values():
        listed = ", ".join(f"{_SHOWN[each.field]} (line {each.place.line})" for each in found)
        message = f"said only under a condition of the template, which is taken for true: {listed}"
        yield Diagnostic.unknown("talos-value-conditional", message, at=min(each.place for each in found))


def _static_pods(parts: Iterable[ConfigPart]) -> Iterable[Diagnostic]:
    """Pods that kubelets run by themselves: nothing else says what they are."""
    for part in parts:
        is_document = config_facts.kind_of(part.config) == "KubeStaticPodConfig"
        if is_document or part.config.get("machine", "pods"):
            place = part.config.place() if is_document else part.config.place("machine", "pods")
            yield Diagnostic.unknown(
                "talos-static-pods-not-counted",
                "static pods of a machine config are not counted as components",
                at=place,
            )


def unknown_fields(configs: Iterable[ConfigDocument]) -> Iterable[Diagnostic]:
    """Fields that no version of Talos has: it refuses the whole config."""
    for config in configs:
        if config_facts.kind_of(config):
            continue
        for steps in document_kinds.unknown_fields(mapping(config.value)):
            message = f"Talos has no field {config.shown('.'.join(map(str, steps)))}, and refuses a config with it"
            fix = document_kinds.field_instead(tuple(map(str, steps)))
            yield Diagnostic.warning("talos-field-unknown", message, at=config.place(*steps), fix=fix)
