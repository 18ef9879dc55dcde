"""Patterns against clusters, and against what reference platforms do."""

import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator, Sequence

from firstlight.commands.audit import cluster_mesh, finding_words
from firstlight.commands.audit.rule_form import AuditPattern
from firstlight.commands.audit.rulebook import AuditRulebook
from firstlight.drawing import decision_words, table
from firstlight.model.cluster import Engine
from firstlight.model.component import Side, SourceForm
from firstlight.model.finding import Finding, Matrix, MatrixCell, MatrixRow, PatternStanding
from firstlight.repo.platform_view import PlatformView


def matrix(
    scene: PlatformView, book: AuditRulebook, found: Iterable[Finding], *, tried: Iterable[str], clusters: Sequence[str]
) -> Matrix:
    """The comparison.

    Args:
        scene: Tells to which clusters a pattern can apply.
        book: The patterns.
        found: All findings, excused ones included: an excuse does not make a cluster follow a pattern.
        tried: Ids of the rules that were run.
        clusters: The clusters that are compared.
    """
    known = frozenset(tried)
    by_rule: dict[str, list[Finding]] = {}
    for each in found:
        by_rule.setdefault(each.code, []).append(each)
    references = tuple(dict.fromkeys(name for each in book.patterns for name in each.references))
    rows = tuple(
        MatrixRow(
            pattern=each.id,
            title=each.title,
            cells=(
                *(_cell(each, scene, name, by_rule, known) for name in clusters),
                *(_reference(each, name) for name in references),
            ),
        )
        for each in book.patterns
    )
    return Matrix(columns=(*clusters, *references), references=len(references), rows=rows)


def _cell(
    pattern: AuditPattern, scene: PlatformView, cluster: str, by_rule: dict[str, list[Finding]], tried: frozenset[str]
) -> MatrixCell:
    answer = applicability(pattern.applies, scene, cluster)
    if answer.can_apply is False:
        return MatrixCell(standing=PatternStanding.NOT_APPLICABLE, why=answer.why)
    broken = [
        each
        for rule in pattern.rules
        for each in by_rule.get(rule, ())
        if not each.clusters or cluster in each.clusters
    ]
    if broken:
        rules = tuple(dict.fromkeys(each.code for each in broken))
        return MatrixCell(standing=PatternStanding.BREAKS, why=broken[0].message, rules=rules)
    if answer.can_apply is None:
        return MatrixCell(standing=PatternStanding.UNKNOWN, why=answer.why)
    if not any(rule in tried for rule in pattern.rules):
        return MatrixCell(standing=PatternStanding.UNKNOWN, why="none of its rules was tried")
    return MatrixCell(standing=PatternStanding.FOLLOWS)


def _reference(pattern: AuditPattern, name: str) -> MatrixCell:
    said = pattern.references.get(name)
    return MatrixCell(standing=PatternStanding(said)) if said else MatrixCell(standing=PatternStanding.UNKNOWN)


# The comparison as text: patterns down, clusters across, then references; below it why a cluster does not follow.


_TITLE = 30
"""Cells that a pattern's title has at least; where there are fewer, columns go to a table of their own."""
_GAP = "  "


def matrix_lines(found: Matrix, *, columns: int) -> list[str]:
    """The tables, what the marks mean, and the reasons."""
    told: list[str] = []
    for chosen in _chunks(found, columns):
        told += [*_table(found, chosen, columns), ""]
    legend = table.wrap(finding_words.LEGEND, columns) if table.width(finding_words.LEGEND) > columns else []
    told += legend or [finding_words.LEGEND]
    reasons = _reasons(found, columns)
    return [*told, "", *reasons] if reasons else told


def matrix_mark(cell: MatrixCell, *, is_reference: bool) -> str:
    """A cell in a sign."""
    if is_reference and cell.standing is PatternStanding.UNKNOWN:
        return finding_words.UNSAID
    return finding_words.STANDINGS[cell.standing]


def _chunks(found: Matrix, columns: int) -> Iterator[list[int]]:
    """Columns that fit beside the titles; all of them, if they do."""
    chosen: list[int] = []
    left = columns - _TITLE
    for number, name in enumerate(found.columns):
        cells = _width(name) + len(_GAP)
        if chosen and cells > left:
            yield chosen
            chosen, left = [], columns - _TITLE
        chosen.append(number)
        left -= cells
    if chosen or not found.columns:
        yield chosen


