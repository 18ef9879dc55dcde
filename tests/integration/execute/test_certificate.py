"""Certificates of a handover to real Flux: complete where it was harmless, and failing where something was broken."""

import dataclasses
import shutil
import time
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import yaml

from firstlight import errors
from firstlight.clients import command
from firstlight.clients import kube as kube_client
from firstlight.clients.git import Git
from firstlight.execute.actions import certificate as action
from firstlight.execute.actions import owners
from firstlight.execute.baseline import keeping, snapshot
from firstlight.execute.handing import awaiting, certifying, evidence, keeping_certificate, provisional
from firstlight.execute.world import Programs, World
from firstlight.lab.sources.access import Access
from firstlight.model.certificate import Certificate, Claim, ObjectProof, Proof, Stage
from firstlight.model.cluster import Cluster
from firstlight.model.handover import Passing
from firstlight.model.owner import ObjectOwner, Party
from firstlight.model.place import Place
from firstlight.model.rendition import Object
from firstlight.model.secret import Secret
from firstlight.model.work import Certify, MigrateOwners
from firstlight.observe import audit_log
from firstlight.operate.handover import canary, verifying
from firstlight.ownership import certifying as certifying_rules
from firstlight.ownership import marking, normal_values
from firstlight.report import certificate as report
from tests.argocd import ArgoCD
from tests.flux import Flux, chart
from tests.labs import until

MANAGER = "kustomize-controller"
PASSWORD = "hunter-two-of-the-certificate"


async def _resolve(reference: str) -> Secret:
    raise AssertionError(f"nobody asks for {reference}")


def _config_map(namespace: str, name: str, **data: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace, "labels": {"part": "settings"}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def _deployment(namespace: str, name: str) -> dict[str, Any]:
    container = {
        "name": "main", "image": "registry.example/main:1", "ports": [{"containerPort": 8080}],
        "resources": {"requests": {"cpu": "0.1", "memory": "64Mi"}},
    }  # fmt: skip
    return {
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}},
        },
    }  # fmt: skip


NAMES = ("plain", "coowned", "edited", "unowned", "anew", "drifted", "verified", "dropped", "held", "paused")
WORKLOADS = ("web", "restarted", "replaced", "agreed", "rolled", "scaled", "autoscaled")


def _objects(namespace: str) -> list[dict[str, Any]]:
    """What bootstrap brings and Git has: an object for each thing that goes wrong in a test, and some for none."""
    secret = {
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key", "namespace": namespace},
        "stringData": {"password": PASSWORD},
    }  # fmt: skip
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "main", "namespace": namespace}}
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
        "metadata": {"name": "test:reader", "namespace": namespace},
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
    }  # fmt: skip
    maps = [_config_map(namespace, each, word="hello", other="there") for each in NAMES]
    return [secret, account, role, *maps, *(_deployment(namespace, each) for each in WORKLOADS)]


@dataclasses.dataclass
class HandedOver:
    """Objects that Flux has taken over, with the baseline of before."""

    flux: Flux
    world: World
    namespace: str
    task: Certify
    told: list[str]

    def only(self, *names: str) -> Certify:
        """The task about some objects alone."""
        return dataclasses.replace(
            self.task, passing=tuple(each for each in self.task.passing if each.id.name in names)
        )  # fmt: skip

    async def certified(self, *names: str) -> Certificate:
        """The certificate of some objects."""
        return await certifying.certify(self.only(*names), self.world, stage=Stage.FINAL)

    async def failed(self, name: str) -> dict[Claim, str]:
        """What fails of an object that must not pass."""
        made = await self.certified(name)
        assert not made.is_complete
        assert any(name in each for each in report.failures(made)), report.failures(made)
        return {each.claim: each.says for each in made.objects[0].proofs if not each.holds}

    async def get(self, kind: str, name: str) -> dict[str, Any]:
        """An object."""
        version = {"Deployment": "apps/v1"}.get(kind, "v1")
        return dict(await self.flux.kube.get(version, kind, name, namespace=self.namespace))

    async def pods(self, app: str) -> list[dict[str, Any]]:
        """The pods of a workload that run."""
        found = (await self.flux.kube.list("v1", "Pod", namespace=self.namespace, labels=f"app={app}")).items
        return [dict(each) for each in found if each.get("status", {}).get("phase") == "Running"]


