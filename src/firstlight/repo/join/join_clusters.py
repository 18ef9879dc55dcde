"""What a cluster may be called: its name becomes a directory, a context and a line on the screen."""

import dataclasses
import posixpath
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from firstlight.model.cluster import Cluster, ConfigBase, Network
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.repo.declaration import declaration_form
from firstlight.repo.join import territories
from firstlight.repo.join.territories import Territories

LONGEST = 253
"""As in firstlight.yaml."""
_NAME = re.compile(declaration_form.NAME.removesuffix("$"))


def is_name(text: str) -> bool:
    """Whether a cluster may be called so: as firstlight.yaml calls them."""
    return len(text) <= LONGEST and _NAME.fullmatch(text) is not None


def name_like(directory: str) -> str:
    """A name for a cluster that is called after the directory of the repo, which may be called anything."""
    if is_name(directory):
        return directory
    return re.sub(r"[^a-z0-9.]+", "-", directory.lower())[:63].strip("-.") or "cluster"


def checked_names(
    found: Sequence[Cluster], environments: Mapping[str, Place], *, fallback: str
) -> tuple[list[Cluster], dict[str, Place], list[Diagnostic]]:
    """The clusters that may be called what they are, or have no name; and what to say of the others.

    Args:
        found: What readers know.
        environments: Names that origins use, with the first place of each.
        fallback: What the repo's own directory is called: readers may have named a cluster after it.
    """
    named = [dataclasses.replace(each, name=name_like(fallback)) if each.name == fallback else each for each in found]
    places = {name_like(fallback) if name == fallback else name: place for name, place in environments.items()}
    wrong = {
        **{name: place for name, place in places.items() if name and not is_name(name)},
        **{each.name: each.place for each in reversed(named) if each.name and not is_name(each.name)},
    }
    diagnostics = [_diagnostic(name, place) for name, place in wrong.items()]
    kept = [each for each in named if each.name not in wrong]
    return kept, {name: place for name, place in places.items() if name not in wrong}, diagnostics


def _diagnostic(name: str, place: Place) -> Diagnostic:
    shown = "".join(each if each.isprintable() else "?" for each in name)
    shown = shown if len(shown) <= 60 else f"{shown[:60]}…"
    hint = (
        f"Write lower-case letters, digits, - and dots, such as {name_like(name)}; "
        "or name it in firstlight.yaml: clusters.NAME.machines or clusters.NAME.path."
    )
    return Diagnostic.error(
        "cluster-name-wrong", f"a cluster cannot be called '{shown}': it is left out", at=place, fix=hint
    )


# Which clusters of the readers are one and the same, and what they say together.
#
# Flux names a cluster by a path, Talos by its config, helmfile by an environment. Equal names are one cluster, and so
# are a tree of Git and a set of machines in directories that no other cluster has. A cluster without a name is the one
# whose directory it stands in, or the only one there is; and one that only Talos knows is the one that only Git knows,
# if there is no other choice.


@dataclasses.dataclass(frozen=True)
class Joined:
    """The clusters, and by which other names readers know them."""

    clusters: tuple[Cluster, ...]
    aliases: Mapping[str, str]
    """A reader's name for a cluster, and the name it has here; the empty one is what engines call their own."""
    diagnostics: tuple[Diagnostic, ...]
    territories: Territories = dataclasses.field(default_factory=lambda: Territories({}, {}))
    """Where files of which cluster stand."""
    doubt: str = ""
    """Why the cluster of an engine that names none may be another one."""


