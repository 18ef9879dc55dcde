"""A picture as Mermaid, for pages that draw it themselves."""

import html

from firstlight.model.component import Phase
from firstlight.report import safe
from firstlight.report.graph.picture import Look, Node, Picture

_SHAPES = {Look.RUN: ("[", "]"), Look.BOOTSTRAP: ("[", "]"), Look.HYBRID: ("[[", "]]"), Look.GITOPS: ("([", "])")}
_STYLES = {
    Look.RUN: "fill:none,stroke:#8c97a6,stroke-dasharray:3 3",
    Look.BOOTSTRAP: "fill:#fff3e2,stroke:#b4690e,color:#1c2430",
    Look.HYBRID: "fill:#f3f4e9,stroke:#b4690e,color:#1c2430",
    Look.GITOPS: "fill:#e4f5f1,stroke:#12806a,color:#1c2430",
}


def mermaid(picture: Picture) -> str:
    """The whole picture: a subgraph for each phase, thick lines for the critical path."""
    names = {node.id: f"n{index}" for index, node in enumerate(picture.nodes)}
    lines = ["flowchart TD"]
    for phase in Phase:
        mine = [each for each in picture.nodes if each.phase == phase]
        if mine:
            lines += [f"  subgraph {phase}", *(f"    {names[each.id]}{_shape(each)}" for each in mine), "  end"]
    for node in picture.nodes:
        for need in picture.needs[node.id]:
            arrow = "==>" if (need, node.id) in picture.critical else "-->"
            lines.append(f"  {names[need]} {arrow} {names[node.id]}")
    lines += [f"  classDef {look} {style}" for look, style in _STYLES.items()]
    return "\n".join(lines) + "\n"


def _shape(node: Node) -> str:
    left, right = _SHAPES[node.look]
    return f'{left}"{_text(node.label)}"{right}:::{node.look}'


def _text(text: str) -> str:
    """A label that cannot end its quotes or become markup: everything else than plain letters is an entity."""
    plain = safe.text(text).replace("\n", " ").replace("\t", " ")
    return "".join(each if each.isalnum() or each in " -_./:,()" else f"#{ord(each)};" for each in html.unescape(plain))
