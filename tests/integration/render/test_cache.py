"""What is rendered again, and what is not: warm renders start no program, and one change renders one component."""

from pathlib import Path

import pytest

from firstlight.model.component import Side
from firstlight.render.component_renderer import RenderOutcome
from tests.flux import chart
from tests.integration.render import repos
from tests.integration.render.repos import Kitchen, messages, objects
from tests.integration.render.shop import Shop
from tests.integration.render.test_flux_repo import CHART, CONFIG, SYSTEM, kustomization, release, sync

Everything = dict[tuple[str, Side], RenderOutcome]


def platform(root: Path) -> Path:
    """Two Kustomizations and two HelmReleases, of which one has values from a file's ConfigMap."""
    settings = {
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": SYSTEM},
        "data": {"word": "one"},
    }  # fmt: skip
    build = {"substituteFrom": [{"kind": "ConfigMap", "name": "settings"}]}
    return repos.write(
        root,
        {
            **CHART,
            "clusters/one/flux-system/gotk-sync.yaml": sync(),
            "clusters/one/settings.yaml": settings,
            "clusters/one/a.yaml": kustomization("a", "./a"),
            "clusters/one/b.yaml": kustomization("b", "./b", postBuild=build),
            "clusters/one/releases.yaml": kustomization("releases", "./releases"),
            "a/kustomization.yaml": {"resources": ["../base", "own.yaml"]},
            "a/own.yaml": CONFIG % ("own", "1"),
            "base/kustomization.yaml": {"resources": ["shared.yaml"]},
            "base/shared.yaml": CONFIG % ("shared", "1"),
            "b/b.yaml": CONFIG % ("b", "${word}"),
            "releases/first.yaml": release("first"),
            "releases/second.yaml": release("second", values={"word": "second"}),
        },
    )


def cached(found: Everything) -> set[str]:
    return {name for (name, _), outcome in found.items() if outcome.is_cached}


def again(found: Everything) -> set[str]:
    return {name for (name, _), outcome in found.items()} - cached(found)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return platform(tmp_path / "repo")


