"""What a cluster may be called: its name becomes a directory, a context and a line on the screen."""

import dataclasses
import posixpath
import re
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.model.cluster import Cluster, Network
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.repo.declaration import declaration_form

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
# Flux names a cluster by a path, Talos by its config, helmfile by an environment. Equal names are one cluster; a
# cluster without a name is the only one there is; and one that only Talos knows is the one that only Git knows, if
# there is no other choice.


@dataclasses.dataclass(frozen=True)
class Joined:
    """The clusters, and by which other names readers know them."""

    clusters: tuple[Cluster, ...]
    aliases: Mapping[str, str]
    """A reader's name for a cluster, and the name it has here."""
    diagnostics: tuple[Diagnostic, ...]


def join(found: Sequence[Cluster], *, fallback: str, environments: Mapping[str, Place] | None = None) -> Joined:
    """Join the clusters of all readers.

    Args:
        found: What readers know, in the order in which they are to be believed.
        fallback: What the only cluster is called if nobody has a name for it.
        environments: Names that origins use, such as helmfile's environments, with the first place of each.
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
    # What has no name is for the only cluster, or for the only one that has machines.
    machined = [name for name, parts in named.items() if any(each.machines for each in parts)]
    if len(named) == 1 or len(machined) == 1:
        only = machined[0] if machined else next(iter(named))
        named[only] += nameless
        aliases[""] = only
    else:
        listed = {place.path for parts in named.values() for each in parts for place in each.files}
        diagnostics += [
            Diagnostic.warning(
                "cluster-unclear", "nothing says which cluster this is for", at=each.place, fix=_NAME_HINT
            )
            for each in nameless
            if not each.files or not listed.issuperset(place.path for place in each.files)
        ]
    clusters = []
    for name, parts in named.items():
        whole, contradictions = _merged(name, parts)
        clusters.append(whole)
        diagnostics += contradictions
    return Joined(tuple(sorted(clusters, key=lambda each: each.name)), aliases, tuple(diagnostics))


_FACTS = (
    "role", "engine", "url", "branch", "path", "talos", "kubernetes", "schedules_on_control_planes", "talos_secrets",
    "talosconfig",
)  # fmt: skip
_NAME_HINT = "Name it in firstlight.yaml: clusters.NAME.machines or clusters.NAME.path."


def _same(named: Mapping[str, Sequence[Cluster]], fallback: str) -> tuple[dict[str, str], list[Diagnostic]]:
    """Clusters with machines and clusters with a path that are one under two names."""
    bare = [name for name, parts in named.items() if all(not each.path for each in parts)]
    owned = [name for name, parts in named.items() if all(not each.machines and not each.files for each in parts)]
    aliases: dict[str, str] = {}
    diagnostics: list[Diagnostic] = []
    for machine_name in list(bare):
        segments = {
            segment
            for part in named[machine_name]
            for place in (part.place, *part.files)
            for segment in posixpath.dirname(place.path).split("/")
        }
        likely = [name for name in owned if name in segments or _tail(named[name]) == machine_name]
        if len(likely) == 1:
            aliases[machine_name] = likely[0]
            bare.remove(machine_name)
            owned.remove(likely[0])
    if len(bare) == len(owned) == 1 and len(named) - len(aliases) == 2:
        (machine_name,), (name,) = bare, owned
        if name == fallback:
            # Called after the directory of the clone, which is another one for everybody; Talos has a real name.
            return {**aliases, name: machine_name}, diagnostics
        aliases[machine_name] = name
        message = f"the machines of {machine_name} are taken for those of {name}: there is no other cluster"
        diagnostics.append(
            Diagnostic.warning("cluster-machines-guessed", message, at=named[machine_name][0].place, fix=_NAME_HINT)
        )
    return aliases, diagnostics


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
    whole = Cluster(
        name=name, place=first.place, machines=machines, network=Network(**network), settings=settings, files=files,
        said=said, documents=documents, parts=tuple(part for each in parts for part in each.parts), **facts,
    )  # fmt: skip
    return whole, diagnostics


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
