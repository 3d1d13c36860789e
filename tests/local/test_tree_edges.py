"""Edge values of a tree through a local study and through a plan of a release."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from barrow.local import LocalClient, LocalServer, LocalStudy
from barrow.mechanisms import tree_histogram
from barrow.queries import tree_edges
from barrow.release.study import Study
from barrow.spaces import Clustered
from barrow.transport import emd

SPACE = Clustered.grid(3, 4, r=0.05)


def test_reports_of_a_local_study_are_decoded_along_the_tree(tmp_path):
    study = LocalStudy(tree_edges(SPACE), alpha=400)
    server = LocalServer(study)
    for i in range(40):
        client = LocalClient(study, tmp_path / f"{i}.json")
        assert server.add(client.report(ids=[i % 2, 5])) is None
    result = server.result()
    plan = tree_histogram(SPACE, 400, users=40, model="local")
    assert plan.noise.scale == study.noise.scale
    answer = plan.combine(result.means, reports=result.n)
    truth = np.zeros(12)
    truth[[0, 1, 5]] = 0.25, 0.25, 0.5
    # 15 edges with mean size 2/(400 sqrt(40 pi)): an error beyond four times the sum has probability below 1e-6.
    assert emd(SPACE, answer.histogram, truth) < 4.0 * plan.undecoded_error
    assert plan.undecoded_error < 0.01


def test_a_study_may_ask_for_edges():
    study = Study(SPACE, alpha=Fraction(25), query={"kind": "tree_edges"}, users=1000)
    plan = study.plan()
    assert plan.event == tree_histogram(SPACE, 25, users=1000).event
    assert "edges of the tree" in plan.description