class TestWarm:
    async def test_a_second_render_is_the_same_and_starts_no_program(
        self, kitchen: Kitchen, root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first = await kitchen.everything(root)

        async def run(*_: object, **__: object) -> None:
            raise AssertionError("a program was started")

        monkeypatch.setattr("firstlight.clients.kustomize.kustomize.command.run", run)
        monkeypatch.setattr("firstlight.clients.helm.helm_program.command.run", run)
        second = await kitchen.everything(root)

        assert cached(first) == set()
        assert again(second) == set()
        assert {key: each.rendition for key, each in first.items()} == {
            key: each.rendition for key, each in second.items()
        }

    async def test_one_changed_file_renders_one_component(self, kitchen: Kitchen, root: Path) -> None:
        await kitchen.everything(root)
        repos.write(root, {"a/own.yaml": CONFIG % ("own", "2")})
        found = await kitchen.everything(root)

        assert again(found) == {"a"}
        assert objects(found["a", Side.GITOPS].rendition)["ConfigMap/own"]["data"] == {"word": "2"}

    async def test_a_base_renders_those_that_use_it(self, kitchen: Kitchen, root: Path) -> None:
        await kitchen.everything(root)
        repos.write(root, {"base/shared.yaml": CONFIG % ("shared", "2")})
        assert again(await kitchen.everything(root)) == {"a"}

    async def test_a_new_file_in_a_directory_without_kustomization_is_seen(self, kitchen: Kitchen, root: Path) -> None:
        await kitchen.everything(root)
        repos.write(root, {"b/new.yaml": CONFIG % ("new", "1")})
        found = await kitchen.everything(root)

        assert again(found) == {"b"}
        assert "ConfigMap/new" in objects(found["b", Side.GITOPS].rendition)

    async def test_a_variable_renders_those_that_take_it(self, kitchen: Kitchen, root: Path) -> None:
        await kitchen.everything(root)
        text = (root / "clusters/one/settings.yaml").read_text().replace("word: one", "word: two")
        repos.write(root, {"clusters/one/settings.yaml": text})
        found = await kitchen.everything(root)

        assert again(found) == {SYSTEM, "b"}
        assert objects(found["b", Side.GITOPS].rendition)["ConfigMap/b"]["data"] == {"word": "two"}

    async def test_a_template_of_a_chart_renders_its_releases(self, kitchen: Kitchen, root: Path) -> None:
        await kitchen.everything(root)
        repos.write(root, {"charts/hello/templates/more.yaml": CONFIG % ("more", "1")})
        assert again(await kitchen.everything(root)) == {"first", "second"}

    async def test_values_render_one_release_and_the_kustomization_that_brings_it(
        self, kitchen: Kitchen, root: Path
    ) -> None:
        await kitchen.everything(root)
        repos.write(root, {"releases/second.yaml": release("second", values={"word": "changed"})})
        assert again(await kitchen.everything(root)) == {"second", "releases"}

    async def test_another_version_of_a_program_renders_everything(
        self, kitchen: Kitchen, root: Path, tmp_path: Path
    ) -> None:
        await kitchen.everything(root)
        other = tmp_path / "kustomize"
        other.write_bytes(kitchen.programs.kustomize.read_bytes())
        other.chmod(0o755)
        programs = type(kitchen.programs)(kitchen.programs.helm, other, kitchen.programs.git)
        found = await Kitchen(programs, kitchen.home).everything(root)
        assert cached(found) == set()

    async def test_it_can_be_asked_for_anew(self, kitchen: Kitchen, root: Path) -> None:
        await kitchen.everything(root)
        assert cached(await kitchen.everything(root, anew=True)) == set()

    async def test_a_damaged_entry_is_rendered_again(self, kitchen: Kitchen, root: Path) -> None:
        await kitchen.everything(root)
        for each in (kitchen.home / "renders").iterdir():
            each.write_bytes(each.read_bytes()[:50])
        assert cached(await kitchen.everything(root)) == set()


class TestSecrets:
    async def test_no_secret_is_ever_in_the_cache(self, kitchen: Kitchen, root: Path) -> None:
        """Plain Secrets of Git, those that kustomize makes, and those that a chart makes of values."""
        secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: %s}\n"
        repos.write(
            root,
            {
                "a/kustomization.yaml": {
                    "resources": ["secret.yaml"],
                    "secretGenerator": [{"name": "made", "literals": ["word=c4nary-two"]}],
                },
                "a/secret.yaml": secret % "plain" + "stringData: {word: c4nary-one}\n",
                "charts/hello/templates/secret.yaml": secret % "chart" + "stringData: {word: '{{ .Values.word }}'}\n",
                "releases/second.yaml": release("second", values={"word": "c4nary-three"}),
            },
        )
        for _ in range(2):
            found = await kitchen.everything(root)
        kept = b"".join(each.read_bytes() for each in (kitchen.home / "renders").iterdir())

        assert objects(found["a", Side.GITOPS].rendition)["Secret/plain"]["stringData"] == {"word": "c4nary-one"}
        assert {"a", "second"} <= again(found)
        assert "b" in cached(found)
        # What Git holds is in Git: the HelmRelease is an object of the Kustomization that brings it.
        assert b"c4nary-one" not in kept
        assert b"c4nary-two" not in kept
        assert b'kind":"Secret' not in kept

    async def test_what_sops_has_encrypted_may_be_kept(self, kitchen: Kitchen, root: Path) -> None:
        encrypted = (
            "apiVersion: v1\nkind: Secret\nmetadata: {name: login}\n"
            "stringData: {word: 'ENC[AES256_GCM,data:aa,iv:bb,tag:cc,type:str]'}\nsops: {mac: 'ENC[x]'}\n"
        )
        repos.write(root, {"a/own.yaml": encrypted})
        await kitchen.everything(root)
        found = await kitchen.everything(root)

        assert "a" in cached(found)
        assert objects(found["a", Side.GITOPS].rendition)["Secret/login"]["sops"] == {"mac": "ENC[x]"}


