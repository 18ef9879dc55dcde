"""Running omnictl: the one place where its command line is made and its failures are read.

Who asks, and where Omni is, is the user's: HOME, the omniconfig and the keys are those that omnictl has without
firstlight. Nothing else of the environment is passed on. It never opens a browser here: that somebody must sign in is
an answer, and comes at once.
"""

import itertools
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from firstlight import errors
from firstlight.clients import command, scratch
from firstlight.clients.omnictl import omni_errors
from firstlight.clients.program_io import ProgramAnswer
from firstlight.clients.sandbox import program_limits
from firstlight.clients.talosctl import talosctl_output
from firstlight.model import talos_names
from firstlight.model.omni_status import ClusterMachine, ClusterStatus, OmniVerb, ResourceChange, ResourceFieldChange
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


class OmnictlProgram:
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
    ) -> ProgramAnswer:
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
    ) -> ProgramAnswer:
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
                    within=program_limits.CLIENT,
                )
        except _SignIn:
            raise omni_errors.OmniNotSignedIn(called, detail="nobody is signed in to Omni") from None
        except errors.TimedOut as error:
            raise omni_errors.OmniTimedOut(called, detail=f"it did not finish within {timeout:g} s") from error
        except errors.Unreachable as error:
            raise errors.ToolError(str(error), hint="firstlight tools install omnictl") from error
        return ProgramAnswer(done.code, done.stdout, self._masked(done.stderr))

    def _masked(self, said: str) -> str:
        for key in self._keys.values():
            said = said.replace(key.reveal().decode(errors="replace"), MASK)
        return talosctl_output.masked_output(said)


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


# The ways into a cluster that Omni gives, and which cluster that is.


USER = "firstlight"
LIFE = "24h"
"""How long a token for a service account lives: longer than a run, and not the year that omnictl would take."""

_PRINTED = "/dev/stdout"


class OmnictlAccess(OmnictlProgram):
    """kubeconfig, talosconfig, and the cluster's id."""

    async def kubeconfig(self, cluster: str, *, service_account: bool = False, timeout: float = READ) -> Secret:
        """A kubeconfig that goes through Omni.

        Args:
            cluster: Its name in Omni.
            service_account: With a token for a while; else with a plugin that signs a person in.
            timeout: Seconds.

        Raises:
            omni_errors.NotFound: Omni has no such cluster.
            omni_errors.Forbidden: This account gets none.
        """
        options = [f"--cluster={cluster_name(cluster)}", "--merge=false", "--force"]
        if service_account:
            options += ["--service-account", f"--user={USER}", f"--ttl={LIFE}"]
        return await self._printed("kubeconfig", options, timeout=timeout)

    async def talosconfig(self, cluster: str, *, timeout: float = READ) -> Secret:
        """A talosconfig that goes through Omni; whoever uses it signs in with the same keys.

        Raises:
            omni_errors.OmniError: There is none.
        """
        options = [f"--cluster={cluster_name(cluster)}", "--merge=false", "--force"]
        return await self._printed("talosconfig", options, timeout=timeout)

    async def cluster_id(self, cluster: str, *, timeout: float = READ) -> str:
        """The UUID that Omni has given a cluster; one that was made anew under the same name has another.

        Raises:
            omni_errors.NotFound: Omni has no such cluster.
        """
        words = ("get", talos_names.CLUSTER_UUIDS, cluster_name(cluster))
        done = await self._ask(words, ["--output=json"], timeout=timeout)
        try:
            found = json.loads(done.stdout)["spec"]["uuid"]
        except (ValueError, KeyError, TypeError) as error:
            raise omni_errors.OmniUnreadable(" ".join(words), detail="the answer cannot be read") from error
        if not isinstance(found, str) or not found:
            raise omni_errors.OmniUnreadable(" ".join(words), detail="the cluster has no id")
        return found

    async def _printed(self, word: str, options: list[str], *, timeout: float) -> Secret:
        """A file that omnictl wants to write, without a file."""
        done = await self._ask((word,), [*options, _PRINTED], timeout=timeout)
        if not done.stdout.strip():
            raise omni_errors.OmniUnreadable(word, detail="it printed nothing")
        return Secret(done.stdout)


