"""What points an engine at a repo."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight.engines import engine_roots
from firstlight.engines.adapter import Roots
from firstlight.engines.flux import roots as flux_roots
from firstlight.model.component import ObjectId
from firstlight.model.rendition import Object
from tests.unit.plan import platforms

ROOT: dict[str, Any] = {
    "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
    "kind": "Kustomization",
    "metadata": {"name": "flux-system", "namespace": "flux-system"},
    "spec": {"path": "./clusters/home", "prune": True, "sourceRef": {"kind": "GitRepository", "name": "flux-system"}},
}


def _of(spec: dict[str, Any]) -> Roots:
    platform, renditions = platforms.make(spec)
    return engine_roots.of(platform, platform.clusters[0], renditions)


def _flux(**cluster: str) -> dict[str, Any]:
    return {"clusters": {"home": {"engine": "flux", **cluster}}}


class TestFlux:
    def test_is_what_flux_bootstrap_would_make(self) -> None:
        found = _of(_flux(url="https://git.example.org/me/home", path="clusters/home"))

        (source,), (root,) = found.sources, found.roots
        assert source.value["spec"] == {
            "interval": "1m0s", "ref": {"branch": "main"}, "url": "https://git.example.org/me/home",
        }  # fmt: skip
        assert root.value["spec"] == {"interval": "10m0s", **ROOT["spec"]}
        assert root.id == ObjectId("kustomize.toolkit.fluxcd.io", "Kustomization", "flux-system", "flux-system")

    def test_follows_an_artifact(self) -> None:
        found = _of(_flux(url="oci://registry.example.org/home", path="."))

        assert found.sources[0].value["spec"]["ref"] == {"tag": "latest"}
        assert found.roots[0].value["spec"]["sourceRef"]["kind"] == "OCIRepository"
        assert found.roots[0].value["spec"]["path"] == "./"

    def test_is_not_invented_where_nothing_is_said(self) -> None:
        assert "which directory" in _of(_flux(url="https://git.example.org/me/home")).unclear
        assert "nothing says what it fetches" in _of(_flux(path="clusters/home")).unclear
        assert _of({"clusters": {"home": {}}}) == Roots()

    @pytest.mark.parametrize(
        ("keys", "used"),
        [({"identity": "env:K", "known_hosts": "env:H"}, "git"), ({"age.agekey": "env:K"}, ""), ({"token": ""}, "")],
    )
    def test_logs_in_with_credentials_of_the_foundation(self, keys: dict[str, str], used: str) -> None:
        spec = _flux(url="ssh://git@git.example.org/me/home", path="clusters/home")
        spec["secrets"] = [{"name": "git", "namespace": "flux-system", "data": keys}]

        (source,) = _of(spec).sources

        assert source.value["spec"].get("secretRef", {}).get("name", "") == used

    def test_a_declared_root_is_taken_with_its_source(self) -> None:
        spec = _flux(url="https://git.example.org/me/home.git", path="clusters/home")
        spec["components"] = {"flux-system": {"form": "Kustomization", "definition": ROOT}}
        spec["renditions"] = {
            "flux-system": {
                "gitops": """
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 5m, ref: {branch: live}, url: https://git.example.org/me/home}
"""
            }
        }

        found = _of(spec)

        assert found.sources[0].value["spec"]["ref"] == {"branch": "live"}
        assert found.roots[0].value["spec"]["interval"] == "10m0s", "Flux takes none without it"

    def test_a_source_of_another_repository_comes_with_the_root(self) -> None:
        spec = _flux(url="https://git.example.org/me/home", path="clusters/home")
        spec["components"] = {"flux-system": {"form": "Kustomization", "definition": ROOT}}
        spec["renditions"] = {
            "flux-system": {
                "gitops": """
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 5m, url: https://git.example.org/others/fleet}
"""
            }
        }

        found = _of(spec)

        assert found.sources == (), "its commit is not the one that was rendered"
        assert [each.id.kind for each in found.roots] == ["GitRepository", "Kustomization"]


SYNC = {"url": "https://git.example.org/me/home", "ref": "refs/heads/main", "path": "clusters/home"}


class TestInstance:
    def _instance(self, sync: dict[str, Any], version: str = "2.x") -> Object:
        return Object(
            {
                "apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance",
                "metadata": {"name": "flux", "namespace": "fleet"},
                "spec": {"distribution": {"version": version}, "sync": {**SYNC, **sync}},
            }
        )  # fmt: skip

    def test_makes_the_source_of_its_operator(self) -> None:
        source, root = flux_roots.of_instance(
            self._instance({"kind": "GitRepository", "pullSecret": "key", "provider": "github", "interval": "1h"})
        )

        assert source.id == ObjectId("source.toolkit.fluxcd.io", "GitRepository", "fleet", "fleet")
        assert source.value["spec"] == {
            "interval": "1h0m0s", "ref": {"name": "refs/heads/main"}, "url": SYNC["url"],
            "secretRef": {"name": "key"}, "provider": "github",
        }  # fmt: skip
        assert root == ObjectId("kustomize.toolkit.fluxcd.io", "Kustomization", "fleet", "fleet")

    @pytest.mark.parametrize(
        ("version", "api"), [("2.5.x", "v1beta2"), ("2.6.0", "v1"), ("2.x", "v1"), ("2.10.1", "v1")]
    )
    def test_artifacts_have_the_version_of_their_flux(self, version: str, api: str) -> None:
        source, _ = flux_roots.of_instance(self._instance({"kind": "OCIRepository", "ref": "latest"}, version))

        assert source.value["apiVersion"] == f"source.toolkit.fluxcd.io/{api}"
        assert source.value["spec"]["ref"] == {"tag": "latest"}

    def test_a_bucket_has_an_endpoint(self) -> None:
        source, _ = flux_roots.of_instance(self._instance({"kind": "Bucket", "ref": "fleet", "name": "mine"}))

        assert source.id.name == "mine"
        assert source.value["spec"]["bucketName"] == "fleet"
        assert source.value["spec"]["endpoint"] == SYNC["url"]

    def test_without_sync_nothing_else_is_missing(self) -> None:
        whole = self._instance({})

        bare = engine_roots.without_sync(whole)

        assert engine_roots.syncs(whole)
        assert not engine_roots.syncs(bare)
        assert bare.value["spec"] == {"distribution": {"version": "2.x"}}
        assert "sync" in whole.value["spec"]


class TestDuration:
    @pytest.mark.parametrize(
        ("written", "printed"),
        [("1m", "1m0s"), ("1h", "1h0m0s"), ("30s", "30s"), ("90s", "1m30s"), ("500ms", "500ms"), ("1h30m", "1h30m0s"),
         ("1.5s", "1.5s"), ("often", "often"), ("", "")],
    )  # fmt: skip
    def test_is_printed_as_go_prints_it(self, written: str, printed: str) -> None:
        assert flux_roots.go_duration(written) == printed

    @given(st.integers(0, 10_000_000))
    def test_is_printed_once_and_for_all(self, seconds: int) -> None:
        once = flux_roots.go_duration(f"{seconds}s")

        assert flux_roots.go_duration(once) == once


APP: dict[str, Any] = {
    "apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": "root"},
    "spec": {"project": "default", "source": {"repoURL": "https://git.example.org/shop.git", "path": "apps"}},
}  # fmt: skip


class TestArgoCD:
    def _spec(self, **more: Any) -> dict[str, Any]:
        cluster = {"engine": "argocd", "url": "https://git.example.org/shop.git", "path": "apps"}
        return {"clusters": {"shop": cluster}, **more}

    def test_is_made_for_a_directory(self) -> None:
        (root,) = _of(self._spec()).roots

        assert root.id == ObjectId("argoproj.io", "Application", "argocd", "root")
        assert root.value["spec"]["source"] == {
            "repoURL": "https://git.example.org/shop.git", "targetRevision": "HEAD", "path": "apps",
        }  # fmt: skip
        assert "finalizers" not in root.value["metadata"], "to delete it must not delete everything"

    def test_the_declared_one_is_taken(self) -> None:
        components = {"root": {"form": "Application", "namespace": "cd", "definition": APP}}

        (root,) = _of(self._spec(components=components)).roots

        assert root.id == ObjectId("argoproj.io", "Application", "cd", "root")

    def test_a_template_is_not_applied(self) -> None:
        open_one = {**APP, "spec": {"source": {"repoURL": "${REPO}", "path": "apps"}}}
        components = {"root": {"form": "Application", "definition": open_one}}

        found = _of(self._spec(components=components))

        assert found.roots == ()
        assert "${REPO}" in found.unclear

    @pytest.mark.parametrize(("server", "made"), [("argocd-server", 0), ("argocd-repo-server", 1)])
    def test_the_default_project_is_made_where_no_server_makes_it(self, server: str, made: int) -> None:
        components = {
            "root": {"form": "Application", "namespace": "argocd", "definition": APP},
            "argocd": {"phase": "engine", "role": "engine"},
        }
        manifest = f"apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {server}, namespace: argocd}}\n"

        found = _of(self._spec(components=components, renditions={"argocd": {"bootstrap": manifest}}))

        assert [each.id.kind for each in found.roots] == ["AppProject"] * made + ["Application"]

    def test_a_secret_of_the_foundation_becomes_the_repository(self) -> None:
        secrets = [{"name": "repo", "namespace": "argocd", "data": {"sshPrivateKey": "env:K", "url": "env:U"}}]

        (source,) = _of(self._spec(secrets=secrets)).sources

        assert source.value["metadata"]["labels"] == {"argocd.argoproj.io/secret-type": "repository"}
        assert source.value["data"] == {"type": "Z2l0"}, "what the foundation has is left to it"
