"""etcd and the Kubernetes API: members, quorum, alarms, certificates, flags."""

import re
from collections.abc import Iterator

from firstlight.commands.doctor import symptoms
from firstlight.commands.doctor.symptoms import Symptom
from firstlight.document import conditions
from firstlight.gates import etcd, machine_stage
from firstlight.model.cluster import MachineRole
from firstlight.model.machine_report import EtcdData, MachineReport, MachineStanding
from firstlight.observe.cluster.observation import ClusterObservation, MachineObservation

_FLAGS = re.compile(r"unknown flag: \S+|invalid argument \".*\" for \"\S+\" flag|unrecognized feature gate: \S+")


def etcd_health(scene: ClusterObservation) -> Iterator[Symptom]:
    """Two clusters, no quorum, members that are missing or still learn; strangers among them."""
    seen = _planes(scene)
    reports = [each.report for each in seen]
    history = etcd.history(reports)
    if isinstance(history, etcd.SplitBrain):
        yield _told("etcd-split", "etcd", history.reason, seen, names=frozenset({symptoms.ETCD}))
        return
    if not any(each.etcd.data is EtcdData.SOME for each in reports):
        return  # never bootstrapped, or nobody tells
    yield from _quorum(seen, scene)
    yield from _members(seen, scene)
    yield from _strangers(seen, scene)


def _planes(scene: ClusterObservation) -> list[MachineObservation]:
    mine = [each for each in scene.machines if each.machine.role is MachineRole.CONTROL_PLANE]
    return sorted(mine, key=lambda each: each.name)


def _is_voting(report: MachineReport) -> bool:
    sight = report.etcd
    is_running = report.standing is MachineStanding.OURS and sight.state == "Running" and bool(sight.member)
    return is_running and not sight.errors and sight.member not in sight.learners


def _quorum(seen: list[MachineObservation], scene: ClusterObservation) -> Iterator[Symptom]:
    voting = {member for each in seen for member in each.report.etcd.members}
    voting -= {member for each in seen for member in each.report.etcd.learners}
    total = len(voting) or len(seen)
    well = [each for each in seen if _is_voting(each.report)]
    leader = any(each.report.etcd.leader for each in well)
    if len(well) >= total // 2 + 1 and leader:
        return
    if len(well) >= total // 2 + 1 and not any(each.report.etcd.leader for each in seen):
        why = "none of its members knows a leader"
    else:
        why = f"{len(well)} of {total} members are well, and {total // 2 + 1} are needed"
    sick = [f"{each.name} {machine_stage.state_of(each.report)}" for each in seen if not _is_voting(each.report)]
    yield _told(
        "etcd-no-quorum",
        "etcd",
        f"etcd has no quorum: {why}" + (f"; {'; '.join(sick[:3])}" if sick else ""),
        seen,
        names=frozenset({symptoms.ETCD}),
        needs=symptoms.names((f"machine {each.name}" for each in seen if not _is_voting(each.report)), symptoms.TIME),
    )


def _members(seen: list[MachineObservation], scene: ClusterObservation) -> Iterator[Symptom]:
    for each in seen:
        sight, report = each.report.etcd, each.report
        if report.standing is not MachineStanding.OURS:
            continue
        changed = next((one.last_change for one in each.services if one.id == "etcd"), None)
        is_long = changed is None or changed >= scene.patience
        if sight.member and sight.member in sight.learners and is_long:
            message = f"etcd on {each.name} still learns, and does not vote: it does not keep up with the leader"
            yield _told(
                "etcd-learner",
                f"etcd on {each.name}",
                message,
                [each],
                needs=frozenset({symptoms.ETCD, f"machine {each.name}"}),
            )
        elif (not sight.member or sight.state not in ("Running", "")) and report.stage == "running" and is_long:
            state = f" (its service is {sight.state})" if sight.state else ""
            message = (
                f"{each.name} is a control plane and no working member of etcd{state}: the next failure may be too many"
            )
            yield _told(
                "etcd-member-missing",
                f"etcd on {each.name}",
                message,
                [each],
                needs=frozenset({f"machine {each.name}", symptoms.ETCD, symptoms.TIME}),
            )


def _strangers(seen: list[MachineObservation], scene: ClusterObservation) -> Iterator[Symptom]:
    """Members of machines that are gone: they count for the quorum, and never vote."""
    known = {each.name for each in scene.cluster.machines} | {each.report.etcd.member for each in seen}
    addresses = {each.address for each in scene.cluster.machines if each.address}
    if not scene.cluster.machines:
        return
    for member in scene.members:
        hosts = set(re.findall(r"//\[?([0-9a-fA-F.:]+?)\]?:\d+", " ".join(member.peer_urls)))
        if member.id in known or member.hostname in known or hosts & addresses:
            continue
        near = next((each for each in seen if each.report.standing is MachineStanding.OURS), None)
        at = near.machine.address if near else "ADDRESS"
        yield symptoms.symptom(
            code="etcd-stranger",
            subject=f"etcd member {member.hostname or member.id}",
            message=f"etcd has the member {member.hostname or member.id}, "
            "which is no declared machine and still counts",
            evidence=(
                symptoms.evidence("etcd members", f"{member.id} {member.hostname} {' '.join(member.peer_urls)}"),
            ),
            next=(
                symptoms.command(f"talosctl -n {at} etcd remove-member {member.id}", "once it is sure that it is gone"),
            ),
        )


