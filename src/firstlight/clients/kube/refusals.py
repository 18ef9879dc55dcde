"""Why a Kubernetes API server does not take an object, read from the words of the server.

What is told of it has fields and no values: it is kept in files and journals.
"""

import re

from firstlight.clients.kube.kube_errors import ApiError, Conflict, DryRunRefused, Forbidden, ServerError, StatusCause

_REFUSAL_SHOWN = 3
_WEBHOOK = re.compile(r'admission webhook "(?P<name>[^"]+)"')
_SILENT_WEBHOOK = re.compile(r'failed calling webhook(?: "(?P<name>[^"]+)")?')
_ENDING = "is being terminated"
_POLICY = re.compile(r"ValidatingAdmissionPolicy '(?P<name>[^']+)'")
_UNKNOWN = re.compile(r"(?P<field>\.[\w.-]+): field not declared in schema")
_PHRASES = frozenset({
    "field is immutable", "field is immutable when `immutable` is set", "field is immutable once set",
    "field can not be less than previous value", "field not declared in schema",
    "may not be changed once set", "may not change once set", "may not be unset", "may not be empty",
    "may not be decremented", "may not be specified when `value` is not empty", "may not be used",
    "must be greater than or equal to 0", "must be greater than zero", "must be non-negative", "must be specified",
    "must be unique", "must match `metadata.name`", "must match an existing variable name", "must not be empty",
    "cannot be changed", "cannot be empty", "cannot change roleRef", "cannot be unset", "cannot be updated",
    "`selector` does not match template `labels`", "primary clusterIP can not be unset",
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims",
    "spec is immutable after creation except resources.requests for bound claims",
})  # fmt: skip
"""What Kubernetes itself says of fields. A rule of a CRD may say anything, with values in it and no quotes."""
_NAMES = (
    r"(?:'(?:replicas|ordinals|template|updateStrategy|revisionHistoryLimit|persistentVolumeClaimRetentionPolicy|"
    r"minReadySeconds|parallelism|completions|suspend)'(?:, | and |, and )?)+"
)
_OTHER_THAN = re.compile(rf"updates to (?:statefulset spec for )?fields other than {_NAMES} are forbidden")
_VALUES = ("FieldValueDuplicate", "FieldValueNotFound", "FieldValueNotSupported")
"""Whose message ends with a value."""


def text(error: ApiError) -> str:
    """The reason, for people.

    Args:
        error: What the server answered.
    """
    if isinstance(error, Conflict) and error.conflicts:
        owned = [f"{each.manager} owns {each.field.lstrip('.')}" for each in error.conflicts]
        more = f" and {len(owned) - _REFUSAL_SHOWN} more" if len(owned) > _REFUSAL_SHOWN else ""
        return f"in conflict: {', '.join(owned[:_REFUSAL_SHOWN])}{more}"
    if webhook := _WEBHOOK.search(error.detail):
        what = "takes no dry runs" if isinstance(error, DryRunRefused) else "refuses it"
        return f"the webhook {webhook['name']} {what}"
    if policy := _POLICY.search(error.detail):
        return f"the policy {policy['name']} refuses it"
    if unknown := _UNKNOWN.search(error.detail):
        return f"{unknown['field'].lstrip('.')}: field not declared in schema"
    found = dict.fromkeys(_cause(each) for each in error.causes if each.field)
    return "; ".join(found) or f"the server refuses it: {error.code} {error.reason}"


def silent_webhook(error: ApiError) -> str:
    """Return the name of the webhook that does not answer; ``unknown`` for one without a name, empty for none."""
    found = _SILENT_WEBHOOK.search(error.detail) if isinstance(error, ServerError) else None
    return (found["name"] or "unknown") if found else ""


def is_for_an_ending_namespace(error: ApiError) -> bool:
    """Whether it was because the namespace is being deleted."""
    return isinstance(error, Forbidden) and _ENDING in error.detail


def _cause(cause: StatusCause) -> str:
    # "Invalid value: {…}: field is immutable": what is between is a value, and may be long.
    said = cause.message.rpartition(": ")[2]
    if cause.reason in _VALUES or not (said in _PHRASES or _OTHER_THAN.fullmatch(said)):
        said = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", cause.reason.removeprefix("FieldValue")).lower()
    return ": ".join(each for each in (cause.field, said) if each)
