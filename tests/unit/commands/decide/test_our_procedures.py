"""Our own procedures: nothing is touched before it is approved, only commands that can work, and ways back that do."""

import re
from typing import Any

import pytest

from firstlight.commands.decide import rule_files
from firstlight.commands.decide.change_source import DecisionFacts
from firstlight.commands.decide.procedures import filled_steps
from firstlight.commands.decide.rule_form import STAGES, StepForm
from firstlight.model.decision import Decision
from tests.unit.commands.decide import repos

BOOK = rule_files.book()
EMERGENCIES = ("emergency-cluster", "emergency-override")
"""Where somebody's word by the quickest way has to do, before the review."""
OURS = [each for each in BOOK.procedures if each != "usual"]
WRITES = re.compile(
    r"firstlight (up|down|handover|node|override)\b(?!.*--(dry-run|check))|firstlight drift .*--correct|kubectl patch"
    r"|talosctl (upgrade|upgrade-k8s|patch|rollback|reset)\b(?!.*--dry-run)|omnictl"
    r"|flux (reconcile|suspend|resume)|argocd app set"
)


def steps(name: str, field: str = "steps") -> list[StepForm]:
    return sorted(filled_steps(BOOK.procedures[name], BOOK, field), key=lambda each: STAGES.index(each.stage))


def said(decision: Decision) -> str:
    return "\n".join(f"{each.command}  {each.text}" for each in decision.procedure)


def typed(decision: Decision) -> list[str]:
    return [each.command for each in decision.procedure if each.command]


def back(decision: Decision) -> list[str]:
    return [each.command for each in decision.rollback if each.command]


@pytest.mark.parametrize("name", [each for each in OURS if each not in EMERGENCIES])
def test_nothing_is_written_before_it_is_reviewed_and_approved(name: str) -> None:
    early = [each for each in steps(name) if STAGES.index(each.stage) <= STAGES.index("approve")]

    assert [each.command for each in early if WRITES.search(each.command)] == []


@pytest.mark.parametrize("name", OURS)
def test_every_procedure_asks_for_the_approval(name: str) -> None:
    asked = [each for each in steps(name) if each.stage == "approve" or each.command.endswith("--approvals")]

    assert asked
    if any(each.command == "git commit" for each in steps(name)):
        assert asked[0].command.endswith("--approvals")


@pytest.mark.parametrize(
    "name", [each for each in OURS if any("git revert" in s.command for s in steps(each, "rollback"))]
)
def test_a_revert_is_made_on_a_branch_of_its_own_and_pushed_before_anything_gets_it(name: str) -> None:
    found = [each.command for each in steps(name, "rollback")]
    order = [
        "git switch {branch}",
        "git pull --ff-only origin {branch}",
        "git switch -c {undo}",
        "git revert --no-edit {revert}",
        "git push -u origin {undo}",
    ]

    places = [found.index(each) for each in order]
    assert places == sorted(places)
    assert name in EMERGENCIES or not any(WRITES.search(each) for each in found[: places[-1]])


# Flux

DEPLOYMENT = """apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME, namespace: NAME}
spec: {template: {spec: {containers: [{name: web, image: "example.org/NAME:1.0.0"}]}}}
"""
FLUX = {
    repos.FLUX: repos.SYNC,
    "clusters/home/web.yaml": repos.kustomization("web", "apps/web"),
    "apps/web/all.yaml": DEPLOYMENT.replace("NAME", "web"),
}
GONE: dict[str, str | None] = {"clusters/home/web.yaml": None, "apps/web/all.yaml": None}


SECRET = """apiVersion: v1
kind: Secret
metadata: {name: db, namespace: web}
stringData: {password: "ENC[AES256_GCM,data:a,iv:b,tag:c,type:str]"}
sops: {mac: x, age: []}
"""


def test_who_has_a_rotated_secret_already_is_restarted() -> None:
    before = {**FLUX, "apps/web/db.yaml": SECRET}
    found = repos.judged(before, {"apps/web/db.yaml": SECRET.replace("data:a", "data:d")})

    assert repos.rules(found) == {"plain-secret"}
    texts = [each.text for each in found.procedure]
    old = next(at for at, each in enumerate(texts) if "the way back needs the old one" in each)
    restart = next(at for at, each in enumerate(texts) if "kubectl rollout restart" in each)
    assert old < texts.index("merged into trunk") < restart
    assert "flux reconcile kustomization web -n flux-system --with-source" in typed(found)
    assert any(each.startswith("git revert") for each in back(found))


