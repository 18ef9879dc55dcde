"""Which path a change takes, and what each of them does.

Each module of a path has a ``WAY``; that of the network's upgrade also tells whether a change is one: ``cni.is_one``.
"""

from typing import assert_never

from firstlight.model.change_record import ChangePath
from firstlight.model.component import Side
from firstlight.operate.changing.carrying import Way
from firstlight.operate.deciding.deciding import Decided


def chosen(decided: Decided, *, is_expedited: bool) -> ChangePath:
    """The path of a change: that of its side, but an emergency, the network's upgrade and a move have their own."""
    from firstlight.operate.changing import cni
    from firstlight.operate.moving import recognising

    if cni.is_one(decided):
        return ChangePath.CNI
    if recognising.is_one(decided.before.platform, decided.after.platform):
        return ChangePath.MOVE
    match decided.decision.side:
        case Side.BOOTSTRAP:
            return ChangePath.BOOTSTRAP
        case Side.HYBRID:
            return ChangePath.HYBRID
        case _:
            return ChangePath.EXPEDITED if is_expedited else ChangePath.GITOPS


def way(path: ChangePath) -> Way:
    """What a path does; an emergency's is the usual one of Git, once it is merged."""
    from firstlight.operate.changing import bootstrap, cni, gitops, hybrid
    from firstlight.operate.moving import way as moving

    match path:
        case ChangePath.BOOTSTRAP:
            return bootstrap.WAY
        case ChangePath.HYBRID:
            return hybrid.WAY
        case ChangePath.CNI:
            return cni.WAY
        case ChangePath.MOVE:
            return moving.WAY
        case ChangePath.GITOPS | ChangePath.EXPEDITED:
            return gitops.WAY
        case _:
            assert_never(path)
