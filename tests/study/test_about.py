"""Releases about periods and groups: what is counted, what it costs, what is said and what is refused."""

from __future__ import annotations

from datetime import UTC, date, datetime
from fractions import Fraction
from pathlib import Path

import pytest
from msgspec import structs

from barrow.engines import Counts, engine_for
from barrow.errors import DataError, ParameterError
from barrow.ledger import Ledger
from barrow.promises import Grouping, Promise, Window
from barrow.promises.periods import Calendar
from barrow.questions import to_question
from barrow.questions.parted import mean_of_parts
from barrow.questions.prices import charges
from barrow.study import Study, read
from barrow.study.about import About, asked_windows
from barrow.study.file import study_from_text, study_text
from barrow.study.keys import parameters_of
from barrow.study.parts import CellReader, Planner, with_parts
from barrow.study.restated import contradictions
from barrow.study.several import ReleaseSeries
from barrow.study.statement import make_statement
from tests.study import monthly

MONTHS = ["2026-01", "2026-02", "2026-03"]


def centers(study: Study, about: About) -> dict[str | None, Fraction]:
    """What noise is added to, exactly."""
    parts = Planner(study, study.question("mean")).parts(about)
    assert study.data is not None
    cells = CellReader(study.data, [about]).cells(engine_for(study.data.source), parts.plan.terms.space)
    return {label: center.exact_entry(0) for label, center in parts.statistics(cells).items()}


def test_each_month_and_region_is_counted_as_by_hand(tmp_path):
    records = monthly.rows()
    study = monthly.make_study(tmp_path, records)
    regions = study.groups[0]
    for month in MONTHS:
        window = Window.parse(month)
        expected = {region: monthly.mean_of(records, n, [month], region=region) for region, n in regions.sizes}
        assert centers(study, About(window, regions)) == expected
        assert centers(study, About(window)) == {None: monthly.mean_of(records, monthly.USERS, [month])}
    everything = {region: monthly.mean_of(records, n, _all(records), region=region) for region, n in regions.sizes}
    assert centers(study, About(grouping=regions)) == everything


def _all(records):
    return sorted({at[:7] for *_, at in records})


def test_months_pool_by_records_or_by_periods(tmp_path):
    records = monthly.rows()
    study = monthly.make_study(tmp_path, records)
    each = [monthly.mean_of(records, monthly.USERS, [month]) for month in MONTHS]
    by_records = centers(study, About(Window.parse("2026-01..2026-03")))[None]
    by_periods = centers(study, About(Window.parse("2026-01..2026-03", "periods")))[None]
    weights = (Fraction(1, 2), Fraction(1, 3), Fraction(1, 6))
    weighted = centers(study, About(Window.parse("2026-01..2026-03", "periods", weights)))[None]
    assert by_records == monthly.mean_of(records, monthly.USERS, MONTHS)
    assert by_periods == sum(each) / 3
    assert weighted == sum(w * mean for w, mean in zip(weights, each, strict=True))
    assert len({by_records, by_periods, weighted}) == 3


def test_one_pass_counts_all_months_and_groups(tmp_path, monkeypatch):
    study = monthly.make_study(tmp_path)
    windows = [Window.parse(f"2026-{month:02}") for month in range(1, 13)]
    reader = CellReader(study.data, [About(window, study.groups[0]) for window in windows])
    engine, passes = engine_for(study.data.source), []
    counted = type(engine).count_cells
    monkeypatch.setattr(type(engine), "count_cells", lambda *a, **k: passes.append(1) or counted(*a, **k))
    space = study.space_of(study.question("mean"))
    assert len(reader.cells(engine, space)) == 24
    reader.cells(engine, space)
    assert passes == [1]


def test_alpha_of_a_series_is_that_of_the_corollary(tmp_path):
    """min over promises of eps/(min(k, T) w), by hand: w = 5/100 plus twice the snapping of half a year."""
    month = Window.parse("2026-10")
    for promise, periods, parts in [
        ("all, 5 years, 0.5, in any month", 12, 1),
        ("all, 5 years, 0.5, in any 3 months", 12, 3),
        ("all, 5 years, 0.5, in any 3 months", 2, 2),
        ("all, 5 years, 0.5, in every month", 12, 12),
        ("all, anywhere, 0.5", 12, 12),
    ]:
        study = monthly.make_study(tmp_path, promises=[promise], periods=periods, users=monthly.USERS)
        terms = study.terms(study.question("mean"), reads=month)
        rho = Fraction(terms.space.snapping_upper)
        far = Fraction(1) if "anywhere" in promise else Fraction(5, 100) + 2 * rho
        assert terms.alpha == Fraction(1, 2) / (parts * far)
    share = monthly.make_study(tmp_path, promises=["1 of 30, 5 years, 0.5"], periods=1)
    assert share.terms(share.question("mean"), reads=month).alpha == Fraction(1, 2)  # a window may see one record only
    whole = share.terms(share.question("mean"))
    assert whole.alpha > 30 * Fraction(1, 2)


