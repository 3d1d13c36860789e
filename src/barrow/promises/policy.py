"""From promises to alpha, and from alpha back to sentences."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from barrow.display import Displayed
from barrow.errors import ParameterError, reading
from barrow.numerics import Exact, exact_text, float_down, float_up
from barrow.promises.definitions import take
from barrow.promises.periods import Window
from barrow.promises.promise import Promise, odds_sentence, odds_upper
from barrow.promises.records import UNSEEN, RecordMap
from barrow.promises.scopes import Exposure, exposure
from barrow.spaces import Space, parse_distance
from barrow.spaces.spec import ANOTHER_GROUP, ANYWHERE, PRESENCE

PromiseLike = Promise | str | tuple[Exact, Exact, Exact] | dict[str, Any]


@dataclass(frozen=True)
class Satisfied:
    """What one promise asked for and what it gets at the policy's alpha.

    Args:
        promise: The promise as it was made.
        distance: q, the distance as a share of the diameter.
        share: The share of what a release sees of a person that the change moves, at most: tau, or 1 behind a filter.
        reach: How far it moves them on average, at most: min(q + 2 rho, 1), or 1 where records may jump.
        epsilon_got: alpha * emd, rounded up; at most what was asked.
        binds: Whether this promise is what keeps alpha from being larger.

    >>> from barrow.spaces import Discrete
    >>> Policy(Discrete(["a", "b"]), [("1/10", 1, "0.2")]).satisfied[0].epsilon_got
    0.2
    """

    promise: Promise
    distance: Fraction
    share: Fraction
    reach: Fraction
    epsilon_got: float
    binds: bool

    @property
    def emd(self) -> Fraction:
        """What the change can amount to on the items."""
        return self.share * self.reach


@dataclass(frozen=True)
class Policy(Displayed):
    """Promises about changes of one person's data, and the largest alpha that keeps all of them.

    A share tau of the data moved by an average distance q is an earth mover's distance of at most tau (q + 2 rho),
    where rho is what snapping to the space's grid can add (0 without a grid), so alpha = min eps/(tau (q + 2 rho)).

    Args:
        space: The space of items; its diameter is the unit of alpha.
        promises: Promises, texts ``"share, distance, epsilon"`` or triples.
        delta: By how much more often a guess may be right than the promises say, in [0, 1).
        records: How records become items; where they may jump, or are filtered, promises cost more.
        reads: The window of periods that is released about; None for all records.
        number: Whether each person's records became one number.
        ungrouped: Whether hidden groups are not read, so that another group changes nothing.

    >>> from barrow.spaces import Earth
    >>> policy = Policy(Earth(), ["1/30, 1000 mi, 0.2", "1, 100 mi, 0.2"], delta="1e-12")
    >>> round(policy.alpha, 2), [satisfied.binds for satisfied in policy.satisfied]
    (24.87, [False, True])
    """

    space: Space
    promises: tuple[Promise, ...]
    delta: Fraction
    records: RecordMap
    reads: Window | None
    number: bool
    ungrouped: bool

    def __init__(
        self,
        space: Space,
        promises: Iterable[PromiseLike],
        *,
        delta: Exact = 0,
        records: RecordMap = RecordMap.CONTRACTION,
        reads: Window | None = None,
        number: bool = False,
        ungrouped: bool = False,
    ) -> None:
        vars(self).update(space=space, ungrouped=ungrouped, number=number, reads=reads, records=records)
        with reading("The list of promises", allowed="promises, or texts", fix='["1/30, 1000 mi, 0.2"]'):
            listed = [promises] if isinstance(promises, str | Promise) else promises
            vars(self).update(promises=tuple(map(to_promise, listed)))
        take(self, delta=delta)
        if not self.promises:
            raise ParameterError(
                "There are no promises.", allowed="at least one", fix='"1/30, 1000 mi, 0.2" (share, distance, epsilon)'
            )
        _ = self.satisfied  # distances are checked now, not at first use

    @classmethod
    def from_table(
        cls,
        space: Space,
        *,
        shares: Sequence[Exact],
        distances: Sequence[Exact],
        epsilons: Sequence[Sequence[Exact]],
        delta: Exact = 0,
    ) -> Policy:
        """E(q, tau) as a table: changes up to ``shares[i]`` and ``distances[j]`` are protected at ``epsilons[i][j]``.

        On the cell that ends at (q, tau) the ratio E/(q tau) is least at its end, so each entry is one promise.

        >>> from barrow.spaces import Discrete
        >>> Policy.from_table(
        ...     Discrete(["a", "b"]), shares=["1/10", 1], distances=[1], epsilons=[["0.5"], [2]]
        ... ).alpha
        2.0
        """
        rows = [list(row) for row in epsilons]
        if len(rows) != len(shares) or any(len(row) != len(distances) for row in rows):
            raise ParameterError(
                f"The table has {len(rows)} rows for {len(shares)} shares and {len(distances)} distances.",
                allowed="one row for each share, one entry in it for each distance",
                fix="epsilons=[[…], …]",
            )
        triples = [(s, q, rows[i][j]) for i, s in enumerate(shares) for j, q in enumerate(distances)]
        return cls(space, triples, delta=delta)

    @cached_property
    def alpha_exact(self) -> Fraction:
        """The largest alpha that keeps every promise, exactly.

        >>> from barrow.spaces import Discrete
        >>> Policy(Discrete(["a", "b"]), [("1/10", 1, "0.2")]).alpha_exact
        Fraction(2, 1)
        """
        return min(promise.epsilon / max(share * reach, UNSEEN) for promise, _, share, reach in self._changes)

    @property
    def alpha(self) -> float:
        """alpha, rounded down."""
        return float_down(self.alpha_exact)

    def _exposure(self, promise: Promise) -> Exposure:
        """What a release can see of a promised change, at most."""
        presence = None
        if promise.scope is not None and str(promise.distance).lower() in PRESENCE:
            apart = self.space.no_records_distance
            presence = Fraction(1) if apart is None else apart
        unseen = self.ungrouped and promise.another_group
        return exposure(
            promise.scope,
            promise.share,
            Fraction(0) if unseen else parse_distance(promise.distance, self.space),
            reads=self.reads,
            records=self.records,
            snapping=Fraction(self.space.snapping_upper),
            presence=presence,
            number=self.number,
        )

    @cached_property
    def _changes(self) -> tuple[tuple[Promise, Fraction, Fraction, Fraction], ...]:
        rows = []
        for promise in self.promises:
            seen = self._exposure(promise)
            far = parse_distance(promise.distance, self.space) if seen.reach else Fraction(0)
            rows.append((promise, far, seen.share, seen.reach))
        return tuple(rows)

    @cached_property
    def satisfied(self) -> tuple[Satisfied, ...]:
        """What every promise asked for and gets."""
        alpha = self.alpha_exact
        return tuple(
            Satisfied(
                promise, q, share, reach, float_up(alpha * share * reach), alpha * share * reach == promise.epsilon
            )
            for promise, q, share, reach in self._changes
        )

    @property
    def worst_epsilon(self) -> float:
        """epsilon, rounded up, if all data of a person had been as far away as possible: alpha itself.

        >>> from barrow.spaces import Discrete
        >>> Policy(Discrete(["a", "b"]), [("1/10", 1, "0.2")]).worst_epsilon
        2.0
        """
        return float_up(self.alpha_exact)

    def epsilon_at(self, share: Exact, distance: Exact) -> float:
        """epsilon, rounded up, for any other change: a share moved by an average distance.

        >>> from barrow.spaces import Earth
        >>> policy = Policy(Earth(), ["1, 100 mi, 0.2"])
        >>> round(policy.epsilon_at("1 day of 30", "1000 mi"), 4)
        0.0667
        """
        seen = self._exposure(Promise(share, distance, 1))
        return float_up(self.alpha_exact * seen.share * seen.reach)

    def per_unit(self) -> list[tuple[str, float]]:
        """Epsilon for one unit of the average move of all data, rounded up; for places in miles as well.

        >>> from barrow.spaces import Earth
        >>> [(unit, round(eps, 5)) for unit, eps in Policy(Earth(), ["1, 100 mi, 0.2"]).per_unit()]
        [('km', 0.00124), ('mi', 0.002)]
        """
        if not self.space.unit:
            return []
        one = self.alpha_exact / Fraction(self.space.diameter)
        rates = [(self.space.unit, float_up(one))]
        if self.space.unit == "km":
            rates.append(("mi", float_up(one * Fraction(1609344, 10**6))))
        return rates

    @property
    def _delta_up(self) -> float:
        return float_up(self.delta)

    def explain(self) -> str:
        """The policy in sentences: what is hidden how well, what is not, and the worst case."""
        lines = []
        for satisfied in self.satisfied:
            lines.append(
                f"If {describe_change(satisfied.promise, self.space)}: "
                f"ε ≤ {satisfied.epsilon_got:.4g} (asked {float(satisfied.promise.epsilon):.4g}). "
                + odds_sentence(satisfied.epsilon_got, self._delta_up)
                + (" This promise binds." if satisfied.binds else "")
            )
        unit = f"{self.space.diameter:,.1f} {self.space.unit}".strip() if self.space.unit else "the largest distance"
        rates = ", ".join(f"{eps:.3g} per {name}" for name, eps in self.per_unit())
        lines.append(
            f"α = {self.alpha:.4g} per {unit}" + (f", i.e. ε = {rates} of the average move." if rates else ".")
        )
        if self.space.snapping_upper:
            moved = self.space.snapping_upper * self.space.diameter
            lines.append(
                f"Snapping to the grid moves a record by at most {moved:.4g} {self.space.unit}; it is counted."
            )
        lines.append(
            f"Worst case: all data of a person as far away as possible: ε = {self.worst_epsilon:.4g}. "
            + odds_sentence(self.worst_epsilon, self._delta_up)
        )
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Plain data for ``--json``; numbers rounded to the safe side."""
        return {
            "alpha": self.alpha,
            "alpha_exact": exact_text(self.alpha_exact),
            "delta": float(self.delta),
            "unit": self.space.unit,
            "diameter": self.space.diameter,
            "space": self.space.kind,
            "snapping": self.space.snapping_upper * self.space.diameter,
            "epsilon_per_unit": dict(self.per_unit()),
            "worst_case": {"epsilon": self.worst_epsilon, "odds": odds_upper(self.worst_epsilon, self._delta_up)},
            "promises": [
                {
                    "share": float(satisfied.promise.share),
                    "distance": float(satisfied.distance) * self.space.diameter,
                    "emd": float_up(satisfied.emd),
                    "epsilon_asked": float(satisfied.promise.epsilon),
                    "epsilon_got": satisfied.epsilon_got,
                    "odds": odds_upper(satisfied.epsilon_got, self._delta_up),
                    "binds": satisfied.binds,
                }
                for satisfied in self.satisfied
            ],
        }


