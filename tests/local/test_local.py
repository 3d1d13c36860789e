"""The local model: round trip, replay, tampering, memory, and the server's uncertainty."""

import json
import math
import multiprocessing
import os
import stat

import numpy as np
import pytest

from barrow.errors import DataError, LedgerError, ParameterError
from barrow.local.client import LocalClient, Survey
from barrow.local.memory import Memory
from barrow.local.report import MalformedReportError, Report, report_from_json
from barrow.local.server import Server
from barrow.mechanisms import UserCounts
from barrow.noise.source import SeededSource
from barrow.promises import Emd, UserLevel
from barrow.questions import Density, Distance, Function, Mean
from barrow.spaces import Line
from barrow.study import Study

LINE = Line(0, 10, unit="km", step=1, cells=True)


def survey(question, alpha=25, space=LINE, **options):
    return Survey(Study(space, alpha=alpha, model="local", questions=[question], **options))


def client(path, request=None):
    return LocalClient(request or STUDY, memory=path)


def server_of(request=None):
    return Server(request or STUDY)


STUDY = survey(Distance(3))
WIDE = survey(Density(bandwidth="2 km"), delta="1e-9")
GRID = STUDY.plan.noise.grid


def reports(study, users, seed):
    """Seeded reports: what clients would send, but replayable."""
    source = SeededSource(seed)
    plan = study.plan
    for i, items in enumerate(users):
        values = plan.noise.draw(UserCounts.of_users(plan.terms.space, [items]).center(plan.query), source)
        yield Report(study.digest, f"{i:032x}", tuple(int(v) for v in values.integers))


def test_round_trip(tmp_path):
    server = server_of()
    for i in range(30):
        report = client(tmp_path / f"{i}.json").report([i % 10, 3.2])
        assert server.add(report.to_text()) is None
    assert server.n == 30
    truth = np.mean([(abs(i % 10 + 0.5 - 3) + 0.5) / 2 for i in range(30)])
    result = server.result().details["means"][0]
    assert abs(result - truth) < 5 * STUDY.plan.noise.deviation / math.sqrt(30)


def test_asking_twice_gives_the_same_report_even_for_other_items(tmp_path):
    mine = client(tmp_path / "memory.json")
    first = mine.report([1.0])
    assert mine.report([1.0]) == first
    assert mine.report([9.0]) == first
    assert client(tmp_path / "memory.json").report(ids=[0]) == first
    assert mine.answered == (STUDY.digest,)


def test_another_study_gets_its_own_report_and_both_are_remembered(tmp_path):
    other = survey(Distance(3), 26)
    one = client(tmp_path / "memory.json").report([1.0])
    two = client(tmp_path / "memory.json", other).report([1.0])
    assert one.study != two.study
    assert client(tmp_path / "memory.json").report([1.0]) == one
    assert set(client(tmp_path / "memory.json").answered) == {STUDY.digest, other.digest}


def test_two_clients_draw_different_noise(tmp_path):
    values = {client(tmp_path / f"{i}.json").report([1.0]).values for i in range(8)}
    assert len(values) > 1


def test_the_report_is_on_disk_before_it_is_handed_out(tmp_path, monkeypatch):
    mine = client(tmp_path / "memory.json")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(LedgerError, match="no report is handed out"):
        mine.report([1.0])
    assert not (tmp_path / "memory.json").exists()
    assert not list(tmp_path.glob(".*.new"))
    monkeypatch.undo()
    assert mine.report([1.0]) == mine.report([2.0])


def test_a_crash_after_storing_gives_the_stored_report(tmp_path, monkeypatch):
    mine = client(tmp_path / "memory.json")
    store = Memory.store

    def store_and_crash(self, report):
        store(self, report)
        raise KeyboardInterrupt

    monkeypatch.setattr(Memory, "store", store_and_crash)
    with pytest.raises(KeyboardInterrupt):
        mine.report([1.0])
    monkeypatch.undo()
    subset = Memory(tmp_path / "memory.json").load()[STUDY.digest]
    assert mine.report([5.0]) == subset


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '{"barrow": "local memory"}', '{"barrow":"local memory","version":2,"reports":[]}',
     '{"barrow":"local memory","version":1,"reports":[{}]}', '{"barrow":"local memory","version":1,"reports":7}',
     "[" * 10**5,
     '{"barrow":"local memory","version":1,"reports":[],"more":0}', '{"barrow":"other","version":1,"reports":[]}'],
    ids=range(11),
)  # fmt: skip
def test_a_damaged_memory_is_never_taken_for_empty(tmp_path, text):
    (tmp_path / "memory.json").write_text(text)
    with pytest.raises(LedgerError, match="cannot be read"):
        client(tmp_path / "memory.json").report([1.0])
    assert (tmp_path / "memory.json").read_text() == text


