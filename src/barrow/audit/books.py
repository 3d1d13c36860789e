"""What releases stand on: exact samplers, and a ledger that never gives back."""

from __future__ import annotations

import math
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from barrow.audit.enumeration import distribution
from barrow.audit.verdict import Finding, Tally
from barrow.errors import BarrowError
from barrow.ledger import Budget, Ledger, SpaceRef
from barrow.noise import (
    exact_binomial,
    exact_multinomials,
    rounded_laplace,
    system_source,
    uniform_below,
    uniform_places,
)
from barrow.noise.counts.cascade import Cascade
from barrow.noise.source import SeededSource
from barrow.promises import Emd, Guarantee, PureRelease


def _binomial(count: int, p: Fraction) -> dict[Any, Fraction]:
    return {k: math.comb(count, k) * p**k * (1 - p) ** (count - k) for k in range(count + 1)}


def _fallen(source: Any) -> Any:
    """One item that falls onto one of four leaves."""
    star, result = Cascade.of([0, 0, 1, 2, 3], [4, 1, 2, 3, 4], [-1, 0, 0, 0, 0]), np.zeros(4, dtype=np.int64)
    star.spread(np.ones(1, dtype=np.int64), result, source)
    return result


def audit_samplers() -> Finding:
    """Samplers of counts on small numbers against their distributions, and what may be called private."""
    tally = Tally("samplers", "all")
    known: list[tuple[str, Any, dict[Any, Fraction]]] = []
    for count, above, below in ((1, 1, 3), (2, 3, 8), (3, 1, 4), (3, 5, 8)):
        p = Fraction(above, below)
        known.append(
            (
                f"binomial of {count} at {p}",
                lambda source, c=count, a=above, b=below: int(exact_binomial([c], a, b, source=source)[0]),
                _binomial(count, p),
            )
        )
    nine = [Fraction(w, 16) for w in (9, 3, 3, 1)]
    for name, draw, weights in (
        ("multinomial", lambda source: exact_multinomials([1], [[9, 3, 3, 1]], source=source)[0], nine),
        ("uniform multinomial", _fallen, [Fraction(1, 4)] * 4),
    ):
        where = {tuple(np.eye(4, dtype=int)[i].tolist()): w for i, w in enumerate(weights)}
        known.append((name, lambda source, d=draw: tuple(d(source).tolist()), where))
    for name, sampler in (("uniform", uniform_below), ("uniform places", uniform_places)):
        pairs = {(a, b): Fraction(1, 12) for a in range(3) for b in range(4)}
        known.append((name, lambda source, s=sampler: tuple(s(np.array([3, 4]), source=source).tolist()), pairs))
    for name, one, ideal in known:
        result = distribution(one, cut=Fraction(1, 2**12), continuations=10)
        tally.draws += len(result.chances)
        if result.differs_from(ideal) or result.left > 2**-6:
            tally.violation(f"the {name} is not distributed as it should be", 1, 0)
    fresh = [system_source().words(4).tolist() for _ in range(8)]
    if len({word for words in fresh for word in words}) < 32:
        tally.violation("words of the system's source repeat", 1, 0)
    if rounded_laplace([0], 1, source=SeededSource(1)).private:
        tally.violation("noise that can be replayed is called private", 1, 0)
    return tally.finding()


def audit_ledger() -> Finding:
    """A payment stays paid: after an error, without a commit, in another object, and for one draw only."""
    tally = Tally("ledger", "all")
    ref = SpaceRef("line", "sha256:00", 10, "km")
    budget = Budget("visits", 10, ref, Emd(1, model="central"))

    def pay(ledger: Ledger, key: str, alpha: str) -> Any:
        return ledger.reserve(
            key=key,
            what=key,
            event=PureRelease(alpha, model="central"),
            guarantee=Guarantee(Emd(alpha, model="central"), "pure", "def:emd-dp"),
            space=ref,
            dataset="visits",
            users=10,
        )

    def refused(action: Any, what: str) -> None:
        tally.draws += 1
        try:
            action()
        except BarrowError:
            return
        tally.violation(what, 1, 0)

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "visits.ledger"
        ledger = Ledger.create(path, budget)
        paid = pay(ledger, "one", "0.6")
        paid.take()
        refused(paid.take, "a paid release draws twice")
        refused(lambda: pay(ledger, "one", "0.1"), "one key is paid twice")
        refused(lambda: pay(ledger, "two", "0.6"), "what was reserved and not committed is given back")
        refused(lambda: pay(Ledger.open(path), "two", "0.6"), "what was reserved is forgotten on opening")
        for owner in (ledger, Ledger.open(path)):
            tally.draws += 1
            if owner.left().loss > Fraction("0.4"):
                tally.violation("more is left than was not spent", float(owner.left().loss), 0.4)
        ledger.commit(paid, "sha256:" + "ab" * 32)
        refused(lambda: pay(ledger, "three", "0.41"), "a commit gives back")
        pay(ledger, "four", "0.4")
        refused(lambda: pay(ledger, "five", "0.0001"), "a spent budget is not empty")
    return tally.finding()
