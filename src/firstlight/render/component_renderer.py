"""Components rendered: which origins a side has, what was rendered before, and all of them at once.

``async with Renderer(platform, …) as renderer: await renderer.render(component, side=Side.GITOPS)``.
"""

import asyncio
import dataclasses
import enum
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from firstlight import errors
from firstlight.clients.sandbox import isolation
from firstlight.model.component import Component, ObjectId, Origin, Side, SourceForm
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.model.platform import Platform
from firstlight.model.rendition import Object, Rendition, VersionPin
from firstlight.model.source import ChartSource, RemoteSource, SeveralSources
from firstlight.render import (
    cache_files,
    helm_template,
    origin_renderer,
    render_questions,
    renderer_programs,
    served_kinds,
)
from firstlight.render.chart_store import ChartStore, Once
from firstlight.render.render_cache import RenderCache
from firstlight.render.render_questions import RenderQuestions, RenderSurroundings
from firstlight.render.rendered_objects import RawObjects
from firstlight.render.renderer_programs import RendererPrograms, RenderTools
from firstlight.render.served_kinds import ServedKinds
from firstlight.repo.work_tree import WorkTree

CACHE_FORMAT = 2
"""Of renderings that are kept; another number makes all of them unknown."""


class RenderVariant(enum.StrEnum):
    """How much of a rendering is wanted."""

    WHOLE = "whole"
    ONLY_CRDS = "only CRDs"
    """Nobody is asked what the cluster serves, since this is for the answer."""
    ALONE = "alone"
    """No object of another component is asked for, since this is for the answer."""


@dataclasses.dataclass(frozen=True)
class RenderOutcome:
    """A rendition, and how it was come by."""

    rendition: Rendition
    seconds: float
    """That programs took for it."""
    is_cached: bool


@dataclasses.dataclass(frozen=True)
class _Done:
    raw: RawObjects
    pins: tuple[VersionPin, ...]
    is_cached: bool
    seconds: float = 0.0


Progress = Callable[[Component, Side, RenderOutcome | None], None]
"""Told of a component when its rendering begins, without an outcome, and when it is done."""


