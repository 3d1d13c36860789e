"""The demo in words: what was promised, what was released, how wrong it may be, what the worst case is."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from decimal import ROUND_CEILING, Decimal
from typing import TYPE_CHECKING, Any

from barrow.demo.picture import heat_map, standing_out
from barrow.numerics import float_up
from barrow.promises import describe_distance, describe_share, odds_sentence, odds_upper, percent_up
from barrow.questions.estimates import estimate
from barrow.questions.releasing import on_map

if TYPE_CHECKING:
    from barrow.demo.run import DemoResult, Shown

_WIDTH = 78
_LABEL = 10


def brief_lines(result: DemoResult, *, next_steps: Iterable[str] = ("barrow choose",)) -> list[str]:
    """What was promised, released and risked, on one screen of 24 lines, at most 78 columns wide."""
    text = _beginning(result)
    for number, (name, shown) in enumerate(result.shown.items()):
        text += block(name.capitalize(), [result.example.titles[name]])
        ratio = shown.ratio.partition(" that ")[0] + " with the same promises" * (number == 0)
        if estimate(shown.plan).threshold is not None:
            text += [*heat_map(shown.plan, shown.release.values, width=_WIDTH - 14), *block("", [ratio])]
        elif len(values := _values(shown)) == 1:
            text += block("", [f"{values[0].strip()}, {ratio}"])
        else:
            text += [*values, *block("", [ratio])]
    worst = odds_sentence(result.worst_epsilon, float_up(result.policy.delta))
    changed = f"if all data of one {result.example.person} were different"
    text += block("Worst", [f"{changed}, {worst[0].lower()}{worst[1:]}"])
    text += block("Next", ["; ".join(next_steps)])
    return [*text, f"{'':<{_LABEL}}({result.seconds:.1f} s; --verbose says more)"]


def lines(result: DemoResult, *, next_steps: Iterable[str] = ("barrow choose",)) -> list[str]:
    """All that the demo has to say, at most 78 columns wide."""
    policy, person = result.policy, result.example.person
    space = policy.space
    text = _beginning(result)
    per = f"{space.diameter:,.0f} {space.unit}"
    snapped = space.snapping_upper * space.diameter
    grid = f"; records snapped to a public grid by at most {up(snapped)} {space.unit}, counted" if snapped else ""
    text += block("α", [f"{up(policy.alpha, 4)} per {per}, δ = {float(policy.delta):.3g}{grid}"])
    for name, shown in result.shown.items():
        text += _release(name, result.example.titles[name], shown)
    worst = result.worst_epsilon
    together = " for all releases together" if len(result.shown) > 1 else ""
    text += block(
        "Worst",
        [
            f"even if all data of one {person} were different: ε ≤ {up(worst)}{together}",
            odds_sentence(worst, float_up(result.policy.delta)),
        ],
    )
    text += block("Ledger", ["what the promises allow is spent: any further release about these people is refused"])
    within = ", ".join(f"{name}/" for name in result.shown)
    text += block(
        "Wrote",
        [
            f"{result.folder}/: {', '.join([*result.example.files, 'study.toml', f'{result.study.dataset}.ledger'])}",
            f"in it {within}: values.csv, .parquet{_geojson(result)}, statement.txt, .json, report.html",
        ],
    )
    text += block("Next", next_steps)
    return [*text, f"{'':<{_LABEL}}({result.seconds:.1f} s)"]


def _beginning(result: DemoResult) -> list[str]:
    source = f"{result.example.about} ({result.example.credit}, bundled)"
    people = f"{result.study.users or 0:,} {_plural(result.example.person)}"
    return block("Data", [f"{people} stand in for people: {source}"]) + block("Promises", _promises(result))


def block(label: str, texts: Iterable[str]) -> list[str]:
    """Lines under one label, wrapped and indented.

    >>> block("Worst", ["a", "b"])
    ['Worst     a', '          b']
    """
    width = _WIDTH - _LABEL
    wrapped = [
        part for text in texts for part in textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
    ]
    return [f"{label if i == 0 else '':<{_LABEL}}{text}" for i, text in enumerate(wrapped)]


def up(value: float, digits: int = 3) -> str:
    """A bound to a few digits, rounded up so that it never says less than it is.

    >>> up(0.0017201, 2), up(2.789), up(0.1), up(12284.1, 4)
    ('0.0018', '2.79', '0.1', '12290')
    """
    exact = Decimal(repr(value))  # the shortest decimal of the float, so that 0.1 stays 0.1
    if not exact:
        return "0"
    place = Decimal(1).scaleb(exact.adjusted() - digits + 1)
    return f"{float(exact.quantize(place, rounding=ROUND_CEILING)):.{digits + 3}g}"


def _promises(result: DemoResult) -> list[str]:
    rows = []
    for satisfied in result.policy.satisfied:
        promise = satisfied.promise
        change = f"{describe_share(promise)}, up to {describe_distance(promise, result.policy.space)} elsewhere"
        grows = f"≤ {percent_up(odds_upper(satisfied.epsilon_got, float_up(result.policy.delta)))}"
        rows.append(f"{change:<41}{float(promise.epsilon):>7.3g} {up(satisfied.epsilon_got):>7} {grows:>11}")
    return [f"{'If this part had been different':<41}{'asked ε':>7} {'got ε':>7} {'50 % grows':>11}", *rows]


def _release(name: str, title: str, shown: Shown) -> list[str]:
    plan, release = shown.plan, shown.release
    unit, part = release.statement.answer.unit, plan.terms.fraction
    share = "" if part == 1 else f" ({part.numerator}/{part.denominator} of every promise)"
    texts = [f"{title}{share}"]
    rows, each = release.rows(), f"± {up(release.error, 2)} {unit}".rstrip()
    wrong = f"{up(shown.true_error, 2)} {unit}".rstrip()
    after = block(
        "", [shown.ratio, f"really off by at most {wrong}: these data are public, so the truth may be looked up"]
    )
    threshold = estimate(plan).threshold
    if threshold is not None:
        out = standing_out(plan, release.values)
        texts += [
            f"{len(rows):,} shares, each {each} (95 %), all at once ± {up(threshold, 2)}",
            f"{out:,} stand out from the noise:",
        ]
        return [*block(name.capitalize(), texts), *heat_map(plan, release.values, width=_WIDTH - 14), *after]
    return [*block(name.capitalize(), texts), *_values(shown), *after]


def _values(shown: Shown) -> list[str]:
    """The released numbers with their intervals."""
    rows, unit = shown.release.rows(), shown.release.statement.answer.unit
    each = f"± {up(shown.release.error, 2)} {unit}".rstrip()
    if len(rows) == 1:
        return block("", [f"{rows[0]['value']:,.0f} {each} (95 %)"])
    names: Any = shown.plan.question.to_spec().get("names") or [row["output"] for row in rows]
    values = [f"{'':<{_LABEL}}{x:<12} {row['value']:8.3f} {each}" for x, row in zip(names, rows, strict=True)]
    return [*values, *block("", ["each with probability 95 %"])]


def _geojson(result: DemoResult) -> str:
    return ", .geojson" if any(on_map(shown.plan) for shown in result.shown.values()) else ""


def _plural(person: str) -> str:
    return person if person == "aircraft" else f"{person}s"
