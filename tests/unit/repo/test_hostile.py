"""Repos that are broken or mean harm: diagnostics, never a traceback, and nothing outside is read."""

import os
import random
import resource
import shutil
from pathlib import Path

import pytest

from firstlight.commands.inventory import data as inventory_data
from firstlight.commands.inventory import text
from firstlight.model.diagnostic import Severity
from firstlight.model.platform import Platform
from firstlight.repo import platform_reader

SCENARIOS = Path(__file__).parents[2] / "scenarios"
REPOS = sorted(each for each in SCENARIOS.glob("*/*/repo") if each.is_dir())
JUNK = [
    b"", b"{", b"[", b"- ", b": ", b"\t", b"\x00", b"\xff\xfe", b"*a", b"&a ", b"<<: ", b"{{ ", b"${", b"!!binary ",
    b"---\n", b"null", b"[]", b"{}", b"-1", b"../../..", b"/etc/passwd", b"|\n", b"#", b"'", b'"', b"\r\n",
]  # fmt: skip


def everything(root: Path) -> Platform:
    """A platform that was read, and shown in every form."""
    found = platform_reader.read(root)
    text.text(found, columns=120, everything=True)
    text.tree(found)
    inventory_data.data(found)
    for each in found.components[:20]:
        text.card(found, each)
    return found


@pytest.mark.parametrize("seed", range(40))
def test_damaged_repos_are_read_without_a_traceback(seed: int, tmp_path: Path) -> None:
    """Real repos in which some bytes are something else."""
    chance = random.Random(seed)
    damaged_is_read(chance.choice(REPOS), tmp_path, chance)


@pytest.mark.parametrize("name", sorted(each.parent.name for each in REPOS if each.parts[-3] == "platform"))
def test_a_damaged_repo_of_each_style_is_read_without_a_traceback(name: str, tmp_path: Path) -> None:
    damaged_is_read(SCENARIOS / "platform" / name / "repo", tmp_path, random.Random(name))


def damaged_is_read(repo: Path, tmp_path: Path, chance: random.Random) -> None:
    root = Path(shutil.copytree(repo, tmp_path / "repo", symlinks=True))
    files = [each for each in sorted(root.rglob("*")) if each.is_file() and not each.is_symlink()]
    for file in chance.sample(files, k=min(len(files), 5)):
        data = bytearray(file.read_bytes())
        for _ in range(chance.randint(1, 4)):
            start = chance.randrange(len(data) + 1)
            data[start : start + chance.choice([0, 1, 5, 30])] = chance.choice(JUNK)
        file.write_bytes(bytes(data))

    everything(root)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    root = tmp_path / "repo"
    (root / "clusters/home").mkdir(parents=True)
    (root / "clusters/home/gotk-sync.yaml").write_text(
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\n"
        "kind: Kustomization\n"
        "metadata: {name: flux-system, namespace: flux-system}\n"
        "spec: {path: ./clusters/home, sourceRef: {kind: GitRepository, name: flux-system}}\n"
    )
    return root


def codes(found: Platform) -> set[tuple[str, str]]:
    return {(each.code, str(each.place)) for each in found.diagnostics}


def test_links_out_of_the_repo_are_not_followed(repo: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.yaml"
    secret.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: hunter2}\n")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/x.yaml").write_text(secret.read_text())
    (repo / "clusters/home/link.yaml").symlink_to(secret)
    (repo / "clusters/home/folder").symlink_to(tmp_path / "outside")
    (repo / "clusters/home/kustomization.yaml").write_text(
        "resources: [gotk-sync.yaml, link.yaml, folder/x.yaml, ../../../secret.yaml, /etc/hostname]\n"
    )

    found = everything(repo)

    assert "hunter2" not in str(inventory_data.data(found))
    assert {("link-outside", "clusters/home/link.yaml"), ("link-outside", "clusters/home/folder")} <= codes(found)


def test_links_in_a_circle_and_special_files(repo: Path) -> None:
    (repo / "clusters/home/loop").symlink_to(repo / "clusters")
    (repo / "clusters/home/self.yaml").symlink_to("self.yaml")
    os.mkfifo(repo / "clusters/home/pipe.yaml")

    found = everything(repo)

    assert ("file-not-regular", "clusters/home/pipe.yaml") in codes(found)
    assert {("link-circular", f"clusters/home/{each}") for each in ("loop", "self.yaml")} <= codes(found)


def test_bombs_are_refused_with_little_memory(repo: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    (repo / "clusters/home/bomb.yaml").write_text("\n".join(lines))
    (repo / "clusters/home/deep.yaml").write_text("a: " + "[" * 50_000)
    (repo / "clusters/home/wide.yaml").write_text("".join(f"k{n}: &b{n} v\n" for n in range(20_000)))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    found = everything(repo)

    assert {"clusters/home/bomb.yaml", "clusters/home/deep.yaml"} <= {
        each.place.path for each in found.diagnostics if each.severity == Severity.ERROR
    }
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000  # kB


def test_what_is_hidden_in_names_does_not_reach_the_terminal(repo: Path) -> None:
    (repo / "clusters/home/evil.yaml").write_text(
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\n"
        "kind: Kustomization\n"
        'metadata: {name: "a\\e[2Jb", namespace: flux-system}\n'
        'spec: {path: "./\\e]0;x\\a", sourceRef: {kind: GitRepository, name: flux-system}}\n'
    )

    found = everything(repo)

    assert "\x1b" not in text.text(found, columns=120, everything=True)
    assert "\x1b" not in "\n".join(text.tree(found))


def test_marks_line_ends_and_repeated_keys_are_read(repo: Path) -> None:
    (repo / "clusters/home/windows.yaml").write_bytes(
        b"\xef\xbb\xbfapiVersion: kustomize.toolkit.fluxcd.io/v1\r\nkind: Kustomization\r\n"
        b"metadata: {name: apps, namespace: flux-system}\r\n"
        b"spec:\r\n  path: ./old\r\n  path: ./apps\r\n  sourceRef: {kind: GitRepository, name: flux-system}\r\n"
    )
    (repo / "apps").mkdir()
    (repo / "apps/x.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n")

    found = everything(repo)

    assert "apps" in {each.name for each in found.components}
    assert ("key-given-twice", "clusters/home/windows.yaml:6:3") in codes(found)


def test_a_tab_is_explained(repo: Path) -> None:
    (repo / "clusters/home/tab.yaml").write_text("apiVersion: v1\nkind:\n\tx: y\n")

    found = everything(repo)

    (diagnostic,) = [each for each in found.diagnostics if each.place.path == "clusters/home/tab.yaml"]
    assert (diagnostic.code, diagnostic.severity, diagnostic.place.line) == ("yaml-wrong", Severity.ERROR, 3)
    assert "space" in diagnostic.fix
