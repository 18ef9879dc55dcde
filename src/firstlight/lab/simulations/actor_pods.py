"""Says which real programs are to run for the pods of the cluster, with the rights of their ServiceAccounts.

What runs is decided in ``actors`` and ``actor_command``; the supervisor reads it from a file and keeps the processes.
A program has what its pod would have: a token bound to that pod, which is renewed and ends with it, and variables
as they were when it started. It never has the administrator's rights.
"""

import asyncio
import base64
import contextlib
import datetime
import secrets
import time
from collections.abc import Mapping

import msgspec

from firstlight.clients import kube
from firstlight.lab import certificates, lab_directory
from firstlight.lab.actors import actor_command, actor_table
from firstlight.lab.actors.actor_table import Actor, ActorRow
from firstlight.lab.simulations.simulated_cluster import Object, SimulatedCluster, log
from firstlight.tools import catalogue

LIFETIME = 3600
"""Seconds that a token is asked for."""
SHARE = 0.6
"""Of a token's life after which it is renewed; a program reads the file again every minute."""
LOOK = 2.0
"""Seconds between two looks at the clock, and at what an actor waits for."""
NUMBERS = ".addresses.json"
"""Beside the directories of actors, none of which begins with a dot."""
PASSWORD = "actors.password"  # noqa: S105 -- a file's name


class ActorSimulation:
    """What a kubelet would start."""

    what = "nothing: it says whose real programs run beside their pods"

    async def start(self, world: SimulatedCluster) -> None:
        """Take up what an earlier process has said: a container's variables do not change while it runs."""
        self._rows = actor_table.rows(world.settings.actors)
        self._said = {each.name: each for each in actor_table.read_actors(world.home.wanted_actors).actors}
        self._renewal: dict[str, float] = {}
        self._numbers: dict[str, int] = {}
        with contextlib.suppress(OSError, msgspec.MsgspecError):
            self._numbers = msgspec.json.decode((world.home.actors / NUMBERS).read_bytes(), type=dict[str, int])
        port = world.net.faults if world.settings.actors_meet_faults else world.net.api
        self._is_free = world.settings.actors_execute
        self._api = f"https://{world.net.loopback}:{port}"
        self.shared: dict[str, str] = {}
        if self._rows:
            self.shared = shared(world.home)
            world.tasks.create_task(self._remind(world))
        elif self._said:
            self._say(world, {})

    async def _remind(self, world: SimulatedCluster) -> None:
        while True:
            await asyncio.sleep(LOOK)
            is_due = any(moment < time.time() for moment in self._renewal.values())
            if is_due or any(each.waits for each in self._said.values()):
                await world.notify()

    async def act(self, world: SimulatedCluster) -> None:
        """Say what is to run, and see to tokens."""
        if not self._rows:
            return
        nodes = {name: node for (_, name), node in world.nodes.items()}
        current = {name: each.pod for name, each in self._said.items()}
        chosen = actor_table.choose(self._rows, world.pods.values(), nodes, current=current)
        wanted = {name: self._said[name] for name, (_, pod) in chosen.items() if self._is_said(name, pod)}
        by_pod = {pod["metadata"]["uid"]: (name, row) for name, (row, pod) in chosen.items()}

        async def prepare(pod: Object) -> None:
            name, row = by_pod[pod["metadata"]["uid"]]
            if name not in wanted:
                wanted[name] = await self._actor(world, name, row, pod, current=chosen)
            if self._renewal.get(pod["metadata"]["uid"], 0) < time.time():
                await self._give_token(world, name, pod)

        await world.each([pod for _, pod in chosen.values()], prepare)
        self._renewal = {uid: moment for uid, moment in self._renewal.items() if uid in by_pod}
        # Without a token there is nothing that it could do.
        self._say(world, {name: each for name, each in wanted.items() if each.pod in self._renewal})

    def _is_said(self, name: str, pod: Object) -> bool:
        said = self._said.get(name)
        if said is None or said.waits:
            return False
        return (said.pod, said.api, said.is_free) == (pod["metadata"]["uid"], self._api, self._is_free)

    def _say(self, world: SimulatedCluster, wanted: Mapping[str, Actor]) -> None:
        if wanted != self._said:
            for name in sorted({*wanted, *self._said}):
                if wanted.get(name) != self._said.get(name):
                    log.info("actor %s %s", name, "runs" if name in wanted else "ends")
            self._said = dict(wanted)
            ordered = tuple(each for _, each in sorted(wanted.items()))
            lab_directory.write_whole(world.home.wanted_actors, msgspec.json.encode(actor_table.ActorList(ordered)))

    async def _actor(
        self, world: SimulatedCluster, name: str, row: ActorRow, pod: Object, *, current: Mapping[str, object]
    ) -> Actor:
        container = actor_table.container_of(row, pod)
        workload = actor_table.workload_of(pod)
        assert container is not None
        assert workload is not None
        namespace, uid = pod["metadata"]["namespace"], pod["metadata"]["uid"]
        facts = _Facts(self, world, name, namespace, uid, current)
        image = container.get("image", "")
        plain = Actor(name, f"{workload[0]} {namespace}/{workload[1]}", uid, row.name, image, self._api)
        try:
            env = actor_command.environment(row, container, pod, await _values(world, row, container, namespace))
        except actor_command.MissingEnvValue as missing:
            return msgspec.structs.replace(plain, waits=str(missing))
        kept, left = actor_command.arguments(row, container, env)
        own = tuple(actor_table.fill_template(each, facts) for each in row.flags)
        return msgspec.structs.replace(
            plain,
            kept=kept,
            own=own,
            kept_env=env,
            own_env={key: actor_table.fill_template(value, facts) for key, value in row.env.items()},
            probe=actor_table.fill_template(row.probe, facts),
            needs=tuple(facts.called),
            data=facts.plain["data"],
            is_free=self._is_free,
            notes=_notes(row, image, left),
        )

    def address(self, world: SimulatedCluster, name: str, current: Mapping[str, object]) -> str:
        """The address of an actor, which stays its own."""
        return world.net.actor(self._number(world, name, current))

    def _number(self, world: SimulatedCluster, name: str, current: Mapping[str, object]) -> int:
        numbers = actor_table.numbered(name, self._numbers, current)
        if numbers != self._numbers:
            self._numbers = numbers
            world.home.actors.mkdir(mode=0o700, exist_ok=True)
            lab_directory.write_whole(world.home.actors / NUMBERS, msgspec.json.encode(numbers))
        return numbers[name]

    async def _give_token(self, world: SimulatedCluster, name: str, pod: Object) -> None:
        metadata = pod["metadata"]
        account = pod["spec"].get("serviceAccountName") or "default"
        bound = {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata["uid"]}
        request = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": LIFETIME, "boundObjectRef": bound},
        }
        path = f"/api/v1/namespaces/{metadata['namespace']}/serviceaccounts/{account}/token"
        answer = await world.client.request("POST", path, body=msgspec.json.encode(request))
        status = msgspec.json.decode(answer.body)["status"]
        home = world.home.actor(name)
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        lab_directory.write_whole(home / "token", status["token"].encode())
        certificates.write_token_kubeconfig(
            home / "kubeconfig",
            server=self._api,
            authority=world.home.certificates / "ca.crt",
            user=f"system:serviceaccount:{metadata['namespace']}:{account}",
            token=home / "token",
            context=f"lab-{world.home.name}",
        )
        ends = datetime.datetime.fromisoformat(status["expirationTimestamp"]).timestamp()
        self._renewal[metadata["uid"]] = renewal(time.time(), ends)


