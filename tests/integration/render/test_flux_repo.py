"""Repos of Flux rendered by real kustomize and helm: expected results are what Flux applies."""

from pathlib import Path
from typing import Any

from firstlight.model.component import Side
from tests.integration.render import repos
from tests.integration.render.repos import Kitchen, messages, objects

SYSTEM = "flux-system"
SOURCE = {"kind": "GitRepository", "name": SYSTEM}
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {word: '%s'}\n"


def kustomization(name: str, path: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "kind": "Kustomization",
        "metadata": {"name": name, "namespace": SYSTEM},
        "spec": {"sourceRef": SOURCE, "path": path, "prune": True, "interval": "1h", **spec},
    }


def sync(path: str = "clusters/one") -> list[dict[str, Any]]:
    repository = {
        "apiVersion": "source.toolkit.fluxcd.io/v1",
        "kind": "GitRepository",
        "metadata": {"name": SYSTEM, "namespace": SYSTEM},
        "spec": {"url": "ssh://git@git.example.org/me/home", "ref": {"branch": "main"}, "interval": "1m"},
    }
    return [repository, kustomization(SYSTEM, f"./{path}")]


def repo(root: Path, files: dict[str, object], **spec: Any) -> Path:
    """A cluster with one Kustomization ``app`` of the directory ``app``."""
    return repos.write(
        root,
        {
            "clusters/one/flux-system/gotk-sync.yaml": sync(),
            "clusters/one/app.yaml": kustomization("app", "./app", **spec),
            **files,
        },
    )


