"""Owners as a picture: namespaces, in them owners, in them kinds, each as large as its objects are many.

It stands alone, light and dark. Parties are told apart by colour and by the names that are written on them; what has
flaws is hatched.
"""

import collections
import dataclasses
from collections.abc import Iterator, Sequence

from firstlight.drawing import svg_text
from firstlight.drawing.svg_text import escaped
from firstlight.model import argocd_names, flux_names
from firstlight.model.owner import ObjectOwner, OwnedObject, OwnerMap, Party

# Rectangles within a rectangle, as large as their numbers and as square as that allows.


@dataclasses.dataclass(frozen=True, slots=True)
class TreemapTile:
    """A rectangle."""

    x: float
    y: float
    width: float
    height: float

    def inside(self, margin: float, *, top: float = 0.0) -> "TreemapTile":
        """What is left within margins, and below a heading."""
        top = top or margin
        return TreemapTile(
            self.x + margin, self.y + top, max(self.width - 2 * margin, 0.0), max(self.height - top - margin, 0.0)
        )


def squarified(sizes: Sequence[float], box: TreemapTile) -> list[TreemapTile]:
    """A rectangle for each size, in the order given, which is best the largest first.

    Rows are filled along the shorter side as long as that makes their rectangles more square.
    """
    whole = sum(sizes)
    if not whole or not box.width or not box.height:
        return [TreemapTile(box.x, box.y, 0.0, 0.0) for _ in sizes]
    areas = [size * box.width * box.height / whole for size in sizes]
    found: list[TreemapTile] = []
    begin = 0
    while begin < len(areas):
        side = min(box.width, box.height)
        end = begin + 1
        while end < len(areas) and _worst(areas[begin : end + 1], side) <= _worst(areas[begin:end], side):
            end += 1
        row = areas[begin:end]
        # What rounding would leave over belongs to the last row.
        rest = _row(row, box, found, is_last=end == len(areas))
        box, begin = rest, end
    return found


def _worst(row: Sequence[float], side: float) -> float:
    """How far from a square the worst rectangle of a row is."""
    total = sum(row)
    if not total:
        return float("inf")
    return max(max(side * side * each / total**2, total**2 / (side * side * each)) if each else 0.0 for each in row)


def _row(row: Sequence[float], box: TreemapTile, found: list[TreemapTile], *, is_last: bool) -> TreemapTile:
    """Adds the rectangles of a row; gives back what is left of the box."""
    total = sum(row)
    is_upright = box.width >= box.height
    side = box.height if is_upright else box.width
    depth = (box.width if is_upright else box.height) if is_last else min(total / side, max(box.width, box.height))
    at = 0.0
    for each in row:
        length = side * each / total if total else 0.0
        if is_upright:
            found.append(TreemapTile(box.x, box.y + at, depth, length))
        else:
            found.append(TreemapTile(box.x + at, box.y, length, depth))
        at += length
    if is_upright:
        return TreemapTile(box.x + depth, box.y, max(box.width - depth, 0.0), box.height)
    return TreemapTile(box.x, box.y + depth, box.width, max(box.height - depth, 0.0))


WIDTH, HEIGHT = 1280.0, 800.0
MARGIN, TOP, FOOT = 28.0, 84.0, 66.0
_HEADING, _NAME = 22.0, 17.0
"""Pixels above what is in a namespace; above what is of an owner."""
_LARGE, _TEXT, _SMALL = 13.0, 11.0, 10.0
_LOW = 11.0
"""Pixels of the lowest box that a line fits into."""
_CLUSTER = "without a namespace"
_BRIEF = {flux_names.HELM_RELEASE: "hr", flux_names.KUSTOMIZATION: "ks", argocd_names.APPLICATION: "app"}
"""Kinds as kubectl and flux call them in brief."""

