"""Single values for a chart, as ``helm --set`` reads them: ``image.tag=1.2``, ``args={a,b}``, ``hosts[0].name=x``."""

from typing import Any

MAX_INDEX = 65536
MAX_DEPTH = 30
"""Both are Helm's own."""

_LARGEST = 2**63
_KEY, _INDEX, _AFTER_INDEX, _VALUE, _LIST = "=[,.", "]", "[.=", ",", ",}"


class BadSetting(ValueError):
    """Helm would refuse it."""


def put(values: dict[str, Any], line: str, *, as_text: bool = False) -> None:
    """Put what a line sets into values, in place; mappings on the way are changed in place, too, as Helm does it.

    Raises:
        BadSetting: It is not written as Helm wants it, or does not fit to what is there.
    """
    parser = _Parser(line, as_text=as_text)
    while not parser.is_at_end:
        parser.key(values, 0)


def escaped(value: str) -> str:
    """A value as Argo CD hands it to ``--set``: commas are part of it, unless it is a list in braces."""
    if value.startswith("{") and value.endswith("}"):
        return value
    made: list[str] = []
    before = ""
    for letter in value:
        made.append("\\," if letter == "," and before != "\\" else letter)
        before = letter
    return "".join(made)


def literal(value: str) -> str:
    """A value of which every letter is itself."""
    return "".join(f"\\{letter}" if letter in "\\,[]{}" else letter for letter in value)


class _Parser:
    def __init__(self, line: str, *, as_text: bool) -> None:
        self._line = line
        self._at = 0
        self._as_text = as_text

    @property
    def is_at_end(self) -> bool:
        return self._at >= len(self._line)

    def key(self, data: dict[str, Any], depth: int) -> None:
        if depth > MAX_DEPTH:
            raise BadSetting(f"it goes deeper than {MAX_DEPTH} names")
        name, stop = self._until(_KEY)
        if not stop:
            if name:
                raise BadSetting(f"{name} has no value")
        elif stop == "[":
            index = self._index()
            kept = data.get(name, [])
            if not isinstance(kept, list):
                raise BadSetting(f"{name} is no list")
            _set(data, name, self._item(kept, index, depth))
        elif stop == "=":
            _set(data, name, self._value())
        elif stop == ",":
            raise BadSetting(f"{name} has no value")
        else:
            self._inner(data, name, depth + 1)

    def _inner(self, data: dict[str, Any], name: str, depth: int) -> None:
        inner = data.get(name, {})
        if not isinstance(inner, dict):
            raise BadSetting(f"{name} is no mapping")
        if self.is_at_end and not inner:
            return
        self.key(inner, depth)
        if not inner:
            raise BadSetting(f"{name} has no value")
        _set(data, name, inner)

    def _item(self, items: list[Any], index: int, depth: int) -> list[Any]:
        name, stop = self._until(_AFTER_INDEX)
        if name:
            raise BadSetting(f"{name!r} follows an index")
        if stop == "=":
            return _set_index(items, index, self._value())
        if stop == "[":
            inner_index = self._index()
            kept = items[index] if index < len(items) else None
            if kept is not None and not isinstance(kept, list):
                raise BadSetting(f"there is no list at {index}")
            if depth >= MAX_DEPTH:  # Helm has no limit here, and each level may have 65536 places
                raise BadSetting(f"it goes deeper than {MAX_DEPTH} indices")
            return _set_index(items, index, self._item(kept or [], inner_index, depth + 1))
        if stop == ".":
            inner = items[index] if index < len(items) else None
            inner = inner if isinstance(inner, dict) else {}
            self.key(inner, depth + 1)
            return _set_index(items, index, inner)
        return items

    def _index(self) -> int:
        written, stop = self._until(_INDEX)
        digits = written.removeprefix("+")
        if not stop or not digits.isascii() or not digits.isdecimal() or len(digits) > 9:
            raise BadSetting(f"{written!r} is no index")
        if int(digits) > MAX_INDEX:
            raise BadSetting(f"an index may be {MAX_INDEX} at most")
        return int(digits)

    def _value(self) -> Any:
        if self.is_at_end:
            return ""
        if self._line[self._at] != "{":
            written, _ = self._until(_VALUE)
            return self._typed(written)
        self._at += 1
        made: list[Any] = []
        while True:
            written, stop = self._until(_LIST)
            if not stop:
                raise BadSetting("a list does not end with }")
            made.append(self._typed(written))
            if stop == "}":
                if not self.is_at_end and self._line[self._at] == ",":
                    self._at += 1
                return made

    def _typed(self, written: str) -> Any:
        if self._as_text:
            return written
        known = {"true": True, "false": False, "null": None, "0": 0}
        if written.casefold() in known:
            return known[written.casefold()]
        digits = written[1:] if written[:1] in ("-", "+") else written
        if written[:1] != "0" and digits.isascii() and digits.isdecimal() and len(digits) < 20:
            number = int(written)
            return number if -_LARGEST <= number < _LARGEST else written
        return written

    def _until(self, stops: str) -> tuple[str, str]:
        """The text up to one of the letters, and which one it is; none at the end. A backslash takes one along."""
        made: list[str] = []
        while not self.is_at_end:
            letter = self._line[self._at]
            self._at += 1
            if letter in stops:
                return "".join(made), letter
            if letter == "\\":
                made.append(self._line[self._at : self._at + 1])
                self._at += 1
            else:
                made.append(letter)
        return "".join(made), ""


def _set(data: dict[str, Any], name: str, value: Any) -> None:
    if name:
        data[name] = value


def _set_index(items: list[Any], index: int, value: Any) -> list[Any]:
    grown = [*items, *[None] * (index + 1 - len(items))] if index >= len(items) else items
    grown[index] = value
    return grown
