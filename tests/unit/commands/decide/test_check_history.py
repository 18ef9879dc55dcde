"""Checks that look into Git: whether a change can be taken back, and whether it was approved."""

import dataclasses
import shutil
from pathlib import Path

import pytest

from firstlight import errors
from firstlight.clients import command
from firstlight.clients.git import Git
from firstlight.commands.decide import approval, owners_file, team_rules
from firstlight.commands.decide.checks import repo_hygiene, rollback
from firstlight.commands.decide.checks.answer import CheckAnswer
from firstlight.commands.decide.checks.check_input import CheckInput, CommitRange
from firstlight.commands.decide.team_rules import RuleAuthority
from firstlight.model.decision import Approval, CheckState, Decision, Risk
from firstlight.repo.overlaid_tree import OverlaidTree
from tests.unit.commands.decide import scenes

GIT = Path(shutil.which("git") or "git")
OWNERS = "people: [{name: Ada, email: ada@example.org, roles: [lead]}, {name: Cy, email: cy@example.org}]\n"


@dataclasses.dataclass
class Repo:
    path: Path

    async def git(self, *words: str, author: str = "Bo <bo@example.org>") -> str:
        name, _, email = author.removesuffix(">").partition(" <")
        env = {
            "GIT_AUTHOR_NAME": name, "GIT_AUTHOR_EMAIL": email, "GIT_COMMITTER_NAME": "x",
            "GIT_COMMITTER_EMAIL": "x@example.org", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null",
            "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
        }  # fmt: skip
        return (await command.run([str(GIT), "-C", str(self.path), *words], env=env)).stdout.decode().strip()

    async def commit(
        self, files: dict[str, str | None], message: str = "x", *, author: str = "Bo <bo@example.org>"
    ) -> str:
        for name, content in files.items():
            (self.path / name).parent.mkdir(parents=True, exist_ok=True)
            if content is None:
                (self.path / name).unlink()
            else:
                (self.path / name).write_text(content)
        await self.git("add", "--all")
        await self.git("commit", "--quiet", "--allow-empty", "-m", message, author=author)
        return await self.git("rev-parse", "HEAD")

    def history(self, base: str, head: str) -> CommitRange:
        return CommitRange(git=Git(GIT), path=self.path, base=base, head=head)


@pytest.fixture
async def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "repo")
    made.path.mkdir()
    await made.git("init", "--quiet", "--initial-branch=main")
    await made.commit({"a.yaml": "a: 1\n", "b.yaml": "b: 1\n"})
    return made


async def reverted(at: Path, history: CommitRange | None) -> list[CheckAnswer]:
    decision, scene = scenes.made(at / "made", {"apps/web/web.yaml": scenes.deployment(cpu="1")})
    return await rollback.look(decision, dataclasses.replace(scene, history=history))


