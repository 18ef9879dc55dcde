"""Drafts of machines, by example: each directory of tests/scenarios/machines has a repo and what is drafted from it."""

from pathlib import Path

import pytest

from firstlight.document import writing
from firstlight.model.machine_draft import MachineDraft, Patch
from firstlight.render.machines import drafting
from firstlight.repo import platform as platforms

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

    platform = platforms.read(tmp_path)
    (cluster,) = platform.clusters
    _, remarks = drafting.drafts(platform, cluster)

    named = {f"{each.place}: {each.message}" for each in platform.remarks}
    assert "firstlight.yaml:12:15: there is no talos/patches/all.yaml in the repo" in named
    assert {each.message for each in remarks} >= {
        f"there is no file talos/patches/{name}.yaml" for name in ("all", "cni", "cp-1")
    }


def _told(repo: Path) -> str:
    platform = platforms.read(repo)
    (cluster,) = platform.clusters
    drafts, remarks = drafting.drafts(platform, cluster, inline=INLINE)
    return writing.dump(
        {
            "secrets": cluster.talos_secrets,
            "drafts": [_draft(each) for each in drafts],
            "remarks": [f"{each.grade} {each.place}: {each.message}" for each in sorted(remarks)],
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


def _patch(patch: Patch) -> object:
    if patch.text is None:
        return f"{patch.place}: {patch.reference}"
    return {str(patch.place): patch.text.reveal().decode()}
