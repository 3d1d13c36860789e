"""EMD-DP and ordinary user-level DP side by side: errors, the cost of changes, where one overtakes the other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from barrow.errors import ParameterError
from barrow.numerics import Exact, float_up
from barrow.planning.candidates import Candidate, reasons, useless
from barrow.planning.crossover import (
    CAVEATS,
    PaperRule,
    crossover_alpha,
    paper_rule_central,
    paper_rule_linear,
    paper_rule_local,
)
from barrow.planning.histograms import HistogramQuestion, histogram_candidates, user_level_histograms
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
        cannot: Why each of the others cannot answer.
        user_level: The most accurate one of user-level DP at each epsilon.
        changes: Changes of one person's data: in words, their EMD, and the epsilon that was promised.
        crossovers: Where EMD-DP overtakes user-level DP.
        blind: What a guess without data errs by, for a histogram.

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
    cannot: Mapping[str, str]
    user_level: tuple[Candidate, ...]
    changes: tuple[tuple[str, float, float], ...]
    crossovers: tuple[Crossover, ...]
    blind: float | None = None

    @property
    def choice(self) -> Candidate:
        """The most accurate mechanism under EMD-DP."""
        return self.candidates[0]

    def warnings(self) -> list[str]:
        """When EMD-DP is the wrong choice here, from the numbers; then the paper's caveats."""
        found = []
        for other in self.user_level:
            kept = all(other.guarantee.epsilon_at(w) <= asked for _, w, asked in self.changes)
            if kept and other.error <= self.choice.error and self.changes:
                found.append(
                    f"User-level DP with ε = {_epsilon(other):.3g} keeps every promise above and is at least as "
                    "accurate: EMD-DP is the wrong choice for these promises."
                )
        found += useless(self.choice, self.blind, self.unit)
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
            at = {words: candidate.guarantee.epsilon_at(w) for words, w, _ in self.changes}
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
            "cannot_answer": dict(self.cannot),
            "blind_error": self.blind,
            "user_level": [{"epsilon": _epsilon(c), **row(c)} for c in self.user_level],
            "crossovers": [crossover.to_json() for crossover in self.crossovers],
            "warnings": self.warnings(),
            "caveats": [caveat.sentence for caveat in CAVEATS],
        }

    def lines(self) -> list[str]:
        """The comparison as a table and a few sentences."""
        heads = ["error", *[words for words, _, _ in self.changes], "everything"]
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
        notes += [f"{name} cannot answer: {why[0].lower()}{why[1:]}." for name, why in self.cannot.items()]
        return [*table, *said, *notes, *self._crossing(), *self.warnings()]

    def _cells(self, candidate: Candidate) -> list[str]:
        at = [f"ε {candidate.guarantee.epsilon_at(w):.3g}" for _, w, _ in self.changes]
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
    reference: Reference = "auto",
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
    asked = query if isinstance(query, Query) else query_from_spec(space, dict(query))
    sides: _Histograms | _Linear
    if asked.kind == "histogram":
        sides = _Histograms(
            HistogramQuestion.of(space, slack, users=users, items=items, model=model, reference=reference)
        )
    else:
        sides = _Linear(asked, slack, users, model)
    found, cannot = sides.own(rate)
    best = [sides.others(epsilon)[0] for epsilon in epsilons]
    crossovers = [
        Crossover(_epsilon(c), c.error, _measured(sides, found[0].name, c.error), sides.rule(Fraction(_epsilon(c))))
        for c in best
    ]
    changes = () if policy is None else tuple(_change(kept, space) for kept in policy.kept)
    largest = f"{space.diameter:,.1f} {space.unit}" if space.unit else "largest distance"
    return Comparison(
        sides.description,
        sides.measure,
        sides.unit,
        rate,
        slack,
        largest,
        tuple(found),
        cannot,
        tuple(best),
        changes,
        tuple(crossovers),
        sides.blind,
    )


@dataclass(frozen=True)
class _Linear:
    """A linear question: errors are half widths."""

    query: Query
    delta: Fraction
    users: int
    model: str
    measure: ClassVar[str] = "95 % half width of each value"
    blind: ClassVar[float | None] = None

    @property
    def description(self) -> str:
        return self.query.description

    @property
    def unit(self) -> str:
        return self.query.unit

    def own(self, alpha: Fraction, only: str = "auto") -> tuple[list[Candidate], dict[str, str]]:
        return linear_errors(self.query, alpha, self.delta, users=self.users, model=self.model), {}

    def others(self, epsilon: Exact) -> list[Candidate]:
        return user_level_errors(self.query, epsilon, self.delta, users=self.users, model=self.model)

    def rule(self, epsilon: Fraction) -> PaperRule | None:
        return paper_rule_linear(epsilon)


@dataclass(frozen=True)
class _Histograms:
    """A histogram: errors are earth mover's distances after decoding."""

    question: HistogramQuestion
    measure: ClassVar[str] = "EMD between the decoded histogram and the truth, simulated at a public reference"
    description: ClassVar[str] = "the histogram of people's items"

    @property
    def unit(self) -> str:
        return self.question.space.unit

    @property
    def blind(self) -> float:
        return self.question.blind_error

    def own(self, alpha: Fraction, only: str = "auto") -> tuple[list[Candidate], dict[str, str]]:
        return histogram_candidates(self.question, alpha, only=only)

    def others(self, epsilon: Exact) -> list[Candidate]:
        return user_level_histograms(self.question, epsilon)

    def rule(self, epsilon: Fraction) -> PaperRule | None:
        asked = self.question
        if asked.delta == 0 or asked.items is None:
            return None
        sizes = {"items": asked.space.items, "users_items": asked.items}
        if asked.model == "local":
            return paper_rule_local(epsilon, asked.delta, **sizes)
        return paper_rule_central(epsilon, asked.delta, **sizes, users=asked.users)


def _measured(sides: _Histograms | _Linear, name: str, error: float) -> float | None:
    """Where the chosen mechanism crosses; it is tried at a dozen values of alpha."""

    def own(alpha: Fraction) -> float:
        try:
            return sides.own(alpha, name)[0][0].error
        except ParameterError:
            return math.inf  # too small an alpha for this mechanism

    found = crossover_alpha(own, error, relative=0.05)
    return None if found is None else float(found)


def _change(kept: Any, space: Space) -> tuple[str, float, float]:
    words = f"{describe_share(kept.promise)} by {describe_distance(kept.promise, space)}"
    return words, float_up(kept.emd), float(kept.promise.epsilon)


def _epsilon(candidate: Candidate) -> float:
    return candidate.guarantee.epsilon_at(1)