def test_a_command_that_names_no_cluster_is_said_to_be_for_each() -> None:
    other = repos.SYNC.replace("./clusters/home", "./clusters/away")
    before = {
        **FLUX,
        "clusters/away/flux-system/gotk-sync.yaml": other,
        "clusters/away/web.yaml": FLUX["clusters/home/web.yaml"],
    }
    after = {"apps/web/all.yaml": FLUX["apps/web/all.yaml"].replace("1.0.0", "1.0.1")}

    found = {each.command: each.text for each in repos.judged(before, after).procedure}
    reconciled = "flux reconcile kustomization web -n flux-system --with-source"
    assert found[reconciled].endswith("in each of away, home: the current context decides in which")
    assert "in each of" not in found["firstlight drift home --component web"]
    assert "in each of" not in found["git commit"]
    alone = {each.command: each.text for each in repos.judged(FLUX, after).procedure}
    assert "in each of" not in alone[reconciled]


VOLUME = """apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: web}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
"""
DATABASE = """apiVersion: postgresql.cnpg.io/v1
kind: Cluster
metadata: {name: db, namespace: web}
spec: {instances: 3, imageName: "example.org/postgresql:16.4"}
"""


@pytest.mark.parametrize(
    ("text", "after", "rule", "first"),
    [
        (VOLUME, None, "volume-removed", "a revert alone brings back something empty"),
        (DATABASE, None, "database-removed", "a revert alone brings back something empty"),
        (DATABASE, DATABASE.replace("16.4", "17.0"), "database-version", "a revert alone does not go back"),
    ],
)
def test_no_way_back_promises_data_that_git_does_not_have(text: str, after: str | None, rule: str, first: str) -> None:
    found = repos.judged({**FLUX, "apps/web/db.yaml": text}, {"apps/web/db.yaml": after})

    assert rule in repos.rules(found)
    assert found.rollback[0].text.startswith(first)
    assert "backup" in found.rollback[-1].text
    assert any(each.startswith("git revert") for each in back(found))
    assert "a backup is made right before the merge" in said(found)


def test_of_what_goes_nothing_is_rendered_reconciled_or_compared() -> None:
    found = repos.judged(FLUX, GONE, facts=DecisionFacts(topic="less", since="abc"))

    assert not re.search(r"(render|kustomization|--component) web", "\n".join(typed(found)))
    engine = [each for each in typed(found) if each.startswith(("flux", "firstlight drift"))]
    assert engine == [
        "flux reconcile kustomization flux-system -n flux-system --with-source",
        "flux get kustomizations -n flux-system",
        "firstlight drift home",
    ]
    # On the way back it comes again, once the one that brings it was asked.
    assert back(found)[-2:] == [
        "flux reconcile kustomization flux-system -n flux-system --with-source",
        "flux reconcile kustomization web -n flux-system --with-source",
    ]


@pytest.mark.parametrize(
    ("fields", "stays"),
    [("prune: true", False), ("prune: false", True), ("prune: true, deletionPolicy: Orphan", True),
     ("prune: false, deletionPolicy: Delete", False)],
)  # fmt: skip
def test_a_kustomization_that_prunes_nothing_leaves_its_objects(fields: str, stays: bool) -> None:
    declared = FLUX["clusters/home/web.yaml"].replace("prune: true", fields)
    found = repos.judged({**FLUX, "clusters/home/web.yaml": declared}, GONE)

    assert ("web prunes nothing" in said(found)) == stays


def test_what_is_new_comes_once_the_one_that_brings_it_was_asked() -> None:
    before = {path: text for path, text in FLUX.items() if path not in GONE}
    found = repos.judged(before, {path: FLUX[path] for path in GONE})

    engine = [each for each in typed(found) if each.startswith("flux")]
    assert engine == [
        "flux reconcile kustomization flux-system -n flux-system --with-source",
        "flux reconcile kustomization web -n flux-system --with-source",
    ]
    assert [each for each in back(found) if each.startswith("flux")] == engine[:1]


def test_what_needs_nobody_elses_approval_is_not_asked_for_one() -> None:
    mild = repos.judged(FLUX, {"apps/web/all.yaml": FLUX["apps/web/all.yaml"].replace("1.0.0", "1.0.1")})

    assert mild.approval == "self"
    assert not any("--approvals" in each for each in typed(mild))
    assert any("--approvals" in each for each in typed(repos.judged(FLUX, GONE)))


def test_an_engine_that_does_not_work_is_not_asked() -> None:
    after = {"apps/web/all.yaml": FLUX["apps/web/all.yaml"].replace("1.0.0", "1.0.1")}
    found = typed(repos.judged(FLUX, after, facts=DecisionFacts(engine_works=False, topic="fix")))

    assert not any(each.startswith("flux") for each in found)
    correct = "firstlight drift home --component web --correct --as-owner"
    assert found.index("git push -u origin fix") < found.index(correct)


