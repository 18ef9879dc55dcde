"""What is backed up of clusters besides their databases: volumes and etcd, and who is told when that fails."""

import dataclasses
import datetime
import re
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.commands.audit import backup_tools, databases, wording
from firstlight.commands.audit.rule_form import AuditRule
from firstlight.commands.audit.wording import mentions
from firstlight.document.within import at, sequence
from firstlight.model.diagnostic import Evidence, Severity
from firstlight.model.finding import Finding
from firstlight.model.place import Place
from firstlight.repo import chart_values
from firstlight.repo.chart_values import ValuesLayer
from firstlight.repo.platform_view import AppliedObject, PlatformView
from firstlight.repo.team_files import DRILL_RECORD

_ALERTS = ("monitoring.coreos.com/PrometheusRule", "operator.victoriametrics.com/VMRule")
_BACKUP = re.compile(r"backup|velero|volsync|barman|pgbackrest|k8up|cnpg_collector_last|restic|kopi[au]", re.IGNORECASE)
_RULES = (
    ("metrics", "prometheusRule", "enabled"),
    ("monitoring", "prometheusRule", "enabled"),
    ("prometheusRule", "enabled"),
    ("monitoring", "enabled"),
)
"""Values by which charts bring alerts on what they do."""
_EXCLUDED = "velero.io/exclude-from-backup"
"""The label by which Velero leaves something out: somebody has decided that it can be lost."""
_MOST = 5
_DEEPEST = 30


