"""What makes backups in a cluster: objects of tools that are made for it, charts, and jobs that people write."""

import calendar
import re
from collections.abc import Collection, Iterator
from typing import Any

from firstlight.commands.audit.wording import mentions
from firstlight.document import within
from firstlight.repo import chart_values
from firstlight.repo.platform_view import PlatformView

VOLUMES = (
    "velero.io/Schedule", "volsync.backube/ReplicationSource", "longhorn.io/RecurringJob", "k8up.io/Schedule",
    "config.kio.kasten.io/Policy", "stash.appscode.com/BackupConfiguration", "core.kubestash.com/BackupConfiguration",
    "snapscheduler.backube/SnapshotSchedule", "kopiur.home-operations.com/SnapshotSchedule",
    "backup.appuio.ch/Schedule", "dataprotection.kubeblocks.io/BackupSchedule", "gemini.fairwinds.com/SnapshotGroup",
)  # fmt: skip
"""Kinds whose objects copy volumes."""
DATABASES = ("postgresql.cnpg.io/ScheduledBackup", "k8s.mariadb.com/Backup", "k8s.mariadb.com/PhysicalBackup")
"""Kinds whose objects copy databases."""
_WHOLE = ("velero.io/Schedule", "k8up.io/Schedule", "config.kio.kasten.io/Policy")
"""Kinds that copy everything of their namespaces."""
_SNAPSHOT_POLICY = "kopiur.home-operations.com/SnapshotPolicy"
"""What a SnapshotSchedule of Kopiur names has the volumes."""
_SELECTS = re.compile(r"selector|\$\{", re.IGNORECASE)
"""How volumes are chosen where they are not named, or not known."""
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


def copy_volumes(scene: PlatformView, cluster: str) -> bool:
    """Whether anything in a cluster copies volumes."""
    if any(True for _ in scene.of_cluster(cluster, *VOLUMES)):
        return True
    if any(
        chart_values.chart_name(each) in _CHARTS
        for one in scene.platform.components_of(cluster)
        for each in chart_values.charts_of(one)
    ):
        return True
    return any(mentions(each, _COPIES) for each in _written(scene, cluster))


def copy_databases(scene: PlatformView, cluster: str) -> bool:
    """Whether anything in a cluster dumps databases, or copies whole namespaces with their volumes."""
    if any(True for _ in scene.of_cluster(cluster, *_WHOLE)):
        return True
    return any(mentions(each, _DUMPS) for each in _written(scene, cluster))


def copy_volume(scene: PlatformView, cluster: str, namespace: str, names: Collection[str]) -> bool:
    """Whether anything may copy the volumes of one workload.

    Args:
        scene: Where to look.
        cluster: Its cluster.
        namespace: Its namespace.
        names: How the workload and its claims are called; claims of operators begin so.
    """
    named = re.compile("|".join(re.escape(each) for each in names) or r"(?!)")
    for item in scene.of_cluster(cluster, *VOLUMES, _SNAPSHOT_POLICY):
        if item.object.id.group == "longhorn.io":
            if within.at(item.value, "spec", "task") == "backup":
                return True  # of all volumes, unless those are told apart by groups
            continue
        is_near = item.object.id.namespace == namespace or "$" in item.object.id.namespace
        if is_near and any(mentions(item.value.get("spec"), each) for each in (_SELECTS, named)):
            return True
    return False


def copy_etcd(scene: PlatformView, cluster: str) -> bool:
    """Whether anything in a cluster makes snapshots of its etcd."""
    named = any(_ETCD.search(each.name) for each in scene.platform.components_of(cluster))
    return named or any(mentions(each, _ETCD) for each in _written(scene, cluster))


def script_copies_etcd(scene: PlatformView) -> bool:
    """Whether a script or a workflow of the repo makes snapshots: how often it runs is not known."""
    return any(_ETCD.search(scene.files.text(path) or "") for path in scene.files.files if _SCRIPTS.search(path))


def _written(scene: PlatformView, cluster: str) -> Iterator[Any]:
    """Jobs as they are applied, and what charts are given that make some."""
    yield from (each.value for each in scene.of_cluster(cluster, *_JOBS))
    for component in scene.platform.components_of(cluster):
        yield from (layer.value for layer in scene.values(component))


# Whether a cron expression ever fires.


_SHORTHANDS = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
_MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_abbr) if name}
_DAYS = {name.lower(): number for number, name in enumerate(("Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"))}
_PART = re.compile(r"(?P<from>\*|\?|[a-z0-9]+)(?:-(?P<to>[a-z0-9]+))?(?:/(?P<step>\d+))?", re.IGNORECASE)
_LIMITS = {"second": (0, 59), "minute": (0, 59), "hour": (0, 23), "day": (1, 31), "month": (1, 12), "weekday": (0, 7)}
_LONGEST = {2: 29, 4: 30, 6: 30, 9: 30, 11: 30}


def cron_problem(expression: str, has_seconds: bool = False) -> str:
    """Why an expression never fires; empty if it does.

    Args:
        expression: As it is written.
        has_seconds: Whether the first of six fields is seconds, as CloudNativePG has it.
    """
    text = re.sub(r"^(?:CRON_)?TZ=\S+\s+", "", expression.strip())
    if text.startswith("@"):
        is_known = text in _SHORTHANDS or re.fullmatch(r"@every \S+", text)
        return "" if is_known else f"{text} is no shorthand of cron"
    fields = text.split()
    names = [*(["second"] if has_seconds else []), "minute", "hour", "day", "month", "weekday"]
    if has_seconds and len(fields) == len(names) - 1:
        fields.append("*")  # the day of the week may be left out there
    if len(fields) != len(names):
        return f"its schedule has {len(fields)} fields instead of {len(names)}"
    found: dict[str, set[int]] = {}
    for name, field in zip(names, fields, strict=True):
        values = _values(name, field)
        if not values:
            return f"{field} is no {name}"
        found[name] = values
    is_any_weekday = fields[-1] in ("*", "?")
    fits = any(min(found["day"]) <= _LONGEST.get(month, 31) for month in found["month"])
    # Where both are given, either of them is enough.
    return "" if fits or not is_any_weekday else "no month has such a day"


def _values(name: str, field: str) -> set[int]:
    """The numbers that a field means; none where it cannot be read."""
    low, high = _LIMITS[name]
    found: set[int] = set()
    for part in field.split(","):
        match = _PART.fullmatch(part)
        if match is None:
            return set()
        step = int(match["step"] or 1)
        if match["from"] in ("*", "?"):
            first, last = low, high
        else:
            first = _number(name, match["from"])
            last = _number(name, match["to"]) if match["to"] else high if match["step"] else first
        if step < 1 or not low <= first <= last <= high:
            return set()
        found.update(range(first, last + 1, step))
    return found


def _number(name: str, text: str) -> int:
    if text.isdecimal():
        return int(text)
    return {"month": _MONTHS, "weekday": _DAYS}.get(name, {}).get(text.lower()[:3], -1)
