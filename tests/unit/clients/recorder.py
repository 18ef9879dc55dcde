"""A program in another's place: it notes how it was started and what it was given, and says what it was told to.

What it says depends on the word that its arguments begin with, so that a method which runs it several times can be
told several answers.
"""

import json
import sys
from pathlib import Path
from typing import Any

_PROGRAM = """#!{python} -IS
import json, os, re, sys
here = {here!r}
paths = re.compile("/proc/(?:self|[0-9]+)/fd/[0-9]+")
files = {{}}
for text in [*sys.argv, *os.environ.values()]:
    for path in paths.findall(text):
        try:
            with open(path) as file:
                files[path] = [os.readlink(path), file.read()]
        except OSError as error:
            files[path] = ["", str(error)]
with open("/proc/self/environ", "rb") as file:  # Python adds to its own
    env = dict(os.fsdecode(item).split("=", 1) for item in file.read().split(b"\\0") if item)
home = env.get("HOME", "")
call = {{"argv": sys.argv[1:], "env": env, "cwd": os.getcwd(), "files": files, "stdin": sys.stdin.read(),
         "home": sorted(os.listdir(home)) if os.path.isdir(home) else [],
         "proc": [open("/proc/self/cmdline").read(), open("/proc/self/environ").read()]}}
with open(here + "/calls", "a") as file:
    file.write(json.dumps(call) + "\\n")
with open(here + "/answers") as file:
    answers = json.load(file)
words = " ".join(sys.argv[1:])
answer = next((answers[key] for key in sorted(answers, key=len, reverse=True) if words.startswith(key)), answers[""])
if answer["sleep"]:
    import time
    time.sleep(answer["sleep"])
for path, text in answer["files"].items():
    target = next(word for word in sys.argv if word.startswith(path.split("/")[0] + "=")).partition("=")[2]
    target = os.path.join(target, *path.split("/")[1:])
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with open(target, "w") as file:
        file.write(text)
sys.stdout.write(answer["stdout"])
sys.stderr.write(answer["stderr"])
sys.exit(answer["code"])
"""


class Recorder:
    """The program, in a directory of its own."""

    def __init__(self, home: Path, name: str) -> None:
        home.mkdir()
        self.home = home
        self.path = home / name
        self.path.write_text(_PROGRAM.format(python=sys.executable, here=str(home)))
        self.path.chmod(0o755)
        self._answers: dict[str, dict[str, Any]] = {}
        self.says()

    def says(
        self,
        stdout: str = "",
        stderr: str = "",
        *,
        when: str = "",
        code: int = 0,
        sleep: float = 0,
        files: dict[str, str] | None = None,
    ) -> None:
        """What it says from now on, perhaps only to what begins with a word.

        ``files`` are what it makes: ``{"--destination/c/Chart.yaml": "…"}`` is a file below what that option names.
        """
        self._answers[when] = {"stdout": stdout, "stderr": stderr, "code": code, "sleep": sleep, "files": files or {}}
        (self.home / "answers").write_text(json.dumps(self._answers))

    @property
    def calls(self) -> list[dict[str, Any]]:
        """How it was started, each time."""
        calls = self.home / "calls"
        return [json.loads(line) for line in calls.read_text().splitlines()] if calls.exists() else []

    @property
    def argvs(self) -> list[list[str]]:
        """Its arguments, each time; memory files are shown by their content, its home as ``HOME``."""
        return [[self._shown(argument, call) for argument in call["argv"]] for call in self.calls]

    @property
    def argv(self) -> list[str]:
        """Its last arguments."""
        return self.argvs[-1]

    @property
    def env(self) -> dict[str, str]:
        """Its last environment, shown in the same way."""
        call = self.calls[-1]
        return {name: self._shown(value, call) for name, value in call["env"].items()}

    def _shown(self, text: str, call: dict[str, Any]) -> str:
        for path, (link, content) in call["files"].items():
            assert link.startswith("/memfd:"), link
            text = text.replace(path, f"<{content}>")
        home = call["env"].get("HOME")
        return text.replace(home, "HOME") if home else text
