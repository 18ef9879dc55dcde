"""What audit rules see: the platform with everything that it states, the files, and clusters where they were asked."""

import dataclasses
import datetime
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol

from firstlight.document.yaml_reader import YamlDialect, YamlDocument
from firstlight.model.cluster import Cluster
from firstlight.model.component import Component, Origin, Side, Stated
from firstlight.model.incident import Incident
from firstlight.model.place import Place
from firstlight.model.plan import Plan
from firstlight.model.platform import ClearSecret, Platform
from firstlight.model.rendition import Object, Rendition
from firstlight.plan import build, cluster_facts
from firstlight.plan.cluster_facts import ClusterFacts
from firstlight.repo import chart_values
from firstlight.repo.chart_values import GivenValue, ValuesLayer

LONGEST = 1_000
"""Characters of a line that expressions look at: a longer one, which nobody wrote by hand, would keep them busy."""


class RepoFiles(Protocol):
    """The files of the repo; a work tree is one."""

    @property
    def files(self) -> tuple[str, ...]:
        """Every file, sorted; ignored ones are not among them."""

    def is_file(self, path: str) -> bool:
        """Whether there is such a file."""

    def text(self, path: str) -> str | None:
        """A file's text; None where it has none."""

    def documents(self, path: str, *, dialect: YamlDialect = YamlDialect.KUBERNETES) -> tuple[YamlDocument, ...]:
        """The YAML documents of a file."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class AppliedObject:
    """An object that something of the repo applies to a cluster."""

    cluster: str
    component: Component
    origin: Origin
    object: Stated

    @property
    def value(self) -> Mapping[str, Any]:
        """The object itself."""
        return self.object.value


@dataclasses.dataclass(frozen=True, kw_only=True)
class LiveObjects:
    """What a cluster answered, if it was asked."""

    objects: Mapping[tuple[str, str], tuple[Mapping[str, Any], ...]] = dataclasses.field(repr=False)
    """By group and kind; a kind that it does not serve has none."""
    at: float | None = None
    """When it answered; None where only the day of the scene is known."""

    def of(self, kind: str) -> tuple[Mapping[str, Any], ...]:
        """Objects of a kind, as ``group/Kind``; ``/Node`` for the core group."""
        group, _, name = kind.rpartition("/")
        return self.objects.get((group, name), ())


@dataclasses.dataclass(frozen=True, kw_only=True)
class PlatformView:
    """Everything that rules may look at."""

    platform: Platform
    files: RepoFiles
    today: datetime.date
    tracked: frozenset[str] | None = None
    """The files that Git tracks; None where there is no Git."""
    untracked: tuple[str, ...] = ()
    """Files on the disk that Git neither tracks nor ignores."""
    ignored: tuple[str, ...] = ()
    """Files on the disk that Git ignores, where the repo names them."""
    modes: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """Permissions of files on the disk, of those that hold keys."""
    committed: Mapping[str, datetime.date] = dataclasses.field(default_factory=dict)
    """When files were committed last, of those that declare what bootstrap brings."""
    clear_secrets: tuple[ClearSecret, ...] = ()
    """Secrets whose values anybody can read who can read the repo."""
    renditions: tuple[Rendition, ...] = ()
    """What was really rendered; nothing unless somebody asked for it."""
    live: Mapping[str, LiveObjects] = dataclasses.field(default_factory=dict)
    """What clusters answered, by name; nothing unless somebody asked for it."""
    incidents: tuple[Incident, ...] = ()
    """The incident records that this computer has."""

    @property
    def clusters(self) -> tuple[Cluster, ...]:
        """All clusters of the repo."""
        return self.platform.clusters

    @cached_property
    def items(self) -> tuple[AppliedObject, ...]:
        """Every object that something of the repo applies, once for each cluster."""
        return tuple(
            AppliedObject(cluster=component.cluster, component=component, origin=origin, object=stated)
            for component in self.platform.components
            for origin in component.origins
            for stated in origin.stated
        )

    @cached_property
    def _by_kind(self) -> Mapping[str, Sequence[AppliedObject]]:
        found: dict[str, list[AppliedObject]] = {}
        for each in self.items:
            found.setdefault(f"{each.object.id.group}/{each.object.id.kind}", []).append(each)
        return found

    def of_kind(self, *kinds: str) -> Iterator[AppliedObject]:
        """Objects of these kinds, each as ``group/Kind``; ``/Secret`` for the core group."""
        for kind in kinds:
            yield from self._by_kind.get(kind, ())

    def kinds(self) -> Iterator[str]:
        """Every kind that something is of."""
        yield from self._by_kind

    def of_cluster(self, cluster: str, *kinds: str) -> Iterator[AppliedObject]:
        """Objects of these kinds in one cluster."""
        return (each for each in self.of_kind(*kinds) if each.cluster == cluster)

    @cached_property
    def facts(self) -> Mapping[str, ClusterFacts]:
        """What is known of each cluster before a run."""
        return {each.name: cluster_facts.of(self.platform, each, self.renditions) for each in self.clusters}

    @cached_property
    def plans(self) -> Mapping[str, Plan]:
        """The plan of each cluster, by its name."""
        return {each.name: build.build(self.platform, each, renditions=self.renditions) for each in self.clusters}

    def with_role(self, role: str, cluster: str = "") -> Iterator[Component]:
        """Components of a role, in all clusters or in one."""
        return (each for each in self._by_role.get(role, ()) if not cluster or each.cluster == cluster)

    @cached_property
    def _by_role(self) -> Mapping[str, Sequence[Component]]:
        found: dict[str, list[Component]] = {}
        for each in self.platform.components:
            found.setdefault(each.role, []).append(each)
        return found

    def value(self, component: Component, *path: str, side: Side | None = None) -> GivenValue | None:
        """A value that a chart of a component is given, with the place that says it; the last one counts.

        Args:
            component: Whose chart.
            path: The way to the value.
            side: Bootstrap's or GitOps' half; both by default, GitOps' last.
        """
        return chart_values.find_value(self._layers(component, side), path)

    def knows(self, component: Component, *path: str, side: Side | None = None) -> bool:
        """Whether a value that no file gives is really the chart's default.

        Args:
            component: Whose chart.
            path: The way to the value.
            side: Bootstrap's or GitOps' half; both by default.
        """
        sides = (side,) if side else ()
        is_variable = chart_values.has_variable(self._layers(component, side), path)
        return not is_variable and chart_values.are_values_known(component, *sides)

    def values(self, component: Component, side: Side | None = None) -> tuple[chart_values.ValuesLayer, ...]:
        """All values that the charts of a component are given, in the order in which they win."""
        return self._layers(component, side)

    def _layers(self, component: Component, side: Side | None) -> tuple[chart_values.ValuesLayer, ...]:
        kept: dict[tuple[str, str, Side | None], tuple[chart_values.ValuesLayer, ...]] = self.__dict__.setdefault(
            "_kept", {}
        )
        key = component.cluster, component.name, side
        if key not in kept:
            sides = (side,) if side else (Side.BOOTSTRAP, Side.GITOPS)
            origins = [each for wanted in sides for each in cluster_facts.origins(component, wanted)]
            kept[key] = tuple(
                layer for each in origins for layer in chart_values.layers(each, self.files, self._declaring)
            )
        return kept[key]

    @cached_property
    def _declaring(self) -> Mapping[tuple[str, str], Stated]:
        """The objects that declare origins, by cluster and place."""
        return {(each.cluster, str(each.object.place)): each.object for each in self.items}

    def declaring(self, origin: Origin) -> Stated | None:
        """The object that declares an origin, such as a HelmRelease, with the way to its lines."""
        return self._declaring.get((origin.cluster, str(origin.place)))

    def rendered(self, cluster: str) -> Iterator[tuple[Rendition, Object]]:
        """What was rendered for a cluster, object by object."""
        for each in self.renditions:
            if each.cluster == cluster:
                yield from ((each, item) for item in each.objects)

    def lines(self, path: str, pattern: str) -> Iterator[tuple[Place, re.Match[str]]]:
        """Where a text file has a regular expression, line by line."""
        expression = re.compile(pattern)
        for number, line in enumerate((self.files.text(path) or "").splitlines(), 1):
            if match := expression.search(line[:LONGEST]):
                yield Place(path, number, match.start() + 1), match


# The values of a chart with all layers merged: what Helm would give it, each with the place that says it.


ValuePath = tuple[str, ...]
_DEEPEST = 30


def merged_leaves(layers: Iterable[ValuesLayer]) -> dict[ValuePath, GivenValue]:
    """Every single value, and every list as a whole; of several layers the last one counts."""
    found: dict[ValuePath, GivenValue] = {}
    for layer in layers:
        for path, value in _flat(layer.value):
            for other in [each for each in found if _overlap(each, path)]:
                del found[other]
            if value is not None:
                found[path] = GivenValue(value, layer.at(*path), layer, path)
    return found


def _overlap(one: ValuePath, other: ValuePath) -> bool:
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]


def _flat(value: Mapping[str, Any], path: ValuePath = ()) -> Iterator[tuple[ValuePath, Any]]:
    for key, each in value.items():
        below = (*path, str(key))
        if isinstance(each, Mapping) and each and len(path) < _DEEPEST:
            yield from _flat(each, below)
        elif not isinstance(each, Mapping):
            yield below, each


def value_text(value: Any) -> str:
    """A value as it is compared: ``--set`` knows texts only, and the order of keys means nothing."""
    if isinstance(value, Mapping | list):
        return json.dumps(value, sort_keys=True, default=str)
    return str(value).lower() if isinstance(value, bool) else str(value)


def is_switched_on(
    scene: PlatformView, component: Component, side: Side, path: str, *, default: bool
) -> tuple[bool, GivenValue | None]:
    """Whether a switch of a chart is on, and where that is said."""
    given = scene.value(component, *path.split("."), side=side)
    return (default, None) if given is None else (value_text(given.value) == "true", given)
