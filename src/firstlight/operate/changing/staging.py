"""A change of several clusters, one after the other: each has its turn when those before it have passed."""

from firstlight.model.change_record import ChangePath
from firstlight.model.cluster import Cluster
from firstlight.operate.changing import committing, parts, publishing
from firstlight.operate.changing.carrying import Carrying
from firstlight.operate.changing.stepping import step
from firstlight.report import change_message


async def commit(carrying: Carrying, number: int) -> None:
    """The commit of a part: all of the change where there is only one, else its files on what is merged by now."""
    record, clone = carrying.record, publishing.clone_of(carrying)
    part = record.parts[number]
    if part.commit:
        return
    title = f"commit the part of {part.cluster} on {part.branch}"
    async with step(carrying.keeper, f"git:commit:{part.cluster}", title=title, cluster=part.cluster) as told:
        made = await committing.made(clone, part.branch, record.id)
        if not made:
            tip = await clone.fetched()
            message = change_message.message(record, part=part.cluster)
            async with clone.own.beside(clone.root, tip) as tree:
                await clone.own.take(tree, record.commit, clone.inside(part.files))
                made = await clone.own.commit(tree, message, files=None)
                await clone.own.put_branch(clone.root, part.branch, made)
        told.says = f"{made[:12]} has {len(part.files)} file{'' if len(part.files) == 1 else 's'}"
        publishing.put(carrying, number, commit=made)


def shared(carrying: Carrying, number: int) -> tuple[str, ...]:
    """Files of a part that reach several of the clusters with one commit."""
    reached = parts.reached(carrying.decided.decision)
    return parts.shared(carrying.record.parts[number].files, reached, carrying.clusters)


def to_hold(carrying: Carrying, number: int) -> tuple[Cluster, ...]:
    """The later clusters that files of a part reach as well, in which what it touches has to rest."""
    if carrying.path is ChangePath.BOOTSTRAP:
        return ()  # no engine gets anything of it
    files = shared(carrying, number)
    reached = parts.reached(carrying.decided.decision)
    names = {name for each in files for name in reached[each]}
    return tuple(each for each in carrying.clusters[1:] if each.name in names and each.engine is not None)
