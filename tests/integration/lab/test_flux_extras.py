"""Flux's extra controllers on the lab: artifacts that are cut out of sources, and webhooks."""

from typing import Any

import aiohttp

from tests import listening
from tests.flux import OFTEN, Flux, config


def generator(source: str, name: str, copied: str) -> dict[str, Any]:
    """An ArtifactGenerator with one artifact, which is a directory of a repository."""
    return {
        "sources": [{"alias": "repo", "kind": "GitRepository", "name": source}],
        "artifacts": [
            {
                "name": name, "originRevision": "@repo",
                "copy": [{"from": f"@repo/{copied}/**", "to": "@artifact/"}],
            }
        ],
    }  # fmt: skip


def kustomization(artifact: str) -> dict[str, Any]:
    return {
        "sourceRef": {"kind": "ExternalArtifact", "name": artifact}, "path": "./", "prune": True,
        "retryInterval": "1s", **OFTEN,
    }  # fmt: skip


async def reachable(flux: Flux, part: str) -> list[listening.Port]:
    """The ports of a part that one can connect to."""
    found = [each for each in await listening.ports(flux.lab) if each.of == part]
    return [each for each in found if each.host != "127.255.255.255"]


class TestArtifacts:
    async def test_a_directory_of_a_repository_is_cut_out_and_applied(self, flux: Flux, space: str) -> None:
        name = f"{space}-cut"
        first = await flux.repository(
            name, space,
            {"apps/web/web.yaml": config("web", word="one"), "apps/other/other.yaml": config("other", word="no")},
        )  # fmt: skip
        await flux.apply("ArtifactGenerator", "apps", space, generator(name, "web", "apps/web"))
        await flux.apply("Kustomization", "web", space, {**kustomization("web"), "targetNamespace": space})
        await flux.ready("Kustomization", "web", space)

        artifact = (await flux.get("ExternalArtifact", "web", space))["status"]["artifact"]
        applied = (await flux.get("Kustomization", "web", space))["status"]
        assert await flux.config_map("web", space) == {"word": "one"}
        assert await flux.config_map("other", space) is None, "it is not in the artifact"
        assert applied["lastAppliedRevision"] == artifact["revision"]
        assert applied["lastAppliedOriginRevision"] == f"main@sha1:{first}"
        (own,) = await reachable(flux, "source-watcher")
        assert artifact["url"].startswith(f"http://{own.host}:{own.port}/"), "it has an address of its own"

    async def test_a_change_beside_the_directory_leaves_the_artifact_as_it_is(self, flux: Flux, space: str) -> None:
        name = f"{space}-beside"
        await flux.repository(name, space, {"apps/web/web.yaml": config("web", word="one"), "README": "one\n"})
        await flux.apply("ArtifactGenerator", "apps", space, generator(name, "web", "apps/web"))
        await flux.apply("Kustomization", "web", space, {**kustomization("web"), "targetNamespace": space})
        await flux.ready("Kustomization", "web", space)
        before = (await flux.get("ExternalArtifact", "web", space))["status"]["artifact"]["revision"]

        await flux.commit(name, {"README": "two\n"})
        await flux.reconcile("GitRepository", name, space)
        await flux.reconcile("ArtifactGenerator", "apps", space)
        assert (await flux.get("ExternalArtifact", "web", space))["status"]["artifact"]["revision"] == before

        await flux.commit(name, {"apps/web/web.yaml": config("web", word="two")})
        await flux.reconcile("GitRepository", name, space)
        await flux.holds("web", space, {"word": "two"})

    async def test_a_copy_that_matches_nothing_is_an_error_that_names_it(self, flux: Flux, space: str) -> None:
        name = f"{space}-nothing"
        await flux.repository(name, space, {"apps/web/web.yaml": config("web", word="one")})
        await flux.apply("ArtifactGenerator", "apps", space, generator(name, "web", "apps/gone"))

        await flux.unready("ArtifactGenerator", "apps", space, "apps/gone")


class TestReceivers:
    async def test_a_webhook_has_its_source_looked_at_again(self, flux: Flux, space: str) -> None:
        name = f"{space}-hook"
        await flux.repository(name, space, {"a.yaml": config("a", word="one")})
        before = await flux.ready("GitRepository", name, space)
        token = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "hook", "namespace": space}}
        await flux.kube.apply({**token, "stringData": {"token": "t0ken"}}, manager="tests")
        # An interval that would not do: only the webhook can make it look.
        await flux.apply("GitRepository", name, space, {**before["spec"], "interval": "1h"})
        await flux.apply(
            "Receiver", "push", space,
            {"type": "generic", "secretRef": {"name": "hook"}, "resources": [{"kind": "GitRepository", "name": name}]},
        )  # fmt: skip
        path = (await flux.ready("Receiver", "push", space))["status"]["webhookPath"]
        (own,) = await reachable(flux, "notification-controller")
        commit = await flux.commit(name, {"a.yaml": config("a", word="two")})

        async with aiohttp.ClientSession() as session:
            assert (await session.post(f"http://{own.host}:{own.port}{path}wrong")).status == 404
            assert (await session.post(f"http://{own.host}:{own.port}{path}")).status == 200

        await flux.ready("GitRepository", name, space, revision=commit)
