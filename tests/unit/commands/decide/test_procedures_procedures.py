"""Procedures: the repo's own names in them, their order, and the way back."""

import dataclasses
import shlex
from typing import Any

import pytest

from firstlight.commands.decide import rule_files
from firstlight.commands.decide.change_source import DecisionFacts
from firstlight.commands.decide.judgement import decide
from firstlight.model.change import Change, ChangeVerb, Matter
from firstlight.model.cluster import Engine
from firstlight.model.component import Owner, Phase, Side, SourceForm
from firstlight.model.decision import Decision
from firstlight.model.platform import Platform
from tests.unit.commands.decide import books, repos
from tests.unit.commands.decide.books import change, component, field, kustomization, platform, release

VERSION = field("spec.chart.spec.version", "1.2.3", "1.3.0")
WEB = (component("web", parent="kustomization/web"), kustomization("web", "apps/web", namespace="flux"))


def judged(*changes: Change, on: Platform | None = None, **more: Any) -> Decision:
    return decide(changes, platform=on or platform(*WEB), book=books.book(), **more)


def commands(decision: Decision) -> list[str]:
    return [each.command for each in decision.procedure]


def machine(path: str) -> Change:
    return change(path, field("machine.network.a", 1, 2), matter=Matter.MACHINE, kind="v1alpha1")


def test_steps_come_in_the_order_of_their_stages_with_names_of_the_repo() -> None:
    found = judged(release("web", VERSION))

    assert commands(found) == [
        "git add apps/web/release.yaml",
        "git push origin web-version",
        "flux reconcile kustomization web -n flux",
    ]
    assert found.procedure[1].text == "merged to trunk"
    assert [each.command for each in found.rollback] == ["git revert --no-edit web-version"]


def test_what_git_has_already_is_not_committed_again() -> None:
    facts = DecisionFacts(is_committed=True, topic="net", revert="abc..def", since="abc")
    found = judged(release("web", VERSION), facts=facts)

    assert commands(found)[0] == "git push origin net"
    assert found.rollback[0].command == "git revert --no-edit abc..def"


def test_argo_cd_gets_its_own_commands() -> None:
    origin = dataclasses.replace(WEB[0].origins[0], form=SourceForm.APPLICATION)
    on = platform(dataclasses.replace(WEB[0], origins=(origin,), parent=""), engine=Engine.ARGOCD)

    assert commands(judged(release("web", VERSION), on=on))[-1] == "argocd app sync web"


def test_bootstraps_half_stands_before_the_merge() -> None:
    on = platform(dataclasses.replace(WEB[0], phase=Phase.CORE), WEB[1], component("api", needs=("web",)))
    found = judged(release("web", VERSION), on=on)

    assert commands(found)[1:4] == ["", "firstlight up home --only web", "git push origin web-version"]
    assert found.procedure[1].text.startswith("bootstrap's half comes first")
    assert found.procedure[2].text == "web, which api need"


def test_machines_are_those_whose_files_change() -> None:
    one = commands(judged(machine("talos/cp-2.yaml")))
    all_of_them = commands(judged(machine("talos/patch.yaml")))

    assert one == ["firstlight up home --dry-run", "talosctl -n 10.0.0.2 health"]
    assert all_of_them == [
        "firstlight up home --dry-run",
        "talosctl -n 10.0.0.1 health",
        "talosctl -n 10.0.0.2 health",
    ]
    assert commands(judged(machine("talos/cp-2.yaml"), machine("talos/patch.yaml"))) == all_of_them


def test_a_rules_own_procedure_stands_in_place_of_the_usual_one_and_has_what_it_is_like() -> None:
    found = judged(release("web", field("spec.chart.spec.version", "1.0.0", "2.0.0")))

    assert commands(found)[0] == "talosctl etcd snapshot db"
    assert commands(found)[-1] == "flux reconcile kustomization web -n flux"
    assert [(each.text, each.command) for each in found.rollback] == [("this cannot be taken back", "")]


def test_two_changes_of_one_thing_need_its_steps_once() -> None:
    found = judged(release("web", VERSION), change("apps/web/a.yaml", field("data.a", 1, 2)))

    assert len(commands(found)) == len(set(commands(found)))
    assert "git add apps/web/a.yaml apps/web/release.yaml" in commands(found)


