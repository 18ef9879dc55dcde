"""Rights that a change gives: rules of roles that those before did not cover, and bindings of powerful roles."""

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.document.within import sequence, text
from firstlight.policy.checking.pair import Pair

GROUP = "rbac.authorization.k8s.io"
ROLES = ("Role", "ClusterRole")
BINDINGS = ("RoleBinding", "ClusterRoleBinding")
_POWERFUL = ("cluster-admin", "admin", "edit", "system:masters")
_MOST = 6
"""Rights that are named; the rest is counted."""
_DANGEROUS_VERBS = ("escalate", "bind", "impersonate")
_DANGEROUS = (
    ("", "secrets"), ("", "pods/exec"), ("", "pods/attach"), ("", "nodes/proxy"), ("", "serviceaccounts/token"),
    ("certificates.k8s.io", "certificatesigningrequests/approval"),
)  # fmt: skip
"""Whoever may use these can become somebody else."""

Right = tuple[str, str, str, str]
"""API group, resource, verb and name of the object; ``*`` for any. Of a URL the group is ``url``."""


def rights(role: Mapping[str, Any] | None) -> frozenset[Right]:
    """Everything that a role allows."""
    found: set[Right] = set()
    for rule in sequence(role, "rules"):
        verbs = _texts(rule, "verbs")
        urls = itertools.product(("url",), _texts(rule, "nonResourceURLs"), verbs, ("*",))
        names = _texts(rule, "resourceNames") or ("*",)
        found.update(urls, itertools.product(_texts(rule, "apiGroups"), _texts(rule, "resources"), verbs, names))
    return frozenset(found)


def is_covered(right: Right, by: frozenset[Right]) -> bool:
    """Whether rights include another one; stars and prefixes of URLs count as the API server counts them."""
    return right in by or any(_covers(each, right) for each in by)


def widened(pair: Pair) -> Iterator[str]:
    """What a role or a binding gives that it did not give before, in words."""
    if pair.id.group != GROUP or pair.after is None:
        return
    if pair.id.kind in ROLES:
        yield from _of_role(pair)
    elif pair.id.kind in BINDINGS:
        yield from _of_binding(pair)


def _of_role(pair: Pair) -> Iterator[str]:
    before, after = rights(pair.before), rights(pair.after)
    new = sorted(each for each in after if not is_covered(each, before))
    if pair.before is None:
        # A new role comes with what it is for; only what makes its holder somebody else is worth a word.
        new = [each for each in new if _is_dangerous(each)]
    if new:
        more = f" and {len(new) - _MOST} more" if len(new) > _MOST else ""
        yield f"{pair} allows {', '.join(map(_shown, new[:_MOST]))}{more}"


def _of_binding(pair: Pair) -> Iterator[str]:
    role = text(pair.after, "roleRef", "name")
    old = {_subject(each) for each in sequence(pair.before, "subjects")}
    same = text(pair.before, "roleRef", "name") == role
    new = [name for each in sequence(pair.after, "subjects") if (name := _subject(each)) not in old or not same]
    if new and (pair.before is not None or role in _POWERFUL):
        yield f"{pair} gives {role} to {', '.join(new)}"


def _covers(wide: Right, right: Right) -> bool:
    if (wide[0] == "url") != (right[0] == "url"):
        return False
    if wide[2] not in ("*", right[2]):
        return False
    if wide[0] == "url":
        return wide[1] in ("*", right[1]) or (wide[1].endswith("*") and right[1].startswith(wide[1][:-1]))
    sub = f"*/{right[1].partition('/')[2]}" if "/" in right[1] else ""
    return (
        wide[0] in ("*", right[0])
        and (wide[1] in ("*", right[1]) or (bool(sub) and wide[1] == sub))
        and wide[3] in ("*", right[3])
    )


def _is_dangerous(right: Right) -> bool:
    group, resource, verb, _ = right
    return (
        (resource == "*" and group != "url")
        or (verb == "*" and group == "*")
        or verb in _DANGEROUS_VERBS
        or (group, resource) in _DANGEROUS
    )


def _shown(right: Right) -> str:
    group, resource, verb, name = right
    if group == "url":
        return f"{verb} {resource}"
    where = f".{group}" if group else ""
    return f"{verb} {resource}{where}" + (f" {name}" if name != "*" else "")


def _subject(value: Any) -> str:
    name = "/".join(each for each in (text(value, "namespace"), text(value, "name")) if each)
    return f"{text(value, 'kind')} {name}"


def _texts(value: Any, key: str) -> tuple[str, ...]:
    return tuple(each for each in sequence(value, key) if isinstance(each, str))
