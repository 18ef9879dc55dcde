"""Repos of Argo CD rendered by real kustomize and helm: expected results are what its repo server makes."""

from pathlib import Path
from typing import Any

from tests.integration.render import repos
from tests.integration.render.repos import Kitchen, messages, objects
from tests.integration.render.test_flux_repo import CHART, CONFIG

URL = "https://git.example.org/me/home.git"
DESTINATION = {"server": "https://kubernetes.default.svc", "namespace": "apps"}


def application(name: str, *sources: dict[str, Any], **spec: Any) -> dict[str, Any]:
    given = {"source": sources[0]} if len(sources) == 1 else {"sources": list(sources)}
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": name, "namespace": "argocd"},
        "spec": {"project": "default", "destination": DESTINATION, **given, **spec},
    }


def here(path: str, **more: Any) -> dict[str, Any]:
    return {"repoURL": URL, "targetRevision": "main", "path": path, **more}


def repo(root: Path, files: dict[str, object], *applications: dict[str, Any]) -> Path:
    apps = {f"apps/{each['metadata']['name']}.yaml": each for each in applications}
    top = application("root", here("apps"))
    return repos.write(root, {"root.yaml": top, **apps, **files})


class TestDirectories:
    async def test_files_are_chosen_as_they_are(self, kitchen: Kitchen, tmp_path: Path) -> None:
        files: dict[str, object] = {
            "app/a.yaml": CONFIG % ("a", "1"),
            "app/b.json": '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}}',
            "app/skipped.yaml": CONFIG % ("skipped", "1"),
            "app/deep/c.yaml": CONFIG % ("c", "1"),
        }
        source = here("app", directory={"recurse": True, "exclude": "skip*"})
        rendition = (await kitchen.one(repo(tmp_path / "repo", files, application("app", source)), "app")).rendition

        assert sorted(objects(rendition)) == ["ConfigMap/a", "ConfigMap/b", "ConfigMap/c"]
        assert {each.id.namespace for each in rendition.objects} == {"apps"}

    async def test_a_file_that_is_no_yaml_is_an_error(self, kitchen: Kitchen, tmp_path: Path) -> None:
        files: dict[str, object] = {"app/a.yaml": CONFIG % ("a", "1"), "app/broken.yaml": "a: [1\n"}
        root = repo(tmp_path / "repo", files, application("app", here("app")))
        rendition = (await kitchen.one(root, "app")).rendition

        assert [each.place.path for each in rendition.diagnostics if each.severity == "error"] == ["app/broken.yaml"]


class TestKustomize:
    async def test_what_an_application_sets_is_edited_into_the_kustomization(
        self, kitchen: Kitchen, tmp_path: Path
    ) -> None:
        web = {
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
            "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {
                "metadata": {"labels": {"a": "b"}},
                "spec": {"containers": [{"name": "web", "image": "web:1"}, {"name": "x", "image": "side:1"}]}}},
        }  # fmt: skip
        files: dict[str, object] = {
            "app/kustomization.yaml": {
                "resources": ["web.yaml"], "namePrefix": "file-", "images": [{"name": "side", "newTag": "5"}],
            },
            "app/web.yaml": web,
        }  # fmt: skip
        options = {
            "namePrefix": "argo-",
            "images": ["web=registry.example:5000/web:2", "side=mirror.example/side:*"],
            "replicas": [{"name": "web", "count": 3}],
            "commonLabels": {"team": "$ARGOCD_APP_NAME"},
            "commonAnnotations": {"note": "yes"},
            "patches": [
                {"target": {"kind": "Deployment"}, "patch": "- op: add\n  path: /spec/paused\n  value: true\n"}
            ],
        }
        root = repo(tmp_path / "repo", files, application("app", here("app", kustomize=options)))
        rendition = (await kitchen.one(root, "app")).rendition
        made = objects(rendition)["Deployment/argo-web"]

        assert messages(rendition, "error") == []
        assert made["spec"]["replicas"] == 3
        assert made["spec"]["paused"] is True
        assert made["spec"]["selector"]["matchLabels"] == {"a": "b", "team": "app"}
        assert made["metadata"]["annotations"] == {"note": "yes"}
        assert made["metadata"]["namespace"] == "apps"
        images = [each["image"] for each in made["spec"]["template"]["spec"]["containers"]]
        assert images == ["registry.example:5000/web:2", "mirror.example/side:5"]

    async def test_files_above_are_out_of_reach(self, kitchen: Kitchen, tmp_path: Path) -> None:
        """Other than Flux, Argo CD keeps kustomize's own wall."""
        files: dict[str, object] = {
            "app/kustomization.yaml": {"resources": ["../a.yaml"]},
            "a.yaml": CONFIG % ("a", "1"),
        }
        root = repo(tmp_path / "repo", files, application("app", here("app")))
        rendition = (await kitchen.one(root, "app")).rendition
        assert rendition.objects == ()
        assert len(messages(rendition, "error")) == 1

    async def test_links_are_followed_inside_of_the_repo(self, kitchen: Kitchen, tmp_path: Path) -> None:
        files: dict[str, object] = {
            "app/kustomization.yaml": {"resources": ["linked"]},
            "other/kustomization.yaml": {"resources": ["b.yaml"]},
            "other/b.yaml": CONFIG % ("b", "1"),
        }
        root = repo(tmp_path / "repo", files, application("app", here("app")))
        (root / "app/linked").symlink_to("../other")

        assert sorted(objects((await kitchen.one(root, "app")).rendition)) == ["ConfigMap/b"]