# ``omnictl cluster template``: whether a template is right, what it would change, and what came of it.
#
# Files that a template names are looked up where omnictl runs, so that every method says where that is. What a diff
# shows may be a secret, since people put passwords of registries into patches: of patches only the names are kept.


STATUS = 20.0
"""Seconds: omnictl waits for ever for a cluster that Omni has no status of."""

_WORDS = ("cluster", "template")
_NOWHERE = "/dev/null"
_RESOURCE = re.compile(r"(?P<kind>\w+)\.omni\.sidero\.dev\((?P<namespace>[^/()]*)/(?P<id>.*)\)")
_TOLD = re.compile(
    r"^(?P<sign>[-+])\s+(?P<field>kubernetesversion|talosversion|machinecount|allocationtype): (?P<value>.+)$"
)
"""Fields whose values are nobody's secret, and matter."""
_TELLING = frozenset({"Clusters", "MachineSets"})
_UNHEALTHY = "cluster is not healthy"


class OmnictlTemplates(OmnictlProgram):
    """Cluster templates."""

    async def validate(self, template: Path, *, directory: Path, timeout: float = OFFLINE) -> None:
        """Whether a template is right; nobody is asked.

        Args:
            template: The file.
            directory: Where the files are that it names.
            timeout: Seconds.

        Raises:
            omni_errors.Rejected: It is not.
        """
        await self._ask((*_WORDS, "validate"), [_file(template)], cwd=directory, timeout=timeout)

    async def diff(self, template: Path, *, directory: Path, timeout: float = READ) -> tuple[ResourceChange, ...]:
        """What a sync would change in Omni; nothing if it is as the template says.

        Raises:
            omni_errors.OmniError: It cannot be told.
        """
        done = await self._ask((*_WORDS, "diff"), [_file(template)], cwd=directory, timeout=timeout)
        found = tuple(_changes(done.text))
        if done.text.strip() and not found:
            raise omni_errors.OmniUnreadable("cluster template diff", detail="the answer cannot be read")
        return found

    async def sync(self, template: Path, *, directory: Path, dry_run: bool = False, timeout: float = WRITE) -> None:
        """Make Omni have what the template says; Omni then configures machines by itself.

        Raises:
            omni_errors.OmniError: It did not do it, or only a part of it; another sync goes on.
        """
        options = [_file(template), *(["--dry-run"] if dry_run else [])]
        await self._ask((*_WORDS, "sync"), options, cwd=directory, timeout=timeout)

    async def status(self, template: Path, *, directory: Path, timeout: float = STATUS) -> ClusterStatus | None:
        """How far the cluster of a template is, now; None while Omni has no status of it.

        Raises:
            omni_errors.OmniError: It cannot be told.
        """
        words = (*_WORDS, "status")
        try:
            done = await self._run(words, [_file(template), "--wait=0s"], cwd=directory, timeout=timeout)
        except omni_errors.OmniTimedOut:
            return None
        if done.code != 0 and _UNHEALTHY not in done.stderr:
            raise omni_errors.from_output(" ".join(words), done.stderr)
        found = parse(done.text, is_ready=done.code == 0)
        if found is None:
            raise omni_errors.OmniUnreadable(" ".join(words), detail="the answer cannot be read")
        return found


def _file(template: Path) -> str:
    return f"--file={template.absolute()}"


