"""Pictures: the layout keeps its promises for any graph, and no name of a stranger breaks a file."""

import itertools
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firstlight.commands.graph import layout, picture, row_order, svg, text
from firstlight.commands.graph.picture import GraphNode, NodeLook, Picture
from firstlight.drawing import svg_text
from firstlight.model import plan as model_plan
from firstlight.model.component import Phase
from firstlight.model.diagnostic import Severity
from firstlight.model.plan import Plan
from firstlight.plan import build
from tests.unit.plan import platforms
from tests.unit.plan.graphs import pictures, plans, step

SCENARIOS = Path(__file__).parents[2] / "scenarios" / "plan"
HOSTILE = ["<script>alert(1)</script>", '"]; rm -rf /; ["', "a\x1b[31mred", "&amp;", "‮abc", "]]>", "\x00", "\ud800"]


def many(number: int) -> Picture:
    """A picture with many components: a few roots, and the rest below them in groups."""
    nodes, needs = [], {}
    for index in range(number):
        name = f"component-{index}"
        needs[name] = () if index < 4 else (f"component-{index % 4}",) if index % 3 else (f"component-{index // 2}",)
        nodes.append(
            GraphNode(id=name, label=name, phase=Phase.GITOPS, look=NodeLook.GITOPS, group=f"group-{index % 9}")
        )
    return Picture("home", "test", tuple(nodes), needs)


@settings(max_examples=40)
@given(pictures())
def test_boxes_do_not_overlap_and_edges_go_down(made: Picture) -> None:
    laid = layout.layout(made)

    boxes = [box for _, box in laid.nodes.values()]
    for one, other in itertools.combinations(boxes, 2):
        apart = one.x + one.width <= other.x or other.x + other.width <= one.x
        assert apart or one.bottom <= other.y or other.bottom <= one.y
    for source, target in laid.ordered.routes:
        assert laid.bottom(source)[1] < laid.top(target)[1]
    for item, x in laid.lines.items():
        upper, lower = laid.rows[int(item.rpartition("@")[2])]
        assert not any(box.x < x < box.x + box.width and box.y < lower and box.bottom > upper for box in boxes)


@settings(max_examples=25)
@given(pictures(largest=25))
def test_the_same_picture_is_drawn_the_same_and_is_xml(made: Picture) -> None:
    drawn = svg.svg(made)

    assert drawn == svg.svg(made)
    root = ElementTree.fromstring(drawn)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert float(root.attrib["width"]) > 0


@pytest.mark.parametrize("number", [70, 300])
def test_many_components_are_put_into_boxes_and_each_is_named(number: int) -> None:
    made = many(number)
    laid = layout.layout(made)
    drawn = svg.svg(made)

    boxes = [node for node, _ in laid.nodes.values() if node.members]
    shown = {member.id for node in boxes for member in node.members} | {
        node.id for node, _ in laid.nodes.values() if not node.members
    }
    assert boxes
    assert shown == {node.id for node in made.nodes}
    assert all(f">{node.label}<" in drawn for node in made.nodes)
    assert laid.width < 2600


def test_a_layer_that_is_too_wide_is_broken_into_rows() -> None:
    nodes = tuple(
        GraphNode(id=f"n{index}", label="a" * 25, phase=Phase.GITOPS, look=NodeLook.GITOPS) for index in range(30)
    )

    laid = layout.layout(Picture("home", "", nodes, {node.id: () for node in nodes}))

    assert len(laid.rows) > 1
    assert laid.width < layout.PAGE + layout.GUTTER + 300


def test_a_node_is_never_in_a_phase_before_what_it_needs() -> None:
    nodes = (
        GraphNode(id="late", label="late", phase=Phase.CORE, look=NodeLook.BOOTSTRAP),
        GraphNode(id="early", label="early", phase=Phase.INLINE, look=NodeLook.BOOTSTRAP),
    )

    laid = row_order.rows(
        Picture("home", "", nodes, {"late": (), "early": ("late",)}), limit=1500, width=lambda node: 100, boxes=False
    )

    assert [[node.id for node in row.nodes] for row in laid.rows] == [["late"], ["early"]]
    assert {row.phase for row in laid.rows} == {Phase.CORE}


