"""Drafts of machines, by example: each directory of tests/scenarios/machines has a repo and what is drafted from it."""

from pathlib import Path

import pytest

from firstlight.document import yaml_writer
from firstlight.model.machine_config import DraftPatch, MachineDraft
from firstlight.render.machines import machine_drafts
from firstlight.repo import platform_reader

SCENARIOS = sorted(each for each in (Path(__file__).parents[3] / "scenarios" / "machines").iterdir() if each.is_dir())
INLINE = {"cilium": "kind: ConfigMap\n"}


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.name)
def test_machines_are_drafted_as_the_repo_writes_them(scenario: Path) -> None:
    expected = scenario / "expected.yaml"

    found = _told(scenario / "repo")

    assert found == expected.read_text(), f"see {expected}"


def test_a_patch_that_is_not_there_is_told_where_it_is_named(tmp_path: Path) -> None:
    text = (SCENARIOS[0].parent / "listed" / "repo" / "firstlight.yaml").read_text()
    (tmp_path / "firstlight.yaml").write_text(text)

    platform = platform_reader.read(tmp_path)
    (cluster,) = platform.clusters
    _, diagnostics = machine_drafts.machine_drafts(platform, cluster)

    named = {f"{each.place}: {each.message}" for each in platform.diagnostics}
    assert "firstlight.yaml:12:15: there is no talos/patches/all.yaml in the repo" in named
    assert {each.message for each in diagnostics} >= {
        f"there is no file talos/patches/{name}.yaml" for name in ("all", "cni", "cp-1")
    }


LISTED = """\
apiVersion: firstlight.dev/v1alpha1
kind: Platform
metadata: {name: home}
clusters:
  home:
    network:
      endpoint: ENDPOINT
    machines: [{name: cp-1, address: 10.0.0.2, role: controlplane}]
"""


@pytest.mark.parametrize(
    ("endpoint", "problem"),
    [
        ("10.0.0.9", "does not begin with https://: Write https://10.0.0.9:6443"),
        ("10.0.0.9:7443", "does not begin with https://: Write https://10.0.0.9:7443"),
        ("http://api.example.org:6443/", "does not begin with https://: Write https://api.example.org:6443"),
        ("https://:6443", "names no host: Write https://10.25.10.10:6443"),
        ("https://api.example.org:6443", ""),
        ("https://[fd00::9]:6443", ""),
        ("https://api.example.org", ""),
    ],
)
def test_an_endpoint_that_is_no_url_is_told_before_talosctl_does(tmp_path: Path, endpoint: str, problem: str) -> None:
    (tmp_path / "firstlight.yaml").write_text(LISTED.replace("ENDPOINT", f'"{endpoint}"'))

    platform = platform_reader.read(tmp_path)
    _, diagnostics = machine_drafts.machine_drafts(platform, platform.clusters[0])

    told = [f"{each.place}: {each.message}: {each.fix}" for each in diagnostics]
    assert told == ([f"firstlight.yaml:7:7: the endpoint {endpoint} {problem}"] if problem else [])


@pytest.mark.parametrize(
    ("name", "near"),
    [("cp-1", ""), ("cp-1.example.org", ""), ("CP_1", "cp-1"), ("cp 1", "cp-1"), ("-a", "a"), ("a" * 64, "a" * 63)],
)
def test_a_name_that_is_none_in_dns_is_told_with_one_that_is(tmp_path: Path, name: str, near: str) -> None:
    (tmp_path / "talconfig.yaml").write_text(
        f"clusterName: home\ntalosVersion: v1.13.0\nendpoint: https://10.0.0.9:6443\nnodes:\n"
        f'  - {{hostname: "{name}", ipAddress: 10.0.0.2, controlPlane: true, installDisk: /dev/sda}}\n'
    )

    platform = platform_reader.read(tmp_path)
    _, diagnostics = machine_drafts.machine_drafts(platform, platform.clusters[0])

    told = [(each.place.line, each.message, each.fix.rpartition(" ")[2]) for each in diagnostics]
    assert told == ([(5, f"{name!r} is no name for a machine", f"{near}.")] if near else [])


def _told(repo: Path) -> str:
    platform = platform_reader.read(repo)
    (cluster,) = platform.clusters
    drafts, diagnostics = machine_drafts.machine_drafts(platform, cluster, inline=INLINE)
    return yaml_writer.dump(
        {
            "secrets": cluster.talos_secrets,
            "drafts": [_draft(each) for each in drafts],
            "diagnostics": [f"{each.severity} {each.place}: {each.message}" for each in sorted(diagnostics)],
        }
    )


def _draft(draft: MachineDraft) -> dict[str, object]:
    facts: dict[str, object] = {
        "machine": f"{draft.machine.name} {draft.machine.role} {draft.machine.address}",
        "cluster": draft.cluster,
        "endpoint": draft.endpoint,
        "versions": f"{draft.talos} {draft.kubernetes}".strip(),
        "disk": draft.install_disk or dict(draft.disk_selector),
        "image": draft.install_image,
        "domain": draft.dns_domain,
        "sans": list(draft.sans),
        "inline": list(draft.inline),
        "whole": _patch(draft.whole) if draft.whole else "",
        "patches": [_patch(each) for each in draft.patches],
    }
    return {key: each for key, each in facts.items() if each}


def _patch(patch: DraftPatch) -> object:
    if patch.text is None:
        return f"{patch.place}: {patch.reference}"
    return {str(patch.place): patch.text.reveal().decode()}
