"""From a target (alpha, delta) to the largest safe parameter, naming the method that won and what the others give."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from barrow.accounting.blanket import (
    ResponseRandomiser,
    blanket_alpha0_lower,
    blanket_alpha_upper,
    first_order,
    largest_fit,
)
from barrow.accounting.flow import flow_alpha0_lower, flow_alpha_upper
from barrow.accounting.inputs import alpha0_up, alpha_down, open_delta, reports_and_items
from barrow.accounting.limit import limit_black_box
from barrow.accounting.matrix_blanket import (
    MatrixFamily,
    channel_within,
    first_order_matrix,
    matrix_blanket_alpha0_lower,
)
from barrow.accounting.theorem import (
    paper_alpha0_at_w_one,
    paper_asymptotic_alpha0,
    theorem_alpha0_lower,
    theorem_alpha_upper,
)
from barrow.errors import ParameterError
from barrow.numerics import Exact, exact, float_down, short_down, whole
from barrow.promises import ItemChannel
from barrow.promises.definitions import positive, probability, to_model

METHODS = ("per_report_composition", "theorem", "flow_standard", "flow_strong", "blanket")
"""The certified methods for shuffled reports, simplest first; the first of equals wins."""

_BITS = 26
"""Binary digits of an alpha0 that a bisection found: all processors find the same."""
_GUESS = 0.02
"""How exactly a guess at alpha0 is looked for, relatively; it is raised by as much."""

THEOREMS = {
    "per_report_composition": "lem:bvn",
    "theorem": "thm:eps-amp",
    "flow_standard": "docs/proofs/shuffle-flow.md",
    "flow_strong": "docs/proofs/stronger-clones.md",
    "blanket": "docs/proofs/blanket.md",
}
"""What each method rests on."""


def per_report_composition(alpha: Exact, items: int) -> Fraction:
    """The alpha0 = alpha/m of the item randomiser that is pure (alpha, 0)-EMD-DP by composition, exactly.

    Along the best matching of two data sets of m items the losses alpha0 d_i add up to alpha0 m w (``lem:bvn``);
    nothing is assumed about the shuffle, so this is what remains when nothing better can be said.

    >>> per_report_composition(25, items=1000)
    Fraction(1, 40)
    """
    return positive(alpha, "alpha") / whole(items, "items")


def per_report_alpha(alpha0: Exact, items: int) -> Fraction:
    """The alpha = alpha0 m that composition charges for ``items`` reports, exactly.

    >>> per_report_alpha("0.025", items=1000)
    Fraction(25, 1)
    """
    return positive(alpha0, "alpha0") * whole(items, "items")


@dataclass(frozen=True)
class Calibration:
    """The largest safe alpha0 for a target, by method.

    Args:
        alpha0: The largest certified alpha0 of all methods, rounded down.
        method: The method that gave it.
        methods: alpha0 by method (None where a method does not apply); ``flow`` is the better of the two flows, and
            ``blanket`` is there if a randomiser was named.
        limit_black_box: An alpha0 at which an explicit attack breaks the target, if it was asked for.
        composition: alpha/m, exact.

    >>> calibrate_shuffle(25, "1e-12", reports=10**8, items=1000, limit=False).method
    'flow_strong'
    """

    alpha0: float
    method: str
    methods: dict[str, float | None]
    limit_black_box: float | None
    composition: Fraction

    def to_json(self) -> dict[str, object]:
        """Plain data.

        >>> sorted(calibrate_shuffle(1, 0, reports=10, items=10).to_json())
        ['alpha0', 'limit_black_box', 'method', 'methods']
        """
        return {
            "alpha0": _decimal(self.alpha0, self.composition),
            "method": self.method,
            "methods": {name: _decimal(value, self.composition) for name, value in self.methods.items()},
            "limit_black_box": self.limit_black_box,
        }


def _decimal(value: float | None, composition: Fraction) -> float | None:
    """The number to write: alpha/m as its decimal where that is exact (the text is what is read back)."""
    nearest = composition.numerator / composition.denominator
    if value is not None and value == float_down(composition) and Fraction(repr(nearest)) <= composition:
        return nearest
    return value


def reports_of(model: str, *, items: int, users: int | None) -> int:
    """N of a model: the items of one user locally, those of all users in the central and the shuffle model.

    >>> reports_of("central", items=1000, users=10**5), reports_of("local", items=1000, users=None)
    (100000000, 1000)
    """
    m = whole(items, "items")
    if to_model(model).value == "local":
        return m
    if users is None:
        raise ParameterError(
            f"The {model} model needs the number of users.",
            allowed="a public whole number of users, 1 or more",
            fix="users=100000, or model='local'",
        )
    return m * whole(users, "users")


def calibrate_shuffle(
    alpha: Exact,
    delta: Exact,
    *,
    reports: int,
    items: int,
    least_distance: Exact | None = None,
    randomiser: ResponseRandomiser | MatrixFamily | None = None,
    limit: bool = True,
) -> Calibration:
    """The largest safe alpha0 of an item randomiser whose shuffled reports are to be (alpha, delta)-EMD-DP.

    Args:
        alpha: Target alpha.
        delta: Target delta; 0 leaves composition alone.
        reports: N, all reports in the multiset.
        items: m, those of one user.
        least_distance: d_min of the space where it is known.
        randomiser: A known randomiser, whose blanket may allow more than any black box; the other methods and the
            limit stay those of a black box (give ``randomiser.least_distance`` to let them know the space).
        limit: Whether to compute the black-box limit as well.

    >>> result = calibrate_shuffle(25, 0, reports=1000, items=1000)
    >>> result.method, result.to_json()["alpha0"], result.limit_black_box, result.methods["flow"]
    ('per_report_composition', 0.025, 0.025, None)
    """
    n, m = reports_and_items(reports, items)
    target, small = positive(alpha, "alpha"), probability(delta)
    methods: dict[str, float | None] = {
        "per_report_composition": float_down(per_report_composition(target, m)),
        "theorem": None,
        "flow_standard": None,
        "flow_strong": None,
        "flow": None,
    }
    if small > 0:
        theorem = theorem_alpha0_lower(target, reports=n, items=m, delta=small)
        methods["theorem"] = None if theorem is None else short_down(theorem, _BITS)
        for clones in ("standard", "strong"):
            result = flow_alpha0_lower(
                target, reports=n, items=m, delta=small, clones=clones, least_distance=least_distance
            )
            methods[f"flow_{clones}"] = short_down(result, _BITS)
            methods["flow"] = max(methods["flow"] or 0.0, short_down(result, _BITS))
    if randomiser is not None:
        methods["blanket"] = None
    if randomiser is not None and small > 0:
        methods["blanket"] = (
            matrix_blanket_alpha0_lower(target, randomiser, reports=n, items=m, delta=small)
            if isinstance(randomiser, MatrixFamily)
            else blanket_alpha0_lower(target, randomiser, reports=n, items=m, delta=small, above=methods["flow"] or 0.0)
        )
    method = max(METHODS, key=lambda name: -1.0 if (v := methods.get(name)) is None else v)
    best = methods[method]
    bound = limit_black_box(target, reports=n, items=m, delta=small, least_distance=least_distance) if limit else None
    return Calibration(0.0 if best is None else best, method, methods, bound, per_report_composition(target, m))


def shuffle_alpha0_guess(
    alpha: Exact, delta: Exact, *, reports: int, items: int, randomiser: ResponseRandomiser | MatrixFamily
) -> float:
    """About the largest alpha0 that :func:`calibrate_shuffle` could find: by first-order rates, and no certificate.

    Certified rates approach those of first order from above, so what is found there is hardly ever larger. It is for
    telling beforehand whether a release can be accurate enough to be worth a calibration.
    """
    n, m = reports_and_items(reports, items)
    target, small = alpha_down(alpha), open_delta(delta, "blanket")
    fits = (
        first_order_matrix(target, randomiser, n, m, small)
        if isinstance(randomiser, MatrixFamily)
        else first_order(target, randomiser, n, m, small)
    )
    return largest_fit(fits, float_down(Fraction(target) / m), _GUESS) * (1.0 + _GUESS)


def price_shuffle(
    alpha0: Exact,
    delta: Exact,
    *,
    reports: int,
    items: int,
    least_distance: Exact | None = None,
    randomiser: ResponseRandomiser | None = None,
    channel: ItemChannel | None = None,
) -> tuple[Fraction, str]:
    """The smallest certified alpha of shuffled reports at ``delta``, rounded up, and the method that gave it.

    The arguments are those of :func:`calibrate_shuffle`; ``channel`` is that of the randomiser where it has no name.

    >>> price_shuffle("0.025", 0, reports=1000, items=1000)
    (Fraction(25, 1), 'per_report_composition')
    """
    n, m = reports_and_items(reports, items)
    a0, small = positive(alpha0, "alpha0"), exact(delta, "delta")
    best, method = per_report_alpha(a0, m), "per_report_composition"
    if small == 0:
        return best, method
    candidates = {"theorem": theorem_alpha_upper(a0, reports=n, items=m, delta=small)}
    for clones in ("standard", "strong"):
        candidates[f"flow_{clones}"] = flow_alpha_upper(
            a0, reports=n, items=m, delta=small, clones=clones, least_distance=least_distance
        )
    if randomiser is not None:
        candidates["blanket"] = blanket_alpha_upper(randomiser, alpha0_up(a0), reports=n, items=m, delta=small)
    if channel is not None:
        profile = channel_within(channel, reports=n, items=m, delta=small)
        candidates["blanket"] = None if profile is None else profile.alpha_upper(open_delta(small, "blanket"))
    for name, value in candidates.items():
        if value is not None and value < best:
            best, method = Fraction(value), name
    return best, method


@dataclass(frozen=True)
class PaperNote:
    """What the paper's text would have given, and whether that is safe.

    Args:
        closed_formula: alpha0 of the equations eps-amp and eps-amp-central.
        theorem_at_w_one: alpha0 of Theorem 4.4 read at w = 1 only, as in the paper's concrete example.
        warnings: One sentence for each that is not supported by the theorem it claims, or not at all.

    >>> paper_note(calibrate_shuffle(25, 0, reports=10, items=10), 25, 0, users=1, items=10).warnings
    ()
    """

    closed_formula: float | None
    theorem_at_w_one: float | None
    warnings: tuple[str, ...]

    def to_json(self) -> dict[str, object]:
        """Plain data.

        >>> PaperNote(None, None, ()).to_json()["warnings"]
        []
        """
        return {
            "closed_formula": self.closed_formula,
            "theorem_at_w_one": self.theorem_at_w_one,
            "warnings": list(self.warnings),
        }


def paper_note(calibration: Calibration, alpha: Exact, delta: Exact, *, users: int, items: int) -> PaperNote:
    """What the paper's text would have given for this target, with warnings where it is not safe.

    >>> result = calibrate_shuffle(25, "1e-12", reports=10**8, items=1000)
    >>> note = paper_note(result, 25, "1e-12", users=10**5, items=1000)
    >>> round(note.theorem_at_w_one, 3), len(note.warnings)
    (2.999, 1)
    """
    if probability(delta) == 0:
        return PaperNote(None, None, ())
    formula = paper_asymptotic_alpha0(alpha, users=users, items=items, delta=delta)
    at_one = paper_alpha0_at_w_one(alpha, reports=users * items, items=items, delta=delta)
    theorem, limit = calibration.methods["theorem"], calibration.limit_black_box
    supports = "does not apply here" if theorem is None else f"supports only {theorem:.6g}"
    warnings = []
    for name, value in (
        ("the closed formula of the paper", formula),
        ("Theorem 4.4 read at w = 1 only", at_one),
    ):
        if value is None or value <= (theorem or 0.0):
            continue
        if limit is not None and value >= limit:
            after = f"an explicit attack breaks the promise at {limit:.6g}"
        elif value > calibration.alpha0:
            after = f"no method certifies it; the best is {calibration.alpha0:.6g}"
        else:
            after = "it is safe only because another method certifies more"
        warnings.append(f"{name} gives {value:.6g}, but the theorem {supports} ({after}).")
    return PaperNote(formula, at_one, tuple(warnings))
