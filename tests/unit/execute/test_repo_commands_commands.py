"""Commands of a repo, really run: allowed or not, changed, too long, with little around them and nothing shown."""

import os
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from firstlight import errors
from firstlight.execute import command_digest, repo_commands
from firstlight.execute.masks import Masks
from firstlight.execute.repo_commands import AllowedCommands, RepoCommands
from firstlight.model.observation import Ask, AskRequest
from firstlight.model.secret import Secret

KUBECONFIG = Secret("clusters: [{name: home, cluster: {server: 'https://10.0.0.1:6443'}}]\nusers: []\n")


def script(repo: Path, text: str, *, name: str = "hook.sh") -> tuple[str, ...]:
    path = repo / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return (f"./{name}",)


def allowing(
    repo: Path, *allowed: tuple[str, ...], masks: Masks | None = None, environ: Mapping[str, str] | None = None,
    home: Path | None = None, origin: Path | None = None,
) -> RepoCommands:  # fmt: skip
    known = frozenset(
        (command_digest.command_digest(each, origin or repo).value, str(origin or repo)) for each in allowed
    )
    return RepoCommands(
        repo, cluster="home", allowed=AllowedCommands(known), masks=masks or Masks(), environ=environ or os.environ,
        home=home, origin=origin,
    )  # fmt: skip


async def test_an_allowed_command_runs_at_the_top_of_the_repo_and_tells_what_it_says(tmp_path: Path) -> None:
    words = script(tmp_path, "pwd; echo trouble >&2; exit 3")
    told: list[str] = []

    ended = await allowing(tmp_path, words).run(words, timeout=10, on_line=told.append)

    assert ended.code == 3
    assert sorted(told) == sorted([str(tmp_path), "trouble"])
    assert ended.said in told


async def test_a_command_that_was_not_allowed_does_not_run(tmp_path: Path) -> None:
    words = script(tmp_path, "touch ran")
    digest = command_digest.command_digest(words, tmp_path)

    with pytest.raises(errors.Refused, match=digest.value) as caught:
        await allowing(tmp_path).run(words, timeout=10)
    assert "./hook.sh" in caught.value.message
    assert "--allow-commands" in caught.value.hint
    assert not (tmp_path / "ran").exists()


async def test_a_changed_script_is_a_command_that_was_not_allowed(tmp_path: Path) -> None:
    words = script(tmp_path, "true")
    one = allowing(tmp_path, words)
    assert (await one.run(words, timeout=10)).code == 0
    script(tmp_path, "touch ran")

    with pytest.raises(errors.Refused):
        await one.run(words, timeout=10)
    assert not (tmp_path / "ran").exists()


async def test_what_a_command_reads_counts_as_much_as_its_script(tmp_path: Path) -> None:
    (tmp_path / "library").write_text("true\n")
    words = script(tmp_path, ". ./library")
    one = allowing(tmp_path, words)
    assert (await one.run(words, timeout=10)).code == 0
    (tmp_path / "library").write_text("touch ran\n")

    with pytest.raises(errors.Refused):
        await one.run(words, timeout=10)
    assert not (tmp_path / "ran").exists()


async def test_what_a_run_adds_to_the_repo_leaves_its_commands_allowed_and_the_next_run_asks(tmp_path: Path) -> None:
    words = script(tmp_path, "touch made")
    one = allowing(tmp_path, words)
    digest = one.digest(words)
    await one.run(words, timeout=10)

    assert (await one.run(words, timeout=10)).code == 0
    known = AllowedCommands(frozenset({(digest.value, str(tmp_path))}))
    with pytest.raises(errors.Refused):
        await RepoCommands(tmp_path, cluster="home", allowed=known, masks=Masks()).run(words, timeout=10)


async def test_words_are_given_as_they_are(tmp_path: Path) -> None:
    words = (*script(tmp_path, 'printf "%s|" "$@"'), "$HOME", "`id`", "*", "a b", "; touch ran")

    assert (await allowing(tmp_path, words).run(words, timeout=10)).said == "$HOME|`id`|*|a b|; touch ran|"


async def test_its_environment_has_nothing_of_the_users_but_what_programs_need(tmp_path: Path) -> None:
    words = script(tmp_path, "env")
    told: list[str] = []
    environ = {"PATH": f".:{os.environ['PATH']}::bin", "HOME": "/home/me", "LANG": "C", "VAULT_TOKEN": "hvs.x"}

    await allowing(tmp_path, words, environ=environ).run(words, timeout=10, on_line=told.append)

    found = dict(each.split("=", 1) for each in told)
    assert found.keys() - {"PWD", "OLDPWD", "SHLVL", "_"} == {"PATH", "HOME", "LANG", "FIRSTLIGHT_CLUSTER"}
    assert found["FIRSTLIGHT_CLUSTER"] == "home"
    assert found["HOME"] == "/home/me"
    assert found["PATH"] == ":".join(each for each in os.environ["PATH"].split(":") if each.startswith("/"))