class TestRollback:
    async def test_nothing_came_after(self, tmp_path: Path, repo: Repo) -> None:
        base = await repo.git("rev-parse", "HEAD")
        head = await repo.commit({"a.yaml": "a: 2\n"})

        assert [(each.state.value, each.message) for each in await reverted(tmp_path, repo.history(base, head))] == [
            ("passed", "git revert takes back the one commit cleanly")
        ]

    async def test_something_else_came_after(self, tmp_path: Path, repo: Repo) -> None:
        base = await repo.git("rev-parse", "HEAD")
        head = await repo.commit({"a.yaml": "a: 2\n"})
        await repo.commit({"b.yaml": "b: 2\n"})

        assert [each.state for each in await reverted(tmp_path, repo.history(base, head))] == [CheckState.PASSED]

    async def test_the_same_file_changed_again(self, tmp_path: Path, repo: Repo) -> None:
        base = await repo.git("rev-parse", "HEAD")
        head = await repo.commit({"a.yaml": "a: 2\n"})
        await repo.commit({"a.yaml": "a: 3\n"})

        (found,) = await reverted(tmp_path, repo.history(base, head))

        assert found.state == CheckState.PERSON
        assert found.message.startswith("a.yaml changed again since")

    async def test_a_merge_is_reverted_by_its_first_parent(self, tmp_path: Path, repo: Repo) -> None:
        base = await repo.git("rev-parse", "HEAD")
        await repo.git("switch", "--quiet", "-c", "topic")
        await repo.commit({"a.yaml": "a: 2\n"})
        await repo.git("switch", "--quiet", "main")
        await repo.git("merge", "--quiet", "--no-ff", "-m", "merge", "topic")
        head = await repo.git("rev-parse", "HEAD")

        (found,) = await reverted(tmp_path, repo.history(base, head))

        assert found.message == f"git revert takes back the 2 commits cleanly; of the merge {head[:7]} with -m 1"

    async def test_what_is_not_committed(self, tmp_path: Path, repo: Repo) -> None:
        assert [each.state for each in await reverted(tmp_path, repo.history("HEAD", ""))] == [CheckState.PASSED]

    async def test_without_git_somebody_keeps_a_copy(self, tmp_path: Path) -> None:
        assert [each.state for each in await reverted(tmp_path, None)] == [CheckState.PERSON]

    async def test_what_cannot_be_taken_back(self, tmp_path: Path, repo: Repo) -> None:
        claim = "\n---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data, namespace: web}\nspec: {}\n"
        before = {**scenes.REPO, "apps/web/web.yaml": scenes.deployment() + claim}
        decision, scene = scenes.made(tmp_path / "made", {"apps/web/web.yaml": scenes.deployment()}, before=before)

        notes = await rollback.look(decision, dataclasses.replace(scene, history=repo.history("HEAD", "")))

        assert [each.message for each in notes if each.state == CheckState.FAILED] == [
            "PersistentVolumeClaim web/data is removed, and the volume and what is on it go with it: "
            "a revert brings an empty one"
        ]

    async def test_nothing_was_before(self, tmp_path: Path) -> None:
        decision, scene = scenes.made(tmp_path, {"apps/web/web.yaml": scenes.deployment(cpu="1")})

        assert [each.state for each in await rollback.look(decision, scenes.without_before(scene))] == [
            CheckState.PERSON
        ]


class TestBranching:
    async def told(self, at: Path, repo: Repo) -> tuple[CheckAnswer, CheckAnswer]:
        decision, scene = scenes.made(at / "made", {"apps/web/web.yaml": scenes.deployment(cpu="1")})
        scene = dataclasses.replace(scene, history=repo.history("HEAD", ""))
        (own,), (alone,) = await repo_hygiene.own_branch(decision, scene), await repo_hygiene.committed(decision, scene)
        return own, alone

    async def test_on_the_branch_that_the_engine_follows(self, tmp_path: Path, repo: Repo) -> None:
        (repo.path / "stray.txt").write_text("x")

        own, alone = await self.told(tmp_path, repo)

        assert (own.state, alone.state) == (CheckState.PERSON, CheckState.FAILED)
        assert alone.message == "the work tree has more than this change: stray.txt"

    async def test_on_one_of_its_own(self, tmp_path: Path, repo: Repo) -> None:
        await repo.git("switch", "--quiet", "-c", "topic")
        (repo.path / "apps" / "web").mkdir(parents=True)
        (repo.path / "apps/web/web.yaml").write_text("a: b\n")

        assert [each.state for each in await self.told(tmp_path, repo)] == [CheckState.PASSED] * 2


def asked(
    at: Path, risk: Risk, history: CommitRange | None, *, before: str | None, after: str | None = None
) -> tuple[Decision, CheckInput]:
    """A decision of some risk in a repo with a list of owners before, and perhaps another one after."""
    first = {**scenes.REPO, **({owners_file.FILE: before} if before is not None else {})}
    changed: dict[str, str | None] = {"apps/web/web.yaml": scenes.deployment(cpu="1")}
    decision, scene = scenes.made(
        at / "made", {**changed, **({owners_file.FILE: after} if after is not None else {})}, before=first
    )
    return dataclasses.replace(decision, risk=risk), dataclasses.replace(scene, history=history)