# Argo CD

DECLARED = """apiVersion: firstlight.dev/v1alpha1
kind: Platform
metadata: {name: home}
clusters:
  home: {machines: talos/talconfig.yaml, path: clusters/home, kubernetes: v1.34.1}
"""
ROOT = """apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: NAME, namespace: argocd}
spec:
  project: default
  source: {repoURL: https://git.example.org/home.git, path: PATH, targetRevision: trunk}
  destination: {server: https://kubernetes.default.svc, namespace: NAME}
  syncPolicy: {automated: {prune: true}}
"""
ARGO = {
    "firstlight.yaml": DECLARED.partition("clusters:")[0] + "clusters: {home: {path: root}}\n",
    "root.yaml": ROOT.replace("NAME", "root").replace("PATH", "root"),
    "root/web.yaml": ROOT.replace("NAME", "web").replace("PATH", "apps/web"),
    "apps/web/all.yaml": DEPLOYMENT.replace("NAME", "web"),
    "root/api.yaml": ROOT.replace("NAME", "api").replace("PATH", "apps/api"),
    "apps/api/all.yaml": DEPLOYMENT.replace("NAME", "api"),
}


def test_an_application_without_a_finalizer_gets_one_before_it_goes() -> None:
    found = repos.judged(ARGO, {"root/web.yaml": None, "apps/web/all.yaml": None}, facts=DecisionFacts(topic="less"))

    patch = next(each for each in found.procedure if each.command.startswith("kubectl patch"))
    assert "web -n argocd" in patch.command
    assert "would stay" in patch.text
    own = typed(found)
    approved = next(at for at, each in enumerate(own) if each.endswith("--approvals"))
    assert approved < own.index(patch.command) < own.index("argocd app wait root --sync --health")
    assert "argocd app list" in own
    assert not any("wait web" in each for each in own)


def test_an_application_with_a_finalizer_takes_its_objects_along() -> None:
    named = "{name: web, finalizers: [resources-finalizer.argocd.argoproj.io], "
    before = {**ARGO, "root/web.yaml": ARGO["root/web.yaml"].replace("{name: web, ", named, 1)}
    found = repos.judged(before, {"root/web.yaml": None, "apps/web/all.yaml": None})

    assert "kubectl patch" not in said(found)


# Machines

TALCONFIG = """clusterName: home
talosVersion: v1.11.2
kubernetesVersion: v1.34.1
endpoint: https://10.0.0.10:6443
clusterPodNets: [10.244.0.0/16]
patches: ["@./patches/network.yaml"]
nodes:
  - {hostname: cp-1, ipAddress: 10.0.0.1, controlPlane: true, installDisk: /dev/sda}
  - {hostname: w-1, ipAddress: 10.0.0.2, controlPlane: false, installDisk: /dev/sda}
"""
PATCH = "machine:\n  network:\n    nameservers: [10.0.0.53]\n"
MACHINES = {
    **FLUX,
    "firstlight.yaml": DECLARED,
    "talos/talconfig.yaml": TALCONFIG,
    "talos/patches/network.yaml": PATCH,
}


def changed(path: str, old: str, new: str, **more: DecisionFacts) -> Decision:
    return repos.judged(MACHINES, {path: MACHINES[path].replace(old, new)}, **more)


def test_one_machine_tries_it_first() -> None:
    found = changed("talos/patches/network.yaml", "53", "54")
    own = typed(found)

    tried = "firstlight node apply home --machine w-1 --try 5m"
    assert own[own.index(tried) + 1] == "firstlight node apply home --all"
    assert "firstlight node apply home --all --dry-run" in own
    assert "firstlight node apply home --all" in back(found)


def test_only_the_machine_whose_file_it_is_gets_it() -> None:
    patched = TALCONFIG.replace("hostname: w-1,", 'hostname: w-1, patches: ["@./patches/w-1.yaml"],')
    base = {**MACHINES, "talos/talconfig.yaml": patched, "talos/patches/w-1.yaml": PATCH}
    found = repos.judged(base, {"talos/patches/w-1.yaml": PATCH.replace("53", "54")})

    assert "firstlight node apply home --machine w-1" in typed(found)
    assert not any("--all" in each for each in [*typed(found), *back(found)])


