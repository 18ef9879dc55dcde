"""Running omnictl: the one place where its command line is made and its failures are read.

Who asks, and where Omni is, is the user's: HOME, the omniconfig and the keys are those that omnictl has without
firstlight. Nothing else of the environment is passed on. It never opens a browser here: that somebody must sign in is
an answer, and comes at once.
"""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from firstlight import errors
from firstlight.clients import command, scratch
from firstlight.clients.answer import Answer
from firstlight.clients.omnictl import errors as omni_errors
from firstlight.clients.sandbox import limits
from firstlight.clients.talosctl import masking
from firstlight.model.secret import MASK, Secret

READ = 60.0
WRITE = 300.0
"""Seconds: a sync waits until what it removes is gone."""
OFFLINE = 30.0

_INHERITED = (
    "HOME", "OMNI_ENDPOINT", "TALOS_HOME", "XDG_CONFIG_HOME",
    "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy",
)  # fmt: skip
_PATHS = ("OMNICONFIG", "SIDEROV1_KEYS_DIR")
_KEYS = ("SIDERO_SERVICE_ACCOUNT_KEY", "OMNI_SERVICE_ACCOUNT_KEY")
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")


class _SignIn(Exception):
    """omnictl asks for a browser."""


class Program:
    """omnictl at a path, as the user has it."""

    def __init__(self, program: Path, *, environ: Mapping[str, str] = os.environ) -> None:
        """Prepare to run it.

        Args:
            program: Where it is.
            environ: The user's environment.
        """
        self._program = program.absolute()
        given = {name: environ[name] for name in _INHERITED if name in environ}
        # It runs beside templates; paths are meant from where the user is.
        given |= {name: str(Path(environ[name]).absolute()) for name in _PATHS if environ.get(name)}
        self._keys = {name: Secret(environ[name]) for name in _KEYS if environ.get(name)}
        self._environ = {**given, "BROWSER": "echo", "NO_COLOR": "1"}
        self._needs_config = not self._keys and ("OMNICONFIG" in given or _has_config(given))

    @property
    def has_service_account(self) -> bool:
        """Whether it acts for a service account, not for a person."""
        return bool(self._keys)

    async def _ask(
        self, words: Sequence[str], options: Sequence[str] = (), *, cwd: Path | None = None, timeout: float = READ
    ) -> Answer:
        """Run a command to its good end.

        Raises:
            omni_errors.OmniError: It failed.
        """
        done = await self._run(words, options, cwd=cwd, timeout=timeout)
        if done.code != 0:
            raise omni_errors.from_output(" ".join(words), done.stderr)
        return done

    async def _run(
        self, words: Sequence[str], options: Sequence[str] = (), *, cwd: Path | None = None, timeout: float
    ) -> Answer:
        """Run it and mask what it says; whatever it ends with."""
        called = " ".join(words)
        env = self._environ | {name: key.reveal().decode() for name, key in self._keys.items()}
        try:
            with scratch.directory("omnictl") as scratch_home:
                if not self._needs_config:
                    env["OMNICONFIG"] = str(scratch_home / "config")  # it makes one where there is none
                done = await command.run(
                    [str(self._program), *words, *options],
                    timeout=timeout,
                    env=env,
                    cwd=cwd,
                    check=False,
                    on_stderr=_stop_at_sign_in,
                    dies_with_parent=True,
                    within=limits.CLIENT,
                )
        except _SignIn:
            raise omni_errors.NotSignedIn(called, detail="nobody is signed in to Omni") from None
        except errors.TimedOut as error:
            raise omni_errors.TimedOut(called, detail=f"it did not finish within {timeout:g} s") from error
        except errors.Unreachable as error:
            raise errors.ToolError(str(error), hint="firstlight tools install omnictl") from error
        return Answer(done.code, done.stdout, self._masked(done.stderr))

    def _masked(self, said: str) -> str:
        for key in self._keys.values():
            said = said.replace(key.reveal().decode(errors="replace"), MASK)
        return masking.text(said)


def cluster_name(name: str) -> str:
    """A cluster's name, fit for a command line.

    Raises:
        errors.UsageError: It is none.
    """
    if not _NAME.fullmatch(name):
        raise errors.UsageError(f"{name[:80]!r} is not the name of a cluster in Omni")
    return name


def _has_config(environ: Mapping[str, str]) -> bool:
    """Whether there is an omniconfig where omnictl looks for it."""
    home = environ.get("HOME", "")
    talos = environ.get("TALOS_HOME") or f"{home}/.talos"
    desktop = environ.get("XDG_CONFIG_HOME") or f"{home}/.config"
    return any((Path(each) / "omni" / "config").is_file() for each in (talos, desktop))


def _stop_at_sign_in(line: str) -> None:
    if line.startswith(("Please visit this page to authenticate", "Attempting to open URL")):
        raise _SignIn
