"""Scenes for the doctor from short YAML: a healthy cluster, and what differs from it."""

import copy
import dataclasses
import datetime
import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.model import machine as model_machine
from firstlight.model.cluster import Cluster, Engine, Machine, MachineRole
from firstlight.model.machine import Clock, InstallDisk, LinkAddress, NetworkLink, TalosDiagnostic, TalosServiceState
from firstlight.model.machine_report import EtcdData, EtcdSight, MachineReport, MachineStanding
from firstlight.model.override import Emergency, Override, OverrideStanding, SuspendedOwner
from firstlight.model.place import Place
from firstlight.observe.cluster import observation
from firstlight.observe.cluster.observation import ApiObservation, ClusterObservation, MachineObservation

NOW = datetime.datetime(2026, 11, 16, 7, 0, tzinfo=datetime.UTC).timestamp()
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_GROUPS = {each.rpartition("/")[2]: each.rpartition("/")[0] for each in observation.KINDS}
_VERSIONS = {"": "v1", "cilium.io": "v2", "argoproj.io": "v1alpha1", "metallb.io": "v1beta1"}
_SHORT = {"is", "age", "labels", "annotations", "owner", "finalizers", "going", "conditions", "apiVersion", "managed"}


def ago(written: str | float) -> float:
    """A moment from how long ago it was; ``-1h`` is in an hour."""
    match = re.fullmatch(r"(-?)(\d+)([smhd])", str(written))
    assert match, written
    seconds = int(match[2]) * _UNITS[match[3]]
    return NOW + seconds if match[1] else NOW - seconds