def volumes_without_backup(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Clusters with volumes that Git declares, where nothing backs up volumes."""
    for cluster in scene.clusters:
        found = scene.of_cluster(cluster.name, "/PersistentVolumeClaim", "apps/StatefulSet")
        claims = [each for each in found if _has_volumes(each)]
        if claims and not backup_tools.copy_volumes(scene, cluster.name):
            names = wording.listed_names((str(each.object.id) for each in claims), _MOST)
            yield rule.finding(
                f"nothing backs up volumes, and Git declares {len(claims)}: {names}",
                at=claims[0].object.place,
                clusters=(cluster.name,),
                evidence=tuple(Evidence(str(each.object.id), each.object.place) for each in claims[:_MOST]),
                key=f"volumes of {cluster.name}",
            )


def _has_volumes(item: AppliedObject) -> bool:
    if at(item.value, "metadata", "labels", _EXCLUDED) == "true":
        return False
    return item.object.id.kind != "StatefulSet" or bool(sequence(item.value, "spec", "volumeClaimTemplates"))


def backups_without_alert(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Backups that can fail for months without anybody being told."""
    for cluster in scene.clusters:
        backups = list(scene.of_cluster(cluster.name, *backup_tools.VOLUMES, *backup_tools.DATABASES))
        if backups and not _is_alerted(scene, cluster.name):
            yield rule.finding(
                "backups are made, and no alert rule tells when one fails",
                at=backups[0].object.place,
                clusters=(cluster.name,),
                subject=backups[0].component.name,
                evidence=tuple(Evidence(str(each.object.id), each.object.place) for each in backups[:_MOST]),
                key=f"backups of {cluster.name}",
            )


def _is_alerted(scene: PlatformView, cluster: str) -> bool:
    """Whether a rule speaks of backups, as an object or in the values of a chart that makes one."""
    if any(mentions(each.value.get("spec"), _BACKUP) for each in scene.of_cluster(cluster, *_ALERTS)):
        return True
    return any(
        _brings_alerts(layer)
        for component in scene.platform.components_of(cluster)
        for layer in scene.values(component)
    )


def _brings_alerts(layer: ValuesLayer) -> bool:
    is_backups = bool(_BACKUP.search(chart_values.chart_name(layer.chart)))
    if is_backups and any(at(layer.value, *path) is True for path in _RULES):
        return True
    return any(mentions(each, _BACKUP) for each in _alerts(layer.value))


def _alerts(value: Any, deep: int = 0) -> Iterator[Mapping[str, Any]]:
    """Alerts inside of values."""
    if deep > _DEEPEST:
        return
    if isinstance(value, Mapping):
        if isinstance(value.get("alert"), str):
            yield value
        for each in value.values():
            yield from _alerts(each, deep + 1)
    elif isinstance(value, list):
        for each in value:
            yield from _alerts(each, deep + 1)


def etcd_without_backup(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Clusters of Talos machines whose etcd nothing snapshots."""
    for cluster in scene.clusters if not backup_tools.script_copies_etcd(scene) else ():
        is_saved = backup_tools.copy_etcd(scene, cluster.name) or _omni_copies_etcd(scene, cluster.omni_template)
        if is_saved or not (cluster.machines or cluster.omni_template):
            continue
        yield rule.finding(
            "nothing in the repo makes snapshots of etcd",
            at=cluster.machines_place,
            clusters=(cluster.name,),
            key=f"etcd of {cluster.name}",
        )


def _omni_copies_etcd(scene: PlatformView, template: str) -> bool:
    """Whether Omni makes them itself, as its template may say."""
    documents = scene.files.documents(template) if template else ()
    return any(at(each.value, "features", "backupConfiguration") for each in documents)


# Whether anybody has ever tried to recover a cluster.

_LONG = 365
"""Days after which a drill says little of what the cluster is by now."""

Drill = tuple[datetime.date, Place]


def drills_missing(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Clusters whose recovery nobody has tried within a year."""
    recorded = _recorded(scene)
    for cluster in scene.clusters:
        last = max(recorded.get(cluster.name, []), default=None)
        if not cluster.machines or (last is not None and (scene.today - last[0]).days <= _LONG):
            continue
        said = f"its last recovery on record is of {last[0]}" if last else "no recovery of this cluster is on record"
        yield rule.finding(
            said,
            at=last[1] if last else cluster.place,
            clusters=(cluster.name,),
            key=f"drill of {cluster.name}",
        )


def _recorded(scene: PlatformView) -> dict[str, list[Drill]]:
    found: dict[str, list[Drill]] = {}
    for document in scene.files.documents(DRILL_RECORD) if scene.files.is_file(DRILL_RECORD) else ():
        for number, each in enumerate(document.value if isinstance(document.value, list) else []):
            tried = wording.parse_day(at(each, "day"))
            if tried is not None:
                found.setdefault(str(at(each, "cluster")), []).append((tried, document.place(number)))
    return found


# Databases and their backups: whether there are any, whether they ever run, and whether they will go on.


_DEPRECATED = ("spec", "backup", "barmanObjectStore")


@dataclasses.dataclass(frozen=True, slots=True)
class DatabaseSchedule:
    """Something that makes a backup now and then."""

    item: AppliedObject
    expression: str
    steps: tuple[str | int, ...]
    """The way to the expression."""
    has_seconds: bool = False
    """Whether it begins with seconds, as CloudNativePG has it."""
    is_suspended: bool = False


def databases_without_backup(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Databases that nothing backs up: neither their operator nor any other tool."""
    saved = {each.name for each in scene.clusters if backup_tools.copy_databases(scene, each.name)}
    for database in databases.unsaved(scene):
        if database.cluster in saved or backup_tools.copy_volume(
            scene, database.cluster, database.namespace, database.names
        ):
            continue
        yield rule.finding(
            f"{database.what} has no {database.lacks}, and no other tool backs it up: data is lost with the cluster",
            at=database.place,
            clusters=(database.cluster,),
            subject=database.component.name,
            # What an image is used for is a guess.
            severity=Severity.NOTE if database.is_plain else None,
        )


def databases_with_legacy_backup(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """CloudNativePG's own way to a bucket, which has become a plugin's."""
    for item in scene.of_kind(databases.POSTGRES):
        if at(item.value, *_DEPRECATED) is not None:
            yield rule.finding(
                f"{item.object.id} backs up by spec.backup.barmanObjectStore, which CloudNativePG takes away",
                at=item.object.at(*_DEPRECATED),
                clusters=(item.cluster,),
                subject=item.component.name,
            )


def schedules_never_fire(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Schedules of backups that no day fits, that are suspended, or that cannot be read."""
    for each in _schedules(scene):
        reason = (
            "it is suspended" if each.is_suspended else backup_tools.cron_problem(each.expression, each.has_seconds)
        )
        if reason:
            yield rule.finding(
                f"{each.item.object.id} never makes a backup: {reason}",
                at=each.item.object.at(*(("spec", "suspend") if each.is_suspended else each.steps)),
                clusters=(each.item.cluster,),
                subject=each.item.component.name,
                evidence=(Evidence(f"schedule {each.expression}", each.item.object.at(*each.steps)),),
            )


def schedules_misread(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Schedules of five fields where the first of six is seconds: what was meant for hours is read as minutes."""
    for each in _schedules(scene):
        fields = each.expression.split()
        if each.has_seconds and len(fields) == 5 and fields[2] == "*" and fields[1].isdecimal():
            yield rule.finding(
                f"{each.item.object.id} runs every hour at minute {fields[1]}, and not at {fields[1]} o'clock:"
                " the first field is seconds",
                at=each.item.object.at(*each.steps),
                clusters=(each.item.cluster,),
                subject=each.item.component.name,
                fix=f'Write six fields: "0 {each.expression}".',
            )


def _schedules(scene: PlatformView) -> Iterator[DatabaseSchedule]:
    fields: dict[str, tuple[str | int, ...]] = {
        databases.POSTGRES_SCHEDULE: ("spec", "schedule"),
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
                yield DatabaseSchedule(
                    item,
                    expression,
                    steps,
                    has_seconds=kind == databases.POSTGRES_SCHEDULE,
                    is_suspended=any(at(item.value, "spec", key) is True for key in ("suspend", "paused")),
                )


def _is_backup(kind: str, item: AppliedObject) -> bool:
    """Whether it makes backups: some kinds do other things as well."""
    if kind == "longhorn.io/RecurringJob":
        return at(item.value, "spec", "task") in ("backup", "snapshot")
    return kind != "batch/CronJob" or any(each in item.object.id.name for each in ("backup", "snapshot", "dump"))