def _told(
    code: str,
    subject: str,
    message: str,
    seen: list[MachineObservation],
    *,
    names: frozenset[str] = frozenset(),
    needs: frozenset[str] = frozenset(),
) -> Symptom:
    near = next((each for each in seen if each.report.standing is MachineStanding.OURS), None)
    address = near.machine.address if near else ""
    shown = tuple(
        symptoms.evidence(
            f"etcd on {each.name}",
            each.report.etcd.errors or each.report.etcd.state or machine_stage.state_of(each.report),
        )
        for each in seen[:3]
    )
    verb = "service etcd" if code == "etcd-member-missing" else "etcd status"
    next_one = symptoms.command(f"talosctl -n {address} {verb}", "what it says of itself") if address else None
    return symptoms.symptom(
        code=code,
        subject=subject,
        message=message,
        evidence=shown,
        next=(next_one,) if next_one else (),
        names=names,
        needs=needs,
    )


def etcd_alarms(scene: ClusterObservation) -> Iterator[Symptom]:
    """Alarms of etcd: with NOSPACE it takes no writes any more."""
    kinds = sorted({each.alarm for each in scene.alarms})
    for kind in kinds:
        mine = [each for each in scene.alarms if each.alarm == kind]
        node = mine[0].node
        is_full = kind == "NOSPACE"
        message = (
            "etcd has used up its space and takes no writes any more"
            if is_full
            else f"etcd has raised the alarm {kind}"
        )
        steps = ("defrag", "alarm disarm") if is_full else ("alarm list",)
        yield symptoms.symptom(
            code="etcd-nospace" if is_full else "etcd-alarm",
            subject="etcd",
            message=message,
            evidence=tuple(
                symptoms.evidence(f"etcd on {each.node}, alarms", f"{each.alarm} of {each.member}") for each in mine[:3]
            ),
            next=tuple(symptoms.command(f"talosctl -n {node} etcd {step}") for step in steps),
            names=frozenset({symptoms.ETCD}),
        )


def api(scene: ClusterObservation) -> Iterator[Symptom]:
    """The API: certificates that have expired, another cluster's, not reached, not ready."""
    sight, name = scene.api, "Kubernetes API"
    for code, until, whose in (
        ("kubeconfig-expired", sight.kubeconfig_until, "of the kubeconfig"),
        ("api-certificate-expired", sight.serving_until, "that the API serves under"),
    ):
        if until is not None and until < scene.now:
            renew = ("talosctl kubeconfig", "a new one")
            if code != "kubeconfig-expired":
                renew = ("talosctl logs controller-runtime", "why Talos has not renewed it")
            yield symptoms.symptom(
                code=code,
                subject=name,
                message=f"the certificate {whose} has expired",
                evidence=(symptoms.of_end(name, until),),
                next=(symptoms.command(*renew),),
                since=until,
                names=frozenset({"way to the API"}),
                needs=frozenset({symptoms.TIME}),
            )
    if sight.is_reached is False:
        yield _unreached(scene)
    elif sight.failed_checks:
        yield symptoms.symptom(
            code="api-not-ready",
            subject=name,
            message=f"the API answers and is not ready: {conditions.said(', '.join(sight.failed_checks))}",
            evidence=tuple(symptoms.evidence("/readyz", each) for each in sight.failed_checks[:3]),
            next=(symptoms.command("kubectl get --raw '/readyz?verbose'", "every check"),),
            names=frozenset({symptoms.API}),
            needs=frozenset({symptoms.ETCD, symptoms.TIME, "API flags"}),
        )


def _unreached(scene: ClusterObservation) -> Symptom:
    why = scene.api.why
    code, message = "api-unreachable", f"the Kubernetes API is not reached: {conditions.said(why) or 'no answer'}"
    if scene.api.is_foreign:
        code, message = "api-foreign", "what answers at the address of the API has a certificate of another cluster"
    elif scene.api.is_refused:
        code, message = "kubeconfig-refused", "the API does not accept the credentials of the kubeconfig"
    planes = _planes(scene)
    ours = next((each for each in planes if each.report.standing is MachineStanding.OURS), None)
    next_one = (
        symptoms.command(f"talosctl -n {ours.machine.address} containers -k", "whether kube-apiserver runs")
        if ours is not None
        else symptoms.command("kubectl get --raw /readyz", "whether it answers now")
    )
    return symptoms.symptom(
        code=code,
        subject="Kubernetes API",
        message=message,
        evidence=(symptoms.evidence("Kubernetes API", why or "no answer"),),
        next=(next_one,),
        names=frozenset({symptoms.API}),
        needs=symptoms.names(
            symptoms.ETCD,
            symptoms.TIME,
            "way to the API",
            "API flags",
            (f"machine {each.name}" for each in planes),
        ),
    )


def api_flags(scene: ClusterObservation) -> Iterator[Symptom]:
    """An API server that does not start, since it does not know a flag that it is given."""
    told = [(key, lines) for key, lines in scene.logs.items() if "kube-apiserver" in key]
    told += [(f"machine {each.name}, dmesg", each.dmesg) for each in scene.machines]
    for where, lines in sorted(told):
        for line in reversed(lines):
            match = _FLAGS.search(line)
            if match and ("kube-apiserver" in where or "kube-apiserver" in line):
                yield symptoms.symptom(
                    code="apiserver-flags",
                    subject="kube-apiserver",
                    message=f"kube-apiserver does not start: {match[0]}; "
                    "cluster.apiServer of the machine config says so",
                    evidence=(symptoms.evidence(f"log of {where}", line),),
                    next=(symptoms.command("firstlight audit", "which file says so"),),
                    names=frozenset({"API flags"}),
                )
                return
