"""What is known of other people's products, from tables beside the rules: ``policy/*.yaml``."""

import importlib.resources
from typing import TypeVar

import msgspec

from firstlight.document import reading

Form = TypeVar("Form")


def read(name: str, form: type[Form]) -> Form:
    """A table, in its form."""
    file = importlib.resources.files("firstlight.policy") / name
    (document,) = reading.read(file.read_bytes(), name).documents
    return msgspec.convert(document.value, form)
