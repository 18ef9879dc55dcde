"""Charts: read, rendered, fetched, packed and pushed. Nothing here talks to a cluster.

A chart from elsewhere is always fetched first, as a step of its own. So what is rendered is on the disk and was looked
through, and what Helm says while it fetches does not get into the manifests.
"""

import contextlib
import shutil
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from firstlight import errors
from firstlight.clients import path_safety
from firstlight.clients.helm import helm_arguments, helm_errors, helm_output, helm_program, schema_references
from firstlight.clients.helm.helm_program import OFFLINE, TRANSFER, HelmAnswer, HelmProgram, Values
from firstlight.clients.program_io import SecretArgument
from firstlight.clients.sandbox import program_limits
from firstlight.model import helm_chart, remote_url, secret
from firstlight.model.rendition import RendererOutput

LIMITS = path_safety.TreeLimits(files=10_000, size=128 << 20, depth=30)
"""How much a chart may hold, those in it included."""


class HelmCharts(HelmProgram):
    """What is done with charts."""

    async def template(
        self,
        chart: helm_chart.ChartReference,
        *,
        release: str,
        namespace: str,
        values: Sequence[Values] = (),
        include_crds: bool = False,
        api_versions: Sequence[str] = (),
        kube_version: str = "",
        skip_tests: bool = False,
        no_hooks: bool = False,
        is_upgrade: bool = False,
        skip_schema_validation: bool = False,
        show_only: Sequence[str] = (),
        timeout: float = OFFLINE,
    ) -> RendererOutput:
        """The manifests of a chart.

        Args:
            chart: Where it is.
            release: The name of the release.
            namespace: Its namespace.
            values: In the order in which they win over each other, the last over all.
            include_crds: Also those of its directory ``crds``.
            api_versions: What templates find when they ask what the cluster serves, besides Kubernetes' own.
            kube_version: Which Kubernetes templates find.
            skip_tests: Without its tests.
            no_hooks: Without its hooks.
            is_upgrade: Templates find that the release is there already.
            skip_schema_validation: Do not compare the values with the chart's schema.
            show_only: Only these templates.
            timeout: Seconds for rendering; fetching has its own.

        Raises:
            helm_errors.SchemaViolation: The values are not what the chart wants.
            helm_errors.TemplateError: A template fails.
            errors.Refused: A link in the chart leads out of it, or it is too large.
        """
        options = [
            f"--namespace={helm_arguments.namespace(namespace)}",
            *(["--include-crds"] if include_crds else []),
            *(f"--api-versions={helm_arguments.api_version(each)}" for each in api_versions),
            *([f"--kube-version={helm_arguments.kube_version(kube_version)}"] if kube_version else []),
            *(["--skip-tests"] if skip_tests else []),
            *(["--no-hooks"] if no_hooks else []),
            *(["--is-upgrade"] if is_upgrade else []),
        ]
        only = [f"--show-only={helm_arguments.template(each)}" for each in show_only]
        name = helm_arguments.release(release)
        async with self._located(chart) as (home, path):
            unchecked, warnings = schema_options(path, skip=skip_schema_validation)
            done = await self._run(
                home,
                ["template"],
                about=described(chart),
                options=[*options, *unchecked, *only],
                operands=[name, str(path)],
                given=values,
                timeout=timeout,
                within=program_limits.RENDERER,
            )
        return RendererOutput(done.text, (*warnings, *done.warnings))

    async def show_chart(self, chart: helm_chart.ChartReference) -> helm_chart.ChartMetadata:
        """What a chart says of itself."""
        async with self._located(chart) as (home, path):
            return await self._show_chart(home, path, about=described(chart))

    async def show_values(self, chart: helm_chart.ChartReference) -> str:
        """The values that a chart has by itself, as they are written."""
        async with self._located(chart) as (home, path):
            done = await self._run(
                home, ["show", "values"], about=described(chart), operands=[str(path)], within=program_limits.RENDERER
            )
        return done.text

    async def pull(
        self, chart: helm_chart.OciChart | helm_chart.RepositoryChart, into: Path, *, timeout: float = TRANSFER
    ) -> helm_chart.Pulled:
        """Fetch a chart and unpack it into a directory that is not there yet.

        Raises:
            helm_errors.ChartNotFound: There is no such chart.
            helm_errors.VersionNotFound: There is, but not in this version.
            errors.Refused: A link in it leads out of it, or it is too large.
        """
        async with self._session() as home:
            with path_safety.landing(into) as made:
                path, done = await self._fetch(home, chart, timeout=timeout)
                found = await self._show_chart(home, path, about=described(chart))
                shutil.copytree(path, made, symlinks=True)
        return helm_chart.Pulled(into, found, helm_output.digest(done.text) or helm_output.digest(done.stderr))

    async def package(
        self,
        chart: helm_chart.LocalChart,
        into: Path,
        *,
        version: str = "",
        app_version: str = "",
        timeout: float = OFFLINE,
    ) -> Path:
        """Pack a chart into an archive in a directory, which must exist, and give the archive."""
        if not into.is_dir():
            raise errors.UsageError(f"{into} is not a directory")
        options = [
            f"--destination={into.absolute()}",
            *([f"--version={helm_arguments.version(version)}"] if version else []),
            *([f"--app-version={helm_arguments.line(app_version)}"] if app_version else []),
        ]
        about = described(chart)
        async with self._located(chart) as (home, path):
            done = await self._run(
                home, ["package"], about=about, options=options, operands=[str(path)], timeout=timeout,
                within=program_limits.RENDERER,
            )  # fmt: skip
        try:
            made = Path(helm_output.packaged(done.text))
        except ValueError as error:
            raise helm_errors.HelmUnreadable("package", detail=str(error), target=about) from error
        return into / made.name

    async def push(self, archive: Path, to: str, *, timeout: float = TRANSFER) -> helm_chart.PushedChart:
        """Push an archive of a chart to a registry: ``to`` is the directory there, without the chart's name."""
        url = helm_arguments.oci(to)
        if not archive.is_file():
            raise errors.UsageError(f"there is no archive {archive}")
        async with self._session() as home:
            done = await self._run(
                home,
                ["push"],
                about=url.text,
                options=self._plain(url.address),
                operands=[str(archive.absolute()), url.text],
                timeout=timeout,
                stays=True,
            )
        try:
            return helm_output.pushed(f"{done.text}\n{done.stderr}")
        except ValueError as error:
            raise helm_errors.HelmUnreadable("push", detail=str(error), target=url.text) from error

    async def registry_login(self, address: str, login: secret.Login, *, timeout: float = TRANSFER) -> None:
        """Ask a registry whether it lets somebody in. What Helm writes down about it is thrown away at once.

        Raises:
            helm_errors.Unauthorised: It does not.
        """
        url = remote_url.RemoteUrl.parse(f"oci://{address}", schemes=["oci"])
        if url.path or url.address != address:
            raise errors.UsageError(f"{address[:80]!r} is not the address of a registry")
        async with self._session(in_memory=True) as home:
            await self._run(
                home,
                ["registry", "login"],
                about=address,
                options=[
                    f"--username={helm_arguments.line(login.username)}",
                    "--password-stdin",
                    f"--registry-config={home / 'registry.json'}",
                    *self._plain(address),
                ],
                operands=[address],
                stdin=login.password.reveal(),
                secrets=[login.password],
                timeout=timeout,
            )

    async def dependency_build(self, chart: helm_chart.LocalChart, *, timeout: float = TRANSFER) -> None:
        """Fetch the charts that a chart needs into its directory ``charts``, as its lock file says.

        Raises:
            errors.Refused: This is not allowed, or one of them is not in an allowed place.
        """
        about = described(chart)
        if not self._allow_dependencies:
            raise errors.Refused(
                f"{about} names charts in other places, and fetching them is not allowed",
                hint="put them into its directory charts",
            )
        async with self._located(chart) as (home, path):
            found = await self._show_chart(home, path, about=about)
            addresses: list[str] = []
            for dependency in found.dependencies:
                self._check_dependency(dependency, chart, addresses)
            options = ["--plain-http"] if addresses and self._plain_http.issuperset(addresses) else []
            await self._run(
                home,
                ["dependency", "build"],
                about=about,
                options=options,
                operands=[str(path)],
                timeout=timeout,
                stays=True,
            )
            path_safety.check_tree(path, within=chart.within, limits=LIMITS)

    def _check_dependency(
        self, dependency: helm_chart.ChartDependency, chart: helm_chart.LocalChart, addresses: list[str]
    ) -> None:
        place = dependency.repository
        if not place:
            return
        if place.startswith("file://"):
            path_safety.inside(chart.path / place.removeprefix("file://"), chart.within or chart.path)
        elif place.startswith("oci://"):
            addresses.append(helm_arguments.oci(place).address)
        else:
            helm_arguments.repository(place, plain_http=self._plain_http)

    async def _show_chart(self, home: Path, path: Path, *, about: str) -> helm_chart.ChartMetadata:
        done = await self._run(
            home, ["show", "chart"], about=about, operands=[str(path)], within=program_limits.RENDERER
        )
        try:
            return helm_output.chart(done.text)
        except ValueError as error:
            raise helm_errors.BadChart("show chart", detail=str(error), target=about) from error

    @contextlib.asynccontextmanager
    async def _located(self, chart: helm_chart.ChartReference) -> AsyncIterator[tuple[Path, Path]]:
        """A home, and the chart as a path that was looked through."""
        async with self._session() as home:
            if isinstance(chart, helm_chart.LocalChart):
                path = chart.path.absolute()
                if path.is_dir():
                    path_safety.check_tree(path, within=chart.within, limits=LIMITS)
                elif not path.is_file():
                    raise helm_errors.ChartNotFound("show chart", detail="there is no such directory", target=str(path))
                elif chart.within is not None:
                    path_safety.inside(path, chart.within)
            else:
                path, _ = await self._fetch(home, chart, timeout=TRANSFER)
            yield home, path

    async def _fetch(
        self, home: Path, chart: helm_chart.OciChart | helm_chart.RepositoryChart, *, timeout: float
    ) -> tuple[Path, HelmAnswer]:
        about = described(chart)
        options: list[str | SecretArgument] = []
        if isinstance(chart, helm_chart.OciChart):
            url = helm_arguments.oci(chart.url)
            operand = f"{url.text}@{helm_arguments.digest(chart.digest)}" if chart.digest else url.text
            options += self._plain(url.address)
        else:
            url = helm_arguments.repository(chart.repository, plain_http=self._plain_http)
            operand = helm_arguments.chart(chart.name)
            login = self._logins.get(url.address)
            if login is None:
                options.append(f"--repo={url.text}")
            else:
                # The only way to a repository with a password that shows it to nobody: by its config and index.
                listed = SecretArgument(
                    "--repository-config=", helm_program.repositories_file(url, login), "the repository config"
                )
                await self._run(
                    home,
                    ["repo", "update"],
                    about=url.text,
                    options=[listed],
                    operands=[helm_program.REPOSITORY_NAME],
                    timeout=timeout,
                )
                options.append(listed)
                operand = f"{helm_program.REPOSITORY_NAME}/{operand}"
        version = "" if isinstance(chart, helm_chart.OciChart) and chart.digest else chart.version
        exactly = [f"--version={helm_arguments.version(version)}"] if version else []
        try:
            done = await self._pull(home, [*options, *exactly], operand, "pulled", about=about, timeout=timeout)
        except (helm_errors.ChartNotFound, helm_errors.VersionNotFound) as error:
            if not version:
                raise
            raise await self._explained(error, home, options, operand, about=about, timeout=timeout) from error
        unpacked = [path for path in (home / "pulled").iterdir() if (path / "Chart.yaml").is_file()]
        if len(unpacked) != 1:
            raise helm_errors.HelmUnreadable("pull", detail="it did not unpack a chart", target=about)
        path_safety.check_tree(unpacked[0], limits=LIMITS)
        return unpacked[0], done

    async def _pull(
        self,
        home: Path,
        options: Sequence[str | SecretArgument],
        operand: str,
        into: str,
        *,
        about: str,
        timeout: float,
    ) -> HelmAnswer:
        return await self._run(
            home,
            ["pull"],
            about=about,
            options=[*options, "--untar", f"--destination={home / into}"],
            operands=[operand],
            timeout=timeout,
            stays=True,
        )

    async def _explained(
        self,
        error: helm_errors.HelmError,
        home: Path,
        options: Sequence[str | SecretArgument],
        operand: str,
        *,
        about: str,
        timeout: float,
    ) -> helm_errors.HelmError:
        """Whether it is the chart or the version that is not there: Helm says the same of both."""
        kind: type[helm_errors.HelmError] = helm_errors.VersionNotFound
        try:
            await self._pull(home, [*options, "--devel"], operand, "latest", about=about, timeout=timeout)
        except helm_errors.ChartNotFound:
            kind = helm_errors.ChartNotFound
        except helm_errors.VersionNotFound:
            # A repository that has no version at all does not have the chart; a registry may have other tags.
            kind = helm_errors.ChartNotFound if "://" not in operand else helm_errors.VersionNotFound
        except helm_errors.HelmError:
            return error
        return kind(error.command, detail=error.detail, target=about, stderr=error.stderr)


