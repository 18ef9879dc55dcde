"""The manifests of a machine config: found in all forms, taken out of each, and what several machines share."""

from typing import Any

import pytest
import yaml

from firstlight.execute import cluster_access, machine_configs
from firstlight.execute.machine_configs import ConfigManifests
from firstlight.model.cluster import Machine, MachineRole
from firstlight.model.machine_config import MachineDraft
from firstlight.model.place import Place
from firstlight.model.secret import Secret

CONFIG = """
version: v1alpha1
cluster:
  inlineManifests: [{name: cilium, contents: "kind: A"}, {name: argo, contents: "kind: B"}]
  extraManifests: [https://example.org/v1.2.0/a.yaml, https://example.org/b.yaml]
  network: {cni: {name: custom, urls: [https://example.org/cni.yaml]}}
  externalCloudProvider: {enabled: true, manifests: [https://example.org/ccm.yaml]}
---
apiVersion: v1alpha1
kind: KubeInlineManifestConfig
name: flux
manifest: "kind: C"
---
apiVersion: v1alpha1
kind: KubeExternalManifestConfig
name: crds
url: https://example.org/crds.yaml
---
apiVersion: v1alpha1
kind: HostnameConfig
hostname: cp-1
"""


def held(text: str = CONFIG) -> ConfigManifests:
    return machine_configs.manifests_in(yaml.safe_load_all(text))


def without(*names: str) -> list[Any]:
    before = held()
    return [
        dict(each)
        for each in machine_configs.manifest_patches(
            before, machine_configs.kept_manifests(before, before.names - {*names})
        )
    ]


def test_manifests_are_found_in_every_form() -> None:
    assert held().names == {
        "cilium", "argo", "flux", "https://example.org/v1.2.0/a.yaml", "https://example.org/b.yaml",
        "https://example.org/cni.yaml", "https://example.org/ccm.yaml", "https://example.org/crds.yaml",
    }  # fmt: skip
    assert held("machine: {}").names == frozenset()


def test_an_inline_manifest_goes_and_the_others_keep_their_order() -> None:
    assert without("cilium") == [
        {
            "cluster": {
                "inlineManifests": [{"name": "cilium", "$patch": "delete"}, {"name": "argo", "$patch": "delete"}]
            }
        },
        {"cluster": {"inlineManifests": [{"name": "argo", "contents": "kind: B"}]}},
    ]


def test_documents_of_1_14_are_deleted_by_their_names() -> None:
    assert without("flux", "https://example.org/crds.yaml") == [
        {"apiVersion": "v1alpha1", "kind": "KubeInlineManifestConfig", "name": "flux", "$patch": "delete"},
        {"apiVersion": "v1alpha1", "kind": "KubeExternalManifestConfig", "name": "crds", "$patch": "delete"},
    ]


def test_urls_go_from_where_they_are_listed() -> None:
    assert without("https://example.org/b.yaml", "https://example.org/ccm.yaml") == [
        {"cluster": {"extraManifests": {"$patch": "delete"}}},
        {"cluster": {"extraManifests": ["https://example.org/v1.2.0/a.yaml"]}},
        {"cluster": {"externalCloudProvider": {"manifests": {"$patch": "delete"}}}},
    ]


def test_a_cni_without_urls_is_somebody_elses() -> None:
    assert without("https://example.org/cni.yaml") == [
        {"cluster": {"network": {"cni": {"$patch": "delete"}}}},
        {"cluster": {"network": {"cni": {"name": "none"}}}},
    ]


def test_nothing_to_take_out_is_no_patch() -> None:
    assert without("other") == []


def test_what_one_machine_was_released_from_is_not_common() -> None:
    one, other = held(), held("cluster: {inlineManifests: [{name: argo, contents: 'kind: other'}]}")

    assert machine_configs.common_manifests([one, other]) == ConfigManifests(inline={"argo": "kind: B"})
    assert machine_configs.common_manifests([one]) == one
    assert machine_configs.common_manifests([]) == ConfigManifests()


def test_urls_are_the_same_in_another_version_alone() -> None:
    base = "https://example.org/org/net/releases/download/v1.2.0/install.yaml"

    assert machine_configs.is_same_but_version(base, base.replace("v1.2.0", "v1.10.3-rc.1"))
    assert machine_configs.is_same_but_version(base, base)
    assert not machine_configs.is_same_but_version(base, base.replace("net", "store"))
    assert not machine_configs.is_same_but_version(base, base.replace("install", "crds"))


DOCUMENTS = """
version: v1alpha1
machine: {type: controlplane}
---
apiVersion: v1alpha1
kind: KubeNetworkConfig
podSubnets: [10.42.0.0/16]
---
apiVersion: v1alpha1
kind: KubeInlineManifestConfig
name: cilium
manifest: "kind: A"
---
apiVersion: v1alpha1
kind: KubeExternalManifestConfig
name: crds
url: https://example.org/crds/v1.0.0/crds.yaml
"""