def test_a_memory_with_a_report_of_the_wrong_length_is_refused(tmp_path):
    memory = Memory(tmp_path / "memory.json")
    memory.store(Report(STUDY.digest, "0" * 32, (1, 2, 3)))
    with pytest.raises(LedgerError, match="does not fit"):
        client(memory.path).report([1.0])


def test_a_memory_that_cannot_be_written_is_an_error(tmp_path):
    with pytest.raises(LedgerError, match="cannot be written"):
        client(tmp_path / "missing" / "memory.json").report([1.0])


def test_only_the_owner_can_read_the_memory(tmp_path):
    client(tmp_path / "memory.json").report([1.0])
    assert stat.S_IMODE((tmp_path / "memory.json").stat().st_mode) == 0o600


def _ask(path, queue):
    queue.put(client(path).report([1.0]).to_text())


def test_processes_that_ask_at_once_get_one_report(tmp_path):
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    workers = [context.Process(target=_ask, args=(tmp_path / "memory.json", queue)) for _ in range(2)]
    for worker in workers:
        worker.start()
    answers = {queue.get(timeout=900) for _ in workers}
    for worker in workers:
        worker.join()
    assert len(answers) == 1


def test_no_items_mean_the_default_item_and_unknown_ones_are_an_error(tmp_path):
    report = client(tmp_path / "a.json").report([])
    assert len(report.values) == 1
    with pytest.raises(DataError):
        client(tmp_path / "b.json").report([99.0])
    assert not (tmp_path / "b.json").exists()
    assert client(tmp_path / "b.json").report([99.0], unknown="nearest").study == STUDY.digest
    for wrong in ({}, {"records": [1.0], "ids": [1]}):
        with pytest.raises(ParameterError, match="not named"):
            client(tmp_path / "c.json").report(**wrong)
    with pytest.raises(ParameterError, match="item ids"):
        client(tmp_path / "c.json").report(ids=[77])


def test_the_client_has_no_seed():
    import inspect

    names = {*inspect.signature(LocalClient).parameters, *inspect.signature(LocalClient.report).parameters}
    assert not names & {"seed", "source", "rng", "random_state"}


def good(**change):
    return Report(STUDY.digest, "ab" * 16, (5,)).to_json() | change


@pytest.mark.parametrize(
    ("received", "reason"),
    [
        ("not json", "malformed"),
        (b"\xff\xfe", "malformed"),
        ("[]", "malformed"),
        ("{}", "malformed"),
        ("[" * 100_000, "malformed"),
        (good(extra=1), "malformed"),
        (good(barrow="other"), "malformed"),
        (good(version=2), "another version"),
        (good(version=True), "malformed"),
        (good(study="sha256:" + "0" * 64), "another study"),
        (good(study="sha256:zz"), "malformed"),
        (good(study=None), "malformed"),
        (good(id="xyz"), "malformed"),
        (good(id=5), "malformed"),
        (good(values=[]), "malformed"),
        (good(values=[1, 2]), "wrong size"),
        (good(values=5), "malformed"),
        (good(values=[1.5]), "malformed"),
        (good(values=[True]), "malformed"),
        (good(values=["5"]), "malformed"),
        (good(values=[None]), "malformed"),
        (good(values=[10**300]), "malformed"),
        (good(values=[10**12]), "impossible value"),
        (good(values=[-(10**12)]), "impossible value"),
        ('{"barrow":"local report","version":1,"study":"x","id":"y","values":[NaN]}', "malformed"),
    ],
)
def test_tampered_reports_are_refused_with_a_reason(received, reason):
    server = server_of()
    assert server.add(received) == reason
    assert server.refused == {reason: 1}
    assert server.n == 0


