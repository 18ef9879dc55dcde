"""Command lines without the secrets that stand in them."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight.repo import scripts
from firstlight.repo.scripts import masking
from firstlight.repo.scripts.shell.expansion import Text
from tests.unit.repo.scripts import repos


def shown(line: str) -> str:
    return masking.line([[Text(word) for word in line.split(" ")]])


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("kubectl create secret generic x --from-literal=a=b", "kubectl create secret generic x --from-literal=a=***"),
        (
            "kubectl create secret generic x --from-literal a=b=c",
            "kubectl create secret generic x --from-literal a=***",
        ),
        (
            "x --from-literal=a=$TOKEN --from-literal=b=op://v/i/f",
            "x --from-literal=a=$TOKEN --from-literal=b=op://v/i/f",
        ),
        ("x --from-literal=a=$TOKEN-suffix", "x --from-literal=a=***"),
        (
            "x --docker-password hunter2 --password=hunter2 --token hunter2",
            "x --docker-password *** --password=*** --token ***",
        ),
        ("helm install --set a=b,auth.password=c,apiKey=d", "helm install --set a=b,auth.password=***,apiKey=***"),
        ("helm install --set-string auth.existingSecretName=c", "helm install --set-string auth.existingSecretName=c"),
        ("GITHUB_TOKEN=abc flux bootstrap", "GITHUB_TOKEN=*** flux bootstrap"),
        ("git clone https://ada:hunter2@git.example.org/x", "git clone https://***@git.example.org/x"),
    ],
)
def test_secrets_are_masked_and_references_are_not(line: str, wanted: str) -> None:
    assert shown(line) == wanted


@given(st.text(alphabet="abcdefXYZ0123456789+/", min_size=8, max_size=30))
def test_a_value_of_a_secret_is_kept_nowhere(secret: str) -> None:
    lines = [
        f"kubectl create secret generic x --from-literal=k={secret}",
        f"kubectl create secret docker-registry y --docker-password {secret}",
        f"P='{secret}'; kubectl create secret generic z --from-literal=k=\"$P\"",
        f"helm install w oci://r.example.org/w --set db.password={secret}",
        f"kubectl apply -f - <<EOF\nkind: Secret\nmetadata: {{name: s}}\nstringData: {{k: {secret}}}\nEOF",
    ]
    import tempfile

    with tempfile.TemporaryDirectory() as directory:
        tree = repos.write(Path(directory), {"bootstrap.sh": "\n".join(lines)})
        found = scripts.read(tree)
        steps = scripts.steps(tree)

    assert len(found.origins) == 5
    everything = repr(found) + repr(steps) + repr([(each.command, dict(each.definition)) for each in found.origins])
    assert secret not in everything


def test_a_command_stays_on_one_line() -> None:
    assert masking.line([[Text("a"), Text("b\nc\x1b[31m")], [Text("d")]]) == "a 'b c [31m' | d"


def test_a_very_long_command_is_cut() -> None:
    assert len(masking.line([[Text("x" * 10_000)]])) < 3_000
