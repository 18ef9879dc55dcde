"""Running kustomize: what it would read is looked at first, and then it runs where it finds nothing else.

It gets an empty home, a path on which there is no program, and a proxy that is not there; so what the look before
should have overlooked, kustomize could neither fetch nor run. Where remote resources are allowed it gets the user's
path, on which it finds git, and the user's proxy.
"""

import contextlib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from firstlight import errors
from firstlight.clients import command, path_safety, scratch
from firstlight.clients.kustomize import build_scan, kustomize_errors
from firstlight.clients.sandbox import program_limits
from firstlight.model import versions
from firstlight.model.rendition import RendererOutput
from firstlight.model.secret import MASK

BUILD = 60.0

_SHORTEST = 4
"""Values that are shorter are parts of too many words."""

_NOWHERE = "http://127.0.0.1:1"
_PROXIES = ("HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy")
_INHERITED = ("PATH", "NO_PROXY", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR", *_PROXIES)
_GIT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
    "GIT_ALLOW_PROTOCOL": "https",
    "GIT_CONFIG_COUNT": "2",
    "GIT_CONFIG_KEY_0": "core.hooksPath",
    "GIT_CONFIG_VALUE_0": os.devnull,
    "GIT_CONFIG_KEY_1": "init.templateDir",
    "GIT_CONFIG_VALUE_1": "",
}
_API_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]*(?:/[A-Za-z0-9]+){0,2}")


