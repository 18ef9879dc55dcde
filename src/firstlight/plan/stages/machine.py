"""Machines are configured, etcd is bootstrapped once, the API answers."""

from firstlight.model.cluster import MachineRole
from firstlight.model.component import Phase
from firstlight.model.plan import Action, Gate, Step, StepNeed, Subject, Tie
from firstlight.plan import ground
from firstlight.plan.ground import Ground


def steps(known: Ground) -> list[Step]:
    """The steps of the phase; without machines it is only the way to an API that is there already."""
    cluster = known.facts.cluster
    found: list[Step] = []
    if cluster.omni_template:
        found += _omni(known)
    elif cluster.machines:
        found += _talos(known)
    needs = (StepNeed(found[-1].id, "there is no API before", Tie.RUN),) if found else ()
    kubeconfig = Step(
        id=ground.KUBECONFIG, phase=Phase.MACHINE, action=Action.FETCH_KUBECONFIG, name="kubeconfig",
        what=cluster.network.endpoint, needs=needs, gates=(Gate(Subject.API),), place=cluster.place,
    )  # fmt: skip
    return [*found, kubeconfig]


def _talos(known: Ground) -> list[Step]:
    """Control planes and workers are configured at the same time; etcd waits for control planes only."""
    machines = known.facts.cluster.machines
    found = []
    for step, role, noun in (
        (ground.CONTROL_PLANES, MachineRole.CONTROL_PLANE, "control plane"),
        (ground.WORKERS, MachineRole.WORKER, "worker"),
    ):
        mine = [each for each in machines if each.role == role]
        if mine:
            name = f"{len(mine)} {noun}{'s' if len(mine) > 1 else ''}"
            configure = Step(
                id=step, phase=Phase.MACHINE, action=Action.CONFIGURE, name=name,
                targets=tuple(each.name for each in mine), gates=(Gate(Subject.MACHINES),), place=mine[0].place,
            )  # fmt: skip
            found.append(configure)
    first = next((each for each in machines if each.role == MachineRole.CONTROL_PLANE), machines[0])
    why = "every control plane must answer before one of them is bootstrapped"
    needs = tuple(StepNeed(each.id, why, Tie.RUN) for each in found if each.id == ground.CONTROL_PLANES)
    etcd = Step(
        id=ground.ETCD, phase=Phase.MACHINE, action=Action.BOOTSTRAP_ETCD, name="etcd", targets=(first.name,),
        what=f"on {first.name}, once", needs=needs, gates=(Gate(Subject.ETCD),),
        place=first.place,
    )  # fmt: skip
    return [*found, etcd]


def _omni(known: Ground) -> list[Step]:
    """Omni configures machines and bootstraps etcd itself."""
    cluster = known.facts.cluster
    count = len(cluster.machines)
    machines = f"{count} machine{'' if count == 1 else 's'}" if count else "machines of a class"
    template = Step(
        id=ground.TEMPLATE, phase=Phase.MACHINE, action=Action.SYNC_TEMPLATE, name="Omni template",
        targets=tuple(each.name for each in cluster.machines), gates=(Gate(Subject.MACHINES), Gate(Subject.ETCD)),
        what=f"{machines}; Omni bootstraps etcd", place=cluster.place,
    )  # fmt: skip
    return [template]


def workers(known: Ground) -> str:
    """The step that brings workers; empty where there are none."""
    if not known.facts.workers:
        return ""
    return ground.TEMPLATE if known.facts.cluster.omni_template else ground.WORKERS