@pytest_asyncio.fixture(scope="module")
async def handed(flux: Flux, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[HandedOver]:
    """A handover in small: applied as Flux's manager, a baseline, and Flux takes over."""
    namespace = f"test-{uuid.uuid4().hex[:8]}"
    objects = _objects(namespace)
    told: list[str] = []
    state = tmp_path_factory.mktemp("certificates") / ".firstlight"
    world = await _world(flux.lab.kubeconfig, state, f"run-{namespace}")
    world.tell = lambda step, text: told.append(text)
    await flux.kube.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}, manager="tests")
    for each in objects:
        await flux.kube.apply(normal_values.without_string_data(each), manager=MANAGER)
    owner = ObjectOwner(Party.FLUX, f"Kustomization {namespace}/all")
    passing = _passing(objects, owner, MANAGER)
    made = HandedOver(flux, world, namespace, Certify(passing=passing), told)
    for name in WORKLOADS:
        await until(lambda name=name: made.pods(name), f"the pod of {name}")  # type: ignore[misc]
    taken = await snapshot.take([each.id for each in passing], flux.kube)
    await keeping.store(dataclasses.replace(taken, cluster=await certifying.uid_of(flux.kube)), flux.kube)
    files = {f"all/{each['kind']}-{number}.yaml": each for number, each in enumerate(objects)}
    commit = await flux.repository(namespace, namespace, files)
    spec = {
        "path": "./all", "prune": True, "sourceRef": {"kind": "GitRepository", "name": namespace}, "interval": "1h",
    }  # fmt: skip
    await flux.apply("Kustomization", "all", namespace, spec)
    await flux.ready("Kustomization", "all", namespace, revision=commit)
    made.task = dataclasses.replace(made.task, revision=commit)
    yield made
    await world.close()
    for each in (await flux.kube.list("v1", "ConfigMap", namespace="kube-system")).items:
        if each["metadata"]["name"].startswith("firstlight-"):
            await flux.kube.delete("v1", "ConfigMap", each["metadata"]["name"], namespace="kube-system")
    await flux.kube.delete("v1", "Namespace", namespace)


async def _world(kubeconfig: Path, state: Path, run: str) -> World:
    world = World(
        cluster=Cluster(name="test", place=Place("firstlight.yaml")), programs=Programs(), resolve=_resolve,
        state=state, run=run,
    )  # fmt: skip
    await world.connect(kube_client.load(kubeconfig))
    return world


def _passing(objects: Sequence[Mapping[str, Any]], owner: ObjectOwner, manager: str) -> tuple[Passing, ...]:
    return tuple(Passing(object=Object(each), component="all", manager=manager, owner=owner) for each in objects)


def _proofs(proof: ObjectProof) -> dict[Claim, Proof]:
    return {each.claim: each for each in proof.proofs}


TEMPLATES = {
    "config.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: release, labels: {a: b}}\ndata: {word: hello}\n",
    "service.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: release}\nspec: {ports: [{port: 80}]}\n",
}


def _of_chart(namespace: str) -> list[dict[str, Any]]:
    found = [dict(yaml.safe_load(each)) for each in TEMPLATES.values()]
    return [{**each, "metadata": {**each["metadata"], "namespace": namespace}} for each in found]


