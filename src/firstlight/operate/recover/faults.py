"""The scenarios of drills: what can be broken in a lab on purpose, and the option that must repair it."""

from collections.abc import Mapping

from firstlight.model.component import Phase
from firstlight.operate.recover import machine_faults, object_faults
from firstlight.operate.recover.fault import Fault, Ground


async def _files(ground: Ground) -> str:
    for name in ("kubeconfig", "talosconfig"):
        (ground.means.state / ground.cluster.name / name).unlink(missing_ok=True)
    return ""


async def _talosconfig(ground: Ground) -> str:
    (ground.means.state / ground.cluster.name / "talosconfig").unlink(missing_ok=True)
    return ""


FAULTS: Mapping[str, Fault] = {
    each.id: each
    for each in (
        Fault(id="kubeconfig", what="kubeconfig and talosconfig are lost", how="both files deleted",
              option="kubeconfig", make=_files),
        Fault(id="talosconfig", what="the talosconfig is lost", how="the file deleted", option="talosconfig",
              make=_talosconfig),
        Fault(id="foundation", what="a foundation secret is gone", how="the Secret deleted", option="rerun",
              make=object_faults.foundation, check=object_faults.check_foundation),
        Fault(id="dns", what="cluster DNS is gone", how="its Deployment deleted; before the handover", option="rerun",
              make=object_faults.names, check=object_faults.check_names, until=Phase.CORE),
        Fault(id="api", what="the API server does not start", option="rerun", make=machine_faults.api_server,
              check=machine_faults.check_any,
              how="a value that it refuses, in the configs of all control planes"),
        Fault(id="pending-release", what="a Helm release is pending", option="pending-release",
              make=object_faults.pending_release,
              how="a revision more, left as by a Helm that was killed an hour ago; before the handover",
              until=Phase.CORE),
        Fault(id="cni", what="the network plugin is gone, and the engine with it", option="cni",
              make=object_faults.network, check=object_faults.check_network,
              how="the controllers of the engine and the DaemonSets of the CNI deleted"),
        Fault(id="engine", what="the engine is broken", how="one of its controllers deleted", option="engine",
              make=object_faults.engine, check=object_faults.check_engine),
        Fault(id="control-plane", what="a control-plane machine is lost", option="rebuild-machine",
              make=machine_faults.lost_machine, check=machine_faults.check_three, how="wiped, without leaving etcd"),
        Fault(id="quorum", what="etcd has lost its quorum", option="etcd-quorum", make=machine_faults.quorum,
              check=machine_faults.check_three,
              how="the power of most members cut, and what etcd had on their disks gone"),
        Fault(id="etcd", what="etcd's data is lost", option="etcd-restore", make=machine_faults.etcd_data,
              check=machine_faults.check_any,
              how="a snapshot taken, then the data of all members wiped"),
        Fault(id="everything", what="the whole cluster is lost", how="all machines wiped", option="rebuild",
              make=machine_faults.all_machines, check=machine_faults.check_any,
              untried="that the commit and the secrets alone are enough: secrets of a rehearsal are dummies"),
    )
}  # fmt: skip
"""All of them, by id."""
