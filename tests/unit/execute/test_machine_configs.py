"""The manifests of a machine config: found in all forms, taken out of each, and what several machines share."""

from typing import Any

import yaml

from firstlight.execute import machine_configs
from firstlight.execute.machine_configs import ConfigManifests

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
