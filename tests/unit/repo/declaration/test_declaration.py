"""firstlight.yaml: read, or everything that is wrong with it at once."""

from pathlib import Path

import jsonschema_rs
import msgspec
import pytest

from firstlight.repo.declaration import declaration_file, declaration_form
from firstlight.repo.work_tree import WorkTree

NAMES = "Write lower-case letters, digits, - and dots, such as cert-manager."
REFERENCES = "Write op://vault/item/field, sops:FILE#key, vault:PATH#key, env:NAME or file:PATH."
HEAD = "apiVersion: firstlight.dev/v1alpha1\nkind: Platform\nmetadata: {name: home}\n"


def read(path: Path, text: str) -> tuple[declaration_file.Declaration | None, list[str]]:
    """A declaration, and its problems as lines."""
    (path / declaration_form.FILE).write_text(text)
    declaration, diagnostics = declaration_file.read(WorkTree(path))
    return declaration, [f"{each.code} {each.place}: {each.message} | {each.fix}" for each in diagnostics]


def test_a_repo_without_one_has_none(tmp_path: Path) -> None:
    assert declaration_file.read(WorkTree(tmp_path)) == (None, ())


def test_a_short_one_is_enough(tmp_path: Path) -> None:
    declaration, problems = read(tmp_path, f"{HEAD}components:\n  cilium: {{phase: inline, from: apps/cilium}}\n")

    assert problems == []
    assert declaration is not None
    assert declaration.platform.components["cilium"].from_ == "apps/cilium"
    assert declaration.place("components", "cilium").line == 5


def test_everything_wrong_is_said_at_once_with_its_place(tmp_path: Path) -> None:
    text = """\
apiVersion: firstlight.dev/v1
kind: Platform
metadata:
  nam: home
clusters:
  infra:
    machines:
      - name: cp-1
  My_Cluster: {}
components:
  cilium:
    phase: inlin
    needs: coredns
secrets:
  - name: age
    namespace: flux-system
    data: {key: hunter2}
"""
    declaration, problems = read(tmp_path, text)

    assert declaration is None
    assert problems == [
        "field-wrong firstlight.yaml:1:1: apiVersion must be firstlight.dev/v1alpha1"
        " | Did you mean firstlight.dev/v1alpha1?",
        "field-unknown firstlight.yaml:4:3: metadata.nam is no field | Did you mean name?",
        "field-missing firstlight.yaml:3:1: metadata.name is missing | Write name: …",
        "field-missing firstlight.yaml:8:9: clusters.infra.machines[0].address is missing | Write address: 10.0.0.11",
        f"field-name-wrong firstlight.yaml:9:3: My_Cluster is no name | {NAMES}",
        "field-wrong firstlight.yaml:12:5: components.cilium.phase must be core, crds, engine, gitops or inline"
        " | Did you mean inline?",
        "field-wrong firstlight.yaml:13:5: components.cilium.needs must be a list (- item) | Write [coredns].",
        f"field-wrong firstlight.yaml:17:12: secrets[0].data.key is no reference to a secret | {REFERENCES}",
    ]
    assert not any("hunter2" in line for line in problems)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there is no platform in it"),
        ("- a\n", "the file must be a mapping (key: value)"),
        ("text\n", "the file must be a mapping (key: value)"),
        (f"{HEAD}clusters: []\n", "clusters must be a mapping (key: value)"),
        (f"{HEAD}clusters: {{a: {{machines: 3}}}}\n", "clusters.a.machines is neither a path nor a list"),
        (f"{HEAD}metadata2: {{}}\n", "metadata2 is no field"),
        (f"{HEAD}secrets: [{{name: a, namespace: b, data: {{}}}}]\n", "secrets[0].data is empty"),
        (f"{HEAD}---\nkind: Platform\n", "a platform is one document"),
        (f"{HEAD}components: {{a: {{owner: me}}}}\n", "components.a.owner must be bootstrap or gitops"),
        (f"{HEAD}clusters: {{talos: 3}}\n", "clusters.talos must be a mapping (key: value)"),
        (
            f"{HEAD}clusters: {{a: {{machines: [{{name: a, address: 3}}]}}}}\n",
            "clusters.a.machines[0].address must be a text",
        ),
    ],
)
def test_each_mistake_has_a_sentence(tmp_path: Path, text: str, message: str) -> None:
    _, problems = read(tmp_path, text)

    assert [line.split(": ", 1)[1].split(" | ")[0] for line in problems] == [message]


@pytest.mark.parametrize(
    ("cluster", "hint"),
    [
        ("talosVersion: v1.13.0", "Did you mean talos?"),
        ("kubernetesVersion: v1.36.0", "Did you mean kubernetes?"),
        ("nodes: []", "Did you mean machines?"),
        ("talos: 1.13", "Write the whole version, such as v1.13.0."),
        ("role: 7", 'Write it in quotes: "7".'),
        ("machines: [{hostname: a, name: a, address: 10.0.0.2}]", "Did you mean name?"),
    ],
)
def test_what_is_meant_is_said_where_it_can_be_known(tmp_path: Path, cluster: str, hint: str) -> None:
    _, problems = read(tmp_path, f"{HEAD}clusters: {{home: {{{cluster}}}}}\n")

    assert [line.split(" | ")[1] for line in problems] == [hint]


@pytest.mark.parametrize(
    "reference", ["op://vault/item/field", "sops:secrets.yaml#a.b", "vault:kv/x#y", "env:A", "file:x"]
)
def test_references_to_secrets(tmp_path: Path, reference: str) -> None:
    declaration, problems = read(
        tmp_path, f'{HEAD}secrets: [{{name: a, namespace: b, data: {{key: "{reference}"}}}}]\n'
    )

    assert problems == []
    assert declaration is not None


def test_the_schema_is_one_and_describes_what_is_read() -> None:
    schema = declaration_form.schema()
    validator = jsonschema_rs.validator_for(schema)
    example = {
        "apiVersion": declaration_form.API_VERSION,
        "kind": declaration_form.KIND,
        "metadata": {"name": "home"},
        "gitops": {"engine": "flux", "url": "ssh://git@git.example.org/me/home", "branch": "main"},
        "clusters": {"infra": {"machines": [{"name": "cp-1", "address": "10.0.0.1", "role": "controlplane"}]}},
        "components": {"cilium": {"phase": "inline", "owner": "bootstrap", "why": "nodes are NotReady without it"}},
    }

    assert validator.is_valid(example)
    assert msgspec.convert(example, declaration_form.PlatformSection).clusters["infra"].machines
    assert not validator.is_valid({**example, "more": 1})