class TestEngines:
    async def test_what_a_helm_release_has(self, handed: HandedOver) -> None:
        flux, namespace = handed.flux, handed.namespace
        made = await flux.sources.create_charts(namespace)
        await flux.sources.push_chart(namespace, chart("small", "1.0.0", TEMPLATES))
        await flux.apply("HelmRepository", "here", namespace, {"url": made.url, "interval": "1h"})
        source = {"kind": "HelmRepository", "name": "here"}
        spec = {
            "interval": "1h", "releaseName": "release",
            "chart": {"spec": {"chart": "small", "version": "1.0.0", "sourceRef": source}},
        }  # fmt: skip
        await flux.apply("HelmRelease", "small", namespace, spec)
        await flux.ready("HelmRelease", "small", namespace)
        owner = ObjectOwner(Party.FLUX, f"HelmRelease {namespace}/small")
        task = Certify(passing=_passing(_of_chart(namespace), owner, "helm-controller"))

        found = await certifying.certify(task, handed.world, stage=Stage.FINAL)

        assert found.is_complete, report.failures(found)
        for each in found.objects:
            proofs = _proofs(each)
            assert all(proofs[claim].is_tried for claim in (Claim.MARKED, Claim.NO_OP, Claim.REPEATED, Claim.VANISHES))
            assert proofs[Claim.MARKED].says == f"HelmRelease {namespace}/small lists it"
        await _what_git_lacks_goes(handed, task)

    async def test_what_an_application_has(self, argocd: ArgoCD, site: str, tmp_path: Path) -> None:
        objects = [_config_map(site, "app", word="hello"), _deployment(site, "app"), *_of_chart(site)[1:]]
        revision = await argocd.commit(site, {f"{each['kind']}.yaml": each for each in objects})
        await argocd.application(site, site, {"repoURL": argocd.git(site), "path": ".", "targetRevision": "main"})
        await argocd.synced(site, revision)
        owner = ObjectOwner(Party.ARGOCD, f"Application {site}")
        task = Certify(passing=_passing(objects, owner, "argocd-controller"))
        world = await _world(argocd.lab.kubeconfig, tmp_path / ".firstlight", f"run-{site}")
        taken = await snapshot.take([each.id for each in task.passing], argocd.kube)
        await keeping.store(dataclasses.replace(taken, cluster=await certifying.uid_of(argocd.kube)), argocd.kube)
        try:
            found = await certifying.certify(task, world, stage=Stage.FINAL)
        finally:
            await argocd.kube.delete("v1", "ConfigMap", keeping.NAME, namespace="kube-system")
            await world.close()

        assert found.is_complete, report.failures(found)
        assert (found.engine, found.revision) == ("argocd", revision)
        assert all(_proofs(each)[Claim.REPEATED].is_tried for each in found.objects)


async def _what_git_lacks_goes(handed: HandedOver, task: Certify) -> None:
    """helm-controller takes nothing away before its next upgrade: a field that it got would stay, and look proven."""
    kube, namespace = handed.flux.kube, handed.namespace
    wanted = MigrateOwners(passing=task.passing, is_loss_allowed=True, is_again=True)
    await _perform(handed, task)
    await kube.patch(
        "v1", "ConfigMap", "release", {"data": {"hacked": "yes"}}, manager="kubectl-patch", namespace=namespace
    )
    change = await owners.look(wanted, handed.world, "owners")
    assert change is not None
    await change.perform()
    assert (await handed.get("ConfigMap", "release"))["data"] == {"word": "hello"}
    assert await owners.look(wanted, handed.world, "owners") is None
    assert await certifying.lapsed(task.passing, kube) == ()

    # A run that was killed between the two, or one of an older version.
    live = await handed.get("ConfigMap", "release")
    kept = {
        name: each for name, each in live["metadata"].items() if name in ("name", "namespace", "labels", "annotations")
    }
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": kept, "data": {"word": "hello", "hacked": "yes"}}
    await kube.apply(body, manager="helm-controller")
    assert [each.id.name for each in await certifying.lapsed(task.passing, kube)] == ["release"]
    assert await action.look(task, handed.world, "test") is None
    again = await action.look(dataclasses.replace(task, is_again=True), handed.world, "test")
    assert again is not None
    with pytest.raises(errors.FirstlightError, match=r"it would change data\.hacked"):
        await again.perform()
    change = await owners.look(wanted, handed.world, "owners")
    assert change is not None
    assert f"take from ConfigMap {namespace}/release the fields that Git does not have" in change.writes
    await change.perform()
    assert (await handed.get("ConfigMap", "release"))["data"] == {"word": "hello"}
    await kube.delete("v1", "ConfigMap", keeping_certificate.NAME, namespace="kube-system")
    shutil.rmtree(handed.world.state / "test")