def _changes(diff: str) -> Iterator[ResourceChange]:
    """The resources of a diff: ``--- OLD``, ``+++ NEW``, and lines."""
    lines = diff.splitlines()
    heads = [index for index in range(len(lines) - 1) if _is_head(lines[index], lines[index + 1])]
    for index, end in itertools.pairwise([*heads, len(lines)]):
        old, new = lines[index][4:], lines[index + 1][4:]
        verb = OmniVerb.CREATE if old == _NOWHERE else OmniVerb.REMOVE if new == _NOWHERE else OmniVerb.UPDATE
        match = _RESOURCE.fullmatch(old if new == _NOWHERE else new)
        assert match is not None
        turns = _turns(lines[index + 2 : end]) if match["kind"] in _TELLING else ()
        yield ResourceChange(verb=verb, kind=match["kind"], id=match["id"], turns=turns)


def _is_head(first: str, second: str) -> bool:
    # A line of a patch can begin with three signs as well.
    pair = (first[4:], second[4:])
    return (
        first.startswith("--- ")
        and second.startswith("+++ ")
        and all(each == _NOWHERE or _RESOURCE.fullmatch(each) for each in pair)
        and pair != (_NOWHERE, _NOWHERE)
    )


def _turns(lines: list[str]) -> tuple[ResourceFieldChange, ...]:
    was: dict[str, str] = {}
    becomes: dict[str, str] = {}
    for line in lines:
        if (match := _TOLD.match(line)) is not None:
            (was if match["sign"] == "-" else becomes)[match["field"]] = match["value"].strip()
    return tuple(
        ResourceFieldChange(field=field, was=was.get(field, ""), becomes=becomes.get(field, ""))
        for field in dict.fromkeys([*was, *becomes])
    )


# omnictl as one class: a method for each command, sorted into files by what they are about.


class Omnictl(OmnictlTemplates, OmnictlAccess):
    """omnictl at a path, as the user has it."""


# The tree that ``omnictl cluster template status`` draws, read back: Omni has no other form of it.


_BRANCH = re.compile(r"^[\s│├└─]*")
_ROOT = re.compile(r'Cluster "[^"]*" (?P<phase>\S+) (?:Not )?Ready')
_SET = re.compile(r'(?P<name>Control Plane|Workers|Additional Workers) "[^"]*" ')
_MACHINE = re.compile(r'Machine "(?P<id>[^"]*)" (?P<stage>\S+)(?P<rest>.*)')
_UPGRADE = re.compile(r"(?P<what>Kubernetes|Talos) Upgrade (?P<phase>\S+)")
_CHECKS = re.compile(r"Status Checks (?:OK|Failing: \[(?P<failing>[^\]]*)\])")


def parse(text: str, *, is_ready: bool) -> ClusterStatus | None:
    """What the tree says; None if it is none.

    Args:
        text: What omnictl printed.
        is_ready: What it ended with.
    """
    lines = [_BRANCH.sub("", line).rstrip() for line in text.splitlines()]
    root = next((match for line in lines if (match := _ROOT.match(line))), None)
    if root is None:
        return None
    machines: list[ClusterMachine] = []
    upgrades: list[tuple[str, str]] = []
    checks: tuple[str, ...] | None = None
    in_control_plane = False
    for line in lines:
        if match := _SET.match(line):
            in_control_plane = match["name"] == "Control Plane"
        elif match := _MACHINE.match(line):
            machines.append(_machine(match, is_control_plane=in_control_plane))
        elif match := _UPGRADE.match(line):
            upgrades.append((match["what"], match["phase"]))
        elif match := _CHECKS.match(line):
            checks = tuple((match["failing"] or "").split())
    return ClusterStatus(
        phase=root["phase"], is_ready=is_ready, machines=tuple(machines), checks=checks, upgrades=tuple(upgrades)
    )


def _machine(match: re.Match[str], *, is_control_plane: bool) -> ClusterMachine:
    rest = match["rest"]
    return ClusterMachine(
        id=match["id"],
        stage=match["stage"],
        is_control_plane=is_control_plane,
        is_connected="Unreachable" not in rest,
        # One that somebody has locked keeps what it has, on purpose.
        is_up_to_date="Config Outdated" not in rest or "Machine Locked" in rest,
        has_failed="Config Apply Failed" in rest,
    )
