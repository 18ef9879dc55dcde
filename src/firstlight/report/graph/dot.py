"""A picture as DOT, for Graphviz."""

from firstlight.model.component import Phase
from firstlight.report import safe
from firstlight.report.graph.picture import Look, Node, Picture

_LOOKS = {
    Look.RUN: 'shape=box, style="dashed"',
    Look.BOOTSTRAP: 'shape=box, style="filled", fillcolor="#fff3e2", color="#b4690e"',
    Look.HYBRID: 'shape=box, peripheries=2, style="filled", fillcolor="#f3f4e9", color="#b4690e"',
    Look.GITOPS: 'shape=box, style="filled,rounded", fillcolor="#e4f5f1", color="#12806a"',
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


def _node(node: Node) -> str:
    return f"{_quoted(node.id)} [label={_quoted(node.label)}, tooltip={_quoted(node.tip)}, {_LOOKS[node.look]}];"


def _quoted(text: str) -> str:
    """A quoted string: Graphviz knows no escape but that of the quote, and its own sequences begin with a backslash."""
    plain = safe.text(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{plain}"'
