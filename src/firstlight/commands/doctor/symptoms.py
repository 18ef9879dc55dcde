"""What is wrong with a cluster, as rules say it, each with evidence and a next command; what rules make it of.

What a code means, on which layer it lies and what can be done about it stands in ``symptoms.yaml``.
"""

import dataclasses
import datetime
import enum
import functools
import importlib.resources
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from firstlight.document import conditions, yaml_reader
from firstlight.document.within import mapping, text
from firstlight.gates.causes import refusals
from firstlight.model.diagnostic import Diagnostic, Evidence, Severity
from firstlight.observe.cluster.observation import name_of

ETCD, API, DNS, NETWORK, ENGINE, TIME = "etcd", "api", "dns", "network", "engine", "time"
"""Names of what is not an object, and everything stands on."""
_FILE = "symptoms.yaml"


class SymptomLayer(enum.IntEnum):
    """Where something is wrong; what is lower carries what is higher."""

    MACHINE = 0
    ETCD = 1
    API = 2
    NETWORK = 3
    DNS = 4
    ADDRESSES = 5
    """Of Services, to the outside: the cluster itself works without them."""
    ADMISSION = 6
    SECRETS = 7
    ENGINE = 8
    SOURCE = 9
    COMPONENT = 10
    WORKLOAD = 11


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class NextCommand:
    """What to type next, and what for."""

    command: str
    why: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Symptom(Diagnostic):
    """One thing that is wrong; two symptoms of one code differ in their subject, as ``name_of`` calls it.

    It explains another one if a name of it is among the needs of the other one: that is all there is to cause and
    effect.
    """

    layer: SymptomLayer
    next: tuple[NextCommand, ...] = ()
    since: float = 0.0
    """When it began, as far as anything tells; 0 if nothing does."""
    names: frozenset[str] = frozenset()
    """What cannot work while this lasts, beside the subject."""
    needs: frozenset[str] = frozenset()
    """What would explain it, if something were wrong with it."""
    because: tuple[str, ...] = ()
    """Keys of symptoms that explain it: ``git-authentication GitRepository flux-system/home``."""

    @property
    def key(self) -> str:
        """What others call it."""
        return f"{self.code} {self.subject}"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RootCause:
    """A symptom that nothing else explains, with all that follows from it."""

    symptom: Symptom
    effects: tuple[Symptom, ...] = ()
    """The nearest first."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """What is wrong with a cluster."""

    cluster: str
    causes: tuple[RootCause, ...]
    """The one that explains most first; none where nothing is wrong."""
    looked: tuple[str, ...] = ()
    """What was looked at: ``4 machines``, ``612 objects``, ``38 events``."""
    unseen: tuple[str, ...] = ()
    """What could not be looked at, and why."""
    seconds: float = 0.0


class SymptomCard(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is known of a code, whatever it is found on."""

    layer: SymptomLayer
    title: str
    fix: str


@functools.cache
def cards() -> Mapping[str, SymptomCard]:
    """Every code that the rules know, as ``symptoms.yaml`` describes it."""
    file = importlib.resources.files("firstlight.commands.doctor") / _FILE
    (document,) = yaml_reader.read(file.read_bytes(), _FILE).documents
    return {
        code: SymptomCard(layer=SymptomLayer[card["layer"].upper()], title=card["title"], fix=card["fix"])
        for code, card in document.value.items()
    }


def symptom(
    *,
    code: str,
    subject: str,
    message: str,
    evidence: tuple[Evidence, ...] = (),
    next: tuple[NextCommand, ...] = (),
    since: float | None = None,
    names: frozenset[str] = frozenset(),
    needs: frozenset[str] = frozenset(),
    layer: SymptomLayer | None = None,
) -> Symptom:
    """One thing that is wrong; the layer is that of its card, unless it is given."""
    card = cards()[code]
    return Symptom(
        code=code,
        severity=Severity.ERROR,
        message=message,
        fix=card.fix,
        subject=subject,
        evidence=evidence,
        layer=card.layer if layer is None else layer,
        next=next,
        since=since or 0.0,
        names=names,
        needs=needs,
    )


def evidence(where: str, said: str, at: float | None = None) -> Evidence:
    """Something that anybody can look up, on one short line."""
    return Evidence(where=where, text=conditions.said(said), at=at or 0.0)


def of_event(event: Mapping[str, Any]) -> Evidence:
    """An event as evidence."""
    about = mapping(event, "involvedObject")
    name = name_of({"kind": text(about, "kind"), "metadata": about})
    return evidence(
        f"event of {name}", f"{text(event, 'reason')}: {text(event, 'message')}", refusals.event_time(event)
    )


def of_condition(value: Mapping[str, Any], kind: str) -> Evidence:
    """A condition of an object as evidence."""
    found = conditions.condition(value, kind)
    words = [f"{kind} is {text(found, 'status')}", text(found, "reason"), text(found, "message")]
    return evidence(
        f"{name_of(value)}, status.conditions",
        ": ".join(each for each in words if each),
        conditions.condition_since(value, kind),
    )


def of_field(value: Mapping[str, Any], path: str, said: object) -> Evidence:
    """A field of an object as evidence."""
    return evidence(f"{name_of(value)}, {path}", str(said))


def of_end(where: str, at: float) -> Evidence:
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


def of_log(namespace: str, pod: str, line: str) -> Evidence:
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
