"""Whatever stands in a repo, reading it ends, without an exception, and shows no secret."""

import random
import shutil
import time
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import yaml
from hypothesis import strategies

from firstlight.repo import talos
from firstlight.repo.reader_result import ReaderResult
from firstlight.repo.work_tree import WorkTree

SCENARIOS = Path(__file__).parents[3] / "scenarios" / "talos"
CASES = sorted(path.parent for path in SCENARIOS.glob("*/expected.yaml"))
SEEDS = 5
KEYS = [
    "machine", "cluster", "version", "kind", "apiVersion", "name", "clusterName", "nodes", "patches", "inlineManifests",
    "contents", "extraManifests", "network", "interfaces", "addresses", "vip", "ip", "hostname", "host", "ipAddress",
    "controlPlane", "worker", "install", "image", "disk", "diskSelector", "type", "podSubnets", "cni", "urls", "inline",
    "file", "machines", "kubernetes", "talos", "manifests", "mode", "id", "schematic", "customization", "op", "path",
    "value", "systemExtensions", "officialExtensions", "$patch", "data", "role", "schematicId", "vlans", "machineClass",
    "sops", "mac", "kubelet", "proxy", "disabled", "talosVersion", "installDiskSelector", "networkInterfaces",
]  # fmt: skip
TEXTS = [
    "v1alpha1", "Cluster", "ControlPlane", "Workers", "Machine", "HostnameConfig", "KubeInlineManifestConfig",
    "LinkConfig", "controlplane", "worker", "@./other.yaml", "@../../outside", "delete", "add",
    "/cluster/inlineManifests/-", "/machine/network/hostname", "192.0.2.1", "192.0.2.1/24", "https://[", "",
    "kind: A\napiVersion: v1", "{", "\t", "${A}", "{{ a }}", "ENC[x]", "image:v1.2.3", "\ue0f00\ue0f1", "other.yaml",
    "11111111-1111-4111-8111-111111111111", "- op: add", "machine: {type: worker}",
]  # fmt: skip
VALUES: strategies.SearchStrategy[Any] = strategies.recursive(
    strategies.one_of(
        strategies.sampled_from(TEXTS),
        strategies.none(),
        strategies.booleans(),
        strategies.integers(),
        strategies.floats(),
    ),
    lambda inner: strategies.one_of(
        strategies.lists(inner, max_size=3), strategies.dictionaries(strategies.sampled_from(KEYS), inner, max_size=5)
    ),
    max_leaves=25,
)
NAMES = [
    "talconfig.yaml", "topf.yaml", "talenv.yaml", "omni/template.yaml", "talos/a/192.0.2.1.yaml", "talos/nodes/b.yaml",
    "talos/c.yaml.j2", "all/d.yaml.tpl", "node/e/f.yaml", "other.yaml", "talosconfig", "talos/schematic.yaml",
]  # fmt: skip


def read(root: Path, files: dict[str, str]) -> tuple[ReaderResult, WorkTree]:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    tree = WorkTree(root)
    return talos.read(tree), tree


@hypothesis.given(
    strategies.dictionaries(
        strategies.sampled_from(NAMES), strategies.lists(VALUES, min_size=1, max_size=3), min_size=1
    )
)
@hypothesis.settings(max_examples=100)
def test_any_documents_can_be_read(tmp_path_factory: pytest.TempPathFactory, files: dict[str, list[Any]]) -> None:
    root = tmp_path_factory.mktemp("repo")

    found, tree = read(root, {name: yaml.dump_all(each, allow_unicode=True) for name, each in files.items()})

    for origin in (*found.origins, *found.unreached):
        talos.inline_objects(tree, origin)
    for diagnostic in found.diagnostics:
        assert "\n" not in diagnostic.message
        assert "\ue0f0" not in diagnostic.message
        assert (root / diagnostic.place.path).exists()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_damaged_repo_can_be_read(tmp_path: Path, case: Path) -> None:
    for seed in range(SEEDS):
        chance = random.Random(seed)
        root = tmp_path / str(seed)
        shutil.copytree(case / "repo", root)
        for path in [each for each in sorted(root.rglob("*")) if each.is_file()]:
            try:
                documents = list(yaml.safe_load_all(path.read_text()))
            except yaml.YAMLError:
                text = path.read_text()
                path.write_text(text[: chance.randrange(len(text))])
                continue
            path.write_text(yaml.dump_all([_damaged(each, chance) for each in documents]))
        tree = WorkTree(root)

        found = talos.read(tree)

        for origin in (*found.origins, *found.unreached):
            talos.inline_objects(tree, origin)


