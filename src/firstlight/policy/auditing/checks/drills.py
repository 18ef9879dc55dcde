"""Whether anybody has ever tried to recover a cluster."""

import datetime
from collections.abc import Iterator

from firstlight.document.within import at
from firstlight.model.place import Place
from firstlight.policy.auditing import days
from firstlight.policy.auditing.hit import Hit
from firstlight.policy.auditing.scene import Scene
from firstlight.policy.team_files import DIRECTORY

RECORD = f"{DIRECTORY}/drills.yaml"
"""Where drills are recorded: a list of {cluster, day, what}."""
_LONG = 365
"""Days after which a drill says little of what the cluster is by now."""

Drill = tuple[datetime.date, Place]


def missing(scene: Scene) -> Iterator[Hit]:
    """Clusters whose recovery nobody has tried within a year."""
    recorded = _recorded(scene)
    for cluster in scene.clusters:
        last = max(recorded.get(cluster.name, []), default=None)
        if not cluster.machines or (last is not None and (scene.today - last[0]).days <= _LONG):
            continue
        said = f"its last recovery on record is of {last[0]}" if last else "no recovery of this cluster is on record"
        yield Hit(
            message=said,
            place=last[1] if last else cluster.place,
            clusters=(cluster.name,),
            key=f"drill of {cluster.name}",
        )


def _recorded(scene: Scene) -> dict[str, list[Drill]]:
    found: dict[str, list[Drill]] = {}
    for document in scene.files.documents(RECORD) if scene.files.is_file(RECORD) else ():
        for number, each in enumerate(document.value if isinstance(document.value, list) else []):
            tried = days.day(at(each, "day"))
            if tried is not None:
                found.setdefault(str(at(each, "cluster")), []).append((tried, document.place(number)))
    return found
