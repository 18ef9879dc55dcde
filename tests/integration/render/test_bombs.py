"""Small files that make helm and kustomize large or slow: a diagnostic says why, and the rest is rendered."""

import dataclasses
import itertools
import socket
from pathlib import Path

import pytest

from firstlight.clients.sandbox import isolation, program_limits
from tests.integration.render.repos import Kitchen, messages, objects
from tests.integration.render.test_flux_repo import CHART, CONFIG, release, repo

NINE = "abcdefghi"
ALIASES = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bomb}\na: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{after}: &{after} [{','.join([f'*{before}'] * 9)}]\n" for before, after in itertools.pairwise(NINE)
)


@pytest.fixture(autouse=True)
def smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits that are reached sooner; what is ordinary stays within them."""
    small = dataclasses.replace(program_limits.RENDERER, data=384 << 20, cpu=6)
    monkeypatch.setattr(program_limits, "RENDERER", small)


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        ('{{ range $i := until 100000 }}{{ range $j := until 100000 }}{{ end }}{{ end }}', "6 s of processor time"),
        ('{{ $t := repeat 1000000 "x" }}{{ range $i := until 10000 }}{{ $t = print $t $t }}{{ end }}', "of memory"),
        ('a: {{ repeat 100000000 "x" }}', "more than"),
    ],
    ids=["time", "memory", "output"],
)  # fmt: skip
async def test_a_template_that_wants_too_much(kitchen: Kitchen, tmp_path: Path, template: str, reason: str) -> None:
    files = {**CHART, "charts/hello/templates/bomb.yaml": template}
    root = repo(tmp_path / "repo", {**files, "app/release.yaml": release(), "app/a.yaml": CONFIG % ("a", "1")})

    found = await kitchen.everything(root, offline=True)

    by_name = {name: outcome.rendition for (name, _), outcome in found.items()}
    assert by_name["hello"].objects == ()
    assert any(reason in each for each in messages(by_name["hello"], "error"))
    assert "ConfigMap/a" in objects(by_name["app"])


async def test_kustomize_never_sees_what_our_reader_refuses(kitchen: Kitchen, tmp_path: Path) -> None:
    root = repo(tmp_path / "repo", {"app/bomb.yaml": ALIASES, "app/a.yaml": CONFIG % ("a", "1")})

    found = await kitchen.everything(root, offline=True)

    said = [each for outcome in found.values() for each in messages(outcome.rendition, "error")]
    assert any("alias" in each for each in said)
    assert not any("memory" in each for each in said)


async def test_aliases_in_a_patch_that_is_written_out_are_stopped(kitchen: Kitchen, tmp_path: Path) -> None:
    kustomization = {"resources": ["a.yaml"], "patches": [{"patch": ALIASES.replace("bomb", "a")}]}
    root = repo(tmp_path / "repo", {"app/kustomization.yaml": kustomization, "app/a.yaml": CONFIG % ("a", "1")})

    found = await kitchen.everything(root, offline=True)

    said = [each for outcome in found.values() for each in messages(outcome.rendition, "error")]
    assert said != []


@pytest.mark.parametrize("is_file", [False, True], ids=["web", "file"])
async def test_a_schema_reaches_nothing(kitchen: Kitchen, tmp_path: Path, is_file: bool) -> None:
    (tmp_path / "secret.json").write_text('{"type": "no such type"}')
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        web = f"http://127.0.0.1:{server.getsockname()[1]}/a.json"
        target = f"file://{tmp_path}/secret.json" if is_file else web
        files = {**CHART, "charts/hello/values.schema.json": f'{{"$ref": "{target}"}}'}
        root = repo(tmp_path / "repo", {**files, "app/release.yaml": release()})

        rendition = (await kitchen.one(root, "hello")).rendition

        with pytest.raises(BlockingIOError):
            server.accept()
    said = messages(rendition, "error" if is_file else "warning")
    assert any("values.schema.json refers to" in each and target in each for each in said)
    assert (rendition.objects == ()) is is_file


async def test_what_the_kernel_does_not_grant_is_told_once(
    kitchen: Kitchen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lacking = isolation.MissingLimit("network", program_limits.RENDERER.name, "Operation not permitted")
    counts = iter(range(1000))
    monkeypatch.setattr(isolation, "missing_limits", lambda: {lacking: next(counts)})
    root = repo(tmp_path / "repo", {**CHART, "app/release.yaml": release(), "app/a.yaml": CONFIG % ("a", "1")})

    found = await kitchen.everything(root, offline=True)

    said = [each for outcome in found.values() for each in messages(outcome.rendition, "warning")]
    assert [each for each in said if "without network isolation" in each] == [
        "programs that render ran without network isolation (renderer): Operation not permitted"
    ]
