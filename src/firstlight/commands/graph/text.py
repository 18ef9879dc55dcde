"""A picture as DOT, for Graphviz."""

import html

from firstlight.commands.graph.picture import GraphNode, NodeLook, Picture
from firstlight.drawing import safe, table
from firstlight.model.component import Phase

_LOOKS = {
    NodeLook.RUN: 'shape=box, style="dashed"',
    NodeLook.BOOTSTRAP: 'shape=box, style="filled", fillcolor="#fff3e2", color="#b4690e"',
    NodeLook.HYBRID: 'shape=box, peripheries=2, style="filled", fillcolor="#f3f4e9", color="#b4690e"',
    NodeLook.GITOPS: 'shape=box, style="filled,rounded", fillcolor="#e4f5f1", color="#12806a"',
}


def dot(picture: Picture) -> str:
    """The whole picture: a cluster for each phase, bold lines for the critical path."""
    lines = [f"digraph {_quoted(picture.title)} {{", '  node [fontname="sans-serif", fontsize=11];']
    for phase in Phase:
        mine = [each for each in picture.nodes if each.phase == phase]
        if mine:
            lines += [f"  subgraph {_quoted(f'cluster_{phase}')} {{", f"    label={_quoted(phase)};"]
            lines += [f"    {_node(each)}" for each in mine]
            lines.append("  }")
    for node in picture.nodes:
        for need in picture.needs[node.id]:
            style = " [style=bold]" if (need, node.id) in picture.critical else ""
            lines.append(f"  {_quoted(need)} -> {_quoted(node.id)}{style};")
    return "\n".join([*lines, "}"]) + "\n"


def _node(node: GraphNode) -> str:
    return f"{_quoted(node.id)} [label={_quoted(node.label)}, tooltip={_quoted(node.tip)}, {_LOOKS[node.look]}];"


def _quoted(text: str) -> str:
    """A quoted string: Graphviz knows no escape but that of the quote, and its own sequences begin with a backslash."""
    plain = safe.text(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{plain}"'


# A picture as Mermaid, for pages that draw it themselves.


_SHAPES = {
    NodeLook.RUN: ("[", "]"),
    NodeLook.BOOTSTRAP: ("[", "]"),
    NodeLook.HYBRID: ("[[", "]]"),
    NodeLook.GITOPS: ("([", "])"),
}
_STYLES = {
    NodeLook.RUN: "fill:none,stroke:#8c97a6,stroke-dasharray:3 3",
    NodeLook.BOOTSTRAP: "fill:#fff3e2,stroke:#b4690e,color:#1c2430",
    NodeLook.HYBRID: "fill:#f3f4e9,stroke:#b4690e,color:#1c2430",
    NodeLook.GITOPS: "fill:#e4f5f1,stroke:#12806a,color:#1c2430",
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


def _shape(node: GraphNode) -> str:
    left, right = _SHAPES[node.look]
    return f'{left}"{_text(node.label)}"{right}:::{node.look}'


def _text(text: str) -> str:
    """A label that cannot end its quotes or become markup: everything else than plain letters is an entity."""
    plain = safe.text(text).replace("\n", " ").replace("\t", " ")
    return "".join(each if each.isalnum() or each in " -_./:,()" else f"#{ord(each)};" for each in html.unescape(plain))


# A picture as plain lines, for a terminal: each phase, and for each node what it needs.


_SIGNS = {NodeLook.RUN: "·", NodeLook.BOOTSTRAP: "■", NodeLook.HYBRID: "◧", NodeLook.GITOPS: "○"}


def text(picture: Picture, *, columns: int = 0) -> str:
    """The whole picture: ``■`` bootstrap, ``◧`` hybrid, ``○`` GitOps, ``·`` a step of every run."""
    labels = {each.id: each.label for each in picture.nodes}
    lines = [safe.text(f"{picture.title}   {picture.subtitle}")]
    for phase in Phase:
        rows = [
            [
                _SIGNS[each.look],
                each.label,
                f"‹ {', '.join(labels[need] for need in picture.needs[each.id])}" if picture.needs[each.id] else "",
            ]
            for each in picture.nodes
            if each.phase == phase
        ]
        if rows:
            cells = [[safe.text(cell).replace("\n", " ") for cell in row] for row in rows]
            lines += ["", str(phase), *table.render(cells, indent="  ", columns=columns)]
    lines += ["", "■ bootstrap   ◧ bootstrap, then GitOps   ○ GitOps   · a step of every run   ‹ needs"]
    return "\n".join(lines) + "\n"
