"""Moves by data: what the repo must say, who needs the component, and what a cold start would stumble over."""

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from firstlight import errors
from firstlight.commands.change.moves import repo_comparison
from firstlight.commands.move import move_proposal
from firstlight.commands.move.move_proposal import ProposedMove
from firstlight.model.component import Phase
from firstlight.model.move import MoveRequest, OwnerSplit, Relocation, Seat
from firstlight.repo import file_patch, platform_reader
from firstlight.repo.work_tree import WorkTree

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples"
SCENARIOS = ROOT / "tests" / "scenarios" / "move"
CORPUS = ROOT.parent / "shared" / "corpus"
_KNOWN = {"seats", "needed", "users", "new", "diff", "notes", "by_hand", "refused", "raises"}


def scenarios(key: str) -> list[Any]:
    found = [each for file in sorted(SCENARIOS.glob("*.yaml")) for each in yaml.safe_load_all(file.read_text())]
    return [pytest.param(each, id=each["name"]) for each in found if key in each]


def wish(component: str, to: str, **given: str) -> MoveRequest:
    kept = Seat.KEPT if given.pop("owner", "gitops") == "bootstrap" else Seat.HANDED_OVER
    phase = Phase(given.pop("phase", "core"))
    return MoveRequest(component=component, seat=Seat.GITOPS if to == "gitops" else kept, phase=phase, **given)


def propose(root: Path, wished: MoveRequest) -> ProposedMove:
    return asyncio.run(move_proposal.propose_move(WorkTree(root), wished))


@pytest.fixture
def repo(tmp_path: Path) -> Any:
    """Makes a repo: one of the examples, or of those beside the scenarios, with other texts in its files."""

    def make(scenario: dict[str, Any]) -> Path:
        root = tmp_path / "repo"
        shutil.copytree(EXAMPLES / scenario["repo"] if "repo" in scenario else SCENARIOS / scenario["uses"], root)
        for path, changes in scenario.get("edits", {}).items():
            text = (root / path).read_text() if (root / path).exists() else ""
            for old, new in changes:
                assert old in text, f"{path} has no {old!r}"
                text = text.replace(old, new, 1)
            (root / path).write_text(text)
        return root

    return make


@pytest.mark.parametrize("scenario", scenarios("move"))
def test_moves(scenario: dict[str, Any], repo: Any) -> None:
    expect = scenario["expect"]
    assert set(expect) <= _KNOWN
    root = repo(scenario)
    wished = wish(**scenario["move"])

    if "raises" in expect:
        with pytest.raises(errors.FirstlightError) as raised:
            propose(root, wished)
        assert expect["raises"] in raised.value.message
        return
    found = propose(root, wished)

    if "diff" in expect:
        assert found.patch.diff == expect["diff"]
    if "seats" in expect:
        assert {name: str(seat) for name, seat in found.seats} == expect["seats"]
    for analysis in found.analyses:
        assert analysis.is_needed == expect.get("needed", analysis.is_needed)
        assert [each.name for each in analysis.users] == expect.get("users", [each.name for each in analysis.users])
        assert [each.code for each in analysis.new] == expect.get("new", [])
    assert list(found.proposal.notes) == expect.get("notes", [])
    assert [f"{each.place}: {each.text}" for each in found.proposal.by_hand] == expect.get("by_hand", [])
    assert expect.get("refused", "") in found.refusal
    assert bool(found.refusal) == bool(expect.get("refused"))


@pytest.mark.parametrize("scenario", [*scenarios("into"), *scenarios("split")])
def test_objects_that_pass_to_another_owner(scenario: dict[str, Any], repo: Any) -> None:
    expect = scenario["expect"]
    assert set(expect) <= {"passed", "diff", "by_hand", "raises"}
    tree = WorkTree(repo(scenario))
    wished = Relocation(**scenario["into"]) if "into" in scenario else OwnerSplit(**scenario["split"])

    if "raises" in expect:
        with pytest.raises(errors.FirstlightError) as raised:
            move_proposal.propose_relocation(tree, wished)
        assert expect["raises"] in raised.value.message
        return
    found = move_proposal.propose_relocation(tree, wished)

    told = [f"{each.cluster}: {each.id} from {each.before} to {each.after}" for each in found.passed]
    assert sorted(told) == expect.get("passed", [])
    assert found.patch.diff == expect.get("diff", found.patch.diff)
    assert [f"{each.place}: {each.text}" for each in found.proposal.by_hand] == expect.get("by_hand", [])
    assert not found.refusal


@pytest.mark.parametrize(
    ("example", "component"), [("home", "whoami"), ("two-clusters", "etcd-backup"), ("argocd", "web")]
)
def test_there_and_back_again_leaves_the_repo_as_it_was(example: str, component: str, tmp_path: Path) -> None:
    root = tmp_path / "repo"
    shutil.copytree(EXAMPLES / example, root)
    before = {each: each.read_bytes() for each in root.rglob("*.yaml")}

    there = propose(root, MoveRequest(component=component, seat=Seat.KEPT, why="a test"))
    file_patch.write(there.tree, there.patch)
    assert {each for _, each in propose(root, MoveRequest(component=component, seat=Seat.KEPT)).seats} == {Seat.KEPT}
    back = propose(root, MoveRequest(component=component, seat=Seat.GITOPS))
    file_patch.write(back.tree, back.patch)

    eased = {"home": {root / "kubernetes/clusters/home/apps.yaml"}}.get(example, set())
    assert {each for each, data in before.items() if each.read_bytes() != data} == eased
    assert propose(root, MoveRequest(component=component, seat=Seat.GITOPS)).is_there


@pytest.mark.parametrize(
    ("old", "new", "passes"),
    [
        ("plain/a.yaml", "other/a.yaml", {"ConfigMap shop/a": ("plain", "other")}),
        ("apps/shop.yaml", "other/shop.yaml", {"Application argocd/shop": ("root", "other")}),
    ],
)
def test_a_file_put_into_another_directory_is_a_move_and_nothing_else(
    old: str, new: str, passes: dict[str, tuple[str, str]], tmp_path: Path
) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    for each in (before, after):
        shutil.copytree(SCENARIOS / "market", each)
    (after / old).rename(after / new)
    one, other = (platform_reader.read_tree(WorkTree(each)) for each in (before, after))

    assert {str(id): names for id, names in repo_comparison.relocated(one, other, "home").items()} == passes
    assert list(repo_comparison.relocation_differences(one, other)) == []


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus is not here")
@pytest.mark.parametrize(
    ("name", "component", "by_hand", "rules"),
    [
        ("k8s-gitops", "cert-manager", "bootstrap/helmfile.d/01-core.yaml.gotmpl: Take the release", {"needs-gitops"}),
        ("talos-gitops", "longhorn", "Taskfile.yml: Take out what installs longhorn", set()),
        ("omni-gitops", "cilium-helm-release", "", {"cni-missing"}),
    ],
)  # fmt: skip
def test_real_repos(name: str, component: str, by_hand: str, rules: set[str]) -> None:
    """What cannot be edited is told, and a cold start is judged as if it were written."""
    found = propose(CORPUS / name, MoveRequest(component=component, seat=Seat.GITOPS))

    told = [f"{each.place.path}: {each.text}" for each in found.proposal.by_hand]
    assert bool(told) == bool(by_hand)
    assert all(each.startswith(by_hand) for each in told)
    assert {each.code for one in found.analyses for each in one.new if each.severity == "error"} == rules
    assert bool(found.refusal) == bool(rules)
