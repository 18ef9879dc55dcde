"""What is backed up of clusters besides their databases: volumes and etcd, and who is told when that fails."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.document.within import at, sequence
from firstlight.model.finding import Evidence
from firstlight.policy.auditing import backup_tools, charts, listing
from firstlight.policy.auditing.chart_values import Layer
from firstlight.policy.auditing.hit import Hit
from firstlight.policy.auditing.mentioning import mentions
from firstlight.policy.auditing.scene import Item, Scene

_ALERTS = ("monitoring.coreos.com/PrometheusRule", "operator.victoriametrics.com/VMRule")
_BACKUP = re.compile(r"backup|velero|volsync|barman|pgbackrest|k8up|cnpg_collector_last|restic", re.IGNORECASE)
_RULES = (("metrics", "prometheusRule", "enabled"), ("prometheusRule", "enabled"), ("monitoring", "enabled"))
"""Values by which charts bring alerts on what they do."""
_EXCLUDED = "velero.io/exclude-from-backup"
"""The label by which Velero leaves something out: somebody has decided that it can be lost."""
_MOST = 5
_DEEPEST = 30


def volumes(scene: Scene) -> Iterator[Hit]:
    """Clusters with volumes that Git declares, where nothing backs up volumes."""
    for cluster in scene.clusters:
        found = scene.of_cluster(cluster.name, "/PersistentVolumeClaim", "apps/StatefulSet")
        claims = [each for each in found if _has_volumes(each)]
        if claims and not backup_tools.copy_volumes(scene, cluster.name):
            names = listing.listed((str(each.object.id) for each in claims), _MOST)
            yield Hit(
                message=f"nothing backs up volumes, and Git declares {len(claims)}: {names}",
                place=claims[0].object.place,
                clusters=(cluster.name,),
                evidence=tuple(Evidence(str(each.object.id), each.object.place) for each in claims[:_MOST]),
                key=f"volumes of {cluster.name}",
            )


def _has_volumes(item: Item) -> bool:
    if at(item.value, "metadata", "labels", _EXCLUDED) == "true":
        return False
    return item.object.id.kind != "StatefulSet" or bool(sequence(item.value, "spec", "volumeClaimTemplates"))


def no_alert(scene: Scene) -> Iterator[Hit]:
    """Backups that can fail for months without anybody being told."""
    for cluster in scene.clusters:
        backups = list(scene.of_cluster(cluster.name, *backup_tools.VOLUMES, *backup_tools.DATABASES))
        if backups and not _is_alerted(scene, cluster.name):
            yield Hit(
                message="backups are made, and no alert rule tells when one fails",
                place=backups[0].object.place,
                clusters=(cluster.name,),
                component=backups[0].component.name,
                evidence=tuple(Evidence(str(each.object.id), each.object.place) for each in backups[:_MOST]),
                key=f"backups of {cluster.name}",
            )


def _is_alerted(scene: Scene, cluster: str) -> bool:
    """Whether a rule speaks of backups, as an object or in the values of a chart that makes one."""
    if any(mentions(each.value.get("spec"), _BACKUP) for each in scene.of_cluster(cluster, *_ALERTS)):
        return True
    return any(
        _brings_alerts(layer)
        for component in scene.platform.components_of(cluster)
        for layer in scene.values(component)
    )


def _brings_alerts(layer: Layer) -> bool:
    is_backups = bool(_BACKUP.search(charts.name(layer.chart)))
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


def etcd(scene: Scene) -> Iterator[Hit]:
    """Clusters of Talos machines whose etcd nothing snapshots."""
    for cluster in scene.clusters if not backup_tools.script_copies_etcd(scene) else ():
        is_saved = backup_tools.copy_etcd(scene, cluster.name) or _omni_copies_etcd(scene, cluster.omni_template)
        if is_saved or not cluster.machines:
            continue
        yield Hit(
            message="nothing in the repo makes snapshots of etcd",
            place=cluster.place,
            clusters=(cluster.name,),
            key=f"etcd of {cluster.name}",
        )


def _omni_copies_etcd(scene: Scene, template: str) -> bool:
    """Whether Omni makes them itself, as its template may say."""
    documents = scene.files.documents(template) if template else ()
    return any(at(each.value, "features", "backupConfiguration") for each in documents)