def document(name: str, manifest: str) -> dict[str, Any]:
    return {"apiVersion": "v1alpha1", "kind": "KubeInlineManifestConfig", "name": name, "manifest": manifest}


def test_of_equal_names_the_list_counts() -> None:
    both = "cluster: {inlineManifests: [{name: net, contents: list}]}\n---\n" + yaml.safe_dump(document("net", "own"))

    assert held(both).contents == {"net": "list"}
    assert held().contents == {"cilium": "kind: A", "argo": "kind: B", "flux": "kind: C"}


def test_urls_of_both_forms_are_found() -> None:
    assert set(held().all_urls) == {each for each in held().names if "://" in each}
    assert held().named_urls == {"crds": "https://example.org/crds.yaml"}


def test_a_manifest_that_is_there_keeps_its_form() -> None:
    changed = machine_configs.with_contents(held(), {"cilium": "kind: X", "flux": "kind: Y", "new": "kind: Z"})

    assert changed.inline == {"cilium": "kind: X", "argo": "kind: B", "new": "kind: Z"}
    assert changed.documents == (document("flux", "kind: Y"), held().documents[1])


def test_no_manifest_is_in_both_forms() -> None:
    twice = machine_configs.with_contents(held(), {"cilium": "kind: X"}, documents={"cilium"})
    assert "cilium" not in twice.inline
    assert document("cilium", "kind: X") in twice.documents

    back = machine_configs.with_contents(held(), {"flux": "kind: Y"}, documents=())
    assert back.inline["flux"] == "kind: Y"
    assert [each["name"] for each in back.documents] == ["crds"]


class Patched:
    """A run in which talosctl would patch a config: what it is given."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.patches: list[Any] = []
        monkeypatch.setattr(cluster_access, "talosctl_program", lambda world: self)

    async def patch_config(self, config: Secret, patches: list[Secret]) -> Secret:
        self.patches = [yaml.safe_load(each.reveal()) for each in patches]
        return config


@pytest.fixture
def patched(monkeypatch: pytest.MonkeyPatch) -> Patched:
    return Patched(monkeypatch)


def draft(**given: Any) -> MachineDraft:
    machine = Machine(name="cp-1", role=MachineRole.CONTROL_PLANE, place=Place("firstlight.yaml", 1))
    return MachineDraft(machine=machine, cluster="home", endpoint="https://10.5.0.2:6443", **given)


WORLD: Any = None


async def test_a_config_of_documents_begins_with_documents(patched: Patched) -> None:
    rendered = {"cilium": Secret("kind: B"), "argo": Secret("kind: C")}

    await machine_configs.bootstrap(draft(inline=rendered), Secret(DOCUMENTS), WORLD)

    assert patched.patches == [
        {"apiVersion": "v1alpha1", "kind": "KubeInlineManifestConfig", "name": "cilium", "$patch": "delete"},
        document("cilium", "kind: B"),
        document("argo", "kind: C"),
    ]


async def test_an_old_config_begins_with_the_list(patched: Patched) -> None:
    await machine_configs.bootstrap(draft(inline={"argo": Secret("kind: C")}), Secret("cluster: {}"), WORLD)

    assert patched.patches == [{"cluster": {"inlineManifests": [{"name": "argo", "contents": "kind: C"}]}}]


async def test_what_a_machine_has_takes_the_declared_form(patched: Patched) -> None:
    has = held("cluster: {inlineManifests: [{name: cilium, contents: old}, {name: argo, contents: B}]}")

    await machine_configs.steady(draft(), Secret(DOCUMENTS), WORLD, has=has)

    assert patched.patches == [
        {"apiVersion": "v1alpha1", "kind": "KubeInlineManifestConfig", "name": "cilium", "$patch": "delete"},
        document("cilium", "old"),
        document("argo", "B"),
    ]


async def test_a_document_that_was_released_does_not_come_back(patched: Patched) -> None:
    url = "https://example.org/crds/v1.0.0/crds.yaml"
    config = Secret(DOCUMENTS)
    gone = [
        {"apiVersion": "v1alpha1", "kind": kind, "name": name, "$patch": "delete"}
        for kind, name in (("KubeInlineManifestConfig", "cilium"), ("KubeExternalManifestConfig", "crds"))
    ]

    await machine_configs.steady(draft(passing=frozenset({url})), config, WORLD, has=held("cluster: {}"))
    assert patched.patches == gone

    await machine_configs.steady(draft(), config, WORLD, has=held("cluster: {}"))
    assert patched.patches == gone[:1]

    other = held(DOCUMENTS.replace("v1.0.0", "v0.9.0"))
    patched.patches = []
    await machine_configs.steady(draft(passing=frozenset({url})), config, WORLD, has=other)
    assert patched.patches == []