def test_a_report_that_comes_twice_counts_once():
    server = server_of()
    report = Report(STUDY.digest, "ab" * 16, (5,))
    server.add_all([report, report.to_text(), report.to_json()])
    assert server.n == 1
    assert server.refused == {"repeated": 2}


@pytest.mark.parametrize("study", [STUDY, WIDE, survey(Mean(), 1)])
def test_honest_reports_are_never_impossible(study):
    server = server_of(study)
    server.add_all(reports(study, [[i % 10] for i in range(500)], seed=1))
    assert not server.refused


def test_every_public_choice_changes_the_digest():
    surveys = [
        survey(Distance(3)),
        survey(Distance(3), 26),
        survey(Distance(3, noise="laplace"), delta="1e-9"),
        survey(Distance(3, noise="gaussian"), delta="1e-9"),
        survey(Distance(3), users=100),
        survey(Distance(4)),
        survey(Distance(3), space=Line(0, 10, unit="km", step=0.5)),
        survey(Distance(3), space=Line(0, 10, unit="mi", step=1, cells=True)),
    ]
    assert len({s.digest for s in surveys}) == len(surveys)


def test_a_survey_survives_its_study_file(tmp_path):
    for number, one in enumerate([STUDY, WIDE, survey(Mean(noise="laplace"), "3/7", users=9)]):
        one.study.write(tmp_path / f"{number}.toml")
        again = Survey(Study.read(tmp_path / f"{number}.toml"))
        assert again.digest == one.digest
        assert again.plan.noise == one.plan.noise


def test_bad_surveys_are_refused(tmp_path):
    with pytest.raises(ParameterError, match="only in the local and shuffle models"):
        LocalClient(STUDY.study.replace(model="central"), memory=tmp_path / "m")
    with pytest.raises(ParameterError, match="gains nothing from shuffling"):
        Survey(STUDY.study.replace(model="shuffle", users=10))
    with pytest.raises(ParameterError, match="delta is 0"):
        survey(Distance(3, noise="gaussian"))


def test_a_declared_constant_is_not_believed_by_a_client(tmp_path, monkeypatch):
    """A hostile study with one spike would read a person's home in the clear under a small alpha."""
    spike = np.zeros(10)
    spike[3] = 1.0
    honest = survey(Function(spike.tolist()), 1)
    assert honest.plan.query.constant_proved
    client(tmp_path / "honest", honest).report([3.0])
    monkeypatch.setattr("barrow.queries.query.Query.constant_proved", False)
    hostile = survey(Function(spike.tolist()), 1)
    with pytest.raises(ParameterError, match="cannot be proved here"):
        client(tmp_path / "hostile", hostile)
    assert "declared" in str(hostile.plan)


def test_reports_and_results_say_nothing_else():
    assert set(good()) == {"barrow", "version", "study", "id", "values"}
    with pytest.raises(ParameterError, match="no digest"):
        Report("x", "0" * 32, (1,))
    with pytest.raises(MalformedReportError):
        report_from_json(good(values=[]))


def test_predicted_half_width_covers_the_noise_and_ten_percent_less_does_not():
    """The mean of n reports against the true mean over these people, 400 times."""
    values = np.random.default_rng(1).normal(size=(10, 30)).tolist()
    study = survey(Function(values, noise="laplace"), 3)
    plan = study.plan
    users = [[0, 5], [9], [2, 2, 7], [4]]
    truth = [float(UserCounts.of_users(LINE, users).center(plan.query).exact_entry(j)) for j in range(30)]
    results = []
    for seed in range(400):
        total = np.sum([r.values for r in reports(study, users, seed)], axis=0)
        results.append(total * float(plan.noise.grid) / len(users) - truth)
    size = np.abs(results)
    width = plan.noise.mean_half_width(len(users))
    sd = math.sqrt(0.05 * 0.95 / size.size)
    assert 0.95 - 5 * sd <= (size <= width).mean() <= 0.975
    assert (size <= 0.85 * width).mean() < 0.95 - 5 * sd
    assert np.sqrt((np.array(results) ** 2).mean()) == pytest.approx(plan.noise.deviation / 2, rel=0.04)