def _width(name: str) -> int:
    return max(3, table.width(decision_words.plain(name)))


def _table(found: Matrix, chosen: Sequence[int], columns: int) -> list[str]:
    names = [decision_words.plain(found.columns[n]) for n in chosen]
    first_reference = len(found.columns) - found.references
    taken = sum(_width(each) + len(_GAP) for each in names)
    longest = max((table.width(row.title) for row in found.rows), default=0)
    room = max(10, min(longest, columns - taken))
    told = [_line("", names, names, room)]
    for row in found.rows:
        marks = [matrix_mark(row.cells[n], is_reference=n >= first_reference) for n in chosen]
        first, *rest = table.wrap(decision_words.plain(row.title), room)
        told += [_line(first, marks, names, room), *(f"  {each}" for each in rest)]
    return told


def _line(title: str, cells: Sequence[str], names: Sequence[str], room: int) -> str:
    padded = [cell + " " * (_width(name) - table.width(cell)) for cell, name in zip(cells, names, strict=True)]
    return _GAP.join([title + " " * (room - table.width(title)), *padded]).rstrip()


def _reasons(found: Matrix, columns: int) -> list[str]:
    """Why clusters do not follow: the pattern once, then who, by which rules, and what the first of them says."""
    told: list[str] = []
    last = ""
    for title, names, rules, why in finding_words.broken_cells(found):
        if title != last:
            told += table.wrap(f"✘ {decision_words.plain(title)}", columns)
        last = title
        who = decision_words.plain(", ".join(names))
        told += [f"    {each}" for each in table.wrap(f"{who}: {decision_words.plain(why)}", columns - 4)]
        told += [f"      {each}" for each in table.wrap(", ".join(map(decision_words.plain, rules)), columns - 6)]
    return told


# To which clusters a pattern can apply: a function for each condition, named by patterns as ``applies``.


@dataclasses.dataclass(frozen=True, slots=True)
class Applicability:
    """Whether a pattern can apply to a cluster; None where nothing tells."""

    can_apply: bool | None
    why: str = ""


Condition = Callable[[PlatformView, str], Applicability]
YES = Applicability(True)


def applicability(name: str, scene: PlatformView, cluster: str) -> Applicability:
    """What a condition says of a cluster; without a name every pattern applies."""
    if not name:
        return YES
    found = CONDITIONS.get(name)
    return found(scene, cluster) if found is not None else Applicability(None, f"there is no condition {name}")


def several_clusters(scene: PlatformView, cluster: str) -> Applicability:
    """Whether there are others."""
    return YES if len(scene.clusters) > 1 else Applicability(False, "there is one cluster")


def bootstrap(scene: PlatformView, cluster: str) -> Applicability:
    """Whether the repo says how the cluster is brought up before GitOps."""
    if _has_bootstrap(scene, cluster):
        return YES
    return Applicability(None, "nothing in the repo says what bootstrap brings")


def crds(scene: PlatformView, cluster: str) -> Applicability:
    """Whether bootstrap brings charts, which may have CRDs."""
    brought = bootstrap(scene, cluster)
    if brought.can_apply is not True:
        return brought
    forms = {each.form for one in scene.platform.components_of(cluster) for each in one.halves[0]}
    charts = {
        SourceForm.HELMFILE,
        SourceForm.HELM_COMMAND,
        SourceForm.TOFU,
        SourceForm.INLINE_MANIFEST,
        SourceForm.EXTRA_MANIFEST,
        SourceForm.DECLARED,
    }
    return YES if forms & charts else Applicability(False, "bootstrap brings no charts")


def gitops(scene: PlatformView, cluster: str) -> Applicability:
    """Whether an engine reconciles the cluster."""
    found = scene.platform.cluster(cluster)
    return YES if found is not None and found.engine is not None else Applicability(None, "no engine follows the repo")


def cilium(scene: PlatformView, cluster: str) -> Applicability:
    """Whether the CNI is Cilium."""
    names = [each.name for each in scene.with_role("cni", cluster)]
    if not names:
        return Applicability(None, "nothing in the repo brings a CNI")
    return YES if any("cilium" in each for each in names) else Applicability(False, f"the CNI is {names[0]}")


