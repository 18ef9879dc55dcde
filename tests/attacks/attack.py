"""Attacks as data: ``repos/*.yaml`` holds one class of attack each, a list of repos that mean harm.

A repo is its files. A file is its text, or a mapping that says how to make it:

    {link: TARGET}                       a symbolic link
    {text: TEXT, mode: "755"}            with a mode
    {repeat: TEXT, times: N}             large files (``head`` and ``tail`` go around it)
    {count: "line {n}", times: N}        numbered lines
    {bytes: BASE64}                      not a text
    {chart: {PATH: TEXT, …}}             a packed chart
    {fifo: true}                         a named pipe

In every text ``@MARK@`` is a file that no command may make, ``@TRAP@`` the address of a server that no command may
call, ``@HOME@`` a home directory whose files no command may show, ``@REPO@`` the repo itself.
"""

import base64
import dataclasses
import io
import os
import subprocess
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

CASES = Path(__file__).with_name("repos")

GIT = {
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_SYSTEM": "/dev/null",
}


@dataclasses.dataclass(frozen=True)
class Attack:
    """One repo that means harm."""

    group: str
    name: str
    files: Mapping[str, Any]
    after: Mapping[str, Any]
    """Written after the first commit and committed as a second one, for commands that compare."""
    untracked: Mapping[str, Any]
    """Written last, and not committed; also below ``.git``."""
    environment: Mapping[str, str]
    commands: tuple[tuple[str, ...], ...]

    @property
    def id(self) -> str:
        """What a test is called by."""
        return f"{self.group}/{self.name}"


@dataclasses.dataclass(frozen=True)
class Ground:
    """Where an attack takes place."""

    repo: Path
    home: Path
    mark: Path
    trap: str

    def fill(self, text: str) -> str:
        """Put in what is known only when the attack is made."""
        for word, value in {
            "@MARK@": str(self.mark), "@TRAP@": self.trap, "@HOME@": str(self.home), "@REPO@": str(self.repo),
        }.items():  # fmt: skip
            text = text.replace(word, value)
        return text


def attacks() -> Iterator[Attack]:
    """Every attack there is, in the order of its files."""
    for file in sorted(CASES.glob("*.yaml")):
        data = yaml.safe_load(file.read_text())
        for name, case in data["attacks"].items():
            yield Attack(
                group=file.stem,
                name=name,
                files=data.get("common", {}) | case.get("files", {}),
                after=case.get("after", {}),
                untracked=case.get("untracked", {}),
                environment=case.get("environment", {}),
                commands=tuple(tuple(each.split()) for each in case.get("commands", data.get("commands", ()))),
            )


def make(attack: Attack, ground: Ground) -> None:
    """Write the repo, with two commits."""
    ground.repo.mkdir()
    _git(ground, "init", "--quiet", "--initial-branch=main")
    _write(ground, attack.files)
    _write(ground, {"README.md": "A repo.\n"})
    _git(ground, "add", "--all")
    _git(ground, "commit", "--quiet", "--no-verify", "-m", "One")
    _write(ground, attack.after or {"README.md": "A repo, changed.\n"})
    _git(ground, "add", "--all")
    _git(ground, "commit", "--quiet", "--no-verify", "-m", "Two")
    _write(ground, attack.untracked)


def _git(ground: Ground, *words: str) -> None:
    subprocess.run(["git", *words], cwd=ground.repo, env=os.environ | GIT, check=True, capture_output=True)


def _write(ground: Ground, files: Mapping[str, Any]) -> None:
    for name, form in files.items():
        path = ground.repo / ground.fill(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        if isinstance(form, str):
            path.write_text(ground.fill(form))
            continue
        match form:
            case {"link": target}:
                path.symlink_to(ground.fill(target))
            case {"fifo": True}:
                os.mkfifo(path)
            case {"bytes": text}:
                path.write_bytes(base64.b64decode(text))
            case {"chart": members}:
                path.write_bytes(_packed(members, ground))
            case {"repeat": text, "times": times}:
                path.write_text(form.get("head", "") + text * times + form.get("tail", ""))
            case {"count": text, "times": times}:
                lines = "\n".join(text.replace("{n}", str(n)).replace("{n-1}", str(n - 1)) for n in range(1, times + 1))
                path.write_text(form.get("head", "") + lines + form.get("tail", ""))
            case {"text": text}:
                path.write_text(ground.fill(text))
            case _:
                raise ValueError(f"{name}: {form}")
        if "mode" in form:
            path.chmod(int(form["mode"], 8))


def _packed(members: Mapping[str, Any], ground: Ground) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, form in members.items():
            entry = tarfile.TarInfo(ground.fill(name))
            if isinstance(form, dict) and "link" in form:
                entry.type, entry.linkname = tarfile.SYMTYPE, ground.fill(form["link"])
                archive.addfile(entry)
                continue
            data = b"\0" * form["zeros"] if isinstance(form, dict) else ground.fill(form).encode()
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return packed.getvalue()