def test_half_widths_from_the_spread_cover_the_population():
    """People drawn from a public population: the interval covers its mean 95% of the time, noise alone does not."""
    study = survey(Mean(), 200, space=Line(0, 10, unit="km", points=[x + 0.5 for x in range(10)]))
    rng = np.random.default_rng(3)
    covered, by_noise, runs, n = 0, 0, 400, 25
    for seed in range(runs):
        users = [[int(x)] for x in rng.integers(0, 10, size=n)]
        server = server_of(study)
        server.add_all(reports(study, users, 1000 + seed))
        told = server.result().details
        spread = told["half_width_population_about"][0] - study.plan.measured.snapping_upper
        covered += abs(told["means"][0] - 5.0) <= spread
        by_noise += abs(told["means"][0] - 5.0) <= told["noise_half_width_95"]
    assert abs(covered / runs - 0.95) < 5 * math.sqrt(0.05 * 0.95 / runs)
    assert by_noise / runs < 0.5


def test_what_is_said_of_a_population_is_not_called_95_percent():
    """A few people matter most: Student's interval misses their mean far too often, so it is only said with "about"."""
    study = survey(Mean(), 2000, space=Line(0, 10, unit="km", points=[0.0, 10.0]))
    rng = np.random.default_rng(4)
    covered, of_these, runs, n, rich = 0, 0, 300, 40, 0.03
    for seed in range(runs):
        users = [[int(x)] for x in rng.random(n) < rich]
        server = server_of(study)
        server.add_all(reports(study, users, 5000 + seed))
        result = server.result()
        told, mean = result.details, 10 * float(np.mean([user[0] for user in users]))
        about = told["half_width_population_about"][0] - study.plan.measured.snapping_upper
        covered += abs(told["means"][0] - 10 * rich) <= about
        of_these += abs(told["means"][0] - mean) <= told["noise_half_width_95"]
    assert covered / runs < 0.8
    assert of_these / runs > 0.95 - 5 * math.sqrt(0.05 * 0.95 / runs)
    assert "half_width_95" not in told
    line = result.lines[0]
    assert "(95 %, of these people)" in line
    assert "people like them: about ±" in line
    of_people = float(result.tables["values"][0]["half_width_95"]) - study.plan.measured.snapping_upper
    assert of_people == pytest.approx(told["noise_half_width_95"])  # the table's 95 % is of these people too


def test_the_result_carries_the_guarantee_with_its_worst_case_and_says_what_is_public():
    server = server_of(WIDE)
    server.add_all(reports(WIDE, [[i % 10] for i in range(40)], seed=2))
    server.add("nonsense")
    result = server.result()
    assert result.n == 40
    assert result.refused == {"malformed": 1}
    told = result.to_json()
    assert len(told["means"]) == len(told["half_width_population_about"]) == WIDE.plan.query.dimension
    definition, worst = result.guarantee.definition, result.guarantee.worst_case
    assert isinstance(definition, Emd)
    assert definition.model == "local"
    assert not definition.bounded
    assert float(definition.alpha) == pytest.approx(25, rel=1e-6)
    assert isinstance(worst, UserLevel)
    assert worst.epsilon < definition.alpha / 2  # a density of bandwidth h changes by h/1 of its constant
    assert any("alpha = 25" in line for line in told["public"])
    assert json.loads(json.dumps(told))["n"] == 40
    pure = server_of()
    pure.add_all(reports(STUDY, [[1]], seed=2))
    assert pure.result().guarantee.definition == Emd(25, model="local")
    assert pure.result().to_json()["half_width_population_about"] is None


def test_no_reports_no_result():
    with pytest.raises(ParameterError, match="No report"):
        server_of().result()


@pytest.mark.parametrize("asked", [Distance(3), "frequency(items=1)"], ids=["means", "counts"])
def test_nobody_becomes_more_people_than_the_study_is_about(asked):
    """One sender's 26,445 reports in a study of 100: the first 100 are counted, and the result says by whose word."""
    built = survey(asked, users=100)
    texts = [Report(built.digest, f"{i:032x}", (3,)).to_text() for i in range(26_445)]
    one, all_at_once = Server(built), Server(built)
    for text in texts[:300]:
        one.add(text)
    all_at_once.add_all(texts)
    assert (one.n, one.refused["too many"]) == (100, 200)
    assert (all_at_once.n, all_at_once.refused["too many"]) == (100, 26_345)
    result = all_at_once.result()
    assert result.n == 100
    assert "whoever collected them answers for that" in result.details["counted"]
    assert result.details["counted"] in result.lines
