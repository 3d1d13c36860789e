"""What internal names do, each by one known answer."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from barrow.errors import ParameterError
from barrow.mechanisms import linear_noise
from barrow.mechanisms.histograms import histogram_noise
from barrow.planning import linear_errors, reference_distribution, user_level_errors
from barrow.planning.candidates import Candidate, checked_definition, chosen, kept_user_level, preferred, versus
from barrow.planning.comparing import Asked, as_user_level, compared, crossover
from barrow.planning.edges import best_spacing
from barrow.planning.histograms import HistogramTarget, check_size, kept_noise
from barrow.planning.items import ItemHelp, choose_items, most_accurate_items
from barrow.planning.linear import noise_candidate
from barrow.planning.simulate import StandIn, raw_error, simulate, stand_in
from barrow.planning.terms import Terms
from barrow.policy import Promise
from barrow.privacy import Emd, Guarantee, Model
from barrow.queries import mean
from barrow.randomisers import randomised_response
from barrow.spaces import Clustered, Discrete, Earth, Line


def test_chosen():
    promise = Guarantee(Emd(25, model="central"), "knorm", "lemma:lin")
    both = [Candidate("identity", "", promise, 0.2), Candidate("tree", "", promise, 0.1)]
    assert chosen(both).name == "tree"
    assert chosen(both, "identity").name == "identity"


def test_best_spacing():
    line, flat = Line(0, 256, step=1, cells=True), np.full(256, 1 / 256)
    few, many = (lambda at, s, n=n: histogram_noise(at, "edges", 25, users=n, spacing=s) for n in (20, 10**6))
    assert best_spacing(line, flat, few) is not None
    assert best_spacing(line, np.eye(256)[9], many) is None


def test_kept_noise():
    line = Line(0, 10, step=1)
    terms = Terms(line, 1000, (Promise("all", "anywhere", "1"),))
    made = kept_noise(HistogramTarget(terms, reference_distribution(line)), "cells")
    assert float(terms.alpha) == 1.0
    assert round(float(made.event.alpha), 6) == 10.0


def test_item_help():
    space = Discrete(["a", "b"])
    terms = Terms(space, 100, given=Fraction(1, 10), model=Model.LOCAL)
    found = ItemHelp.of(terms, 10, False, None, randomised_response(space, "0.01"))
    assert found.sentence == "Promises 130 times looser would make it about 0.215."


def test_most_accurate_items():
    made = most_accurate_items(Discrete(list("abcd")), 5, "1e-9", items=10, users=1000)
    found = choose_items(Discrete(list("abcd")), 5, "1e-9", items=10, users=1000)
    assert made.event.alpha0 >= found.mechanism.event.alpha0


def test_noise_candidate():
    assert noise_candidate(linear_noise(mean(Line(0, 100, step=1)), 25, users=1000), 1000, "").name == "laplace"


def test_compared():
    query = mean(Line(0, 100, unit="years", step=1))
    asked = Asked("mean", "half width", "", lambda e, _: user_level_errors(query, e, users=10), lambda e: None)
    found = compared(query.space, asked, linear_errors(query, 4, users=10), Fraction(4), epsilons=[1])
    assert found.rivals[0].why == "was asked for"


def test_crossover():
    promise = Guarantee(Emd(25, model="central"), "knorm", "lemma:lin")
    made = Candidate("tree", "", promise, 0.04)
    assert round(crossover(made, Fraction(25), replace(made, error=1.0), Fraction(1), 0.5), 6) == 2.0


def test_as_user_level():
    assert (
        as_user_level(Candidate("tree", "noise", Guarantee(Emd(2, model="central"), "knorm", ""), 0.1)).words
        == "user-level: noise, by its worst case"
    )


def test_raw_error():
    assert raw_error(3.0, 4.0) == 5.0


def test_simulate():
    made = histogram_noise(Clustered.grid(5, 4, r=0.02), "tree", 25, users=1000)
    assert 0.0 < simulate(made, np.full(20, 0.05)).mean < 0.01


def test_stand_in():
    assert StandIn(Discrete(["a", "b"]), np.array([0.5, 0.5]), 0.3).error(0.4) == 0.5


def test_stand_in_of_simulate():
    here = stand_in(Line(0, 10**5, step=1, cells=True), np.full(10**5, 1e-5), 300, 2000)
    assert here.space.items == 2000
    assert round(float(here.reference.sum()), 9) == 1.0
    assert here.lost < 2e-4


def test_check_size():
    with pytest.raises(
        ParameterError,
        match=re.escape(
            "A histogram of 14,330,207 items takes about 29 min to plan.\n"
            "  allowed: at most about 1,000,000 items\n  fix:     cell = 11 takes about 15 s"
        ),
    ):
        check_size(Earth(box=(24.5, -125.0, 49.5, -66.5), cell=1))


def test_checked_definition():
    assert checked_definition("emd") == "emd"


def test_kept_user_level():
    assert kept_user_level(Terms(Line(0, 1, step=1), 10, given=Fraction(1)), lambda epsilon: []) == []


def test_preferred():
    both = [Candidate(name, "", Guarantee(Emd(1), "", ""), error) for name, error in (("a", 1.04), ("b", 1.0))]
    assert preferred(both[:1], both[1:]).name == "a"
    assert preferred(both[:1], both[1:], "user_level").name == "b"


def test_versus():
    assert versus(Terms(Line(0, 1, step=1), 10, given=Fraction(1)), None, [], [], emd=list, user_level=list) is None
