"""How charts and files are fetched, each with the one login that is for its place."""

import dataclasses
from pathlib import Path

from firstlight import errors
from firstlight.clients import helm as helm_client
from firstlight.clients import scratch, web
from firstlight.clients.git import Git
from firstlight.clients.helm import Helm
from firstlight.model import credentials as models
from firstlight.model import helm, remote_url
from firstlight.model.credentials import Login
from firstlight.render import digests
from firstlight.render.charts import packing
from firstlight.render.charts.credentials import Credentials
from firstlight.render.charts.wanted import Kind, Stored, Wanted


@dataclasses.dataclass(frozen=True)
class Means:
    """What there is to fetch with."""

    helm: Path
    git: Path | None = None
    credentials: Credentials = dataclasses.field(default_factory=Credentials)
    plain_http: frozenset[str] = frozenset()
    """Addresses that may be spoken to without TLS."""


async def fetch(wanted: Wanted, means: Means) -> tuple[Stored, bytes]:
    """What is asked for, and its content.

    Raises:
        errors.ClientError: It cannot be had.
        errors.Refused: There is too much of it, or something in it that does not belong there.
        errors.UsageError: It is written in no way that is allowed.
    """
    match wanted.kind:
        case Kind.FILE:
            content = await web.fetch(wanted.url, plain_http=means.plain_http)
            made = digests.of_bytes(content)
            if wanted.digest not in ("", f"sha256:{made}"):
                raise errors.Refused(f"{wanted.source} was asked for, and it is sha256:{made}")
            return Stored(wanted=wanted, name="", version="", digest=f"sha256:{made}", sum=made), content
        case Kind.GIT:
            return await _commit(wanted, means)
        case _:
            return await _chart(wanted, means)


async def _chart(wanted: Wanted, means: Means) -> tuple[Stored, bytes]:
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
        except helm_client.Unauthorised as error:
            hint = _login_hint(wanted, means)
            raise type(error)(
                error.command, detail=error.detail, target=error.target, stderr=error.stderr, hint=hint
            ) from error
        files = packing.read(pulled.path)
    content = packing.pack(files, pulled.chart.name)
    digest = pulled.digest or f"sha256:{digests.of_files(files)}"
    stored = Stored(
        wanted=wanted,
        name=pulled.chart.name,
        version=pulled.chart.version,
        digest=digest,
        sum=digests.of_bytes(content),
    )
    return stored, content


def _reference(wanted: Wanted, own: Credentials) -> tuple[helm.OciChart | helm.RepositoryChart, Login | None]:
    if wanted.kind == Kind.OCI:
        return helm.OciChart(wanted.url, wanted.version, wanted.digest), own.registry(_address(wanted))
    return helm.RepositoryChart(wanted.url, wanted.name, wanted.version), own.repository(wanted.url)


def _address(wanted: Wanted) -> str:
    schemes = ["oci"] if wanted.kind == Kind.OCI else ["https", "http"]
    return remote_url.RemoteUrl.parse(wanted.url, schemes=schemes).address


def _is_open(wanted: Wanted, means: Means) -> bool:
    """Whether a password would cross a network in clear, and only the repo says that it may."""
    return wanted.insecure and _address(wanted) not in means.plain_http


def _login_hint(wanted: Wanted, means: Means) -> str:
    own = means.credentials
    if _is_open(wanted, means):
        return f"no login is sent without TLS unless you say so: FIRSTLIGHT_PLAIN_HTTP={_address(wanted)}"
    if wanted.kind != Kind.OCI:
        return f"helm repo add NAME {wanted.url} --username NAME keeps a login for it"
    address = _address(wanted)
    missing = own.missing(address)
    return f"{missing}; helm registry login {address} keeps one" if missing else f"helm registry login {address}"


async def _commit(wanted: Wanted, means: Means) -> tuple[Stored, bytes]:
    if means.git is None:
        raise errors.ToolError(f"{wanted.source} needs git, which is not installed", hint="install git")
    is_plain = any(wanted.url.startswith(f"http://{address}/") for address in means.plain_http)
    schemes = ["https", "ssh", *(["http"] if is_plain else [])]
    await web.refuse_near(remote_url.RemoteUrl.parse(wanted.url, schemes=schemes).address, allowed=means.plain_http)
    client = Git(means.git, schemes=schemes)
    # Over ssh it is the user's own agent and known hosts; a host that the user does not know is not trusted.
    own = None if wanted.url.startswith(("https://", "http://")) else models.OwnSsh()
    with scratch.directory("git") as made:
        into = Path(made).resolve() / "repository"
        commit = await client.clone(
            wanted.url, into, ref=wanted.version, depth=1, credentials=own, limits=packing.LIMITS
        )
        files = {path: content for path, content in packing.read(into).items() if not path.startswith(".git/")}
    content = packing.pack(files, "repository")
    stored = Stored(wanted=wanted, name="", version=commit, digest=commit, sum=digests.of_bytes(content))
    return stored, content
