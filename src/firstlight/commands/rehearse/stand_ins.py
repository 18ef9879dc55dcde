"""What controllers would create that do not really run: played beside the run, and told in the report."""

from __future__ import annotations

import asyncio
import base64
import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from firstlight import errors
from firstlight.clients import kube
from firstlight.document import yaml_reader
from firstlight.lab.running_lab import Lab
from firstlight.secrets import dummies

PAUSE = 1.0
"""Seconds between two looks."""
OPERATOR = "io.cilium/app=operator"
STORES = "external-secrets.io"
SIMULATED = (
    ("operator's kinds", "Cilium's operator defines its kinds when its pod is ready"),
    ("external secrets", "ExternalSecrets get a Secret with dummies"),
)
_APPLIED = "cilium-operator-generic"
_MADE = "externalsecrets.external-secrets.io"

Object = Mapping[str, Any]


async def play(lab: Lab, kinds: Sequence[Object]) -> None:
    """Play them, until it is cancelled.

    Args:
        lab: Where; there may be no API yet.
        kinds: The CRDs that Cilium's operator brings.
    """
    done: set[str] = set()
    while True:
        # An API that is not there, or moves to another machine, is asked again.
        with contextlib.suppress(errors.FirstlightError, OSError):
            if lab.kubeconfig.exists():
                async with kube.Client(kube.load(lab.kubeconfig)) as client:
                    while True:
                        await _define(client, kinds, done)
                        await _fill(client)
                        await asyncio.sleep(PAUSE)
        await asyncio.sleep(PAUSE)


async def _define(client: kube.Client, kinds: Sequence[Object], done: set[str]) -> None:
    """Define what the operator of Cilium defines, once one of its pods is ready."""
    missing = [each for each in kinds if each["metadata"]["name"] not in done]
    if not missing:
        return
    pods = (await client.list("v1", "Pod", labels=OPERATOR)).items
    if not any(map(_is_ready, pods)):
        return

    async def define(kind: Object) -> None:
        await client.apply(kind, manager=_APPLIED)
        done.add(kind["metadata"]["name"])

    await asyncio.gather(*map(define, missing))


async def _fill(client: kube.Client) -> None:
    """Make the Secrets that External Secrets would make; one that is there is left alone."""
    for version in ("v1", "v1beta1"):
        with contextlib.suppress(kube.UnknownKind):
            found = (await client.list(f"{STORES}/{version}", "ExternalSecret")).items
            there = {_place(each) for each in (await client.list("v1", "Secret", metadata_only=True)).items}
            for secret in secrets(found):
                if _place(secret) not in there:
                    with contextlib.suppress(kube.AlreadyExists):
                        await client.create(secret, manager=_MADE)
            return


def secrets(wanted: Iterable[Object]) -> Iterator[Object]:
    """The Secrets of ExternalSecrets whose store answered, with dummies."""
    for each in wanted:
        metadata, spec = each["metadata"], each.get("spec") or {}
        if not _is_ready(each):
            continue
        target = spec.get("target") or {}
        keys = [str(one["secretKey"]) for one in spec.get("data") or () if one.get("secretKey")]
        keys = [str(key) for key in (target.get("template") or {}).get("data") or ()] or keys
        yield {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": target.get("name") or metadata["name"], "namespace": metadata["namespace"]},
            "data": {key: _dummy(key, metadata["name"]) for key in keys},
        }


def _dummy(key: str, base: str) -> str:
    return base64.b64encode(dummies.dummy_value(key, base=base).reveal()).decode()


def _place(obj: Object) -> tuple[str, str]:
    return str(obj["metadata"].get("namespace") or ""), str(obj["metadata"]["name"])


def _is_ready(obj: Object) -> bool:
    conditions = (obj.get("status") or {}).get("conditions") or ()
    return any(each.get("type") == "Ready" and each.get("status") == "True" for each in conditions)


# The CRDs that Cilium's operator carries in itself: out of the catalogue, where they lie beside its chart.


CILIUM_CRDS = "cilium-chart"


def cilium_crds(content: Path) -> tuple[Mapping[str, Any], ...]:
    """All of them."""
    return tuple(
        document
        for path in sorted((content / "crds").rglob("*.yaml"))
        for document in yaml_reader.load_all(path.read_bytes())
        if document
    )
