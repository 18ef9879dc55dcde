"""What a cluster may be called: its name becomes a directory, a context and a line on the screen."""

import dataclasses
import re
from collections.abc import Mapping, Sequence

from firstlight.model.cluster import Cluster
from firstlight.model.place import Place
from firstlight.model.remark import Grade, Remark
from firstlight.repo.declaration import form

LONGEST = 253
"""As in firstlight.yaml."""
_NAME = re.compile(form.NAME.removesuffix("$"))


def is_name(text: str) -> bool:
    """Whether a cluster may be called so: as firstlight.yaml calls them."""
    return len(text) <= LONGEST and _NAME.fullmatch(text) is not None


def like(directory: str) -> str:
    """A name for a cluster that is called after the directory of the repo, which may be called anything."""
    if is_name(directory):
        return directory
    return re.sub(r"[^a-z0-9.]+", "-", directory.lower())[:63].strip("-.") or "cluster"


def checked(
    found: Sequence[Cluster], environments: Mapping[str, Place], *, fallback: str
) -> tuple[list[Cluster], dict[str, Place], list[Remark]]:
    """The clusters that may be called what they are, or have no name; and what to say of the others.

    Args:
        found: What readers know.
        environments: Names that origins use, with the first place of each.
        fallback: What the repo's own directory is called: readers may have named a cluster after it.
    """
    named = [dataclasses.replace(each, name=like(fallback)) if each.name == fallback else each for each in found]
    places = {like(fallback) if name == fallback else name: place for name, place in environments.items()}
    wrong = {
        **{name: place for name, place in places.items() if name and not is_name(name)},
        **{each.name: each.place for each in reversed(named) if each.name and not is_name(each.name)},
    }
    remarks = [_remark(name, place) for name, place in wrong.items()]
    kept = [each for each in named if each.name not in wrong]
    return kept, {name: place for name, place in places.items() if name not in wrong}, remarks


def _remark(name: str, place: Place) -> Remark:
    shown = "".join(each if each.isprintable() else "?" for each in name)
    shown = shown if len(shown) <= 60 else f"{shown[:60]}…"
    hint = (
        f"Write lower-case letters, digits, - and dots, such as {like(name)}; "
        "or name it in firstlight.yaml: clusters.NAME.machines or clusters.NAME.path."
    )
    return Remark(place, Grade.ERROR, f"a cluster cannot be called '{shown}': it is left out", hint)