def schema_options(chart: Path, *, skip: bool) -> tuple[list[str], list[str]]:
    """The option that keeps Helm from following its schemas out of the chart, and what there is to say about it.

    Charts in use do refer to the web, so these are rendered all the same, and their values are not compared.

    Args:
        chart: A directory or an archive.
        skip: Whether the values are not compared with the schemas in any case.

    Raises:
        errors.Refused: A schema refers to a file of this computer.
    """
    if skip:
        return ["--skip-schema-validation"], []  # Helm does not read them then
    found = schema_references.outside(chart)
    for each in found:
        if not each.is_web:
            raise errors.Refused(
                f"{each}: only references within the schema are followed",
                hint="move what it refers to into the schema, below $defs",
            )
    if not found:
        return [], []
    more = f", and so do {len(found) - 1} more references" if len(found) > 1 else ""
    warning = f"values are not compared with the schema: {found[0]}{more}, and nothing is fetched"
    return ["--skip-schema-validation"], [warning]


def described(chart: helm_chart.ChartReference) -> str:
    """What messages call a chart."""
    match chart:
        case helm_chart.LocalChart():
            return str(chart.path)
        case helm_chart.OciChart():
            return remote_url.without_credentials(f"{chart.url} {chart.digest or chart.version}".strip())
        case helm_chart.RepositoryChart():
            return remote_url.without_credentials(f"{chart.repository} {chart.name} {chart.version}".strip())