def describe_share(promise: Promise) -> str:
    """The share of a promise in words.

    >>> describe_share(Promise("1 day of 30", "1 km", 1)), describe_share(Promise(1, "1 km", 1))
    ('1 day of 30', 'all data')
    >>> [describe_share(Promise(share, "1 km", 1)) for share in ("1/10", "1 of 50", "2 %", "half")]
    ['a share of 1/10 of the data', '1 of 50 items', '2 % of the data', 'half of the data']
    """
    if promise.share == 1:
        return "all data"
    text = promise.share_text
    if re.fullmatch(r"[0-9,]+ (of|in) [0-9,]+", text):
        return f"{text} items"
    if re.fullmatch(r"half|[0-9.,]+\s*%", text.lower()):
        return f"{text} of the data"
    return f"a share of {text} of the data" if re.fullmatch(r"[0-9./\s]+", text) else text


def describe_distance(promise: Promise, space: Space) -> str:
    """The distance of a promise in words.

    >>> from barrow.spaces import Earth
    >>> describe_distance(Promise(1, "100 mi", 1), Earth())
    '100 mi'
    >>> from barrow.spaces import Discrete
    >>> describe_distance(Promise(1, "1/2", 1), Discrete(["a", "b"]))
    '1/2 of the largest distance'
    """
    text = str(promise.distance)
    bare = not space.unit and re.fullmatch(r"[0-9./\s]+", text)
    return f"{text} of the largest distance" if bare else text