async def test_a_program_of_the_repo_does_not_stand_for_one_of_the_user(tmp_path: Path) -> None:
    script(tmp_path, "touch ran", name="true")
    words = ("true",)
    environ = {"PATH": f".:{os.environ['PATH']}"}

    assert (await allowing(tmp_path, words, environ=environ).run(words, timeout=10)).code == 0
    assert not (tmp_path / "ran").exists()


async def test_a_rehearsals_command_has_a_home_of_its_own_and_is_allowed_by_the_users_repo(tmp_path: Path) -> None:
    repo, copy = tmp_path / "repo", tmp_path / "copy"
    repo.mkdir()
    copy.mkdir()
    words = script(repo, "true")
    script(copy, "echo $HOME")
    one = allowing(copy, words, origin=repo, home=tmp_path / "state" / "home")

    assert (await one.run(words, timeout=10)).said == str(tmp_path / "state" / "home")


async def test_the_way_to_the_cluster_is_a_file_that_is_gone_afterwards(tmp_path: Path) -> None:
    words = script(tmp_path, 'echo "$KUBECONFIG"; cat "$KUBECONFIG"')
    one = allowing(tmp_path, words)
    one.lead_to(KUBECONFIG, at="https://127.0.0.5:6443/")
    told: list[str] = []

    await one.run(words, timeout=10, on_line=told.append)

    path, *content = told
    assert "server: https://127.0.0.5:6443" in content
    assert "tls-server-name: 10.0.0.1" in content
    assert path.startswith("/proc/")
    assert not os.path.lexists(path) or "memfd" not in os.readlink(path)


async def test_secrets_are_masked_in_what_it_says(tmp_path: Path) -> None:
    words = script(tmp_path, "echo the token is hunter2; echo hunter2 >&2; exit 1")
    masks = Masks()
    masks.add(Secret("hunter2"))
    told: list[str] = []

    ended = await allowing(tmp_path, words, masks=masks).run(words, timeout=10, on_line=told.append)

    assert "hunter2" not in f"{told}{ended}"
    assert "the token is •••" in told


async def test_one_that_takes_too_long_is_killed_with_its_children(tmp_path: Path) -> None:
    words = script(tmp_path, "echo so far; sleep 60 & echo $! >child; wait")
    begun = time.monotonic()

    with pytest.raises(
        errors.ClientError, match=r"within 0.5 s, and was killed; the last that it said: so far"
    ) as caught:
        await allowing(tmp_path, words).run(words, timeout=0.5)

    assert not isinstance(caught.value, errors.TimedOut)  # trying again would not cure it
    assert time.monotonic() - begun < 20
    child = Path(f"/proc/{(tmp_path / 'child').read_text().strip()}/stat")
    assert not child.exists() or child.read_text().rpartition(")")[2].split()[0] == "Z"


@pytest.mark.parametrize(
    ("text", "mode", "said", "hint"),
    [
        (None, 0o755, "there is no program ./hook", ""),
        ("#!/bin/sh\n", 0o644, "cannot be executed", "chmod \\+x ./hook"),
        ("true\n", 0o755, "cannot be run: .*Exec format", "#!/bin/sh"),
    ],
)
async def test_what_cannot_be_run_is_said_with_the_way_out(
    tmp_path: Path, text: str | None, mode: int, said: str, hint: str
) -> None:
    if text is not None:
        (tmp_path / "hook").write_text(text)
        (tmp_path / "hook").chmod(mode)

    with pytest.raises(errors.ClientError, match=said) as caught:
        await allowing(tmp_path, ("./hook",)).run(("./hook",), timeout=10)
    assert not isinstance(caught.value, errors.Unreachable)
    assert hint.replace("\\", "") in caught.value.hint


async def test_of_endless_output_the_beginning_and_the_last_line_are_told(tmp_path: Path) -> None:
    words = script(tmp_path, "seq 1000")
    told: list[str] = []

    ended = await allowing(tmp_path, words).run(words, timeout=10, on_line=told.append)

    assert ended.said == "1000"
    assert told[:2] == ["1", "2"]
    assert len(told) == repo_commands._LINES + 1


async def test_a_gate_that_is_a_command_gets_an_answer(tmp_path: Path) -> None:
    good, bad = script(tmp_path, "echo fine", name="good"), script(tmp_path, "echo broken; exit 4", name="bad")
    one = allowing(tmp_path, good, bad)

    def asked(words: tuple[str, ...]) -> AskRequest:
        return AskRequest(Ask.COMMAND, "db/1", {"run": list(words), "timeout": 10})

    assert (await one.answer(asked(good))).is_yes
    answer = await one.answer(asked(bad))
    assert (answer.is_yes, answer.said) == (False, "it exited with 4: broken")
    stranger = await one.answer(asked(script(tmp_path, "touch ran", name="stranger")))
    assert not stranger.is_yes
    assert "was not allowed" in stranger.said
    assert "--allow-commands" in stranger.said
    assert not (tmp_path / "ran").exists()
