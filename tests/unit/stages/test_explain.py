"""Explaining a plan: trees, edges, costs and each query's part of them, as values, text and a picture."""

from __future__ import annotations

import json
import re

import pytest

from weft.aggregates import Argument, find
from weft.cost.model import SparkModel
from weft.model.query import Call, Output, Query
from weft.model.window import Window
from weft.model.workload import BoundQuery
from weft.optimize import EVERY_OPTIMIZER
from weft.optimize.cost_breakdown import break_down_plan
from weft.optimize.plan import find_optimizer, plan_workload, scan_key
from weft.stages.build import build, projection
from weft.stages.explain import Explanation

SECOND = 1_000_000
HOUR = 3600 * SECOND
MODEL = SparkModel(2e7 / (10 * HOUR), 1000, 10 * HOUR)


def bound(name, range, slide, call="sum", keys=("symbol",)):
    """A query of one call, as Spark's check would bind it."""
    lowered = find(call).lower((Argument("volume", "bigint"),), "")
    query = Query(name, "", "trades", "ts", Window(range, slide), None, keys, (Call(call, ("volume",)),),
                  (Output("__call_0", "x"),), None, "")
    return BoundQuery(query, "timestamp", ("string",) * len(keys), (lowered,))


def workload():
    fine = [bound(f"fine_{s}_{r}", r * SECOND, s * SECOND) for s in (7, 11, 13, 17) for r in (60, 300)]
    coarse = [bound(f"coarse_{c}", 2 * HOUR, HOUR, c) for c in ("max", "min", "avg", "stddev")]
    return (*fine, *coarse, bound("all", 60 * SECOND, 60 * SECOND, keys=()))


def explained(name, queries=None, measured=()):
    queries = workload() if queries is None else queries
    plan = plan_workload(queries, find_optimizer(name), lambda b: MODEL, projection)
    return Explanation(plan, build(plan), break_down_plan(plan, lambda b: MODEL, projection, measured))


NAMES = [o.name for o in EVERY_OPTIMIZER if o.most is None]


@pytest.mark.parametrize("name", NAMES)
def test_costs_add_up_and_are_plain_values(name):
    data = json.loads(json.dumps(explained(name).to_dict()))
    assert data["cost"]["cost"] == pytest.approx(sum(scan["cost"] for scan in data["scans"]))
    assert data["cost"]["cost"] == pytest.approx(sum(q["cost"] for q in data["queries"].values()))
    assert data["cost"]["no_share_cost"] == pytest.approx(sum(q["alone"] for q in data["queries"].values()))
    assert sorted(data["queries"]) == sorted(b.query.name for b in workload())
    for scan in data["scans"]:
        assert scan["cost"] == pytest.approx(scan["partial_cost"] + scan["final_cost"])
        assert sum(tree["cost"] for tree in scan["trees"]) <= scan["cost"] * (1 + 1e-9)


def test_extremes_are_the_extremes():
    no_share, shared, woven = (explained(n).to_dict()["cost"] for n in ("no_share", "share_all", "weave_share"))
    assert no_share["cost"] == pytest.approx(woven["no_share_cost"])
    assert shared["cost"] == pytest.approx(woven["shared_cost"])
    assert woven["cost"] < min(no_share["cost"], shared["cost"])


def test_each_tree_says_how_it_cuts_time():
    data = explained("weave_share", workload()[8:10]).to_dict()
    (tree,) = data["scans"][0]["trees"]
    assert tree["slices"]["composite_slide"] == "1 h" and tree["slices"]["edges"] == 1
    assert tree["slices"]["edge_rate"] == pytest.approx(1 / 3600) and tree["slices"]["edge_rate_exact"] is True


def test_a_sampled_edge_rate_is_said_to_be():
    slides = (1009, 1013, 1019, 1021, 1031, 1033, 1039, 1049, 1051, 1061, 1063, 1069, 1087, 1091, 1093, 1097)
    found = explained("share_all", [bound(f"q{s}", 2 * s * 1000 + 1000, s * 1000) for s in slides])
    slices = found.to_dict()["scans"][0]["slices"]
    assert slices["edges"] is None and slices["edge_rate_exact"] is False and slices["edge_rate_error"] > 0
    assert re.search(r"about [\d.]+ slices a second \(sampled, ± [\d.]+\)", str(found))
    assert "very many slices" in found.svg()


def test_the_text_says_what_people_ask():
    text = str(explained("weave_share", measured={scan_key(workload()[0])}))
    assert re.search(r"weave_share takes [\d.]+ s, No Share takes [\d.]+ s, Shared [\d.]+ s", text)
    assert "20,000,000 rows of 1000 keys in 10 h, measured" in text and "in 10 h, assumed" in text
    assert re.search(r"fine_7_60: [\d.]+ s, alone [\d.]+ s, saves [\d.]+ s", text)
    assert "     and 1 more" in text


def test_several_trees_of_a_scan_are_told_apart():
    found = explained("tri_weave")
    scan = found.to_dict()["scans"][0]
    text, picture = str(found), found.svg()
    assert len(scan["trees"]) > 1
    assert text.count("cut at ") == picture.count('class="tree"') == len(scan["trees"])


def split_by_hand(groups):
    """One scan of several trees, whatever an optimizer would make of it."""
    from weft.model.plan import Scan, SharedPlan, Tree

    queries = workload()
    plan = SharedPlan("tri_weave", (Scan(tuple(Tree(tuple(queries[i] for i in group)) for group in groups)),))
    return Explanation(plan, build(plan), break_down_plan(plan, lambda b: MODEL, projection))


def test_the_picture_frames_the_trees_of_a_scan():
    found = split_by_hand(((0, 1, 2), (8, 9), (10,)))
    picture, text = found.svg(), str(found)
    assert picture.count('<rect class="tree"') == 3 and picture.count("<title>tree: 1 edge every 1 h") == 2
    assert text.count("cut at 1 edge every 1 h") == 2 and "loses" in text
    assert text.count("├─ tree of ") == 2 and text.count("└─ tree of ") == 1
    assert "tri_weave: " in picture and "; No Share " in picture
    assert found.to_html().startswith("<!doctype html>") and "part of the cost" in found.to_html()


def test_one_tree_has_no_frame():
    assert '<rect class="tree"' not in explained("share_all").svg()


def test_a_picture_leaves_out_what_does_not_fit():
    queries = [bound(f"q{i}", (i + 1) * SECOND, SECOND) for i in range(30)]
    assert "and 18 more windows" in explained("share_all", queries).svg()


def test_nothing_to_plan_explains_as_nothing():
    assert str(explained("tri_weave", ())).startswith("0 queries in 0 scans")


def test_lines_of_the_picture_are_as_wide_as_what_they_cost():
    found = split_by_hand(((0, 1, 2), (8, 9), (10,)))
    plan, picture = found.to_dict(), found.svg()
    widths = sorted(float(width) for width in re.findall(r'<path stroke-width="([\d.]+)"', picture))
    assert widths[-1] == 14 and widths[0] >= 1
    dearest = max(plan["scans"][0]["trees"], key=lambda tree: tree["cost"])
    assert f'stroke-width="{round(1 + 13 * dearest["cost"] / plan["cost"]["cost"], 2)}"' in picture
    name, share = next(iter(plan["queries"].items()))
    assert f"{name}: {share['cost']:.3g} s, alone {share['alone']:.3g} s, " in picture
    assert picture.count('class="alone"') == picture.count('class="part"') == 5
