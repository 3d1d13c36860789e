"""The audits pass on what is shipped, fail on what is broken, and say so in counts."""

import json
from fractions import Fraction

import numpy as np
import pytest
from click.testing import CliRunner

from barrow.accounting import price
from barrow.audit import BUGS, CASES, Finding, Planted, Verdict, audit_all, audit_mechanism, planted, try_bug
from barrow.audit.enumeration import distribution
from barrow.audit.pairs import distances_upper, small_users
from barrow.audit.shaped import _side
from barrow.cli.main import cli
from barrow.errors import ParameterError
from barrow.mechanisms import UserCounts, linear_noise
from barrow.mechanisms.user_level.ball import BallNoise
from barrow.queries import histogram, mean
from barrow.spaces import Circle, Clustered, Discrete, Euclidean, Line
from barrow.transport import emd_between

QUICK = ["linf", "cells", "user level Laplace", "ledger", "promises"]
BROKEN = ["Laplace", "cells", "user level Laplace", "promises"]


def test_quick_audits_pass_with_enough_pairs():
    verdict = audit_all(only=QUICK, planted=False)
    assert verdict.passed
    assert all(f.pairs >= 2000 for f in verdict.findings if f.mechanism != "ledger")
    for finding in verdict.findings:  # tight, each of them: an audit that sees half of every loss would pass as well
        assert finding.mechanism == "ledger" or finding.used == pytest.approx(1.0, abs=1e-6), finding.mechanism
    assert verdict.summary()["violations"] == 0


def test_enough_bugs_are_planted_in_shipped_code():
    assert len(BUGS) >= 20
    assert len({bug.name for bug in BUGS}) == len(BUGS)
    for bug in BUGS:
        assert bug.case in CASES
        assert hasattr(bug.owner, bug.piece), bug.name
        module = getattr(bug.owner, "__module__", None) or bug.owner.__name__
        assert module.startswith("barrow."), bug.name
        assert "audit" not in module, bug.name


@pytest.mark.parametrize("bug", [b for b in BUGS if b.case in BROKEN][::2], ids=lambda b: b.name)
def test_quick_bugs_are_caught(bug):
    assert try_bug(bug).caught


def test_a_bug_is_taken_out_again_even_after_an_error():
    owner, name = BUGS[0].owner, BUGS[0].piece
    before = vars(owner)[name]
    with pytest.raises(ZeroDivisionError), planted(BUGS[0]):
        raise ZeroDivisionError
    assert vars(owner)[name] is before


@pytest.mark.parametrize(
    "space",
    [
        Line(0, 4, step=1, cells=True),
        Circle(4, step=1),
        Clustered.grid(2, 2, r=0.25),
        Discrete("abc"),
        Euclidean([0, 0], [2, 2], step=1),
    ],
)
def test_distances_of_small_users_are_the_earth_movers(space):
    users = small_users(min(space.items, 4), (1, 2, 3))
    result = distances_upper(space, users)
    for i, one in enumerate(users[::3]):
        for j, other in enumerate(users[::4]):
            real = emd_between(space, list(one), list(other))
            assert real - 1e-12 <= result[3 * i, 4 * j] <= real + 1e-9


def _pair():
    line = Line(0, 10, step=1, cells=True)
    return line, [[5]] * 9


@pytest.mark.parametrize(("factor", "passes"), [(1.0, True), (0.5, False)])
def test_sampling_accepts_the_true_scale_and_rejects_a_wrong_one(factor, passes):
    line, others = _pair()
    query = mean(line)
    noise = linear_noise(query, 20, users=10)
    rng = np.random.default_rng(3)

    def center(first):
        return float(UserCounts.of_users(line, [first, *others]).center(query).exact_entry(0))

    def draw(center):
        return center + rng.laplace(scale=float(noise.scale) * factor)

    pair = center([0]), center([1])
    result = audit_mechanism(draw, price(noise.event), *pair, distance="1/10", draws=6000)
    assert result.informative
    assert result.passed is passes
    assert (result.seen_lower > result.epsilon) is not passes


def test_sampling_sees_several_outputs_and_says_where_it_is_blind():
    space = Discrete("abc")
    query = histogram(space)
    noise = linear_noise(query, 5, users=1)

    def draw(user):
        return noise.draw(UserCounts.of_users(space, [user]).center(query)).values

    result = audit_mechanism(draw, price(noise.event), [0], [1], distance=1, draws=200)
    assert result.passed
    assert not result.informative
    assert json.loads(json.dumps(result.to_json()))["draws"] == 200
    with pytest.raises(ParameterError, match="draws is 3"):
        audit_mechanism(draw, price(noise.event), [0], [1], distance=1, draws=3)


def test_verdicts_count_and_fail():
    good, bad = Finding("a", "local", 10), Finding("a", "central", 5, wrong=2)
    verdict = Verdict([good, bad], [Planted("x", True, "a"), Planted("y", False, "")])
    assert not verdict.passed
    assert verdict.summary() == {
        "mechanisms": 2, "pairs": 15, "violations": 2, "planted": 2, "planted_caught": 1, "limits": 0, "undetected": 1,
    }  # fmt: skip
    assert verdict.lines()[-1].startswith("FAILED")
    assert "planted and not caught: y" in "\n".join(verdict.lines())
    assert json.loads(json.dumps(verdict.to_json()))["passed"] is False


def test_the_command_ends_with_its_counts():
    done = CliRunner().invoke(cli, ["audit", "--only", "ledger", "--summary"])
    assert done.exit_code == 0, done.output
    last = json.loads(done.output.strip().splitlines()[-1])
    assert last["violations"] == 0
    assert last["planted"] == last["planted_caught"] == 2
    assert CliRunner().invoke(cli, ["audit"]).exit_code == 2
    with pytest.raises(ParameterError, match="no audit 'lapace'"):
        audit_all(only=["lapace"])


@pytest.mark.parametrize("case", ["user level levels", "user level polytope"])
def test_user_level_noise_that_studies_release_is_audited(case):
    result = CASES[case]()
    assert all(finding.passed for finding in result)
    assert max(finding.used for finding in result) == pytest.approx(1.0, abs=1e-6)  # tight: the audit has power
    assert all(try_bug(bug).caught for bug in BUGS if bug.case == case)


def test_sides_of_half_spheres_have_the_chances_that_were_proved():
    line = Line(0, 3, step=1, cells=True)
    noise = BallNoise.of(mean(line), 1)
    one = UserCounts.of_users(line, [[0]]).center(mean(line))
    result = distribution(lambda source: _side(noise, one, source, 1), cut=Fraction(1, 2**16), continuations=2)
    # The answer is at the ball's edge, so that its side is sure; "1" is the far side of 0.
    assert abs(result.chances[1] - (1 - noise.agree)) <= result.left + Fraction(1, 2**40)
    assert abs(result.chances[-1] - noise.agree) <= result.left + Fraction(1, 2**40)


@pytest.mark.parametrize(
    "bug", [b for b in BUGS if b.case in ("scopes", "ledger", "hidden groups")], ids=lambda b: b.name
)
def test_wrong_prices_of_months_groups_and_series_are_caught(bug):
    assert try_bug(bug).caught
