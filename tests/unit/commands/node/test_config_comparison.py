"""Two configs of a machine compared: every field that differs, and nothing of what is secret."""

from firstlight.commands.node import declared_configs
from firstlight.commands.node import text as node_text
from firstlight.commands.node.node_rows import ConfigEquality, ConfigStatus

SECRETS = ("s3cr3t-token-value", "c2VjcmV0LWtleS1vZi10aGUtY2E=", "hunter2hunter2", "kind: Secret")
BEFORE = (
    {
        "version": "v1alpha1",
        "machine": {"token": "old-token", "sysctls": {"net.core.somaxconn": "1"}, "nodeLabels": {"rack": "a"}},
        "cluster": {"inlineManifests": [{"name": "cilium", "contents": "kind: ConfigMap"}]},
    },
    {"apiVersion": "v1alpha1", "kind": "HostnameConfig", "hostname": "cp-1"},
)
AFTER = (
    {
        "version": "v1alpha1",
        "machine": {
            "token": SECRETS[0],
            "ca": {"key": SECRETS[1]},
            "sysctls": {"net.core.somaxconn": "65535"},
            "registries": {"config": {"ghcr.io": {"auth": {"password": SECRETS[2]}}}},
        },
        "cluster": {"inlineManifests": [{"name": "cilium", "contents": SECRETS[3]}]},
    },
    {"apiVersion": "v1alpha1", "kind": "HostnameConfig", "hostname": "cp-2"},
    {"apiVersion": "v1alpha1", "kind": "VolumeConfig", "name": "EPHEMERAL", "maxSize": "50GiB"},
)


def test_fields_are_said_and_secrets_are_not() -> None:
    found = declared_configs.fields(BEFORE, AFTER)

    text = node_text.configs_text({"cp-1": ConfigStatus(equality=ConfigEquality.DIFFERENT, fields=found)})
    assert "1 › 65535" in text
    assert "machine.nodeLabels.rack a removed" in text
    assert "HostnameConfig.hostname cp-1 › cp-2" in text
    assert "VolumeConfig.EPHEMERAL.maxSize 50GiB added" in text
    assert "machine.token changed, which is secret" in text
    assert "cluster.inlineManifests[name=cilium].contents changed, which is secret" in text
    assert not [each for each in (*SECRETS, "old-token") if each in text]
    assert all(each.before is None and each.after is None for each in found if each.is_secret)


def test_equal_configs_have_no_fields() -> None:
    assert declared_configs.fields(BEFORE, BEFORE) == ()
