"""Which cluster an Application deploys to.

The cluster where Argo CD runs has no name in a repo, so it is the empty one; whoever joins readers knows what it is
called. Others have the name by which Argo CD knows them. One that is only an address has the address for its name.
"""

import dataclasses

from firstlight.model.remark import Grade, Remark
from firstlight.repo.argocd.definition import Definition, mapping, text
from firstlight.repo.argocd.registered import IN_CLUSTER, IN_CLUSTER_SERVER, Registered
from firstlight.repo.argocd.source_spec import has_placeholder


@dataclasses.dataclass(frozen=True, slots=True)
class Destination:
    """Where the objects of an Application go."""

    cluster: str
    """Empty: the cluster where Argo CD runs."""
    server: str = ""
    """Its address, where it is known."""
    namespace: str = ""
    remark: Remark | None = None


def read(app: Definition, registered: Registered) -> Destination:
    """Where an Application deploys to."""
    written = mapping(app.spec.get("destination"))
    server, name = text(written.get("server")).rstrip("/"), text(written.get("name"))
    namespace = text(written.get("namespace"))
    if has_placeholder(server) or has_placeholder(name):
        return Destination("", "", namespace)  # a set that only a run can tell; it is in doubt anyhow
    if server and name:
        message = "the destination has a server and a name, and Argo CD takes one of them"
        remark = Remark(app.at("spec", "destination"), Grade.ERROR, message)
        return dataclasses.replace(_of(server, "", namespace, app, registered), remark=remark)
    return _of(server, name, namespace, app, registered)


def _of(server: str, name: str, namespace: str, app: Definition, registered: Registered) -> Destination:
    if name == IN_CLUSTER or server == IN_CLUSTER_SERVER:
        return Destination("", IN_CLUSTER_SERVER, namespace)
    if name:
        known = next((each.server for each in registered.clusters if each.name == name), "")
        return Destination(name, known, namespace)
    if not server:
        remark = Remark(app.at("spec", "destination"), Grade.ERROR, "the destination has neither a server nor a name")
        return Destination("", "", namespace, remark)
    found = next((each.name for each in registered.clusters if each.server.rstrip("/") == server), "")
    if found:
        return Destination("" if found == IN_CLUSTER else found, server, namespace)
    message = f"no cluster of this repo is known to have the address {server}"
    hint = "Use the cluster's name as Argo CD knows it, or keep its Secret in the repo."
    return Destination(server, server, namespace, Remark(app.at("spec", "destination"), Grade.UNKNOWN, message, hint))
