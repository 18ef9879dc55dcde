"""Applications followed as Argo CD would: from those that somebody applies to those that they bring."""

import dataclasses
import posixpath
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from firstlight.model import argocd_names
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.source import ChartSource
from firstlight.repo import put_aside
from firstlight.repo.argocd import (
    application_sets,
    application_sources,
    application_spec,
    definitions,
    directory_contents,
    local_charts,
)
from firstlight.repo.argocd.application_sets import GeneratedApplication
from firstlight.repo.argocd.application_spec import Destination, has_placeholder
from firstlight.repo.argocd.definitions import Definition, Steps
from firstlight.repo.argocd.local_charts import ChartDirectory
from firstlight.repo.argocd.read_scope import MAX_APPLICATIONS, MAX_DEPTH, ReadScope

Key = tuple[str, int, Steps]

_EXAMPLES = {"template", "templates", "docs"}


@dataclasses.dataclass(frozen=True, eq=False)
class ApplicationNode:
    """An Application, and who brings it."""

    definition: Definition
    made: application_sources.ResolvedSources = dataclasses.field(repr=False)
    destination: Destination
    namespace: str
    """Of the Application itself."""
    parent: "ApplicationNode | None" = None
    group: str = ""
    """For one that no Application brings: the kustomization or chart that does."""
    app_set: Definition | None = dataclasses.field(default=None, repr=False)
    is_template: bool = False
    is_inline: bool = False
    """Whether a machine applies it."""

    @cached_property
    def id(self) -> str:
        """The id of its origin."""
        return f"application/{self.namespace}/{self.definition.name}"

    @cached_property
    def root(self) -> "ApplicationNode":
        """The one that no Application brings."""
        node = self
        while node.parent is not None:
            node = node.parent
        return node


@dataclasses.dataclass(frozen=True)
class ApplicationTree:
    """All Applications of a tree."""

    nodes: tuple[ApplicationNode, ...]
    unreached: tuple[ApplicationNode, ...]
    """Each with the reason in its doubt."""
    projects: tuple[Definition, ...]
    diagnostics: tuple[Diagnostic, ...]


def key(one: Definition) -> Key:
    """Where an object is written, which tells it from all others."""
    return (one.place.path, one.place.line, one.steps)


def follow(declared: Sequence[Definition], scope: ReadScope, *, inline: Sequence[Definition] = ()) -> ApplicationTree:
    """Follow the Applications of a tree.

    Args:
        declared: What stands in its files.
        scope: The tree.
        inline: What stands in inline manifests, and is applied by machines.
    """
    walk = _Walk(scope)
    all_variants = [list(variants(each, scope)) for each in declared]
    brought = walk.brought([*inline, *(variant for found in all_variants for _, variant in found)])
    for each in inline:
        if key(each) not in brought:
            walk.start(each, is_inline=True)
    walk.environments = _environments(each for each in declared if key(each) not in brought)
    late = [each for each in declared if key(each) in brought]
    for each, found in zip(declared, all_variants, strict=True):
        for group, root in found if key(each) not in brought else ():
            walk.start_or_leave_out(root, group=group)
            walk.diagnostics += scope.build(group).diagnostics if group else ()
    for each in late:  # a circle, or brought by something that was changed on its way
        if key(each) not in walk.seen:
            walk.start_or_leave_out(each)
    for chart in local_charts.charts_of_applications(scope):
        if chart.path not in scope.rendered:
            walk.start_chart(chart)
    projects = {
        key(each): each for each in [*declared, *inline, *walk.projects] if each.kind == argocd_names.APP_PROJECT
    }
    return ApplicationTree(tuple(walk.nodes), tuple(walk.unreached), tuple(projects.values()), tuple(walk.diagnostics))


def _environments(roots: Iterable[Definition]) -> frozenset[Key]:
    """Roots of one name, of which a cluster can have only one: each is for an environment of its own."""
    named: dict[tuple[str, str, str], list[Key]] = {}
    for one in roots:
        if one.kind in (argocd_names.APPLICATION, argocd_names.APPLICATION_SET):
            named.setdefault((one.kind, one.namespace, one.name), []).append(key(one))
    return frozenset(each for keys in named.values() if len(keys) > 1 for each in keys)


def variants(one: Definition, scope: ReadScope) -> Iterator[tuple[str, Definition]]:
    """An object as each kustomization above it makes it; as it is written where none does."""
    is_found = False
    for top in directory_contents.top_kustomizations(one.place.path, scope.users):
        for manifest in scope.build(top).manifests:
            made = definitions.of_manifest(manifest)
            if key(made) == key(one):
                is_found = True
                yield top, made
    if not is_found:
        yield "", one


