"""How charts and files are fetched, each with the one login that is for its place."""

import base64
import binascii
import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from firstlight import errors
from firstlight.clients import helm, scratch, web
from firstlight.clients.git import Git
from firstlight.clients.helm import Helm
from firstlight.document import yaml_reader
from firstlight.model import helm_chart, remote_url, secret
from firstlight.model.secret import Login, Secret
from firstlight.render import cache_files, chart_packages
from firstlight.render.chart_packages import FetchedContent, FetchKind, FetchRequest

# What registries and repositories are shown: as Helm and Docker keep it for the user, each for its own address alone.
#
# Programs that would hand out credentials are named in those files, too. They are never run: a repo could have any of
# them run for any address. What they keep is said to be missing.


_DOCKER_HUB = {"index.docker.io", "docker.io", "registry-1.docker.io"}
_LARGEST = 4 << 20


@dataclasses.dataclass(frozen=True)
class ChartCredentials:
    """What is known of the user's own logins."""

    registries: Mapping[str, Login] = dataclasses.field(default_factory=dict)
    """By address, such as ``ghcr.io``."""
    repositories: Mapping[str, Login] = dataclasses.field(default_factory=dict)
    """By the URL of the repository."""
    helpers: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Programs that keep logins, by address; of an empty address for all others."""

    def registry(self, address: str) -> Login | None:
        """What a registry is shown."""
        names = _DOCKER_HUB if address in _DOCKER_HUB else {address}
        return next((self.registries[name] for name in sorted(names) if name in self.registries), None)

    def repository(self, url: str) -> Login | None:
        """What a repository is shown; another one at the same host is another one."""
        return self.repositories.get(_bare(url))

    def missing(self, address: str) -> str:
        """Why there is nothing to show, where a program would know; empty if none would."""
        program = self.helpers.get(address) or self.helpers.get("")
        return f"its login is kept by {program}, which is not run for a repo's sake" if program else ""


def load_credentials(environ: Mapping[str, str]) -> ChartCredentials:
    """The logins of this user. Files that are not there or cannot be read have none."""
    home = Path(environ.get("HOME") or Path.home())
    base = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    config = Path(environ.get("HELM_CONFIG_HOME") or base / "helm")
    docker = Path(environ.get("DOCKER_CONFIG") or home / ".docker") / "config.json"
    registry = Path(environ.get("HELM_REGISTRY_CONFIG") or config / "registry" / "config.json")
    repositories = Path(environ.get("HELM_REPOSITORY_CONFIG") or config / "repositories.yaml")
    logins: dict[str, Login] = {}
    helpers: dict[str, str] = {}
    for path in (docker, registry):  # Helm asks its own file first, so it wins
        found = _json(path)
        logins |= _logins(found)
        helpers |= _helpers(found)
    return ChartCredentials(logins, _repositories(repositories), helpers)


def _logins(config: Mapping[str, Any]) -> dict[str, Login]:
    found = {}
    for address, entry in _mapping(config.get("auths")).items():
        entry = _mapping(entry)
        username, password = entry.get("username"), entry.get("password")
        if entry.get("auth"):
            try:
                pair = base64.b64decode(str(entry["auth"]), validate=True).decode()
            except (binascii.Error, UnicodeDecodeError):
                continue
            username, _, password = pair.partition(":")
        if username and password:
            found[_credentials_address(address)] = Login(str(username), Secret(str(password)))
    return found


def _helpers(config: Mapping[str, Any]) -> dict[str, str]:
    found = {
        _credentials_address(name): f"docker-credential-{program}"
        for name, program in _mapping(config.get("credHelpers")).items()
    }
    store = config.get("credsStore")
    return {**found, "": f"docker-credential-{store}"} if isinstance(store, str) and store else found


def _repositories(path: Path) -> dict[str, Login]:
    text = _text(path)
    if text is None:
        return {}
    try:
        documents = yaml_reader.load_all(text)
    except ValueError:
        return {}
    found = {}
    listed = _mapping(documents[0] if documents else None).get("repositories")
    for entry in listed if isinstance(listed, list) else ():
        entry = _mapping(entry)
        url, username, password = (str(entry.get(key) or "") for key in ("url", "username", "password"))
        if url and username and password:
            found[_bare(url)] = Login(username, Secret(password))
    return found


def _json(path: Path) -> Mapping[str, Any]:
    text = _text(path)
    try:
        return _mapping(msgspec.json.decode(text)) if text is not None else {}
    except (msgspec.DecodeError, RecursionError):
        return {}


def _text(path: Path) -> bytes | None:
    try:
        with path.open("rb") as file:
            return file.read(_LARGEST) if os.fstat(file.fileno()).st_size <= _LARGEST else None
    except OSError:
        return None


def _credentials_address(written: str) -> str:
    """The address of a registry; Docker writes some with a scheme and a path."""
    return written.removeprefix("https://").removeprefix("http://").partition("/")[0]


def _bare(url: str) -> str:
    return url.rstrip("/")


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


@dataclasses.dataclass(frozen=True)
class FetchClients:
    """What there is to fetch with."""

    helm: Path
    git: Path | None = None
    credentials: ChartCredentials = dataclasses.field(default_factory=ChartCredentials)
    plain_http: frozenset[str] = frozenset()
    """Addresses that may be spoken to without TLS."""


async def fetch(wanted: FetchRequest, means: FetchClients) -> tuple[FetchedContent, bytes]:
    """What is asked for, and its content.

    Raises:
        errors.ClientError: It cannot be had.
        errors.Refused: There is too much of it, or something in it that does not belong there.
        errors.UsageError: It is written in no way that is allowed.
    """
    match wanted.kind:
        case FetchKind.FILE:
            content = await web.fetch(wanted.url, plain_http=means.plain_http)
            made = cache_files.bytes_digest(content)
            if wanted.digest not in ("", f"sha256:{made}"):
                raise errors.Refused(f"{wanted.source} was asked for, and it is sha256:{made}")
            return FetchedContent(wanted=wanted, name="", version="", digest=f"sha256:{made}", sum=made), content
        case FetchKind.GIT:
            return await _commit(wanted, means)
        case _:
            return await _chart(wanted, means)


async def _chart(wanted: FetchRequest, means: FetchClients) -> tuple[FetchedContent, bytes]:
    reference, login = _reference(wanted, means.credentials)
    address = _address(wanted)
    await web.refuse_near(address, allowed=means.plain_http)
    plain = means.plain_http | ({address} if wanted.insecure else set())
    if _is_open(wanted, means):
        login = None  # a repo may say of any registry that it has no TLS: the user's password is not shown to a network
    client = Helm(means.helm, logins={address: login} if login else {}, plain_http=plain)
    with scratch.directory("chart") as made:
        try:
            pulled = await client.pull(reference, Path(made).resolve() / "chart")
        except helm.HelmUnauthorised as error:
            hint = _login_hint(wanted, means)
            raise type(error)(
                error.command, detail=error.detail, target=error.target, stderr=error.stderr, hint=hint
            ) from error
        files = chart_packages.read_files(pulled.path)
    content = chart_packages.pack_chart(files, pulled.chart.name)
    digest = pulled.digest or f"sha256:{cache_files.files_digest(files)}"
    stored = FetchedContent(
        wanted=wanted,
        name=pulled.chart.name,
        version=pulled.chart.version,
        digest=digest,
        sum=cache_files.bytes_digest(content),
    )
    return stored, content


def _reference(
    wanted: FetchRequest, own: ChartCredentials
) -> tuple[helm_chart.OciChart | helm_chart.RepositoryChart, Login | None]:
    if wanted.kind == FetchKind.OCI:
        return helm_chart.OciChart(wanted.url, wanted.version, wanted.digest), own.registry(_address(wanted))
    return helm_chart.RepositoryChart(wanted.url, wanted.name, wanted.version), own.repository(wanted.url)


def _address(wanted: FetchRequest) -> str:
    schemes = ["oci"] if wanted.kind == FetchKind.OCI else ["https", "http"]
    return remote_url.RemoteUrl.parse(wanted.url, schemes=schemes).address


def _is_open(wanted: FetchRequest, means: FetchClients) -> bool:
    """Whether a password would cross a network in clear, and only the repo says that it may."""
    return wanted.insecure and _address(wanted) not in means.plain_http


def _login_hint(wanted: FetchRequest, means: FetchClients) -> str:
    own = means.credentials
    if _is_open(wanted, means):
        return f"no login is sent without TLS unless you say so: FIRSTLIGHT_PLAIN_HTTP={_address(wanted)}"
    if wanted.kind != FetchKind.OCI:
        return f"helm repo add NAME {wanted.url} --username NAME keeps a login for it"
    address = _address(wanted)
    missing = own.missing(address)
    return f"{missing}; helm registry login {address} keeps one" if missing else f"helm registry login {address}"


async def _commit(wanted: FetchRequest, means: FetchClients) -> tuple[FetchedContent, bytes]:
    if means.git is None:
        raise errors.ToolError(f"{wanted.source} needs git, which is not installed", hint="install git")
    is_plain = any(wanted.url.startswith(f"http://{address}/") for address in means.plain_http)
    schemes = ["https", "ssh", *(["http"] if is_plain else [])]
    await web.refuse_near(remote_url.RemoteUrl.parse(wanted.url, schemes=schemes).address, allowed=means.plain_http)
    client = Git(means.git, schemes=schemes)
    # Over ssh it is the user's own agent and known hosts; a host that the user does not know is not trusted.
    own = None if wanted.url.startswith(("https://", "http://")) else secret.OwnSsh()
    with scratch.directory("git") as made:
        into = Path(made).resolve() / "repository"
        commit = await client.clone(
            wanted.url, into, ref=wanted.version, depth=1, credentials=own, limits=chart_packages.PACKAGE_LIMITS
        )
        files = {
            path: content for path, content in chart_packages.read_files(into).items() if not path.startswith(".git/")
        }
    content = chart_packages.pack_chart(files, "repository")
    stored = FetchedContent(
        wanted=wanted, name="", version=commit, digest=commit, sum=cache_files.bytes_digest(content)
    )
    return stored, content