def test_crossings_are_counted_and_removed() -> None:
    nodes = tuple(GraphNode(id=name, label=name, phase=Phase.CORE, look=NodeLook.RUN) for name in "abcd")
    rows = row_order.GraphRows(
        (row_order.GraphRow(Phase.CORE, 0, nodes[:2]), row_order.GraphRow(Phase.CORE, 1, nodes[2:])),
        {"c": ("b",), "d": ("a",)},
    )

    found = row_order.ordered(rows)

    assert (
        row_order.crossings(
            [[row_order.RowItem("a"), row_order.RowItem("b")], [row_order.RowItem("c"), row_order.RowItem("d")]],
            {0: (("a", "d"), ("b", "c"))},
        )
        == 1
    )
    assert row_order.crossings(found.rows, found.pieces) == 0


def test_lines_from_one_node_share_a_trunk() -> None:
    names = ["root", "middle", "low", "lower"]
    nodes = tuple(GraphNode(id=name, label=name, phase=Phase.CORE, look=NodeLook.RUN) for name in names)
    needs = {"root": (), "middle": ("root",), "low": ("middle", "root"), "lower": ("low", "root")}
    made = row_order.rows(Picture("home", "", nodes, needs), limit=1500, width=lambda node: 100, boxes=False)

    found = row_order.ordered(made)

    trunks = [item.id for row in found.rows for item in row if item.is_line]
    assert len(trunks) == 2
    assert found.routes["root", "lower"][:2] == found.routes["root", "low"][:2]


@given(st.lists(st.tuples(st.floats(-500, 500), st.floats(0.1, 9), st.floats(1, 90)), min_size=1, max_size=12))
def test_places_keep_order_and_space(wishes: list[tuple[float, float, float]]) -> None:
    ids = [str(index) for index in range(len(wishes))]
    widths = {name: wish[2] for name, wish in zip(ids, wishes, strict=True)}

    found = layout.spaced(ids, [each[0] for each in wishes], [each[1] for each in wishes], widths, 10)

    for (left, right), (one, other) in zip(itertools.pairwise(ids), itertools.pairwise(found), strict=True):
        assert other - one >= (widths[left] + widths[right]) / 2 + 10 - 1e-6


def test_wishes_that_are_possible_are_granted() -> None:
    assert layout.spaced(["a", "b"], [0, 100], [1, 1], {"a": 10, "b": 10}, 5) == [0, 100]


@given(plans(acyclic=True))
def test_needs_that_follow_from_others_are_left_out_and_nothing_is_lost(plan: Plan) -> None:
    direct = model_plan.direct_needs(plan)
    whole = {each.id: {need.step for need in each.needs} for each in plan.steps}

    def below(name: str, graph: dict[str, set[str]]) -> set[str]:
        return set().union(*({each} | below(each, graph) for each in graph[name]))

    reduced = {name: set(each) for name, each in direct.items()}
    for name in whole:
        assert below(name, reduced) == below(name, whole)
        for each in reduced[name]:
            assert not any(each in below(other, reduced) for other in reduced[name] - {each})


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_shown_and_never_obeyed(name: str) -> None:
    nodes = (
        GraphNode(
            id=name,
            label=name,
            detail=name,
            tip=name,
            phase=Phase.CORE,
            look=NodeLook.GITOPS,
            severity=Severity.ERROR,
        ),
        GraphNode(id="b", label="b", phase=Phase.CORE, look=NodeLook.HYBRID),
    )
    made = Picture(name, name, nodes, {name: (), "b": (name,)})

    drawn = svg.svg(made)
    ElementTree.fromstring(drawn)
    assert "<script" not in drawn
    assert "\x1b" not in drawn
    assert "‮" not in drawn
    flow = text.mermaid(made)
    assert re.search(r'^    n0\(\["[\w #;:.,()/-]*"\]\):::gitops$', flow, re.MULTILINE)
    graph = text.dot(made)
    assert not re.search(r'(?<!\\)(?:\\\\)*"\s*\]; rm', graph)
    assert "\x1b" not in text.text(made) + graph + flow