class TestKustomizations:
    async def test_a_directory_without_a_kustomization_is_taken_whole(self, kitchen: Kitchen, tmp_path: Path) -> None:
        files: dict[str, object] = {
            "app/a.yaml": CONFIG % ("a", "1"),
            "app/deep/er/b.yml": CONFIG % ("b", "1"),
            "app/built/kustomization.yaml": {"resources": ["c.yaml"], "namePrefix": "x-"},
            "app/built/c.yaml": CONFIG % ("c", "1"),
            "app/built/not-named.yaml": CONFIG % ("d", "1"),
            "app/readme.md": "no manifest",
            "app/.sops.yaml": "creation_rules: []\n",
        }
        outcome = await kitchen.one(repo(tmp_path / "repo", files), "app")

        assert sorted(objects(outcome.rendition)) == ["ConfigMap/a", "ConfigMap/b", "ConfigMap/x-c"]
        assert outcome.rendition.diagnostics == ()

    async def test_what_the_kustomization_adds_is_done_as_in_the_file_itself(
        self, kitchen: Kitchen, tmp_path: Path
    ) -> None:
        """A name prefix of Flux takes the place of the file's, patches come before the prefix, images are merged."""
        web = {
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
            "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {
                "metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}}},
        }  # fmt: skip
        files: dict[str, object] = {
            "app/kustomization.yaml": {
                "resources": ["web.yaml"], "namePrefix": "file-", "labels": [{"pairs": {"l": "m"}}],
            },
            "app/web.yaml": web,
            "more/kustomization.yaml": {
                "apiVersion": "kustomize.config.k8s.io/v1alpha1", "kind": "Component", "resources": ["c.yaml"],
            },
            "more/c.yaml": CONFIG % ("c", "1"),
        }  # fmt: skip
        spec = {
            "targetNamespace": "there",
            "namePrefix": "flux-",
            "nameSuffix": "-end",
            "components": ["../more"],
            "patches": [{"patch": "- op: add\n  path: /spec/replicas\n  value: 3\n", "target": {"name": "web"}}],
            "images": [{"name": "web", "newName": "registry.example/web", "newTag": "2"}],
            "commonMetadata": {"labels": {"team": "one"}, "annotations": {"note": "yes"}},
        }
        found = objects((await kitchen.one(repo(tmp_path / "repo", files, **spec), "app")).rendition)

        assert sorted(found) == ["ConfigMap/flux-c-end", "Deployment/flux-web-end"]
        made = found["Deployment/flux-web-end"]
        assert made["metadata"] == {
            "name": "flux-web-end", "namespace": "there", "labels": {"l": "m", "team": "one"},
            "annotations": {"note": "yes"},
        }  # fmt: skip
        assert made["spec"]["replicas"] == 3
        assert made["spec"]["template"]["spec"]["containers"][0]["image"] == "registry.example/web:2"
        assert made["spec"]["template"]["metadata"]["labels"] == {"a": "b"}

    async def test_children_and_their_sources_are_among_what_a_kustomization_applies(
        self, kitchen: Kitchen, tmp_path: Path
    ) -> None:
        outcome = await kitchen.one(repo(tmp_path / "repo", {"app/a.yaml": CONFIG % ("a", "1")}), SYSTEM)

        assert sorted(objects(outcome.rendition)) == [
            "GitRepository/flux-system", "Kustomization/app", "Kustomization/flux-system",
        ]  # fmt: skip

    async def test_a_broken_kustomization_is_told_with_its_file(self, kitchen: Kitchen, tmp_path: Path) -> None:
        files: dict[str, object] = {"app/kustomization.yaml": {"resources": ["missing.yaml"]}}
        rendition = (await kitchen.one(repo(tmp_path / "repo", files), "app")).rendition

        assert rendition.objects == ()
        (diagnostic,) = rendition.diagnostics
        assert diagnostic.severity == "error"
        assert diagnostic.place.path == "app/kustomization.yaml"
        assert "missing.yaml" in diagnostic.message
        assert str(tmp_path) not in diagnostic.message

    async def test_nothing_outside_of_the_repo_gets_in(self, kitchen: Kitchen, tmp_path: Path) -> None:
        (tmp_path / "secret.yaml").write_text(CONFIG % ("outside", "1"))
        files: dict[str, object] = {"app/kustomization.yaml": {"resources": ["../../secret.yaml", "link.yaml"]}}
        root = repo(tmp_path / "repo", files)
        (root / "app/link.yaml").symlink_to("../../secret.yaml")
        rendition = (await kitchen.one(root, "app")).rendition

        assert rendition.objects == ()
        assert [each.severity for each in rendition.diagnostics] == ["error"]

    async def test_links_are_not_there_for_flux(self, kitchen: Kitchen, tmp_path: Path) -> None:
        files: dict[str, object] = {"app/a.yaml": CONFIG % ("a", "1"), "other/b.yaml": CONFIG % ("b", "1")}
        root = repo(tmp_path / "repo", files)
        (root / "app/linked").symlink_to("../other")

        assert sorted(objects((await kitchen.one(root, "app")).rendition)) == ["ConfigMap/a"]
        repos.write(root, {"app/kustomization.yaml": {"resources": ["a.yaml", "linked/b.yaml"]}})
        assert messages((await kitchen.one(root, "app")).rendition, "error") != []


