"""Files that bootstrap reads and Git does not track: whoever clones the repo does not have them."""

import posixpath
import re
from collections.abc import Iterator

from firstlight.model.component import Side
from firstlight.model.place import Place
from firstlight.model.source import Chart, Directory
from firstlight.plan import facts
from firstlight.policy.auditing.hit import Hit
from firstlight.policy.auditing.scene import Scene

_OWN = re.compile(
    r"secret|kubeconfig|talosconfig|credential|\.agekey|age\.key|\.env|\.pem|\.key|clusterconfig|generated", re.I
)
"""What stays on one machine on purpose, or is made from what is tracked."""


def inputs(scene: Scene) -> Iterator[Hit]:
    """Inputs of bootstrap that are not tracked, and those that Git ignores."""
    if scene.tracked is None:
        return
    for path, place, cluster in _named(scene):
        if scene.files.is_file(path) and path not in scene.tracked and not _OWN.search(path):
            yield Hit(
                message=f"bootstrap reads {path}, which Git does not track",
                place=place,
                clusters=(cluster,) if cluster else (),
                fix=f"git add {path}",
            )
    for path in scene.ignored:
        if not _OWN.search(path):
            yield Hit(
                message=f"bootstrap reads {path}, which Git ignores",
                place=_mention(scene, path),
                fix="Take it out of .gitignore and commit it, encrypted if it holds secrets.",
            )


def _named(scene: Scene) -> Iterator[tuple[str, Place, str]]:
    """Files that bootstrap names, where it does, and for which cluster."""
    for component in scene.platform.components:
        for origin in facts.origins(component, Side.BOOTSTRAP):
            yield origin.place.path, origin.place, component.cluster
            for source in facts.sources(origin):
                if isinstance(source, Chart):
                    yield from ((each.file, each.place, component.cluster) for each in source.values if each.file)
                elif isinstance(source, Directory):
                    yield source.path, origin.place, component.cluster
    for cluster in scene.clusters:
        yield from ((each.path, each, cluster.name) for each in cluster.files)


def _mention(scene: Scene, path: str) -> Place:
    """Where a file is named that the readers did not find."""
    name = posixpath.basename(path)
    return next((each.place for each in scene.platform.remarks if name in each.message), Place(path))
