"""A program in talosctl's place: it notes how it was started and what it was given, and says what it was told to."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

SAMPLES = Path(__file__).parent / "samples"

_PROGRAM = """#!{python} -IS
import json, os, sys
here = {here!r}
own = "/proc/self/fd/"
fds = {{n: os.readlink(own + n) for n in os.listdir(own) if os.path.lexists(own + n)}}
files = {{}}
for argument in sys.argv:
    if own in argument:
        path = argument[argument.index(own):]
        with open(path) as file:
            files[argument] = [os.readlink(path), file.read()]
    if argument.startswith(here + "/made/"):
        with open(argument, "w") as file:
            file.write("made")
call = {{"argv": sys.argv[1:], "env": dict(os.environ), "cwd": os.getcwd(), "found": os.listdir("."), "fds": fds,
         "files": files, "stdin": sys.stdin.read(),
         "proc": [open("/proc/self/cmdline").read(), open("/proc/self/environ").read()]}}
with open(here + "/calls", "a") as file:
    file.write(json.dumps(call) + "\\n")
with open(here + "/answers") as file:
    answers = json.load(file)
answer = answers.pop(0) if len(answers) > 1 else answers[0]
with open(here + "/answers", "w") as file:
    json.dump(answers or [answer], file)
if answer["sleep"]:
    import time
    time.sleep(answer["sleep"])
sys.stdout.write(answer["stdout"].replace("FED", next(iter(files.values()), ["", ""])[1]))
sys.stderr.write(answer["stderr"])
sys.exit(answer["code"])
"""


class StandIn:
    """The program, in a directory of its own."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.path = home / "talosctl"
        self.path.write_text(_PROGRAM.format(python=sys.executable, here=str(home)))
        self.path.chmod(0o755)
        (home / "made").mkdir()
        self._answers: list[Mapping[str, Any]] = []
        self.says()

    def says(self, stdout: str = "", stderr: str = "", *, code: int = 0, sleep: float = 0) -> None:
        """What it says from now on."""
        self._answers = []
        self.then_says(stdout, stderr, code=code, sleep=sleep)

    def then_says(self, stdout: str = "", stderr: str = "", *, code: int = 0, sleep: float = 0) -> None:
        """What it says after that; the last is said for ever."""
        self._answers.append({"stdout": stdout, "stderr": stderr, "code": code, "sleep": sleep})
        (self.home / "answers").write_text(json.dumps(self._answers))

    def says_sample(self, name: str, *, code: int = 0) -> None:
        """What a real talosctl said once."""
        texts = [SAMPLES / f"{name}.{stream}" for stream in ("stdout", "stderr")]
        assert any(text.exists() for text in texts)
        self.says(*(text.read_text() if text.exists() else "" for text in texts), code=code)

    @property
    def calls(self) -> list[dict[str, Any]]:
        """How it was started, each time."""
        calls = self.home / "calls"
        return [json.loads(line) for line in calls.read_text().splitlines()] if calls.exists() else []

    @property
    def argv(self) -> list[str]:
        """Its last arguments, memory files shown by their content."""
        call = self.calls[-1]
        shown = []
        for argument in call["argv"]:
            if argument in call["files"]:
                argument = argument[: argument.index("/proc/self/fd/")] + f"<{call['files'][argument][1]}>"
            shown.append(argument)
        return shown