class TestSubstitution:
    async def test_variables_come_from_the_kustomization_and_from_config_maps_that_git_applies(
        self, kitchen: Kitchen, tmp_path: Path
    ) -> None:
        settings = {
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": SYSTEM},
            "data": {"region": "north", "count": "2"},
        }  # fmt: skip
        files: dict[str, object] = {
            "clusters/one/settings.yaml": settings,
            "app/a.yaml": (
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
                "data: {at: '${region}-${zone}', default: '${absent:=none}', gone: 'x${absent}x', price: $$5}\n"
            ),
            "app/b.yaml": (
                "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: b}\nspec: {replicas: '${count}'}\n"
            ),
            "app/c.yaml": (
                "apiVersion: v1\nkind: ConfigMap\n"
                "metadata: {name: c, annotations: {kustomize.toolkit.fluxcd.io/substitute: disabled}}\n"
                "data: {at: '${region}'}\n"
            ),
        }
        sources = [
            {"kind": "ConfigMap", "name": "settings"},
            {"kind": "ConfigMap", "name": "nobody", "optional": True},
        ]
        build = {"substitute": {"zone": "a"}, "substituteFrom": sources}
        rendition = (await kitchen.one(repo(tmp_path / "repo", files, postBuild=build), "app")).rendition
        found = objects(rendition)

        assert found["ConfigMap/a"]["data"] == {"at": "north-a", "default": "none", "gone": "xx", "price": "$5"}
        assert found["Deployment/b"]["spec"]["replicas"] == 2
        assert found["ConfigMap/c"]["data"] == {"at": "${region}"}
        assert rendition.diagnostics == ()

    async def test_what_only_a_secret_knows_is_left_as_text(self, kitchen: Kitchen, tmp_path: Path) -> None:
        files: dict[str, object] = {"app/a.yaml": CONFIG % ("a", "${password} ${zone} ${mode:=dark}")}
        build = {"substitute": {"zone": "a"}, "substituteFrom": [{"kind": "Secret", "name": "cluster"}]}
        rendition = (await kitchen.one(repo(tmp_path / "repo", files, postBuild=build), "app")).rendition

        assert objects(rendition)["ConfigMap/a"]["data"] == {"word": "${password} a dark"}
        assert [each.severity for each in rendition.diagnostics] == ["unknown", "unknown"]
        assert "password" in rendition.diagnostics[0].message
        assert "Secret/flux-system/cluster" in rendition.diagnostics[0].message

    async def test_without_variables_dollar_signs_stay(self, kitchen: Kitchen, tmp_path: Path) -> None:
        root = repo(tmp_path / "repo", {"app/a.yaml": CONFIG % ("a", "${x} $$")})
        assert objects((await kitchen.one(root, "app")).rendition)["ConfigMap/a"]["data"] == {"word": "${x} $$"}

    async def test_what_flux_refuses_is_an_error(self, kitchen: Kitchen, tmp_path: Path) -> None:
        files: dict[str, object] = {"app/a.yaml": CONFIG % ("a", "${x-y}")}
        build = {"substitute": {"x": "1"}}
        rendition = (await kitchen.one(repo(tmp_path / "repo", files, postBuild=build), "app")).rendition
        assert messages(rendition, "error") != []


CHART = {
    "charts/hello/Chart.yaml": "apiVersion: v2\nname: hello\nversion: 1.2.3\n",
    "charts/hello/values.yaml": "word: plain\nnested: {a: 1, b: 2}\nlist: [1]\n",
    "charts/hello/crds/things.yaml": {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.org"},
        "spec": {"group": "example.org", "scope": "Cluster", "names": {"kind": "Thing", "plural": "things"},
                 "versions": [{"name": "v1", "served": True, "storage": True, "schema": {}}]},
    },
    "charts/hello/templates/all.yaml": (
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}-config\ndata:\n"
        "  word: {{ .Values.word | quote }}\n  nested: {{ .Values.nested | toJson | quote }}\n"
        "  list: {{ .Values.list | toJson | quote }}\n  at: {{ .Release.Namespace }}\n"
        "  kube: {{ .Capabilities.KubeVersion.Version }}\n  version: {{ .Chart.Version }}\n"
        "---\napiVersion: example.org/v1\nkind: Thing\nmetadata: {name: thing}\n"
        "---\napiVersion: batch/v1\nkind: Job\nmetadata:\n  name: before\n  annotations: {helm.sh/hook: pre-install}\n"
        "spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}\n"
        "---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: test\n  annotations: {helm.sh/hook: test}\n"
        "spec: {containers: [{name: a, image: a}]}\n"
    ),
}  # fmt: skip


def release(name: str = "hello", *, namespace: str = "apps", **spec: Any) -> dict[str, Any]:
    chart = {"spec": {"chart": "./charts/hello", "sourceRef": {**SOURCE, "namespace": SYSTEM}}}
    return {
        "apiVersion": "helm.toolkit.fluxcd.io/v2",
        "kind": "HelmRelease",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"interval": "1h", "chart": chart, **spec},
    }


