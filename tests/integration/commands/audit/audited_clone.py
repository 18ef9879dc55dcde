"""A clone of a repository of the lab's, as a person has one: files, the audit, commits and pushes."""

import asyncio
import dataclasses
import json
import os
from collections.abc import Mapping
from pathlib import Path

from firstlight.cli import main
from firstlight.clients import command
from firstlight.document import yaml_reader
from firstlight.lab.sources.declarations import Access
from firstlight.lab.sources.sources_client import SourcesClient

REPOS = Path(__file__).parent / "audit_fixes"


@dataclasses.dataclass(frozen=True)
class Clone:
    """A work tree, and the names that stand in its files."""

    path: Path
    words: Mapping[str, str]

    async def git(self, *arguments: str) -> str:
        """What git says."""
        identity = {f"GIT_{who}_{what}": "ada" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        env = {"PATH": os.environ["PATH"], "HOME": "/nowhere", "GIT_CONFIG_NOSYSTEM": "1", **identity}
        return (await command.run(["git", *arguments], cwd=self.path, env=env)).stdout.decode().strip()

    async def audit(self, *options: str) -> set[str]:
        """``firstlight audit``, with all its rules; those of them that found something that can be fixed."""
        answer = self.path.with_suffix(".json")
        await asyncio.to_thread(
            main.run, ["audit", "--repo", str(self.path), "--no-cache", "--out", str(answer), *options]
        )  # fmt: skip
        return {each["code"] for each in json.loads(answer.read_bytes())["findings"] if each["fixable"]}

    def write(self, files: Mapping[str, str | None]) -> None:
        """Put files there, or take them away."""
        for path, text in files.items():
            file = self.path / path
            if text is None:
                file.unlink()
                continue
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(self.filled(text))

    def replace(self, path: str, old: str, new: str) -> None:
        """Change what stands in a file."""
        text = (self.path / path).read_text()
        assert old in text
        (self.path / path).write_text(text.replace(old, new))

    def filled(self, text: str) -> str:
        """A text with the names that belong into it."""
        for word, name in self.words.items():
            text = text.replace(word, name)
        return text

    async def begin(self) -> None:
        """Make it a repository."""
        await self.git("init", "--quiet", "--initial-branch=main")

    async def commit(self) -> None:
        """Commit everything."""
        await self.git("add", "--all")
        await self.git("commit", "--quiet", "--message", "a change")

    async def push(self) -> str:
        """Commit everything, and push it; the commit."""
        await self.commit()
        await self.git("push", "--quiet", "origin", "HEAD:main")
        return await self.git("rev-parse", "HEAD")


def laid_out(path: Path, *, repo: str, **words: str) -> Clone:
    """The files of one of our repos, with the names that belong into them."""
    path.mkdir()
    one = Clone(path, words)
    file = REPOS / f"{repo}.yaml"
    one.write(yaml_reader.read(file.read_bytes(), file.name).documents[0].value)
    return one


async def clone(sources: SourcesClient, path: Path, *, repo: str, **words: str) -> Clone:
    """One of our repos, in a repository of its own."""
    made = await sources.create_git(f"tests/{path.name}", access=Access(anonymous="write"))
    one = laid_out(path, repo=repo, **words, GIT=made.url)
    await one.begin()
    await one.git("remote", "add", "origin", made.url)
    return one