@pytest.mark.parametrize(("path", "old"), [("firstlight.yaml", "v1.34.1"), ("talos/talconfig.yaml", "v1.34.1")])
def test_kubernetes_is_upgraded_once_its_plan_was_seen_and_approved(path: str, old: str) -> None:
    found = changed(path, old, "v1.35.2")
    own = typed(found)

    assert repos.rules(found) == {"kubernetes-version"}
    command = "firstlight node upgrade home --kubernetes v1.35.2"
    approved = next(at for at, each in enumerate(own) if each.endswith("--approvals"))
    assert own.index(f"{command} --dry-run") < approved < own.index(command)


def test_minor_versions_that_are_left_out_are_named_and_no_command_jumps() -> None:
    found = changed("firstlight.yaml", "v1.34.1", "v1.37.0")

    assert found.risk.value == "critical"
    assert "one minor version at a time: 1.35, then 1.36, then 1.37" in said(found)
    skipped = changed("talos/talconfig.yaml", "v1.11.2", "v1.13.0")
    assert "one minor version at a time: 1.12, then 1.13" in said(skipped)
    older = changed("firstlight.yaml", "v1.34.1", "v1.33.0")
    assert not any("node upgrade" in each for one in (found, skipped, older) for each in typed(one))


IMAGE = "machine: {install: {image: factory.example.org/installer/ab:v1.11.2}}\n"


def imaged(old: str, new: str) -> Decision:
    base = {**MACHINES, "talos/patches/network.yaml": IMAGE}
    return repos.judged(base, {"talos/patches/network.yaml": IMAGE.replace(old, new)})


def test_talos_is_upgraded_to_the_version_that_the_change_says() -> None:
    for found in (imaged("1.11.2", "1.11.3"), changed("talos/talconfig.yaml", "v1.11.2", "v1.11.3")):
        own = typed(found)
        assert own.index("firstlight node upgrade home --talos v1.11.3 --dry-run") < own.index("git commit")
        upgraded = own.index("firstlight node upgrade home --talos v1.11.3")
        assert own[upgraded + 1] == "firstlight node apply home --all"
        assert not any("talosctl upgrade" in each for each in own)


def test_no_machine_gets_another_image_of_its_version_without_its_name() -> None:
    """An upgrade to the version that runs already would do nothing."""
    found = imaged("/ab:", "/cd:")

    assert "talosctl upgrade --nodes 10.0.0.1 --image factory.example.org/installer/cd:v1.11.2" in typed(found)
    assert not any("node upgrade" in each for each in typed(found))
    unsaid = repos.judged({**MACHINES, "talos/patches/network.yaml": IMAGE}, {"talos/patches/network.yaml": PATCH})
    assert not any("talosctl upgrade" in each for each in typed(unsaid))
    assert "w-1 gets the image that its config names" in said(unsaid)


DECLARED_MACHINES = DECLARED.replace(
    "machines: talos/talconfig.yaml",
    "machines: [{name: cp-1, address: 10.0.0.1, role: controlplane}, {name: w-1, address: 10.0.0.2, role: worker}]",
)


def test_a_machine_of_the_declaration_that_comes_is_wiped_on_the_way_back() -> None:
    """Bootstrap alone would leave it in the cluster."""
    one = "{name: w-1, address: 10.0.0.2, role: worker}"
    more = DECLARED_MACHINES.replace(one, f"{one}, {one.replace('1', '3')}")
    found = repos.judged({**FLUX, "firstlight.yaml": DECLARED_MACHINES}, {"firstlight.yaml": more})
    gone = repos.judged({**FLUX, "firstlight.yaml": more}, {"firstlight.yaml": DECLARED_MACHINES})

    assert repos.rules(found) == {"node-added"}
    assert "maintenance mode" in said(found)
    assert "firstlight node add w-3 --cluster home" in typed(found)
    assert "firstlight node remove w-3 --cluster home" in back(found)
    assert repos.rules(gone) == {"node-removed"}
    assert "firstlight node remove w-3 --cluster home" in typed(gone)
    assert "firstlight node add w-3 --cluster home" in back(gone)


OMNI = """kind: Cluster
name: home
kubernetes: {version: v1.34.1}
talos: {version: v1.11.2}
---
kind: ControlPlane
machines: [a, b, c]
patches: [{name: net, inline: {machine: {network: {nameservers: [10.0.0.53]}}}}]
---
kind: Workers
machines: [d]
"""


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("0.53", "0.54", "node-dns"),
        ("v1.34.1", "v1.35.2", "kubernetes-version"),
        ("v1.11.2", "v1.11.3", "talos-version"),
        ("machines: [d]", "machines: [d, e]", "node-added"),
        ("machines: [d]", "machines: []", "node-removed"),
    ],
)
def test_machines_of_omni_are_omnis(old: str, new: str, rule: str) -> None:
    """Omni upgrades and configures them by the template, and refuses others who would."""
    found = repos.judged({"omni/template.yaml": OMNI}, {"omni/template.yaml": OMNI.replace(old, new)})

    assert rule in repos.rules(found)
    assert "firstlight up home --until machine" in typed(found)
    assert not any(re.search(r"talosctl|firstlight node", each) for each in [*typed(found), *back(found)])