class TestApprovals:
    async def test_given_in_the_newest_commit(self, tmp_path: Path, repo: Repo) -> None:
        await repo.commit({"a.yaml": "a: 2\n"})
        await repo.commit({"a.yaml": "a: 3\n"}, "title\n\nwords\n\nApproved-by: Ada <ada@example.org>")

        found = await approval.approved(*asked(tmp_path, Risk.HIGH, repo.history("HEAD~2", "HEAD"), before=OWNERS))

        assert (found.needed, found.is_given) == (Approval.LEAD, True)
        assert found.by[0].startswith("Ada <ada@example.org>, Approved-by of ")

    async def test_missing(self, tmp_path: Path, repo: Repo) -> None:
        await repo.commit({"a.yaml": "a: 2\n"}, "title\n\nApproved-by: Cy <cy@example.org>")

        history = repo.history("HEAD~1", "HEAD")
        assert not (await approval.approved(*asked(tmp_path / "a", Risk.HIGH, history, before=OWNERS))).is_given
        assert (await approval.approved(*asked(tmp_path / "b", Risk.MEDIUM, history, before=OWNERS))).is_given
        assert (await approval.approved(*asked(tmp_path / "c", Risk.LOW, history, before=None))).is_given

    async def test_a_change_does_not_choose_its_own_judges(self, tmp_path: Path, repo: Repo) -> None:
        await repo.commit({"a.yaml": "a: 2\n"}, "title\n\nApproved-by: Eve <eve@example.org>")
        history = repo.history("HEAD~1", "HEAD")
        hers = "people: [{name: Eve, email: eve@example.org, roles: [lead]}]\n"

        found = await approval.approved(*asked(tmp_path, Risk.HIGH, history, before=OWNERS, after=hers))

        assert not found.is_given
        assert "Eve <eve@example.org> is not in firstlight-rules/owners.yaml" in found.says

    async def test_a_list_that_only_comes_with_the_change_is_none(self, tmp_path: Path, repo: Repo) -> None:
        await repo.commit({"a.yaml": "a: 2\n"}, "title\n\nApproved-by: Ada <ada@example.org>")

        found = await approval.approved(
            *asked(tmp_path, Risk.HIGH, repo.history("HEAD~1", "HEAD"), before=None, after=OWNERS)
        )

        assert not found.is_given

    async def test_who_wrote_one_of_very_many_commits_does_not_approve(self, tmp_path: Path, repo: Repo) -> None:
        base = await repo.git("rev-parse", "HEAD")
        await repo.commit({"a.yaml": "a: 2\n"}, author="Ada <ada@example.org>")
        last = await repo.git("rev-parse", "HEAD")
        who = "Bo <bo@example.org> 1767225600 +0000"
        words = f"author {who}\ncommitter {who}\ndata 1\nx\n"
        stream = f"commit refs/heads/main\n{words}from {last}\n\n" + f"commit refs/heads/main\n{words}\n" * 1000
        await command.run([str(GIT), "-C", str(repo.path), "fast-import", "--quiet"], stdin=stream.encode())
        await repo.commit({"a.yaml": "a: 3\n"}, "title\n\nApproved-by: Ada <ada@example.org>")

        found = await approval.approved(*asked(tmp_path, Risk.HIGH, repo.history(base, "HEAD"), before=OWNERS))

        assert not found.is_given
        assert "Ada <ada@example.org> has written a part of it" in found.says

    @pytest.mark.parametrize("link", ["firstlight-rules", owners_file.FILE])
    async def test_a_list_behind_a_link_is_refused(self, tmp_path: Path, link: str) -> None:
        """Who changes what it leads to would change the judges, and nobody would see."""
        decision, scene = asked(tmp_path, Risk.HIGH, None, before=None)
        target = "docs/rules" if link == "firstlight-rules" else "../docs/rules/owners.yaml"
        files = {"docs/rules/owners.yaml": OWNERS.encode()}
        assert scene.before is not None
        tree = OverlaidTree(scene.before.tree, files, links={link: target})
        scene = dataclasses.replace(scene, authorities=(RuleAuthority(name="base", tree=tree),))

        with pytest.raises(errors.ConfigError, match="it is a link to docs/rules"):
            await approval.approved(decision, scene)
        with pytest.raises(errors.ConfigError, match="it is a link to docs/rules"):
            team_rules.book(tree)

    async def test_what_is_staged_is_not_approved(self, tmp_path: Path, repo: Repo) -> None:
        history = repo.history("HEAD", "")

        assert not (await approval.approved(*asked(tmp_path, Risk.HIGH, history, before=OWNERS))).is_given

    async def test_a_wrong_list_is_told_with_its_line(self, tmp_path: Path, repo: Repo) -> None:
        wrong = "people:\n- {name: Ada}\n"

        with pytest.raises(errors.ConfigError) as caught:
            await approval.approved(*asked(tmp_path, Risk.HIGH, repo.history("HEAD", "HEAD"), before=wrong))

        assert caught.value.message == "firstlight-rules/owners.yaml:2:3: people[0].email is missing"
        assert caught.value.hint == "Write email: ada@example.org"