class TestElsewhere:
    async def test_charts_of_repositories_and_registries_are_fetched_once_and_then_offline(
        self, kitchen: Kitchen, shop: Shop, root: Path
    ) -> None:
        here = shop.served(kitchen)
        shelf = shop.fresh()
        archive = chart("greeter", "1.4.0", {"a.yaml": CONFIG % ("{{ .Release.Name }}", "{{ .Chart.Version }}")})
        pushed = await shop.sources.push_oci_chart(shelf, archive)
        repository = await shop.sources.create_charts(shelf)
        await shop.sources.push_chart(shelf, archive)
        source = {"apiVersion": "source.toolkit.fluxcd.io/v1", "metadata": {"name": "shop", "namespace": "apps"}}
        oci = {**source, "kind": "OCIRepository", "spec": {
            "url": f"{shop.oci(shelf)}/greeter", "ref": {"semver": "1.x"}, "interval": "1h"}}  # fmt: skip
        http = {**source, "kind": "HelmRepository", "spec": {"url": repository.url, "interval": "1h"}}
        by_oci, by_http = release("by-oci"), release("by-http")
        by_oci["spec"] = {"interval": "1h", "chartRef": {"kind": "OCIRepository", "name": "shop"}}
        by_http["spec"]["chart"]["spec"] = {
            "chart": "greeter", "version": "~1.4", "sourceRef": {"kind": "HelmRepository", "name": "shop"},
        }  # fmt: skip
        repos.write(root, {"releases/shop.yaml": [oci, http, by_oci, by_http]})
        first = await here.everything(root)
        one, other = (first[name, Side.GITOPS].rendition for name in ("by-oci", "by-http"))
        digest = pushed.digest.removeprefix("sha256:")

        assert messages(one, "error") == messages(other, "error") == []
        # helm-controller appends the digest of an OCIRepository's chart to its version.
        assert objects(one)["ConfigMap/by-oci"]["data"] == {"word": f"1.4.0+{digest[:12]}"}
        assert objects(other)["ConfigMap/by-http"]["data"] == {"word": "1.4.0"}
        assert [(each.version, each.digest) for each in one.pins] == [("1.4.0", pushed.digest)]

        second = await kitchen.everything(root, offline=True)
        assert {"by-oci", "by-http"} <= cached(second)
        third = await kitchen.everything(root, offline=True, anew=True)
        assert third["by-oci", Side.GITOPS].rendition == one

    async def test_a_chart_that_cannot_be_had_spoils_nothing_else(self, kitchen: Kitchen, root: Path) -> None:
        repository = {
            "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "HelmRepository",
            "metadata": {"name": "gone", "namespace": "apps"}, "spec": {"url": "https://charts.example.org"},
        }  # fmt: skip
        missing = release("missing")
        missing["spec"]["chart"]["spec"] = {
            "chart": "x", "version": "1.0.0", "sourceRef": {"kind": "HelmRepository", "name": "gone"},
        }  # fmt: skip
        repos.write(root, {"releases/missing.yaml": [repository, missing]})
        found = await kitchen.everything(root, offline=True)

        assert ["not in the cache" in each for each in messages(found["missing", Side.GITOPS].rendition)] == [True]
        assert objects(found["first", Side.GITOPS].rendition) != {}

    async def test_remote_resources_of_a_kustomization_are_fetched_pinned_and_kept(
        self, kitchen: Kitchen, shop: Shop, root: Path
    ) -> None:
        here = shop.served(kitchen)
        name = shop.fresh("team/n")
        await shop.sources.create_git(name)
        files = {
            "deploy/kustomization.yaml": b"resources: [../parts/a.yaml, b]\n",
            "deploy/b/kustomization.yaml": b"resources: [b.yaml]\nnamePrefix: far-\n",
            "deploy/b/b.yaml": (CONFIG % ("b", "1")).encode(),
            "parts/a.yaml": (CONFIG % ("a", "1")).encode(),
        }
        moved = await shop.sources.commit(name, files, message="one")
        # The server speaks no TLS, which kustomizations must; so the URL is only written as if it did.
        url = f"{shop.at.git}{name}.git".replace("http://", "https://")
        repos.write(root, {"a/kustomization.yaml": {"resources": [f"{url}//deploy?ref=main", "own.yaml"]}})
        rendition = (await here.one(root, "a")).rendition
        assert messages(rendition, "error") != []  # TLS is insisted on
        assert moved.after


class TestServed:
    async def test_a_crd_that_comes_renders_those_that_ask_for_kinds(self, kitchen: Kitchen, root: Path) -> None:
        repos.write(root, {
            "charts/asks/Chart.yaml": "apiVersion: v2\nname: asks\nversion: 1.0.0\n",
            "charts/asks/templates/a.yaml": CONFIG % ("asks", '{{ .Capabilities.APIVersions.Has "example.com/v1" }}'),
        })  # fmt: skip
        asks = release("asks")
        asks["spec"]["chart"]["spec"]["chart"] = "./charts/asks"
        repos.write(root, {"releases/asks.yaml": asks})
        first = await kitchen.everything(root)
        crd = {
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "others.example.com"},
            "spec": {"group": "example.com", "scope": "Cluster", "names": {"kind": "Other", "plural": "others"},
                     "versions": [{"name": "v1", "served": True, "storage": True, "schema": {}}]},
        }  # fmt: skip
        repos.write(root, {"b/crd.yaml": crd})
        second = await kitchen.everything(root)

        assert objects(first["asks", Side.GITOPS].rendition)["ConfigMap/asks"]["data"] == {"word": "false"}
        assert objects(second["asks", Side.GITOPS].rendition)["ConfigMap/asks"]["data"] == {"word": "true"}
        assert again(second) == {"b", "asks"}