def join(
    found: Sequence[Cluster],
    *,
    fallback: str,
    environments: Mapping[str, Place] | None = None,
    mentioned: Callable[[Mapping[str, Collection[str]]], Collection[str]] = lambda _: (),
) -> Joined:
    """Join the clusters of all readers.

    Args:
        found: What readers know, in the order in which they are to be believed.
        fallback: What the only cluster is called if nobody has a name for it.
        environments: Names that origins use, such as helmfile's environments, with the first place of each.
        mentioned: Which of some names are mentioned by the repo, apart from the files that are given with each.
    """
    is_anything, directory = bool(found), fallback
    found, environments, wrong = checked_names(found, environments or {}, fallback=directory)
    fallback = name_like(directory)
    named: dict[str, list[Cluster]] = {}
    for each in found:
        if each.name:
            named.setdefault(each.name, []).append(each)
    aliases, diagnostics = _same(named, fallback)
    diagnostics += wrong
    for alias, name in aliases.items():
        named[name] += named.pop(alias)
    if directory != fallback:
        aliases[directory] = aliases.get(fallback, fallback)
    for name, place in environments.items():
        if name and name not in named and name not in aliases:
            named[name] = [Cluster(name=name, place=place)]
    nameless = [each for each in found if not each.name]
    if not named and (nameless or not is_anything):
        named[fallback] = []
        nameless = nameless or [Cluster(name="", place=Place("."))]
    homes = territories.of_places(
        {name: {path for part in parts for path in territories.places_of(part)} for name, parts in named.items()}
    )
    given = _Nameless(named, homes, fallback, mentioned)
    for each in nameless:
        given.give(each)
    aliases |= given.aliases
    clusters = []
    for name, parts in named.items():
        whole, contradictions = _merged(name, parts)
        clusters.append(whole)
        diagnostics += contradictions
    ordered = tuple(sorted(clusters, key=lambda each: each.name))
    return Joined(ordered, aliases, (*diagnostics, *given.diagnostics), homes, given.doubt)


class _Nameless:
    """What has no name, given to the clusters that have one."""

    def __init__(
        self,
        named: dict[str, list[Cluster]],
        homes: Territories,
        fallback: str,
        mentioned: Callable[[Mapping[str, Collection[str]]], Collection[str]],
    ) -> None:
        self._named = named
        self._homes = homes
        self._fallback = fallback
        self._mentioned = mentioned
        self._machined = [name for name, parts in named.items() if any(each.machines for each in parts)]
        self._shaped = [name for name, parts in named.items() if any(each.machines or each.files for each in parts)]
        self._listed = {place.path for parts in named.values() for each in parts for place in each.files}
        self.aliases: dict[str, str] = {}
        self.diagnostics: list[Diagnostic] = []
        self.doubt = ""
        only = self._only()
        if only:
            self.aliases[""] = only

    def _only(self) -> str:
        """The only cluster, or the only one that has machines; empty if there are more."""
        if len(self._named) == 1:
            return next(iter(self._named))
        return self._machined[0] if len(self._machined) == 1 else ""

    def give(self, one: Cluster) -> None:
        """Give one to the cluster whose directory it stands in, or to the only one."""
        at_home = {name for path in (one.path, *_paths(one)) if path and (name := self._homes.cluster_of(path))}
        name = at_home.pop() if len(at_home) == 1 else self.aliases.get("", "")
        if one.engine is not None and not name:
            name = self._of_engine(one)
        if name:
            self._named[name].append(one)
            if one.engine is not None:
                self.aliases[""] = name
        elif not one.files or not self._listed.issuperset(place.path for place in one.files):
            message = "nothing says which cluster this is for"
            self.diagnostics.append(
                Diagnostic.warning("cluster-unclear", message, at=one.place, fix=_declare("NAME", [one]))
            )

    def _of_engine(self, one: Cluster) -> str:
        """The cluster that an engine runs in: the only one that the repo mentions, or one of its own."""
        files = {name: self._files(name) for name in self._shaped}
        candidates = list(self._mentioned(files)) if files else []
        if len(candidates) == 1:
            name = candidates[0]
            self.doubt = f"it is taken for that of {name}, the only cluster that other files mention"
            message = f"nothing says in which cluster this runs; {self.doubt}"
        else:
            name = self._fallback
            while name in self._named:
                name = f"{name}-gitops"
            self._named[name] = []
            others = _listing(self._shaped)
            message = f"nothing says in which cluster this runs: {others} may be it; it is called {name} here"
        other = name if name in candidates else next(iter(self._shaped), "NAME")
        hint = _declare(other, [one, *self._named.get(other, ())])
        self.diagnostics.append(Diagnostic.warning("cluster-machines-guessed", message, at=one.place, fix=hint))
        return name

    def _files(self, name: str) -> set[str]:
        return {path for part in self._named[name] for path in _paths(part)}