def describe_move(promise: Promise, space: Space) -> str:
    """The change of a promise in few words: how much of the data, and how far.

    >>> from barrow.spaces import Earth
    >>> [describe_move(Promise("all", far, 1), Earth()) for far in ("300 m", "anywhere", "no records")]
    ['all data by 300 m', 'all data anywhere', 'all data or no records']
    >>> describe_move(Promise("1 day of 30", "300 m", 1, scope="any month"), Earth())
    '1 day of 30 by 300 m, in any month'
    """
    share, word = describe_share(promise), str(promise.distance).lower()
    where = "" if promise.scope is None else f", in {promise.scope.text}"
    if word in ANYWHERE:
        return f"{share} anywhere{where}"
    if word in ANOTHER_GROUP:
        return f"{share} in another group{where}"
    if word in PRESENCE:
        return f"{share} or no records{where}"
    return f"{share} by {describe_distance(promise, space)}{where}"


def describe_change(promise: Promise, space: Space) -> str:
    """The change of a promise as the clause of a sentence: "if …".

    >>> from barrow.spaces import Earth
    >>> [describe_change(Promise("all", far, 1), Earth()) for far in ("300 m", "anywhere")]
    ['all data had been 300 m elsewhere', 'all data had been anywhere else']
    >>> [describe_change(Promise(share, "no records", 1), Earth()) for share in ("1 day of 30", "all")]
    ['1 day of 30 had been missing', 'the person had held no records at all']
    >>> describe_change(Promise("1 day of 30", "10 km", 1, scope="any month"), Earth())
    'in any one month 1 day of 30 had been 10 km elsewhere'
    """
    share, word = describe_share(promise), str(promise.distance).lower()
    if promise.scope is not None:
        plain = Promise(promise.share_text, promise.distance, promise.epsilon)
        return f"{promise.scope.words} {describe_change(plain, space)}"
    if word in PRESENCE:
        return f"{share} had been missing" if promise.share < 1 else "the person had held no records at all"
    if word in ANOTHER_GROUP:
        return f"{share} had been in another group"
    return f"{share} had been " + (
        "anywhere else" if word in ANYWHERE else f"{describe_distance(promise, space)} elsewhere"
    )


def to_promise(promise: PromiseLike) -> Promise:
    """The promise that was meant: an object, a text ``"share, distance, epsilon"``, a table or a triple."""
    if isinstance(promise, Promise):
        return promise
    if isinstance(promise, str):
        return Promise.parse(promise)
    if isinstance(promise, dict):
        return Promise.from_table(promise)
    if not isinstance(promise, tuple | list) or len(promise) != 3:
        raise ParameterError(
            f"The promise {promise!r} cannot be read.",
            allowed="three parts: share, distance, epsilon",
            fix='("1/30", "1000 mi", 0.2)',
        )
    return Promise(*promise)
