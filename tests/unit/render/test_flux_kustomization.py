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
