"""What the parts of the control plane read besides their flags: policies, rules, stages."""

import msgspec

from firstlight.lab import directory, stages
from firstlight.lab import settings as lab_settings
from firstlight.lab.cluster_config import ClusterConfig
from firstlight.lab.simulations import egress

AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        # What the control plane reads, and its own leases, say nothing of those who use the lab.
        {
            "level": "None",
            "users": ["system:kube-controller-manager", "system:kube-scheduler", "system:apiserver", "lab:kwok",
                      "lab:simulator"],
            "verbs": ["get", "list", "watch"],
        },
        {"level": "None", "userGroups": ["system:serviceaccounts:kube-system"], "verbs": ["get", "list", "watch"]},
        {"level": "None", "users": ["lab:kwok", "system:apiserver"],
         "resources": [{"group": "coordination.k8s.io", "resources": ["leases"]}]},
        {"level": "Metadata"},
    ],
}  # fmt: skip


def write(home: directory.Directory, wanted: lab_settings.Settings, config: ClusterConfig) -> None:
    """Write what the API server, kwok and the kubelet read besides their flags."""
    write_for_kubelets(home, wanted, config)
    selector = {
        "apiVersion": "apiserver.k8s.io/v1beta1",
        "kind": "EgressSelectorConfiguration",
        "egressSelections": [
            {
                "name": "cluster",
                "connection": {
                    "proxyProtocol": "HTTPConnect",
                    # Relative to the API server's working directory: a unix socket's path may have 108 bytes at most.
                    "transport": {"uds": {"udsName": egress.SOCKET}},
                },
            }
        ],
    }
    for name, content in (("audit.json", config.audit_policy or AUDIT_POLICY), ("egress.json", selector)):
        directory.write_whole(home.run / name, msgspec.json.encode(content))


def write_for_kubelets(home: directory.Directory, wanted: lab_settings.Settings, config: ClusterConfig) -> None:
    """Write what may change while the lab runs: how pods behave."""
    rules = {
        "logs": [msgspec.to_builtins(rule) for rule in wanted.logs],
        "exec": [msgspec.to_builtins(rule) for rule in wanted.exec],
    }
    directory.write_whole(home.run / "kubelet-rules.json", msgspec.json.encode(rules))
    directory.write_whole(home.run / "kwok.yaml", stages.render(wanted, heartbeat=config.heartbeat).encode())
