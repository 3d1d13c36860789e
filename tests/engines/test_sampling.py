"""Drawing with replacement: the exact law of small cases, statistics that reject near misses, what leaves DuckDB."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction
from math import comb, prod

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from barrow.engines import Columns, DuckDBEngine, MemoryEngine, Sampled, sampling
from barrow.engines.duckdb import pieces
from barrow.engines.duckdb.session import Session
from barrow.engines.sampling import Sampler
from barrow.engines.spark.engine import collected_draws
from barrow.errors import BarrowError, DataError, ParameterError
from barrow.noise.source import SeededSource
from barrow.progress import progress_to
from barrow.spaces import Discrete, Line

SECRET = "SECRET-73913"
COLUMNS = Columns("uid", "item")
LETTERS = Discrete(["a", "b", "c", "d"])


def law_over_pieces(who, cuts, samples):
    """The exact law of the weights that the sampler draws for ``who`` cut at ``cuts``: from its stated building blocks.

    The binomials and uniform places are replaced by all their outcomes with their exact probabilities; whatever the
    sampler does with them is what is tested.
    """
    law: Counter = Counter()
    sizes = np.bincount(who)
    stack = [(Fraction(1), ())]
    while stack:
        chance, script = stack.pop()
        request = iter(script)
        missing: list = []

        def binomial(counts, above, below, *, source, query=request, missing=missing):
            result = np.zeros(len(counts), dtype=np.int64)
            for i, (c, a, b) in enumerate(zip(counts.tolist(), above.tolist(), below.tolist(), strict=True)):
                result[i] = choose(
                    query,
                    missing,
                    [(k, comb(c, k) * Fraction(a, b) ** k * (1 - Fraction(a, b)) ** (c - k)) for k in range(c + 1)],
                )
            return result

        def places(bounds, *, source=None, query=request, missing=missing):
            options = [[(k, Fraction(1, b)) for k in range(b)] for b in bounds.tolist()]
            return np.array([choose(query, missing, o) for o in options], dtype=np.int64)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sampling.noise, "exact_binomial", binomial)
            patch.setattr(sampling.noise, "uniform_places", places)
            try:
                sampler = Sampler(sizes, samples, SeededSource(1))
                parts = [sampler.draw(part) for part in np.split(who, cuts)]
                sampler.finish()
            except _AskError:
                stack.extend((chance * p, (*script, k)) for k, p in missing[0] if p)
                continue
        law[tuple(np.concatenate(parts).tolist())] += chance
    return law


class _AskError(Exception):
    pass


def choose(request, missing, options):
    try:
        return next(request)
    except StopIteration:
        missing.append(options)
        raise _AskError from None


CASES = {
    "mixed": ([0, 1, 0, 1, 1], []),
    "mixed, cut": ([0, 1, 0, 1, 1], [2, 3]),
    "sorted": ([1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0], []),
    "a run that is cut": ([0, 0, 0, 0, 0, 0, 1, 1, 1, 1], [3]),
    "two runs of one user": ([0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0], []),
}


@pytest.mark.parametrize("who", [x for x, _ in CASES.values()], ids=list(CASES))
@pytest.mark.parametrize("samples", [1, 2])
def test_the_law_is_that_of_independent_uniform_draws(who, samples):
    cuts = next(c for x, c in CASES.values() if x is who)
    who = np.array(who, dtype=np.int32)
    law = law_over_pieces(who, cuts, samples)
    sizes = np.bincount(who)
    expected: Counter = Counter()
    for draws in itertools.product(*(itertools.product(range(m), repeat=samples) for m in sizes)):
        weights = np.zeros(len(who), dtype=np.int64)
        for user, mine in enumerate(draws):
            np.add.at(weights, np.flatnonzero(who == user)[list(mine)], 1)
        expected[tuple(weights.tolist())] += Fraction(1, prod(int(m) ** samples for m in sizes))
    assert law == expected
    assert sum(law.values()) == 1


def test_the_enumeration_sees_a_sampler_without_replacement(monkeypatch):
    good = Sampler.draw

    def once(self, who):
        return np.minimum(good(self, who), 1)

    monkeypatch.setattr(Sampler, "draw", once)
    law = law_over_pieces(np.array([0, 0, 0]), [], 2)
    assert law[(2, 0, 0)] == 0


@settings(deadline=None, max_examples=80)
@given(st.lists(st.integers(0, 12), min_size=1, max_size=80), st.integers(1, 300), st.integers(0, 79), st.booleans())
def test_every_user_gives_exactly_s(users, samples, cut, ordered):
    who = np.unique(sorted(users) if ordered else users, return_inverse=True)[1].astype(np.int32)
    sampler = Sampler(np.bincount(who), samples, SeededSource(7))
    weights = np.concatenate([sampler.draw(part) for part in np.split(who, [min(cut, len(who))])]).astype(np.int64)
    sampler.finish()
    assert (np.bincount(who, weights=weights) == samples).all()


def test_many_draws_are_cut_into_batches(monkeypatch):
    monkeypatch.setattr(sampling, "_DRAWS_AT_ONCE", 10)
    who = np.array([0, 1, 2, 0, 1, 2, 2] * 3)
    weights = Sampler(np.bincount(who), 25, SeededSource(1)).draw(who)
    assert np.bincount(who, weights=weights).tolist() == [25, 25, 25]
    assert weights.dtype == np.uint8
    assert Sampler(np.array([1]), 70_000, SeededSource(1)).draw(np.array([0])).tolist() == [70_000]


def test_records_that_change_are_refused():
    sampler = Sampler(np.array([2, 1]), 3)
    with pytest.raises(DataError, match="changed"):
        sampler.draw(np.array([0, 0, 0]))
    sampler = Sampler(np.array([2, 1]), 3)
    sampler.draw(np.array([0, 1]))
    with pytest.raises(DataError, match="changed"):
        sampler.finish()


# Statistics on whole engines: 40 users with different histograms, mixed up or in order.

HELD = np.array([[1 + (u * 7) % 5, (u * 3) % 4, u % 3, 1] for u in range(40)])


def table_of(ordered):
    rows = [(u, x) for u in range(40) for x in range(4) for _ in range(HELD[u, x])]
    if not ordered:
        rows = [rows[i] for i in np.random.default_rng(3).permutation(len(rows))]
    return {"uid": [u for u, _ in rows], "item": [LETTERS.labels[x] for _, x in rows]}


def make_engine(kind, ordered, folder):
    table = table_of(ordered)
    if kind == "memory":
        return MemoryEngine(), table
    path = folder / f"{kind}-{ordered}.{kind}"
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (uid INTEGER, item VARCHAR)")
        connection.execute("INSERT INTO t SELECT unnest($1), unnest($2)", [table["uid"], table["item"]])
        connection.execute(f"COPY t TO '{path}'")
    return DuckDBEngine(progress=False, threads=1), str(path)


def watched(real, used):
    def look(*arguments):
        answer = real(*arguments)
        used.append((real.__name__, answer))
        return answer

    return look


def counts_of(drawn):
    result = np.zeros(4)
    result[drawn.items] = drawn.counts
    return result


def departure(found, samples, runs):
    """A chi-square over items of the sum of ``runs`` samplings, with the exact mean and covariance; 3 degrees."""
    shares = HELD / HELD.sum(axis=1, keepdims=True)
    mean = runs * samples * shares.sum(axis=0)
    cov = runs * samples * (np.diag(shares.sum(axis=0)) - shares.T @ shares)
    gap = (found - mean)[:3]
    return float(gap @ np.linalg.solve(cov[:3, :3], gap))


@pytest.mark.parametrize("kind", ["memory", "parquet", "csv"])
@pytest.mark.parametrize("ordered", [True, False])
def test_pooled_counts_have_the_right_mean(kind, ordered, tmp_path, monkeypatch):
    monkeypatch.setattr(pieces, "PIECE", 64)  # several pieces, which cut through users
    monkeypatch.setattr(pieces, "_LONG_RUNS", 1)
    used = []
    for name in ("_tally_in_order", "_tally_mixed"):
        monkeypatch.setattr(pieces, name, watched(getattr(pieces, name), used))
    engine, source = make_engine(kind, ordered, tmp_path)
    runs, samples = 3, 20_000
    result = sum(
        counts_of(engine.sample(source, COLUMNS, LETTERS, samples=samples, randomness=SeededSource(i)))
        for i in range(runs)
    )
    ways = {"memory": [], "csv": ["_tally_mixed"], "parquet": ["_tally_in_order"] if ordered else ["_tally_mixed"]}
    assert [name for name, answer in used if answer is not None] == ways[kind] * runs
    limit = chi2.isf(1e-8, 3)
    assert departure(result, samples, runs) < limit
    # Power: records that are weighed by their number and not by user, or one record in two hundred missed.
    flat = runs * samples * 40 * HELD.sum(axis=0) / HELD.sum()
    assert departure(flat, samples, runs) > limit
    assert departure(result + result[0] * np.array([-0.005, 0.005, 0, 0]), samples, runs) > limit


def test_pooled_counts_spread_as_draws_with_replacement_do():
    """The variance of a count: s p (1-p) summed over users. Without replacement it would be far less."""
    table = table_of(ordered=False)
    samples, runs = 4, 1500
    seen = np.array([
        counts_of(MemoryEngine().sample(table, COLUMNS, LETTERS, samples=samples, randomness=SeededSource(i)))[0]
        for i in range(runs)
    ])  # fmt: skip
    p = HELD[:, 0] / HELD.sum(axis=1)
    variance = samples * float((p * (1 - p)).sum())
    statistic = float(((seen - samples * p.sum()) ** 2).sum()) / variance
    assert chi2.ppf(1e-7, runs) < statistic < chi2.isf(1e-7, runs)
    sizes = HELD.sum(axis=1)
    without = float((samples * p * (1 - p) * np.maximum(0, sizes - samples) / np.maximum(1, sizes - 1)).sum())
    assert statistic * variance / without > chi2.isf(1e-7, runs)  # the test would have rejected that law


def test_users_are_independent():
    """Two users with the same records: their samples are uncorrelated, and shared draws would be seen."""
    who = np.array([0, 1] * 6)
    first, second = [], []
    source = SeededSource(11)
    for _ in range(4000):
        weights = Sampler(np.array([6, 6]), 5, source).draw(who)
        first.append(int(weights[0]))
        second.append(int(weights[1]))
    r = float(np.corrcoef(first, second)[0, 1])
    assert abs(r) < 5.4 / np.sqrt(4000)
    assert float(np.corrcoef(first, first)[0, 1]) > 5.4 / np.sqrt(4000)


def test_position_does_not_matter():
    """Each record of a user of 7, in runs and alone, is drawn equally often; one that is drawn 6 % more is seen."""
    for who in (np.repeat([0, 1], 7), np.array([0, 1] * 7)):
        total = np.zeros(14, dtype=np.int64)
        source = SeededSource(13)
        for _ in range(40):
            total += Sampler(np.array([7, 7]), 5000, source).draw(who).astype(np.int64)
        for user in (0, 1):
            mine = total[who == user]
            expected = mine.sum() / 7
            assert float(((mine - expected) ** 2).sum() / expected) < chi2.isf(1e-7, 6)
            mine[0] += mine[0] * 6 // 100
            assert float(((mine - expected) ** 2).sum() / expected) > chi2.isf(1e-7, 6)


# The rules of counting hold for sampling too.


@pytest.mark.parametrize("samples", [0, -3, 10**7 + 1, 2.5, True, "x"])
def test_wrong_numbers_of_samples(samples):
    for engine in (MemoryEngine(), DuckDBEngine()):
        with pytest.raises(ParameterError, match="samples is") as caught:
            engine.sample({"uid": [1], "item": ["a"]}, COLUMNS, LETTERS, samples=samples)
        assert "samples=200" in str(caught.value)


def test_missing_users_hold_the_default_item(tmp_path):
    for kind in ("memory", "parquet"):
        engine, source = make_engine(kind, True, tmp_path)
        sample = engine.sample(source, COLUMNS, Discrete(LETTERS.labels, default="d"), samples=9, users=100_000)
        assert isinstance(sample, Sampled)
        assert (sample.users, int(sample.counts.sum())) == (100_000, 900_000)
        assert counts_of(sample)[3] >= 9 * (100_000 - 40)
        assert sample.private
        assert set(sample.sizes.tolist()) == {9}
        with pytest.raises(DataError, match="more users"):
            engine.sample(source, COLUMNS, LETTERS, samples=9, users=39)


def test_randomness_that_can_be_replayed_is_marked():
    table = {"uid": [1, 1], "item": ["a", "b"]}
    assert not MemoryEngine().sample(table, COLUMNS, LETTERS, samples=2, randomness=SeededSource(1)).private
    with pytest.raises(ParameterError, match="randomness"):
        MemoryEngine().sample(table, COLUMNS, LETTERS, samples=2, randomness=np.random.default_rng(1))


@pytest.mark.parametrize("ordered", [True, False])
def test_no_user_and_no_item_leaves_duckdb(ordered, tmp_path, monkeypatch):
    """Everything that DuckDB hands to Python is looked at: numbers of users, sizes, pooled counts; no id, no label."""
    path = tmp_path / "t.parquet"
    pairs = [(u, x) for u in range(30) for x in ("north", "south") for _ in range(u + 1)]
    if not ordered:
        pairs = pairs[0::2] + pairs[1::2]
    rows = ", ".join(f"('{SECRET}-{u}', '{x}')" for u, x in pairs)
    duckdb.sql(f"COPY (SELECT * FROM (VALUES {rows}) t(uid, item)) TO '{path}'")
    seen: list = []

    def spy(name):
        real = getattr(Session, name)

        def look(self, sql, *rest):
            answer = real(self, sql, *rest)
            seen.append((sql, answer))
            return answer

        monkeypatch.setattr(Session, name, look)

    spy("rows")
    spy("arrays")
    monkeypatch.setattr(pieces, "PIECE", 100)
    DuckDBEngine(progress=False).sample(path, COLUMNS, Discrete(["north", "south"]), samples=5)
    assert len(seen) > 5
    assert SECRET not in str(seen)
    answers = str([answer for sql, answer in seen if "DESCRIBE" not in sql])
    assert "north" not in answers
    per_record = [a for sql, a in seen if isinstance(a, dict) and any(len(v) > 60 for v in a.values())]
    assert bool(per_record) is not ordered
    assert all(set(a) == {"g"} and a["g"].dtype == np.int32 for a in per_record)


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_nothing_private_is_in_an_error(kind, tmp_path):
    path = tmp_path / f"t.{kind}"
    bad = {
        "lost": f"('u1', '{SECRET}'), ('u2', 'a')",
        "no user": f"(NULL, 'a'), ('{SECRET}', 'a')",
    }
    texts = set()
    for rows in bad.values():
        duckdb.sql(f"COPY (SELECT * FROM (VALUES {rows}) t(uid, item)) TO '{path}'")
        with pytest.raises(BarrowError) as caught:
            DuckDBEngine(progress=False).sample(path, COLUMNS, LETTERS, samples=5)
        error = caught.value
        while error is not None:
            assert SECRET not in str(error)
            error = error.__cause__ or error.__context__
        texts.add(caught.value.problem)
    assert texts == {"Some records are missing or are not items of the public space.", "Some records have no user."}


def test_lost_items_are_refused_whether_they_are_drawn_or_not():
    table = {"uid": [1] * 1000, "item": ["a"] * 999 + ["z"]}
    for _ in range(20):
        with pytest.raises(DataError):
            MemoryEngine().sample(table, COLUMNS, LETTERS, samples=1)
    sample = MemoryEngine().sample(table, COLUMNS, LETTERS, samples=50, unknown="default")
    assert sample.items.tolist() == [0]


def test_a_file_may_have_a_column_called_like_the_row_number(tmp_path):
    path = tmp_path / "t.parquet"
    duckdb.sql(f"COPY (SELECT 1 AS uid, 'a' AS item, 5 AS file_row_number FROM range(9)) TO '{path}'")
    sample = DuckDBEngine(progress=False).sample(path, COLUMNS, LETTERS, samples=4)
    assert (sample.items.tolist(), sample.counts.tolist()) == ([0], [4])


class Heard:
    def __init__(self):
        self.told = []

    def began(self, text, total):
        self.told.append((text, total))
        return 0

    def moved(self, work, done):
        self.told.append(done)

    def ended(self, work):
        self.told.append("over")


def test_long_work_tells_how_far_it_is(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(pieces, "PIECE", 64)
    _, source = make_engine("parquet", False, tmp_path)
    heard = Heard()
    with progress_to(heard):
        DuckDBEngine().sample(source, COLUMNS, LETTERS, samples=2)
    assert heard.told[0] == ("sampling records", 1.0)
    assert heard.told[-2:] == [1.0, "over"]
    quiet = Heard()
    with progress_to(quiet):
        DuckDBEngine(progress=False).sample(source, COLUMNS, LETTERS, samples=2)
    assert quiet.told == []
    assert capsys.readouterr().err == ""


def blocks(path, pairs):
    rows = ", ".join(f"({u}, '{x}', {n})" for u, x, n in pairs)
    duckdb.sql(f"COPY (SELECT u AS uid, x AS item FROM (VALUES {rows}) t(u, x, n), range(n)) TO '{path}'")


def test_users_in_two_places_are_not_taken_for_ordered(tmp_path, monkeypatch):
    """User 1 holds 40 a and, after user 2, 40 b: every one of them must have its chance."""
    used: list = []
    monkeypatch.setattr(pieces, "_tally_mixed", watched(pieces._tally_mixed, used))
    blocks(tmp_path / "t.parquet", [(1, "a", 40), (2, "c", 50), (1, "b", 40)])
    sample = DuckDBEngine(progress=False, threads=1).sample(tmp_path / "t.parquet", COLUMNS, LETTERS, samples=2000)
    assert len(used) == 1
    a, b, c, _ = counts_of(sample)
    assert (a + b, c) == (2000, 2000)
    assert abs(a - 1000) < 6 * np.sqrt(500)


def test_another_order_of_reading_is_noticed(tmp_path, monkeypatch):
    """If DuckDB gave the records in another order, the file is read again as a mixed one."""
    used: list = []
    monkeypatch.setattr(pieces, "_tally_mixed", watched(pieces._tally_mixed, used))
    good = pieces._piece
    calls = []

    def turned(reading, numbered, start, end):
        calls.append(start)
        sql = good(reading, numbered, start, end)
        return f"SELECT * FROM ({sql}) ORDER BY r DESC" if len(calls) == 1 else sql

    monkeypatch.setattr(pieces, "_piece", turned)
    blocks(tmp_path / "t.parquet", [(1, "a", 60), (2, "c", 50)])
    sample = DuckDBEngine(progress=False, threads=1).sample(tmp_path / "t.parquet", COLUMNS, LETTERS, samples=300)
    assert len(used) == 1
    assert counts_of(sample).tolist() == [300, 0, 300, 0]


def test_grids_are_sampled_inside_duckdb(tmp_path):
    path = tmp_path / "t.parquet"
    duckdb.sql(f"COPY (SELECT i % 7 AS uid, (i % 10)::DOUBLE + 0.5 AS x FROM range(700) r(i)) TO '{path}'")
    sample = DuckDBEngine(progress=False).sample(
        path, Columns("uid", "x"), Line(0, 10, step=1, cells=True), samples=1000
    )
    assert sample.items.tolist() == list(range(10))
    assert np.abs(sample.counts - 700).max() < 5.5 * np.sqrt(700 * 0.9)


def test_gathered():
    part, item = np.array([0, 0]), np.array([4, -9])
    answer = {"part": part, "item": item, "drawn": np.array([6, 0]), "users": np.array([0, 2])}
    assert collected_draws(answer | {"private": np.array([True, True])}, 3)[1:] == (2, True)