def test_a_command_of_both_halves_stands_once_and_belongs_to_neither() -> None:
    own = """
procedures:
  - {id: one, title: One, steps: [{stage: verify, side: gitops, text: a, command: look}, {stage: verify, text: words}]}
  - {id: two, title: Two, steps: [{stage: prepare, side: bootstrap, text: b, command: look},
                                  {stage: verify, text: words}]}
rules:
  - {id: first, title: F, side: gitops, risk: low, why: x, when: [{paths: [a]}], procedure: one}
  - {id: second, title: S, side: bootstrap, risk: low, why: x, when: [{paths: [b]}], procedure: two}
"""
    both = release("web", field("a", 1, 2), field("b", 1, 2))
    found = decide([both], platform=platform(*WEB), book=books.book(own))

    assert [(each.side, each.text, each.command) for each in found.procedure] == [
        (None, "b", "look"),
        (None, "words", ""),
    ]


ASKING = """
procedures:
  - id: one
    title: One
    steps:
      - {stage: prepare, text: a, command: "firstlight decide {asked} --output json"}
      - {stage: commit, text: a, command: "firstlight decide {asked} --test"}
      - {stage: approve, text: a, command: "firstlight decide {asked} --approvals"}
      - {stage: after, text: a, command: "firstlight decide {asked} --check post"}
      - {stage: after, each: look, text: a, command: "firstlight decide {asked} --check post"}
rules: [{id: first, title: F, side: gitops, risk: medium, why: x, when: [{}], procedure: one}]
"""
"""A procedure that a team has written."""


def asked(facts: DecisionFacts, *names: str) -> list[str]:
    changes = [release("web", VERSION)]
    found = decide(changes, platform=platform(*WEB, names=names or ("home",)), book=books.book(ASKING), facts=facts)
    return [each.removeprefix("firstlight decide ") for each in commands(found)]


def test_what_was_asked_can_be_asked_again_at_every_stage() -> None:
    """Of a work tree nothing is left once it is committed, and of a branch nothing once it is merged."""
    on = DecisionFacts(asked=("--staged",), since="abc", topic="trunk", is_staged=True)

    assert asked(on) == [
        "--staged --output json",
        "--staged --test",
        "--diff trunk...web-version --approvals",
        "--diff abc..web-version --check post",
        "--diff abc..web-version --cluster home --check post",
    ]
    assert asked(DecisionFacts())[0] == "--output json"


def test_of_commits_it_is_asked_as_it_was_until_they_are_merged() -> None:
    found = asked(
        DecisionFacts(asked=("--diff", "main...my branch"), is_committed=True, topic="my-branch", since="abc")
    )

    assert found[2:4] == ["--diff abc..my-branch --check post", "--diff abc..my-branch --cluster home --check post"]
    assert found[0] == "--diff 'main...my branch' --output json"


def test_the_cluster_and_rules_that_were_asked_about_are_asked_about_again() -> None:
    known = DecisionFacts(
        asked=("--diff", "a..b"),
        is_committed=True,
        looked=("--cluster", "home", "--kubeconfig", "my config"),
        rules=("--rules", "strict.yaml"),
    )

    more = "--diff a..b --rules strict.yaml --cluster home --kubeconfig 'my config'"
    assert asked(known) == [f"{more} --output json", f"{more} --approvals", f"{more} --check post"]


def test_the_branch_is_called_as_git_knows_it_here() -> None:
    remote = DecisionFacts(since="abc", branches=frozenset({"origin/trunk", "mine"}), topic="mine")

    assert "--diff origin/trunk...mine --approvals" in asked(remote)
    assert "--diff abc...mine --approvals" in asked(dataclasses.replace(remote, branches=frozenset({"mine"})))


def test_names_are_quoted_for_a_shell() -> None:
    evil = "a b;$(rm -rf ~)`'\"\n"
    on = platform(component(evil, path="x.yaml", phase=Phase.CORE, owner=Owner.BOOTSTRAP))
    item = change(f"apps/{evil}/a.yaml", field("data.a", 1, 2))
    found = judged(item, on=on, facts=DecisionFacts(topic="--evil;"))

    (command,) = commands(found)
    assert shlex.split(command) == ["firstlight", "up", "home", "--only", evil]


