"""What a rule finds: a symptom, with the names of what it spoils and of what would explain it."""

import dataclasses
import datetime
from collections.abc import Iterable, Mapping
from typing import Any

from firstlight.commands.doctor.diagnosis import NextCommand, SymptomEvidence, SymptomLayer
from firstlight.document import conditions
from firstlight.document.within import mapping, text
from firstlight.gates.causes import refusals
from firstlight.observe.cluster.observation import name_of

ETCD, API, DNS, NETWORK, ENGINE, TIME = "etcd", "api", "dns", "network", "engine", "time"
"""Names of what is no object, and everything stands on."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RuleFinding:
    """One thing that is wrong.

    It explains another one if a name of it is among the needs of the other one: that is all there is to cause and
    effect. Objects are named as ``name_of`` does it.
    """

    rule: str
    subject: str
    says: str
    evidence: tuple[SymptomEvidence, ...] = ()
    next: tuple[NextCommand, ...] = ()
    since: float | None = None
    names: frozenset[str] = frozenset()
    """What cannot work while this lasts, beside the subject."""
    needs: frozenset[str] = frozenset()
    """What would explain it, if something were wrong with it."""
    layer: SymptomLayer | None = None
    """Where it is wrong, if not where its rule says."""


def evidence(where: str, said: str, at: float | None = None) -> SymptomEvidence:
    """Something that anybody can look up, on one short line."""
    return SymptomEvidence(where=where, text=conditions.said(said), at=at or 0.0)


def of_event(event: Mapping[str, Any]) -> SymptomEvidence:
    """An event as evidence."""
    about = mapping(event, "involvedObject")
    name = name_of({"kind": text(about, "kind"), "metadata": about})
    return evidence(
        f"event of {name}", f"{text(event, 'reason')}: {text(event, 'message')}", refusals.event_time(event)
    )


def of_condition(value: Mapping[str, Any], kind: str) -> SymptomEvidence:
    """A condition of an object as evidence."""
    found = conditions.condition(value, kind)
    words = [f"{kind} is {text(found, 'status')}", text(found, "reason"), text(found, "message")]
    return evidence(
        f"{name_of(value)}, status.conditions",
        ": ".join(each for each in words if each),
        conditions.condition_since(value, kind),
    )


def of_field(value: Mapping[str, Any], path: str, said: object) -> SymptomEvidence:
    """A field of an object as evidence."""
    return evidence(f"{name_of(value)}, {path}", str(said))


def of_end(where: str, at: float) -> SymptomEvidence:
    """The end of a certificate as evidence."""
    return evidence(where, f"notAfter: {written(at)}", at)


def written(at: float) -> str:
    """A moment as Kubernetes writes it."""
    try:
        return datetime.datetime.fromtimestamp(at, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        return "an unknown time"


def counted(count: int, noun: str) -> str:
    """``1 node``, ``3 nodes``."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def of_log(namespace: str, pod: str, line: str) -> SymptomEvidence:
    """A log line as evidence."""
    return evidence(f"log of Pod {namespace}/{pod}", line)


def command(written: str, why: str = "") -> NextCommand:
    """What to type next, and what for."""
    return NextCommand(command=written, why=why)


def kubectl(verb: str, value: Mapping[str, Any], why: str = "") -> NextCommand:
    """What kubectl says of an object: ``describe``, ``get -o yaml``."""
    namespace, name = text(value, "metadata", "namespace"), text(value, "metadata", "name")
    group, slash, _ = text(value, "apiVersion").rpartition("/")
    kind = text(value, "kind").lower()
    # Short kinds of strangers collide (Certificate, Cluster, Service …); Kubernetes' own do not.
    full = f"{kind}.{group}" if slash and "." in group and not group.endswith("k8s.io") else kind
    return command(f"kubectl{f' -n {namespace}' if namespace else ''} {verb} {full} {name}", why)


def names(*given: str | Iterable[str]) -> frozenset[str]:
    """Names of several, some of them already many."""
    found: set[str] = set()
    for each in given:
        found.update([each] if isinstance(each, str) else each)
    return frozenset(each for each in found if each)


def network_of(node: str) -> str:
    """What the network of one node is called."""
    return f"network of {node}"


def controller(name: str) -> str:
    """What a controller of an engine, or of anything else, is called."""
    return f"controller {name}"