class TestHelmReleases:
    async def test_values_are_laid_over_each_other_as_flux_does_it(self, kitchen: Kitchen, tmp_path: Path) -> None:
        values = [
            {"kind": "ConfigMap", "name": "first"},
            {"kind": "ConfigMap", "name": "second", "valuesKey": "more", "targetPath": "nested.c"},
            {"kind": "ConfigMap", "name": "nobody", "optional": True},
        ]
        files: dict[str, object] = {
            **CHART,
            "app/first.yaml": {
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "first", "namespace": "apps"},
                "data": {"values.yaml": "word: first\nnested: {a: null}\nlist: [2, 3]\n"},
            },
            "app/second.yaml": {
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "second", "namespace": "apps"},
                "data": {"more": "7"},
            },
            "app/release.yaml": release(valuesFrom=values, values={"word": "own"}),
        }  # fmt: skip
        rendition = (await kitchen.one(repo(tmp_path / "repo", files), "hello")).rendition
        data = objects(rendition)["ConfigMap/hello-config"]["data"]

        assert data["word"] == "own"
        assert data["nested"] == '{"b":2,"c":7}'
        assert data["list"] == "[2,3]"
        assert rendition.diagnostics == ()

    async def test_objects_go_to_the_target_namespace_but_for_those_that_are_in_none(
        self, kitchen: Kitchen, tmp_path: Path
    ) -> None:
        files: dict[str, object] = {**CHART, "app/release.yaml": release(targetNamespace="there")}
        rendition = (await kitchen.one(repo(tmp_path / "repo", files), "hello")).rendition
        found = objects(rendition)

        assert found["ConfigMap/there-hello-config"]["metadata"]["namespace"] == "there"
        assert found["ConfigMap/there-hello-config"]["data"]["at"] == "there"
        assert "namespace" not in found["Thing/thing"]["metadata"]
        assert "namespace" not in found["CustomResourceDefinition/things.example.org"]["metadata"]
        assert "Job/before" in found
        assert "Pod/test" not in found

    async def test_a_kind_that_nobody_defines_is_left_where_it_is(self, kitchen: Kitchen, tmp_path: Path) -> None:
        files: dict[str, object] = {
            **CHART,
            "charts/hello/templates/other.yaml": (
                "apiVersion: unknown.example/v1\nkind: Other\nmetadata: {name: other}\n"
            ),
            "app/release.yaml": release(),
        }
        found = objects((await kitchen.one(repo(tmp_path / "repo", files), "hello")).rendition)
        assert found["Other/other"]["metadata"] == {"name": "other"}

    async def test_crds_may_be_skipped(self, kitchen: Kitchen, tmp_path: Path) -> None:
        files: dict[str, object] = {**CHART, "app/release.yaml": release(install={"crds": "Skip"})}
        rendition = (await kitchen.one(repo(tmp_path / "repo", files), "hello")).rendition
        assert "CustomResourceDefinition/things.example.org" not in objects(rendition)

    async def test_post_renderers_and_common_metadata_come_after_helm(self, kitchen: Kitchen, tmp_path: Path) -> None:
        patches = [
            {"target": {"kind": "ConfigMap"}, "patch": "- op: replace\n  path: /data/word\n  value: patched\n"},
            {"patch": "apiVersion: batch/v1\nkind: Job\nmetadata: {name: before, labels: {hook: also}}\n"},
        ]
        files: dict[str, object] = {
            **CHART,
            "app/release.yaml": release(
                postRenderers=[{"kustomize": {"patches": patches, "images": [{"name": "a", "newTag": "9"}]}}],
                commonMetadata={"labels": {"team": "one"}},
            ),
        }
        found = objects((await kitchen.one(repo(tmp_path / "repo", files), "hello")).rendition)

        assert found["ConfigMap/hello-config"]["data"]["word"] == "patched"
        assert found["ConfigMap/hello-config"]["metadata"]["labels"] == {"team": "one"}
        assert found["Job/before"]["metadata"]["labels"] == {"hook": "also", "team": "one"}
        assert found["Job/before"]["spec"]["template"]["spec"]["containers"][0]["image"] == "a:9"
        assert "labels" not in found["CustomResourceDefinition/things.example.org"]["metadata"]

    async def test_owner_labels_are_those_of_helm_and_of_helm_controller(
        self, kitchen: Kitchen, tmp_path: Path
    ) -> None:
        root = repo(tmp_path / "repo", {**CHART, "app/release.yaml": release()})
        found = objects((await kitchen.one(root, "hello", owner_labels=True)).rendition)
        mine = {"helm.toolkit.fluxcd.io/name": "hello", "helm.toolkit.fluxcd.io/namespace": "apps"}

        config = found["ConfigMap/hello-config"]["metadata"]
        assert config["labels"] == {"app.kubernetes.io/managed-by": "Helm", **mine}
        assert config["annotations"] == {
            "meta.helm.sh/release-name": "hello", "meta.helm.sh/release-namespace": "apps",
        }  # fmt: skip
        assert found["CustomResourceDefinition/things.example.org"]["metadata"]["labels"] == mine

    async def test_values_that_only_a_secret_has_are_not_known(self, kitchen: Kitchen, tmp_path: Path) -> None:
        values = [{"kind": "Secret", "name": "login"}, {"kind": "ConfigMap", "name": "nobody"}]
        files: dict[str, object] = {**CHART, "app/release.yaml": release(valuesFrom=values)}
        rendition = (await kitchen.one(repo(tmp_path / "repo", files), "hello")).rendition

        assert "ConfigMap/hello-config" in objects(rendition)
        assert ["login" in each for each in messages(rendition, "unknown")] == [True]
        assert ["nobody" in each for each in messages(rendition, "error")] == [True]

    async def test_templates_find_the_version_and_the_kinds_of_the_cluster(
        self, kitchen: Kitchen, tmp_path: Path
    ) -> None:
        """A chart asks for kinds that another component's CRDs define: in the cluster they are there."""
        asking = {
            "charts/asking/Chart.yaml": "apiVersion: v2\nname: asking\nversion: 1.0.0\n",
            "charts/asking/templates/a.yaml": (
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: asking}\n"
                'data: {thing: "{{ .Capabilities.APIVersions.Has "example.org/v1/Thing" }}",'
                ' other: "{{ .Capabilities.APIVersions.Has "example.org/v2" }}"}\n'
                "---\napiVersion: example.org/v1\nkind: Thing\nmetadata: {name: asked}\n"
            ),
        }
        ask = release("asking")
        ask["spec"]["chart"]["spec"]["chart"] = "./charts/asking"
        files: dict[str, object] = {**CHART, **asking, "app/one.yaml": release(), "app/two.yaml": ask}
        root = repo(tmp_path / "repo", files)
        repos.write(root, {"firstlight.yaml": {
            "apiVersion": "firstlight.dev/v1alpha1", "kind": "Platform", "metadata": {"name": "home"},
            "clusters": {"one": {"path": "clusters/one", "kubernetes": "v1.33.7"}}}})  # fmt: skip

        rendition = (await kitchen.one(root, "asking")).rendition
        assert objects(rendition)["ConfigMap/asking"]["data"] == {"thing": "true", "other": "false"}
        assert "namespace" not in objects(rendition)["Thing/asked"]["metadata"]
        hello = (await kitchen.one(root, "hello")).rendition
        assert objects(hello)["ConfigMap/hello-config"]["data"]["kube"] == "v1.33.7"

    async def test_a_chart_that_fails_is_told_with_its_template(self, kitchen: Kitchen, tmp_path: Path) -> None:
        files: dict[str, object] = {
            **CHART,
            "charts/hello/templates/fails.yaml": '{{ fail "no s3cretvalue here" }}',
            "app/release.yaml": release(values={"password": "s3cretvalue"}),
        }
        rendition = (await kitchen.one(repo(tmp_path / "repo", files), "hello")).rendition
        (message,) = messages(rendition, "error")

        assert "hello/templates/fails.yaml:1" in message
        assert "s3cretvalue" not in message

    async def test_dependencies_in_the_repo_are_put_into_the_chart(self, kitchen: Kitchen, tmp_path: Path) -> None:
        files: dict[str, object] = {
            **CHART,
            "charts/hello/Chart.yaml": (
                "apiVersion: v2\nname: hello\nversion: 1.2.3\n"
                "dependencies: [{name: inner, version: 1.0.0, repository: file://../inner}]\n"
            ),
            "charts/inner/Chart.yaml": "apiVersion: v2\nname: inner\nversion: 1.0.0\n",
            "charts/inner/templates/a.yaml": CONFIG % ("inner", "{{ .Values.word }}"),
            "app/release.yaml": release(values={"inner": {"word": "given"}}),
        }
        found = objects((await kitchen.one(repo(tmp_path / "repo", files), "hello")).rendition)
        assert found["ConfigMap/inner"]["data"] == {"word": "given"}


