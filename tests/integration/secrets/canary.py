"""A value that must not be seen, and how it would look if it were."""

import base64
import json
import traceback
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

CANARY = 'c4n4ry+/="é<k3y>\\with$everything'


def forms() -> Iterator[bytes]:
    """The canary in the encodings in which programs and formats show values."""
    raw = CANARY.encode()
    yield raw
    yield raw.hex().encode()
    yield raw.hex().upper().encode()
    yield raw[::-1]
    for shift in range(3):  # base64 depends on where in a text it begins
        encoded = base64.b64encode(b"x" * shift + raw)
        yield encoded[4 if shift else 0 : -4]
        yield encoded[4 if shift else 0 : -4].translate(bytes.maketrans(b"+/", b"-_"))
    yield urllib.parse.quote(CANARY).encode()
    yield urllib.parse.quote_plus(CANARY).encode()
    yield json.dumps(CANARY)[1:-1].encode()
    yield json.dumps(CANARY, ensure_ascii=False)[1:-1].encode()
    yield repr(CANARY)[1:-1].encode()
    yield repr(raw)[2:-1].encode()
    yield CANARY.encode("utf-16-le")


def seen_in(text: bytes | str) -> list[bytes]:
    """The forms of the canary in a text."""
    data = text.encode(errors="surrogatepass") if isinstance(text, str) else text
    return [each for each in forms() if each in data]


def seen_below(directory: Path) -> list[str]:
    """The files below a directory that have the canary in any form."""
    files = [each for each in directory.rglob("*") if each.is_file() and not each.is_symlink()]
    return [str(each) for each in files if seen_in(each.read_bytes()) or seen_in(str(each))]


def told(error: BaseException) -> str:
    """All that could be printed of an error: its message, hint, attributes and traceback."""
    trace = "".join(traceback.format_exception(error))
    return f"{error} {error!r} {getattr(error, 'hint', '')} {vars(error)} {trace}"
