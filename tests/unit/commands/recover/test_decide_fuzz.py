"""Diffs that nobody would write: whatever is edited, there is an answer, and more changes never make it milder."""

import copy
import functools
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from firstlight.commands.decide import data as decide_data
from firstlight.commands.decide import markdown, text
from firstlight.model.change import ChangeVerb, Matter
from firstlight.model.component import Side
from firstlight.model.decision import Decision
from tests.scenarios.decide.changes.deciding import REPOS, Base, base

Way = tuple[str | int, ...]
Files = dict[str, bytes | None]

NAMES = ("fleet", "kept", "argo")
MACHINES = ("talos/", "omni/")
"""Where these repos keep their machine files."""
SCALARS: tuple[Any, ...] = (
    None, True, False, 0, -1, 10**30, 1.5, "", "x", "*", "latest", "1.2.3", "v2.0.0", "0.0.1", "10Gi",
    "sha256:" + "a" * 64, "${VAR}", "{{ x }}", "{% if x %}", "ENC[AES256_GCM,data:a,iv:b,tag:c,type:str]",
    "\u202e\u0000", float("inf"),
    "a\nb: c\n", "apiVersion: v1\nkind: Secret\n", "op://a/b/c", "privileged", "system:masters", "y" * 5000,
    [], {}, [1, {"a": None}], {"name": "x"}, [[]], {"$patch": "delete"}, {"<<": {"a": 1}},
)  # fmt: skip
GARBAGE = (
    b"", b"\0\1\2", b"\xff\xfea\0", b"a: b: c", b"{{ if }}", b"&a [*a]", b"%YAML 9.9\n---\na", b"[" * 300, b"<<: *x",
    b"---\n---\n...\n---", b"!!python/object/apply:os.system [x]", b"? [a]\n: b", b"apiVersion: 1\nkind: [x]\n", b"\t",
    b"- - - -", b"kind: Secret\napiVersion: v1\nmetadata: 7\n", b"machine: 7\n", b"releases: {}\n", b"spec:\n  - x\n",
    b"apiVersion: v1\nkind: List\nitems: [1, null, {kind: X}]\n", b"\xed\xa0\x80", b"{\"a\": 1,}", b"a: !x b\na: 2\n",
)  # fmt: skip
PLACES = (
    "kubernetes/apps/web/-rf.yaml", "talos/ä ö.yaml", "a b/c d.yaml", "kubernetes/apps/wiki/.hidden.yaml",
    "kubernetes/apps/web/" + "x" * 200 + ".yaml", "kubernetes/clusters/home/kustomization.yaml", "Taskfile.yaml.bak",
    ".github/x", "talos/patches/extra.yaml", "firstlight-rules/new.yaml", "kubernetes/apps/web/new\nline.yaml", "CON",
    "kubernetes/infrastructure/cilium/values.yaml", "Chart.yaml", "bootstrap/helmfile.d/x.yaml.gotmpl", ".sops.yaml",
    "kubernetes/apps/wiki/x.json", "kubernetes/apps/wiki/\u202egnp.yaml", "talos/x.yaml.j2", "docs/x.yaml",
)  # fmt: skip
TELLING = {
    "name",
    "namespace",
    "kind",
    "apiVersion",
    "hostname",
    "ipAddress",
    "interface",
    "clusterName",
    "nodes",
    "ip",
}
"""Fields by which something is known; who changes them makes something else of it."""


@functools.cache
def repo(name: str) -> Base:
    return base(REPOS / name)


@functools.cache
def documents(name: str, path: str) -> list[Any] | None:
    """The documents of a file, where it is plain YAML."""
    data = repo(name).tree.bytes(path) if path.endswith((".yaml", ".yml")) else None
    return list(yaml.safe_load_all(data)) if data else None


def leaves(value: Any, way: Way = ()) -> Iterator[Way]:
    inner: Sequence[tuple[str | int, Any]] = ()
    if isinstance(value, Mapping):
        inner = [*value.items()]
    elif isinstance(value, list):
        inner = [*enumerate(value)]
    if not inner:
        yield way
    for key, each in inner:
        yield from leaves(each, (*way, key))


@functools.cache
def all_leaves(name: str) -> list[tuple[str, Way]]:
    """Every value of every YAML file of a repo, with the number of its document first."""
    paths = [path for path in repo(name).tree.files if documents(name, path)]
    return [(path, way) for path in paths for way in leaves(documents(name, path)) if len(way) > 1]


def mutated(name: str, path: str, changes: Mapping[Way, Any]) -> bytes:
    """A file with other values; what is told by ``Verb.REMOVED`` is taken away."""
    made = copy.deepcopy(documents(name, path) or [])
    for way, value in changes.items():
        place: Any = made
        for step in way[:-1]:
            place = place[step]
        if value is ChangeVerb.REMOVED and isinstance(place, dict):
            del place[way[-1]]
        else:
            place[way[-1]] = None if value is ChangeVerb.REMOVED else copy.deepcopy(value)
    return yaml.safe_dump_all(made, sort_keys=False, allow_unicode=False).encode()


