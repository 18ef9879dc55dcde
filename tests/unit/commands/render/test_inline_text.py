"""What is told about an embedding."""

from typing import Any

from firstlight.commands.render import inline
from firstlight.model.component import ObjectId
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.inline_manifest import Embedding, InlineObjectChange, InlineState, LeftOut, ObjectChangeKind
from firstlight.model.place import Place


def an_id(name: str, kind: str = "ConfigMap") -> ObjectId:
    return ObjectId("", kind, "kube-system", name)


def embedding(**fields: Any) -> Embedding:
    given: dict[str, Any] = {
        "component": "cilium", "cluster": "home", "path": "patches/core.yaml", "name": "cni",
        "place": Place("patches/core.yaml", 4), "state": InlineState.STALE, "objects": (an_id("a"), an_id("b")),
        "before": 2048, "after": 4096,
    }  # fmt: skip
    return Embedding(**(given | fields))


def test_all_of_it() -> None:
    change = InlineObjectChange(id=an_id("a"), what=ObjectChangeKind.CHANGED, lines=("--- x", "+++ y", "-old", "+new"))
    said = (
        Diagnostic.warning("?", "a warning", at=Place("b.yaml", 2), fix="Do it."),
        Diagnostic.warning("?", "another", at=Place("c.yaml")),
    )
    one = embedding(
        changes=(change, InlineObjectChange(id=an_id("b"), what=ObjectChangeKind.ADDED)),
        left_out=(LeftOut(an_id("j", "Job"), "it is a hook"),),
        added_crds=(ObjectId("x", "CustomResourceDefinition", "", "ws.example.org"),),
        kept=("Secret kube-system/ca data.key",),
        diagnostics=said,
    )

    assert (
        inline.embedding_text(one, columns=100, has_diff=True)
        == """\
patches/core.yaml   inline manifest cni of home   stale

  objects    2 in 4 KiB (was 2 KiB): 1 added, 1 changed
  changed    ConfigMap kube-system/a
  added      ConfigMap kube-system/b
  left out   Job kube-system/j: it is a hook
  with       CustomResourceDefinition ws.example.org: it must be served when this starts
  kept       Secret kube-system/ca data.key: every rendering makes another one

--- x
+++ y
-old
+new

warning  b.yaml:2: a warning
         Do it.
warning  c.yaml: another

next: firstlight render cilium --inline patches/core.yaml"""
    )


def test_a_refusal_says_nothing_of_what_is_next() -> None:
    said = (Diagnostic.warning("?", "later", at=Place("b.yaml")), Diagnostic.error("?", "wrong", at=Place("c.yaml")))

    lines = inline.embedding_text(embedding(diagnostics=said), columns=100).splitlines()

    assert lines[-4:] == [
        "error    c.yaml: wrong",
        "warning  b.yaml: later",
        "",
        "refused: 1 error above; nothing was written",
    ]


def test_many_changes_are_cut() -> None:
    changes = tuple(InlineObjectChange(id=an_id(f"c{n}"), what=ObjectChangeKind.ADDED) for n in range(30))

    lines = inline.embedding_text(embedding(changes=changes), columns=100).splitlines()

    assert sum("ConfigMap" in line for line in lines) == 12
    assert "and 18 more" in [line.strip() for line in lines]


def test_what_a_repo_says_does_not_reach_the_terminal() -> None:
    change = InlineObjectChange(id=an_id("\x1b[3m"), what=ObjectChangeKind.CHANGED, lines=("+\x1b[4m",))
    said = (Diagnostic.warning("?", "\x1b]0;x\x07", at=Place("a")),)
    evil = embedding(name="\x1b[2Jx", changes=(change,), diagnostics=said, kept=("\x1b[5m",))

    assert "\x1b" not in inline.embedding_text(evil, columns=100, has_diff=True)


def test_what_omni_applies() -> None:
    text = inline.embedding_text(embedding(is_omni=True), columns=100, is_written=True)

    assert "Omni manifest cni" in text
    assert "next: omnictl cluster template sync" in text


def test_for_programs() -> None:
    change = InlineObjectChange(id=an_id("a"), what=ObjectChangeKind.CHANGED, lines=("+x",))
    found = inline.embedding_data(embedding(changes=(change,), kept=("k",)), is_written=True)

    assert found["changes"] == [
        {"group": "", "kind": "ConfigMap", "namespace": "kube-system", "name": "a", "what": "changed", "diff": ["+x"]}
    ]
    assert (found["state"], found["stale"], found["refused"], found["written"], found["line"]) == (
        "stale", True, False, True, 4,
    )  # fmt: skip
    assert found["bytes"] == {"before": 2048, "after": 4096}