def test_texts_are_cut_with_a_mark() -> None:
    assert svg_text.cut("short", 13, 200) == "short"
    assert svg_text.cut("a-very-long-name-of-a-component", 13, 80).endswith("…")
    assert svg_text.width(svg_text.cut("a-very-long-name-of-a-component", 13, 80), 13) <= 80


def home() -> Picture:
    platform, renditions = platforms.load(SCENARIOS / "helmfile-flux" / "platform.yaml")
    plan = build.build(platform, platform.clusters[0], renditions=renditions)
    return picture.of(plan, platform.components)


def test_a_kustomization_and_its_only_release_are_one_node() -> None:
    made = home()
    ids = {node.id for node in made.nodes}

    assert "gitops/kustomization/cilium" not in ids
    assert "handover/cilium" in ids
    assert made.needs["handover/cilium"] == ("gitops/cluster-apps",)


def test_sides_are_told_apart_by_form() -> None:
    drawn = svg.svg(home())

    assert {node.look for node in home().nodes} == {NodeLook.RUN, NodeLook.BOOTSTRAP, NodeLook.HYBRID, NodeLook.GITOPS}
    assert '<g class="hybrid' in drawn
    assert 'class="bar"' in drawn
    assert "prefers-color-scheme:dark" in drawn


def test_tooltips_say_where_it_is_declared() -> None:
    assert "gitops/grafana.yaml:3" in svg.svg(home())


def test_the_critical_path_is_marked_without_gaps() -> None:
    made = home()

    assert all(source in made.needs[target] for source, target in made.critical)
    assert svg.svg(made).count("edge critical") >= len(made.critical)


def test_pairs_that_need_parts_of_each_other_are_not_joined() -> None:
    spec = {
        "clusters": {"home": {"engine": "flux"}},
        "components": {
            "flux": {"phase": "engine", "role": "engine"},
            "kustomization/a": {"form": "Kustomization"},
            "a": {"parent": "kustomization/a", "needs": ["kustomization/b"]},
            "kustomization/b": {"form": "Kustomization"},
            "b": {"parent": "kustomization/b", "needs": ["kustomization/a"]},
        },
    }
    platform, _ = platforms.make(spec)

    made = picture.of(build.build(platform, platform.clusters[0]), platform.components)

    assert {"gitops/kustomization/a", "gitops/a"} <= {node.id for node in made.nodes}


def test_what_can_never_run_is_drawn_too() -> None:
    plan = Plan(cluster="home", steps=(step("a", "b"), step("b", "a"), step("c")))

    made = picture.of(plan, ())

    assert {node.id for node in made.nodes} == {"a", "b", "c"}
    ElementTree.fromstring(svg.svg(made))


def test_many_secrets_are_one_node() -> None:
    secrets = [{"name": f"s{index}", "namespace": "flux-system", "data": {"a": "env:A"}} for index in range(6)]
    platform, _ = platforms.make(
        {"secrets": secrets, "components": {"flux": {"phase": "engine", "role": "engine", "namespace": "flux-system"}}}
    )

    made = picture.of(build.build(platform, platform.clusters[0]), platform.components)

    assert [node.label for node in made.nodes if "Secret" in node.label] == ["6 Secrets"]
    assert ("core:secrets", "engine:source") in made.critical
    assert "core:secrets" in made.needs["engine:source"]


def test_text_and_mermaid_and_dot_have_every_edge() -> None:
    made = home()
    number = sum(len(each) for each in made.needs.values())

    assert text.mermaid(made).count("-->") + text.mermaid(made).count("==>") == number
    assert text.dot(made).count(" -> ") == number
    assert "grafana" in text.text(made)
    assert "‹ rook-ceph" in text.text(made)