def test_delta_is_divided_where_promises_add_up(tmp_path):
    month = Window.parse("2026-10")
    study = monthly.make_study(tmp_path, delta="1e-6")
    assert study.terms(study.question("mean"), reads=month).delta == Fraction(1, 12 * 10**6)
    once = study.replace(promises=monthly.PROMISES[:1])
    assert once.terms(once.question("mean"), reads=month).delta == Fraction(1, 10**6)


def test_a_promise_about_several_months_must_say_for_how_many(tmp_path):
    study = monthly.make_study(tmp_path, periods=None)
    with pytest.raises(ParameterError, match="is about every month, but the study does not say how many months"):
        study.plan("mean")
    unscoped = monthly.make_study(tmp_path, periods=None, promises=["all, 5 years, 0.5"])
    with pytest.raises(ParameterError, match="all data of a person"):
        unscoped.plan("mean")
    assert monthly.make_study(tmp_path, periods=None, promises=monthly.PROMISES[:1]).plan("mean").error > 0


def test_each_group_has_the_whole_promise_and_the_noise_of_its_size(tmp_path):
    study = monthly.make_study(tmp_path, periods=None, promises=monthly.PROMISES[:1])
    parts = Planner(study, study.question("mean")).parts(About(Window.parse("2026-10"), study.groups[0]))
    alone = study.plan("mean")
    scales = {label: plan.noise.scale * plan.terms.users for label, plan in parts.plans.items()}
    expected = float(alone.noise.scale) * monthly.USERS
    assert [float(scale) for scale in scales.values()] == pytest.approx([expected, expected])
    assert charges(parts.plan) == charges(alone)
    assert parts.plan.terms.users == monthly.USERS
    assert parts.worst.terms.users == 20
    both = study.by(study.question("mean"), ["region", "all"])
    assert study.terms(both, by=study.groups[0]).fraction + study.terms(both).fraction == 1


def test_a_study_with_months_and_groups_is_written_and_read_back(tmp_path):
    study = monthly.make_study(tmp_path, questions=["mean(by='region')", "histogram(by=['all', 'region'])"])
    again = Study.from_spec(study.to_spec())
    assert again == study
    study.write(tmp_path / "study.toml")
    assert Study.read(tmp_path / "study.toml") == study
    told = study.to_spec()["data"]
    assert (told["time"], told["period"], told["zone"]) == ("at", "month", "Europe/Berlin")
    assert [q.get("by") for q in study.to_spec()["question"]] == ["region", ["all", "region"]]
    without = study_text(study.replace(data=None, periods=None, ledger=None))
    assert study_from_text(without).groups == study.groups


def test_asked_windows():
    calendar = Calendar("month", "Europe/Berlin")
    now = datetime(2026, 10, 31, 23, 30, tzinfo=UTC)
    assert asked_windows("last", calendar, now=now) == [Window.parse("2026-10")]
    assert asked_windows("all", calendar) == [None]
    assert asked_windows(None, None) == [None]
    assert len(asked_windows("2026-01..2026-10", calendar)) == 10
    assert asked_windows("2026-01..2026-10", calendar, pool="periods") == [Window.parse("2026-01..2026-10", "periods")]


@pytest.mark.parametrize(
    ("text", "pool", "said"),
    [
        (None, None, "no period is named"),
        ("2026-W41", None, "is a week, and the periods of this study are months"),
        ("2026-13", None, "There is no month"),
        ("October", None, "cannot be read"),
        ("all", "periods", "no periods are named"),
        ("2026-01..2026-02", "months", "pool is 'months'"),
    ],
)
def test_bad_periods(text, pool, said):
    with pytest.raises(ParameterError, match=said):
        asked_windows(text, Calendar("month", "UTC"), pool=pool)
    with pytest.raises(ParameterError, match="it names no column of time"):
        asked_windows("2026-10", None)