_FACTS = (
    "role", "engine", "url", "branch", "path", "talos", "kubernetes", "schedules_on_control_planes", "talos_secrets",
    "talosconfig", "talos_contract",
)  # fmt: skip


def _paths(cluster: Cluster) -> list[str]:
    return [cluster.place.path, *(place.path for place in cluster.files)]


def _listing(names: Sequence[str]) -> str:
    shown = list(names[:3])
    more = [f"{len(names) - 3} more"] if len(names) > 3 else []
    parts = [*shown, *more]
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]])) if parts else "none"


def _declare(name: str, parts: Sequence[Cluster]) -> str:
    """The line of firstlight.yaml that says which cluster something is."""
    path = next((each.path for each in parts if each.path), "")
    machines = next((each.place.path for each in parts if each.files), "")
    fields = [f"path: {path}"] if path else []
    fields += [f"machines: {machines}"] if machines else []
    if not fields:
        return "Name it in firstlight.yaml: clusters.NAME.machines or clusters.NAME.path."
    return f"Say so in firstlight.yaml: clusters: {{{name}: {{{', '.join(fields)}}}}}"


def _same(named: Mapping[str, Sequence[Cluster]], fallback: str) -> tuple[dict[str, str], list[Diagnostic]]:
    """Clusters with machines and clusters with a path that are one under two names."""
    bare = [name for name, parts in named.items() if all(not each.path for each in parts)]
    owned = [name for name, parts in named.items() if all(not each.machines and not each.files for each in parts)]
    aliases: dict[str, str] = {}
    diagnostics: list[Diagnostic] = []
    is_several = len(bare) > 1 or len(owned) > 1
    own_of_bare, own_of_owned = _own_segments(named, bare), _own_segments(named, owned)
    for machine_name in list(bare):
        segments = _segments(named[machine_name])
        likely = [name for name in owned if name in segments or _tail(named[name]) == machine_name]
        if is_several:
            shared = [name for name in owned if own_of_bare[machine_name] & own_of_owned[name]]
            likely = likely or shared
        if len(likely) == 1 and likely[0] != machine_name:
            if len(named) == 2 and _is_any_directory(likely[0], named[likely[0]]):
                return {likely[0]: machine_name}, diagnostics
            aliases[machine_name] = likely[0]
            bare.remove(machine_name)
            owned.remove(likely[0])
    for machine_name in [each for each in bare if any(part.machines for part in named[each])]:
        words = re.split(r"[-_.]", machine_name)
        likely = [name for name in owned if name in words and name not in aliases]
        if len(owned) > 1 and len(likely) == 1:
            aliases[likely[0]] = machine_name
            bare.remove(machine_name)
            owned.remove(likely[0])
            message = f"{machine_name} is taken for the cluster of {likely[0]}, since its name says so"
            hint = _declare(machine_name, [*named[likely[0]], *named[machine_name]])
            place = named[machine_name][0].place
            diagnostics.append(Diagnostic.warning("cluster-machines-guessed", message, at=place, fix=hint))
    if len(bare) == len(owned) == 1 and len(named) - len(aliases) == 2:
        (machine_name,), (name,) = bare, owned
        parts = [*named[machine_name], *named[name]]
        if name == fallback or _is_any_directory(name, named[name]):
            # Called after a directory that could be called anything, such as the clone's; Talos has a real name.
            return {**aliases, name: machine_name}, diagnostics
        aliases[machine_name] = name
        message = f"the machines of {machine_name} are taken for those of {name}: there is no other cluster"
        hint = _declare(name, parts)
        place = named[machine_name][0].place
        diagnostics.append(Diagnostic.warning("cluster-machines-guessed", message, at=place, fix=hint))
    return aliases, diagnostics


def _segments(parts: Sequence[Cluster]) -> set[str]:
    """The directories that lead to the files of a cluster."""
    return {segment for part in parts for path in _paths(part) for segment in posixpath.dirname(path).split("/")}


