"""From a study to what the page shows: alpha, odds, error, pictures, the file, the commands and the statement."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, cast

import numpy as np

from barrow.numerics import float_up
from barrow.numerics.exact import PERCENT, at_most
from barrow.planning.candidates import Versus
from barrow.policy import describe_change, odds_epsilon, odds_upper
from barrow.questions import Plan, Question, declared_parts
from barrow.questions.kept import Kept
from barrow.render import figures as fig
from barrow.spaces import Space, grids, parse_distance
from barrow.study import Study
from barrow.study.file import study_text
from barrow.study.prose import statement_text
from barrow.study.statement import make_statement
from barrow.web.asked import Asked, at
from barrow.web.example import Pictured
from barrow.web.words import grid_words, guess, promise_rows

_PLANS: Kept[Plan] = Kept(32)
_WITHIN = 5.0
"""In a preview, snapping moves records by at most this part of the distance over which a question smooths."""
_GUESSES = (0.51, 0.52, 0.55, 0.6, 0.7, 0.8, 0.9, 0.99)
_SHARES = (("everything", Fraction(1)), ("half of it", Fraction(1, 2)), ("1 in 10", Fraction(1, 10)))


@dataclass(frozen=True, eq=False)
class Design:
    """What is shown for one question of a study: by its own plan, or quickly by that of a coarser grid."""

    asked: Asked
    exact: bool = True
    width: int = 720

    @cached_property
    def plan(self) -> Plan:
        """The plan of the question; that of a preview has the study's own alpha, on a coarser grid."""
        study, question = self.asked.study, self.asked.question
        with at(f"question-{self.asked.looked}"):
            key = f"{self.exact} {question!r} {study.terms(question).to_spec()}"
            return _PLANS.get(key, lambda: study.plan(question.label) if self.exact else self._preview())

    def _preview(self) -> Plan:
        question = self.asked.question
        terms = self.asked.study.terms(question)
        return question.preview(terms, coarser(terms.space, question))

    @property
    def versus(self) -> Versus | None:
        """User-level DP beside it, or EMD-DP where user-level DP is better; a preview has none."""
        return self.plan.versus if self.exact else None

    @property
    def sentence(self) -> str:
        """How it compares, in words."""
        found = self.versus
        if found is None:
            return ""
        line = f"{found.line[0].upper()}{found.line[1:]}."
        better = "User-level DP keeps these promises with less error here, so that is what would be released. "
        return f"{better}{line}" if found.chosen.user_level else line

    @cached_property
    def charges(self) -> list[Fraction]:
        """What the release costs at each promise."""
        return [self.plan.charge(kept.share, kept.reach) for kept in self.asked.study.policy.kept]

    @cached_property
    def pictured(self) -> Pictured:
        """The release of a public example population."""
        return Pictured(self.plan)

    def to_json(self) -> dict[str, Any]:
        """All that the page shows."""
        study = self.asked.study
        drawn = {"picture": self.pictured.figure(self.width), "belief": self.belief(), "accuracy": self.accuracy()}
        return {
            "exact": self.exact,
            "alpha": at_most(study.alpha, digits=4),
            "cost": cost(self.plan),
            "cards": self.cards(),
            "promises": promise_rows(study.policy, self.charges),
            "grid": grid_words(study.policy),
            "picture_words": f"{self.pictured.words.capitalize()}, with the noise that these promises ask for; no data "
            "of yours are in it.",
            "sentence": self.sentence,
            "warnings": [
                *self.plan.warnings,
                *([self.plan.declared] if self.plan.declared else []),
                *declared_parts(self.plan.question, study.space),
            ],
            "figures": {name: figure.svg for name, figure in drawn.items() if figure is not None},
            "said": {name: figure.description for name, figure in drawn.items() if figure is not None},
            "plan": self.plan.lines() if self.exact else [],
            "statement": self.statement() if self.exact else "",
        }

    def cards(self) -> dict[str, dict[str, str]]:
        """The four numbers."""
        plan, space = self.plan, self.asked.study.space
        unit = PERCENT if plan.question.in_percent else plan.error_unit
        largest = f"{space.diameter:,.0f} {space.unit}" if space.unit else "largest distance"
        about = "" if self.exact else "≈ "
        alone = plan.question.each_alone
        error = f"± {at_most(plan.error, unit)}" if alone else at_most(plan.error, unit)
        seen, guessed = self.pictured.standing_out, plan.uniform_guess
        if seen is not None:
            last = {"value": f"{about}{seen[0]:,} of {seen[1]:,}", "label": "places stand out of the noise"}
        elif guessed:
            last = {"value": f"{about}{at_most(guessed, unit)}", "label": "is what a guess without data errs by"}
        else:
            last = {"value": f"{about}{self.spent}", "label": "of the promises is spent by this question"}
        return {
            "alpha": {"value": at_most(self.asked.study.alpha, digits=4), "label": f"α, per {largest}"},
            "error": {
                "value": f"{about}{error}",
                "label": f"{plan.question.error_words} {'of each value' if alone else 'from the truth'}",
            },
            "worst": {
                "value": f"{about}≤ {guess(plan.worst_epsilon, plan.worst_delta)}".replace("≤ more than", ">"),
                "label": "a 50 % guess, at worst",
            },
            "seen": last,
        }

    @property
    def spent(self) -> str:
        """The share of the most costly promise that the question uses."""
        promised = [promise.epsilon for promise in self.asked.study.promises]
        return at_most(max(c / e for c, e in zip(self.charges, promised, strict=True)), PERCENT)

    def belief(self) -> fig.Figure:
        """What anyone can learn about one person from this release."""
        plan, policy, space = self.plan, self.asked.study.policy, self.asked.study.space
        rho, worst, delta = Fraction(space.snapping_upper), plan.worst_epsilon, float_up(plan.delta)
        far = [float(kept.distance) for kept in policy.kept]
        reach = min(1.0, 1.35 * max([*far, 0.02]))
        x = np.linspace(0.0, reach, 33)

        def odds(share: Fraction, q: float) -> float:
            moved = policy.records.reach_upper(share, Fraction(q), rho)
            return odds_upper(min(float_up(plan.charge(*moved)), worst), delta)

        shares = list(_SHARES)
        least = min(kept.promise.share for kept in policy.kept)
        if least < Fraction(1, 10):
            shares.append((f"1 in {math.ceil(1 / least):,}", least))
        unit = space.unit or "of the largest distance"
        scale = space.diameter if space.unit else 1.0
        curves = [fig.Curve(name, x * scale, [odds(share, q) for q in x.tolist()]) for name, share in shares]
        kept = [
            fig.Kept(
                describe_change(row.promise, space),
                float(row.distance) * scale,
                asked=odds_upper(float_up(row.promise.epsilon), delta),
                kept=odds_upper(float_up(charge), delta),
            )
            for row, charge in zip(policy.kept, self.charges, strict=True)
        ]
        height = 330 if self.width > 500 else 300
        return fig.belief(curves, kept, worst=odds_upper(worst, delta), unit=unit, width=self.width, height=height)

    def accuracy(self) -> fig.Figure | None:
        """The error against alpha, with other numbers of people and user-level DP beside it."""
        plan, versus = self.plan, self.versus
        if not plan.scales or plan.alpha is None:
            return None
        alpha, users = float_up(plan.alpha), plan.terms.users
        noise = plan.error_parts[0]
        x = np.geomspace(alpha / 12, alpha * 12, 25)

        def line(n: float) -> list[float]:
            return [plan.combined(noise * (alpha / a) * (users / n)) for a in x.tolist()]

        unit = PERCENT if plan.question.in_percent else plan.error_unit
        curves = [
            fig.Curve("this study", x, line(users)),
            fig.Curve(f"{max(users // 10, 1):,} people", x, line(max(users // 10, 1)), "faint"),
            fig.Curve(f"{users * 10:,} people", x, line(users * 10), "faint"),
        ]
        if versus is not None:
            other = versus.at_promises
            curves.append(fig.Curve("user-level DP", x, [other.error + versus.snapping] * len(x)))
        policy = self.asked.study.policy
        binding = next(kept for kept in policy.kept if kept.binds)
        ratio = float_up(binding.share * min(binding.reach, plan.ratio))
        # A hair below where the guess becomes this much, so that it is still a bound there.
        delta = float_up(plan.delta)
        at_odds = [(odds_epsilon(odds, delta) / ratio, odds) for odds in _GUESSES]
        guesses = [(a, max(odds, odds_upper(a * ratio, delta))) for a, odds in at_odds if alpha / 12 <= a <= alpha * 12]
        words = describe_change(binding.promise, policy.space)
        return fig.tradeoff(
            curves, here=fig.Here("this study", alpha, plan.error), guesses=guesses,
            promise=words, unit=unit, width=self.width, height=360,
        )  # fmt: skip

    def statement(self) -> str:
        """The statement as it would read."""
        return statement_text(make_statement(self.asked.study, self.plan))


def quick(asked: Asked) -> bool:
    """Whether the exact plan is there at once: it was made before, or takes no time."""
    study, question = asked.study, asked.question
    return question.ready(study.space) or _PLANS.ready(f"True {question!r} {study.terms(question).to_spec()}")


def can_preview(asked: Asked) -> bool:
    """Whether a coarser grid, or a mechanism that takes no time, can stand in for a while."""
    space, question = asked.study.space, asked.question
    return question.previewed(asked.study.model, coarser(space, question) is not space)


def cost(plan: Plan) -> dict[str, str]:
    """What a release is confirmed by: its alpha, or its epsilon where it is user-level DP; rounded up."""
    if plan.alpha is None:
        return {"name": "ε", "value": at_most(plan.worst_epsilon, digits=4)}
    return {"name": "α", "value": at_most(plan.alpha, digits=4)}


def coarser(space: Space, question: Question) -> Space:
    """The same space with a grid of a few hundred cells, for a preview; itself where it has no grid to change.

    A question that smooths keeps a few cells within what it smooths over.
    """
    typed, most = question.smoothed_over, question.preview_items(space)
    widest = math.inf if typed is None else float(parse_distance(typed, space)) / _WITHIN
    while space.size is not None and most < space.items:
        found = grids.coarser(space, most)
        if found is None or found[0].snapping_upper <= widest:
            return space if found is None else found[0]
        most *= 2
    return space


def commands(study: Study, file: str) -> list[str]:
    """The same study on the command line."""
    name, words = shlex.quote(file), [f"barrow plan {shlex.quote(file)}", f"barrow compare {shlex.quote(file)}"]
    if study.ledger is not None:
        words.append(f"barrow ledger init {shlex.quote(study.ledger)} --study {name}")
    return [*words, f"barrow release {name}"]


def toml_of(study: Study, space: Mapping[str, Any] | None = None) -> str:
    """The study as a file; the space as the page wrote it, where that is plain data."""
    spec = study.to_spec()
    if space is not None and "call" not in space:
        spec["space"] = dict(space)
    return study_text(cast(Any, spec))