class TestComplete:
    async def test_a_harmless_handover_is_proven_once_and_looking_again_writes_nothing(
        self, handed: HandedOver
    ) -> None:
        names = ("key", "main", "test:reader", "plain", "web")
        task = handed.only(*names)
        before = time.time()
        change = await action.look(task, handed.world, "test")
        assert change is not None
        assert len(change.writes) == 1
        try:
            await change.perform()
        except errors.FirstlightError as error:
            raise AssertionError(f"{error}: {error.hint}") from error

        kept = await keeping_certificate.load(handed.flux.kube, uid=await certifying.uid_of(handed.flux.kube))
        assert kept is not None
        assert kept.is_complete
        assert certifying.is_sealed(kept)
        assert (kept.stage, kept.engine, kept.revision) == (Stage.FINAL, "flux", handed.task.revision)
        assert {each.id.name for each in kept.objects} == set(names)
        by_name = {each.id.name: _proofs(each) for each in kept.objects}
        for name, proofs in by_name.items():
            for claim in (Claim.SAME_OBJECT, Claim.MARKED, Claim.OWNED, Claim.ALONE, Claim.NO_OP, Claim.REPEATED):
                assert proofs[claim].is_tried, (name, claim)
            assert proofs[Claim.VANISHES].is_tried, name
        assert by_name["plain"][Claim.VANISHES].says == "metadata.labels.part"
        assert by_name["key"][Claim.VANISHES].says == "data.password"
        assert by_name["web"][Claim.SAME_PODS].says == "1 of 1"
        assert by_name["web"][Claim.SAME_REVISION].is_tried

        directory = handed.world.state / "test"
        assert keeping_certificate.read(directory / "certificate.json").certificate == kept
        assert not (directory / "certificate.incomplete.json").exists()
        for each in ("certificate.json", "certificate.html"):
            content = (directory / each).read_text()
            assert PASSWORD not in content
            assert "aHVudGVy" not in content, "nor encoded"

        written = time.time()
        assert await action.look(task, handed.world, "test") is None
        mine = audit_log.writes(
            handed.flux.lab.home.audit_log, since=before, until=time.time(),
            is_asked=lambda _, agent: handed.world.run in agent,
        )  # fmt: skip
        assert mine
        assert [each for each in mine if each.at > written] == []

    async def test_what_comes_later_is_added_and_what_was_proven_stays_so(self, handed: HandedOver) -> None:
        await _perform(handed, handed.only("plain"))
        # Its pods are others by now, which is no flaw of the handover.
        kept = await keeping_certificate.load(handed.flux.kube, uid=await certifying.uid_of(handed.flux.kube))
        assert kept is not None
        first = next(each for each in kept.objects if each.id.name == "plain")

        await _perform(handed, handed.only("plain", "main"))

        again = await keeping_certificate.load(handed.flux.kube, uid=await certifying.uid_of(handed.flux.kube))
        assert again is not None
        assert first in again.objects
        assert "main" in {each.id.name for each in again.objects}


async def _perform(handed: HandedOver, task: Certify) -> None:
    change = await action.look(task, handed.world, "test")
    if change is not None:
        await change.perform()


class TestKept:
    async def test_what_talos_keeps_is_said_and_makes_it_provisional(self, handed: HandedOver) -> None:
        task = handed.only("plain", "main")
        keeping_all = dataclasses.replace(task, staying=tuple(each.id for each in task.passing[:1]))

        await _perform(handed, keeping_all)

        kept = await _kept(handed)
        assert (kept.stage, kept.is_complete) == (Stage.PROVISIONAL, True)
        assert kept.staying == keeping_all.staying
        assert "provisional: Talos keeps 1 object" in handed.told[-1]
        assert await action.look(keeping_all, handed.world, "test") is None, "a second run finds nothing to do"
        again = await verifying.verify(kept, handed.flux.kube, passing=handed.task.passing)
        assert again.staying == kept.staying
        stays = [each.object for each in await certifying.uncertified(task.passing, handed.flux.kube)]
        assert stays == [task.passing[0].object], "the other one is the engine's for good"

        await _perform(handed, task)

        assert (await _kept(handed)).stage == Stage.FINAL, "Talos has released it since"

    async def test_pods_that_were_replaced_are_asked_about_once_and_said(self, handed: HandedOver) -> None:
        task = handed.only("agreed")
        (pod,) = await handed.pods("agreed")
        await handed.flux.kube.delete("v1", "Pod", pod["metadata"]["name"], namespace=handed.namespace)

        async def is_another() -> bool:
            return [each["metadata"]["uid"] for each in await handed.pods("agreed")] not in (
                [], [pod["metadata"]["uid"]],
            )  # fmt: skip

        await until(is_another, "another pod")
        accepted = await action.look(dataclasses.replace(task, is_restart_accepted=True), handed.world, "test")
        change = await action.look(task, handed.world, "test")

        assert accepted is not None
        assert accepted.danger == ""
        assert change is not None
        assert change.danger == (
            f"pods of Deployment {handed.namespace}/agreed were replaced or restarted since the baseline; "
            "the certificate is kept with that said"
        )
        await change.perform()
        kept = await _kept(handed)
        proof = _proofs(next(each for each in kept.objects if each.id.name == "agreed"))[Claim.SAME_PODS]
        assert (proof.holds, proof.is_agreed) == (False, True)
        assert proof.says.startswith("replaced, as agreed: pod agreed-")
        assert "pods of 1 workload replaced or restarted, as agreed" in handed.told[-1]
        assert await action.look(task, handed.world, "test") is None

    async def test_nobody_is_asked_where_pods_are_the_same(self, handed: HandedOver) -> None:
        assert await certifying.replaced(handed.only("web", "plain").passing, handed.flux.kube) == ()

    async def test_one_that_was_lost_is_as_in_the_file_again(self, handed: HandedOver) -> None:
        task = handed.only("plain")
        await _perform(handed, task)
        kept = await _kept(handed)
        await handed.flux.kube.delete("v1", "ConfigMap", keeping_certificate.NAME, namespace="kube-system")

        change = await action.look(task, handed.world, "test")

        assert change is not None
        assert change.writes == (
            "keep the certificate of the file in ConfigMap kube-system/firstlight-certificate again",
        )
        await change.perform()
        assert await _kept(handed) == kept, "as it was, its pods may be others by now"
        assert await action.look(task, handed.world, "test") is None