@pytest.mark.parametrize(
    ("times", "said"),
    [
        ({"time": "at"}, "period and zone is missing"),
        ({"time": "at", "period": "month"}, "zone is missing"),
        ({"period": "month", "zone": "UTC"}, "time is missing"),
        ({"time": "at", "period": "fortnight", "zone": "UTC"}, "A period is 'fortnight'"),
        ({"time": "at", "period": "month", "zone": "Mars/Base"}, "The time zone is 'Mars/Base'"),
    ],
)
def test_times_are_said_whole_or_not_at_all(times, said):
    with pytest.raises(ParameterError, match=said):
        read("ages.csv", user="uid", item="age", **times)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"groups": [Grouping("region", sizes={"north": 20, "south": 39})]},
            "have 59 people together",
        ),
        ({"groups": [Grouping("region", sizes=monthly.SIZES)] * 2}, "Two groupings are called 'region'"),
        ({"questions": ["mean(by='regoin')"]}, "Did you mean 'region'"),
        ({"questions": ["mean(by=['region', 'region'])"]}, "by is"),
        ({"periods": 0}, "periods is 0"),
        ({"periods": True}, "periods is True"),
        ({"data": None}, "names no column of time"),
        ({"model": "local"}, "model is 'local', and the study has periods"),
        ({"model": "shuffle"}, "model is 'shuffle', and the study has periods"),
        ({"model": "local", "data": None, "periods": None}, "model is 'local', and the study has groups"),
    ],
)
def test_what_has_no_meaning_is_refused(tmp_path, changes, said):
    with pytest.raises(ParameterError, match=said):
        monthly.make_study(tmp_path, **changes)


def test_a_statement_that_names_other_periods_or_groups_is_seen_through(tmp_path):
    study = monthly.make_study(tmp_path)
    regions = study.groups[0]
    about = About(Window.parse("2026-10"), regions)
    parts = Planner(study, study.question("mean")).parts(about)
    plain = make_statement(study, parts.plan, parameters=parameters_of(study, parts.stated, about))
    whole = with_parts(plain, study, parts, (1, []))
    assert contradictions(whole) == []
    for change in ({"reads": "2026-11"}, {"reads": ""}, {"grouping": "age"}, {"groups": []}):
        forged = structs.replace(whole.answer, about=structs.replace(whole.answer.about, **change))
        assert "answer.about" in contradictions(structs.replace(whole, answer=forged))
    assert "answer.about" in contradictions(structs.replace(whole, answer=structs.replace(whole.answer, about=None)))
    later = structs.replace(whole, parameters={**whole.parameters, "reads": "2026-11"})
    assert {"not_hidden", "answer.about"} <= set(contradictions(later))
    unscoped = [row[:3] for row in whole.parameters["promises"]]
    cheaper = structs.replace(whole, parameters={**whole.parameters, "promises": unscoped})
    assert "protected" in contradictions(cheaper)


def test_promises_keep_their_scope_in_tables():
    study = Study(monthly.SPACE, ["1 of 30, 5 years, 0.5, in any 3 months"], users=9)
    assert study.to_spec()["promise"][0]["scope"] == "any 3 months"
    assert Study.from_spec(study.to_spec()).promises == (Promise("1 of 30", "5 years", "0.5", scope="any 3 months"),)


def test_noise_is_added_to_what_the_answer_itself_would_add_it_to(tmp_path):
    """A strategy adds noise to combinations of the answers, and not to the answers: by parts as without them."""
    study = monthly.make_study(tmp_path, questions=[], promises=monthly.PROMISES[:1], periods=None)
    counts = Counts([3, 40, 77], [1, 1, 1], [20, 20, 20], users=monthly.USERS)
    question = to_question({"kind": "workload", "parts": [f"distance(to={at})" for at in (10, 50, 90)]})
    terms = study.terms(question, reads=Window.parse("2026-10"))
    answer = question.plan(terms)
    own, parted = answer.statistics(counts), mean_of_parts(answer, counts, monthly.USERS)
    assert [own.exact_entry(i) for i in range(3)] == [parted.exact_entry(i) for i in range(3)]


