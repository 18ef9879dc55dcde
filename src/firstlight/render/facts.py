"""What is known of a cluster before anything runs in it."""

import dataclasses
import re

from firstlight.model.cluster import Cluster

_VERSION = re.compile(r"v?[0-9]+\.[0-9]+(?:\.[0-9]+)?(?:[-+][0-9A-Za-z.+-]*)?")


@dataclasses.dataclass(frozen=True)
class Facts:
    """What templates may ask for."""

    cluster: str = ""
    kube_version: str = ""
    """Empty for whatever Helm takes by itself."""


def of(cluster: Cluster | None) -> Facts:
    """The facts of a cluster; a version that is no version, such as a template, is none."""
    if cluster is None:
        return Facts()
    return Facts(cluster.name, cluster.kubernetes if _VERSION.fullmatch(cluster.kubernetes) else "")
