"""The state directory of a repo that may be anybody's: no link in it leads a run elsewhere."""

import ast
from pathlib import Path

import pytest

from firstlight import errors
from firstlight.journal import state_files


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "repo" / state_files.NAME


def test_directories_are_made_for_their_owner_and_kept_from_git(state: Path) -> None:
    state_files.enter(state / "infra" / "lock")

    assert (state / "infra").stat().st_mode & 0o777 == 0o700
    assert (state / ".gitignore").read_text() == "*\n"
    assert not (state / "infra" / "lock").exists()


def test_a_directory_that_a_clone_left_open_is_closed(state: Path) -> None:
    (state / "infra").mkdir(parents=True, mode=0o755)

    state_files.enter(state / "infra" / "lock")

    assert (state / "infra").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("linked", [".", "infra", "infra/lock", "infra/deep"])
def test_a_link_anywhere_below_is_refused(state: Path, tmp_path: Path, linked: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    path = state / linked
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(outside)
    file = state / "infra" / "deep" / "x" if linked == "infra/deep" else state / "infra" / "lock"

    for refusing in (state_files.enter, state_files.check):
        with pytest.raises(errors.Refused, match="is a link, which may lead anywhere"):
            refusing(file)

    assert not list(outside.iterdir())


def test_a_linked_state_directory_gets_no_journal(state: Path, tmp_path: Path) -> None:
    state.parent.mkdir()
    state.symlink_to(tmp_path)

    with pytest.raises(errors.Refused, match="is a link"):
        state_files.make(state)


def test_a_link_above_is_the_users_own(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "repo").symlink_to("real")

    state_files.enter(tmp_path / "repo" / state_files.NAME / "infra" / "lock")

    assert (tmp_path / "real" / state_files.NAME / "infra").is_dir()


def test_a_way_out_is_refused(state: Path, tmp_path: Path) -> None:
    with pytest.raises(errors.Refused, match="leads out of"):
        state_files.enter(state / "../../outside" / "lock")

    assert not (tmp_path / "outside").exists()


def test_a_rehearsals_state_has_another_name_and_is_checked_too(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "infra").symlink_to("/tmp")

    with pytest.raises(errors.Refused, match="is a link"):
        state_files.enter(tmp_path / "state" / "infra" / "lock")


def test_nobody_else_makes_the_path_of_a_state() -> None:
    """Whoever wants a repo's state comes by ``state_files.directory_of``, which looks whose it is."""
    source = Path(state_files.__file__).parents[1]
    made = []
    for file in source.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
                right = node.right
                is_name = isinstance(right, ast.Constant) and str(right.value).startswith(state_files.NAME + "/")
                is_name |= isinstance(right, ast.Constant) and right.value == state_files.NAME
                is_name |= isinstance(right, ast.Attribute) and ast.unparse(right) == "state_files.NAME"
                if is_name or (isinstance(right, ast.Name) and right.id == "NAME" and file.name == "state_files.py"):
                    made.append(f"{file.relative_to(source)}:{node.lineno}")

    assert [each.partition(":")[0] for each in made if not each.startswith("lab/")] == ["journal/state_files.py"]
