"""What makes backups in a cluster: objects of tools that are made for it, charts, and jobs that people write."""

import re
from collections.abc import Iterator
from typing import Any

from firstlight.policy.auditing import charts
from firstlight.policy.auditing.mentioning import mentions
from firstlight.policy.auditing.scene import Scene

VOLUMES = (
    "velero.io/Schedule", "volsync.backube/ReplicationSource", "longhorn.io/RecurringJob", "k8up.io/Schedule",
    "config.kio.kasten.io/Policy", "stash.appscode.com/BackupConfiguration", "core.kubestash.com/BackupConfiguration",
    "snapscheduler.backube/SnapshotSchedule",
)  # fmt: skip
"""Kinds whose objects copy volumes."""
DATABASES = ("postgresql.cnpg.io/ScheduledBackup", "k8s.mariadb.com/Backup", "k8s.mariadb.com/PhysicalBackup")
"""Kinds whose objects copy databases."""
_WHOLE = ("velero.io/Schedule", "k8up.io/Schedule", "config.kio.kasten.io/Policy")
"""Kinds that copy everything of their namespaces."""
_CHARTS = frozenset({"velero", "k8up", "k10", "kasten"})
_COPIES = re.compile(r"\b(?:restic|kopia|rclone|borg(?:backup|matic)?)\b", re.IGNORECASE)
_DUMPS = re.compile(
    r"pg_?dump|postgres(?:ql)?-backup|pg-?backup|mysql-?dump|mariadb-(?:dump|backup)|db-backup|databack", re.IGNORECASE
)
_ETCD = re.compile(r"etcd[ -]+snapshot|talos-backup|etcd-backup|etcd_snapshot|etcdctl\s+snapshot", re.IGNORECASE)
_JOBS = ("batch/CronJob", "batch/Job", "apps/Deployment")
_SCRIPTS = re.compile(
    r"(?:^|/)(?:[^/]*(?:Taskfile|justfile|Makefile)[^/]*|[^/]*\.(?:just|sh|mk)|\.?mise\.toml)$"
    r"|(?:^|/)\.taskfiles/|(?:^|/)\.(?:github|gitea|forgejo)/workflows/"
)


def copy_volumes(scene: Scene, cluster: str) -> bool:
    """Whether anything in a cluster copies volumes."""
    if any(True for _ in scene.of_cluster(cluster, *VOLUMES)):
        return True
    if any(charts.name(each) in _CHARTS for one in scene.platform.components_of(cluster) for each in charts.of(one)):
        return True
    return any(mentions(each, _COPIES) for each in _written(scene, cluster))


def copy_databases(scene: Scene, cluster: str) -> bool:
    """Whether anything in a cluster dumps databases, or copies whole namespaces with their volumes."""
    if any(True for _ in scene.of_cluster(cluster, *_WHOLE)):
        return True
    return any(mentions(each, _DUMPS) for each in _written(scene, cluster))


def copy_etcd(scene: Scene, cluster: str) -> bool:
    """Whether anything in a cluster makes snapshots of its etcd."""
    named = any(_ETCD.search(each.name) for each in scene.platform.components_of(cluster))
    return named or any(mentions(each, _ETCD) for each in _written(scene, cluster))


def script_copies_etcd(scene: Scene) -> bool:
    """Whether a script or a workflow of the repo makes snapshots: how often it runs is not known."""
    return any(_ETCD.search(scene.files.text(path) or "") for path in scene.files.files if _SCRIPTS.search(path))


def _written(scene: Scene, cluster: str) -> Iterator[Any]:
    """Jobs as they are applied, and what charts are given that make some."""
    yield from (each.value for each in scene.of_cluster(cluster, *_JOBS))
    for component in scene.platform.components_of(cluster):
        yield from (layer.value for layer in scene.values(component))
