"""Command lines without the secrets that stand in them."""

import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight.repo import scripts
from firstlight.repo.scripts import masked_lines
from firstlight.repo.scripts.shell.shell_expansion import ExpandedText
from tests.unit.repo.scripts import repos


def shown(line: str) -> str:
    return masked_lines.masked_line([[ExpandedText(word) for word in line.split(" ")]])


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
        ("helm install --set a=b,auth.password=c,apiKey=d", "helm install --set a=***,auth.password=***,apiKey=***"),
        (
            "helm install --set-string auth.existingSecretName=c",
            "helm install --set-string auth.existingSecretName=***",
        ),
        ("helm install --set=l={x,y},e=a\\,b", "helm install --set=l=***,e=***"),
        ('helm install --set-json j={"k":1,"l":2}', "helm install --set-json j=***"),
        (
            "helm install --set-literal=a=b,c=d --set-file a=b.txt",
            "helm install --set-literal=a=*** --set-file a=b.txt",
        ),
        ("helm install --set a=$TOKEN,b=${OTHER}", "helm install --set a=$TOKEN,b=${OTHER}"),
        ("curl -u ada:hunter2 https://x.example.org", "curl -u *** https://x.example.org"),
        ("curl -fsSLu ada:hunter2 -uada:hunter2 --user=ada:hunter2", "curl -fsSLu *** -u*** --user=***"),
        ("curl -u $ME:$TOKEN x", "curl -u $ME:$TOKEN x"),
        ("sudo -u root docker run -u 1000:1000 x", "sudo -u root docker run -u 1000:1000 x"),
        ("wget --password=hunter2 --http-password hunter2 x", "wget --password=*** --http-password *** x"),
        ("git clone https://hunter2@git.example.org/x", "git clone https://***@git.example.org/x"),
        ("git clone https://ada:hun@ter2@git.example.org/x", "git clone https://***@git.example.org/x"),
        ("git clone https://$TOKEN@git.example.org/x", "git clone https://$TOKEN@git.example.org/x"),
        ("git clone ssh://git@git.example.org/x", "git clone ssh://git@git.example.org/x"),
        ("GITHUB_TOKEN=abc flux bootstrap", "GITHUB_TOKEN=*** flux bootstrap"),
        ("git clone https://ada:hunter2@git.example.org/x", "git clone https://***@git.example.org/x"),
    ],
)
def test_secrets_are_masked_and_references_are_not(line: str, wanted: str) -> None:
    assert shown(line) == wanted


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["curl", "-H", "Authorization: Bearer hunter2"], "curl -H 'Authorization: ***'"),
        (["curl", "-sH", "PRIVATE-TOKEN: hunter2"], "curl -sH 'PRIVATE-TOKEN: ***'"),
        (["curl", "--header=Authorization: Bearer $T"], "curl '--header=Authorization: Bearer $T'"),
        (["curl", "-H", "Accept: text/plain"], "curl -H 'Accept: text/plain'"),
        (["kubectl", "apply", "-f", "<(echo hunter2 | base64 -d)"], "kubectl apply -f <(echo ***)"),
        (["kubectl", "apply", "-f", "<(cat <<< hunter2)"], "kubectl apply -f <(cat ***)"),
        (["kubectl", "apply", "-f", "<(sops -d a.yaml)"], "kubectl apply -f <(sops -d a.yaml)"),
        (["bash", "-c", "cat <<< 'hunter2 3' | x"], "bash -c 'cat <<< *** | x'"),
        (["bash", "-c", "helm install x --set 'a=hunter2' -n y"], "bash -c 'helm install x --set *** -n y'"),
        (["bash", "-c", "curl -u 'ada:hunter2' x"], "bash -c 'curl -u *** x'"),
    ],
)
def test_secrets_in_words_with_spaces(words: list[str], wanted: str) -> None:
    assert masked_lines.masked_line([[ExpandedText(word) for word in words]]) == wanted


def test_what_echo_passes_on_is_masked() -> None:
    line = [
        [ExpandedText("echo"), ExpandedText("-n"), ExpandedText("hunter2")],
        [ExpandedText("helm"), ExpandedText("registry"), ExpandedText("login")],
    ]

    assert masked_lines.masked_line(line) == "echo -n *** | helm registry login"


def test_sources_clusters_and_diagnostics_have_no_passwords(tmp_path: Path) -> None:
    lines = [
        "kubectl apply -f https://ada:hunter2@x.example.org/a.yaml",
        "kubectl apply -f https://ada:hunter2@x.example.org/$B.yaml",
        "helm repo add ex https://ada:hunter2@charts.example.org",
        "helm install web ex/web",
        "flux bootstrap git --url=https://ada:hunter2@git.example.org/home --path=clusters/home",
        "argocd app create z --repo https://ada:hunter2@git.example.org/z --path z",
        "task https://ada:hunter2@git.example.org/task",
    ]
    tree = repos.write(tmp_path, {"bootstrap.sh": "\n".join(lines)})

    found = scripts.read(tree)

    assert len(found.origins) == 4
    assert any(each.code == "script-deploys-unknown" for each in found.diagnostics)
    said = repr(found) + repr(scripts.steps(tree)) + repr([(each.command, each.definition) for each in found.origins])
    assert "hunter2" not in said
    assert "https://***@x.example.org/a.yaml" in said


@pytest.mark.parametrize("part", ["$(", "<(", "://:", "--set '", "-u a:", "<<< ", "authorization: "])
def test_hostile_texts_take_no_time(part: str) -> None:
    started = time.process_time()

    masked_lines.masked_line([[ExpandedText(part * 20_000)]])

    assert time.process_time() - started < 5


@given(st.text(alphabet="abcdefXYZ0123456789+/", min_size=8, max_size=30))
def test_a_value_of_a_secret_is_kept_nowhere(secret: str) -> None:
    lines = [
        f"kubectl create secret generic x --from-literal=k={secret}",
        f"kubectl create secret docker-registry y --docker-password {secret}",
        f"P='{secret}'; kubectl create secret generic z --from-literal=k=\"$P\"",
        f"helm install w oci://r.example.org/w --set db.password={secret}",
        f"kubectl apply -f - <<EOF\nkind: Secret\nmetadata: {{name: s}}\nstringData: {{k: {secret}}}\nEOF",
    ]

    with tempfile.TemporaryDirectory() as directory:
        tree = repos.write(Path(directory), {"bootstrap.sh": "\n".join(lines)})
        found = scripts.read(tree)
        steps = scripts.steps(tree)

    assert len(found.origins) == 5
    everything = repr(found) + repr(steps) + repr([(each.command, dict(each.definition)) for each in found.origins])
    assert secret not in everything


def test_a_command_stays_on_one_line() -> None:
    assert (
        masked_lines.masked_line([[ExpandedText("a"), ExpandedText("b\nc\x1b[31m")], [ExpandedText("d")]])
        == "a 'b c [31m' | d"
    )


def test_a_very_long_command_is_cut() -> None:
    assert len(masked_lines.masked_line([[ExpandedText("x" * 10_000)]])) < 3_000