class Renderer:
    """Renders the components of one platform; what several need is done once."""

    def __init__(
        self,
        platform: Platform,
        *,
        programs: RendererPrograms,
        store: ChartStore,
        cache: RenderCache,
        owner_labels: bool = False,
        anew: bool = False,
        at_once: int = 0,
        known_as: str = "",
        progress: Progress | None = None,
    ) -> None:
        """Prepare.

        Args:
            platform: What is rendered.
            programs: What renders.
            store: Where charts come from.
            cache: What was rendered before.
            owner_labels: Also put the labels and annotations on objects that engines put on what is theirs.
            anew: Render even what was rendered before.
            at_once: How many programs run at the same time; as many as there are cores if it is not given.
            known_as: By what renderings are known again where the platform's directory has another name each time.
            progress: Told of what happens.
        """
        self.platform = platform
        self._tools = RenderTools(programs, at_once=at_once)
        self._store = store
        self._cache = cache
        self._owner_labels = owner_labels
        self._anew = anew
        self._known_as = known_as or str(platform.root)
        self._progress = progress or (lambda component, side, outcome: None)
        self._tree = WorkTree(platform.root)
        self._lacked = isolation.missing_limits()
        self._told: set[isolation.MissingLimit] = set()
        self._done: Once[tuple[str, str, RenderVariant], _Done] = Once()
        self._served: Once[str, ServedKinds] = Once()
        self._surroundings: dict[tuple[str, RenderVariant, bool], RenderSurroundings] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._done.close()
        await self._served.close()
        await self._store.close()

    async def render(self, component: Component, *, side: Side) -> RenderOutcome:
        """What a component deploys in its cluster, from one side.

        Raises:
            errors.ToolError: A program is missing.
        """
        self._progress(component, side, None)
        done = [(origin, await self._whole(origin)) for origin in origins(component, side)]
        parts = [await self._finished(origin, each.raw) for origin, each in done]
        objects, repeated = _together(parts, [origin for origin, _ in done])
        diagnostics = [diagnostic for _, each in done for diagnostic in each.raw.diagnostics]
        if done and not all(each.is_cached for _, each in done):
            diagnostics += self._less_isolated(done[0][0].place)
        rendition = Rendition(
            component=component.name,
            cluster=component.cluster,
            side=side,
            objects=objects,
            pins=tuple(dict.fromkeys(pin for _, each in done for pin in each.pins)),
            diagnostics=tuple(dict.fromkeys([*diagnostics, *repeated])),
            by_default=tuple(id for _, each in done for id in each.raw.by_default),
        )
        seconds = sum(each.seconds for _, each in done)
        outcome = RenderOutcome(rendition, seconds, is_cached=bool(done) and all(each.is_cached for _, each in done))
        self._progress(component, side, outcome)
        return outcome

    def _less_isolated(self, place: Place) -> list[Diagnostic]:
        """What helm and kustomize ran without, told once: the kernel of this computer does not grant it."""
        found = isolation.missing_limits()
        new = [each for each, count in found.items() if each.is_of_renderers and count > self._lacked.get(each, 0)]
        missing = sorted(each for each in new if each not in self._told)
        self._told.update(missing)
        return [
            Diagnostic.warning(
                "render-isolation-missing",
                f"programs that render ran without {each}",
                at=place,
                fix="render strangers' repos where the kernel grants it; see: firstlight tools",
            )
            for each in missing
        ]

    async def render_all(self, components: Iterable[Component], *, side: Side | None = None) -> list[RenderOutcome]:
        """Many components at once, in the order in which they are given.

        Args:
            components: Which ones.
            side: The side; each of a component's own if it is not given.

        Raises:
            errors.ToolError: A program is missing.
        """
        wanted = [(each, which) for each in components for which in sides(each) if side in (None, which)]
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self.render(each, side=which)) for each, which in wanted]
        except* errors.FirstlightError as failed:
            raise failed.exceptions[0] from None
        return [task.result() for task in tasks]

    async def served(self, cluster: str) -> ServedKinds:
        """The kinds that the CRDs of a cluster's components define."""
        return await self._served.get(cluster, lambda: self._find_served(cluster))

    async def objects(self, origin: Origin) -> tuple[RawObjects, tuple[Object, ...]]:
        """What an origin deploys: as the renderer made it, and as the engine would apply it.

        Raises:
            errors.ToolError: A program is missing.
        """
        raw = (await self._whole(origin)).raw
        return raw, await self._finished(origin, raw)

    async def release(
        self, origin: Origin, chart: ChartSource
    ) -> tuple[helm_template.ChartRelease, tuple[Diagnostic, ...]]:
        """What Helm is given for a chart of an origin: the same that it is rendered from.

        Raises:
            errors.FirstlightError: The chart cannot be had.
        """
        asked = RenderQuestions(self._around(origin, RenderVariant.WHOLE))
        return await origin_renderer.prepare(
            origin, chart, asked, served_kinds.facts_of(self.platform.cluster(origin.cluster))
        )

    @property
    def store(self) -> ChartStore:
        """Where charts are kept."""
        return self._store

    async def _find_served(self, cluster: str) -> ServedKinds:
        everything = [
            (component, origin)
            for component in self.platform.components_of(cluster)
            for side in sides(component)[-1:]
            for origin in origins(component, side)
        ]
        done = await asyncio.gather(*(self._crds(origin) for _, origin in everything))
        missing = {
            component.name for (component, _), each in zip(everything, done, strict=True) if not each.raw.is_whole
        }
        return served_kinds.served_by((obj for each in done for obj in each.raw.objects), missing=missing)

    async def _whole(self, origin: Origin) -> _Done:
        return await self._get(origin, RenderVariant.WHOLE)

    async def _crds(self, origin: Origin) -> _Done:
        """An origin without asking what the cluster serves, which depends on this one, too."""
        if not _may_have_charts(origin):
            return await self._get(origin, RenderVariant.WHOLE)
        try:
            return await self._get(origin, RenderVariant.ONLY_CRDS)
        except helm_template.OnlyCrdsNeeded:
            return await self._get(origin, RenderVariant.WHOLE)

    async def _get(self, origin: Origin, variant: RenderVariant) -> _Done:
        key = (origin.cluster, f"{origin.id} {origin.place}", variant)
        return await self._done.get(key, lambda: self._do(origin, variant))

    async def _do(self, origin: Origin, variant: RenderVariant) -> _Done:
        around = self._around(origin, variant)
        known = served_kinds.facts_of(self.platform.cluster(origin.cluster))
        key = self._key(origin, known, variant)
        entry = None if self._anew else self._cache.find(key)
        if entry is not None and await _holds(entry.answers, around):
            return _Done(entry.raw, entry.pins, is_cached=True)
        asked, counted = RenderQuestions(around), renderer_programs.RenderSeconds()
        renderer_programs.spent.set(counted)
        try:
            raw = await origin_renderer.render(origin, asked, self._tools, known)
        except errors.ToolError:
            raise
        except errors.FirstlightError as error:
            raw = RawObjects(
                diagnostics=(renderer_programs.failure_diagnostic(error, origin.place, (self.platform.root,)),)
            )
        self._cache.keep(key, raw, asked.answers, asked.pins)
        return _Done(raw, asked.pins, is_cached=False, seconds=counted.seconds)

    def _key(self, origin: Origin, known: served_kinds.TemplateFacts, variant: RenderVariant) -> str:
        wanted = [CACHE_FORMAT, variant, self._known_as, self._tools.stamp, dataclasses.asdict(known)]
        about = [origin.form, origin.name, origin.namespace, origin.phase, origin.place, origin.objects]
        declared = [type(origin.source).__name__, origin.source, origin.definition, origin.maker]
        return cache_files.value_digest([wanted, about, *declared])

    def _around(self, origin: Origin, variant: RenderVariant) -> RenderSurroundings:
        cluster, is_single = origin.cluster, _has_one_source(origin)
        if (cluster, variant, is_single) not in self._surroundings:
            self._surroundings[cluster, variant, is_single] = RenderSurroundings(
                tree=self._tree,
                store=self._store,
                object=_nothing if variant == RenderVariant.ALONE else _within(cluster, self._object),
                served=_no_kinds if variant != RenderVariant.WHOLE else lambda: self.served(cluster),
                only_crds=variant == RenderVariant.ONLY_CRDS,
                stops=is_single,
            )
        return self._surroundings[cluster, variant, is_single]

    async def _object(self, cluster: str, kind: str, namespace: str, name: str) -> Mapping[str, Any] | None:
        """An object that a component of the cluster deploys; of a Secret no more than its keys."""
        for component in self.platform.components_of(cluster):
            for origin in component.origins:
                listed = (each for each in origin.objects if each.kind == kind)
                if any((each.namespace, each.name) == (namespace, name) for each in listed):
                    done = await self._get(origin, RenderVariant.ALONE)
                    found = next((each for each in done.raw.objects if _is(each.id, kind, namespace, name)), None)
                    if found is not None:
                        return _without_secrets(found.value) if kind == "Secret" else found.value
        return None

    async def _finished(self, origin: Origin, raw: RawObjects) -> tuple[Object, ...]:
        own = served_kinds.served_by(raw.objects)
        if origin_renderer.unknown_scopes(raw.objects, raw.namespace, own):
            whole = await self.served(origin.cluster)
            own = dataclasses.replace(whole, scopes={**whole.scopes, **own.scopes})
        objects = origin_renderer.in_namespaces(raw.objects, raw.namespace, own)
        return origin_renderer.marked(objects, origin, raw) if self._owner_labels else objects