class TestSides:
    async def test_a_component_declared_for_bootstrap_is_rendered_from_git(
        self, kitchen: Kitchen, tmp_path: Path
    ) -> None:
        root = repo(tmp_path / "repo", {**CHART, "app/release.yaml": release()})
        repos.write(root, {"firstlight.yaml": {
            "apiVersion": "firstlight.dev/v1alpha1", "kind": "Platform", "metadata": {"name": "home"},
            "clusters": {"one": {"path": "clusters/one"}}, "components": {"hello": {"phase": "core"}}}})  # fmt: skip

        found = await kitchen.everything(root)
        one, other = found["hello", Side.BOOTSTRAP].rendition, found["hello", Side.GITOPS].rendition
        assert one.objects == other.objects != ()


class TestFluxItself:
    """What ``flux bootstrap`` wrote, as the Kustomization of the cluster applies it: bootstrap installs the same."""

    GOTK = "clusters/one/flux-system/gotk-components.yaml"

    @staticmethod
    def controller(name: str) -> dict[str, Any]:
        return {
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": SYSTEM},
            "spec": {"template": {"spec": {"containers": [{"name": "manager", "args": ["--log-level=info"]}]}}},
        }  # fmt: skip

    async def flux(self, kitchen: Kitchen, root: Path, beside: list[object], **spec: Any) -> dict[str, Any]:
        controllers = [self.controller(each) for each in ("kustomize-controller", "notification-controller")]
        repository, first = sync()
        first["spec"] |= spec
        files: dict[str, object] = {
            "clusters/one/flux-system/gotk-sync.yaml": [repository, first],
            self.GOTK: controllers,
            "clusters/one/flux-system/kustomization.yaml": {
                "resources": ["gotk-components.yaml", "gotk-sync.yaml", "extra.yaml"], "patches": beside,
            },
            "clusters/one/flux-system/extra.yaml": {
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "extra", "namespace": SYSTEM},
            },
            "firstlight.yaml": {
                "apiVersion": "firstlight.dev/v1alpha1", "kind": "Platform", "metadata": {"name": "p"},
                "clusters": {"one": {"path": "clusters/one"}}, "components": {"flux": {"phase": "engine"}},
            },
        }  # fmt: skip
        done = await kitchen.everything(repo(root, {**files, "app/a.yaml": CONFIG % ("a", "1")}))
        assert done["flux", Side.BOOTSTRAP].rendition.objects == done["flux", Side.GITOPS].rendition.objects
        return objects(done["flux", Side.BOOTSTRAP].rendition)

    async def test_it_is_patched_beside_its_manifests(self, kitchen: Kitchen, tmp_path: Path) -> None:
        faster = (
            '[{"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": "--requeue-dependency=5s"}]'
        )
        called = f"{{name: notification-controller, namespace: {SYSTEM}}}"
        gone = f"{{$patch: delete, apiVersion: apps/v1, kind: Deployment, metadata: {called}}}"
        patches: list[object] = [{"patch": faster, "target": {"name": "kustomize-controller"}}, {"patch": gone}]

        found = await self.flux(kitchen, tmp_path / "repo", patches)

        assert list(found) == ["Deployment/kustomize-controller"], (
            "neither what was patched away, nor what is beside it"
        )
        [container] = found["Deployment/kustomize-controller"]["spec"]["template"]["spec"]["containers"]
        assert container["args"] == ["--log-level=info", "--requeue-dependency=5s"]

    async def test_it_is_patched_by_the_kustomization_that_applies_it(self, kitchen: Kitchen, tmp_path: Path) -> None:
        more = {"patch": '[{"op": "add", "path": "/spec/replicas", "value": 2}]', "target": {"kind": "Deployment"}}

        found = await self.flux(kitchen, tmp_path / "repo", [], patches=[more])

        assert [each["spec"]["replicas"] for each in found.values()] == [2, 2]
