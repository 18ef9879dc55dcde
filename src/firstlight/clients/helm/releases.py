"""Releases in a cluster: listed, looked at, installed and upgraded. Uninstalling is not offered."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from firstlight import errors
from firstlight.clients.helm import helm_arguments, helm_errors, helm_output
from firstlight.clients.helm.charts import HelmCharts, schema_options
from firstlight.clients.helm.helm_program import GRACE, READ, Values
from firstlight.model import helm_chart

T = TypeVar("T")

MANY = 256
"""Revisions, or releases on one page: as many as Helm gives by itself."""
_PAGES = 100
_BOOLEANS = {True: "true", False: "false", None: "auto"}


class HelmReleases(HelmCharts):
    """What is done with releases."""

    async def list(self, *, namespace: str = "", timeout: float = READ) -> tuple[helm_chart.InstalledRelease, ...]:
        """The last revision of every release, in one namespace or in all, whatever its status."""
        scope = f"--namespace={helm_arguments.namespace(namespace)}" if namespace else "--all-namespaces"
        found: list[helm_chart.InstalledRelease] = []
        async with self._session() as home:
            for page in range(_PAGES):
                options = [scope, "--output=json", f"--max={MANY}", f"--offset={page * MANY}"]
                done = await self._run(
                    home, ["list"], about=namespace, options=options, on_cluster=True, timeout=timeout
                )
                more = _read(helm_output.releases, done.stdout, "list", namespace)
                found.extend(more)
                if len(more) < MANY:
                    break
        return tuple(found)

    async def status(
        self, name: str, *, namespace: str, revision: int = 0, timeout: float = READ
    ) -> helm_chart.InstalledRelease:
        """A release with its manifest: its last revision, or another.

        Raises:
            helm_errors.ReleaseNotFound: There is no such release.
        """
        options = [f"--namespace={helm_arguments.namespace(namespace)}", "--output=json"]
        options += [f"--revision={revision}"] if revision else []
        about, operands = f"{namespace}/{name}", [helm_arguments.release(name)]
        async with self._session() as home:
            known = await self._run(
                home,
                ["get", "metadata"],
                about=about,
                options=options,
                operands=operands,
                on_cluster=True,
                timeout=timeout,
            )
            full = await self._run(
                home, ["status"], about=about, options=options, operands=operands, on_cluster=True, timeout=timeout
            )
        return _read(lambda status: helm_output.release(known.stdout, status), full.stdout, "status", about)

    async def history(
        self, name: str, *, namespace: str, limit: int = MANY, timeout: float = READ
    ) -> tuple[helm_chart.InstalledRelease, ...]:
        """The revisions of a release, the oldest first.

        Raises:
            helm_errors.ReleaseNotFound: There is no such release.
        """
        options = [f"--namespace={helm_arguments.namespace(namespace)}", "--output=json", f"--max={limit}"]
        about, operands = f"{namespace}/{name}", [helm_arguments.release(name)]
        async with self._session() as home:
            done = await self._run(
                home, ["history"], about=about, options=options, operands=operands, on_cluster=True, timeout=timeout
            )
        found = _read(
            lambda stdout: helm_output.history(stdout, name=name, namespace=namespace), done.stdout, "history", about
        )
        return tuple(sorted(found, key=lambda release: release.revision))

    async def install(
        self,
        name: str,
        chart: helm_chart.ChartReference,
        *,
        namespace: str,
        values: Sequence[Values] = (),
        options: helm_chart.ReleaseOptions | None = None,
        patience: float | None = None,
    ) -> helm_chart.InstalledRelease:
        """Install a release that is not there yet.

        Args:
            name: The name of the release.
            chart: Where its chart is.
            namespace: Its namespace.
            values: In the order in which they win over each other, the last over all.
            options: How it is written.
            patience: Seconds after which Helm is killed, which leaves the release pending; well after its own timeout
                if it is not given.

        Raises:
            helm_errors.AlreadyExists: It is there.
            helm_errors.NotOwned: An object of it is there, and belongs to somebody else.
            helm_errors.Conflict: Others own fields of it.
        """
        how = options or helm_chart.ReleaseOptions()
        flags = [f"--server-side={_BOOLEANS[how.server_side is not False]}", *_flags(how)]
        return await self._write("install", name, chart, namespace, values, flags, how, patience)

    async def upgrade(
        self,
        name: str,
        chart: helm_chart.ChartReference,
        *,
        namespace: str,
        values: Sequence[Values] = (),
        options: helm_chart.ReleaseOptions | None = None,
        install: bool = False,
        rollback_on_failure: bool = False,
        history_max: int = 10,
        patience: float | None = None,
    ) -> helm_chart.InstalledRelease:
        """Upgrade a release; the values that it had before are forgotten.

        Args:
            name: The name of the release.
            chart: Where its chart is.
            namespace: Its namespace.
            values: In the order in which they win over each other, the last over all.
            options: How it is written.
            install: Install it if it is not there.
            rollback_on_failure: Go back to the revision before if this one fails.
            history_max: How many revisions are kept.
            patience: Seconds after which Helm is killed, which leaves the release pending; well after its own timeout
                if it is not given.

        Raises:
            helm_errors.ReleaseNotFound: It is not there, and ``install`` is not set.
            helm_errors.Busy: Another Helm is at work on it.
            helm_errors.Conflict: Others own fields of it.
        """
        if install and rollback_on_failure:
            raise errors.UsageError("a release that is new cannot go back: Helm would uninstall it")
        how = options or helm_chart.ReleaseOptions()
        flags = [
            f"--server-side={_BOOLEANS[how.server_side]}",
            "--reset-values",
            f"--history-max={history_max}",
            *(["--install"] if install else []),
            *(["--rollback-on-failure"] if rollback_on_failure else []),
            *_flags(how),
        ]
        return await self._write("upgrade", name, chart, namespace, values, flags, how, patience)

    async def _write(
        self,
        verb: str,
        name: str,
        chart: helm_chart.ChartReference,
        namespace: str,
        values: Sequence[Values],
        flags: Sequence[str],
        how: helm_chart.ReleaseOptions,
        patience: float | None,
    ) -> helm_chart.InstalledRelease:
        options = [f"--namespace={helm_arguments.namespace(namespace)}", "--output=json", *flags]
        about = f"{namespace}/{helm_arguments.release(name)}"
        async with self._located(chart) as (home, path):
            unchecked, _ = ([], []) if how.skip_schema_validation else schema_options(path, skip=False)
            done = await self._run(
                home,
                [verb],
                about=about,
                options=[*options, *unchecked],
                operands=[name, str(path)],
                given=values,
                on_cluster=True,
                timeout=patience if patience is not None else 2 * how.timeout + GRACE,
                stays=True,
            )
        return _read(helm_output.written, done.stdout, verb, about)


def _flags(how: helm_chart.ReleaseOptions) -> list[str]:
    return [
        *(["--force-conflicts"] if how.force_conflicts else []),
        *(["--take-ownership"] if how.take_ownership else []),
        *(["--create-namespace"] if how.create_namespace else []),
        *(["--skip-crds"] if how.skip_crds else []),
        *(["--no-hooks"] if how.no_hooks else []),
        *(["--skip-schema-validation"] if how.skip_schema_validation else []),
        f"--wait={how.wait}",
        *(["--wait-for-jobs"] if how.wait_for_jobs else []),
        f"--timeout={how.timeout:g}s",
        *([f"--description={helm_arguments.line(how.description)}"] if how.description else []),
        *(f"--labels={helm_arguments.label(name, value)}" for name, value in how.labels.items()),
        f"--dry-run={how.dry_run}",
    ]


def _read(parse: Callable[[bytes], T], stdout: bytes, command: str, about: str) -> T:
    try:
        return parse(stdout)
    except ValueError as error:
        raise helm_errors.HelmUnreadable(command, detail=str(error), target=about) from error
