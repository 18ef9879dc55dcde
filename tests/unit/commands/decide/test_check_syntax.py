"""Whether what changed can be read, without a cluster."""

from pathlib import Path

from firstlight.commands.decide.checks import syntax
from firstlight.commands.decide.checks.answer import CheckAnswer
from firstlight.model.decision import CheckState
from tests.unit.commands.decide import scenes

CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boxes.example.org}
spec:
  group: example.org
  names: {kind: Box, plural: boxes}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties: {spec: {type: object, properties: {size: {type: integer}}}}
"""
BOX = "apiVersion: example.org/v1\nkind: Box\nmetadata: {name: one, namespace: web}\nspec: {size: %s}\n"


async def look(at: Path, after: dict[str, str | None]) -> list[CheckAnswer]:
    decision, scene = scenes.made(at, after)
    return await syntax.look(decision, scene)


def failures(notes: list[CheckAnswer]) -> list[str]:
    return [f"{each.place}: {each.message}" for each in notes if each.state == CheckState.FAILED]


async def test_all_is_well(tmp_path: Path) -> None:
    notes = await look(tmp_path, {"apps/web/web.yaml": scenes.deployment(image="web:1.0.1")})

    assert [(each.state, each.message) for each in notes] == [
        (CheckState.PASSED, "1 changed YAML file can be read"),
        (CheckState.SKIPPED, "the schema of Deployment: no cluster was asked"),
    ]


async def test_broken_yaml_is_told_once_with_its_place(tmp_path: Path) -> None:
    notes = await look(tmp_path, {"apps/web/web.yaml": "kind: [a\nb: c\n"})

    (found,) = failures(notes)
    assert found.startswith("apps/web/web.yaml:2")
    assert not any("can be read" in each.message for each in notes)


async def test_a_key_that_is_given_twice_is_for_a_person(tmp_path: Path) -> None:
    notes = await look(tmp_path, {"apps/web/web.yaml": scenes.deployment() + "kind: Deployment\n"})

    assert [each.message for each in notes if each.state == CheckState.PERSON] == [
        "kind is given twice, first in line 2; the last one counts"
    ]


async def test_what_was_broken_before_is_not_told_where_it_was_not_touched(tmp_path: Path) -> None:
    before = {**scenes.REPO, "apps/shop/bad.yaml": "a: [b\n"}
    decision, scene = scenes.made(tmp_path, {"apps/web/web.yaml": scenes.deployment(cpu="1")}, before=before)

    assert failures(await syntax.look(decision, scene)) == []


async def test_a_kustomization_that_names_a_file_that_is_gone(tmp_path: Path) -> None:
    with_list = {**scenes.REPO, "apps/web/kustomization.yaml": "resources: [web.yaml]\n"}
    decision, scene = scenes.made(tmp_path, {"apps/web/web.yaml": None}, before=with_list)

    (found,) = failures(await syntax.look(decision, scene))
    assert found.startswith("apps/web/kustomization.yaml:1")


async def test_firstlight_yaml(tmp_path: Path) -> None:
    fine = await look(tmp_path / "a", {"firstlight.yaml": scenes.DECLARED.replace("name: home", "name: house")})
    wrong = await look(tmp_path / "b", {"firstlight.yaml": scenes.DECLARED + "clusterz: {}\n"})

    assert any(each.message == "firstlight.yaml is valid" for each in fine)
    assert failures(wrong) == ["firstlight.yaml:7:1: clusterz is no field"]


async def test_custom_resources_against_the_crds_of_the_repo(tmp_path: Path) -> None:
    before = {**scenes.REPO, "apps/shop/crd.yaml": CRD}

    for size, expected in (
        ("1", []),
        ("large", ["apps/web/box.yaml:1: Box web/one: spec.size must be of type integer"]),
    ):
        decision, scene = scenes.made(tmp_path / size, {"apps/web/box.yaml": BOX % size}, before=before)
        assert failures(await syntax.look(decision, scene)) == expected


TALCONFIG = """\
clusterName: home
talosVersion: v1.13.0
kubernetesVersion: v1.34.0
endpoint: https://10.5.0.2:6443
nodes:
  - hostname: cp-1
    ipAddress: 10.5.0.2
    controlPlane: true
    installDisk: /dev/sda
patches:
  - |-
    machine:
      sysctls: {vm.overcommit_memory: "1"}
"""


async def test_without_talosctl_it_is_told(tmp_path: Path) -> None:
    before = {**scenes.REPO, "talos/talconfig.yaml": TALCONFIG}
    decision, scene = scenes.made(tmp_path, {"talos/talconfig.yaml": TALCONFIG.replace('"1"', '"2"')}, before=before)

    assert any("there is no talosctl" in each.message for each in await syntax.look(decision, scene))