def test_a_list_of_periods_or_groupings_makes_several_releases_in_one_pass(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    records = monthly.rows()
    study = monthly.make_study(tmp_path, records)
    Ledger.create("visits.ledger", study)
    passes = []
    counted = CellReader.cells
    monkeypatch.setattr(CellReader, "cells", lambda self, *args: passes.append(self) or counted(self, *args))
    done = study.release(
        "mean", ledger="visits.ledger", out="months", period=["2026-01..2026-02", "2026-03"], by="region"
    )
    assert isinstance(done, ReleaseSeries)
    assert len(done) == 3
    assert len({id(reader) for reader in passes}) == 1
    assert [release.folder for release in done] == [Path("months") / month / "mean" for month in MONTHS]
    frame = done.to_pandas()
    assert list(frame.columns[:2]) == ["period", "group"]
    assert frame["period"].tolist() == [month for month in MONTHS for _ in study.groups[0].labels]
    again = study.release("mean", ledger="visits.ledger", out="months", period=MONTHS, by="region")
    assert again.rows() == done.rows()  # nothing is drawn twice
    assert str(done).count("We released") == 3
    with pytest.raises(ParameterError, match="a list for several releases"):
        study.release("mean", ledger="visits.ledger", period="2026-01..2026-03")


def test_weights_of_pooled_periods_can_be_typed(tmp_path):
    records = monthly.rows()
    study = monthly.make_study(tmp_path, records)
    ((about,),) = study.abouts(study.question("mean"), MONTHS, "periods", weights="2, 1, 1")
    assert about.window.weights == (Fraction(1, 2), Fraction(1, 4), Fraction(1, 4))
    assert about.period_part.name == "2026-01..2026-03-periods-0.5+0.25+0.25"
    each = [monthly.mean_of(records, monthly.USERS, [month]) for month in MONTHS]
    assert centers(study, about)[None] == (2 * each[0] + each[1] + each[2]) / 4
    for weights, pool in (("1, 1", "periods"), ("1, 0, 1", "periods"), ("1, 1, 1", "records"), ("1, x, 1", "periods")):
        with pytest.raises(ParameterError):
            asked_windows("2026-01..2026-03", study.calendar, pool=pool, weights=weights)


def test_a_total_beside_groups_gets_its_share(tmp_path):
    study = monthly.make_study(tmp_path, monthly.rows())
    regions = study.groups[0]
    question = study.by(study.question("mean"), ["region", "all"])
    shares = [study.terms(question, by=one, reads=Window.parse("2026-01")).fraction for one in (regions, None)]
    count = len(regions.labels)
    assert sum(shares) == study.fraction(question)
    assert float(shares[1] / sum(shares)) == pytest.approx(1 / (1 + count ** (1 / 3)), abs=1e-3)
    # The least of 1/a^2 + G/(1 - a)^2, by a search of its own.
    grid = [a / 1000 for a in range(1, 1000)]
    best = min(grid, key=lambda a: 1 / a**2 + count / (1 - a) ** 2)
    assert float(shares[1] / sum(shares)) == pytest.approx(best, abs=2e-3)
    alike = study.by(study.question("mean"), "region")
    assert study.terms(alike, by=regions, reads=Window.parse("2026-01")).fraction == study.fraction(alike)


def test_whoever_changes_region_between_months_pays_in_both(tmp_path, monkeypatch):
    """A release by groups is charged to everybody, so that nothing rests on people staying where they are."""
    monkeypatch.chdir(tmp_path)
    frame = {"uid": [1, 1, 2], "region": ["north", "south", "south"], "age": [20, 20, 30]}
    frame["at"] = [date(2026, 1, 5), date(2026, 2, 5), date(2026, 1, 7)]
    data = read(frame, user="uid", item="age", time="at", period="month", zone="UTC")
    promises = ["all, 5 years, 0.5, in any month", "all, 5 years, 6, in every month"]
    study = Study(
        "line(low=0, high=100, step=1, unit='years')", promises, users=10, dataset="ages", data=data, periods=12,
        groups=[Grouping("region", sizes={"north": 5, "south": 5})],
    )  # fmt: skip
    ledger = Ledger.create("ages.ledger", study)
    for month in ("2026-01", "2026-02"):
        study.release("mean", ledger=ledger, period=month, by="region")
    assert all(not record.data.get("groups") for record in ledger.records() if record.kind == "reserve")
    any_month, every_month = (balance.spent.loss for balance in ledger.balances())
    assert every_month == 2 * any_month
    other = study.replace(dataset="both")
    both = Ledger.create("both.ledger", other)
    with pytest.raises(DataError, match="Some people are in two groups"):  # seen where one release reads both
        other.release("mean", ledger=both, period="2026-01..2026-02", pool="records", by="region")