@pytest.mark.parametrize("name", ["--all", "-h", "a b", "A", ""])
def test_what_a_program_would_take_for_an_option_is_in_no_command(name: str) -> None:
    on = platform(component("web", parent="kustomization/web"), kustomization("web", "apps/web", namespace="flux"))
    origin = dataclasses.replace(on.components[1].origins[0], name=name)
    on = platform(on.components[0], dataclasses.replace(on.components[1], origins=(origin,)))
    found = judged(release("web", VERSION), on=on)

    assert not any("flux" in each for each in commands(found))
    assert found.procedure[-1].text.startswith(f"{name} follows; by hand")


def test_nor_is_it_one_of_those_for_which_the_same_is_done() -> None:
    names = ["--all", "a", "b", "c", "d"]
    on = platform(
        *(component(each, parent=f"kustomization/{each}") for each in names),
        *(kustomization(each, f"apps/{each}") for each in names),
    )
    found = judged(*(release(each, VERSION) for each in names), on=on)

    (step,) = [each for each in found.procedure if each.command.startswith("flux")]
    assert step.text.endswith("the same for b, c, d")


def test_files_are_put_back_where_git_cannot_revert_a_merge() -> None:
    merged = DecisionFacts(is_committed=True, topic="net", since="abc")
    found = judged(release("web", VERSION), facts=merged)

    assert [each.command for each in found.rollback] == [
        "git restore --source=abc --staged --worktree -- apps/web/release.yaml && git commit"
    ]
    onto = judged(release("web", VERSION), facts=dataclasses.replace(merged, revert="-m 1 def"))
    assert [each.command for each in onto.rollback] == ["git revert --no-edit -m 1 def"]


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        ({"automated": {"prune": True, "selfHeal": True}}, "automated --auto-prune --self-heal"),
        ({"automated": {"prune": False, "allowEmpty": True}}, "automated --allow-empty"),
        ({"automated": {}}, "automated"),
        ({"automated": {"enabled": False, "prune": True}}, "none"),
        ({}, "none"),
    ],
)
def test_argo_cd_goes_on_as_before(policy: dict[str, Any], words: str) -> None:
    definition = {"spec": {"syncPolicy": policy}}
    origin = dataclasses.replace(WEB[0].origins[0], form=SourceForm.APPLICATION, definition=definition)
    on = platform(dataclasses.replace(WEB[0], origins=(origin,), parent=""), engine=Engine.ARGOCD)
    own = "rules: [{id: mine, title: M, side: gitops, risk: low, why: x, when: [{}], procedure: cluster-rebuild}]"
    found = decide([release("web", VERSION)], platform=on, book=rule_files.book([("r.yaml", own.encode())]))

    assert found.rollback[-1].command == f"argocd app set web --sync-policy {words}"


def test_something_gone_still_has_a_name() -> None:
    found = judged(release("web", verb=ChangeVerb.REMOVED), on=platform(WEB[1]), before=platform(*WEB))

    assert "flux reconcile kustomization web -n flux" in commands(found)


def test_a_loop_of_likes_ends() -> None:
    own = "procedures: [{id: a, title: A, like: [b]}, {id: b, title: B, like: [a]}]\n"
    own += "rules: [{id: mine, title: M, side: gitops, risk: low, why: x, when: [{}], procedure: a}]"

    assert decide([release("web", VERSION)], platform=platform(*WEB), book=books.book(own)).procedure == ()


# Our own procedures, in repos

HELMFILE = """releases:
  - {name: cilium, namespace: kube-system, chart: oci://charts.example.org/cilium, version: 1.18.2}
  - {name: spegel, namespace: kube-system, chart: oci://charts.example.org/spegel, version: 0.1.0}
"""
RELEASE = """apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: cilium, namespace: kube-system}
spec: {interval: 1h, chartRef: {kind: OCIRepository, name: cilium}, values: {debug: {enabled: false}}}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: cilium, namespace: kube-system}
spec: {interval: 1h, url: oci://charts.example.org/cilium, ref: {tag: 1.18.2}}
"""
HYBRID = {
    repos.FLUX: repos.SYNC,
    "bootstrap/helmfile.yaml": HELMFILE,
    "clusters/home/core.yaml": repos.kustomization("cilium", "core/cilium"),
    "core/cilium/release.yaml": RELEASE,
}