def _looks_like_a_template(one: Definition, *, is_led_to: bool) -> str:
    """Why an object is not meant to be applied as it stands; empty if it is."""
    written = [
        one.name,
        *(text for spec in application_spec.source_specs(one) for text in (spec.url, spec.chart, spec.written_path)),
    ]
    if one.kind == argocd_names.APPLICATION_SET:
        written = [one.name]
    placeholder = next((each for each in written if has_placeholder(each)), "")
    if placeholder:
        return f"there is something to be filled in: {placeholder}"
    directories = posixpath.dirname(one.place.path).split("/") if not is_led_to else []
    aside = "" if is_led_to else posixpath.basename(put_aside.directory(one.place.path))
    example = next((each for each in directories if each.lower() in _EXAMPLES), aside)
    return f"it is in a directory named {example}, and nothing leads there" if example else ""


class _Walk:
    """What was found on the way."""

    def __init__(self, scope: ReadScope) -> None:
        self._scope = scope
        self.nodes: list[ApplicationNode] = []
        self.unreached: list[ApplicationNode] = []
        self.diagnostics: list[Diagnostic] = []
        self.projects: list[Definition] = []
        self.seen: set[Key] = set()
        self.environments: frozenset[Key] = frozenset()
        """Roots that bring what they bring to an environment of their own."""
        self._environment: Key | None = None
        self._taken: dict[tuple[Key, str, str, Key | None], ApplicationNode] = {}
        # By the identity of values, which are kept: an object may be there in several variants.
        self._made: dict[int, tuple[Definition, application_sources.ResolvedSources]] = {}
        self._inner: dict[int, tuple[tuple[Definition, ...], tuple[Definition, ...]]] = {}
        self._sets: dict[int, tuple[Definition, application_sets.GeneratedApplications]] = {}

    def brought(self, declared: Iterable[Definition]) -> set[Key]:
        """What Applications lead to, before it is known which of them are led to."""
        found: set[Key] = set()
        for one in declared:
            applications = [each.definition for each in self._applications(one).applications]
            for app in applications:
                found |= {key(each) for each in self._children(app)} - {key(one)}
        return found

    def start_or_leave_out(self, one: Definition, *, group: str = "") -> None:
        """Follow what no Application brings, unless it is not meant to be applied."""
        reason = _looks_like_a_template(one, is_led_to=bool(group))
        if reason:
            self.leave_out(one, reason)
        else:
            self.start(one, group=group)

    def start_chart(self, chart: ChartDirectory) -> None:
        """Take what a chart makes that no Application reads, with the values that it has itself."""
        release = ChartSource(name=chart.path, release=chart.name, namespace=argocd_names.NAMESPACE)
        values = local_charts.default_values(self._scope.tree, chart.path)
        rendered = local_charts.chart_applications(chart, values, release, scope=self._scope)
        self.diagnostics += rendered.diagnostics
        for each in rendered.definitions:
            doubt = f"no Application of this repo reads the chart {chart.path}, so it may be given other values"
            made = dataclasses.replace(each, doubt=each.doubt or doubt, is_guessed=True)
            self.start_or_leave_out(made, group=chart.path)

    def leave_out(self, one: Definition, reason: str) -> None:
        """Keep what nothing leads to, with the reason."""
        if key(one) in self.seen or one.kind == argocd_names.APP_PROJECT:
            return
        self.seen.add(key(one))
        found = application_sets.template(one, reason).definition if one.kind == argocd_names.APPLICATION_SET else one
        doubted = dataclasses.replace(found, doubt=reason)
        self.unreached.append(self._node(GeneratedApplication(doubted, is_template=True), None))

    def start(self, one: Definition, *, group: str = "", is_inline: bool = False) -> None:
        """Take what no Application brings, and what it brings, one after the other."""
        self._environment = key(one) if key(one) in self.environments else None
        waiting: list[tuple[Definition, ApplicationNode | None]] = [(one, None)]
        while waiting:
            each, above = waiting.pop()
            if each.kind == argocd_names.APP_PROJECT:
                self.projects.append(each)
            if each.kind == argocd_names.APP_PROJECT or _is_within(each, above):
                continue  # an Application that brings itself, as roots do
            made = self._applications(each)
            self.seen.add(key(each))
            self.diagnostics += made.diagnostics
            if each.kind == argocd_names.APPLICATION_SET and not made.applications:
                self._empty(each)
            children: list[tuple[Definition, ApplicationNode | None]] = []
            for application in made.applications:
                node = self._take(application, each, above, group=group, is_inline=is_inline and above is None)
                if node is not None:
                    children += [(inner, node) for inner in self._children(node.definition)]
            waiting += reversed(children)

    def _take(
        self,
        application: GeneratedApplication,
        one: Definition,
        above: ApplicationNode | None,
        *,
        group: str,
        is_inline: bool,
    ) -> ApplicationNode | None:
        """A new node; None if it is there already, or there are too many."""
        app = application.definition
        depth, node = 0, above
        while node is not None:
            depth, node = depth + 1, node.parent
        mark = (key(app), app.name, group, self._environment)
        if mark in self._taken:
            first = self._taken[mark]
            if above is not None and first.parent is not above:
                one_parent = _written_at(first.parent) if first.parent else "nobody"
                both = f"{one_parent} and {_written_at(above)}"
                message = f"{app.name} is created by two parents, {both}, which will overwrite each other"
                self.diagnostics.append(Diagnostic.warning("argocd-application-two-parents", message, at=app.place))
            return None
        if len(self.nodes) >= MAX_APPLICATIONS:
            message = f"{app.name} is left out: there are more than {MAX_APPLICATIONS} Applications"
            self.diagnostics.append(Diagnostic.error("argocd-too-many-applications", message, at=app.place))
            return None
        if depth > MAX_DEPTH:
            message = f"{app.name} is taken for a root: Applications bring each other more than {MAX_DEPTH} deep"
            self.diagnostics.append(Diagnostic.error("argocd-applications-too-deep", message, at=app.place))
            self.seen.discard(key(one))
            return None
        made = self._node(application, above, group=group, is_inline=is_inline, one=one)
        self._taken[mark] = made
        self.nodes.append(made)
        self.diagnostics += made.made.diagnostics
        if made.destination.diagnostic:
            self.diagnostics.append(made.destination.diagnostic)
        if not app.name:
            self.diagnostics.append(
                Diagnostic.error("argocd-application-unnamed", "the Application has no name", at=app.at("metadata"))
            )
        return made

    def _node(
        self,
        application: GeneratedApplication,
        above: ApplicationNode | None,
        *,
        group: str = "",
        is_inline: bool = False,
        one: Definition | None = None,
    ) -> ApplicationNode:
        app = application.definition
        inherited = above.destination.namespace if above else ""
        there = application_spec.read_destination(app, self._scope.registered)
        if above is not None and not there.cluster:
            # The Application is an object of its parent's destination, and that is the cluster it calls its own.
            there = dataclasses.replace(there, cluster=above.destination.cluster)
        return ApplicationNode(
            definition=app,
            made=self._resolved(app),
            destination=there,
            namespace=app.namespace or inherited or argocd_names.NAMESPACE,
            parent=above,
            group="" if above else group,
            app_set=one if one is not None and one.kind == argocd_names.APPLICATION_SET else None,
            is_template=application.is_template,
            is_inline=is_inline,
        )

    def _empty(self, one: Definition) -> None:
        reason = "the ApplicationSet makes no Application"
        if not definitions.items(one.spec.get("generators")):
            self.diagnostics.append(
                Diagnostic.warning(
                    "argocd-generator-missing", f"{reason}: it has no generators", at=one.at("spec", "generators")
                )
            )
        self.unreached.append(self._node(application_sets.template(one, reason), None))

    def _applications(self, one: Definition) -> application_sets.GeneratedApplications:
        """The Applications that an object is, or makes."""
        if one.kind == argocd_names.APPLICATION:
            return application_sets.GeneratedApplications((GeneratedApplication(one),))
        if one.kind != argocd_names.APPLICATION_SET:
            return application_sets.GeneratedApplications(())
        if id(one.value) not in self._sets:
            self._sets[id(one.value)] = (one, application_sets.applications(one, self._scope))
        return self._sets[id(one.value)][1]

    def _children(self, app: Definition) -> tuple[Definition, ...]:
        """What an Application brings; asked once for a directory that many of them read."""
        everything = self._resolved(app).definitions
        if id(everything) not in self._inner:
            own = tuple(each for each in everything if definitions.is_one(each.value))
            self._inner[id(everything)] = (everything, own)
        return self._inner[id(everything)][1]

    def _resolved(self, app: Definition) -> application_sources.ResolvedSources:
        if id(app.value) not in self._made:
            self._made[id(app.value)] = (app, application_sources.read(app, self._scope))
        return self._made[id(app.value)][1]


def _written_at(node: ApplicationNode) -> str:
    """An Application with its place, since several may have one name."""
    return f"{node.definition.name} ({node.definition.place})"


def _is_within(one: Definition, node: ApplicationNode | None) -> bool:
    """Whether an object is one of those that lead to it."""
    while node is not None:
        leader = node.app_set or node.definition
        if key(one) == key(leader) and one.name == leader.name:
            return True
        node = node.parent
    return False
