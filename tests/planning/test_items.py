from __future__ import annotations

from fractions import Fraction

import pytest

from barrow.accounting import price
from barrow.errors import ParameterError
from barrow.planning.item_choice import choose_items, most_accurate_items
from barrow.spaces import Circle, Clustered, Discrete, Euclidean, Line, Tree

SPACES = {
    "clustered": Clustered.grid(4, 5, r=0.1),
    "tree": Tree.nested(["US/NY", "US/LA", "FR/Paris"], distances=[1, 0.25]),
    "discrete": Discrete(["a", "b", "c"]),
    "line": Line(0, 5, unit="km", step=1, cells=True),
    "map": Euclidean([0, 0], [3, 4], unit="km", step=1),
}


@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES.keys())
@pytest.mark.parametrize(
    ("alpha", "delta", "model", "users"),
    [
        (25, 0, "local", None),
        (25, 0, "shuffle", 500),
        (25, 0, "central", 500),
        (25, "1e-9", "local", None),
        (25, "1e-9", "central", 500),
        ("0.5", "1e-6", "shuffle", 500),
    ],
)
def test_what_is_chosen_keeps_what_was_asked(space, model, users, alpha, delta):
    result = choose_items(space, alpha, delta, items=20, users=users, model=model)
    assert result.guarantee == price(result.mechanism.event)
    assert result.guarantee.definition.parameters["alpha"] <= Fraction(str(alpha))
    assert result.guarantee.definition.parameters["delta"] <= Fraction(str(delta))
    assert result.mechanism.event.reports == (20 if model == "local" else 10_000)
    assert result.guarantee.definition.bounded
    # Nothing much is wasted either: the claim is within a millionth of what was calibrated, unless reports are exact.
    assert float(result.mechanism.event.alpha0) <= result.calibration.alpha0 * (1 + 1e-12)
    assert float(result.mechanism.event.alpha0) >= result.calibration.alpha0 * 0.9


def test_the_papers_example():
    """n = 1e5 people of m = 1e3 items, alpha 25, delta 1e-12: the paper says 3.0, its theorem 2.48, the flow 4.4.

    The blanket of GKRR itself allows more; a tree of the same shape has no name and keeps the flow.
    """
    space = Clustered.grid(20, 50, r=0.05)
    result = choose_items(space, 25, "1e-12", items=1000, users=10**5)
    assert 4.3 < result.calibration.methods["flow"] < 4.45
    assert 6.4 < float(result.mechanism.event.alpha0) < 6.5
    assert result.guarantee.method == "blanket"
    assert result.mechanism.event.randomiser == f"gkrr:20x50:{Fraction(0.05)}"
    tree = Tree.nested([f"{b}/{c}" for b in range(20) for c in range(50)], distances=[1, 0.05])
    same = choose_items(tree, 25, "1e-12", items=1000, users=10**5)
    assert same.mechanism.event.randomiser is None
    assert 4.3 < float(same.mechanism.event.alpha0) < 4.45
    assert same.guarantee.method == "flow_strong"
    assert choose_items(space, 25, 0, items=1000, users=10**5).guarantee.method == "per_report_composition"


@pytest.mark.parametrize(
    ("space", "randomiser", "family"),
    [
        (Clustered.grid(4, 5, r=0.25), None, "gkrr:4x5:0.25"),
        (Clustered.grid(4, 5, r=0.25), "tree", "gkrr:4x5:0.25"),
        (Clustered.grid(4, 5, r=0.25), "response", None),
        (Clustered.grid(4, 1, r=0.25), None, "krr:4"),
        (Clustered.grid(1, 4, r=0.25), None, None),
        (Clustered({"a": ["1"], "b": ["2", "3"]}, r=0.25), None, None),
        (Discrete(["a", "b", "c"]), None, "krr:3"),
        (Discrete(["a", "b", "c"]), "exponential", None),
        (Discrete(["a", "b", "c"]), {"kind": "mapped", "inner": "tree", "answers": ["x", "y", "y"]}, "krr:3"),
    ],
)
def test_what_is_named_is_priced_by_its_blanket(space, randomiser, family):
    result = choose_items(space, 10, "1e-9", items=200, users=500, randomiser=randomiser)
    assert result.mechanism.event.randomiser == family
    assert "blanket" in result.calibration.methods
    assert (result.mechanism.event.channel is None) is (family is not None)
    if family is not None:
        assert result.guarantee.method == "blanket"
        assert result.calibration.methods["blanket"] > result.calibration.methods["flow"]


def test_an_alpha0_that_whole_weights_cannot_name_falls_back():
    # So many people that the blanket allows an alpha0 at which reports are rarer than 62-bit weights can say.
    result = choose_items(Clustered.grid(3, 3, r=0.25), 80, "1e-9", items=100, users=2**36)
    assert result.calibration.method == "blanket"
    assert result.mechanism.event.randomiser is None
    assert result.guarantee.method == "flow_strong"
    assert (
        result.calibration.methods["flow"] * 0.99 < result.mechanism.event.alpha0 <= result.calibration.methods["flow"]
    )
    assert result.guarantee.definition.parameters["alpha"] <= 80


def test_warnings_say_when_reports_are_noise():
    weak = choose_items(SPACES["line"], 1, "1e-9", items=1000, model="local")
    assert "nearly useless" in weak.warning
    strong = choose_items(SPACES["line"], 2000, "1e-9", items=20, users=10**4)
    assert strong.warning is None
    assert strong.distortion < 1.0


def test_noise_and_nothing_else_is_refused():
    with pytest.raises(ParameterError, match="pure noise"):
        choose_items(SPACES["line"], "1e-8", items=1000, model="local")


def test_wrong_parameters():
    with pytest.raises(ParameterError):
        choose_items(SPACES["line"], 25, items=20)
    with pytest.raises(ParameterError):
        choose_items(SPACES["line"], -1, items=20, users=5)
    with pytest.raises(ParameterError):
        choose_items(SPACES["line"], 25, items=20, users=5, randomiser="gkrr")


@pytest.mark.parametrize(
    ("space", "alpha", "users", "items"),
    [
        (Discrete(list("abcdef")), 8, 1000, 10),
        (Clustered.grid(4, 3, r=0.1), 25, 2000, 50),
        (Line(0, 12, step=1), 12, 1000, 20),
        (Circle.hours(2), 20, 300, 5),
    ],
)
def test_no_calibration_finds_more_than_was_hoped_for(space, alpha, users, items):
    """What decides whether a calibration is worth its time is above what every accountant certifies."""
    hoped = most_accurate_items(space, alpha, "1e-9", items=items, users=users)
    result = choose_items(space, alpha, "1e-9", items=items, users=users)
    certified = float(result.mechanism.event.alpha0)
    assert certified <= float(hoped.event.alpha0)
    assert most_accurate_items(space, alpha, 0, items=items, users=users) is None


def test_most_accurate_items():
    built = most_accurate_items(Discrete(list("abcd")), 5, "1e-9", items=10, users=1000)
    result = choose_items(Discrete(list("abcd")), 5, "1e-9", items=10, users=1000)
    assert built.event.alpha0 >= result.mechanism.event.alpha0
