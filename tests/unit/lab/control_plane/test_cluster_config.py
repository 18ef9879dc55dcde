from pathlib import Path
from typing import Any

import msgspec
import pytest

from firstlight import errors
from firstlight.lab import lab_settings, loopback_network
from firstlight.lab.control_plane import cluster_config

SAID: dict[str, Any] = {
    "clusterName": "home",
    "endpoint": "https://api.home:6443",
    "etcd": "https://127.71.1.11:2379",
    "podCidrs": ["10.244.0.0/16", "fd00:1::/56"],
    "serviceCidrs": ["10.96.0.0/12", "fd00:2::/112"],
    "dnsDomain": "cluster.home",
    "certSans": ["10.5.0.2", "vip.home"],
    "apiServer": {
        "image": "a:v1",
        "version": "v1.36.0",
        "extraArgs": {"v": ["2"]},
        "admissionPlugins": ["PodSecurity"],
    },
    "controllerManager": {"image": "b:v1", "version": "v1.36.0", "extraArgs": {}},
    "scheduler": {"image": "c:v1", "version": "v1.36.0", "extraArgs": {}},
    "auditPolicy": {"kind": "Policy", "rules": [{"level": "Metadata"}]},
    "unheard": "of",
}


def read(tmp_path: Path, **changes: Any) -> cluster_config.ClusterConfig:
    path = tmp_path / "control-plane.json"
    path.write_bytes(msgspec.json.encode({**SAID, **changes}))
    return cluster_config.of_machine(path, address="10.5.0.2")


def test_what_a_machine_says_becomes_a_control_plane(tmp_path: Path) -> None:
    config = read(tmp_path)

    assert config.names == ("10.5.0.2", "vip.home", "api.home")
    assert (config.advertised, config.etcd) == ("10.5.0.2", "https://127.71.1.11:2379")
    assert config.pod_cidrs == ("10.244.0.0/16", "fd00:1::/56")
    assert config.issuer == "https://api.home:6443"
    assert config.api_server.extra_args == {"v": ("2",)}
    assert config.api_server.admission_plugins == ("PodSecurity",)
    assert not config.has_own_etcd


def test_the_audit_policy_of_a_config_is_used_unless_it_is_talos_default(tmp_path: Path) -> None:
    own = {"kind": "Policy", "rules": [{"level": "Request"}]}

    assert read(tmp_path).audit_policy is None
    assert read(tmp_path, auditPolicy=None).audit_policy is None
    assert read(tmp_path, auditPolicy=own).audit_policy == own


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"podCidrs": []}, "no network for pods"),
        ({"serviceCidrs": []}, "no network for services"),
        ({"etcd": 7}, "cannot be understood"),
        ({"endpoint": "https://[nonsense"}, "cannot be understood"),
    ],
)
def test_what_no_control_plane_can_be_built_from_is_said(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(errors.LabError, match=message):
        read(tmp_path, **changes)


def test_skew_is_said_once_for_all_or_for_those_who_differ(tmp_path: Path) -> None:
    scheduler = {"image": "c", "version": "v1.35.0", "extraArgs": {}}

    assert cluster_config.skew(read(tmp_path), "v1.36.0") == []
    assert cluster_config.skew(read(tmp_path), "v1.36.3") == [
        "version skew: the machine config asks for Kubernetes v1.36.0, the lab runs v1.36.3"
    ]
    assert cluster_config.skew(read(tmp_path, scheduler=scheduler), "v1.36.0") == [
        "version skew: the machine config asks for kube-scheduler v1.35.0, the lab runs v1.36.0"
    ]


@pytest.mark.parametrize(
    ("grace", "expected"), [("10s", 2), ("1m30s", cluster_config.HEARTBEAT), ("", cluster_config.HEARTBEAT)]
)
def test_kubelets_beat_several_times_within_the_grace_period(tmp_path: Path, grace: str, expected: float) -> None:
    arguments = {"node-monitor-grace-period": [grace]} if grace else {}

    assert read(tmp_path, controllerManager={"extraArgs": arguments}).heartbeat == expected


def test_without_machines_the_settings_decide() -> None:
    wanted = lab_settings.LabSettings(pod_cidr="10.9.0.0/16")

    config = cluster_config.of_settings(wanted, loopback_network.LoopbackNetwork(7, 20000))

    assert config.etcd == "https://127.71.7.1:22379"
    assert (config.pod_cidrs, config.names) == (("10.9.0.0/16",), ("10.71.7.1",))
    assert config.has_own_etcd