async def _kept(handed: HandedOver) -> Certificate:
    found = await keeping_certificate.load(handed.flux.kube, uid=await certifying.uid_of(handed.flux.kube))
    assert found is not None
    return found


class TestControllers:
    async def test_an_autoscaler_writes_the_scale_and_takes_pods_away(self, handed: HandedOver) -> None:
        await handed.flux.kube.patch(
            "apps/v1", "Deployment", "autoscaled", {"spec": {"replicas": 0}}, manager="an-autoscaler",
            namespace=handed.namespace, subresource="scale",
        )  # fmt: skip

        async def is_gone() -> bool:
            return not await handed.pods("autoscaled")

        await until(is_gone, "the pod to go")

        made = await handed.certified("autoscaled")

        assert made.is_complete, report.failures(made)
        assert "an autoscaler took 1 away" in _proofs(made.objects[0])[Claim.SAME_PODS].says

    async def test_who_injects_a_bundle_may_own_it_although_git_has_one(self, handed: HandedOver) -> None:
        kube, name = handed.flux.kube, f"{handed.namespace}.example.org"
        webhook = {
            "name": name, "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Ignore",
            "clientConfig": {"url": "https://127.0.0.1:1/"},
            "rules": [
                {"apiGroups": ["example.org"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["none"]}
            ],
        }  # fmt: skip
        value: dict[str, Any] = {
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": name}, "webhooks": [webhook],
        }  # fmt: skip
        owner = ObjectOwner(Party.FLUX, f"Kustomization {handed.namespace}/all")
        try:
            await kube.apply(marking.marked(value, owner), manager=MANAGER)
            bundle = {"name": name, "clientConfig": {"caBundle": "LS0tLS1CRUdJTg=="}}
            await kube.apply({**value, "webhooks": [bundle]}, manager="cert-manager-cainjector", force=True)
            in_git = {
                **value,
                "webhooks": [{**webhook, "clientConfig": {"url": "https://127.0.0.1:1/", "caBundle": "Cg=="}}],
            }

            (found,) = await evidence.gather(_passing([in_git], owner, MANAGER), {}, kube, is_repeated=True)
        finally:
            await kube.delete("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", name)

        proofs = {each.claim: each for each in certifying_rules.prove(found, None, is_final=True, is_repeated=True)}
        assert proofs[Claim.NO_OP].holds, proofs[Claim.NO_OP].says
        assert "left to controllers" in proofs[Claim.NO_OP].says
        assert proofs[Claim.ALONE].holds, proofs[Claim.ALONE].says
        assert proofs[Claim.REPEATED].holds
        assert proofs[Claim.REPEATED].is_tried


class TestVerify:
    async def test_any_time_later_and_says_what_no_longer_holds(self, handed: HandedOver) -> None:
        made = await handed.certified("scaled", "rolled", "verified", "dropped")
        assert made.is_complete, report.failures(made)
        wanted = handed.only("scaled", "rolled", "verified").passing
        before = time.time()

        again = await verifying.verify(made, handed.flux.kube, passing=handed.only("rolled", "verified").passing)

        assert not again.is_complete
        dropped = [each for each in report.failures(again) if "dropped" in each]
        assert len(dropped) == 1
        assert "Git does not have it any more, and it is still there" in dropped[0]
        assert sum("Git does not have" in each for each in report.failures(again)) == 2

        # What bootstrap keeps by now is not the engine's to take away.
        kept = await verifying.verify(
            made, handed.flux.kube, passing=(), kept=sorted({each.component for each in made.objects})
        )
        assert kept.is_complete, report.failures(kept)
        assert any("says owner: bootstrap" in each for each in report.notes(kept))

        await handed.flux.kube.delete("v1", "ConfigMap", "dropped", namespace=handed.namespace)
        again = await verifying.verify(made, handed.flux.kube, passing=wanted)
        assert again.is_complete, report.failures(again)
        assert certifying.is_sealed(again)

        # Pods that are replaced later are no flaw of the handover; an owner that comes later is one of the cluster.
        (pod,) = await handed.pods("rolled")
        await handed.flux.kube.delete("v1", "Pod", pod["metadata"]["name"], namespace=handed.namespace)
        await handed.flux.kube.apply(_config_map(handed.namespace, "verified", word="hello"), manager="helm")
        again = await verifying.verify(made, handed.flux.kube, passing=wanted)

        assert {each.split(":")[0] for each in report.failures(again)} == {f"ConfigMap {handed.namespace}/verified"}
        assert "helm (Apply) owns data.word" in report.failures(again)[0]
        rolled = next(each for each in again.objects if each.id.name == "rolled")
        assert "since then: pod" in _proofs(rolled)[Claim.SAME_PODS].says
        mine = audit_log.writes(
            handed.flux.lab.home.audit_log, since=before, until=time.time(),
            is_asked=lambda _, agent: handed.world.run in agent,
        )  # fmt: skip
        assert mine == ()

    async def test_a_tampered_one_and_one_of_another_cluster(self, handed: HandedOver) -> None:
        made = await handed.certified("plain")
        passing = handed.only("plain").passing

        for bad in (dataclasses.replace(made, at=1), dataclasses.replace(made, objects=(), digest="")):
            with pytest.raises(errors.FirstlightError, match="changed after it was sealed"):
                await verifying.verify(bad, handed.flux.kube, passing=passing)
        other = certifying.seal(dataclasses.replace(made, uid="another"))
        with pytest.raises(errors.Refused, match="of another cluster"):
            await verifying.verify(other, handed.flux.kube, passing=passing)

    async def test_signed(self, handed: HandedOver, tmp_path: Path) -> None:
        key, stranger = tmp_path / "key", tmp_path / "stranger"
        for each in (key, stranger):
            await command.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", each.name, "-f", str(each)])
        signers, strangers = tmp_path / "signers", tmp_path / "strangers"
        signers.write_text(f"me@example.org {key.with_suffix('.pub').read_text()}")
        strangers.write_text(f"you@example.org {stranger.with_suffix('.pub').read_text()}")
        task = dataclasses.replace(handed.only("plain", "main"), key=key)

        await _perform(handed, task)

        assert await action.look(task, handed.world, "test") is None, "it is signed already"
        kept = keeping_certificate.read(handed.world.state / "test" / "certificate.json").certificate
        assert await verifying.check(kept, signers=signers) == "me@example.org"
        assert (await verifying.check(kept)).startswith("SHA256:")
        with pytest.raises(errors.ClientError, match="the signature is not good"):
            await verifying.check(kept, signers=strangers)
        with pytest.raises(errors.ClientError, match="the signature is not good"):
            await verifying.check(dataclasses.replace(kept, signature=kept.signature.replace("A", "B")))
        forged = dataclasses.replace(certifying.seal(dataclasses.replace(kept, at=1)), signature=kept.signature)
        with pytest.raises(errors.ClientError, match="the signature is not good"):
            await verifying.check(forged)
        with pytest.raises(errors.ClientError, match="is not signed"):
            await verifying.check(dataclasses.replace(kept, signature=""), signers=signers)

        # Whoever signs with another key means it.
        change = await action.look(dataclasses.replace(task, key=stranger), handed.world, "test")
        assert change is not None
        assert change.writes == ("sign the certificate in ConfigMap kube-system/firstlight-certificate",)
        await change.perform()
        again = await _kept(handed)
        assert again.digest == kept.digest, "nothing is proven anew"
        assert await verifying.check(again, signers=strangers) == "you@example.org"


class TestCanary:
    async def test_a_label_comes_and_goes_through_git(self, handed: HandedOver) -> None:
        name = f"tests/{handed.namespace}"
        await handed.flux.sources.create_git(name, access=Access(anonymous="write"))
        url = next(each.url for each in await handed.flux.sources.list_git() if each.name == name)
        program = shutil.which("git")
        assert program is not None
        branch = canary.Branch(git=Git(Path(program), schemes=("http",)), url=url, name="main")
        passing = handed.only("plain", "web", "key").passing
        asked: list[str] = []
        claims: list[int] = []

        def confirm(text: str) -> bool:
            asked.append(text)
            return len(asked) > 1

        async def claim() -> None:
            claims.append(len(asked))

        with pytest.raises(errors.Refused, match="nothing was pushed"):
            await canary.prove(passing, handed.flux.kube, branch, confirm=confirm, claim=claim)
        assert claims == []
        proof = await canary.prove(passing, handed.flux.kube, branch, confirm=confirm, claim=claim, timeout=60)
        assert len(claims) == 1

        assert proof.holds, proof.says
        assert proof.is_tried
        assert f"ConfigMap {handed.namespace}/plain" in proof.says
        assert "two commits are pushed to main" in asked[0]
        assert (await handed.get("ConfigMap", "plain"))["metadata"]["labels"].keys() == {
            "part", "kustomize.toolkit.fluxcd.io/name", "kustomize.toolkit.fluxcd.io/namespace",
        }  # fmt: skip
        await _perform(handed, handed.only("plain"))
        kept = keeping_certificate.read(handed.world.state / "test" / "certificate.json").certificate
        made = await canary.record(kept, proof, handed.flux.kube, handed.world.state / "test")
        assert made.is_complete
        assert certifying.is_sealed(made)
        assert keeping_certificate.read(handed.world.state / "test" / "certificate.json").certificate == made


class TestProvisional:
    async def test_talos_keeps_what_the_engine_does_not_hold(self, handed: HandedOver) -> None:
        path = handed.world.state / "test" / "certificate.provisional.json"

        made = await provisional.require(handed.only("plain", "main").passing, handed.world)

        assert (made.stage, made.is_complete) == (Stage.PROVISIONAL, True)
        assert keeping_certificate.read(path).certificate == made
        kept = await keeping_certificate.load(handed.flux.kube, uid=made.uid)
        assert kept is None or kept.stage == Stage.FINAL, "it is not the cluster's"
        await handed.flux.kube.apply(_config_map(handed.namespace, "held", word="hello"), manager="talos")
        with pytest.raises(errors.Refused, match=r"Talos keeps everything.*talos \(Apply\) owns data.word"):
            await provisional.require(handed.only("held").passing, handed.world)
        assert not keeping_certificate.read(path).certificate.is_complete


class TestBroken:
    async def test_a_stale_co_owner(self, handed: HandedOver) -> None:
        await handed.flux.kube.apply(_config_map(handed.namespace, "coowned", word="hello"), manager="talos")

        failed = await handed.failed("coowned")

        assert "talos (Apply) owns data.word" in failed[Claim.ALONE]
        assert set(failed) <= {Claim.ALONE, Claim.VANISHES}

    async def test_somebody_changed_a_field(self, handed: HandedOver) -> None:
        await handed.flux.kube.patch(
            "v1", "ConfigMap", "edited", {"data": {"word": "bye"}}, manager="kubectl-edit", namespace=handed.namespace
        )

        failed = await handed.failed("edited")

        assert "kubectl-edit owns data.word" in failed[Claim.NO_OP]
        assert "data.word: kubectl-edit owns it" in failed[Claim.OWNED]

    async def test_a_field_that_nobody_owns(self, handed: HandedOver) -> None:
        live = await handed.get("ConfigMap", "unowned")
        entries = live["metadata"]["managedFields"]
        for each in entries:
            each["fieldsV1"]["f:data"].pop("f:other", None)
        patch = [{"op": "replace", "path": "/metadata/managedFields", "value": entries}]
        await handed.flux.kube.patch(
            "v1", "ConfigMap", "unowned", patch, form="json", manager="tests", namespace=handed.namespace
        )

        failed = await handed.failed("unowned")

        assert failed[Claim.OWNED] == "data.other: nobody owns it"
        assert Claim.REPEATED not in failed, "nothing is applied where it would change something"

    async def test_an_object_that_was_deleted_and_made_anew(self, handed: HandedOver) -> None:
        await handed.flux.kube.delete("v1", "ConfigMap", "anew", namespace=handed.namespace)
        assert (await handed.certified("anew")).missing == (f"ConfigMap {handed.namespace}/anew",)
        await handed.flux.reconcile("Kustomization", "all", handed.namespace)

        failed = await handed.failed("anew")

        assert list(failed) == [Claim.SAME_OBJECT]
        assert "it was deleted and made anew" in failed[Claim.SAME_OBJECT]

    async def test_a_restarted_pod(self, handed: HandedOver) -> None:
        (pod,) = await handed.pods("restarted")
        statuses = pod["status"]["containerStatuses"]
        statuses[0]["restartCount"] = 3
        await handed.flux.kube.patch(
            "v1", "Pod", pod["metadata"]["name"], {"status": {"containerStatuses": statuses}}, manager="tests",
            namespace=handed.namespace, subresource="status",
        )  # fmt: skip

        failed = await handed.failed("restarted")

        assert failed == {Claim.SAME_PODS: f"pod {pod['metadata']['name']} was restarted 3 times"}

    async def test_a_replaced_pod(self, handed: HandedOver) -> None:
        (pod,) = await handed.pods("replaced")
        await handed.flux.kube.delete("v1", "Pod", pod["metadata"]["name"], namespace=handed.namespace)

        async def is_another() -> bool:
            return [each["metadata"]["uid"] for each in await handed.pods("replaced")] not in (
                [], [pod["metadata"]["uid"]],
            )  # fmt: skip

        await until(is_another, "another pod")

        failed = await handed.failed("replaced")

        assert failed == {Claim.SAME_PODS: f"pod {pod['metadata']['name']} is not there any more"}

    async def test_an_engine_that_does_not_list_it(self, handed: HandedOver, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(awaiting, "TIMEOUT", 0.5)
        stranger = {**_config_map(handed.namespace, "stranger", word="hello")}
        await handed.flux.kube.apply(stranger, manager=MANAGER)
        one = dataclasses.replace(handed.task.passing[0], object=Object(stranger))
        handed.told.clear()

        made = await certifying.certify(
            dataclasses.replace(handed.task, passing=(one,)), handed.world, stage=Stage.FINAL, step="test"
        )

        failed = {each.claim: each.says for each in made.objects[0].proofs if not each.holds}
        assert failed[Claim.MARKED] == f"Kustomization {handed.namespace}/all does not list it"
        assert _proofs(made.objects[0])[Claim.SAME_OBJECT].says == "the baseline does not name it"
        assert any("does not list ConfigMap" in each for each in handed.told)

    async def test_a_mark_by_which_somebody_keeps_the_engine_away(self, handed: HandedOver) -> None:
        name = "kustomize.toolkit.fluxcd.io/reconcile"
        await handed.flux.kube.patch(
            "v1", "ConfigMap", "paused", {"metadata": {"annotations": {name: "disabled"}}}, manager="node-fetch",
            namespace=handed.namespace,
        )  # fmt: skip

        failed = await handed.failed("paused")

        assert f"metadata.annotations[{name}]" in failed[Claim.MARKED]
        assert "which Git does not have" in failed[Claim.MARKED]

    async def test_an_engine_that_rests(self, handed: HandedOver) -> None:
        kube, name = handed.flux.kube, f"Kustomization {handed.namespace}/all"
        version = "kustomize.toolkit.fluxcd.io/v1"

        async def suspend(wanted: bool) -> None:
            await kube.patch(
                version, "Kustomization", "all", {"spec": {"suspend": wanted}}, manager="tests",
                namespace=handed.namespace,
            )  # fmt: skip

        made = await handed.certified("plain")
        await suspend(True)
        try:
            failed = await handed.failed("plain")
            again = await verifying.verify(made, kube, passing=handed.only("plain").passing)
        finally:
            await suspend(False)
            await handed.flux.ready("Kustomization", "all", handed.namespace)

        says = f"{name} is suspended: nothing reconciles it until it is resumed"
        assert failed == {Claim.MARKED: says}
        assert not again.is_complete
        assert says in report.failures(again)[0]

    async def test_an_incomplete_one_is_kept_for_reading_and_never_looks_complete(self, handed: HandedOver) -> None:
        await handed.flux.kube.patch(
            "v1", "ConfigMap", "drifted", {"data": {"word": "bye"}}, manager="kubectl-edit", namespace=handed.namespace
        )
        change = await action.look(handed.only("drifted"), handed.world, "test")
        assert change is not None

        with pytest.raises(
            errors.FirstlightError, match=r"drifted: .*kubectl-edit owns.*not so: an unforced apply"
        ) as caught:
            await change.perform()

        path = handed.world.state / "test" / "certificate.incomplete.json"
        assert str(path) in caught.value.hint
        found = keeping_certificate.read(path).certificate
        assert not found.is_complete
        assert certifying.is_sealed(found)
        assert await action.look(handed.only("drifted"), handed.world, "test") is not None