class TestHelm:
    async def test_values_files_then_values_then_parameters(self, kitchen: Kitchen, tmp_path: Path) -> None:
        helm = {
            "releaseName": "named",
            "valueFiles": ["more.yaml", "/shared/all.yaml"],
            "valuesObject": {"nested": {"b": 20}},
            "parameters": [
                {"name": "nested.c", "value": "7"}, {"name": "nested.d", "value": "8", "forceString": True},
                {"name": "list", "value": "{x,y}"}, {"name": "word", "value": "a,b"},
            ],
            "fileParameters": [{"name": "nested.file", "path": "note.txt"}],
        }  # fmt: skip
        files: dict[str, object] = {
            **CHART,
            "charts/hello/more.yaml": "word: more\nnested: {a: 10}\n",
            "charts/hello/note.txt": "a note, with {braces}",
            "shared/all.yaml": "word: all\n",
        }
        root = repo(tmp_path / "repo", files, application("app", here("charts/hello", helm=helm)))
        rendition = (await kitchen.one(root, "app")).rendition
        found = objects(rendition)["ConfigMap/named-config"]

        assert messages(rendition) == []
        assert found["data"]["word"] == "a,b"
        assert found["data"]["nested"] == '{"a":10,"b":20,"c":7,"d":"8","file":"a note, with {braces}"}'
        assert found["data"]["list"] == '["x","y"]'
        assert found["metadata"]["namespace"] == "apps"

    async def test_crds_are_among_it_unless_they_are_skipped(self, kitchen: Kitchen, tmp_path: Path) -> None:
        files: dict[str, object] = dict(CHART)
        one = application("one", here("charts/hello"))
        two = application("two", here("charts/hello", helm={"skipCrds": True}))
        found = await kitchen.everything(repo(tmp_path / "repo", files, one, two))
        names = {name: objects(outcome.rendition) for (name, _), outcome in found.items()}

        assert "CustomResourceDefinition/things.example.org" in names["one"]
        assert "CustomResourceDefinition/things.example.org" not in names["two"]


class TestSeveralSources:
    async def test_the_last_one_counts_and_that_is_told(self, kitchen: Kitchen, tmp_path: Path) -> None:
        files: dict[str, object] = {
            **CHART,
            "values/app.yaml": "word: by ref\n",
            "extra/a.yaml": (
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: both-config, namespace: apps}\ndata: {word: last}\n"
            ),
            "other/a.yaml": CONFIG % ("other", "1"),
        }
        chart = here("charts/hello", helm={"valueFiles": ["$values/values/app.yaml"]})
        ref = {"repoURL": URL, "targetRevision": "main", "ref": "values"}
        app = application("both", chart, ref, here("extra"), here("other"))
        rendition = (await kitchen.one(repo(tmp_path / "repo", files, app), "both")).rendition
        found = objects(rendition)

        assert {"ConfigMap/both-config", "ConfigMap/other", "Thing/thing"} <= set(found)
        assert found["ConfigMap/both-config"]["data"] == {"word": "last"}

    async def test_tracking_is_put_on_objects_if_it_is_asked_for(self, kitchen: Kitchen, tmp_path: Path) -> None:
        app = application("app", here("app"))
        root = repo(tmp_path / "repo", {"app/a.yaml": CONFIG % ("a", "1")}, app)
        (obj,) = (await kitchen.one(root, "app", owner_labels=True)).rendition.objects
        tracking = obj.value["metadata"]["annotations"]["argocd.argoproj.io/tracking-id"]
        assert tracking == "app:/ConfigMap:apps/a"


class TestApplicationSets:
    async def test_each_application_that_a_set_makes_is_a_component(self, kitchen: Kitchen, tmp_path: Path) -> None:
        template = {
            "metadata": {"name": "{{.path.basename}}"},
            "spec": {"project": "default", "destination": DESTINATION, "source": here("{{.path.path}}")},
        }
        made = {
            "apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet",
            "metadata": {"name": "all", "namespace": "argocd"},
            "spec": {"goTemplate": True, "template": template, "generators": [
                {"git": {"repoURL": URL, "revision": "main", "directories": [{"path": "many/*"}]}}]},
        }  # fmt: skip
        files: dict[str, object] = {
            "apps/set.yaml": made, "many/one/a.yaml": CONFIG % ("one", "1"), "many/two/a.yaml": CONFIG % ("two", "1"),
        }  # fmt: skip
        found = await kitchen.everything(repo(tmp_path / "repo", files))
        names = {name: sorted(objects(outcome.rendition)) for (name, _), outcome in found.items()}

        assert names["one"] == ["ConfigMap/one"]
        assert names["two"] == ["ConfigMap/two"]
