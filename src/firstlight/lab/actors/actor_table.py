"""Which real programs run beside simulated pods, and how: a table, and decisions from it. Data in, data out.

A pod of a workload that the table knows has its program running as a process of the lab, as long as the pod is ready
and its node is there. One process for each workload is enough: of several replicas, only one would lead.
"""

import fnmatch
import functools
import hashlib
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

import msgspec
import yaml

from firstlight import errors
from firstlight.lab import loopback_network
from firstlight.lab.lab_part import Reality
from firstlight.lab.machines import machine_node

Object = dict[str, Any]
GUARD = "lab-guard"
"""The program that stands before others."""
LONGEST = 100
"""Characters of a part's name: it is a file's too."""


class ActorRow(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A program, and the containers that it stands for; actors.yaml explains the fields."""

    name: str
    of: tuple[str, ...]
    what: str
    namespace: str
    image: str
    program: str
    probe: str = ""
    """Without one it is ready once it is connected to the API."""
    listens: bool = True
    reality: Reality = "real"
    container: str = "*"
    labels: dict[str, str] = {}
    """Those that the pod has, among others."""
    command: str = "*"
    """The file name of the container's first word."""
    arguments: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    keep_env: tuple[str, ...] = ()
    env: dict[str, str] = {}
    path: tuple[str, ...] = ()
    path_content: tuple[str, ...] = ()
    executes: tuple[str, ...] | None = None
    guarded: tuple[str, ...] = ()
    grace: float = 5

    @property
    def templates(self) -> tuple[str, ...]:
        """All that is filled in."""
        return (*self.arguments, *self.flags, *self.env.values(), self.probe)


class Actor(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A program that is to run: what the simulator tells the supervisor."""

    name: str
    workload: str
    pod: str
    """The uid of the pod that it runs for: another pod is another life."""
    row: str
    image: str = ""
    api: str = ""
    """Where it reaches the API: its kubeconfig says it, and is read once."""
    kept: tuple[str, ...] = ()
    """Words and flags of the container, as they are."""
    own: tuple[str, ...] = ()
    """Those of the row; the places of contents are not filled in yet."""
    kept_env: dict[str, str] = {}
    own_env: dict[str, str] = {}
    probe: str = ""
    needs: tuple[str, ...] = ()
    """Actors that it calls: it starts after those of them that there are."""
    data: str = ""
    is_free: bool = False
    """Whether it may execute what a repository brings."""
    notes: tuple[str, ...] = ()
    waits: str = ""
    """Why it cannot run."""


class ActorList(msgspec.Struct, frozen=True):
    """The whole file."""

    actors: tuple[Actor, ...] = ()


def read_actors(path: Path) -> ActorList:
    """What the simulator has said last; nothing if it has not."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=ActorList)
    except (OSError, msgspec.MsgspecError):
        return ActorList()


@functools.cache
def table() -> tuple[ActorRow, ...]:
    """All rows."""
    raw = yaml.load(Path(__file__).with_suffix(".yaml").read_text(), Loader=yaml.CSafeLoader)
    return msgspec.convert(raw, tuple[ActorRow, ...])


def row(name: str) -> ActorRow:
    """A row by name."""
    return next(each for each in table() if each.name == name)


def rows(asked: Collection[str]) -> tuple[ActorRow, ...]:
    """The rows that are asked for."""
    return tuple(each for each in table() if set(each.of) & set(asked))


def installed(asked: Collection[str]) -> tuple[str, ...]:
    """Tools and content of the catalogue that must be there."""
    found: dict[str, None] = {}
    for each in rows(asked):
        contents = [name for template in each.templates for name in template_contents(template)]
        contents += [place.partition("/")[0] for place in each.path_content]
        guard = [GUARD] if each.guarded else []
        found |= dict.fromkeys([each.program, *each.path, *guard, *contents])
    return tuple(found)


def actor_ports(asked: Collection[str]) -> tuple[int, ...]:
    """Ports that actors take on addresses of their own, before they are moved."""
    found = {port for each in rows(asked) for template in each.templates for port in template_ports(template)}
    return tuple(sorted(found))


def choose(
    rows: Iterable[ActorRow], pods: Iterable[Object], nodes: Mapping[str, Object], *, current: Mapping[str, str]
) -> dict[str, tuple[ActorRow, Object]]:
    """The pod that each actor runs for: still the same if it lives, else the oldest.

    Args:
        rows: Those that are asked for.
        pods: All pods.
        nodes: All nodes, by name.
        current: The uid of the pod that each actor has run for so far.
    """
    known = tuple(rows)
    candidates: dict[str, list[tuple[ActorRow, Object]]] = {}
    for pod in pods:
        found = next((each for each in known if container_of(each, pod) is not None), None)
        workload = workload_of(pod)
        if found is not None and workload is not None and lives(pod, nodes):
            candidates.setdefault(actor_name(found, pod["metadata"]["namespace"], workload[1]), []).append((found, pod))
    return {
        name: min(several, key=lambda each: _rank(each[1], current.get(name, "")))
        for name, several in sorted(candidates.items())
    }


def _rank(pod: Object, current: str) -> tuple[bool, str, str]:
    metadata = pod["metadata"]
    return metadata["uid"] != current, metadata.get("creationTimestamp", ""), metadata["name"]


def lives(pod: Object, nodes: Mapping[str, Object]) -> bool:
    """Whether a pod is ready, stays, and is on a node that is there and has power."""
    node = nodes.get(pod["spec"].get("nodeName", ""))
    ready = any(
        each["type"] == "Ready" and each["status"] == "True" for each in pod.get("status", {}).get("conditions") or ()
    )
    return ready and "deletionTimestamp" not in pod["metadata"] and node is not None and machine_node.is_on(node)


def container_of(row: ActorRow, pod: Object) -> Object | None:
    """The container of a pod that a row's program stands for."""
    if not row.labels.items() <= (pod["metadata"].get("labels") or {}).items():
        return None
    for container in pod["spec"]["containers"]:
        words = [*(container.get("command") or ()), *(container.get("args") or ())]
        first = words[0].rpartition("/")[2] if words else ""
        if (
            image_name(container.get("image", "")) == row.image
            and fnmatch.fnmatchcase(container["name"], row.container)
            and fnmatch.fnmatchcase(first, row.command)
        ):
            return dict(container)
    return None


def image_name(image: str) -> str:
    """The last element of an image's repository: ``x`` of ``registry:5000/a/x:tag@digest``."""
    return image.partition("@")[0].rpartition("/")[2].partition(":")[0]


def image_tag(image: str) -> str:
    """Its tag; empty if it has none."""
    return image.partition("@")[0].rpartition("/")[2].partition(":")[2]


def workload_of(pod: Object) -> tuple[str, str] | None:
    """Kind and name of the Deployment or StatefulSet that a pod belongs to."""
    metadata = pod["metadata"]
    owner = next((each for each in metadata.get("ownerReferences") or () if each.get("controller")), None)
    if owner is None:
        return None
    if owner["kind"] == "StatefulSet":
        return "StatefulSet", str(owner["name"])
    suffix = f"-{(metadata.get('labels') or {}).get('pod-template-hash', '')}"
    if owner["kind"] == "ReplicaSet" and len(suffix) > 1 and owner["name"].endswith(suffix):
        return "Deployment", owner["name"].removesuffix(suffix)
    return None


def actor_name(row: ActorRow, namespace: str, workload: str) -> str:
    """The name of the part: the row's where everything is as usual, else that of namespace and workload."""
    if (namespace, workload) == (row.namespace, row.name):
        return row.name
    whole = f"{namespace}.{workload}"
    if len(whole) <= LONGEST:
        return whole
    return f"{whole[: LONGEST - 9]}-{hashlib.sha256(whole.encode()).hexdigest()[:8]}"


def numbered(name: str, taken: Mapping[str, int], current: Collection[str]) -> dict[str, int]:
    """The numbers of addresses, with one for an actor: its own again, else the lowest free one.

    Raises:
        errors.LabError: None is free.
    """
    if name in taken:
        return dict(taken)
    every = range(1, loopback_network.ACTORS + 1)
    for known in (taken, {each: taken[each] for each in taken if each in current}):
        free = next((each for each in every if each not in known.values()), 0)
        if free:
            return {**known, name: free}
    raise errors.LabError(f"no address is free: a lab has room for {loopback_network.ACTORS} actors")


# Places in the texts of the table of actors, and what is put there.


_PLACE = re.compile(r"\{([a-z]+)(?::([A-Za-z0-9.-]+))?\}")


class ActorFacts(Protocol):
    """What is known of an actor before it runs."""

    @property
    def plain(self) -> Mapping[str, str]:
        """By the name of the place: address, data, home, namespace and so on."""

    def port(self, number: int) -> int:
        """Where a port of a usual number is in this lab."""

    def actor(self, row: str) -> str:
        """The address of another row's actor in the same namespace."""


def fill_template(text: str, facts: ActorFacts) -> str:
    """Put in what is known of an actor; places of contents stay.

    Raises:
        ValueError: There is no such place.
    """

    def value(found: re.Match[str]) -> str:
        kind, name = found.groups()
        if kind == "content":
            return found.group()
        if kind == "port" and name:
            return str(facts.port(int(name)))
        if kind == "actor" and name:
            return facts.actor(name)
        if name is None and kind in facts.plain:
            return facts.plain[kind]
        raise ValueError(f"{found.group()} is no place that can be filled in")

    return _PLACE.sub(value, text)


def fill_contents(text: str, places: Mapping[str, str]) -> str:
    """Put in where contents are."""
    return _PLACE.sub(lambda found: places[found[2]] if found[1] == "content" else found.group(), text)


def template_contents(text: str) -> tuple[str, ...]:
    """The contents that a text names."""
    return tuple(name for kind, name in _PLACE.findall(text) if kind == "content")


def template_ports(text: str) -> tuple[int, ...]:
    """The ports that a text names."""
    return tuple(int(name) for kind, name in _PLACE.findall(text) if kind == "port")