def stamp(written: str) -> str:
    """The same as Kubernetes writes it."""
    return datetime.datetime.fromtimestamp(ago(written), datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def scene(case: Mapping[str, Any], bases: Mapping[str, Any]) -> ClusterObservation:
    """The scene of a case."""
    found: dict[str, Any] = {}
    for name in _chain(case.get("base", "flux"), bases):
        found = _merged(found, bases[name])
    found = _merged(found, case)
    objects = {
        observation.name_of(each) + observation.kind_of(each): each for each in _objects(found.get("objects", []))
    }
    for gone in found.get("without", []):
        objects = {key: each for key, each in objects.items() if not observation.name_of(each).startswith(gone)}
    machines = tuple(_sight(name, each or {}) for name, each in found.get("machines", {}).items())
    engine = found.get("engine")
    api = dict(found.get("api", {"is_reached": True}))
    for key in ("serving_until", "kubeconfig_until"):
        if key in api:
            api[key] = ago(api[key])
    api["failed_checks"] = tuple(api.get("failed_checks", ()))
    return ClusterObservation(
        cluster=Cluster(
            name="home",
            place=Place("firstlight.yaml"),
            engine=Engine(engine) if engine else None,
            machines=tuple(each.machine for each in machines),
        ),
        now=NOW,
        patience=float(found.get("patience", 60.0)),
        objects=tuple(objects.values()),
        events=tuple(_event(each) for each in found.get("events", [])),
        logs={key: tuple(lines) for key, lines in found.get("logs", {}).items()},
        certificates={key: ago(end) for key, end in found.get("certificates", {}).items()},
        machines=machines,
        members=tuple(
            model_machine.EtcdMember("10.0.0.1", name, name, (f"https://{address}:2380",), (), False)
            for name, address in found.get("members", {}).items()
        ),
        alarms=tuple(
            model_machine.EtcdAlarm("10.0.0.1", member, kind) for member, kind in found.get("alarms", {}).items()
        ),
        api=ApiObservation(**api),
        unserved=frozenset(found.get("unserved", ())),
        foundation=tuple(tuple(each.split("/")) for each in found.get("foundation", [])),
        overrides=tuple(_override(each) for each in found.get("overrides", [])),
        unlisted=frozenset(found.get("unlisted", ())),
    )


def again(scene: ClusterObservation, **changes: Any) -> ClusterObservation:
    """The same scene with something else in it."""
    return dataclasses.replace(scene, **changes)


def _chain(name: str, bases: Mapping[str, Any]) -> list[str]:
    below = bases[name].get("base")
    return [*(_chain(below, bases) if below else []), name]


def _merged(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(one)
    for key, value in other.items():
        if key in found and isinstance(found[key], list) and isinstance(value, list):
            found[key] = [*found[key], *value]
        elif key in found and isinstance(found[key], dict) and isinstance(value, dict) and key != "api":
            found[key] = {**found[key], **value}
        else:
            found[key] = value
    return found


def _objects(listed: list[Any]) -> Iterator[dict[str, Any]]:
    for each in listed:
        if "workload" in each:
            yield from _workload(each)
        else:
            yield _object(each)


def _object(short: Mapping[str, Any]) -> dict[str, Any]:
    """An object from ``is``, ``age``, ``conditions`` and whatever else it has."""
    kind, _, place = str(short["is"]).partition(" ")
    namespace, _, name = place.rpartition("/")
    group = _GROUPS.get(kind, "")
    metadata: dict[str, Any] = {"name": name, "creationTimestamp": stamp(short.get("age", "1h")), "generation": 1}
    metadata |= {"namespace": namespace} if namespace else {}
    metadata |= {key: short[key] for key in ("labels", "annotations", "finalizers") if key in short}
    if "going" in short:
        metadata["deletionTimestamp"] = stamp(short["going"])
    if "owner" in short:
        metadata["ownerReferences"] = [_owner(short["owner"])]
    if "managed" in short:
        metadata["managedFields"] = [
            {"manager": manager, "operation": "Apply", "time": stamp(age), "fieldsV1": {"f:spec": {"f:suspend": {}}}}
            for manager, age in short["managed"].items()
        ]
    version = short.get("apiVersion") or f"{group}/{_VERSIONS.get(group, 'v1')}".lstrip("/")
    value: dict[str, Any] = {"apiVersion": version, "kind": kind, "metadata": metadata}
    value |= {key: copy.deepcopy(each) for key, each in short.items() if key not in _SHORT}
    if "conditions" in short:
        conditions = [_condition(kind, said) for kind, said in short["conditions"].items()]
        value["status"] = {**value.get("status", {}), "conditions": conditions}
    return value


def _owner(written: str) -> dict[str, Any]:
    kind, _, name = written.partition(" ")
    return {"kind": kind, "name": name, "uid": f"uid of {name}", "controller": True}


def _condition(kind: str, said: Any) -> dict[str, Any]:
    """``False GitOperationFailed: message``, or the same with ``since``."""
    since = "30m"
    if isinstance(said, Mapping):
        said, since = said["is"], said.get("since", since)
    match = re.fullmatch(r"(True|False|Unknown)(?: (\S+?))?(?:: (.*))?", str(said).strip(), re.DOTALL)
    assert match, said
    return {
        "type": kind, "status": match[1], "reason": match[2] or "", "message": match[3] or "",
        "lastTransitionTime": stamp(since),
    }  # fmt: skip


def _workload(short: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A Deployment, DaemonSet, StatefulSet or Job with its pods: all ready, or all as ``pod`` says."""
    kind, _, place = str(short["workload"]).partition(" ")
    namespace, name = place.split("/")
    pod = dict(short.get("pod", {}))
    replicas = short.get("replicas", 1)
    nodes = short.get("nodes", ["cp-1", "cp-2", "cp-3"])
    count = len(nodes) if kind == "DaemonSet" else short.get("made", replicas)
    ready = 0 if pod else count
    ready = short.get("ready", ready)
    labels = {"app": name, **short.get("labels", {})}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "app", "image": _image(short)}]}}
    template["spec"] |= short.get("template", {})
    status: dict[str, Any] = {"observedGeneration": 1}
    if kind == "Deployment":
        status |= {"replicas": count, "updatedReplicas": count, "readyReplicas": ready, "availableReplicas": ready}
    elif kind == "StatefulSet":
        status |= {"replicas": count, "updatedReplicas": count, "readyReplicas": ready}
    elif kind == "DaemonSet":
        status |= {"desiredNumberScheduled": count, "updatedNumberScheduled": count, "numberAvailable": ready,
                   "numberReady": ready}  # fmt: skip
    spec = {"selector": {"matchLabels": {"app": name}}, "template": template, **short.get("spec", {})}
    if kind in ("Deployment", "StatefulSet"):
        spec["replicas"] = replicas
    own = {
        key: short[key]
        for key in ("age", "annotations", "conditions", "finalizers", "owner", "managed")
        if key in short
    }
    own["labels"] = short.get("own", {})
    made = _object({"is": short["workload"], **own, "spec": spec})
    made["status"] = {**status, **made.get("status", {}), **short.get("status", {})}
    made["metadata"]["uid"] = f"uid of {name}"
    yield made
    for number, node in zip(range(count), itertools.cycle(nodes)):
        is_well = not pod or number < ready
        yield _pod(f"{namespace}/{name}-{number + 1}", f"{kind} {name}", node=node, labels=labels, template=template,
                   age=short.get("age", "1h"), state={} if is_well else pod)  # fmt: skip


def _image(short: Mapping[str, Any]) -> str:
    return str(short.get("image", "registry.example.org/app:1.0"))


def _pod(
    place: str, owner: str, *, node: str, labels: Mapping[str, str], template: Mapping[str, Any], age: str,
    state: Mapping[str, Any],
) -> dict[str, Any]:  # fmt: skip
    """A pod that is ready, or one that waits as its state says."""
    image = template["spec"]["containers"][0]["image"]
    container: dict[str, Any] = {
        "name": "app",
        "image": image,
        "ready": not state,
        "restartCount": state.get("restarts", 0),
    }
    phase = "Running"
    if "waiting" in state:
        reason, _, message = str(state["waiting"]).partition(": ")
        container["state"] = {"waiting": {"reason": reason, "message": message}}
        phase = "Pending"
    else:
        container["state"] = {"running": {"startedAt": stamp(age)}}
    if "last" in state:
        reason, _, code = str(state["last"]).partition(" ")
        container["lastState"] = {"terminated": {"reason": reason, "exitCode": int(code)}}
    conditions: dict[str, Any] = {"PodScheduled": "True", "Ready": "True"}
    spec = {**template["spec"], "nodeName": node}
    if state:
        since = state.get("since", age)
        conditions["Ready"] = {"is": "False ContainersNotReady: containers with unready status: [app]", "since": since}
    if "unscheduled" in state:
        del spec["nodeName"]
        conditions = {"PodScheduled": {"is": f"False Unschedulable: {state['unscheduled']}", "since": age}}
        phase = "Pending"
    made = _object(
        {"is": f"Pod {place}", "age": age, "labels": labels, "owner": owner, "conditions": conditions, "spec": spec}
    )
    made["status"] |= {"phase": phase}
    if "unscheduled" not in state:
        made["status"]["containerStatuses"] = [container]
    return made


def _event(short: Mapping[str, Any]) -> dict[str, Any]:
    kind, _, place = str(short["of"]).partition(" ")
    namespace, _, name = place.rpartition("/")
    about = {"kind": kind, "name": name, **({"namespace": namespace} if namespace else {})}
    if "uid" in short:
        about["uid"] = short["uid"]
    return {
        "apiVersion": "v1", "kind": "Event", "type": short.get("type", "Warning"), "reason": short["reason"],
        "message": short["message"], "count": 7, "involvedObject": about,
        "firstTimestamp": stamp(short.get("first", "20m")), "lastTimestamp": stamp(short.get("last", "30s")),
    }  # fmt: skip


def _sight(name: str, short: Mapping[str, Any]) -> MachineObservation:
    role = MachineRole.CONTROL_PLANE if name.startswith("cp") else MachineRole.WORKER
    number = int(name.rpartition("-")[2])
    address = short.get("address", f"10.0.0.{number}" if role is MachineRole.CONTROL_PLANE else f"10.0.0.1{number}")
    machine = Machine(name=name, role=role, place=Place("talos/talconfig.yaml", number), address=address,
                      install_disk=short.get("install_disk", ""))  # fmt: skip
    sight = EtcdSight()
    is_ours = short.get("standing", "ours") == "ours"
    if role is MachineRole.CONTROL_PLANE and is_ours:
        members = frozenset(short.get("members", ["cp-1", "cp-2", "cp-3"]))
        given = {"data": "some", "state": "Running", "member": name, "leader": "cp-1", **short.get("etcd", {})}
        given["data"] = EtcdData(given["data"])
        given["members"] = members
        given["learners"] = frozenset(given.get("learners", ()))
        sight = EtcdSight(**given)
    services = [
        TalosServiceState(address, id, *_service(each))
        for id, each in {"apid": "Running", **short.get("services", {})}.items()
    ]
    offset = short.get("offset")
    times = [
        datetime.datetime.fromtimestamp(NOW + (offset or 0), datetime.UTC),
        datetime.datetime.fromtimestamp(NOW, datetime.UTC),
    ]
    return MachineObservation(
        report=MachineReport(
            machine=machine,
            standing=MachineStanding(short.get("standing", "ours")),
            stage=short.get("stage", "running" if is_ours else ""),
            why=short.get("why", ""),
            etcd=sight,
        ),
        services=tuple(services),
        diagnostics=tuple(TalosDiagnostic(**each) for each in short.get("diagnostics", [])),
        dmesg=tuple(short.get("dmesg", ())),
        links={link: NetworkLink(type="ether", hardware_addr=mac) for link, mac in short.get("links", {}).items()},
        disks=tuple(
            InstallDisk(dev_path=path, size=int(size), pretty_size=f"{int(size) // 10**9} GB")
            for path, size in short.get("disks", {}).items()
        ),
        addresses=tuple(LinkAddress(address=each, link_name=link) for link, each in short.get("addresses", {}).items()),
        clock=Clock(address, "time.example.org", *times) if offset is not None else None,
        documents=tuple(short.get("documents", ())),
    )


def _service(written: str) -> tuple[str, bool | None, str, float]:
    """``Waiting: the last event``."""
    state, _, event = written.partition(": ")
    return state, True if state == "Running" else None, event or "Health check successful", 3600.0


def _override(short: Mapping[str, Any]) -> Override:
    return Override(
        id=short["id"], cluster="home", emergency=Emergency.OUTAGE, reason=short["reason"], who=short["who"],
        begun=ago("1d"), until=ago(short["until"]), standing=OverrideStanding(short.get("standing", "open")), scope=(),
        held=tuple(SuspendedOwner(kind=kind, namespace=space, name=name, uid="", why="owns Deployment shop/web")
                   for kind, space, name in (re.split("[ /]", each) for each in short.get("held", []))),
    )  # fmt: skip