async def render(
    platform: Platform,
    component: Component,
    *,
    side: Side,
    programs: RendererPrograms,
    store: ChartStore,
    cache: RenderCache,
    owner_labels: bool = False,
    anew: bool = False,
) -> Rendition:
    """What one component deploys in its cluster, from one side; ``Renderer`` is for several.

    Raises:
        errors.ToolError: A program is missing.
    """
    async with Renderer(
        platform, programs=programs, store=store, cache=cache, owner_labels=owner_labels, anew=anew
    ) as renderer:
        return (await renderer.render(component, side=side)).rendition


def sides(component: Component) -> tuple[Side, ...]:
    """The sides that a component has something of."""
    bootstrap, gitops = component.halves
    return (*([Side.BOOTSTRAP] if bootstrap else []), *([Side.GITOPS] if gitops else []))


def origins(component: Component, side: Side) -> tuple[Origin, ...]:
    """Return what a side has of a component.

    Where bootstrap is only declared, what Git applies is the source; where Git applies nothing, what is declared.
    """
    bootstrap, gitops = component.halves
    if side == Side.GITOPS:
        return gitops
    own = tuple(each for each in bootstrap if each.form != SourceForm.DECLARED)
    return own if len(own) == len(bootstrap) else own or gitops or bootstrap


