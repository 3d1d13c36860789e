"""EMD-DP and ordinary user-level DP side by side: errors, what each change would cost, where one overtakes the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from barrow.errors import ParameterError
from barrow.numerics import Exact, float_up
from barrow.planning.candidates import Candidate, reasons
from barrow.planning.crossover import (
    CAVEATS,
    PaperRule,
    crossover_alpha,
    paper_rule_central,
    paper_rule_linear,
    paper_rule_local,
)
from barrow.planning.histograms import histogram_candidates, user_level_histograms
from barrow.planning.linear import linear_errors, user_level_errors
from barrow.planning.references import Reference
from barrow.policy import Policy, describe_distance, describe_share
from barrow.privacy.definitions import positive, probability
from barrow.queries import Query, query_from_spec
from barrow.spaces import Space


@dataclass(frozen=True)
class Crossover:
    """From which alpha on EMD-DP is more accurate than user-level DP at one epsilon.

    Attributes:
        epsilon: The parameter of user-level DP.
        error: Its predicted error.
        measured: The smallest alpha found whose predicted error is no larger; None if there is none below 10,000.
        rule: What the paper's rule says, where there is one.

    >>> Crossover(1.0, 0.5, 3.0, None).to_json()["measured_alpha"]
    3.0
    """

    epsilon: float
    error: float
    measured: float | None
    rule: PaperRule | None

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        rule = None if self.rule is None else {"alpha": self.rule.alpha, "formula": self.rule.formula}
        return {"epsilon": self.epsilon, "error": self.error, "measured_alpha": self.measured, "paper_rule": rule}


@dataclass(frozen=True)
class Comparison:
    """All mechanisms that can answer, their predicted errors, the choice, and user-level DP beside them.

    Attributes:
        description: What is asked.
        measure: What the errors are, in words.
        unit: Their unit.
        alpha: Of EMD-DP.
        delta: Of both.
        diameter: The largest distance, which alpha is per.
        candidates: Under EMD-DP, the most accurate first.
        user_level: The most accurate one of user-level DP at each epsilon.
        changes: Changes of one person's data, in words, with their EMD.
        crossovers: Where EMD-DP overtakes user-level DP.

    >>> from barrow.spaces import Line
    >>> line = Line(0, 100, unit="years", step=1)
    >>> found = compare(line, {"kind": "mean"}, 25, users=1000, epsilons=[1])
    >>> found.choice.name, found.user_level[0].error > 10 * found.choice.error
    ('laplace', True)
    """

    description: str
    measure: str
    unit: str
    alpha: Fraction
    delta: Fraction
    diameter: str
    candidates: tuple[Candidate, ...]
    user_level: tuple[Candidate, ...]
    changes: tuple[tuple[str, float], ...]
    crossovers: tuple[Crossover, ...]

    @property
    def choice(self) -> Candidate:
        """The most accurate mechanism under EMD-DP."""
        return self.candidates[0]

    def warnings(self) -> list[str]:
        """When EMD-DP is the wrong choice here, from the numbers; then the paper's caveats."""
        found = []
        for other in self.user_level:
            kept = all(other.guarantee.epsilon_at(w) <= self.choice.guarantee.epsilon_at(w) for _, w in self.changes)
            if kept and other.error <= self.choice.error and self.changes:
                found.append(
                    f"User-level DP with ε = {_epsilon(other):.3g} protects every change above at least as well and "
                    "is more accurate: EMD-DP is the wrong choice for these promises."
                )
        worst = self.choice.guarantee.epsilon_at(1)
        if worst > 10:
            found.append(
                f"Somebody whose whole data differ is hardly protected (ε = {worst:.3g}). If that is the secret, use "
                "user-level DP, or add a promise about all of the data."
            )
        return found

    def to_json(self) -> dict[str, Any]:
        """Plain data for ``--json``."""

        def row(candidate: Candidate) -> dict[str, Any]:
            at = {words: candidate.guarantee.epsilon_at(w) for words, w in self.changes}
            return {**candidate.to_json(), "epsilon_at": at, "worst_epsilon": candidate.guarantee.epsilon_at(1)}

        return {
            "question": self.description,
            "measure": self.measure,
            "unit": self.unit,
            "alpha": float_up(self.alpha),
            "delta": float(self.delta),
            "choice": self.choice.name,
            "candidates": [row(candidate) for candidate in self.candidates],
            "why_others_lose": reasons(self.candidates),
            "user_level": [{"epsilon": _epsilon(c), **row(c)} for c in self.user_level],
            "crossovers": [crossover.to_json() for crossover in self.crossovers],
            "warnings": self.warnings(),
            "caveats": [caveat.sentence for caveat in CAVEATS],
        }

    def lines(self) -> list[str]:
        """The comparison as a table and a few sentences."""
        heads = ["error", *[words for words, _ in self.changes], "everything"]
        rows = [
            (("→ " if i == 0 else "  ") + f"{c.name}: {c.words}", self._cells(c))
            for i, c in enumerate([*self.candidates, *self.user_level])
        ]
        first = max(len(name) for name, _ in rows)
        widths = [max(len(head), *(len(cells[j]) for _, cells in rows)) for j, head in enumerate(heads)]
        unit = f" {self.unit}" if self.unit else ""
        table = [
            f"Question  {self.description}",
            f"Error     {self.measure}{f', in{unit}' if unit else ''}",
            f"α         {float_up(self.alpha):.4g} per {self.diameter}, δ = {float(self.delta):.3g}",
            "",
            " " * first + "".join(f"  {head:>{w}}" for head, w in zip(heads, widths, strict=True)),
            *(
                f"{name:<{first}}" + "".join(f"  {cell:>{w}}" for cell, w in zip(cells, widths, strict=True))
                for name, cells in rows
            ),
            "",
        ]
        said = [f"{name}: {why}." for name, why in reasons(self.candidates).items()]
        notes = [f"{c.name}: {c.note}." for c in self.candidates if c.note]
        return [*table, *said, *notes, *self._crossing(), *self.warnings()]

    def _cells(self, candidate: Candidate) -> list[str]:
        at = [f"ε {candidate.guarantee.epsilon_at(w):.3g}" for _, w in self.changes]
        return [f"{candidate.error:.3g}", *at, f"ε {candidate.guarantee.epsilon_at(1):.3g}"]

    def _crossing(self) -> list[str]:
        lines = []
        for crossover in self.crossovers:
            start = f"Against user-level DP with ε = {crossover.epsilon:.3g}, EMD-DP is more accurate"
            if crossover.measured is None:
                lines.append(f"{start} for no α below 10,000.")
            else:
                lines.append(f"{start} from α = {crossover.measured:.3g} on (predicted).")
            if crossover.rule is not None:
                lines.append("  " + crossover.rule.sentence())
        return lines

    def __str__(self) -> str:
        return "\n".join(self.lines())


