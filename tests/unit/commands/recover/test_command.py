from pathlib import Path

import pytest

from firstlight.cli import main
from firstlight.commands.recover import command, drill, options, repair

DECLARED = """
apiVersion: firstlight.dev/v1alpha1
kind: Platform
metadata: {name: home}
clusters:
  home: {machines: [{name: cp-1, address: 10.9.0.11, role: controlplane, disk: /dev/sda}]}
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "firstlight.yaml").write_text(DECLARED)
    return tmp_path


def test_every_option_of_the_table_can_be_done_or_is_a_persons() -> None:
    own = {name for name, each in options.read_options().options.items() if not each.by_hand}

    assert set(command.OPTIONS) == own
    assert set(repair.DOING) == own
    assert {each.option for each in drill.FAULTS.values()} == own, "each is practised by a scenario"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--on", "cp-1"], "nothing is to be done"),
        (["--do", "rebuild-machine"], "rebuild-machine on what?"),
        (["--do", "cni", "--on", "cilium"], "cni is done to the whole cluster"),
        (["--do", "power"], "is not one of"),
        (["--drill", "cni", "--do", "cni"], "a drill chooses its option itself"),
        (["--drill", "nonsense"], "there is no scenario 'nonsense'"),
        (["--drill", "quorm"], "Did you mean quorum?"),
        (["--keep"], "--keep is for --drill"),
        (["--charts", "here"], "--charts is for --drill"),
        (["elsewhere"], "there is no cluster elsewhere"),
    ],
)
def test_what_cannot_be_meant_is_said(
    root: Path, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["recover", *arguments, "--repo", str(root)]) == 64
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("scenario", "said"),
    [
        ("control-plane", "home has 1 control plane in the repo: with fewer than three none may be lost"),
        ("quorum", "home has 1 control plane in the repo"),
        ("foundation", "home has no foundation secrets"),
        ("engine", "home has no engine"),
        ("cni", "home has no engine"),
        ("dns", "bootstrap does not bring the DNS of home"),
    ],
)
def test_what_a_cluster_has_not_is_said_before_a_lab_is_made(
    root: Path, scenario: str, said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FIRSTLIGHT_LABS", str(root / "labs"))

    assert main.run(["recover", "--drill", scenario, "--repo", str(root)]) == 3
    assert said in capsys.readouterr().err
    assert not (root / "labs").exists()


def test_the_page_says_which_scenarios_practise_an_option() -> None:
    page = (Path(__file__).parents[4] / "docs" / "recover.md").read_text()
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    told = {line.split("`")[1].split()[0].rstrip(","): line.rsplit("|", 2)[1].strip() for line in rows}

    made: dict[str, list[str]] = {}
    for each in drill.FAULTS.values():
        made.setdefault(each.option, []).append(f"`{each.id}`")
    assert told == {option: ", ".join(ids) for option, ids in made.items()}


def test_drills_are_listed(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["recover", "--drill", "list"]) == 0
    shown = capsys.readouterr().out
    assert all(f"  {each} " in shown for each in drill.FAULTS)