_LIGHT = {
    Party.TALOS: ("#fde3d3", "#c2571a"),
    Party.BOOTSTRAP: ("#fdf0cf", "#9a7400"),
    Party.FLUX: ("#dbe9fd", "#2563c9"),
    Party.ARGOCD: ("#e7e0fb", "#6a45c9"),
    Party.HELM: ("#d3eef2", "#0f7285"),
    Party.CONTROLLER: ("#ddf0dd", "#2f7d36"),
    Party.PERSON: ("#fbdbe6", "#b3245d"),
    Party.SYSTEM: ("#e8ebef", "#66717f"),
    Party.NOBODY: ("#f8d4d2", "#b3261e"),
}
_DARK = {
    Party.TALOS: ("#3a2113", "#ee8a50"),
    Party.BOOTSTRAP: ("#352a0a", "#dcb53a"),
    Party.FLUX: ("#14263f", "#6aa3f7"),
    Party.ARGOCD: ("#251d42", "#a78bf5"),
    Party.HELM: ("#0d2e34", "#4fbfd2"),
    Party.CONTROLLER: ("#15301a", "#6cc275"),
    Party.PERSON: ("#3b1526", "#f07ba6"),
    Party.SYSTEM: ("#1e252e", "#8b97a6"),
    Party.NOBODY: ("#3f1614", "#f2817a"),
}
_WORDS = {
    Party.TALOS: "Talos",
    Party.BOOTSTRAP: "bootstrap",
    Party.FLUX: "Flux",
    Party.ARGOCD: "Argo CD",
    Party.HELM: "Helm",
    Party.CONTROLLER: "controller",
    Party.PERSON: "person",
    Party.SYSTEM: "system",
    Party.NOBODY: "nobody",
}

_STYLE = """
svg{{background:#fff;font-family:Inter,ui-sans-serif,system-ui,'Segoe UI',Roboto,Helvetica,Arial,sans-serif}}
.paper{{fill:#fff}}text{{fill:#1c2430;font-size:11px}}.title{{font-size:20px;font-weight:600}}
.sub{{font-size:13px;fill:#5b6675}}.legend{{fill:#5b6675}}.head{{font-size:13px;font-weight:600}}
.space{{fill:#f6f7f9;stroke:#d5dae1}}.kind{{font-size:10px}}.cell{{stroke-width:.8;stroke-opacity:.45}}
.owner{{stroke-width:1.2}}.flawed{{fill:url(#hatch)}}.hatch{{stroke:#b3261e;stroke-width:1.6;stroke-opacity:.55}}
{light}
@media (prefers-color-scheme:dark){{
svg{{background:#0f141a}}.paper{{fill:#0f141a}}text{{fill:#e4e9f0}}.sub,.legend{{fill:#97a3b4}}
.space{{fill:#151b23;stroke:#2a333f}}.hatch{{stroke:#f2817a}}
{dark}
}}
"""


def svg(found: OwnerMap, *, of: int = 0) -> str:
    """The whole picture.

    Args:
        found: What is drawn.
        of: How many objects there are in all, if that is more.
    """
    flaws = sum(bool(each.flaws) for each in found.objects)
    drawn = len(found.objects)
    about = f"{drawn:,} objects by namespace, owner and kind" + (f", {flaws:,} with flaws" if flaws else "")
    if of > drawn:
        about += (
            f"; {of - drawn:,} more are not drawn: what others bring, what the system makes, what was not asked for"
        )
    label = escaped(f"{found.cluster}: {about}")
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_n(WIDTH)}" height="{_n(HEIGHT)}" '
        f'viewBox="0 0 {_n(WIDTH)} {_n(HEIGHT)}" role="img" aria-label="{label}">',
        f"<title>{label}</title>",
        f"<style>{_style()}</style>",
        '<defs><pattern id="hatch" width="7" height="7" patternUnits="userSpaceOnUse" '
        'patternTransform="rotate(45)"><path class="hatch" d="M0 0V7"/></pattern></defs>',
        f'<rect class="paper" width="{_n(WIDTH)}" height="{_n(HEIGHT)}"/>',
        f'<text class="title" x="{_n(MARGIN)}" y="38">'
        f"{escaped(svg_text.cut(f'{found.cluster}: who owns what', 20, WIDTH - 2 * MARGIN))}</text>",
        f'<text class="sub" x="{_n(MARGIN)}" y="62">{escaped(about)}</text>',
        *_map(found.objects),
        *_legend(found.objects, HEIGHT - FOOT / 2),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _style() -> str:
    light, dark = (
        "".join(
            f".{party} .owner,.{party} .cell{{fill:{fill};stroke:{line}}}.{party} .name{{fill:{line};font-weight:600}}"
            for party, (fill, line) in colours.items()
        )
        for colours in (_LIGHT, _DARK)
    )
    return _STYLE.format(light=light, dark=dark).strip()


