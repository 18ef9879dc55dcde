"""The databases of a cluster, by the operators, charts and images that make them, and which backup each lacks."""

import dataclasses
import re
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.document.within import at, mapping, sequence, text
from firstlight.model.component import Component
from firstlight.model.place import Place
from firstlight.repo import chart_values, platform_view
from firstlight.repo.platform_view import AppliedObject, PlatformView

POSTGRES = "postgresql.cnpg.io/Cluster"
POSTGRES_SCHEDULE = "postgresql.cnpg.io/ScheduledBackup"
_POSTGRES_BACKUPS = (POSTGRES_SCHEDULE, "postgresql.cnpg.io/Backup")
_MARIADB = "k8s.mariadb.com/MariaDB"
_MARIADB_BACKUPS = ("k8s.mariadb.com/Backup", "k8s.mariadb.com/PhysicalBackup")
_PGBACKREST = {
    "postgres-operator.crunchydata.com/PostgresCluster": ("spec", "backups", "pgbackrest", "repos"),
    "pgv2.percona.com/PerconaPGCluster": ("spec", "backups", "pgbackrest", "repos"),
}
_SCHEDULED = {
    "pxc.percona.com/PerconaXtraDBCluster": (("spec", "backup", "schedule"), "spec.backup.schedule"),
    "psmdb.percona.com/PerconaServerMongoDB": (("spec", "backup", "tasks"), "spec.backup.tasks"),
    "mysql.oracle.com/InnoDBCluster": (("spec", "backupSchedules"), "spec.backupSchedules"),
}
"""Operators with a list of schedules in the database itself."""
_ALONE = ("mongodbcommunity.mongodb.com/MongoDBCommunity",)
"""Operators that make no backups at all."""
_CHARTS = frozenset({"postgresql", "postgresql-ha", "mariadb", "mariadb-galera", "mysql", "mongodb"})
_CNPG_CHART = re.compile(r"cnpg|cloudnative-pg", re.IGNORECASE)
_IMAGES = re.compile(
    r"(?:^|/)(?:postgres|postgresql|postgis|timescaledb(?:-ha)?|mariadb|mysql|mongo|mongodb|pgvector|pgvecto-rs)(?:[:@]|$)"
)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class UnsavedDatabase:
    """A database that its own operator, chart or manifest does not back up."""

    what: str
    lacks: str
    cluster: str
    namespace: str
    component: Component
    place: Place
    names: tuple[str, ...]
    """How it and its claims are called."""
    is_plain: bool = False
    """Whether only its image says that it is one."""


def unsaved(scene: PlatformView) -> Iterator[UnsavedDatabase]:
    """Yield every database that nothing of its own backs up."""
    for item in scene.of_kind(POSTGRES):
        if not _is_replica(item.value) and not _is_named(scene, item, _POSTGRES_BACKUPS):
            yield _of(item, "ScheduledBackup")
    for item in scene.of_kind(_MARIADB):
        if not _is_named(scene, item, _MARIADB_BACKUPS):
            yield _of(item, "Backup with a schedule")
    for kind, repositories in _PGBACKREST.items():
        for item in scene.of_kind(kind):
            if not any(at(each, "schedules") for each in sequence(item.value, *repositories)):
                yield _of(item, "schedule of a pgBackRest repository")
    for kind, (steps, said) in _SCHEDULED.items():
        for item in scene.of_kind(kind):
            if not any(at(each, "enabled") is not False for each in sequence(item.value, *steps)):
                yield _of(item, said)
    for item in scene.of_kind(*_ALONE):
        yield _of(item, "backup of its own")
    yield from _of_charts(scene)
    yield from _of_images(scene)


def _of(item: AppliedObject, lacks: str, *, claims: tuple[str, ...] = (), is_plain: bool = False) -> UnsavedDatabase:
    return UnsavedDatabase(
        what=str(item.object.id),
        lacks=lacks,
        cluster=item.cluster,
        namespace=item.object.id.namespace,
        component=item.component,
        place=item.object.place,
        names=(item.object.id.name, *claims),
        is_plain=is_plain,
    )


def _is_replica(value: Mapping[str, Any]) -> bool:
    """A replica of another cluster's database, which is backed up there."""
    return at(value, "spec", "replica", "enabled") is True


def _is_named(scene: PlatformView, database: AppliedObject, kinds: tuple[str, ...]) -> bool:
    """Whether an object that makes backups names a database, or has a name that only the cluster knows."""
    for each in scene.of_cluster(database.cluster, *kinds):
        named = str(at(each.value, "spec", "cluster", "name") or at(each.value, "spec", "mariaDbRef", "name"))
        is_timed = not each.object.id.group.endswith("mariadb.com") or at(each.value, "spec", "schedule") is not None
        is_same = each.object.id.namespace == database.object.id.namespace and named == database.object.id.name
        if is_timed and (is_same or "$" in named):
            return True
    return False


def _of_charts(scene: PlatformView) -> Iterator[UnsavedDatabase]:
    """Yield databases that charts make, as far as all of their values are known."""
    for component in scene.platform.components:
        for chart in chart_values.charts_of(component):
            name = chart_values.chart_name(chart)
            is_cnpg = name == "cluster" and _CNPG_CHART.search(chart.repository) is not None
            if not chart.repository or not (is_cnpg or name in _CHARTS):
                continue
            if not chart_values.are_values_known(component):
                continue
            given = platform_view.merged_leaves(scene.values(component))
            if any(_is_saved(path, each.value) for path, each in given.items()):
                continue
            what = f"the chart {name} of {component.name}"
            yield UnsavedDatabase(
                what=what,
                lacks="backups.enabled" if is_cnpg else "backup.enabled",
                cluster=component.cluster,
                namespace=chart.namespace,
                component=component,
                place=component.origins[-1].place,
                names=tuple(each for each in (chart.release, component.name) if each),
                is_plain=not is_cnpg,
            )
            break


def _is_saved(path: tuple[str, ...], value: Any) -> bool:
    """Whether a value turns backups on, makes the database a replica, or takes its volume away."""
    said = platform_view.value_text(value)
    if path[-1] == "enabled" and path[-2:-1] in (("backup",), ("backups",)):
        return said != "false"
    if path == ("mode",):
        return said == "replica"
    return "persistence" in path and path[-1] == "enabled" and said == "false"


def _of_images(scene: PlatformView) -> Iterator[UnsavedDatabase]:
    """Yield workloads that run a database's image on a volume of their own."""
    for item in scene.of_kind("apps/StatefulSet", "apps/Deployment"):
        spec = mapping(item.value, "spec", "template", "spec")
        images = [text(each, "image") for each in sequence(spec, "containers")]
        claims = [text(each, "persistentVolumeClaim", "claimName") for each in sequence(spec, "volumes")]
        has_volume = bool(sequence(item.value, "spec", "volumeClaimTemplates")) or any(claims)
        # One beside others may be a tool that only has the client in it.
        if has_volume and images and _IMAGES.search(images[0]):
            yield _of(item, "backup of its own", claims=tuple(each for each in claims if each), is_plain=True)
