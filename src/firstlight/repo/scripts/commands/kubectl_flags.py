"""The flags of kubectl."""

from firstlight.repo.scripts import flags
from firstlight.repo.scripts.flags import Flags
from firstlight.repo.scripts.invocation import Invocation

_VALUED = flags.names(
    """
    filename kustomize namespace context cluster user kubeconfig server token output selector field-manager
    from-literal from-file from-env-file type docker-server docker-username docker-password docker-email cert
    key prune-allowlist timeout template as as-group request-timeout v overrides image for field-selector port
    clusterrole role serviceaccount verb resource resource-name schedule from tail container subresource patch
    patch-file replicas grace-period username password tls-server-name certificate-authority client-key
    client-certificate cache-dir
    """
)
_SHORT = {"f": "filename", "k": "kustomize", "n": "namespace", "o": "output", "l": "selector", "R": "recursive",
          "s": "server", "c": "container", "p": "patch", "A": "all-namespaces"}  # fmt: skip


def parse(invocation: Invocation) -> Flags:
    """The command line of a kubectl command; its verb is the first that is no flag."""
    return flags.parse(invocation.words[1:], valued=_VALUED, short=_SHORT)


def is_dry(words: Flags) -> bool:
    """Whether nothing reaches the cluster."""
    return words.has("dry-run") and words.one("dry-run").text != "none"
