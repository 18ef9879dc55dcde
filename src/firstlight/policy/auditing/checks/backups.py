"""What is backed up of clusters besides their databases: volumes, etcd; who is told, and whether it was ever tried."""

import datetime
import re
from collections.abc import Iterator

from firstlight.model.cluster import Cluster
from firstlight.model.finding import Evidence
from firstlight.model.place import Place
from firstlight.policy.auditing.hit import Hit
from firstlight.policy.auditing.scene import Item, Scene, dig, listed
from firstlight.policy.team_files import DIRECTORY

DRILLS = f"{DIRECTORY}/drills.yaml"
"""Where drills are recorded: a list of {cluster, day, what}."""
UNTIL = "firstlight.dev/override-until"
"""The annotation that says how long an override is to stand."""
_DRILL_AGE = 365
_TOOLS = (
    "velero.io/Schedule", "volsync.backube/ReplicationSource", "longhorn.io/RecurringJob", "k8up.io/Schedule",
    "config.kio.kasten.io/Policy", "stash.appscode.com/BackupConfiguration", "core.kubestash.com/BackupConfiguration",
    "snapscheduler.backube/SnapshotSchedule",
)  # fmt: skip
_DATABASES = ("postgresql.cnpg.io/ScheduledBackup", "k8s.mariadb.com/Backup", "k8s.mariadb.com/PhysicalBackup")
_ALERTS = ("monitoring.coreos.com/PrometheusRule", "operator.victoriametrics.com/VMRule")
_BACKUP = re.compile(r"backup|velero|volsync|barman|pgbackrest|k8up|cnpg_collector_last|restic", re.IGNORECASE)
_ETCD = re.compile(r"etcd[ -]+snapshot|talos-backup|etcd-backup|etcd_snapshot|etcdctl\s+snapshot", re.IGNORECASE)
_MOST = 5
_WORKLOADS = ("batch/CronJob", "batch/Job", "apps/Deployment")


def volumes(scene: Scene) -> Iterator[Hit]:
    """Clusters with volumes that Git declares, where nothing backs up volumes."""
    for cluster in scene.clusters:
        if any(True for _ in scene.of_cluster(cluster.name, *_TOOLS)) or _has_chart(scene, cluster, "velero"):
            continue
        claims = [
            item
            for item in scene.of_cluster(cluster.name, "/PersistentVolumeClaim", "apps/StatefulSet")
            if _holds(item)
        ]
        if claims:
            names = ", ".join(str(each.object.id) for each in claims[:_MOST])
            more = f" and {len(claims) - _MOST} more" if len(claims) > _MOST else ""
            yield Hit(
                message=f"nothing backs up volumes, and Git declares {len(claims)}: {names}{more}",
                place=claims[0].object.place,
                clusters=(cluster.name,),
                evidence=tuple(Evidence(str(each.object.id), each.object.place) for each in claims[:_MOST]),
                key=f"volumes of {cluster.name}",
            )


def _holds(item: Item) -> bool:
    return item.object.id.kind != "StatefulSet" or bool(listed(item.value, "spec", "volumeClaimTemplates"))


def _has_chart(scene: Scene, cluster: Cluster, name: str) -> bool:
    return any(name in each.name for each in scene.platform.components_of(cluster.name))


def no_alert(scene: Scene) -> Iterator[Hit]:
    """Backups that can fail for months without anybody being told."""
    for cluster in scene.clusters:
        backups = list(scene.of_cluster(cluster.name, *_TOOLS, *_DATABASES))
        rules = list(scene.of_cluster(cluster.name, *_ALERTS))
        if backups and not any(_BACKUP.search(str(each.value.get("spec"))) for each in rules):
            yield Hit(
                message="backups are made, and no alert rule tells when one fails",
                place=backups[0].object.place,
                clusters=(cluster.name,),
                component=backups[0].component.name,
                evidence=tuple(Evidence(str(each.object.id), each.object.place) for each in backups[:_MOST]),
                key=f"backups of {cluster.name}",
            )


def etcd(scene: Scene) -> Iterator[Hit]:
    """Clusters of Talos machines whose etcd nothing snapshots."""
    unsaved = [each for each in scene.clusters if each.machines and not _saves_etcd(scene, each)]
    if not unsaved or _scripted(scene):
        return
    for cluster in unsaved:
        yield Hit(
            message="nothing in the repo makes snapshots of etcd",
            place=cluster.place,
            clusters=(cluster.name,),
            key=f"etcd of {cluster.name}",
        )


def _saves_etcd(scene: Scene, cluster: Cluster) -> bool:
    for item in scene.of_cluster(cluster.name, *_WORKLOADS):
        if _ETCD.search(str(item.value.get("spec"))) or _ETCD.search(item.object.id.name):
            return True
    # Omni makes them itself where its template says so.
    omni = cluster.omni_template
    return bool(omni) and any(
        dig(document.value, "features", "backupConfiguration") for document in scene.files.documents(omni)
    )


def _scripted(scene: Scene) -> bool:
    """Whether a script of the repo makes snapshots: how often it runs is not known."""
    names = ("Taskfile", "justfile", "Makefile", ".just", ".sh", ".mk", "mise.toml")
    scripts = [
        each
        for each in scene.files.files
        if any(name in each.rpartition("/")[2] for name in names) or ".taskfiles/" in each
    ]
    return any(_ETCD.search(scene.files.text(path) or "") for path in scripts)


def drills(scene: Scene) -> Iterator[Hit]:
    """Clusters whose recovery nobody has tried within a year."""
    with_machines = [each for each in scene.clusters if each.machines]
    recorded = scene.files.documents(DRILLS) if scene.files.is_file(DRILLS) else ()
    days: dict[str, list[tuple[datetime.date, Place]]] = {}
    for document in recorded:
        for number, each in enumerate(document.value if isinstance(document.value, list) else []):
            day = _day(dig(each, "day"))
            if day is not None:
                days.setdefault(str(dig(each, "cluster")), []).append((day, document.place(number)))
    for cluster in with_machines:
        last = max(days.get(cluster.name, []), default=None)
        if last is None:
            message, place = "no recovery of this cluster is on record", cluster.place
        elif (scene.today - last[0]).days > _DRILL_AGE:
            message, place = f"its last recovery on record is of {last[0]}", last[1]
        else:
            continue
        yield Hit(message=message, place=place, clusters=(cluster.name,), key=f"drill of {cluster.name}")


def expired_overrides(scene: Scene) -> Iterator[Hit]:
    """Overrides that stand longer than they were meant to."""
    for item in scene.items:
        said = dig(item.value, "metadata", "annotations", UNTIL)
        day = _day(said)
        if day is not None and day < scene.today:
            yield Hit(
                message=f"the override of {item.object.id} was to end on {day}",
                place=item.object.at("metadata", "annotations", UNTIL),
                clusters=(item.cluster,),
                component=item.component.name,
            )


def _day(text: object) -> datetime.date | None:
    try:
        return datetime.date.fromisoformat(str(text)[:10])
    except ValueError:
        return None
