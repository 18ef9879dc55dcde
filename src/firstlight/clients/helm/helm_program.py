"""Running helm: the one place where its environment is made, its secrets are handed over and its failures are read.

It gets a home of its own that is empty: no repositories, registries, plugins or caches of the user, no Docker config,
and a path on which there is no program. Values, kubeconfigs and passwords go in by memory files. Values of options
are always part of them (``--namespace=…``), and what follows ``--`` is never an option.
"""

import base64
import contextlib
import dataclasses
import json
import os
import re
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from firstlight import errors
from firstlight.clients import command, program_io, scratch
from firstlight.clients.helm import helm_errors
from firstlight.clients.program_io import SecretArgument
from firstlight.clients.sandbox import program_limits
from firstlight.document import yaml_reader
from firstlight.model import remote_url, secret_words
from firstlight.model import secret as model_secret
from firstlight.model.secret import MASK, Secret

# Values for charts: what is given to Helm, and what of it must not come back in a message.


Values = Secret | Mapping[str, Any]
"""YAML that is not shown, or plain data."""

_SHORTEST = 4
"""Sensitive values that are shorter are parts of too many words."""
_LONG = 8
"""Values from which on everything in a Secret is masked, whatever its name."""
_WORDS = re.compile(r"[^\s\[\]{},:'\"]{8,}")
_HARMLESS = re.compile(r"true|false|null|~|[0-9.]{1,6}|[Ii]f[A-Z]\w+|Always|Never|ClusterIP|NodePort|LoadBalancer")


