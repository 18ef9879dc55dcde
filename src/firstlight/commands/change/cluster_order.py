"""In which order clusters get a change, and what of it is merged for each."""

import re
from collections.abc import Iterable, Mapping, Sequence

from firstlight import errors
from firstlight.commands.change import publish
from firstlight.commands.change.change_record import ChangePart, ChangePath
from firstlight.commands.change.ongoing_change import OngoingChange
from firstlight.commands.change.record_store import recorded_step
from firstlight.model.cluster import Cluster
from firstlight.model.decision import Decision
from firstlight.model.platform import Platform

_EARLY = re.compile(r"(?:^|[-_.])(?:test|tests|testing|dev|develop|development|lab|sandbox|canary|staging|stage|qa)"
                    r"(?:$|[-_.0-9])")  # fmt: skip
"""Names of clusters that are there to find out."""
_LATE = re.compile(r"(?:^|[-_.])(?:prod|production|live)(?:$|[-_.0-9])")


def reached_clusters(decision: Decision) -> dict[str, set[str]]:
    """The clusters that each file of a change reaches."""
    found: dict[str, set[str]] = {}
    for item in decision.items:
        change = item.change
        clusters = {*item.clusters, *(each.cluster for each in item.touched)} - {""}
        for path in {change.place.path, change.old_path} - {""}:
            found.setdefault(path, set()).update(clusters)
    return found


def ordered_clusters(
    decision: Decision, platform: Platform, *, only: Sequence[str] = (), order: Sequence[str] = ()
) -> tuple[Cluster, ...]:
    """The clusters that a change reaches: those that are there to find out first, then as they are declared.

    Args:
        decision: The change.
        platform: As it is after it.
        only: Names of those that are meant; all if it is empty.
        order: Names that come first, in this order.

    Raises:
        errors.UsageError: There is no such cluster, or the change does not reach it.
    """
    names = {name for clusters in reached_clusters(decision).values() for name in clusters}
    known = {each.name for each in platform.clusters}
    for each in (*only, *order):
        if each not in known:
            hint = f"There is {', '.join(sorted(known))}." if known else ""
            raise errors.UsageError(f"there is no cluster {each}", hint=hint)
        if each not in names:
            hint = f"It reaches {', '.join(sorted(names))}." if names else "It reaches none."
            raise errors.UsageError(f"the change does not reach the cluster {each}", hint=hint)
    found = [each for each in platform.clusters if each.name in names and (not only or each.name in only)]
    return tuple(sorted(found, key=lambda each: (_turn(each.name, order), _rank(each))))


def divided_parts(
    files: Iterable[str], reached: Mapping[str, set[str]], clusters: Sequence[Cluster], *, branch: str
) -> tuple[ChangePart, ...]:
    """What is merged for each cluster: first what is for no single one, and with it what is for the first.

    Args:
        files: All of the change.
        reached: The clusters that each of them reaches.
        clusters: In their order.
        branch: Of all of it; where it is divided, the branches of its parts are named after it.
    """
    names = [each.name for each in clusters]
    later: dict[str, list[str]] = {}
    first: list[str] = []
    for file in files:
        mine = reached.get(file, set()) & set(names)
        own = next(iter(mine)) if len(mine) == 1 else ""
        if own and own != names[0]:
            later.setdefault(own, []).append(file)
        else:
            first.append(file)
    if not later:
        return (ChangePart(files=tuple(first), branch=branch),)
    parts = [(names[0], first), *((name, later[name]) for name in names if name in later)]
    return tuple(ChangePart(cluster=name, files=tuple(mine), branch=f"{branch}-{name}") for name, mine in parts if mine)


def shared_files(files: Iterable[str], reached: Mapping[str, set[str]], clusters: Sequence[Cluster]) -> tuple[str, ...]:
    """Files that reach several of the clusters at once."""
    names = {each.name for each in clusters}
    return tuple(each for each in files if len(reached.get(each, set()) & names) > 1)


def _turn(name: str, order: Sequence[str]) -> int:
    return order.index(name) if name in order else len(order)


def _rank(cluster: Cluster) -> int:
    words = f"{cluster.name} {cluster.role}".lower().replace(" ", "-")
    return 0 if _EARLY.search(words) else 2 if _LATE.search(words) else 1


# A change of several clusters, one after the other: each has its turn when those before it have passed.


async def commit_part(carrying: OngoingChange, number: int) -> None:
    """The commit of a part: all of the change where there is only one, else its files on what is merged by now."""
    record, clone = carrying.record, publish.clone_of(carrying)
    part = record.parts[number]
    if part.commit:
        return
    title = f"commit the part of {part.cluster} on {part.branch}"
    async with recorded_step(carrying.keeper, f"git:commit:{part.cluster}", title=title, cluster=part.cluster) as told:
        made = await publish.existing_commit(clone, part.branch, record.id)
        if not made:
            tip = await clone.fetched()
            message = publish.commit_message(record, part=part.cluster)
            async with clone.own.beside(clone.root, tip) as tree:
                await clone.own.take(tree, record.commit, clone.inside(part.files))
                made = await clone.own.commit(tree, message, files=None)
                await clone.own.put_branch(clone.root, part.branch, made)
        told.says = f"{made[:12]} has {len(part.files)} file{'' if len(part.files) == 1 else 's'}"
        publish.put(carrying, number, commit=made)


def shared_files_of_part(carrying: OngoingChange, number: int) -> tuple[str, ...]:
    """Files of a part that reach several of the clusters with one commit."""
    reached = reached_clusters(carrying.decided.decision)
    return shared_files(carrying.record.parts[number].files, reached, carrying.clusters)


def clusters_to_hold(carrying: OngoingChange, number: int) -> tuple[Cluster, ...]:
    """The later clusters that files of a part reach as well, in which what it touches has to rest."""
    if carrying.path is ChangePath.BOOTSTRAP:
        return ()  # no engine gets anything of it
    files = shared_files_of_part(carrying, number)
    reached = reached_clusters(carrying.decided.decision)
    names = {name for each in files for name in reached[each]}
    return tuple(each for each in carrying.clusters[1:] if each.name in names and each.engine is not None)
