"""Commands that are wider than a terminal: on several lines, and still the same command."""

import shlex

import pytest

from firstlight.drawing.table import wrapped_command

LONG = "firstlight decide --diff 9a4cd5fab2b8..add-whoami-network-policy --cluster home --check post"
PATCH = (
    """kubectl patch applications.argoproj.io web -n argocd --type merge -p '{"metadata": {"finalizers": ["a b"]}}'"""
)


def test_what_fits_stays_as_it_is() -> None:
    assert wrapped_command(LONG, len(LONG)) == [LONG]


def test_an_option_stays_with_what_it_is_set_to() -> None:
    assert wrapped_command(LONG, 64) == [
        "firstlight decide \\",
        "  --diff 9a4cd5fab2b8..add-whoami-network-policy \\",
        "  --cluster home --check post",
    ]


@pytest.mark.parametrize("command", [LONG, PATCH, 'git add -- \'a  b\' "c\\" d" e\\ f ' + "g " * 40 + "h"])
@pytest.mark.parametrize("cells", [1, 20, 40, 79])
def test_a_shell_takes_it_for_the_same(command: str, cells: int) -> None:
    lines = wrapped_command(command, cells)

    pasted = "\n".join(f"             {each}" for each in lines).replace("\\\n", "")
    assert shlex.split(pasted) == shlex.split(command)
    assert all(each.endswith(" \\") for each in lines[:-1])


def test_what_is_no_command_is_left_alone() -> None:
    assert wrapped_command("say it's so, " * 9 + "x", 20) == ["say it's so, " * 9 + "x"]
