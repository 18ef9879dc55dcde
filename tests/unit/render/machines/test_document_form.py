"""Old fields as documents: what each becomes, and what stays, with the reason."""

from typing import Any

import pytest
import yaml

from firstlight.model.cluster import MachineRole
from firstlight.render.machines import document_form, document_groups
from firstlight.render.machines.document_form import DocumentForm

PLANE, WORKER = MachineRole.CONTROL_PLANE, MachineRole.WORKER


def form_of(text: str, *, is_whole: bool = False, role: MachineRole | None = PLANE, **more: Any) -> DocumentForm:
    return document_form.in_documents(
        yaml.safe_load(text), document_groups.GROUPS, is_whole=is_whole, role=role, **more
    )  # fmt: skip


def said(form: DocumentForm) -> dict[str, Any]:
    """What the documents say, by kind and name."""
    return {
        " ".join(filter(None, (each["kind"], each.get("name", "")))): {
            key: value for key, value in each.items() if key not in ("apiVersion", "kind", "name")
        }
        for each in form.documents
    }


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            "cluster: {network: {podSubnets: [10.42.0.0/16], dnsDomain: home}}",
            {"KubeNetworkConfig": {"dnsDomain": "home", "podSubnets": ["10.42.0.0/16"]}},
        ),
        ("cluster: {network: {cni: {name: none}}}", {"KubeFlannelCNIConfig": {"$patch": "delete"}}),
        (
            "cluster: {network: {cni: {name: custom, urls: ['https://example.org/a/v1.2.3/cni.yaml']}}}",
            {
                "KubeExternalManifestConfig 01-example-org-a-cni": {"url": "https://example.org/a/v1.2.3/cni.yaml"},
                "KubeFlannelCNIConfig": {"$patch": "delete"},
            },
        ),
        ("cluster: {proxy: {disabled: true, image: x}}", {"KubeProxyConfig": {"enabled": False}}),
        ("cluster: {coreDNS: {disabled: true}}", {"KubeCoreDNSConfig": {"enabled": False}}),
        (
            "{cluster: {allowSchedulingOnControlPlanes: true}, machine: {nodeLabels: {a: b}}}",
            {
                "KubeNodeConfig": {
                    "labels": {"a": "b"},
                    "taints": {"node-role.kubernetes.io/control-plane": {"$patch": "delete"}},
                }
            },
        ),
        (
            "machine: {kubelet: {extraArgs: {v: '3'}, extraConfig: {a: 2}, nodeIP: {validSubnets: [10.0.0.0/8]}}}",
            {
                "KubeNodeConfig": {"nodeIP": {"validSubnets": ["10.0.0.0/8"]}},
                "KubeletConfig": {"config": {"a": 2}, "extraArgs": {"v": "3"}},
            },
        ),
        (
            "cluster: {clusterName: a, controlPlane: {endpoint: b, localAPIServerPort: 7443}}",
            {"KubeClusterConfig": {"clusterName": "a", "endpoint": "b"}, "KubeAPIServerConfig": {"apiPort": 7443}},
        ),
        (
            "cluster: {apiServer: {certSANs: [a], extraArgs: {b: c}, auditPolicy: {d: e}, "
            "admissionControl: [{name: PodSecurity, configuration: {f: g}}]}}",
            {
                "KubeAPIServerConfig": {"extraArgs": {"b": "c"}, "certExtraSANs": ["a"]},
                "KubeAdmissionControlConfig PodSecurity": {"configuration": {"f": "g"}},
                "KubeAuditPolicyConfig": {"configuration": {"d": "e"}},
            },
        ),
        ("machine: {features: {kubePrism: {enabled: true}}}", {"KubePrismConfig": {"port": 7445}}),
        ("machine: {features: {kubePrism: {enabled: false}}}", {"KubePrismConfig": {"$patch": "delete"}}),
        (
            "machine: {features: {hostDNS: {enabled: true}}, network: {nameservers: [9.9.9.9], searchDomains: [home]}}",
            {
                "ResolverConfig": {
                    "nameservers": [{"address": "9.9.9.9"}], "searchDomains": {"domains": ["home"]},
                    "hostDNS": {"enabled": True},
                }
            },
        ),
        (
            "{cluster: {scheduler: {image: s, config: {a: 1}}}, "
            "machine: {controlPlane: {scheduler: {disabled: true}}}}",
            {"KubeSchedulerConfig": {"enabled": False, "image": "s", "config": {"a": 1}}},
        ),
        (
            "cluster: {discovery: {enabled: true, registries: {kubernetes: {disabled: true}}}}",
            {"DiscoveryServiceConfig default": {"endpoint": "https://discovery.talos.dev/"}},
        ),
        (
            "cluster: {inlineManifests: [{name: a, contents: 'kind: A'}], extraManifests: ['https://b.org/c.yaml'], "
            "extraManifestHeaders: {x: y}}",
            {
                "KubeInlineManifestConfig a": {"manifest": "kind: A"},
                "KubeExternalManifestConfig 01-b-org-c": {"url": "https://b.org/c.yaml", "headers": {"x": "y"}},
            },
        ),
        (
            "machine: {install: {disk: /dev/sda, image: i}}",
            {
                "UnattendedInstallConfig": {
                    "installer": {"image": "i"},
                    "provisioning": {"diskSelector": {"match": 'disk.dev_path == "/dev/sda"'}},
                }
            },
        ),
        (
            "machine: {sysctls: {a: 1}, kernel: {modules: [{name: m, parameters: [p]}]}, udev: {rules: [r]}}",
            {"SysctlConfig": {"params": {"a": "1"}}, "KernelModuleConfig m": {"parameters": ["p"]},
             "UdevRulesConfig": {"rules": ["r"]}},
        ),
        ("machine: {pods: [{metadata: {name: p}}]}", {"KubeStaticPodConfig p": {"pod": {"metadata": {"name": "p"}}}}),
    ],
)  # fmt: skip
def test_a_patch_becomes_documents(text: str, wanted: dict[str, Any]) -> None:
    found = form_of(text)

    assert said(found) == wanted
    assert not found.rest
    assert not found.kept


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("machine: {kubelet: {extraMounts: [{source: /a}]}}", "machine.kubelet.extraMounts"),
        ("cluster: {apiServer: {extraArgs: {oidc-issuer-url: x}}}", "cluster.apiServer.extraArgs.oidc-issuer-url"),
        ("cluster: {apiServer: {extraVolumes: [{hostPath: /a}]}}", "cluster.apiServer.extraVolumes"),
        ("machine: {kubelet: {extraArgs: {$patch: delete}}}", "machine.kubelet.extraArgs"),
        (
            "cluster: {apiServer: {admissionControl: [{name: a, $$patch: delete}]}}",
            "cluster.apiServer.admissionControl",
        ),
        ("machine: {install: {extraKernelArgs: [quiet]}}", "machine.install.extraKernelArgs"),
        ("machine: {install: {diskSelector: {name: sda}}}", "machine.install.diskSelector.name"),
        ("cluster: {controllerManager: {extraVolumes: [{hostPath: /a}]}}", "cluster.controllerManager.extraVolumes"),
        ("cluster: {proxy: {image: x}}", "cluster.proxy"),
        ("cluster: {network: {cni: {name: flannel, flannel: {extraArgs: [a]}}}}", "cluster.network.cni.flannel"),
        ("cluster: {inlineManifests: [{name: A_B, contents: x}]}", "cluster.inlineManifests"),
        ("cluster: {discovery: {enabled: true}}", "cluster.discovery.registries.kubernetes"),
    ],
)
def test_what_has_no_successor_stays_as_it_is(text: str, field: str) -> None:
    found = form_of(text)

    assert found.rest == yaml.safe_load(text)
    assert not found.documents
    assert [each.field for each in found.kept] == [field]


