"""Which files of a repo a command runs or reads: from its words, and on from its scripts."""

import pytest

from firstlight.model import repo_command

TEXTS = {
    "hooks/seed.sh": '#!/bin/sh\n# see apps/web.yaml\n. "$(dirname "$0")/lib.sh"\nkubectl apply -f apps/db.yaml\n',
    "hooks/lib.sh": 'source "${ROOT}/common.sh"\necho apps\n',
    "hooks/check.py": "import helpers\nfrom tools.net import ping\n",
    "hooks/helpers.py": "",
    "tools/__init__.py": "",
    "tools/net.py": "open('apps/web.yaml')\n",
    "common.sh": "exec hooks/seed.sh\n",
    "Makefile": "include mk/*.mk\nseed:\n\t./hooks/seed.sh\n",
    "mk/a.mk": "",
    "mk/b.txt": "",
    "justfile": "",
    "apps/db.yaml": "",
    "apps/web.yaml": "",
    "other": "",
}
CHECK = {"hooks/check.py", "hooks/helpers.py", "tools/__init__.py", "tools/net.py", "apps/web.yaml"}
SEED = {"hooks/seed.sh", "hooks/lib.sh", "common.sh", "apps/db.yaml"}


def files(*words: str, **more: dict[str, str]) -> set[str]:
    return set(repo_command.command_files(words, TEXTS, text=TEXTS.get, **more))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["./hooks/seed.sh", "--quick"], SEED),
        (["bash", "-eu", "hooks/seed.sh"], SEED),
        (["sh", "-c", ". ./hooks/lib.sh && true"], SEED),
        (["sh", "-c", "cd hooks; ./seed.sh"], SEED | CHECK),
        (["python3", "hooks/check.py"], CHECK),
        (["python3", "-m", "tools.net"], {"tools/__init__.py", "tools/net.py", "apps/web.yaml"}),
        (["make", "seed"], {"Makefile", "mk/a.mk"} | SEED),
        (["sh", "-c", "/usr/bin/make seed"], {"Makefile", "mk/a.mk"} | SEED),
        (["just", "x"], {"justfile"}),
        (["kubectl", "apply", "-fapps/db.yaml"], {"apps/db.yaml"}),
        (["kubectl", "apply", "--filename=apps/db.yaml,other"], {"apps/db.yaml", "other"}),
        (["kubectl", "apply", "-f", "apps/*.yaml"], {"apps/db.yaml", "apps/web.yaml"}),
        (["kubectl", "apply", "-k", "apps"], {"apps/db.yaml", "apps/web.yaml"}),
        (["curl", "-d", "@other", "https://example.org"], {"other"}),
        (["kubectl", "rollout", "status", "deployment/web"], set()),
        (["cat", "../other", "/other"], set()),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)  # fmt: skip
def test_files_are_named_by_words_and_by_scripts(words: list[str], expected: set[str]) -> None:
    assert files(*words) == expected


def test_a_link_counts_as_well_as_what_it_leads_to() -> None:
    links = {"seed": "hooks/seed.sh", "run": "hooks"}

    assert files("./seed", links=links) == SEED | {"seed"}
    assert files("run/lib.sh", links=links) >= {"run", "hooks/lib.sh"}


def test_links_in_a_circle_end() -> None:
    assert files("a/x", links={"a": "b", "b": "a"}) == {"a", "b"}


def test_a_file_that_is_gone_counts_where_it_is_still_known() -> None:
    assert repo_command.command_files(["./gone.sh"], ["gone.sh"]) == ("gone.sh",)


def test_a_hostile_script_takes_no_time() -> None:
    paths = [f"apps/{number}.yaml" for number in range(20_000)]
    text = "\n".join(f"apps {'*?' * 60} **/**/**/**/x{number}*y apps/" for number in range(5_000))

    found = repo_command.command_files(["./x"], ["x", *paths], text=lambda _: text)

    assert len(found) == repo_command.MOST