def compare(
    space: Space,
    query: Mapping[str, Any] | Query,
    alpha: Exact,
    delta: Exact = 0,
    *,
    users: int,
    items: int | None = None,
    model: str = "central",
    epsilons: Sequence[Exact] = (1,),
    policy: Policy | None = None,
    reference: Reference = "uniform",
) -> Comparison:
    """All mechanisms that can answer ``query`` under (alpha, delta)-EMD-DP, and user-level DP at some epsilons.

    Args:
        space: The public space.
        query: What is asked; for a histogram the error is the EMD after decoding, otherwise a 95 % half width.
        alpha: Privacy loss per unit of EMD.
        delta: The probability with which guarantees may fail; 0 leaves pure ones.
        users: n, public.
        items: m, how many items each user holds, where that is public and the same for all; without it mechanisms that
            need it are left out.
        model: ``"central"`` or ``"local"``.
        epsilons: The parameters of user-level DP to compare with.
        policy: Promises whose changes head the table's columns.
        reference: The public distribution at which the error of a decoded histogram is predicted.

    >>> from barrow.spaces import Clustered
    >>> found = compare(Clustered.grid(5, 4, r=0.02), {"kind": "histogram"}, 25, users=10**4)
    >>> found.choice.name
    'tree'
    """
    rate, slack = positive(alpha, "alpha"), probability(delta)
    if isinstance(users, bool) or users is None or users < 2:
        raise ParameterError(f"users is {users!r}.", allowed="a whole number, 2 or more", fix="users=1000")
    asked = query if isinstance(query, Query) else None
    histograms = (asked.kind if asked is not None else str((query or {}).get("kind"))) == "histogram"  # type: ignore[union-attr]
    if histograms:
        sizes = {"users": users, "items": items, "model": model, "reference": reference}

        def own(at: Exact) -> list[Candidate]:
            return histogram_candidates(space, at, slack, **sizes)  # type: ignore[arg-type]

        def others(epsilon: Exact) -> list[Candidate]:
            return user_level_histograms(space, epsilon, slack, **sizes)  # type: ignore[arg-type]

        words, measure, unit = "the histogram of items, mean over people", "EMD after decoding", space.unit
    else:
        made = asked if asked is not None else query_from_spec(space, dict(query))  # type: ignore[arg-type]

        def own(at: Exact) -> list[Candidate]:
            return linear_errors(made, at, slack, users=users, model=model)

        def others(epsilon: Exact) -> list[Candidate]:
            return user_level_errors(made, epsilon, slack, users=users, model=model)

        words, measure, unit = made.description, "95 % half width of each value", made.unit
    found = own(rate)
    best = [others(epsilon)[0] for epsilon in epsilons]
    crossovers = [
        Crossover(
            _epsilon(c), c.error, _measured(own, c.error), _rule(c, space, slack, users, items, model, histograms)
        )
        for c in best
    ]
    changes = () if policy is None else tuple(_change(kept, space) for kept in policy.kept)
    largest = f"{space.diameter:,.1f} {space.unit}" if space.unit else "largest distance"
    return Comparison(words, measure, unit, rate, slack, largest, tuple(found), tuple(best), changes, tuple(crossovers))


def _measured(own: Callable[[Exact], list[Candidate]], error: float) -> float | None:
    found = crossover_alpha(lambda alpha: min(c.error for c in own(alpha)), error, relative=0.02)
    return None if found is None else float(found)


def _rule(
    candidate: Candidate, space: Space, delta: Fraction, users: int, items: int | None, model: str, histograms: bool
) -> PaperRule | None:
    epsilon = Fraction(_epsilon(candidate))
    if not histograms:
        return paper_rule_linear(epsilon)
    if delta == 0 or items is None:
        return None
    if model == "local":
        return paper_rule_local(epsilon, delta, items=space.items, users_items=items)
    return paper_rule_central(epsilon, delta, items=space.items, users_items=items, users=users)


def _change(kept: Any, space: Space) -> tuple[str, float]:
    words = f"{describe_share(kept.promise)} by {describe_distance(kept.promise, space)}"
    return words, float_up(kept.emd)


def _epsilon(candidate: Candidate) -> float:
    return candidate.guarantee.epsilon_at(1)
