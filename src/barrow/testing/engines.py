"""What every engine must pass: the same integers as a reference in plain Python, for any order and partitioning."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from barrow.engines import Columns, Counts, Engine
from barrow.engines.base import flat_groups
from barrow.errors import BarrowError, DataError
from barrow.spaces import (
    Circle,
    Clustered,
    Covariates,
    Discrete,
    Earth,
    Embedding,
    Euclidean,
    Finite,
    Graph,
    Line,
    Product,
    Space,
    Tree,
)
from barrow.spaces.space import Unknown

Values = tuple[Any, ...]
"""What the item columns of one record hold."""
Rows = list[tuple[Any, Values]]
"""A user and the values of each record."""
SECRET = "SECRET-73913"  # noqa: S105  (no password: what errors must not repeat)


@dataclass(frozen=True)
class Case:
    """A space with good records, records outside it, and records that no rule can place."""

    space: Space
    good: list[Values]
    outside: list[Values] = field(default_factory=list)
    hopeless: list[Values] = field(default_factory=list)

    @property
    def columns(self) -> Columns:
        """The columns of its records."""
        return Columns("uid", [f"c{i}" for i in range(self.space.reads.columns)])

    @property
    def modes(self) -> tuple[Unknown, ...]:
        """What may be asked to happen to records outside."""
        return ("error", "default", "nearest") if self.outside else ("error", "default")


def labels(*names: str | None) -> list[Values]:
    """Records of one label each."""
    return [(name,) for name in names]


def points(*values: tuple[float, ...]) -> list[Values]:
    """Records of numbers."""
    return [tuple(float(x) for x in value) for value in values]


LABELS = ["a", "b", " b", "B", "é", "a b", "7"]
BAD_LABELS = labels(None, "", "b ", "zz", "A", "07")
STEPS = [0.1 * i for i in range(31)]
EDGES = [x for s in STEPS for x in (s, math.nextafter(s, 9), math.nextafter(s, -9)) if 0 <= x <= 3]
NO_NUMBERS: list[Values] = [(None,), (math.nan,)]

CASES = {
    "discrete": Case(Discrete(LABELS), labels(*LABELS), hopeless=BAD_LABELS),
    "discrete-default": Case(Discrete(LABELS, default="B"), labels(*LABELS), hopeless=BAD_LABELS),
    "finite": Case(Finite(["x", "y"], [[0, 1], [1, 0]]), labels("x", "y"), hopeless=BAD_LABELS),
    "clustered": Case(Clustered({"p": ["a", "b"], "q": ["c"]}, r=0.1), labels("a", "b", "c"), hopeless=BAD_LABELS),
    "tree": Case(Tree.nested(["US/NY", "US/LA", "FR/P"], distances=[1, 0.5]), labels("US/NY", "US/LA", "FR/P")),
    "embedding": Case(Embedding(["u", "v"], [[0.0, 1.0], [1.0, 0.0]]), labels("u", "v"), hopeless=BAD_LABELS),
    "covariates": Case(Covariates(["n1", "n2"], [[0.0], [2.0]]), labels("n1", "n2"), hopeless=BAD_LABELS),
    "graph": Case(Graph([("n1", "n2", 2.0), ("n2", "n3", 1.0)]), labels("n1", "n3"), hopeless=BAD_LABELS),
    "weekdays": Case(Circle.weekdays(), labels("Mon", "Sun", "Wed"), hopeless=labels("mon", "", None)),
    "line": Case(Line(0, 3, step=0.1), [(x,) for x in EDGES], [(-1.0,), (9.0,), (math.inf,), (-math.inf,)], NO_NUMBERS),
    "line-points": Case(
        Line(0, 3, points=[0.1, 0.2, 0.25, 1.0, 1.0000001, 2.9], default=1.0),
        [(x,) for x in [*EDGES, 0.15, 0.225, 0.625, 1.00000005, 1.95]],
        [(-1.0,), (9.0,)],
        NO_NUMBERS,
    ),
    "circle": Case(
        Circle(3, step=0.1),
        [(x,) for x in EDGES if x < 3] + [(-0.0,)],
        [(3.0,), (-0.1,), (1e17,), (-1e-30,), (100.7,)],
        [*NO_NUMBERS, (math.inf,)],
    ),
    "box": Case(
        Euclidean([0, -1], [3, 1], step=0.1, default=[1.0, 0.0]),
        points(*((x, y) for x in EDGES[::7] for y in (-1, -0.0, 0.3, 0.6, 1))),
        points((-1, 0), (4, 4), (math.inf, 0)),
        [(None, 0.0), (1.0, None), (math.nan, 1.0)],
    ),
    "box-of-one": Case(
        Euclidean([0], [3], step=0.1), [(x,) for x in EDGES], [(-1.0,), (9.0,), (math.inf,)], NO_NUMBERS
    ),
    "ball": Case(
        Euclidean(center=[1, 1], radius=1, step=0.1),
        points((1, 1), (0, 1), (2, 1), (1, 2), (1.7, 1.7), (0.3, 0.31), (0.6, 0.2)),
        points((4, 5), (1, -3), (0.29, 0.29)),
        [(None, 0.0), (math.nan, 1.0)],
    ),
    "earth": Case(
        Earth(box=(40.5, -74.3, 41.0, -73.6), cell=1),
        points((40.5, -74.3), (41.0, -73.6), (40.7, -74.0), (40.75, -73.99999), (40.999999, -73.7)),
        points((0, 0), (90, 180), (-90, -180), (45, 107), (40.7, 106), (40.7, -75)),
        [*points((91, 0), (40.7, 181)), (None, -74.0), (40.7, None), (math.nan, -74.0)],
    ),
    "globe": Case(
        Earth(cell=500, default=(48, 2)),
        points((90, 180), (-90, -180), (0, 0), (-0.0, -0.0), (51.5, -0.1), (89.9999, 179.9999)),
        hopeless=[*points((90.1, 0), (0, 180.1)), (None, None)],
    ),
    "product": Case(
        Product([Earth(cell=1000), Circle.hours(), Discrete(["a", "b"])], weights=["1/2", "1/4", "1/4"]),
        [(51.5, -0.1, 23.5, "a"), (-90.0, 180.0, 0.0, "b"), (0.0, 0.0, 12.0, "a")],
        hopeless=[(None, 0.0, 1.0, "a"), (0.0, 0.0, 24.5, "a"), (0.0, 0.0, 1.0, "c"), (0.0, 0.0, 1.0, None)],
    ),
    "nested-product": Case(
        Product(
            [Line(0, 3, step=0.5), Product([Circle(3, step=1), Line(0, 3, points=[1, 2])], weights=["1/2", "1/2"])],
            weights=["1/2", "1/2"],
        ),
        points((0, 0, 0), (3, 2.9, 3), (1.5, 1, 1.5), (2.6, 0.2, 1.4)),
        points((7, 7, 7), (-1, -1, -1)),
        [(None, 0.0, 0.0), (0.0, math.nan, 0.0)],
    ),
}  # fmt: skip

PAIRS: list[tuple[str, Unknown]] = [(name, mode) for name, case in CASES.items() for mode in case.modes]
SOME: list[tuple[str, Unknown]] = [
    ("discrete", "error"), ("discrete-default", "default"), ("line", "nearest"), ("box", "error"),
    ("earth", "default"), ("product", "default"),
]  # fmt: skip


def encode_one(space: Space, values: Values, mode: Unknown) -> int:
    """One record through the space itself."""
    with np.errstate(all="ignore"):
        return int(space.encode(_record(space, values), unknown=mode)[0])


def _record(space: Space, chunk: Values) -> Any:
    if space.geometry.parts:
        groups, start = [], 0
        for part, _ in space.geometry.parts:
            groups.append(_record(part, chunk[start : start + part.reads.columns]))
            start += part.reads.columns
        return groups
    return [chunk[0]] if len(chunk) == 1 else [tuple(chunk)]


def reference(rows: Rows, space: Space, mode: Unknown = "error") -> tuple[list[tuple[int, int, int]], int]:
    """C[item, size] in plain Python: rows are (user, values)."""
    sizes = Counter(user for user, _ in rows)
    counted = Counter((encode_one(space, values, mode), sizes[user]) for user, values in rows)
    return [(item, size, counted[item, size]) for item, size in sorted(counted)], len(sizes)


def as_list(counts: Counts) -> list[tuple[int, int, int]]:
    """Item, size and count of every row."""
    return list(zip(counts.items.tolist(), counts.sizes.tolist(), counts.counts.tolist(), strict=True))


def some_rows(case: Case, mode: Unknown, number: int = 120) -> Rows:
    """Users of different sizes with records of the case; sizes from 1 to many."""
    pool = case.good + (case.outside if mode in ("nearest", "default") else [])
    pool = pool + (case.hopeless if mode == "default" else [])
    return [(f"u{i * i % 25 if i % 3 else 0}", pool[(7 * i * i + 3 * i) % len(pool)]) for i in range(number)]


def in_another_order(rows: Rows, turn: int) -> Rows:
    """The same rows, the last first, or by steps that visit each once."""
    step = next(s for s in range(7 + turn, 10**4) if math.gcd(s, len(rows)) == 1)
    return rows[::-1] if turn == 0 else [rows[i * step % len(rows)] for i in range(len(rows))]


def numeric(case: Case) -> list[bool]:
    """For each item column: whether it holds numbers."""
    return [reads.numbers for _, group, reads in flat_groups(case.columns, case.space) for _ in group]


class EngineSuite:
    """Inherit it, and say how rows become a source of your engine.

    >>> from barrow.engines import MemoryEngine
    >>> class TestMemory(EngineSuite):
    ...     def make(self, tmp_path, names, rows, numbers):
    ...         return MemoryEngine(), {name: [row[i] for row in rows] for i, name in enumerate(names)}
    >>> TestMemory().test_public_number_of_users(Path())
    """

    pairs: ClassVar[Sequence[tuple[str, Unknown]]] = SOME
    """Spaces, by their names in ``CASES``, with what happens to records outside."""
    lost: ClassVar[int] = 3
    """How many odd records are tried in each space."""
    orders: ClassVar[int] = 2
    """In how many orders the same rows of some spaces are given, which differ in all that matters; once of others."""
    numbered: ClassVar[bool] = True
    """Whether a check knows the numbers of rows."""

    def make(
        self, tmp_path: Path, names: Sequence[str], rows: Sequence[Values], numbers: Sequence[bool]
    ) -> tuple[Engine, Any]:
        """(engine, source) that holds ``rows`` (user, values…) under ``names``; ``numbers`` says which are numbers."""
        raise NotImplementedError

    def table(self, tmp_path: Path, case: Case, rows: Rows) -> tuple[Engine, Any]:
        """The engine, and a source that holds these rows."""
        names = ["uid", *case.columns.items]
        return self.make(tmp_path, names, [(user, *values) for user, values in rows], numeric(case))

    def test_counts_are_the_reference_in_any_order(self, tmp_path: Path, name: str, mode: Unknown) -> None:
        """The same integers as plain Python counts."""
        case = CASES[name]
        rows = some_rows(case, mode)
        expected, users = reference(rows, case.space, mode)
        for turn in range(self.orders if (name, mode) in SOME else 1):
            shuffled = in_another_order(rows, turn)
            folder = tmp_path / str(turn)
            folder.mkdir()
            engine, source = self.table(folder, case, shuffled)
            counts = engine.count(source, case.columns, case.space, unknown=mode)
            assert as_list(counts) == expected
            assert counts.users == users
        sums = engine.sums(source, case.columns, case.space, unknown=mode)
        masses = dict.fromkeys((item for item, _, _ in expected), 0)
        for item, size, count in expected:
            masses[item] += count * (2**120 // size - (2**32 - size))
        assert dict(zip(sums.items.tolist(), sums.values.tolist(), strict=True)) == masses
        assert sums.users == users

    @pytest.mark.parametrize("which", SOME, ids=["-".join(pair) for pair in SOME])
    def test_samples_are_drawn_from_the_records_of_each_user(self, tmp_path: Path, which: tuple[str, Unknown]) -> None:
        """As often as each user holds them, within six standard deviations."""
        name, mode = which
        case = CASES[name]
        rows = some_rows(case, mode)
        users = sorted({user for user, _ in rows})
        engine, source = self.table(tmp_path, case, rows)
        sample = engine.sample(source, case.columns, case.space, samples=400, unknown=mode)
        held = {u: Counter(encode_one(case.space, v, mode) for w, v in rows if w == u) for u in users}
        mean: dict[int, float] = {}
        for mine in held.values():
            for item, count in mine.items():
                mean[item] = mean.get(item, 0.0) + 400 * count / sum(mine.values())
        assert set(sample.items.tolist()) <= set(mean)
        assert (sample.users, int(sample.counts.sum())) == (len(users), 400 * len(users))
        result = dict(zip(sample.items.tolist(), sample.counts.tolist(), strict=True))
        # Six standard deviations of a sum of binomials, whose variance is below its mean.
        assert all(abs(result.get(item, 0) - m) <= 6 * math.sqrt(m) + 6 for item, m in mean.items())

    @pytest.mark.parametrize("which", SOME, ids=["-".join(pair) for pair in SOME])
    def test_people_one_by_one_are_those_of_the_records(self, tmp_path: Path, which: tuple[str, Unknown]) -> None:
        """As often as each user holds each item, in any order of people, and without their names."""
        name, mode = which
        case = CASES[name]
        rows = some_rows(case, mode)
        engine, source = self.table(tmp_path, case, rows)
        if type(engine)._people is Engine._people:
            return  # an engine need not give them
        result = engine.people(source, case.columns, case.space, unknown=mode)
        users = {user for user, _ in rows}
        held = [sorted(Counter(encode_one(case.space, v, mode) for w, v in rows if w == u).items()) for u in users]
        starts, profiles = result.profiles.starts.tolist(), result.profiles
        pairs = list(zip(profiles.items.tolist(), profiles.counts.tolist(), strict=True))
        ends = [*starts[1:], len(pairs)]
        assert sorted(pairs[a:b] for a, b in zip(starts, ends, strict=True)) == sorted(held)
        assert result == engine.count(source, case.columns, case.space, unknown=mode)

    def refused(
        self, tmp_path: Path, rows: Rows, space: str = "discrete", mode: Unknown = "error", *, by_all: bool = True
    ) -> BarrowError:
        """The refusal of these rows, which tells nothing about them and, if all are asked, is the same for samples."""
        case = CASES[space]
        engine, source = self.table(tmp_path, case, rows)
        with pytest.raises(BarrowError) as caught:
            engine.count(source, case.columns, case.space, unknown=mode)
        error: BaseException | None = caught.value
        while error is not None:
            assert SECRET not in str(error)
            assert "u1" not in str(error)
            error = error.__cause__ or error.__context__
        if not by_all:
            return caught.value
        with pytest.raises(type(caught.value)) as alike:
            engine.sums(source, case.columns, case.space, unknown=mode)
        assert str(alike.value) == str(caught.value)
        with pytest.raises(type(caught.value)) as same:
            engine.sample(source, case.columns, case.space, samples=3, unknown=mode)
        assert str(same.value) == str(caught.value)
        if type(engine)._people is not Engine._people:
            with pytest.raises(type(caught.value)) as again:
                engine.people(source, case.columns, case.space, unknown=mode)
            assert str(again.value) == str(caught.value)
        return caught.value

    @pytest.mark.parametrize("space", ["discrete", "line", "earth", "ball", "product"])
    def test_lost_items_are_refused_with_a_constant_text(self, tmp_path: Path, space: str) -> None:
        """Whatever is lost, however often."""
        case = CASES[space]
        texts = set()
        for turn, lost in enumerate([*case.hopeless, *case.outside][-self.lost :]):
            folder = tmp_path / str(turn)
            folder.mkdir()
            rows = [("u1", case.good[0])] * (turn + 1) + [("u2", lost)] * (turn + 1)
            error = self.refused(folder, rows, space, by_all=turn == 0 or self.lost > EngineSuite.lost)
            assert isinstance(error, DataError)
            texts.add(str(error))
        assert len(texts) == 1

    def test_nearest_does_not_save_what_is_no_number(self, tmp_path: Path) -> None:
        """Nothing is near what is missing."""
        for turn, lost in enumerate(NO_NUMBERS):
            folder = tmp_path / str(turn)
            folder.mkdir()
            assert isinstance(self.refused(folder, [("u1", (1.0,)), ("u2", lost)], "line", "nearest"), DataError)

    def test_null_users_are_always_refused(self, tmp_path: Path) -> None:
        """A record without a user is nobody's."""
        modes: tuple[Unknown, ...] = ("error", "default")
        for mode in modes:
            folder = tmp_path / mode
            folder.mkdir()
            error = self.refused(folder, [("u1", ("a",)), (None, ("a",))], mode=mode)
            assert isinstance(error, DataError)
            assert error.problem == "Some records have no user."

    def test_public_number_of_users(self, tmp_path: Path) -> None:
        """People without records hold the default item; more than said are refused."""
        case = CASES["discrete-default"]
        engine, source = self.table(tmp_path, case, [("u1", ("a",)), ("u1", ("a",)), ("u2", ("B",))])
        counts = engine.count(source, case.columns, case.space, users=10)
        assert (as_list(counts), counts.users) == ([(0, 2, 2), (3, 1, 9)], 10)
        with pytest.raises(DataError, match="more users"):
            engine.count(source, case.columns, case.space, users=1)

    def test_check_tells_the_curator(self, tmp_path: Path) -> None:
        """Private numbers and examples, for the curator alone."""
        case = CASES["discrete"]
        rows = [("u1", ("a",)), ("u1", (SECRET,)), (None, ("a",)), ("u2", ("a",)), ("u1", (None,))]
        engine, source = self.table(tmp_path, case, rows)
        report = engine.check(source, case.columns, case.space)
        assert (report.rows, report.users, report.null_users, report.lost_items) == (5, 2, 1, 2)
        assert (report.smallest, report.largest) == (1, 3)
        assert report.private
        assert not report.usable
        assert report.to_json()["private"] is True
        if self.numbered:
            assert report.examples[0]["row"] == 2
        assert SECRET in {example["c0"] for example in report.examples}
        assert str(report).startswith("PRIVATE")
        assert SECRET in str(report)

    def test_check_agrees_with_count(self, tmp_path: Path) -> None:
        """A check is fine where a count is."""
        case = CASES["earth"]
        engine, source = self.table(tmp_path, case, some_rows(case, "default"))
        assert engine.check(source, case.columns, case.space, unknown="default").usable
        assert not engine.check(source, case.columns, case.space).usable
        assert not engine.check(source, case.columns, case.space, unknown="default", users=1).usable

    def test_missing_column_is_named_with_the_nearest(self, tmp_path: Path) -> None:
        """Names of columns are public."""
        case = CASES["discrete"]
        engine, source = self.table(tmp_path, case, [("u1", ("a",))])
        with pytest.raises(BarrowError, match=r"There is no column 'UIDs'\. Did you mean 'uid'"):
            engine.count(source, Columns("UIDs", "c0"), case.space)
        with pytest.raises(BarrowError, match=r"There is no column 'C0'\. Did you mean 'c0'"):
            engine.validate(source, Columns("uid", "C0"), case.space)
        assert set(engine.columns(source)) == {"uid", "c0"}

    def test_no_rows(self, tmp_path: Path) -> None:
        """A source without records is refused."""
        assert self.refused(tmp_path, []).problem == "The source holds no records."
