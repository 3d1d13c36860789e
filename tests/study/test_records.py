"""Filters, jumps and second metrics: plan, statement and ledger say one price, and it is never too small."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from barrow.ledger import Budget, Ledger, PromiseLimit, Promises, SpaceRef
from barrow.ledger.errors import NotCoveredError, OverBudgetError
from barrow.promises import Emd, RecordMap, UserLevel
from barrow.questions.linear import ratio_of
from barrow.questions.plan_text import answer_json, plan_lines
from barrow.questions.prices import charges
from barrow.spaces import Circle, Discrete, Earth, Euclidean, Line, Product, Scale
from barrow.spaces.nearness import keeps_near
from barrow.study import read, statement_text
from tests.study.helpers import PROMISES, USERS, make_ledger, make_study, write_ages

WHERE = "SELECT uid, age FROM records WHERE age_group = 1"
DAY = "1 day of 30, 5 years, 0.5"


def with_groups(path):
    """Ages with a column to filter by."""
    lines = write_ages(path).read_text().splitlines()
    rows = [f"{line},{i % 2}" for i, line in enumerate(lines[1:])]
    path.write_text("\n".join([lines[0] + ",age_group", *rows]) + "\n")
    return path


def asked(tmp_path, promises=(DAY,), **options):
    data = read(str(with_groups(tmp_path / "groups.csv")), user="uid", item="age", **options)
    return make_study(tmp_path).replace(promises=promises, data=data)


@pytest.mark.parametrize(
    ("options", "records", "charged"),
    [
        # a thirtieth of 5 of 100 years and half a year there and back
        ({}, "contraction", Fraction(6, 100) / 30),
        ({"outside": "nearest"}, "contraction", Fraction(6, 100) / 30),
        ({"sql": "SELECT uid, age FROM records"}, "contraction", Fraction(6, 100) / 30),
        ({"sql": "SELECT age, uid, age_group FROM records"}, "contraction", Fraction(6, 100) / 30),
        ({"outside": "default"}, "jumps", Fraction(1, 30)),
        ({"sql": "SELECT uid, CAST(age AS INTEGER) AS age FROM records"}, "jumps", Fraction(1, 30)),
        ({"sql": WHERE}, "filter", Fraction(1)),
        ({"sql": WHERE, "outside": "default"}, "filter", Fraction(1)),
        ({"sql": "SELECT uid, age FROM records LIMIT 100", "acknowledge_sql": True}, "filter", Fraction(1)),
    ],
)
def test_one_price_from_the_plan_to_the_ledger(tmp_path, options, records, charged):
    study = asked(tmp_path, **options)
    ledger = make_ledger(study)
    plan = study.plan("mean")
    assert study.record_map.value == answer_json(plan)["records"] == records
    assert charges(plan) == (Fraction(1, 2),)  # all of the promise, whatever the way
    assert float(charges(plan)[0] / plan.alpha) == pytest.approx(float(charged), rel=1e-6)
    result = study.release("mean", out=tmp_path / "out")
    assert ledger.balances()[0].spent.loss == charges(plan)[0]
    (row,) = result.statement.protected
    assert row.epsilon == 0.5
    words = RecordMap(records).words
    if words:
        assert words in " ".join(statement_text(result.statement).split())
    assert (f"Records   {words}; " in "\n".join(plan_lines(plan))) == bool(words)
    subset = "filtered" in ledger.records()[1].data["space"], "snapping" in ledger.records()[1].data["space"]
    assert subset == (records == "filter", records == "contraction")


def test_a_filter_over_one_record_of_thirty_costs_what_it_loses(tmp_path):
    """One record in thirty may be all of October: from one end of the space to the other the loss is alpha."""
    study = asked(tmp_path, sql=WHERE)
    plan = study.plan("mean")
    # A person with one selected record of thirty, which moves by 5 years on average over ... any share: the answer of
    # Laplace noise moves by the whole range, and that costs all of alpha B/ell.
    lost = plan.alpha * ratio_of(plan)
    assert lost <= charges(plan)[0]
    naive = study.replace(data=read("x.csv", user="uid", item="age")).plan("mean")
    assert naive.alpha * ratio_of(naive) > 20 * charges(naive)[0]  # what was charged for a filter before


def test_tiny_data_sets_never_lose_more_than_is_charged_and_a_smaller_price_is_caught():
    """All pairs of up to four records at 0, 1/2 and 1, some of which a filter leaves or which lie outside."""
    promises = [(Fraction(1, 4), Fraction(1)), (Fraction(1, 2), Fraction(1, 2)), (Fraction(1), Fraction(1, 4))]
    places = (Fraction(0), Fraction(1, 2), Fraction(1))
    views = {
        RecordMap.CONTRACTION: lambda records: sum(records) / len(records),
        RecordMap.JUMPS: lambda records: sum(0 if x == 1 else x + Fraction(1, 2) for x in records) / len(records),
        RecordMap.FILTER: lambda records: records[0],
    }
    caught = dict.fromkeys(views, 0)
    tight = {way: [Fraction(0)] * len(promises) for way in views}
    for size in (1, 2, 4):
        for a, b in itertools.product(itertools.product(places, repeat=size), repeat=2):
            moves = [abs(x - y) for x, y in zip(a, b, strict=True)]
            for k, (share, far) in enumerate(promises):
                if sum(move > 0 for move in moves) > share * size or sum(moves) > share * far * size:
                    continue
                for way, view in views.items():
                    lost = abs(view(a) - view(b))  # the EMD on a line, where all moves go one way, and at most it
                    moved, reach = way.reach_upper(share, far, Fraction(0))
                    assert lost <= moved * reach
                    tight[way][k] = max(tight[way][k], lost / (moved * reach))
                    caught[way] += lost > share * far
    assert caught[RecordMap.CONTRACTION] == 0
    assert caught[RecordMap.JUMPS] > 0
    assert caught[RecordMap.FILTER] > 0
    assert tight[RecordMap.CONTRACTION] == [1, 1, 1]
    assert tight[RecordMap.FILTER] == [1, 1, 1]  # also where all records may move: q is an average
    assert tight[RecordMap.JUMPS][0] == 1


def test_which_spaces_keep_near_records_near():
    line, box = Line(0, 10, step=1, unit="km"), Euclidean([0, 0], [1, 1], step=0.25)
    nearest = {
        line: True, box: True, Product([line, box]): True, Earth(box=(0, 0, 1, 1), cell=20): False,
        Circle.hours(1): False, Product([line, Circle.hours(1)]): False,
        Euclidean(center=[0, 0], radius=1, step=0.25): False,
    }  # fmt: skip
    for space, subset in nearest.items():
        assert keeps_near(space, "nearest") is subset, space
        assert keeps_near(space, "error")
        assert not keeps_near(space, "default"), space
    for named in (Discrete(["a", "b"]), Scale(["no", "perhaps", "yes"])):
        assert keeps_near(named, "default"), named
    assert not keeps_near(Circle.weekdays(), "default")  # it reads moments, too
    assert not keeps_near(Product([Discrete(["a", "b"]), Discrete(["c", "d"])]), "default")


@pytest.mark.parametrize("space", [Line(-3, 7, step=1, unit="km"), Euclidean([0, -1], [2, 1], step=0.5, unit="km")])
def test_the_nearest_point_moves_no_two_records_apart(space):
    """Random points far and near, snapped after they moved to the nearest point: never beyond d + 2 rho."""
    rng = np.random.default_rng(3)
    columns = 1 if isinstance(space, Line) else 2
    a = rng.normal(0, 4, (4000, columns))
    b = a + rng.normal(0, 1, a.shape) * rng.choice([0.0, 1e-9, 0.1, 3.0], (4000, 1))
    first, second = (space.encode(x[:, 0] if columns == 1 else x, unknown="nearest") for x in (a, b))
    apart = np.linalg.norm(a - b, axis=1) / space.diameter
    result = space.distance(first, second)
    assert (result <= (apart + 2 * space.snapping_upper) * (1 + 1e-12)).all()
    assert (result > apart).any()  # snapping is needed
    # The default item is no such place: two records a step apart end as far apart as the space is wide.
    ends = space.encode([space.high, space.high + 1e-6] if columns == 1 else [[2, 1], [2 + 1e-6, 1]], unknown="default")
    assert space.distance(ends[0], ends[1]) > 0.5


def test_a_ledger_of_alpha_takes_no_part_of_the_records(tmp_path):
    """Near each other in all records is not near each other in some of them."""
    study = asked(tmp_path, (), sql=WHERE).replace(alpha=5)
    make_ledger(study)
    with pytest.raises(NotCoveredError, match="may be the only one selected"):
        study.release("mean", out=tmp_path / "out")
    rich = study.replace(user_level=UserLevel(10), ledger=str(tmp_path / "rich.ledger"), dataset="rich")
    state = make_ledger(rich)
    rich.release("mean", out=tmp_path / "out")
    assert state.left().loss == 5
    assert state.left("user").loss == 10 - rich.plan("mean").guarantee.worst_case.epsilon


def test_words_name_what_would_cost_less(tmp_path):
    jumping = "\n".join(plan_lines(asked(tmp_path, outside="default").plan("mean")))
    assert 'outside = "elsewhere"' in jumping
    assert "a data set of their own" in "\n".join(plan_lines(asked(tmp_path, sql=WHERE).plan("mean")))
    # On a ledger that cannot pay for it the refusal says it, too.
    dear = asked(tmp_path, (), outside="default").replace(alpha=25)
    make_ledger(make_study(tmp_path))
    with pytest.raises(OverBudgetError, match='outside = "elsewhere"'):
        dear.release("mean", out=tmp_path / "out")


class TestTighterThanTheLedger:
    """A study may release only what its ledger keeps."""

    def test_a_tighter_study_is_refused_as_by_init(self, tmp_path):
        study = make_study(tmp_path)
        ledger = make_ledger(study)
        tight = study.replace(promises=["all, 5 years, 0.1", "1/10, 20 years, 0.3"])
        with pytest.raises(
            NotCoveredError, match="promises more than the ledger of 'ages' keeps: “all data by 5 years"
        ):
            tight.release("mean", out=tmp_path / "out")
        with pytest.raises(NotCoveredError, match="promises more than the ledger"):
            Ledger.join(str(study.ledger), tight)
        assert len(ledger.records()) == 1
        assert not (tmp_path / "out").exists()
        Ledger.join(str(study.ledger), tight, tighten=True)
        tight.release("mean", out=tmp_path / "out")

    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"promises": ["all, 5 years, 0.5"]}, "drops the promise"),
            ({"promises": ["all, 5 years, 0.6", "1/10, 20 years, 0.3"]}, "loosens to"),
            ({"delta": "1e-9"}, "loosens delta"),
        ],
    )
    def test_so_is_one_that_drops_or_loosens(self, tmp_path, changes, words):
        make_ledger(make_study(tmp_path))
        with pytest.raises(NotCoveredError, match=words):
            make_study(tmp_path, **changes).release("mean", out=tmp_path / "out")

    def test_what_was_paid_is_shown_again_after_the_ledger_was_tightened(self, tmp_path):
        study = make_study(tmp_path)
        make_ledger(study)
        first = study.replace(questions=["mean(fraction=0.1)"]).release("mean", out=tmp_path / "out")
        Ledger.join(str(study.ledger), study.replace(promises=["all, 5 years, 0.3", PROMISES[1]]), tighten=True)
        again = study.replace(questions=["mean(fraction=0.1)"]).release("mean", out=tmp_path / "out")
        assert again.values.tolist() == first.values.tolist()
        with pytest.raises(NotCoveredError, match="loosens"):
            study.release("mean", out=tmp_path / "more", key="more")

    def test_a_ledger_of_alpha_must_keep_the_promises(self, tmp_path):
        study = make_study(tmp_path)
        enough, much = study.alpha, study.alpha * 2
        for k, (alpha, subset) in enumerate(((enough, True), (much, False))):
            here = study.replace(ledger=str(tmp_path / f"{k}" / "a.ledger"))
            (tmp_path / f"{k}").mkdir()
            limit = Emd(alpha, model="central")
            ledger = Ledger.create(here.ledger, Budget("ages", USERS, SpaceRef.of(study.space), limit))
            if subset:
                here.release("mean", out=tmp_path / f"{k}" / "out")
            else:
                with pytest.raises(NotCoveredError, match="does not keep the study's promises"):
                    here.release("mean", out=tmp_path / f"{k}" / "out")
            assert len(ledger.records()) == (4 if subset else 1)

    def test_a_second_metric_pays_its_worst_case_and_promises_no_less(self, tmp_path):
        """The ledger is about kilometres, the study about years: shares below 1 are charged in full there."""
        study = make_study(tmp_path)
        limits = [PromiseLimit(1, "0.3", 1), PromiseLimit("1/30", 10, "0.5")]
        ledger = Ledger.create(str(study.ledger), Budget("ages", USERS, "earth km", Promises(limits)))
        half = study.replace(promises=["1/10, 20 years, 0.5"], questions=["mean(fraction=0.02)"])
        Ledger.join(str(study.ledger), half)
        result = half.release("mean", out=tmp_path / "out")
        worst = result.statement.worst_case.epsilon
        assert [float(balance.spent.loss) for balance in ledger.balances()] == pytest.approx([worst] * 2, rel=1e-12)
        with pytest.raises(NotCoveredError, match=r"keeps ε ≤ 0\.5 for every other change"):
            study.replace(promises=["1/10, 20 years, 0.4"]).release("mean", out=tmp_path / "less")