def _may_have_charts(origin: Origin) -> bool:
    each = origin.source.each if isinstance(origin.source, SeveralSources) else (origin.source,)
    is_application = origin.form == SourceForm.APPLICATION
    return any(isinstance(one, ChartSource) or (is_application and isinstance(one, RemoteSource)) for one in each)


def _has_one_source(origin: Origin) -> bool:
    """Whether there is one chart at most; those that a chart brings with it are not counted."""
    spec = origin.definition.get("spec")
    return (
        not (isinstance(spec, Mapping) and spec.get("sources"))
        if origin.form == SourceForm.APPLICATION
        else (not isinstance(origin.source, SeveralSources))
    )


def _together(parts: Sequence[tuple[Object, ...]], of: Sequence[Origin]) -> tuple[tuple[Object, ...], list[Diagnostic]]:
    """The objects of several origins; of those that come again the first one is kept, as is told if they differ."""
    found: dict[ObjectId, tuple[Object, Origin]] = {}
    loose: list[Object] = []
    diagnostics: list[Diagnostic] = []
    for objects, origin in zip(parts, of, strict=True):
        for each in objects:
            if not each.id.name:
                loose.append(each)  # a name is made when it is created
                continue
            first, whose = found.setdefault(each.id, (each, origin))
            if whose is not origin and first.value != each.value:
                message = f"{each.id.kind} {each.id.name} is another one in {whose.place} and here; the first is shown"
                diagnostics.append(Diagnostic.warning("object-twice", message, at=origin.place))
    return (*(each for each, _ in found.values()), *loose), diagnostics


async def _holds(answers: tuple[render_questions.RecordedAnswer, ...], around: RenderSurroundings) -> bool:
    try:
        return await render_questions.answers_hold(answers, around)
    except errors.ToolError:
        raise
    except errors.FirstlightError:
        return False  # what cannot be asked any more is told when it is rendered


def _within(
    cluster: str, find: Callable[[str, str, str, str], Awaitable[Mapping[str, Any] | None]]
) -> Callable[[str, str, str], Awaitable[Mapping[str, Any] | None]]:
    return lambda kind, namespace, name: find(cluster, kind, namespace, name)


async def _nothing(kind: str, namespace: str, name: str) -> Mapping[str, Any] | None:
    return None


async def _no_kinds() -> ServedKinds:
    return ServedKinds()


def _is(id: ObjectId, kind: str, namespace: str, name: str) -> bool:
    return (id.kind, id.namespace, id.name) == (kind, namespace, name)


def _without_secrets(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """A Secret with its keys alone."""
    kept = {
        field: dict.fromkeys(value[field], "")
        for field in ("data", "stringData")
        if isinstance(value.get(field), Mapping)
    }
    return {**{name: each for name, each in value.items() if name not in ("data", "stringData", "sops")}, **kept}
