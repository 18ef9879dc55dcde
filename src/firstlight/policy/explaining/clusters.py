"""A cluster or a machine of the repo at hand."""

import shlex
from collections.abc import Iterator

from firstlight.model.cluster import Cluster, Machine, MachineRole
from firstlight.model.explanation import Explanation, Part, Sentence, Sort
from firstlight.model.platform import Platform
from firstlight.policy.explaining import facts, glossary

_FACTS = ("clusters", "control planes", "workers", "talos", "kubernetes", "endpoint", "vip", "pods", "services")
_MORE = ("load balancers", "omni", "engine", "phases")


def cluster(platform: Platform, found: Cluster) -> Explanation:
    """What a cluster is made of."""
    told = [each for name in (*_FACTS, *_MORE) for each in facts.told(name, platform, found)]
    name = shlex.quote(found.name)
    parts = [
        Part(name="what", sentences=_says("cluster")),
        Part(name="here", sentences=tuple(told)),
        Part(
            name="type",
            sentences=(
                Sentence(
                    text="The chain of it, from the machines to the apps",
                    command=f"firstlight explain --cluster {name}",
                ),
                Sentence(text="What it would take to bring it up", command=f"firstlight plan {name}"),
            ),
        ),
    ]
    see = ("cluster", "machine", "control plane", "phase")
    return Explanation(sort=Sort.CLUSTER, name=found.name, clusters=(found.name,), parts=tuple(parts), see=see)


def machine(home: Cluster, found: Machine) -> Explanation:
    """What one machine is."""
    role = "control plane" if found.role == MachineRole.CONTROL_PLANE else "worker"
    parts = [
        Part(name="what", sentences=_says(role)),
        Part(name="here", sentences=tuple(_machine(found))),
        Part(
            name="change",
            sentences=(
                Sentence(text="Edit its files; a merge alone changes nothing on a machine."),
                Sentence(text="See what would be done", command=f"{_given(home, found)} --dry-run"),
            ),
        ),
    ]
    see = (role, "machine config", "node", "Talos")
    return Explanation(sort=Sort.MACHINE, name=found.name, clusters=(home.name,), parts=tuple(parts), see=see)


def _given(home: Cluster, found: Machine) -> str:
    """The command by which a machine gets what its files say; one of Omni gets it there, with all others."""
    if home.omni_template:
        return f"firstlight up {shlex.quote(home.name)} --until machine"
    return f"firstlight node apply {shlex.quote(home.name)} --machine {shlex.quote(found.name)}"


def _says(word: str) -> tuple[Sentence, ...]:
    found = glossary.find(word)
    return (Sentence(text=found.says),) if found else ()


def _machine(found: Machine) -> Iterator[Sentence]:
    yield Sentence(text=facts.machine(found), place=found.place)
    if found.install_disk:
        yield Sentence(text=f"Talos is installed on {found.install_disk}")
    if found.extensions:
        yield Sentence(text=f"extensions {', '.join(found.extensions)}")
    if found.schematic:
        yield Sentence(text=f"schematic {found.schematic}")
    for each in found.patches:
        yield Sentence(text="a patch of its own", place=each)