def _map(objects: Sequence[OwnedObject]) -> Iterator[str]:
    whole = TreemapTile(MARGIN, TOP, WIDTH - 2 * MARGIN, HEIGHT - TOP - FOOT)
    spaces: dict[str, list[OwnedObject]] = collections.defaultdict(list)
    for each in objects:
        spaces[each.id.namespace].append(each)
    ordered = sorted(spaces, key=lambda name: (-len(spaces[name]), name))
    boxes = squarified([len(spaces[name]) for name in ordered], whole)
    for name, box in zip(ordered, boxes, strict=True):
        yield from _space(name, spaces[name], box.inside(1.5))


def _space(name: str, objects: Sequence[OwnedObject], box: TreemapTile) -> Iterator[str]:
    called = name or _CLUSTER
    yield f"<g><title>{escaped(f'{called}: {len(objects):,}')}</title>"
    yield _rect("space", box, 4)
    has_heading = box.height > 2 * _HEADING and box.width > 40
    if has_heading:
        yield _label(called, f"{len(objects):,}", box, "head", _LARGE, 16)
    yield "</g>"
    inner = box.inside(3, top=_HEADING if has_heading else 3)
    by_owner: dict[ObjectOwner, list[OwnedObject]] = collections.defaultdict(list)
    for each in objects:
        by_owner[each.owner].append(each)
    ordered = sorted(by_owner, key=lambda owner: (-len(by_owner[owner]), str(owner)))
    boxes = squarified([len(by_owner[owner]) for owner in ordered], inner)
    for owner, one in zip(ordered, boxes, strict=True):
        yield from _owner(owner, by_owner[owner], one.inside(1), called)


def _owner(owner: ObjectOwner, objects: Sequence[OwnedObject], box: TreemapTile, space: str) -> Iterator[str]:
    yield f'<g class="{owner.party}"><title>{escaped(f"{space}: {owner}, {len(objects):,}")}</title>'
    yield _rect("owner", box, 2.5)
    number = f"{len(objects):,}"
    has_name = box.height > 2 * _NAME and box.width > 34
    if has_name:
        yield _label(_short(owner, box.width - 40), number, box, "name", _TEXT, 12.5)
    elif strip := _strip(owner, number, box):
        # There is room for a name or for kinds, and whose it is matters more.
        yield f"{strip}</g>"
        return
    inner = box.inside(2, top=_NAME if has_name else 2)
    kinds: dict[str, list[OwnedObject]] = collections.defaultdict(list)
    for each in objects:
        kinds[each.id.kind].append(each)
    ordered = sorted(kinds, key=lambda kind: (-len(kinds[kind]), kind))
    boxes = squarified([len(kinds[kind]) for kind in ordered], inner)
    for kind, one in zip(ordered, boxes, strict=True):
        yield from _kind(kind, kinds[kind], one.inside(0.5), f"{space}: {owner}")
    yield "</g>"


def _strip(owner: ObjectOwner, number: str, box: TreemapTile) -> str:
    """The name in a box that is too low or too narrow for anything below it; empty where not even that fits."""
    if box.height >= _LOW and box.width > 34:
        return _label(_short(owner, box.width - 40), number, box, "name", _SMALL, box.height / 2 + 3.5)
    if box.width >= _LOW and box.height > 34:
        # Written downwards: as if it lay, turned about its corner.
        lying = TreemapTile(box.x + box.width, box.y, box.height, box.width)
        made = _label(_short(owner, lying.width - 40), number, lying, "name", _SMALL, lying.height / 2 + 3.5)
        return f'<g transform="rotate(90 {_n(lying.x)} {_n(lying.y)})">{made}</g>' if made else ""
    return ""