def as_secret(values: Values) -> Secret:
    """Values as the text of a file.

    Raises:
        errors.UsageError: They have something in them that JSON cannot say.
    """
    if isinstance(values, Secret):
        return values
    try:
        return Secret(json.dumps(dict(values), allow_nan=False, ensure_ascii=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise errors.UsageError(f"the values cannot be written as JSON: {error}") from error


def without_values(text: str, given: Iterable[Values]) -> str:
    """A message without the values that were given as secrets."""
    found: set[str] = set()
    for values in given:
        if isinstance(values, Secret):
            try:
                found |= set(_sensitive(yaml_reader.load_all(values.reveal())))
            except ValueError:
                # Helm will refuse it as well, and may quote any line or word of it.
                written = values.reveal().decode(errors="replace")
                found |= {line.strip() for line in written.splitlines()} | set(_WORDS.findall(written))
    for value in sorted(found, key=len, reverse=True):
        if len(value) >= _SHORTEST:
            text = text.replace(value, MASK)
    return text


def _sensitive(root: object) -> Iterator[str]:
    seen: set[int] = set()
    waiting: list[tuple[str, object]] = [("", root)]
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, dict | list):
            if id(value) in seen:  # anchors may be used many times, or even contain themselves
                continue
            seen.add(id(value))
            items = value.items() if isinstance(value, dict) else ((name, item) for item in value)
            waiting.extend((str(key), item) for key, item in items)
        else:
            text = value if isinstance(value, str) else str(value)
            for line in text.splitlines() or [text]:
                line = line.strip()
                long_enough = _SHORTEST if secret_words.is_sensitive_value(name) else _LONG
                if len(line) >= long_enough and not _HARMLESS.fullmatch(line):
                    yield line


OFFLINE = 60.0
TRANSFER = 180.0
READ = 30.0
GRACE = 30.0
"""Seconds that helm has to say that something took too long, before it is killed for it."""

_INHERITED = (
    "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR",
)  # fmt: skip
_MEMORY = Path("/dev/shm")  # noqa: S108 - a directory made there has a name that nobody can guess, and is ours
_HELM_VARIABLE = re.compile(r"(?:HELM|KUBE|XDG|DOCKER|TMPDIR)")


@dataclasses.dataclass(frozen=True)
class HelmAnswer:
    """What the program printed; standard output is not shown, since it may be a secret."""

    stdout: bytes = dataclasses.field(repr=False)
    stderr: str
    """Masked."""

    @property
    def text(self) -> str:
        """Standard output."""
        return self.stdout.decode(errors="replace")

    @property
    def warnings(self) -> tuple[str, ...]:
        """The lines that it said besides."""
        return tuple(line for line in self.stderr.splitlines() if line.strip())


class HelmProgram:
    """helm at a path, with what it shows to registries, repositories and a cluster."""

    def __init__(
        self,
        program: Path,
        *,
        logins: Mapping[str, model_secret.Login] | None = None,
        plain_http: Collection[str] = (),
        kubeconfig: Secret | None = None,
        context: str = "",
        allow_exec: bool = False,
        allow_dependencies: bool = False,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        """Prepare to run it.

        Args:
            program: Where it is.
            logins: What registries and repositories are shown, by address: ``ghcr.io``, ``127.0.0.1:5000``.
            plain_http: Addresses that may be spoken to without TLS.
            kubeconfig: For what concerns releases in a cluster.
            context: The context of the kubeconfig; its current one if it is not given.
            allow_exec: Whether the kubeconfig may name a program that makes credentials: only if it is the user's own.
            allow_dependencies: Whether ``dependency_build`` may fetch what a chart says that it needs.
            environ: Where the proxy is read from, and whatever a program of the kubeconfig needs.

        Raises:
            errors.Refused: The kubeconfig names a program, and ``allow_exec`` is not set.
        """
        if kubeconfig is not None and not allow_exec:
            _refuse_programs(kubeconfig)
        self._program = program.absolute()
        self._logins = dict(logins or {})
        self._plain_http = frozenset(plain_http)
        self._kubeconfig = kubeconfig
        self._context = context
        self._allow_exec = allow_exec
        self._allow_dependencies = allow_dependencies
        self._environ = dict(environ)

    async def version(self) -> str:
        """Its version, such as ``4.2.1``."""
        async with self._session() as home:
            done = await self._run(
                home, ["version"], options=["--template={{.Version}}"], within=program_limits.RENDERER
            )
        return done.text.strip().removeprefix("v")

    @contextlib.asynccontextmanager
    async def _session(self, *, in_memory: bool = False) -> AsyncIterator[Path]:
        """A home for one or several runs; for what Helm itself writes down, one that is on no disk if possible."""
        place = _MEMORY if in_memory and os.access(_MEMORY, os.W_OK) else None
        with scratch.directory("helm", place=place) as directory:
            home = Path(directory).resolve()
            for name in ("bin", "plugins", "work"):
                (home / name).mkdir()
            yield home

    async def _run(
        self,
        home: Path,
        words: Sequence[str],
        *,
        about: str = "",
        options: Sequence[str | SecretArgument] = (),
        operands: Sequence[str] = (),
        given: Sequence[Values] = (),
        on_cluster: bool = False,
        stdin: bytes = b"",
        secrets: Sequence[Secret] = (),
        timeout: float = OFFLINE,
        stays: bool = False,
        within: program_limits.ProgramLimits = program_limits.CLIENT,
    ) -> HelmAnswer:
        """Run it once, to its good end.

        Args:
            home: What ``_session`` made.
            words: The command, such as ``registry login``.
            about: The chart or release, for messages.
            options: Its options.
            operands: What follows them.
            given: Values for a chart, in the order in which they win.
            on_cluster: Whether it talks to the cluster.
            stdin: What it reads.
            secrets: What must not be in its messages, besides the values.
            timeout: Seconds after which it is killed.
            stays: Whether it may take minutes; then it dies with this process.
            within: What it may use.

        Raises:
            helm_errors.HelmError: It failed, took too long, or wanted more than it may have.
        """
        name = " ".join(words)
        values = [SecretArgument("--values=", as_secret(each), f"values {n}") for n, each in enumerate(given, 1)]
        with program_io.secret_arguments() as fed:
            env = self._environment(home) | self._access(fed, name, on_cluster=on_cluster)
            context = [f"--kube-context={self._context}"] if on_cluster and self._context else []
            rest = ["--", *operands] if operands else []
            argv = [str(self._program), *fed.argv([*words, *options, *values, *context, *rest])]
            limits = program_limits.FREE if on_cluster and self._allow_exec else within
            with _told(name, about, program=argv[0], timeout=timeout):
                done = await command.run(
                    argv, timeout=timeout, env=env, cwd=home / "work", stdin=stdin, pass_fds=fed.fds, check=False,
                    dies_with_parent=stays, within=limits,
                )  # fmt: skip
            # Only of repositories a failure is explained on standard output; elsewhere it is nothing but manifests.
            explains = done.code != 0 and words[0] == "repo"
            output = f"{done.stdout.decode(errors='replace')}\n{done.stderr}" if explains else done.stderr
            said = self._masked(fed.told(output), home, given=given, secrets=secrets)
        if done.code != 0:
            raise helm_errors.from_output(name, said, target=about)
        return HelmAnswer(done.stdout, said)

    def _access(self, fed: program_io.SecretArguments, name: str, *, on_cluster: bool) -> dict[str, str]:
        """The variables by which it finds logins and the cluster, in files that only it can read."""
        env = {}
        if self._logins:
            env["HELM_REGISTRY_CONFIG"] = fed.path(registry_config(self._logins), "the registry config")
        if on_cluster:
            if self._kubeconfig is None:
                raise errors.UsageError(f"helm {name} needs a kubeconfig")
            env["KUBECONFIG"] = fed.path(self._kubeconfig, "the kubeconfig")
        return env

    def _masked(self, said: str, home: Path, *, given: Sequence[Values], secrets: Sequence[Secret]) -> str:
        """What it said, without our directory and without what nobody is to read."""
        said = said.replace(f"{home}/", "")
        for secret in (*secrets, *(login.password for login in self._logins.values())):
            if value := secret.reveal().decode(errors="replace"):
                said = said.replace(value, MASK)
        return without_values(said, given)

    def _environment(self, home: Path) -> dict[str, str]:
        own = {
            "HOME": str(home),
            "PATH": str(home / "bin"),
            "TMPDIR": str(home),
            "HELM_CACHE_HOME": str(home / "cache"),
            "HELM_CONFIG_HOME": str(home / "config"),
            "HELM_DATA_HOME": str(home / "data"),
            "HELM_PLUGINS": str(home / "plugins"),
            "HELM_REGISTRY_CONFIG": str(home / "registry.json"),
            "DOCKER_CONFIG": str(home / "docker"),
            "KUBECONFIG": os.devnull,
            "NO_COLOR": "1",
        }
        if self._allow_exec and self._kubeconfig is not None:
            # The program that makes credentials is the user's own, and finds its way by the user's environment.
            theirs = {name: value for name, value in self._environ.items() if not _HELM_VARIABLE.match(name)}
            return {**own, **theirs}
        return {**own, **{name: self._environ[name] for name in _INHERITED if name in self._environ}}

    def _plain(self, address: str) -> list[str]:
        return ["--plain-http"] if address in self._plain_http else []


@contextlib.contextmanager
def _told(name: str, about: str, *, program: str, timeout: float) -> Iterator[None]:
    """Tell as an error of helm why it has not come to an end.

    Args:
        name: The command.
        about: The chart or release.
        program: Its path, which is not told.
        timeout: Seconds that it had.
    """
    try:
        yield
    except errors.TimedOut as error:
        detail = f"it did not finish within {timeout:g} s"
        raise helm_errors.HelmTimedOut(name, detail=detail, target=about) from error
    except errors.LimitExceeded as error:
        detail = error.message.replace(program, "it", 1)
        raise helm_errors.HelmLimitExceeded(name, detail=detail, target=about, hint=error.hint) from error
    except errors.Unreachable as error:
        raise errors.ToolError(str(error), hint="firstlight tools install helm") from error
    except errors.ClientError as error:
        detail = f"it printed more than {command.OUTPUT_LIMIT >> 20} MiB"
        raise helm_errors.HelmTooLarge(name, detail=detail, target=about) from error


def _refuse_programs(kubeconfig: Secret) -> None:
    try:
        documents = yaml_reader.load_all(kubeconfig.reveal())
        users = (documents[0] if documents and documents[0] else {}).get("users") or []
        named = [user["name"] for user in users if {"exec", "auth-provider"} & set(user.get("user") or {})]
    except (ValueError, AttributeError, TypeError, KeyError) as error:
        raise errors.UsageError("the kubeconfig cannot be read") from error
    if named:
        raise errors.Refused(
            f"the kubeconfig names a program that makes the credentials of {str(named[0])[:80]!r}",
            hint="allow it only if the kubeconfig is your own",
        )


# The files in which Helm looks for credentials, made for one run and kept in memory.
#
# Nothing but names and passwords goes into them: no helper that would have to be run is ever named.


REPOSITORY_NAME = "firstlight"
"""What a repository is called for the time of a run."""


def registry_config(logins: Mapping[str, model_secret.Login]) -> Secret:
    """The logins of registries, by address, as Docker writes them down."""
    auths = {}
    for address, login in logins.items():
        pair = login.username.encode() + b":" + login.password.reveal()
        auths[address] = {"auth": base64.b64encode(pair).decode()}
    return Secret(json.dumps({"auths": auths}))


def repositories_file(url: remote_url.RemoteUrl, login: model_secret.Login) -> Secret:
    """A list of the one repository, with its login."""
    entry = {
        "name": REPOSITORY_NAME,
        "url": url.text,
        "username": login.username,
        "password": login.password.reveal().decode(errors="surrogateescape"),
        "pass_credentials_all": False,
    }
    return Secret(json.dumps({"apiVersion": "", "repositories": [entry]}))
