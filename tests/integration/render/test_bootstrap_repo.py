"""What bootstrap deploys: helmfile releases, commands of scripts, inline manifests."""

from pathlib import Path

from firstlight.model.component import Side
from tests.integration.render import repos
from tests.integration.render.repos import Kitchen, messages, objects
from tests.integration.render.test_flux_repo import CHART, CONFIG


async def test_a_release_of_helmfile(kitchen: Kitchen, tmp_path: Path) -> None:
    files: dict[str, object] = {
        **CHART,
        "helmfile.yaml": {"releases": [{
            "name": "hello", "namespace": "apps", "chart": "./charts/hello",
            "values": ["values/hello.yaml", {"nested": {"a": 5}}], "set": [{"name": "list[0]", "value": 9}]}]},
        "values/hello.yaml": "word: from a file\n",
    }  # fmt: skip
    found = await kitchen.everything(repos.write(tmp_path / "repo", files))
    rendition = found["hello", Side.BOOTSTRAP].rendition
    made = objects(rendition)["ConfigMap/hello-config"]

    assert messages(rendition, "error") == []
    assert made["data"]["word"] == "from a file"
    assert made["data"]["nested"] == '{"a":5,"b":2}'
    assert made["data"]["list"] == "[9]"
    assert made["metadata"]["namespace"] == "apps"


async def test_commands_of_a_script(kitchen: Kitchen, tmp_path: Path) -> None:
    script = (
        "#!/bin/sh\n"
        "helm upgrade --install hello ./charts/hello --namespace apps --set word=given\n"
        "kubectl apply -f manifests/\n"
        "kubectl apply -k built --namespace web\n"
        "kubectl apply -n web -f placed.yaml\n"
    )
    files: dict[str, object] = {
        **CHART,
        "bootstrap.sh": script,
        "manifests/a.yaml": CONFIG % ("a", "1"),
        "placed.yaml": CONFIG % ("c", "1"),
        "built/kustomization.yaml": {"resources": ["b.yaml"], "nameSuffix": "-x"},
        "built/b.yaml": CONFIG % ("b", "1"),
        "talconfig.yaml": {
            "clusterName": "one", "endpoint": "https://10.0.0.1:6443", "kubernetesVersion": "v1.34.1",
            "nodes": [{"hostname": "cp", "ipAddress": "10.0.0.2", "controlPlane": True, "installDisk": "/dev/sda"}],
        },
    }  # fmt: skip
    found = await kitchen.everything(repos.write(tmp_path / "repo", files))
    everything = {name: each for (_, _), outcome in found.items() for name, each in objects(outcome.rendition).items()}

    assert everything["ConfigMap/hello-config"]["data"]["word"] == "given"
    assert everything["ConfigMap/hello-config"]["data"]["kube"] == "v1.34.1"
    assert everything["ConfigMap/a"]["metadata"]["namespace"] == "default"
    assert everything["ConfigMap/b-x"]["metadata"]["namespace"] == "web"
    assert everything["ConfigMap/c"]["metadata"]["namespace"] == "web"


async def test_an_inline_manifest(kitchen: Kitchen, tmp_path: Path) -> None:
    inside = f"---\n{CONFIG % ('a', '1')}---\n{CONFIG % ('b', '1')}"
    files: dict[str, object] = {
        "talconfig.yaml": {
            "clusterName": "one", "endpoint": "https://10.0.0.1:6443", "patches": ["@./patch.yaml"],
            "nodes": [{"hostname": "cp", "ipAddress": "10.0.0.2", "controlPlane": True, "installDisk": "/dev/sda"}],
        },
        "patch.yaml": {"cluster": {"inlineManifests": [{"name": "mine", "contents": inside}]}},
    }  # fmt: skip
    found = await kitchen.everything(repos.write(tmp_path / "repo", files))
    rendition = found["mine", Side.BOOTSTRAP].rendition

    assert sorted(objects(rendition)) == ["ConfigMap/a", "ConfigMap/b"]


async def test_of_a_chart_whose_crds_come_first_there_are_only_crds(kitchen: Kitchen, tmp_path: Path) -> None:
    release = {"name": "hello", "namespace": "apps", "chart": "../charts/hello"}
    files: dict[str, object] = {
        **CHART,
        "helmfile.d/00-crds.yaml": {"releases": [release]},
        "helmfile.d/01-apps.yaml": {"releases": [{**release, "name": "other"}]},
    }
    found = await kitchen.everything(repos.write(tmp_path / "repo", files))
    kinds = {name: {each.id.kind for each in outcome.rendition.objects} for (name, _), outcome in found.items()}

    assert {"CustomResourceDefinition"} in kinds.values()
    assert {"CustomResourceDefinition", "ConfigMap", "Job", "Thing"} in kinds.values()