# What one command carries through


def test_a_change_is_offered_to_be_carried_through() -> None:
    after = {"apps/web/all.yaml": FLUX["apps/web/all.yaml"].replace("1.0.0", "1.0.1")}
    committed = {"asked": ("--diff", "main...web"), "is_committed": True, "topic": "web"}

    def carried(**facts: Any) -> list[str]:
        found = repos.judged(FLUX, after, facts=DecisionFacts(**facts))
        own = [each for each in typed(found) if each.startswith("firstlight change")]
        assert any("firstlight change revert" in each.text for each in found.rollback) == bool(own)
        return own

    assert carried() == ["firstlight change start --why REASON"]
    assert carried(asked=("--staged",)) == ["firstlight change start --staged --why REASON"]
    assert carried(**committed) == ["firstlight change start --diff main...web --why REASON"]
    for other in (
        {"asked": ("--patch", "a.patch")},
        {"asked": ("--files", "a.yaml")},
        {"asked": ("--diff", "main")},
        {"rules": ("--rules", "a.yaml")},
        {"engine_works": False},
        {"operational": False},
    ):
        assert carried(**other) == []


def test_what_another_command_does_is_not_offered_to_be_carried_through() -> None:
    both = {
        "firstlight.yaml": DECLARED.replace("v1.34.1", "v1.35.2"),
        "apps/web/all.yaml": FLUX["apps/web/all.yaml"].replace("1.0.0", "1.0.1"),
    }

    assert not any("firstlight change" in each for each in typed(repos.judged(MACHINES, both)))
    assert any("firstlight change" in each for each in typed(changed("talos/patches/network.yaml", "53", "54")))


CILIUM = """apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: cilium, namespace: kube-system}
spec:
  chart: {spec: {chart: cilium, version: 1.19.0, sourceRef: {kind: HelmRepository, name: cilium}}}
  values: {ipam: {mode: kubernetes}}
"""


def test_the_engine_does_not_give_a_new_range_to_the_cluster_that_still_runs() -> None:
    before = {
        **FLUX,
        "clusters/home/cilium.yaml": repos.kustomization("cilium", "apps/cilium"),
        "apps/cilium/release.yaml": CILIUM,
    }
    found = repos.judged(before, {"apps/cilium/release.yaml": CILIUM.replace("mode: kubernetes", "mode: cluster-pool")})

    assert repos.rules(found) == {"cni-ranges"}
    order = [each.command or each.text for each in found.procedure]
    suspended = order.index("flux suspend kustomization cilium -n flux-system")
    assert suspended < order.index("merged into trunk") < order.index("firstlight down home")
    assert "--approvals" in " ".join(order[:suspended])
    assert back(found)[-1] == "flux resume kustomization cilium -n flux-system"


def test_a_cluster_is_rebuilt_once_the_new_range_is_merged() -> None:
    named = DecisionFacts(mentions=("a.yaml:3 (ipv4NativeRoutingCIDR)",), topic="range")
    found = changed("talos/talconfig.yaml", "10.244", "10.245", facts=named)
    texts = [each.text for each in found.procedure]

    assert "a.yaml:3 (ipv4NativeRoutingCIDR)" in said(found)
    merged = texts.index("merged into trunk")
    own = [each.command for each in found.procedure]
    approved = next(at for at, each in enumerate(own) if each.endswith("--approvals"))
    assert own.index("git push -u origin range") < approved < merged < own.index("firstlight down home")
    assert "a.yaml" not in said(changed("talos/talconfig.yaml", "10.244", "10.245"))


# Storage

LONGHORN = """apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: longhorn, namespace: longhorn-system}
spec:
  interval: 1h
  chart: {spec: {chart: longhorn, version: 1.9.0, sourceRef: {kind: HelmRepository, name: longhorn}}}
"""


def test_a_storage_system_is_not_taken_back_by_a_revert() -> None:
    base = {**FLUX, "apps/web/all.yaml": LONGHORN}
    found = repos.judged(base, {"apps/web/all.yaml": LONGHORN.replace("1.9.0", "1.10.0")})

    assert repos.rules(found) == {"storage-system-version"}
    assert "flux reconcile helmrelease longhorn -n longhorn-system" in typed(found)
    assert not any("git" in each for each in back(found))
    assert "backups" in " ".join(each.text for each in found.rollback)