class Kustomize:
    """kustomize at a path, and helm if charts in kustomizations may be used."""

    def __init__(self, program: Path, *, helm: Path | None = None, environ: Mapping[str, str] = os.environ) -> None:
        """Prepare to run it.

        Args:
            program: Where it is.
            helm: Where helm is; without it charts in kustomizations are refused.
            environ: Where the path and the proxy are read from, if remote resources are allowed.
        """
        self._program = program.absolute()
        self._helm = helm.absolute() if helm is not None else None
        self._environ = {name: environ[name] for name in _INHERITED if name in environ}

    async def version(self) -> str:
        """Its version, such as ``5.8.1``."""
        done = await self._run(Path("/"), ["version"], allow_remote=False, timeout=BUILD)
        return done.stdout.decode(errors="replace").strip().removeprefix("v")

    async def build(
        self,
        directory: Path,
        *,
        within: Path,
        beyond_directory: bool = False,
        allow_remote: bool = False,
        kube_version: str = "",
        api_versions: Sequence[str] = (),
        limits: path_safety.TreeLimits = build_scan.LIMITS,
        timeout: float = BUILD,
    ) -> RendererOutput:
        """The manifests of a kustomization.

        Args:
            directory: Where it is.
            within: The tree, such as a repository, that nothing in it may leave.
            beyond_directory: Whether a kustomization may use files of the tree that are not in or below its own
                directory, as Flux lets it.
            allow_remote: Whether it may fetch what it names, by https. What comes from there is not looked at before.
                A chart is put into the tree, where it stays.
            kube_version: Which Kubernetes templates of charts find.
            api_versions: What they find that the cluster serves, besides Kubernetes' own.
            limits: How much may be read.
            timeout: Seconds.

        Raises:
            kustomize_errors.MissingFile: Something that is named is not there.
            kustomize_errors.BadYaml: A file is not YAML, or not what it must be.
            kustomize_errors.Cycle: It leads back to itself.
            kustomize_errors.Forbidden: It would fetch, run or read what it must not.
            kustomize_errors.TooLarge: There is too much of it.
        """
        rules = build_scan.BuildRules(
            within=within,
            allow_remote=allow_remote,
            beyond_directory=beyond_directory,
            allow_helm=self._helm is not None,
            limits=limits,
        )
        seen = build_scan.scan_build(directory, rules)
        restrictor = "LoadRestrictionsNone" if beyond_directory else "LoadRestrictionsRootOnly"
        arguments = ["build", f"--load-restrictor={restrictor}"]
        if self._helm is not None:
            arguments += ["--enable-helm", f"--helm-command={self._helm}"]
            arguments += (
                [f"--helm-kube-version={_checked(versions.is_kubernetes, kube_version)}"] if kube_version else []
            )
            arguments += [f"--helm-api-versions={_checked(_API_VERSION.fullmatch, each)}" for each in api_versions]
        # By its real path, since that is what was looked at; and it is absolute, so it is neither an option nor a URL.
        real = directory.resolve()
        arguments += ["--", str(real)]
        done = await self._run(real, arguments, allow_remote=allow_remote, timeout=timeout, seen=seen)
        warnings = tuple(line.removeprefix("# Warning: ") for line in done.stderr.splitlines() if line.strip())
        return RendererOutput(done.stdout.decode(errors="replace"), warnings)

    async def _run(
        self,
        directory: Path,
        arguments: Sequence[str],
        *,
        allow_remote: bool,
        timeout: float,
        seen: build_scan.BuildInputs | None = None,
    ) -> command.Completed:
        with scratch.directory("kustomize") as made:
            home = Path(made).resolve()
            for name in ("bin", "plugins", "work"):
                (home / name).mkdir()
            try:
                done = await command.run(
                    [str(self._program), *arguments],
                    timeout=timeout,
                    env=self._environment(home, allow_remote=allow_remote),
                    cwd=home / "work",
                    check=False,
                    dies_with_parent=True,
                    within=self._within(allow_remote=allow_remote),
                )
            except errors.TimedOut as error:
                raise kustomize_errors.KustomizeTimedOut(
                    directory, f"it did not finish within {timeout:g} s"
                ) from error
            except errors.LimitExceeded as error:
                detail = error.message.replace(str(self._program), "it", 1)
                raise kustomize_errors.KustomizeLimitExceeded(directory, detail, hint=error.hint) from error
            except errors.Unreachable as error:
                raise errors.ToolError(str(error), hint="firstlight tools install kustomize") from error
            except errors.ClientError as error:
                limit = command.OUTPUT_LIMIT >> 20
                raise kustomize_errors.KustomizeTooLarge(directory, f"it makes more than {limit} MiB") from error
        if done.code != 0:
            raise kustomize_errors.from_output(directory, _masked(done.stderr, seen) if seen else done.stderr)
        return done

    def _within(self, *, allow_remote: bool) -> program_limits.ProgramLimits:
        if allow_remote:
            return program_limits.CLIENT
        return program_limits.RENDERER if self._helm is None else program_limits.RENDERER_WITH_CHARTS

    def _environment(self, home: Path, *, allow_remote: bool) -> dict[str, str]:
        environment = {
            "HOME": str(home),
            "TMPDIR": str(home),
            "XDG_CONFIG_HOME": str(home / "config"),
            "KUSTOMIZE_PLUGIN_HOME": str(home / "plugins"),
            "HELM_PLUGINS": str(home / "plugins"),
            "HELM_REGISTRY_CONFIG": str(home / "registry.json"),
            "DOCKER_CONFIG": str(home / "docker"),
            "KUBECONFIG": os.devnull,
            "LC_ALL": "C",
        }
        if allow_remote:
            return {**environment, **self._environ, **_GIT}
        return {**environment, "PATH": str(home / "bin"), "NO_PROXY": "", **dict.fromkeys(_PROXIES, _NOWHERE)}


def _masked(said: str, seen: build_scan.BuildInputs) -> str:
    """A message without what was to become a Secret: kustomize quotes lines and literals that it does not like."""
    texts = set(seen.secret_texts)
    texts |= {text.partition("=")[2] for text in seen.secret_texts}
    for path in seen.secret_files:
        with contextlib.suppress(OSError):
            for line in path.read_text(errors="replace").splitlines():
                texts |= {line.strip(), line.partition("=")[2].strip()}
    for text in sorted(texts, key=len, reverse=True):
        if len(text) >= _SHORTEST:
            said = said.replace(text, MASK)
    return said


def _checked(is_version: Callable[[str], object], text: str) -> str:
    if not is_version(text):
        raise errors.UsageError(f"{text[:80]!r} is not a version")
    return text
