"""The ways into a cluster that Omni gives, and which cluster that is."""

import json

from firstlight.clients.omnictl import errors as omni_errors
from firstlight.clients.omnictl.program import READ, Program, cluster_name
from firstlight.model.secret import Secret

USER = "firstlight"
LIFE = "24h"
"""How long a token for a service account lives: longer than a run, and not the year that omnictl would take."""

_PRINTED = "/dev/stdout"
_UUIDS = "ClusterUUIDs.omni.sidero.dev"


class Access(Program):
    """kubeconfig, talosconfig, and the cluster's id."""

    async def kubeconfig(self, cluster: str, *, service_account: bool = False, timeout: float = READ) -> Secret:
        """A kubeconfig that goes through Omni.

        Args:
            cluster: Its name in Omni.
            service_account: With a token for a while; else with a plugin that signs a person in.
            timeout: Seconds.

        Raises:
            omni_errors.NotFound: Omni has no such cluster.
            omni_errors.Forbidden: This account gets none.
        """
        options = [f"--cluster={cluster_name(cluster)}", "--merge=false", "--force"]
        if service_account:
            options += ["--service-account", f"--user={USER}", f"--ttl={LIFE}"]
        return await self._printed("kubeconfig", options, timeout=timeout)

    async def talosconfig(self, cluster: str, *, timeout: float = READ) -> Secret:
        """A talosconfig that goes through Omni; whoever uses it signs in with the same keys.

        Raises:
            omni_errors.OmniError: There is none.
        """
        options = [f"--cluster={cluster_name(cluster)}", "--merge=false", "--force"]
        return await self._printed("talosconfig", options, timeout=timeout)

    async def cluster_id(self, cluster: str, *, timeout: float = READ) -> str:
        """The UUID that Omni has given a cluster; one that was made anew under the same name has another.

        Raises:
            omni_errors.NotFound: Omni has no such cluster.
        """
        words = ("get", _UUIDS, cluster_name(cluster))
        done = await self._ask(words, ["--output=json"], timeout=timeout)
        try:
            found = json.loads(done.stdout)["spec"]["uuid"]
        except (ValueError, KeyError, TypeError) as error:
            raise omni_errors.Unreadable(" ".join(words), detail="the answer cannot be read") from error
        if not isinstance(found, str) or not found:
            raise omni_errors.Unreadable(" ".join(words), detail="the cluster has no id")
        return found

    async def _printed(self, word: str, options: list[str], *, timeout: float) -> Secret:
        """A file that omnictl wants to write, without a file."""
        done = await self._ask((word,), [*options, _PRINTED], timeout=timeout)
        if not done.stdout.strip():
            raise omni_errors.Unreadable(word, detail="it printed nothing")
        return Secret(done.stdout)