def test_keys_stay() -> None:
    text = """
    machine: {token: a, ca: {crt: b}, certSANs: [c], features: {rbac: true}}
    cluster: {ca: {crt: d}, aggregatorCA: {crt: e}, serviceAccount: {key: f}, etcd: {ca: {crt: g}}, token: h, secret: i}
    """

    found = form_of(text, is_whole=True)

    assert found.rest == yaml.safe_load(text)
    assert not found.documents


def test_documents_of_control_planes_do_not_come_to_workers() -> None:
    for role in (None, WORKER):
        found = form_of("cluster: {coreDNS: {disabled: true}, proxy: {disabled: true}}", role=role)
        assert not found.documents
        assert {each.group for each in found.kept} == {"kube-proxy", "CoreDNS"}


def test_a_whole_config_says_what_talos_adds_to_old_ones() -> None:
    found = form_of("{machine: {nodeLabels: {a: b}}, cluster: {network: {podSubnets: [10.42.0.0/16]}}}", is_whole=True)

    assert said(found) == {
        "KubeNetworkConfig": {
            "dnsDomain": "cluster.local", "podSubnets": ["10.42.0.0/16"], "serviceSubnets": ["10.96.0.0/12"],
        },
        "KubeFlannelCNIConfig": {"backendType": "vxlan", "backendPort": 4789},
        "KubeNodeConfig": {
            "labels": {"node-role.kubernetes.io/control-plane": "", "a": "b"}, "nodeIP": {},
            "taints": {"node-role.kubernetes.io/control-plane": "NoSchedule"},
        },
    }  # fmt: skip


def test_a_whole_config_without_cni_has_none() -> None:
    assert "KubeFlannelCNIConfig" not in said(form_of("cluster: {network: {cni: {name: none}}}", is_whole=True))


def test_a_whole_config_has_the_document_that_a_patch_changes() -> None:
    assert not form_of("machine: {type: controlplane}", is_whole=True).documents
    patched = form_of("machine: {type: controlplane}", is_whole=True, patched={"node"})
    assert said(patched)["KubeNodeConfig"]["taints"] == {"node-role.kubernetes.io/control-plane": "NoSchedule"}


def test_a_kubelet_without_an_image_stays_in_a_whole_config() -> None:
    text = "machine: {kubelet: {disableManifestsDirectory: true, extraArgs: {v: '3'}}}"

    assert [each.field for each in form_of(text, is_whole=True).kept] == ["machine.kubelet.image"]
    assert said(form_of(text)) == {"KubeletConfig": {"extraArgs": {"v": "3"}}}


def test_a_group_stays_where_another_file_needs_it() -> None:
    found = form_of(
        "{machine: {kubelet: {extraArgs: {v: '3'}}}, cluster: {coreDNS: {disabled: true}}}", keep={"kubelet"}
    )

    assert found.rest == {"machine": {"kubelet": {"extraArgs": {"v": "3"}}}}
    assert list(found.moved) == ["CoreDNS"]


def test_a_document_that_is_there_is_not_written_twice() -> None:
    found = form_of("cluster: {coreDNS: {disabled: true}}", beside={("KubeCoreDNSConfig", "")})

    assert [(each.group, each.field) for each in found.kept] == [("CoreDNS", "cluster.coreDNS.disabled")]
