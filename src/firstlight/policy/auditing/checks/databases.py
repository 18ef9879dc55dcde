"""Databases and their backups: whether there are any, whether they ever run, and whether they will go on."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.document.within import at, sequence
from firstlight.model.finding import Evidence
from firstlight.policy.auditing import backup_tools, schedules
from firstlight.policy.auditing.hit import Hit
from firstlight.policy.auditing.scene import Item, Scene

_POSTGRES = "postgresql.cnpg.io/Cluster"
_POSTGRES_SCHEDULE = "postgresql.cnpg.io/ScheduledBackup"
_MARIADB = "k8s.mariadb.com/MariaDB"
_MARIADB_BACKUPS = ("k8s.mariadb.com/Backup", "k8s.mariadb.com/PhysicalBackup")
_CRUNCHY = "postgres-operator.crunchydata.com/PostgresCluster"
_DEPRECATED = ("spec", "backup", "barmanObjectStore")


@dataclasses.dataclass(frozen=True, slots=True)
class Schedule:
    """Something that makes a backup now and then."""

    item: Item
    expression: str
    steps: tuple[str | int, ...]
    """The way to the expression."""
    has_seconds: bool = False
    """Whether it begins with seconds, as CloudNativePG has it."""
    is_suspended: bool = False


def without_backup(scene: Scene) -> Iterator[Hit]:
    """Databases that nothing backs up."""
    saved = {each.name for each in scene.clusters if backup_tools.copy_databases(scene, each.name)}
    for item, what in _lacking(scene):
        if item.cluster not in saved:
            yield _unbacked(item, what)


def _lacking(scene: Scene) -> Iterator[tuple[Item, str]]:
    """Databases whose operator makes no backups of them, and what they have not."""
    for item in scene.of_kind(_POSTGRES):
        if not _is_replica(item.value) and not _has_schedule(scene, item, _POSTGRES_SCHEDULE):
            yield item, "ScheduledBackup"
    for item in scene.of_kind(_MARIADB):
        if not any(_has_schedule(scene, item, kind) for kind in _MARIADB_BACKUPS):
            yield item, "Backup with a schedule"
    for item in scene.of_kind(_CRUNCHY):
        repos = sequence(item.value, "spec", "backups", "pgbackrest", "repos")
        if not any(at(each, "schedules") for each in repos):
            yield item, "schedule of a pgBackRest repository"


def _unbacked(item: Item, what: str) -> Hit:
    return Hit(
        message=f"{item.object.id} has no {what}, and nothing else dumps it: what it holds is lost with its volume",
        place=item.object.place,
        clusters=(item.cluster,),
        component=item.component.name,
    )


def _is_replica(value: Mapping[str, Any]) -> bool:
    """A replica of another cluster's database, which is backed up there."""
    return at(value, "spec", "replica", "enabled") is True


def _has_schedule(scene: Scene, database: Item, kind: str) -> bool:
    for each in scene.of_cluster(database.cluster, kind):
        named = at(each.value, "spec", "cluster", "name") or at(each.value, "spec", "mariaDbRef", "name")
        is_timed = kind == _POSTGRES_SCHEDULE or at(each.value, "spec", "schedule") is not None
        same = each.object.id.namespace == database.object.id.namespace
        if named == database.object.id.name and same and is_timed:
            return True
    return False


def legacy_backup(scene: Scene) -> Iterator[Hit]:
    """CloudNativePG's own way to a bucket, which has become a plugin's."""
    for item in scene.of_kind(_POSTGRES):
        if at(item.value, *_DEPRECATED) is not None:
            yield Hit(
                message=f"{item.object.id} backs up by spec.backup.barmanObjectStore, which CloudNativePG takes away",
                place=item.object.at(*_DEPRECATED),
                clusters=(item.cluster,),
                component=item.component.name,
            )


def never_fires(scene: Scene) -> Iterator[Hit]:
    """Schedules of backups that no day fits, that are suspended, or that cannot be read."""
    for each in _schedules(scene):
        reason = "it is suspended" if each.is_suspended else schedules.problem(each.expression, each.has_seconds)
        if reason:
            yield Hit(
                message=f"{each.item.object.id} never makes a backup: {reason}",
                place=each.item.object.at(*(("spec", "suspend") if each.is_suspended else each.steps)),
                clusters=(each.item.cluster,),
                component=each.item.component.name,
                evidence=(Evidence(f"schedule {each.expression}", each.item.object.at(*each.steps)),),
            )


def misread(scene: Scene) -> Iterator[Hit]:
    """Schedules of five fields where the first of six is seconds: what was meant for hours is read as minutes."""
    for each in _schedules(scene):
        fields = each.expression.split()
        if each.has_seconds and len(fields) == 5 and fields[2] == "*" and fields[1].isdecimal():
            yield Hit(
                message=f"{each.item.object.id} runs every hour at minute {fields[1]}, and not at {fields[1]} o'clock:"
                " the first field is seconds",
                place=each.item.object.at(*each.steps),
                clusters=(each.item.cluster,),
                component=each.item.component.name,
                fix=f'Write six fields: "0 {each.expression}".',
            )


def _schedules(scene: Scene) -> Iterator[Schedule]:
    fields: dict[str, tuple[str | int, ...]] = {
        _POSTGRES_SCHEDULE: ("spec", "schedule"),
        "k8s.mariadb.com/Backup": ("spec", "schedule", "cron"),
        "k8s.mariadb.com/PhysicalBackup": ("spec", "schedule", "cron"),
        "velero.io/Schedule": ("spec", "schedule"),
        "volsync.backube/ReplicationSource": ("spec", "trigger", "schedule"),
        "longhorn.io/RecurringJob": ("spec", "cron"),
        "batch/CronJob": ("spec", "schedule"),
    }
    for kind, steps in fields.items():
        for item in scene.of_kind(kind):
            expression = at(item.value, *steps)
            if isinstance(expression, str) and "${" not in expression and _is_backup(kind, item):
                yield Schedule(
                    item,
                    expression,
                    steps,
                    has_seconds=kind == _POSTGRES_SCHEDULE,
                    is_suspended=any(at(item.value, "spec", key) is True for key in ("suspend", "paused")),
                )


def _is_backup(kind: str, item: Item) -> bool:
    """Whether it makes backups: some kinds do other things as well."""
    if kind == "longhorn.io/RecurringJob":
        return at(item.value, "spec", "task") in ("backup", "snapshot")
    return kind != "batch/CronJob" or any(each in item.object.id.name for each in ("backup", "snapshot", "dump"))
