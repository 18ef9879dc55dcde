"""A picture as plain lines, for a terminal: each phase, and for each node what it needs."""

from firstlight.model.component import Phase
from firstlight.report import safe, table
from firstlight.report.graph.picture import Look, Picture

_SIGNS = {Look.RUN: "·", Look.BOOTSTRAP: "■", Look.HYBRID: "◧", Look.GITOPS: "○"}


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
