"""Plain scalars as Go's libraries read them; the integration tests ask the libraries themselves."""

import math
from typing import Any

import pytest

from firstlight.document import scalars

BOTH = {
    "": None, "~": None, "null": None, "NULL": None, "nULL": "nULL", "true": True, "FALSE": False, "tRUE": "tRUE",
    "0": 0, "12": 12, "-12": -12, "+12": 12, "0777": 511, "-017": -15, "08": 8.0, "0x1F": 31, "-0xa": -10, "0X1f": 31,
    "0o17": 15, "0O17": 15, "0b101": 5, "0x": "0x", "1_000": 1000, "1__0": 10, "_1": "_1", "+_1": 1, "-": "-", "+": "+",
    "9223372036854775807": (1 << 63) - 1, "9223372036854775808": 1 << 63, "18446744073709551615": (1 << 64) - 1,
    "18446744073709551616": float(1 << 64), "-9223372036854775809": -(2.0**63), "+9223372036854775808": 2.0**63,
    "1.5": 1.5, "1.": 1.0, ".5": 0.5, "-.5": -0.5, "1e3": 1000.0, "685e3": 685000.0, "1E-2": 0.01, "1e400": "1e400",
    "1e": "1e", ".9_5": 0.95, "._5": "._5", ".5_": ".5_", ".": ".", "..": "..", "1.2.3": "1.2.3", "12:30": "12:30",
    "1:2:3": "1:2:3", ".inf": math.inf, "-.INF": -math.inf, "+.Inf": math.inf, "inf": "inf", "nan": "nan", "=": "=",
    "<<": "<<", "a": "a", "１": "１", "0x1G": "0x1G", "0_7": 7, "1,000": "1,000", "9" * 401: "9" * 401,
}  # fmt: skip
BOOLEANS = ["y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "n", "N", "no", "No", "NO", "off", "Off", "OFF"]


@pytest.mark.parametrize("text", BOTH)
@pytest.mark.parametrize("read", [scalars.kubernetes, scalars.talos])
def test_what_both_read_alike(text: str, read: Any) -> None:
    found = read(text)

    assert (found, type(found)) == (BOTH[text], type(BOTH[text]))


@pytest.mark.parametrize("text", BOOLEANS)
def test_words_that_are_booleans_to_kubernetes_alone(text: str) -> None:
    assert scalars.kubernetes(text) is (text[0] in "yY" or text.lower() == "on")
    assert scalars.talos(text) == text


@pytest.mark.parametrize("text", ["", "y", "1", "-0", "1e3", "2001-01-01", ".5", "<<", "0b-1", "null"])
def test_what_is_no_text_to_one_of_them(text: str) -> None:
    assert not scalars.is_text(text)
    assert scalars.is_text(f"{text}x")


def test_minus_zero() -> None:
    assert math.copysign(1, scalars.talos("-0")) == -1
    assert (scalars.kubernetes("-0"), type(scalars.kubernetes("-0"))) == (0, int)


def test_kubernetes_looks_for_a_sign_behind_the_prefix_of_binary_numbers() -> None:
    assert scalars.kubernetes("0b-101") == -5
    assert scalars.talos("0b-101") == "0b-101"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2001-01-02", "2001-01-02T00:00:00Z"),
        ("2001-1-2", "2001-01-02T00:00:00Z"),
        ("2001-1-2T3:4:5Z", "2001-01-02T03:04:05Z"),
        ("2001-1-2t3:4:5.10+01:00", "2001-01-02T03:04:05.1+01:00"),
        ("2001-1-2 3:4:5.1234567891", "2001-01-02T03:04:05.123456789Z"),
        ("2001-1-2 3:4:5,5", "2001-01-02T03:04:05.5Z"),
        ("2001-1-2T3:4:5+00:00", "2001-01-02T03:04:05Z"),
        ("0000-02-29", "0000-02-29T00:00:00Z"),
        ("2000-02-29", "2000-02-29T00:00:00Z"),
        ("2001-02-29", None),
        ("2001-13-01", None),
        ("2001-01-01T24:00:00Z", None),
        ("2001-1-2 3:4:5Z", None),
        ("2001-1-2T3:4:5", None),
        ("2001-1-2T3:4:5+25:00", None),
        ("20010-1-2", None),
    ],
)
def test_dates_are_texts_that_talos_writes_anew(text: str, expected: str | None) -> None:
    assert scalars.time(text) == expected
    assert scalars.talos(text) == (expected or text)
    assert scalars.kubernetes(text) == text


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (1.0, 1),
        (-0.0, 0),
        (1.5, 1.5),
        (1e18, 10**18),
        (1e19, 1e19),
        (1234567890123456789.0, 1234567890123456800),
        ("1.0", "1.0"),
    ],
)
def test_json_has_no_whole_floats(number: Any, expected: Any) -> None:
    found = scalars.as_json(number)

    assert (found, type(found)) == (expected, type(expected))


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan])
def test_json_has_no_such_numbers(number: float) -> None:
    with pytest.raises(ValueError, match="no such number"):
        scalars.as_json(number)


@pytest.mark.parametrize(
    ("value", "key"),
    [
        ("a", "a"), (True, "true"), (False, "false"), (12, "12"), (1.5, "1.5"), (1000.0, "1000"), (1e6, "1e+06"),
        (-0.0, "-0"), (123456789.5, "1.2345679e+08"), (0.00001, "1e-05"), (1e300, ".inf"), (-math.inf, "-.inf"),
        (math.nan, ".nan"), (0.1, "0.1"),
    ],
)  # fmt: skip
def test_keys_become_texts(value: Any, key: str) -> None:
    assert scalars.key_of(value) == key


@pytest.mark.parametrize("value", [None, 1 << 63])
def test_keys_that_kubernetes_refuses(value: Any) -> None:
    with pytest.raises(ValueError, match="a key is"):
        scalars.key_of(value)


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scalars, "_REMEMBERED", 10)
    known = scalars.ScalarCache(str.upper)

    found = [known[f"a{n}"] for n in range(25)] + [known["x" * 1000]]

    assert found[-2:] == ["A24", "X" * 1000]
    assert len(known) <= 10
    assert "x" * 1000 not in known
