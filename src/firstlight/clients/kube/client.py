"""The Kubernetes API: methods named for its verbs, plain dicts in and out.

``async with kube.Client(config) as client``. Kinds are found by discovery, what may pass is repeated as
``retry`` says, and every other answer is an exception of ``kube.errors``. A namespaced object without a
namespace is meant to be in the namespace of the context, as in kubectl.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from firstlight.clients.kube import (
    api_request,
    kube_errors,
    retry,
    transport,
)
from firstlight.clients.kube.connection import JSON
from firstlight.clients.kube.reading import ObjectReader

Object = api_request.Object
PatchForm = api_request.PatchForm
Propagation = Literal["Background", "Foreground", "Orphan"]

_PATCH_TYPES: Mapping[PatchForm, str] = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
}


class Client(ObjectReader):
    """The whole API: what an ``ObjectReader`` can, and the verbs that write."""

    async def apply(
        self,
        obj: Mapping[str, Any],
        *,
        manager: str,
        force: bool = False,
        dry_run: bool = False,
        subresource: str = "",
    ) -> Object:
        """Server-side apply: the fields of ``obj`` are the manager's, and those it no longer has are dropped.

        Raises:
            kube_errors.Conflict: Another manager owns a field, and ``force`` is not set.
            kube_errors.Invalid: A field is wrong.
        """
        api_version, kind, name, metadata = api_request.identity(obj)
        resource, place = await self._place(api_version, kind, metadata.get("namespace"))
        is_guarded = bool(metadata.get("resourceVersion") or metadata.get("uid"))
        params = [*api_request.write_params(manager, dry_run), ("force", "true" if force else "false")]
        call = transport.HttpCall(
            "PATCH",
            resource.path(namespace=place, name=api_request.required(name), subresource=subresource),
            self._target("apply", api_version, kind, namespace=place, name=name),
            api_request.repeat(is_guarded=is_guarded, dry_run=dry_run),
            params=tuple(params),
            headers={"Content-Type": "application/apply-patch+yaml", "Accept": "application/json"},
            body=api_request.as_apply(obj),
        )
        return api_request.as_object(await self._exchange.perform(call), call)

    async def create(self, obj: Mapping[str, Any], *, manager: str, dry_run: bool = False) -> Object:
        """Create an object that must not be there yet.

        If the answer is lost, the object is looked up: if it is there and holds what was sent, it is the
        answer.

        Raises:
            kube_errors.AlreadyExists: One of that name is there.
            kube_errors.Ambiguous: The answer was lost, and without a name it cannot be looked up.
        """
        api_version, kind, name, metadata = api_request.identity(obj)
        resource, place = await self._place(api_version, kind, metadata.get("namespace"))
        target = self._target("create", api_version, kind, namespace=place, name=name)
        call = transport.HttpCall(
            "POST",
            resource.path(namespace=place),
            target,
            retry.Repeat.ALWAYS if dry_run else retry.Repeat.READ_BACK if name else retry.Repeat.NEVER,
            params=api_request.write_params(manager, dry_run),
            headers={**JSON, "Accept": "application/json"},
            body=api_request.as_json(obj),
        )
        there = dataclasses.replace(
            call,
            method="GET",
            path=resource.path(namespace=place, name=name),
            repeat=retry.Repeat.ALWAYS,
            params=(),
            body=None,
            expected=frozenset({404}),
        )

        async def look() -> transport.HttpResponse | None:
            answer = await self._exchange.perform(there)
            if answer.status == 404:
                return None
            if api_request.is_object_subset(obj, answer.document):
                return answer
            raise kube_errors.AlreadyExists(
                target,
                code=409,
                reason="AlreadyExists",
                detail="an object of that name with other content is there",
            )

        return api_request.as_object(await self._exchange.perform(call, look=look), call)

    async def patch(
        self,
        api_version: str,
        kind: str,
        name: str,
        body: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        form: PatchForm = "merge",
        manager: str,
        namespace: str | None = None,
        subresource: str = "",
        dry_run: bool = False,
    ) -> Object:
        """Change parts of an object.

        Raises:
            kube_errors.NotFound: It is not there.
            kube_errors.Ambiguous: The answer was lost, and a JSON patch without a ``test`` cannot be
                repeated.
        """
        resource, place = await self._place(api_version, kind, namespace)
        call = transport.HttpCall(
            "PATCH",
            resource.path(namespace=place, name=api_request.required(name), subresource=subresource),
            self._target("patch", api_version, kind, namespace=place, name=name),
            api_request.patch_repeat(body, form=form, dry_run=dry_run),
            params=api_request.write_params(manager, dry_run),
            headers={"Content-Type": _PATCH_TYPES[form], "Accept": "application/json"},
            body=api_request.as_json(body),
        )
        return api_request.as_object(await self._exchange.perform(call), call)

    async def delete(
        self,
        api_version: str,
        kind: str,
        name: str,
        *,
        namespace: str | None = None,
        propagation: Propagation = "Background",
        uid: str | None = None,
        resource_version: str | None = None,
    ) -> Object:
        """Delete an object; what comes back is its last state, or a Status.

        Raises:
            kube_errors.NotFound: It is not there.
            kube_errors.Conflict: It is another one than ``uid`` or ``resource_version`` say.
        """
        resource, place = await self._place(api_version, kind, namespace)
        options: Object = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": propagation}
        preconditions = {"uid": uid, "resourceVersion": resource_version}
        if any(preconditions.values()):
            options["preconditions"] = {key: value for key, value in preconditions.items() if value}
        call = transport.HttpCall(
            "DELETE",
            resource.path(namespace=place, name=api_request.required(name)),
            self._target("delete", api_version, kind, namespace=place, name=name),
            retry.Repeat.ALWAYS,
            headers={**JSON, "Accept": "application/json"},
            body=api_request.as_json(options),
        )
        return api_request.as_object(await self._exchange.perform(call), call)

    async def evict(self, name: str, *, namespace: str, uid: str = "") -> None:
        """Ask for a pod to end, as its disruption budgets allow.

        Asked once: that a budget says no is an answer, not a reason to ask again at once.

        Args:
            name: The pod.
            namespace: Where it is.
            uid: Which one is meant; one of the same name that came after it is left alone.

        Raises:
            kube_errors.TooManyRequests: Not now: a budget holds it, or the server is busy; ``causes`` tell.
            kube_errors.NotFound: It is not there.
            kube_errors.Conflict: It is another one than ``uid`` says.
        """
        resource, place = await self._place("v1", "Pod", namespace)
        metadata = {"name": name, "namespace": place}
        eviction: Object = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata}
        if uid:
            eviction["deleteOptions"] = {"preconditions": {"uid": uid}}
        call = transport.HttpCall(
            "POST",
            resource.path(namespace=place, name=api_request.required(name), subresource="eviction"),
            self._target("evict", "v1", "Pod", namespace=place, name=name),
            retry.Repeat.ALWAYS if uid else retry.Repeat.NEVER,
            headers={**JSON, "Accept": "application/json"},
            body=api_request.as_json(eviction),
            expected=frozenset({429}),
        )
        answer = await self._exchange.perform(call)
        if answer.status == 429:
            raise kube_errors.from_status(call.target, answer.document, code=429, retry_after=answer.retry_after)
