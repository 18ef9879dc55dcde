"""Objects as bytes of a request."""

import re
from typing import Any

import msgspec

# Allowed raw in JSON, but not in YAML 1.1, or read there as line breaks and folded into spaces.
_NOT_YAML = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def as_json(document: Any) -> bytes:
    """For creates and patches."""
    return msgspec.json.encode(document)


def as_apply(document: Any) -> bytes:
    """For server-side apply, which reads YAML: JSON, with escapes where the two differ."""
    text = msgspec.json.encode(document).decode()
    return _NOT_YAML.sub(lambda match: f"\\u{ord(match[0]):04x}", text).encode()
