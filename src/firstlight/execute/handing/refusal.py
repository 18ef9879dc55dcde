"""Why a server does not take an object, with fields and without values: what is told is kept in files and journals."""

import re

from firstlight.clients import kube
from firstlight.clients.kube.errors import Cause

_SHOWN = 3
_NO_DRY_RUN = "does not support dry run"
_WEBHOOK = re.compile(r'admission webhook "(?P<name>[^"]+)"')
_POLICY = re.compile(r"ValidatingAdmissionPolicy '(?P<name>[^']+)'")
_UNKNOWN = re.compile(r"(?P<field>\.[\w.-]+): field not declared in schema")
_WORDS = re.compile(r"[A-Za-z][\w ,.;'`()/-]*")
"""What Kubernetes says by itself; values are in quotes or braces, or numbers."""
_VALUES = ("FieldValueDuplicate", "FieldValueNotFound", "FieldValueNotSupported")
"""Whose message ends with a value."""


def told(error: "kube.ApiError") -> str:
    """The reason, for people.

    Args:
        error: What the server answered.
    """
    if isinstance(error, kube.Conflict) and error.conflicts:
        owned = [f"{each.manager} owns {each.field.lstrip('.')}" for each in error.conflicts]
        more = f" and {len(owned) - _SHOWN} more" if len(owned) > _SHOWN else ""
        return f"in conflict: {', '.join(owned[:_SHOWN])}{more}"
    if webhook := _WEBHOOK.search(error.detail):
        what = "takes no dry runs" if is_for_want_of_dry_runs(error) else "refuses it"
        return f"the webhook {webhook['name']} {what}"
    if policy := _POLICY.search(error.detail):
        return f"the policy {policy['name']} refuses it"
    if unknown := _UNKNOWN.search(error.detail):
        return f"{unknown['field'].lstrip('.')}: field not declared in schema"
    found = dict.fromkeys(_cause(each) for each in error.causes if each.field)
    return "; ".join(found) or f"the server refuses it: {error.code} {error.reason}"


def is_for_want_of_dry_runs(error: "kube.ApiError") -> bool:
    """Whether it was only because somebody that must be asked takes no dry runs."""
    return _NO_DRY_RUN in error.detail


def _cause(cause: Cause) -> str:
    # "Invalid value: {…}: field is immutable": what is between is a value, and may be long.
    said = cause.message.rpartition(": ")[2]
    if cause.reason in _VALUES or not _WORDS.fullmatch(said):
        said = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", cause.reason.removeprefix("FieldValue")).lower()
    return ": ".join(each for each in (cause.field, said) if each)
