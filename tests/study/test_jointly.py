"""Questions that are released together: what is gained, what is paid, and that each of them is paid once."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import barrow as bw
from barrow.cli.main import cli
from barrow.engines import MemoryEngine
from barrow.errors import ParameterError
from barrow.ledger.approvals import Approver, Quorum
from barrow.mechanisms import Strategy
from barrow.questions.releasing import simulated
from barrow.questions.shaped_holders import ShapedHoldersAnswer
from barrow.spaces import Line
from barrow.study import keys
from barrow.study.jointly import jointly
from barrow.study.prose import explain
from barrow.study.release import run_release

LINE = Line(0, 60, unit="km", step=1)
REGIONS = [bw.Region(name=f"r{c}", center=c, radius="4 km", ramp="6 km") for c in (5, 20, 30, 50)]
ROWS = [(f"p{i % 40}", (i * i) % 61) for i in range(200)]


def study(folder: Path | None = None, questions: object = REGIONS, **options: object) -> bw.Study:
    given = {"users": 2000 if folder is None else 50, "dataset": "rides", "missing": "default item", **options}
    if folder is not None:
        file = folder / "rides.csv"
        file.write_text("uid,item\n" + "".join(f"{uid},{item}\n" for uid, item in ROWS))
        given |= {"data": bw.read(str(file), user="uid", item="item"), "ledger": str(folder / "rides.ledger")}
    return bw.Study(LINE, ["all, 6 km, 0.5"], questions=questions, **given)  # type: ignore[arg-type]


def together(one: bw.Study) -> tuple[bw.Question, ...]:
    return jointly(one, one.questions, one.abouts).questions


def paid(one: bw.Study) -> list[str]:
    return [r.data["question"] for r in bw.Ledger.open(str(one.ledger)).records() if r.kind == "reserve"]


@pytest.mark.parametrize(
    "options",
    [{}, {"missing": None}, {"delta": "1e-9"}, {"delta": "1e-9", "composition": "quadrature", "missing": None}],
)
def test_questions_that_gain_are_one_release_and_it_is_the_workload(options):
    one = study(**options)
    (joint,) = together(one)
    assert joint.label == "r5-r20-r30-r50"
    assert one.fraction(joint) == 1
    plan, alone = one.plan(joint), one.plan(REGIONS[0])
    (line,) = jointly(one, one.questions, one.abouts).lines
    assert f"± {100 * plan.error:.3g}"[:5] in line
    assert alone.error > 1.05 * plan.error
    # Without what snapping adds: four shares of a promise are one, and in quadrature four shares of its square.
    assert alone.chosen.error > (1.5 if "composition" in options else 1.8) * (plan.error - plan.moved)
    explicit = study(questions=[bw.Workload(parts=REGIONS)], **options).plan()
    assert explicit.error == plan.error


def test_what_questions_say_to_readers_is_said_of_them_together(tmp_path):
    north = replace(REGIONS[0], name="north", title="The north", description="Where the mountains are.")
    one = study(tmp_path, [north, *REGIONS[1:]], title="Rides")
    bw.Ledger.create(str(one.ledger), one)
    assert jointly(one, one.questions, one.abouts).questions[0].title == "The north; r20; r30; r50"
    told = run_release(one, together(one)[0], out=tmp_path / "joint").statement
    assert (told.title, told.description) == ("The north; r20; r30; r50", "north: Where the mountains are.")
    plain = study(tmp_path, [replace(north, title="", description=""), *REGIONS[1:]], title="Rides")
    assert jointly(plain, plain.questions, plain.abouts).before == {"north", "r20", "r30", "r50"}
    long = study(questions=[replace(region, title=f"Region {k} " * 20) for k, region in enumerate(REGIONS)])
    assert together(long)[0].title == ""  # which would be too long: the study's own, or the names


def test_nothing_is_joined_where_nothing_would_be_gained():
    alone = [
        study(questions=[REGIONS[0]]),
        study(questions=[REGIONS[0], bw.Mean()]),  # shares and kilometres
        study(questions=[bw.Density(name=f"d{w}", bandwidth=f"{w} km") for w in (5, 10)]),  # maps of their own
        study(questions=[bw.Region(name=r.name, center=r.center, radius="4 km", ramp="6 km", noise="laplace")
                         for r in REGIONS]),
        study(model="local", missing=None, questions=REGIONS),
    ]  # fmt: skip
    for one in alone:
        assert together(one) == one.questions
    small = bw.Region(name="small", center=10, radius="4 km", ramp="6 km", fraction="0.7")
    kept = together(study(questions=[small, *REGIONS]))  # it would lose, the others gain
    assert [question.label for question in kept] == ["small", "r5-r20-r30-r50"]


def test_one_payment_and_each_question_under_its_own_name(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    one = study(tmp_path, [*REGIONS, bw.Mean()])
    one.write(tmp_path / "study.toml")
    bw.Ledger.create(str(one.ledger), one)

    def run(*words: str) -> list[dict[str, object]]:
        cli.main(args=["release", *words, "--json"], standalone_mode=False)
        told = json.loads(capsys.readouterr().out)
        return told.get("releases", [told])

    first = run()
    assert paid(one) == ["r5-r20-r30-r50", "mean"]
    rows = first[0]["values"]
    assert [row["question"] for row in rows] == [region.name for region in REGIONS]
    assert [row["output"] for row in rows][1] == "share within 4 km of 20"
    for words in ((), ("r20",), ("r5", "r50"), ("mean",)):
        again = run(*words)
        assert len(again) == (2 if not words else 1)
        assert words == ("mean",) or again[0]["values"] == rows
    assert run("r30")[0]["digest"] == first[0]["digest"]
    assert paid(one) == ["r5-r20-r30-r50", "mean"]
    cli.main(args=["plan"], standalone_mode=False)
    assert "Together  r5, r20, r30, r50: released together with others before" in capsys.readouterr().out
    assert all(check.holds for check in bw.verify(tmp_path / "release/r5-r20-r30-r50", ledger=str(one.ledger)))
    monkeypatch.setattr(keys, "_is_part", lambda *_: False)  # planted: nobody looks among releases of several
    with pytest.raises(bw.BarrowError, match="does not fit the promises"):
        run("r20")


def test_intervals_of_ratios_are_said_to_hold_one_by_one_and_to_grow_with_people_without_records(tmp_path):
    one = study(tmp_path, missing=None)
    bw.Ledger.create(str(one.ledger), one)
    release = run_release(one, together(one)[0], out=tmp_path / "joint")
    page = (release.folder / "report.html").read_text()
    assert "Each interval holds with probability 95" in page
    assert "at once" not in page.split("Each interval holds")[1].split("</p>")[0]
    assert "All intervals hold at once" not in page
    words = " ".join(explain(release.statement).split())
    assert "% if everybody holds records, more the fewer do" in words
    assert "off by at most" not in words


def test_a_question_that_was_released_alone_stays_alone(tmp_path):
    one = study(tmp_path)
    bw.Ledger.create(str(one.ledger), one)
    assert [question.label for question in together(one)] == ["r5-r20-r30-r50"]
    one.release("r20", out=tmp_path / "r20")
    assert [question.label for question in together(one)] == ["r5-r30-r50", "r20"]
    joint = together(one)[0]
    assert one.fraction(joint) == Fraction(3, 4)
    run_release(one, joint, out=tmp_path / "joint")
    assert paid(one) == ["r20", "r5-r30-r50"]
    assert bw.Ledger.open(str(one.ledger)).balances()[0].spent.loss == Fraction(1, 2)


def test_what_was_not_answered_is_not_taken_for_answered(tmp_path):
    one = study(tmp_path, delta="1e-9", users=50)
    bw.Ledger.create(str(one.ledger), one)
    small = [bw.Region(name=r.name, center=r.center, radius="4 km", ramp="6 km", fraction="0.1") for r in REGIONS]
    asked = study(tmp_path, small, delta="1e-9")
    run_release(asked, together(asked)[0], out=tmp_path / "joint")
    moved = study(tmp_path, [bw.Region(name="r5", center=6, radius="4 km", ramp="6 km", fraction="0.1")], delta="1e-9")
    other = study(
        tmp_path, [bw.Region(name="five", center=5, radius="4 km", ramp="6 km", fraction="0.1")], delta="1e-9"
    )
    typed = study(tmp_path, small, delta="1e-9")
    moved.release("r5", out=tmp_path / "moved")  # another region of that name
    other.release("five", out=tmp_path / "other")  # another name
    typed.release("r5", out=tmp_path / "typed", key="fresh")  # a typed key
    assert paid(one) == ["r5-r20-r30-r50", "r5", "five", "r5"]
    typed.release("r20", out=tmp_path / "r20")
    assert len(paid(one)) == 4


def test_an_interrupted_release_of_several_is_finished_by_all_of_them(tmp_path):
    one = study(tmp_path)
    bw.Ledger.create(str(one.ledger), one)

    def killed(stage: str) -> None:
        if stage == "draw":
            raise KeyboardInterrupt

    with pytest.raises(BaseException, match="interrupted"):
        run_release(one, together(one)[0], out=tmp_path / "joint", stages=killed)
    with pytest.raises(ParameterError, match=r"several questions together \(r5, r20, r30, r50\) was paid for"):
        one.release("r20", out=tmp_path / "r20")
    assert [question.label for question in together(one)] == ["r5-r20-r30-r50"]
    run_release(one, together(one)[0], out=tmp_path / "joint")
    assert one.release("r20", out=tmp_path / "r20").folder == tmp_path / "joint"
    assert len(paid(one)) == 1


@pytest.mark.parametrize("change", ["reordered", "added", "removed", "raised", "renamed"])
def test_an_interrupted_release_is_finished_and_not_paid_again_where_the_study_was_edited(tmp_path, change):
    small = [replace(region, fraction="0.1") for region in REGIONS]
    one = study(tmp_path, small)
    bw.Ledger.create(str(one.ledger), one)

    def killed(stage: str) -> None:
        if stage == "draw":
            raise KeyboardInterrupt

    with pytest.raises(BaseException, match="interrupted"):
        run_release(one, together(one)[0], out=tmp_path / "joint", stages=killed)
    questions = {
        "reordered": small[::-1],
        "added": [replace(small[0], name="r7", center=7), *small],
        "removed": small[:2],
        "raised": [replace(region, fraction="0.2") for region in REGIONS],
        "renamed": [*small[:3], replace(small[3], name="fifty")],
    }[change]
    edited = study(tmp_path, questions)
    told = jointly(edited, edited.questions, edited.abouts)
    assert "'r5-r20-r30-r50' was paid for (entry 2 of the ledger) and interrupted" in told.lines[0]
    joint = next(question for question in told.questions if question.label == "r5-r20-r30-r50")
    run_release(edited, joint, out=tmp_path / "joint")
    assert paid(one) == ["r5-r20-r30-r50"]
    assert bw.Ledger.open(str(one.ledger)).balances()[0].spent.loss == Fraction(2, 10)
    rest = {"added": ["r7"], "renamed": ["fifty"]}.get(change, [])
    again = jointly(edited, edited.questions, edited.abouts)
    assert [question.label for question in again.questions if question.label not in again.before] == rest


def test_a_payment_that_came_in_between_is_seen_under_the_lock(tmp_path):
    one = study(tmp_path)
    bw.Ledger.create(str(one.ledger), one)

    def other_first(stage: str) -> None:
        if stage == "reserve":
            run_release(one, together(one.replace(ledger=None))[0], out=tmp_path / "joint")

    with pytest.raises(bw.BarrowError, match="already paid"):
        run_release(one, one.question("r20"), out=tmp_path / "r20", stages=other_first)
    assert paid(one) == ["r5-r20-r30-r50"]


def monthly(folder: Path, questions: object = REGIONS) -> bw.Study:
    file = folder / "rides.csv"
    rows = [(uid, item, f"2026-0{1 + i % 3}-0{1 + i % 9} 08:00") for i, (uid, item) in enumerate(ROWS)]
    file.write_text("uid,item,at\n" + "".join(f"{uid},{item},{at}\n" for uid, item, at in rows))
    data = bw.read(str(file), user="uid", item="item", time="at", period="month", zone="UTC")
    return bw.Study(
        LINE, ["all, 6 km, 0.5, in any month"], questions=questions, users=50, dataset="rides", data=data,
        ledger=str(folder / "rides.ledger"),
    )  # fmt: skip


def test_months_are_released_together_and_shown_alone(tmp_path):
    one = monthly(tmp_path)
    bw.Ledger.create(str(one.ledger), one)
    (joint,) = jointly(one, one.questions, lambda question: one.abouts(question, "2026-01")).questions
    one.release(joint, period="2026-01", out=tmp_path / "january")
    assert one.release("r20", period="2026-01", out=tmp_path / "r20").folder == tmp_path / "january"
    one.release("r20", period="2026-02", out=tmp_path / "february")
    assert paid(one) == ["r5-r20-r30-r50", "r20"]
    with pytest.raises(bw.BarrowError, match="does not fit the promises"):  # of all months, which January is not
        one.release("r20", period="all", out=tmp_path / "all")


def test_months_that_were_interrupted_in_between_go_on_together(tmp_path):
    small = [replace(region, fraction="0.1") for region in REGIONS]
    one = monthly(tmp_path, small)
    bw.Ledger.create(str(one.ledger), one)
    range_of = partial(one.abouts, period="2026-01..2026-03")

    def killed(stage: str) -> None:
        if stage == "draw":
            raise KeyboardInterrupt

    (joint,) = jointly(one, one.questions, range_of).questions
    one.release(joint, period="2026-01", out=tmp_path / "1")
    (february,) = [about for each in one.abouts(joint, "2026-02") for about in each]
    with pytest.raises(BaseException, match="interrupted"):
        run_release(one, joint, about=february, out=tmp_path / "2", stages=killed)
    told = jointly(one, one.questions, range_of)
    assert [question.label for question in told.questions] == ["r5-r20-r30-r50"]
    for month in (1, 2, 3):  # the first is shown, the second finished, the third is new
        one.release(told.questions[0], period=f"2026-0{month}", out=tmp_path / str(month))
    assert paid(one) == ["r5-r20-r30-r50"] * 3
    longer = partial(one.abouts, period="2026-03..2026-04")
    (line,) = jointly(one, one.questions, longer).lines
    assert line == "r5-r20-r30-r50 is one release as it was of other periods (entry 9 of the ledger)"
    for other in (small[:3], [replace(region, fraction="0.2") for region in REGIONS]):  # nobody asked to pay that
        edited = one.replace(questions=other)
        assert jointly(edited, edited.questions, longer).questions == edited.questions


def wrong_pairs(answer: ShapedHoldersAnswer, table: np.ndarray) -> int:
    """Pairs of items, "no records" among them, at which the noise on ``table`` would cost more than alpha times d."""
    query, noise = answer.strategy.query, answer.strategy.additive
    every, n = np.arange(answer.terms.space.items), answer.terms.users
    far = np.asarray(answer.terms.space.block(every, every))
    moves = np.abs(table[:, None, :] - table[None, :, :]).astype(float) * float(query.step)
    size = moves.sum(axis=2) if noise.p == "1" else np.sqrt((moves**2).sum(axis=2))
    return int((size / n / float(noise.scale) > float(answer.guarantee.alpha) * far * (1 + 1e-9)).sum())


def test_strategies_over_people_with_records_keep_alpha_at_every_pair():
    kinds = set()
    for shift, centers in enumerate(((5, 20, 30, 50), (10, 12, 14, 16, 18), (7, 52))):
        parts = [bw.Region(name=f"r{c}", center=c, radius="4 km", ramp=f"{6 + shift} km") for c in centers]
        plan = study(questions=[bw.Workload(parts=parts)], missing=None).plan()
        assert isinstance(plan, ShapedHoldersAnswer)
        for one in plan.own:
            if not isinstance(one.mechanism, Strategy) or one.mechanism.additive.p not in ("1", "2"):
                continue
            answer = replace(plan, chosen=one)
            if answer.strategy.factors.name in ("edges", "faces"):
                continue  # proved for the graph
            kinds.add((answer.strategy.factors.name, one.mechanism.additive.p))
            table = np.asarray(answer.strategy.query.table.integers)
            assert wrong_pairs(answer, table) == 0
            planted = table.copy()
            planted[:-1] += table[:-1] - table[-1]  # twice as far from who holds no records
            assert wrong_pairs(answer, planted) > 0
    assert {("plain", "1"), ("ellipsoid", "2"), ("scales", "1")} <= kinds


def test_intervals_of_ratios_hold_the_true_values(tmp_path):
    one = study(tmp_path, missing=None)
    plan = one.plan(together(one.replace(ledger=None))[0])
    assert isinstance(plan, ShapedHoldersAnswer)
    counts = bw.read({"uid": [u for u, _ in ROWS], "item": [i for _, i in ROWS]}, user="uid", item="item").count(
        MemoryEngine(), plan.terms.space, 50
    )
    by_item = np.zeros(61)
    for uid in {uid for uid, _ in ROWS}:
        mine = [item for name, item in ROWS if name == uid]
        by_item += np.bincount(mine, minlength=61) / len(mine) / 40
    true = plan.pair.inner.table.floats().T @ by_item * float(plan.pair.inner.step)
    for candidate in plan.own:
        answer = replace(plan, chosen=candidate)
        center = answer.statistics(counts)
        held = np.zeros((60, 4))
        narrow = np.zeros((60, 4))
        for k in range(60):
            rows = answer.tables(answer.draw(center))["values"]
            ends = np.array([[row["low_95"], row["high_95"]] for row in rows])
            ends += np.array([[answer.moved, -answer.moved]])
            middle = ends.mean(axis=1)
            held[k] = (ends[:, 0] <= true) & (true <= ends[:, 1])
            narrow[k] = np.abs(true - middle) <= (ends[:, 1] - ends[:, 0]) / 32.0
        # 6 deviations of 60 draws; a sixteenth of the width is caught.
        assert (held.mean(axis=0) > 0.95 - 6 * (0.05 * 0.95 / 60) ** 0.5).all(), candidate.words
        assert (narrow.mean(axis=0) < 0.75).all(), candidate.words


def test_who_needs_approval_is_asked_for_each_question(tmp_path):
    one = study(tmp_path)
    bw.Ledger.create(str(one.ledger), one, approval=Quorum([Approver("ana", bytes(32))], 1))
    assert together(one) == one.questions


@pytest.mark.parametrize("missing", [None, "default item"])
def test_another_draw_adds_noise_alone(missing):
    """The layer of reports: of no people a strategy's answers are 0, whatever is added to what it reads."""
    plan = study(questions=[bw.Workload(parts=REGIONS)], missing=missing).plan()
    shifted = 0
    for one in plan.own:
        answer = replace(plan, chosen=one)
        many = [simulated(answer, np.zeros(answer.terms.space.items), seed) for seed in range(60)]
        spread = np.std(many, axis=0)
        assert (np.abs(np.mean(many, axis=0)) < 6.0 * spread / 60**0.5 + 1e-9).all(), one.words
        shifted += bool((np.abs(answer.strategy.factors.offsets) > 6.0 * spread / 60**0.5).any())  # which would be seen
    assert shifted