def _short(owner: ObjectOwner, room: float) -> str:
    """The name of an owner, with as much of its kind and its namespace as there is room for; never without a kind.

    A HelmRelease and a Kustomization of one name are often neighbours.
    """
    name = owner.name or _WORDS[owner.party]
    kind, has_kind, rest = name.partition(" ")
    last = rest.rpartition("/")[2] if has_kind else name.rpartition("/")[2]
    brief = f"{_BRIEF.get(kind, kind.lower())}/{last}" if has_kind else last
    forms = (name, f"{kind} {last}" if has_kind else last, brief)
    return next((each for each in forms if svg_text.width(each, _TEXT) <= room), brief)


def _kind(kind: str, objects: Sequence[OwnedObject], box: TreemapTile, where: str) -> Iterator[str]:
    flaws = collections.Counter(flaw for each in objects for flaw in {one.flaw for one in each.flaws})
    told = "".join(f", {number:,} {flaw}" for flaw, number in sorted(flaws.items()))
    yield f"<g><title>{escaped(f'{where}: {len(objects):,} {kind}{told}')}</title>"
    if box.width < 1.2 or box.height < 1.2:
        yield "</g>"
        return
    yield _rect("cell", box, 1.5)
    bad = sum(bool(each.flaws) for each in objects)
    if bad:
        # As much of it is hatched as has flaws.
        part = box.width * bad / len(objects)
        yield _rect("flawed", TreemapTile(box.x + box.width - part, box.y, part, box.height), 1.5)
    if box.height > 14 and box.width > 26:
        yield _label(kind, f"{len(objects):,}", box, "kind", _SMALL, min(box.height / 2 + 3.5, 13))
    yield "</g>"


def _label(text: str, number: str, box: TreemapTile, style: str, size: float, y: float) -> str:
    """A name, and at its right how many, where there is room for both."""
    room = box.width - 10
    width = svg_text.width(number, size)
    shown = svg_text.cut(text, size, room - width - 8)
    if len(shown) < 4 and shown != text:
        shown, number = svg_text.cut(text, size, room), ""
    if len(shown) < 3 and shown != text:
        return ""
    fit = f' textLength="{_n(svg_text.width(shown, size))}" lengthAdjust="spacingAndGlyphs"' if len(shown) > 3 else ""
    name = f'<text class="{style}" x="{_n(box.x + 5)}" y="{_n(box.y + y)}"{fit}>{escaped(shown)}</text>'
    if not number:
        return name
    x = _n(box.x + box.width - 5)
    return f'{name}<text class="{style}" x="{x}" y="{_n(box.y + y)}" text-anchor="end">{number}</text>'


def _legend(objects: Sequence[OwnedObject], y: float) -> Iterator[str]:
    """What the colours mean: those that are there, with how many."""
    counts = collections.Counter(each.owner.party for each in objects)
    x = MARGIN
    for party in Party:
        if not counts[party]:
            continue
        words = f"{_WORDS[party]} {counts[party]:,}"
        yield f'<g class="{party}">{_rect("owner", TreemapTile(x, y - 7, 22, 14), 2.5)}</g>'
        yield f'<text class="legend" x="{_n(x + 29)}" y="{_n(y + 4)}">{escaped(words)}</text>'
        x += 29 + svg_text.width(words, _TEXT) + 20
    if any(each.flaws for each in objects):
        yield _rect("space", TreemapTile(x, y - 7, 22, 14), 2.5) + _rect("flawed", TreemapTile(x, y - 7, 22, 14), 2.5)
        yield f'<text class="legend" x="{_n(x + 29)}" y="{_n(y + 4)}">has flaws</text>'


def _rect(style: str, box: TreemapTile, corner: float) -> str:
    return (
        f'<rect class="{style}" x="{_n(box.x)}" y="{_n(box.y)}" width="{_n(box.width)}" height="{_n(box.height)}" '
        f'rx="{_n(min(corner, box.width / 2, box.height / 2))}"/>'
    )


def _n(value: float) -> str:
    """A number with one digit, so that files are small and the same everywhere."""
    return f"{value:.1f}".removesuffix(".0")