def shared(home: lab_directory.LabDirectory) -> dict[str, str]:
    """By what the actors of a lab know each other: made once, so that a restarted simulator finds it as it was."""
    authority = certificates.CertificateAuthority(home.certificates, "actors-ca")
    pair = authority.issue("actors", common_name="firstlight lab actor")
    path = home.certificates / PASSWORD
    if not path.exists():
        lab_directory.write_whole(path, secrets.token_urlsafe(24).encode())
    files = {"authority": authority.pair.certificate, "certificate": pair.certificate, "key": pair.key}
    return {"password": path.read_text(), **{place: str(each) for place, each in files.items()}}


class _Facts:
    """What is known of one actor."""

    def __init__(
        self,
        owner: ActorSimulation,
        world: SimulatedCluster,
        name: str,
        namespace: str,
        uid: str,
        current: Mapping[str, object],
    ) -> None:
        self._owner, self._world, self._current = owner, world, current
        self._namespace = namespace
        self.called: dict[str, None] = {}
        """The actors whose addresses were asked for."""
        self.plain = {
            "address": owner.address(world, name, current),
            "namespace": namespace,
            "data": str(world.home.actors / name / uid),
            "home": str(world.home.actor(name)),
            "kubeconfig": str(world.home.actor(name) / "kubeconfig"),
            **owner.shared,
        }

    def port(self, number: int) -> int:
        return number + self._world.net.shift

    def actor(self, row: str) -> str:
        name = actor_table.actor_name(actor_table.row(row), self._namespace, row)
        self.called[name] = None
        return self._owner.address(self._world, name, self._current)


async def _values(world: SimulatedCluster, row: ActorRow, container: Object, namespace: str) -> actor_command.Values:
    """The data of what a container's variables refer to."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for reference in actor_command.references(row, container):
        if (reference.kind, reference.name) in found:
            continue
        with contextlib.suppress(kube.NotFound):
            obj = await world.client.get("v1", reference.kind, reference.name, namespace=namespace)
            data = obj.get("data") or {}
            if reference.kind == "Secret":
                data = {key: base64.b64decode(value).decode(errors="replace") for key, value in data.items()}
            found[reference.kind, reference.name] = data
    return found


def _notes(row: ActorRow, image: str, left: tuple[str, ...]) -> tuple[str, ...]:
    notes = [f"{', '.join(left)} of the pod is not taken over"] if left else []
    version, tag = catalogue.load().get(row.program).version, actor_table.image_tag(image)
    if tag and version != catalogue.SOURCE and tag.removeprefix("v") != version:
        notes.append(f"it is {version}, though the image says {tag}")
    return tuple(notes)


def renewal(now: float, ends: float) -> float:
    """When a token is to be renewed."""
    return now + (ends - now) * SHARE
