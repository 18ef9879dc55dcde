"""helm as one class: a method for each command, sorted into files by what they are about."""

from firstlight.clients.helm.releases import Releases


class Helm(Releases):
    """helm at a path: charts without a cluster, releases with a kubeconfig."""
