"""Which machine of which cluster is meant."""

from firstlight import errors
from firstlight.document import mistakes
from firstlight.model.cluster import Cluster, Machine
from firstlight.model.platform import Platform
from firstlight.operate import up


def machine_of(platform: Platform, name: str, *, cluster: str = "") -> tuple[Cluster, Machine]:
    """The machine of a name, in the cluster that is named, or in whichever has it.

    Raises:
        errors.UsageError: There is none of that name, or several clusters have one.
        errors.Refused: It is Omni's.
    """
    clusters = (up.cluster_of(platform, cluster),) if cluster else platform.clusters
    found = [(one, each) for one in clusters for each in one.machines if each.name == name]
    if not found:
        names = [each.name for one in clusters for each in one.machines]
        hint = mistakes.near(name, names) or "The repo declares no machines."
        raise errors.UsageError(f"there is no machine {name}", hint=hint)
    if len(found) > 1:
        names = [one.name for one, _ in found]
        raise errors.UsageError(f"several clusters have a machine {name}", hint=f"--cluster {' or '.join(names)}")
    refuse_omni(found[0][0])
    return found[0]


def refuse_omni(cluster: Cluster) -> None:
    """Machines of Omni are worked on there.

    Raises:
        errors.Refused: They are Omni's.
    """
    if cluster.omni_template:
        raise errors.Refused(
            f"the machines of {cluster.name} are Omni's", hint="Omni does it: omnictl cluster machine --help"
        )
