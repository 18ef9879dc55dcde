"""Single values as ``helm --set`` reads them; tests/integration/render compares the same lines with Helm itself."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight.render import helm_set

LINES: dict[str, dict[str, Any]] = {
    "a=1": {"a": 1},
    "a=1,b=two": {"a": 1, "b": "two"},
    "a.b.c=true": {"a": {"b": {"c": True}}},
    "a=null": {"a": None},
    "a=": {"a": ""},
    "a=007": {"a": "007"},
    "a=0": {"a": 0},
    "a=-5": {"a": -5},
    "a=1.5": {"a": "1.5"},
    "a=9223372036854775808": {"a": "9223372036854775808"},
    "a={x,1,true}": {"a": ["x", 1, True]},
    "a={}": {"a": [""]},
    "a[0]=x,a[2]=y": {"a": ["x", None, "y"]},
    "a[1].b=x": {"a": [None, {"b": "x"}]},
    "a[0][1]=x": {"a": [[None, "x"]]},
    r"a\.b=x": {"a.b": "x"},
    r"a=x\,y": {"a": "x,y"},
    r"a=x\\y": {"a": "x\\y"},
    "a=b=c": {"a": "b=c"},
    "a=x y": {"a": "x y"},
    "a={x},b=y": {"a": ["x"], "b": "y"},
    "a=False": {"a": False},
}
BAD = ["a", "a,b=1", "a.b", "a[x]=1", "a[-1]=1", "a[70000]=1", "a={x", "a[0]x=1", ".".join("a" * 40) + "=1"]


@pytest.mark.parametrize("line", LINES)
def test_lines(line: str) -> None:
    values: dict[str, Any] = {}
    helm_set.put(values, line)
    assert values == LINES[line]


@pytest.mark.parametrize("line", BAD)
def test_what_helm_refuses(line: str) -> None:
    with pytest.raises(helm_set.BadSetting):
        helm_set.put({}, line)


def test_what_is_there_is_kept_and_changed_in_place() -> None:
    inner = {"b": 1, "list": [1, 2]}
    values: dict[str, Any] = {"a": inner, "z": 0}
    helm_set.put(values, "a.c=2,a.list[1]=9")

    assert values == {"a": {"b": 1, "c": 2, "list": [1, 9]}, "z": 0}
    assert values["a"] is inner


@pytest.mark.parametrize("line", ["a.b=1", "a[0]=1", "l.x=1"])
def test_what_does_not_fit_is_refused(line: str) -> None:
    with pytest.raises(helm_set.BadSetting):
        helm_set.put({"a": "text", "l": [1]}, line)


def test_texts_stay_texts() -> None:
    values: dict[str, Any] = {}
    helm_set.put(values, "a=1,b=true,c={1,x}", as_text=True)
    assert values == {"a": "1", "b": "true", "c": ["1", "x"]}


def test_indices_in_each_other_end_somewhere() -> None:
    """A line of some thousand letters must not take a gigabyte."""
    with pytest.raises(helm_set.BadSetting):
        helm_set.put({}, "a" + "[60000]" * 500 + "=1")


@given(st.text(min_size=1))
def test_a_literal_is_taken_letter_by_letter(text: str) -> None:
    values: dict[str, Any] = {}
    helm_set.put(values, f"a={helm_set.literal(text)}", as_text=True)
    assert values == {"a": text}


@given(st.text(alphabet="ab,\\{}=.[]01 ", max_size=30))
def test_no_line_breaks_it(line: str) -> None:
    values: dict[str, Any] = {}
    try:
        helm_set.put(values, line)
    except helm_set.BadSetting:
        return
    assert isinstance(values, dict)


@pytest.mark.parametrize(
    ("value", "escaped"), [("a,b", "a\\,b"), ("{a,b}", "{a,b}"), ("a\\,b", "a\\,b"), ("plain", "plain")]
)
def test_argocd_escapes_commas_but_for_lists(value: str, escaped: str) -> None:
    assert helm_set.escaped(value) == escaped