def typed(decision: Decision, side: Side | None = None) -> list[str]:
    return [each.command for each in decision.procedure if each.command and (side is None or each.side is side)]


def test_a_hybrid_goes_through_git_and_bootstraps_half_follows() -> None:
    """What the engine owns, firstlight up only reads: nothing says that it brings the change."""
    after = {
        "core/cilium/release.yaml": RELEASE.replace("1.18.2", "1.18.3"),
        "bootstrap/helmfile.yaml": HELMFILE.replace("1.18.2", "1.18.3"),
    }
    found = repos.judged(HYBRID, after, facts=DecisionFacts(topic="cilium", since="abc"))

    assert found.side is Side.HYBRID
    assert typed(found, Side.BOOTSTRAP) == [
        "firstlight boundary home --component cilium",
        "firstlight up home --only cilium --dry-run",
    ]
    own = typed(found)
    order = ["firstlight boundary", "git add", "git push", "flux reconcile kustomization cilium", "firstlight up"]
    places = [next(at for at, each in enumerate(own) if each.startswith(words)) for words in order]
    assert places == sorted(places)
    assert not any("firstlight up" in each.command for each in found.rollback)


def test_what_bootstrap_keeps_is_brought_by_it() -> None:
    found = repos.judged(HYBRID, {"bootstrap/helmfile.yaml": HELMFILE.replace("0.1.0", "0.2.0")})

    assert found.side is Side.BOOTSTRAP
    assert "firstlight up home --only spegel" in typed(found)


def test_of_one_file_each_component_gets_the_steps_of_its_own_side() -> None:
    both = HELMFILE.replace("0.1.0", "0.2.0").replace("1.18.2", "1.18.3")
    found = repos.judged(HYBRID, {"bootstrap/helmfile.yaml": both})

    assert "firstlight up home --only spegel" in typed(found)
    assert "firstlight up home --only cilium --dry-run" in typed(found)
    assert "firstlight boundary home --component cilium" in typed(found)
    assert "firstlight drift home --component cilium" in typed(found)


def test_a_hybrid_that_is_inline_is_rendered_anew_into_the_machine_config() -> None:
    on = platform(books.inline("cilium", 0))
    step = books.change("talos/patch.yaml", field("cluster.inlineManifests.[0].contents"), matter=Matter.MACHINE)
    found = decide([step], platform=on, book=rule_files.book())

    assert found.side is Side.HYBRID
    assert "firstlight render cilium --cluster home --inline" in typed(found)
    assert not any("--until machine" in each for each in typed(found))


@pytest.mark.parametrize("version", ["1.1.0", "2.0.0"])
def test_many_components_of_many_clusters_make_few_steps(version: str) -> None:
    clusters = [f"c{number}" for number in range(5)]
    parts = [
        dataclasses.replace(
            component(f"app{number}", parent=f"kustomization/app{number}"), cluster=cluster, phase=phase
        )
        for cluster in clusters
        for number in range(10)
        for phase in [Phase.CORE if number == 0 else Phase.GITOPS]
    ]
    parts += [
        dataclasses.replace(kustomization(f"app{number}", f"apps/app{number}"), cluster=cluster)
        for cluster in clusters
        for number in range(10)
    ]
    changes = [release(f"app{number}", field("spec.chart.spec.version", "1.0.0", version)) for number in range(10)]
    found = decide(changes, platform=platform(*parts, names=clusters), book=rule_files.book())

    assert len(found.procedure) <= 20
    assert len(found.rollback) <= 10
    said = "\n".join(f"{each.command} {each.text}" for each in found.procedure)
    assert all(f"app{number}" in said for number in range(10))
    assert all(each in said for each in clusters)


def test_a_command_that_takes_several_gets_them_at_once() -> None:
    names = ["a", "b c", "d", "e"]
    on = platform(*(component(each, phase=Phase.CORE, owner=Owner.BOOTSTRAP) for each in names))
    found = decide([release(each, VERSION) for each in names], platform=on, book=rule_files.book())

    assert "firstlight up home --only a --only 'b c' --only d --only e" in typed(found)