def mesh(scene: PlatformView, cluster: str) -> Applicability:
    """Whether it is one of several clusters whose Cilium is prepared for a mesh."""
    several = several_clusters(scene, cluster)
    if several.can_apply is not True:
        return several
    members = [each.cluster for each in cluster_mesh.members(scene)]
    return YES if cluster in members else Applicability(False, "no ClusterMesh is configured for it")


def identity(scene: PlatformView, cluster: str) -> Applicability:
    """Whether there are others, and the repo says something of this one that must be its own."""
    several = several_clusters(scene, cluster)
    if several.can_apply is not True:
        return several
    if talos(scene, cluster).can_apply or cilium(scene, cluster).can_apply:
        return YES
    return Applicability(None, "the repo has neither its machines nor its CNI")


def talos(scene: PlatformView, cluster: str) -> Applicability:
    """Whether the repo has machine config of the cluster."""
    found = scene.platform.cluster(cluster)
    return YES if found is not None and found.parts else Applicability(None, "the repo has no machine config of it")


def talos_and_cilium(scene: PlatformView, cluster: str) -> Applicability:
    """Whether Talos and Cilium have something to agree about."""
    first = cilium(scene, cluster)
    return first if first.can_apply is not True else talos(scene, cluster)


def storage(scene: PlatformView, cluster: str) -> Applicability:
    """Whether there are several clusters, of which one has storage of its own."""
    several = several_clusters(scene, cluster)
    if several.can_apply is not True:
        return several
    kinds = ("ceph.rook.io/CephCluster", "longhorn.io/Node", "openebs.io/DiskPool")
    if any(True for _ in scene.of_kind(*kinds)) or any(True for _ in scene.with_role("storage")):
        return YES
    return Applicability(False, "no cluster has storage")


def load_balancers(scene: PlatformView, cluster: str) -> Applicability:
    """Whether Cilium or MetalLB hand out addresses."""
    kinds = ("cilium.io/CiliumLoadBalancerIPPool", "metallb.io/IPAddressPool")
    if any(True for _ in scene.of_cluster(cluster, *kinds)):
        return YES
    return Applicability(False, "it has no pools of addresses")


def databases(scene: PlatformView, cluster: str) -> Applicability:
    """Whether operators run databases."""
    kinds = (
        "postgresql.cnpg.io/Cluster", "mariadb.mmontes.io/MariaDB", "k8s.mariadb.com/MariaDB",
        "dragonflydb.io/Dragonfly", "acid.zalan.do/postgresql", "postgres-operator.crunchydata.com/PostgresCluster",
    )  # fmt: skip
    return YES if any(True for _ in scene.of_cluster(cluster, *kinds)) else Applicability(False, "it has no databases")


def data(scene: PlatformView, cluster: str) -> Applicability:
    """Whether there is something to lose: databases, volumes, or etcd on machines of the repo."""
    if databases(scene, cluster).can_apply or talos(scene, cluster).can_apply:
        return YES
    if any(True for _ in scene.of_cluster(cluster, "/PersistentVolumeClaim", "apps/StatefulSet")):
        return YES
    return Applicability(None, "the repo shows no data of it")


def hybrid(scene: PlatformView, cluster: str) -> Applicability:
    """Whether something has a half in bootstrap and one in GitOps."""
    for each in scene.platform.components_of(cluster):
        if each.side is Side.HYBRID or all(each.halves):
            return YES
    return Applicability(False, "nothing is brought by both sides")


def _engine(wanted: Engine, scene: PlatformView, cluster: str) -> Applicability:
    """Whether an engine of that name reconciles the cluster."""
    found = scene.platform.cluster(cluster)
    if found is None or found.engine is None:
        return Applicability(None, "no engine follows the repo")
    return YES if found.engine is wanted else Applicability(False, f"its engine is {found.engine}")


def _has_bootstrap(scene: PlatformView, cluster: str) -> bool:
    return any(each.halves[0] for each in scene.platform.components_of(cluster))


CONDITIONS: dict[str, Condition] = {each.value: functools.partial(_engine, each) for each in Engine}
CONDITIONS |= {
    each.__name__: each
    for each in (
        several_clusters, identity, bootstrap, crds, hybrid, gitops, talos, cilium, talos_and_cilium, mesh, storage,
        load_balancers, databases, data,
    )
}  # fmt: skip
