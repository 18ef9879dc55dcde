"""Webhooks that stand in their own way: they must admit the pods that answer for them."""

from collections.abc import Iterator
from typing import Any

from firstlight.document.within import mapping, sequence, text
from firstlight.model.component import Side
from firstlight.model.plan import Link, Problem, Severity
from firstlight.model.rendition import Object
from firstlight.plan import facts
from firstlight.plan.facts import Facts

_KINDS = {"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"}


def problems(known: Facts) -> Iterator[Problem]:
    """Webhooks of bootstrap that refuse pods everywhere while nobody answers, their own pods included."""
    for component in known.bootstrap:
        objects = known.objects(component, Side.BOOTSTRAP)
        for item in objects:
            if item.id.kind not in _KINDS:
                continue
            for hook in sequence(item.value, "webhooks"):
                if _is_strict_on_pods(hook) and _is_own(hook, objects):
                    name = text(hook, "name") or item.id.name
                    yield Problem(
                        rule="webhook-of-itself",
                        severity=Severity.WARNING,
                        message=f"the webhook {name} must admit the pods that answer for it: "
                        "once none is left, none can start",
                        chain=(
                            Link(component.name, f"{item.id.kind} {item.id.name} refuses pods of every namespace "
                                 "while its Service does not answer", facts.place(component, Side.BOOTSTRAP)),
                        ),
                        way_out="Exclude its own namespace with a namespaceSelector, or give it failurePolicy: Ignore.",
                        component=component.name,
                    )  # fmt: skip


def _is_strict_on_pods(hook: Any) -> bool:
    if text(hook, "failurePolicy") == "Ignore" or not mapping(hook, "clientConfig", "service"):
        return False
    if mapping(hook, "namespaceSelector") or mapping(hook, "objectSelector") or sequence(hook, "matchConditions"):
        return False
    return any(_has_pods(rule) for rule in sequence(hook, "rules"))


def _has_pods(rule: Any) -> bool:
    groups, resources = sequence(rule, "apiGroups"), sequence(rule, "resources")
    operations = sequence(rule, "operations")
    return (
        any(each in ("", "*") for each in groups)
        and any(each in ("pods", "*", "*/*") for each in resources)
        and any(each in ("CREATE", "*") for each in operations)
    )


def _is_own(hook: Any, objects: tuple[Object, ...]) -> bool:
    service = mapping(hook, "clientConfig", "service")
    wanted = ("Service", text(service, "namespace"), text(service, "name"))
    return any((each.id.kind, each.id.namespace, each.id.name) == wanted for each in objects)