def _damaged(value: Any, chance: random.Random) -> Any:
    """A value with something else in one place of it."""
    junk: list[Any] = [
        None,
        True,
        5,
        1.5,
        "text",
        "",
        [],
        {},
        ["a"],
        {"a": "b"},
        [[]],
        {"kind": []},
        [None],
        "@x",
        "{{ a }}",
    ]
    if chance.random() < 0.15 or not isinstance(value, (dict, list)) or not value:
        return chance.choice(junk)
    if isinstance(value, dict):
        key = chance.choice(sorted(value, key=str))
        return {**value, key: _damaged(value[key], chance)}
    index = chance.randrange(len(value))
    return [*value[:index], _damaged(value[index], chance), *value[index + 1 :]]


@hypothesis.given(strategies.sampled_from(NAMES), strategies.text(max_size=200))
def test_any_text_can_be_read(tmp_path_factory: pytest.TempPathFactory, name: str, text: str) -> None:
    root = tmp_path_factory.mktemp("repo")
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_bytes(f"machine:\n{text}".encode(errors="surrogatepass"))

    talos.read(WorkTree(root))


def test_secrets_are_not_shown(tmp_path: Path) -> None:
    found, tree = read(
        tmp_path,
        {
            "talos/cp.yaml": "version: v1alpha1\nmachine: {token: hunter2}\n"
            "cluster: {secret: hunter2, inlineManifests: [{name: a, contents: "
            "'{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {b: hunter2}}'}]}\n"
        },
    )
    objects = talos.inline_objects(tree, found.origins[0])

    (exposed,) = (each for each in found.diagnostics if each.code == "talos-secrets-in-clear")
    assert exposed.message == "unencrypted Talos secrets in Git: cluster.secret, machine.token"
    assert objects[0].value["stringData"] == {"b": "hunter2"}
    assert "hunter2" not in repr(found) + repr(objects) + str(found.diagnostics)


def test_diagnostics_are_one_line_whatever_names_there_are(tmp_path: Path) -> None:
    name = '"a\\n\\e[31mb"'
    manifest = f"{{name: {name}, contents: 5}}"

    found, _ = read(tmp_path, {"talos/a.yaml": f"cluster: {{inlineManifests: [{manifest}, {{name: {'x' * 900}}}]}}\n"})

    messages = [each.message for each in found.diagnostics]
    assert "contents of the inline manifest a??[31mb is not a text" in messages
    assert all(each.isprintable() and len(each) <= 501 for each in messages)


def test_nothing_outside_the_repo_is_read(tmp_path: Path) -> None:
    (tmp_path / "secret.yaml").write_text("machine: {network: {hostname: hunter2}}\n")
    inside = tmp_path / "repo"
    inside.mkdir()
    (inside / "link.yaml").symlink_to(tmp_path / "secret.yaml")

    found, tree = read(
        inside,
        {
            "talconfig.yaml": "clusterName: a\nendpoint: b\n"
            "patches: ['@../secret.yaml', '@link.yaml', '@/etc/passwd']\n"
            "nodes: [{hostname: c, ipAddress: 192.0.2.1, controlPlane: true}]\n",
            "template.yaml": "kind: Cluster\nname: d\nkubernetes: {version: v1.36.0}\ntalos: {version: v1.13.0}\n"
            "patches: [{file: ../secret.yaml}, {file: link.yaml}]\n---\nkind: ControlPlane\nmachines: []\n",
        },
    )

    missing = [(each.place.path, each.message) for each in found.diagnostics if each.code == "talos-file-missing"]
    for name in ("../secret.yaml", "link.yaml", "/etc/passwd"):
        assert ("talconfig.yaml", f"talconfig.yaml names {name}, which does not exist") in missing
    assert "hunter2" not in repr(found) + repr(tree.diagnostics)


def test_many_machines_and_manifests_take_little_time(tmp_path: Path) -> None:
    nodes = "".join(f"  - {{hostname: n{n}, ipAddress: 192.0.2.1, controlPlane: true}}\n" for n in range(1_000))
    urls = "".join(f"          - https://example.org/{n}/same.yaml\n" for n in range(3_000))
    manifests = "".join(f"          - {{name: same, contents: 'kind: A{n}'}}\n" for n in range(1_000))
    patch = f"  - |\n      cluster:\n        extraManifests:\n{urls}        inlineManifests:\n{manifests}"
    began = time.process_time()

    found, _ = read(tmp_path, {"talconfig.yaml": f"clusterName: a\nendpoint: b\nnodes:\n{nodes}patches:\n{patch}"})

    assert len(found.clusters[0].machines) == 1_000
    assert len({each.id for each in found.origins}) == len(found.origins) == 3_001
    assert time.process_time() - began < 20


def test_a_megabyte_of_manifests_takes_little_time(tmp_path: Path) -> None:
    crd = yaml.dump({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": ["v"] * 60}})
    contents = "".join(f"        {line}\n" for line in ("---\n" + crd).splitlines())
    text = "cluster:\n  inlineManifests:\n    - name: big\n      contents: |\n" + contents * 1_500
    began = time.process_time()

    found, _ = read(tmp_path, {"talos/big.yaml": text})

    assert len(text) > 1_400_000
    assert len(found.origins[0].objects) == 1_500
    assert time.process_time() - began < 10
