import re
from pathlib import Path

import pytest

from firstlight import errors
from firstlight.lab import settings

NODE = "- {name: a, address: 10.5.0.2}"


def load(tmp_path: Path, text: str) -> settings.Settings:
    path = tmp_path / "lab.yaml"
    path.write_text(text)
    return settings.load(path)


def test_an_empty_file_means_the_defaults(tmp_path: Path) -> None:
    assert load(tmp_path, "") == settings.Settings()


def test_everything_that_can_be_declared_is_read(tmp_path: Path) -> None:
    found = load(
        tmp_path,
        """
        podCidr: 10.1.0.0/16
        pullSeconds: 2
        brokenImages: ["*/bad:*"]
        loadBalancers: [10.5.1.0/24]
        nodes:
          - name: cp-1
            address: 10.5.0.2
            role: control-plane
            labels: {zone: a}
            taints: [{key: k, effect: NoExecute}]
        exec: [{command: [cilium, status], stdout: OK, exitCode: 3}]
        logs: [{namespace: kube-system, lines: [started]}]
        """,
    )

    assert found.nodes[0].taints == (settings.Taint(key="k", effect="NoExecute"),)
    assert found.exec[0].exit_code == 3
    assert found.pull_seconds == 2


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("podCidr: 10.0.0.0/33\n", 1, "podCidr"),
        ("pullSeconds: -1\n", 1, "pullSeconds: Expected `float`"),
        ("nodes:\n  - name: a\n", 2, "missing required field `address`"),
        ("nodes:\n  - {name: a, address: 10.5.0.2, role: boss}\n", 2, "role: Invalid enum value 'boss'"),
        (f"nodes:\n  {NODE}\n  {NODE}\n", 3, "two nodes have the name a"),
        ("nodes:\n  - {name: a, address: 10.5.0.2}\n  - {name: b, address: 10.5.0.2}\n", 3, "the address 10.5.0.2"),
        ("nodes:\n  - name: a\n    address: 127.0.0.1\n", 3, "refuses 127.0.0.1"),
        ("nodes:\n  - name: a\n    address: home\n", 3, "'home' is not an address"),
        ("nodes:\n  - {name: a, address: 10.5.0.2, labels: {zone: a b}}\n", 2, "zone: a b is no label"),
        ("nodes:\n  - {name: a, address: 10.5.0.2, memory: lots}\n", 2, "'lots' is no amount"),
        ("loadBalancers:\n  - 10.5.0.9-10.5.0.1\n", 2, "ends before it begins"),
        ("pullSeconds: 1\npullSeconds: 2\n", 2, "pullSeconds is given twice"),
        ("podCidr: 10.244.0.0/28\n", 1, "has no room"),
        ("podCidr: 10.96.0.0/16\n", 1, "must not overlap"),
        ("serviceCidr: 10.0.0.0/8\n", 1, "must not overlap|is no size"),
        ("[]\n", 1, "Expected `object`"),
        ("podCIDR: 10.0.0.0/8\n", 1, "unknown field `podCIDR`"),
        ("nodes: [\n", 2, "expected"),
    ],
)
def test_a_mistake_is_named_with_its_line(tmp_path: Path, text: str, line: int, message: str) -> None:
    with pytest.raises(errors.ConfigError) as caught:
        load(tmp_path, text)

    assert re.search(message, caught.value.message)
    assert caught.value.line == line


def test_a_file_that_is_not_there_is_an_error_of_the_user(tmp_path: Path) -> None:
    with pytest.raises(errors.ConfigError, match="cannot be read"):
        settings.load(tmp_path / "none.yaml")


def test_counted_nodes_have_names_roles_and_addresses() -> None:
    nodes = settings.with_nodes(settings.Settings(), control_planes=1, workers=1).nodes

    assert [(node.name, node.role, node.address) for node in nodes] == [
        ("cp-1", "control-plane", "10.5.0.2"),
        ("worker-1", "worker", "10.5.0.3"),
    ]