@st.composite
def edits(draw: st.DrawFn, name: str, *, most: int = 3, fresh: bool = False) -> Files:
    """Some files of a repo, each done something to; with ``fresh`` nothing comes that could be something moved."""
    tree, found = repo(name).tree, dict[str, bytes | None]()
    for _ in range(draw(st.integers(1, most))):
        path = draw(st.sampled_from(tree.files))
        data = tree.bytes(path) or b""
        match draw(st.sampled_from(["value", "value", "value", "line", "garbage", "gone", "new", "twice"])):
            case "value":
                path, way = draw(st.sampled_from(all_leaves(name)))
                found[path] = mutated(name, path, {way: draw(st.sampled_from([*SCALARS, ChangeVerb.REMOVED]))})
            case "line":
                lines = data.splitlines(keepends=True)
                at = draw(st.integers(0, len(lines)))
                more = [draw(st.sampled_from(GARBAGE)) + b"\n"] if draw(st.booleans()) else []
                found[path] = b"".join([*lines[:at], *more, *lines[at + 1 :]])
            case "garbage":
                found[path] = draw(st.sampled_from(GARBAGE) | st.binary(max_size=30))
            case "gone":
                found[path] = None
            case "new":
                found[draw(st.sampled_from(PLACES))] = draw(st.sampled_from(GARBAGE) | st.binary(max_size=30))
            case "twice" if not fresh:
                found[draw(st.sampled_from(PLACES))] = data
    assume(found)
    return found


@st.composite
def changes(draw: st.DrawFn) -> tuple[str, Files]:
    name = draw(st.sampled_from(NAMES))
    return name, draw(edits(name))


def is_machine_file(path: str) -> bool:
    return path.startswith(MACHINES)


@settings(max_examples=70)
@given(changes())
def test_there_is_always_an_answer(change: tuple[str, Files]) -> None:
    name, files = change

    decision = repo(name).decided(files)

    for item in decision.items:
        assert item.rulings
        assert all(each.rule != "no-rule" for each in item.rulings), item.change.title
        if item.change.matter is Matter.MACHINE:
            assert item.side in (Side.BOOTSTRAP, Side.HYBRID), item.change.place
    # Somebody can read it, and so can a program.
    json.dumps(decide_data.data(decision))
    assert text.text(decision, columns=100, everything=True)
    assert markdown.text(decision)


@settings(max_examples=60)
@given(st.data())
def test_machine_configuration_is_never_gitops(data: st.DataObject) -> None:
    """Whatever becomes of a machine file: a value, a line, garbage in its place, or nothing."""
    name = data.draw(st.sampled_from(NAMES))
    values = [(path, way) for path, way in all_leaves(name) if is_machine_file(path)]
    path, way = data.draw(st.sampled_from(values))
    before = documents(name, path)
    is_other = True
    match data.draw(st.sampled_from(["value", "value", "garbage", "gone", "object"])):
        case "value":
            content: bytes | None = mutated(
                name, path, {way: data.draw(st.sampled_from([*SCALARS, ChangeVerb.REMOVED]))}
            )
            is_other = list(yaml.safe_load_all(content or b"")) != before
        case "garbage":
            content = data.draw(st.sampled_from(GARBAGE))
        case "gone":
            content = None
        case _:
            content = b"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\nspec: {replicas: 1}\n"

    decision = repo(name).decided({path: content})

    assert not is_other or decision.items
    assert not decision.items or decision.side in (Side.BOOTSTRAP, Side.HYBRID)


def milder(less: Decision, more: Decision) -> bool:
    """Whether an answer is milder than that for a part of it."""
    covers = {None: {None, *Side}, Side.HYBRID: {Side.HYBRID}}
    covering = covers.get(less.side, {less.side, Side.HYBRID})
    return more.risk < less.risk or more.side not in covering


def moves_between(one: Decision, other: Decision) -> bool:
    """Whether what goes with one comes with the other: together that is no delete and no create."""
    both = [
        {(each.change.object.kind, each.change.object.name) for each in decision.items if each.change.object}
        for decision in (one, other)
    ]
    return bool(both[0] & both[1])


@settings(max_examples=40)
@given(st.data())
def test_more_files_never_make_it_milder(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(NAMES))
    part = data.draw(edits(name, most=2, fresh=True))
    rest = data.draw(edits(name, most=2, fresh=True))
    assume(not part.keys() & rest.keys())
    less, others = repo(name).decided(part), repo(name).decided(rest)
    assume(not moves_between(less, others))

    more = repo(name).decided({**part, **rest})

    assert not milder(less, more)
    assert not milder(others, more)


@settings(max_examples=60)
@given(st.data())
def test_more_fields_never_make_it_milder(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(NAMES))
    path, first = data.draw(st.sampled_from(all_leaves(name)))
    plain = [way for each, way in all_leaves(name) if each == path and not TELLING & set(way) and way != first]
    assume(plain and not TELLING & set(first))
    others = data.draw(st.lists(st.sampled_from(plain), min_size=1, max_size=3, unique=True))
    part = {first: data.draw(st.sampled_from(SCALARS))}
    whole = {**part, **{way: data.draw(st.sampled_from(SCALARS)) for way in others}}

    less = repo(name).decided({path: mutated(name, path, part)})
    more = repo(name).decided({path: mutated(name, path, whole)})

    # What breaks the file is no further field of it.
    assume(not any(each.change.is_unread for each in more.items))
    assert not milder(less, more)


@pytest.mark.parametrize(
    "content", [b"machine: {}\n" + b"# x\n" * 3_000_000, b"\0" * 9_000_000, b"a: [" + b"{b: c}, " * 5_000 + b"]\n"]
)
def test_what_is_huge(content: bytes) -> None:
    for path in ("talos/patches/global.yaml", "kubernetes/apps/web/deployment.yaml", "new.yaml"):
        decision = repo("fleet").decided({path: content})

        assert decision.items
        assert path != "talos/patches/global.yaml" or decision.side is Side.BOOTSTRAP


def test_everything_goes() -> None:
    for name in NAMES:
        decision = repo(name).decided(dict.fromkeys(repo(name).tree.files))

        assert decision.side is Side.HYBRID
        assert str(decision.risk) == "critical"


def test_everything_comes(tmp_path: Path) -> None:
    for name in NAMES:
        tree = repo(name).tree
        decision = base(tmp_path).decided({path: tree.bytes(path) for path in tree.files})

        assert decision.side is Side.HYBRID
