"""Which path a change takes, and what each of them does.

Each module of a path has a ``WAY``; that of the network's upgrade also tells whether a change is one: ``cni.is_one``.
"""

from typing import assert_never

from firstlight.commands.change import gitops_path, hybrid_path
from firstlight.commands.change.bootstrap import bootstrap_path
from firstlight.commands.change.change_record import ChangePath
from firstlight.commands.change.cni import cni_path
from firstlight.commands.change.moves import move_path
from firstlight.commands.change.ongoing_change import PathStages
from firstlight.commands.decide.decide import Decided
from firstlight.model.component import Side


def chosen(decided: Decided, *, is_expedited: bool) -> ChangePath:
    """The path of a change: that of its side, but an emergency, the network's upgrade and a move have their own."""
    if cni_path.is_one(decided):
        return ChangePath.CNI
    if move_path.is_move(decided.before.platform, decided.after.platform):
        return ChangePath.MOVE
    match decided.decision.side:
        case Side.BOOTSTRAP:
            return ChangePath.BOOTSTRAP
        case Side.HYBRID:
            return ChangePath.HYBRID
        case _:
            return ChangePath.EXPEDITED if is_expedited else ChangePath.GITOPS


def way(path: ChangePath) -> PathStages:
    """What a path does; an emergency's is the usual one of Git, once it is merged."""
    match path:
        case ChangePath.BOOTSTRAP:
            return bootstrap_path.BOOTSTRAP_PATH
        case ChangePath.HYBRID:
            return hybrid_path.HYBRID_PATH
        case ChangePath.CNI:
            return cni_path.CNI_PATH
        case ChangePath.MOVE:
            return move_path.WAY
        case ChangePath.GITOPS | ChangePath.EXPEDITED:
            return gitops_path.GITOPS_PATH
        case _:
            assert_never(path)