def _own_segments(named: Mapping[str, Sequence[Cluster]], names: Sequence[str]) -> dict[str, set[str]]:
    """The directories that lead to one of several clusters, and to no other of them."""
    every = {
        name: {
            *(segment for part in named[name] for segment in part.path.split("/")),
            *_segments([part for part in named[name] if part.files or not part.path]),
        }
        - {"", "."}
        for name in names
    }
    return {
        name: own - {part for other in names if other != name for part in every[other]} for name, own in every.items()
    }


_CLUSTER_PARENTS = {"cluster", "clusters", "environments", "envs", "sites"}


def _is_any_directory(name: str, parts: Sequence[Cluster]) -> bool:
    """Whether a cluster is called after a directory that is neither the last one of its path nor among clusters."""
    path = next((each.path for each in parts if each.path), "").split("/")
    if name not in path[:-1]:
        return False
    number = path.index(name)
    return not (number and path[number - 1].lower() in _CLUSTER_PARENTS)


def _tail(parts: Sequence[Cluster]) -> str:
    return next((posixpath.basename(each.path) for each in parts if each.path), "")


def _merged(name: str, parts: Sequence[Cluster]) -> tuple[Cluster, list[Diagnostic]]:
    """One cluster out of what several readers know; the first that says something is believed."""
    diagnostics: list[Diagnostic] = []
    said: dict[str, Place] = {}
    for part in reversed(parts):
        said |= part.said
    first = next((each for each in parts if each.path or each.machines), parts[0])
    facts = {field: _first(parts, field, diagnostics) for field in _FACTS}
    network = {field.name: _first(parts, f"network.{field.name}", diagnostics) for field in dataclasses.fields(Network)}
    machines = next((each.machines for each in parts if each.machines), ())
    files = tuple(sorted({place for each in parts for place in each.files}))
    documents = {path: kinds for each in reversed(parts) for path, kinds in each.documents.items()}
    settings: dict[str, str] = {}
    for part in reversed(parts):
        settings |= part.settings
    doubts = {
        field: doubt for each in reversed(parts) for field, doubt in each.doubts.items()
        if said.get(field) in (None, doubt.place)
    }  # fmt: skip
    whole = Cluster(
        name=name, place=first.place, doubts=doubts, machines=machines, network=Network(**network),
        settings=settings, files=files,
        base=_base(parts),
        unread=tuple(dict.fromkeys(found for each in parts for found in each.unread)),
        said=said, documents=documents, parts=tuple(part for each in parts for part in each.parts), **facts,
    )  # fmt: skip
    return whole, diagnostics


def _base(parts: Sequence[Cluster]) -> ConfigBase:
    """What patches are applied to: whole configs where there are any, whatever else is declared."""
    found = [each.base for each in parts if each.base is not ConfigBase.UNKNOWN]
    return ConfigBase.WHOLE if ConfigBase.WHOLE in found else next(iter(found), ConfigBase.UNKNOWN)


def _first(parts: Sequence[Cluster], field: str, diagnostics: list[Diagnostic]) -> Any:
    """The first value that somebody has; a diagnostic where another one differs."""
    chosen: object = None
    chooser: Cluster | None = None
    for part in parts:
        holder: object = part.network if field.startswith("network.") else part
        value = getattr(holder, field.removeprefix("network."))
        if value in (None, "", ()):
            continue
        if chooser is None:
            chosen, chooser = value, part
        elif value != chosen and field not in {"branch", "url", "talos_secrets", "talosconfig"}:
            where = chooser.said.get(field, chooser.place)
            message = f"{field} is {_shown(value)} here and {_shown(chosen)} in {where}"
            place = part.said.get(field, part.place)
            diagnostics.append(
                Diagnostic.error("cluster-facts-differ", message, at=place, fix="Say it once, or say the same in both.")
            )
    if chooser is not None:
        return chosen
    # The empty value of the field's own kind.
    holder = parts[0].network if field.startswith("network.") else parts[0]
    return getattr(holder, field.removeprefix("network."))


def _shown(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
