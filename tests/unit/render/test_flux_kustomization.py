"""What diagnostics of a Kustomization tell of its variables."""

from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.model.source import ObjectReference
from firstlight.render import flux_kustomization
from firstlight.repo.flux.post_build import Variables

HERE = Place("x.yaml", 1)
SECRETS = ObjectReference(kind="Secret", name="secrets")


def test_a_variable_that_is_left_is_known_by_its_diagnostic() -> None:
    known = Variables(values={"A": "1"}, hidden={"TOKEN": SECRETS, "HOST": SECRETS})
    made = flux_kustomization._substituted("a: ${A}\nb: ${TOKEN}\nc: ${HOST:=x}\n", known, HERE)
    assert "${TOKEN}" in made.text
    assert [flux_kustomization.left_as_text(each) for each in made.diagnostics] == ["TOKEN", ""]
    assert flux_kustomization.left_as_text(Diagnostic.unknown("?", "something else", at=HERE)) == ""


def test_the_objects_are_named_in_which_a_variable_has_its_default() -> None:
    """A variable of its own in another object leaves no doubt about that one."""
    known = Variables(values={"A": "1"}, hidden={"HOST": SECRETS})
    made = flux_kustomization._substituted(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: ${A}}\n---\n"
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\ndata: {x: '${HOST:=home}'}\n",
        known,
        HERE,
    )
    assert [each.name for each in made.by_default] == ["b"]
    assert [flux_kustomization.is_of_default(each) for each in made.diagnostics] == [True]
