"""What is different, object by object, without secrets."""

from firstlight.model.inline_manifest import ObjectChangeKind
from firstlight.render.inline import manifest_contents
from tests.unit.render.inline.sample import a_secret, an_object


def test_added_removed_and_changed() -> None:
    old = [an_object("ConfigMap", "a", namespace="x"), an_object("ConfigMap", "b", namespace="x", data={"k": "1"})]
    new = [an_object("ConfigMap", "b", namespace="x", data={"k": "2"}), an_object("Namespace", "x")]

    found = manifest_contents.object_changes(old, new, path="p.yaml")

    assert [(str(each.id), each.what) for each in found] == [
        ("Namespace x", ObjectChangeKind.ADDED),
        ("ConfigMap x/a", ObjectChangeKind.REMOVED),
        ("ConfigMap x/b", ObjectChangeKind.CHANGED),
    ]
    assert found[2].lines == (
        "--- p.yaml: ConfigMap x/b",
        "+++ rendered: ConfigMap x/b",
        "@@ -1,6 +1,6 @@",
        " apiVersion: v1",
        " data:",
        '-  k: "1"',
        '+  k: "2"',
        " kind: ConfigMap",
        " metadata:",
        "   name: b",
    )


def test_the_order_of_keys_is_no_difference() -> None:
    one = an_object("ConfigMap", "a", namespace="x", data={"k": "1", "l": "2"})
    other = type(one)(dict(reversed(list(one.value.items()))))

    assert manifest_contents.object_changes([one], [other], path="") == ()


def test_secrets_are_masked_and_still_differ() -> None:
    (change,) = manifest_contents.object_changes(
        [a_secret("s", a="b2xk", b="c2FtZQ==")], [a_secret("s", a="bmV3", b="c2FtZQ==")], path="p"
    )

    assert [line for line in change.lines if "  a:" in line or "  b:" in line] == [
        "-  a: •••",
        "+  a: ••• (another value)",
        "   b: •••",
    ]
    assert not {"b2xk", "bmV3", "c2FtZQ=="} & set(" ".join(change.lines).split())


def test_hunks_count_from_the_beginning_of_the_object() -> None:
    lines = {f"k{n:03}": "same" for n in range(100)}
    old, new = (an_object("ConfigMap", "a", namespace="x", data={**lines, "k050": value}) for value in ("old", "new"))

    (change,) = manifest_contents.object_changes([old], [new], path="p")

    assert change.lines[2] == "@@ -50,7 +50,7 @@"
    assert "-  k050: old" in change.lines
    assert len(change.lines) == 3 + 8


def test_a_large_object_takes_no_time() -> None:
    rows = [{"type": "string", "description": f"field {n % 50}"} for n in range(20_000)]
    old, new = (an_object("W", "w", spec=[*rows, {"x": end}, *rows]) for end in ("a", "b"))

    (change,) = manifest_contents.object_changes([old], [new], path="p")

    assert len(change.lines) == 11
