"""The picture that explains the idea: one person moves, two releases of the same data, and what anyone can learn.

Everything on the page comes from two plans of the library: their simulated releases, their predicted errors and their
prices of every move. The people are made up and the noise has fixed seeds, so nothing here protects anybody.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib.resources import files
from typing import cast

import numpy as np

from barrow.mechanisms.histograms import HistogramNoise
from barrow.noise.source import SeededSource
from barrow.numerics import float_up
from barrow.numerics.exact import near
from barrow.promises import odds_upper, percent_up
from barrow.questions import Answer
from barrow.questions.prices import charge
from barrow.render.figures.figure import document
from barrow.spaces import Line
from barrow.study import Study

PEOPLE, LONGEST, BAR = 1000, 180, 6
"""How many people, the longest way to work in minutes, and the width of a bar."""
PROMISE = ("all", "5 min", "0.2")
_DRAWS = 6
_START = 10
"""Where the person who moves starts, in minutes."""
_FIRST = (100, 5)
"""What is shown first: everything about one person moves by 5 minutes."""


@dataclass(frozen=True)
class Idea:
    """What the page shows.

    Attributes:
        truth: The true share of each bar.
        draws: For user-level DP and for barrow: shares of each bar in a few simulated releases.
        errors: For both, how far from where they were records appear on average, in words.
        shares: How much of one person's data may move, in per cent.
        distances: How far, in minutes.
        learnt: For each share and distance what a 50 % guess can become, in words, rounded up.
        constant: The same for user-level DP, which is the same for every move.
        alarming: For each share and distance whether a guess can become more than 90 %.
    """

    truth: list[float]
    draws: dict[str, list[list[float]]]
    errors: dict[str, str]
    shares: list[int]
    distances: list[int]
    learnt: list[list[str]]
    constant: str
    better: list[list[bool]]
    alarming: list[list[bool]]


def example_people() -> np.ndarray:
    """Made-up people: the share of all records at every minute."""
    rng = np.arange(PEOPLE * 12)
    minutes = np.array([18, 27, 31, 44, 68])[rng % 5] + (rng * 37) % 23 - 11 + (rng * rng) % 7
    return np.bincount(np.clip(minutes, 0, LONGEST), minlength=LONGEST + 1) / len(minutes)


@cache
def idea() -> Idea:
    """The two plans, and everything that the page shows of them."""
    space = Line(0, LONGEST, step=1, unit="min", whole=True)
    study = Study(space, [", ".join(PROMISE)], users=PEOPLE, missing="default item")
    plans = {name: study.plan(f"histogram(definition={name!r})") for name in ("user_level", "emd")}
    people, barrow = example_people(), plans["emd"]
    shares, distances = [1, *range(5, 101, 5)], [1, 2, 3, *range(5, LONGEST - _START + 1, 5)]
    charged = [
        [float_up(charge(barrow, Fraction(share, 100), Fraction(far, LONGEST))) for far in distances]
        for share in shares
    ]
    constant = plans["user_level"].worst_epsilon
    return Idea(
        _bars(people),
        {name: [_bars(_simulated(plan, people, seed)) for seed in range(_DRAWS)] for name, plan in plans.items()},
        {name: near(plan.error, "min", digits=2) for name, plan in plans.items()},
        shares,
        distances,
        [[percent_up(odds_upper(epsilon, 0.0)) for epsilon in row] for row in charged],
        percent_up(odds_upper(constant, 0.0)),
        [[epsilon <= constant for epsilon in row] for row in charged],
        [[odds_upper(epsilon, 0.0) > 0.9 for epsilon in row] for row in charged],
    )


def _simulated(plan: Answer, people: np.ndarray, seed: int) -> np.ndarray:
    mechanism = cast(HistogramNoise, plan.mechanism)
    return np.asarray(mechanism.simulated(people, SeededSource(seed)))


def _bars(shares: np.ndarray) -> list[float]:
    """The shares of bars of several minutes; the last minute goes with the last bar."""
    bars = np.append(shares[:LONGEST].reshape(-1, BAR).sum(axis=1), 0.0)
    bars[-2] += shares[LONGEST]
    return [round(float(share), 5) for share in bars[:-1]]


def chart(kind: str, bars: list[float], truth: list[float], far: int, share: int) -> str:
    """Bars of a release with the truth outlined, and above them the person who moves."""
    top = 1.15 * max(truth)
    wide, high = 420 / len(truth), 140

    def y(value: float) -> float:
        return 175 - high * min(max(value, 0.0), top) / top

    drawn = "".join(
        f'<rect class="bar" x="{20 + i * wide + 1:.2f}" y="{y(bar):.2f}" width="{wide - 2:.2f}" '
        f'height="{175 - y(bar):.2f}"/>'
        for i, bar in enumerate(bars)
    )
    lines = "".join(f"H{20 + (i + 1) * wide:.2f}V{y(following):.2f}" for i, following in enumerate([*truth[1:], 0.0]))
    outline = f'<path class="truth" d="M20 175V{y(truth[0]):.2f}{lines}"/>'
    ticks = "".join(
        f'<text class="tick" x="{20 + 420 * minute / LONGEST:.1f}" y="191" text-anchor="middle">{minute}</text>'
        for minute in range(0, LONGEST + 1, 30)
    )
    start, end = (20 + 420 * minute / LONGEST for minute in (_START, min(LONGEST, _START + far)))
    move = (
        f'<circle class="from" cx="{start:.1f}" cy="16" r="7"/>'
        f'<path class="way" d="M{start + 7:.1f} 16H{max(end, start + 7):.1f}"/>'
        f'<circle class="to" cx="{end:.1f}" cy="16" r="7" fill-opacity="{0.15 + 0.85 * share / 100:.2f}"/>'
    )
    name = "user-level DP" if kind == "user_level" else "barrow"
    return (
        '<svg viewBox="0 0 460 206" role="img" '
        f'aria-label="Minutes to work, released by {name}, with the truth outlined">'
        f'{drawn}{outline}<path class="axis" d="M20 175H440"/>{ticks}'
        f'<text class="tick" x="440" y="204" text-anchor="end">minutes to work</text>{move}</svg>'
    )


_STILL = (
    "text{font-family:system-ui,'Noto Sans',sans-serif;fill:#14202b}.bar{fill:#8b98a3}.emd .bar{fill:#4a95c9}"
    ".truth{fill:none;stroke:#14202b;stroke-width:1.8}.axis{stroke:#8795a1;fill:none}.tick{fill:#4d5b69;font-size:12px}"
    ".from{fill:none;stroke:#b3390f;stroke-width:2}.to{fill:#b3390f}.way{stroke:#b3390f;stroke-dasharray:4 3}"
)


def idea_still() -> str:
    """Both releases side by side as one SVG file, for pages that run no scripts.

    >>> idea_still().startswith("<svg")
    True
    """
    shown, parts = idea(), []
    for x, kind, title in ((0, "user_level", "Ordinary user-level DP"), (480, "emd", "barrow")):
        inner = chart(kind, shown.draws[kind][0], shown.truth, _FIRST[1], _FIRST[0])
        drawn = inner[inner.index(">") + 1 : -len("</svg>")]
        parts.append(
            f'<g class="{kind}" transform="translate({x} 60)">{drawn}</g>'
            f'<text x="{x + 20}" y="26" font-size="19" font-weight="700">{title}</text>'
            f'<text x="{x + 20}" y="48" font-size="14">records appear about {shown.errors[kind]} from '
            "where they were</text>"
        )
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 940 272" role="img"><title>The same data released by '
        "user-level DP and by barrow under the same promise, the truth outlined</title>"
        f'<style>{_STILL}</style><rect width="940" height="272" fill="#fff"/>{"".join(parts)}</svg>'
    )


def idea_page() -> str:
    """The page as one HTML file that asks nobody for anything; without scripts it shows the first picture.

    >>> page = idea_page()
    >>> "default-src 'none'" in page, "Move one person" in page
    (True, True)
    """
    shown = idea()
    here = files("barrow.render")
    i, j = shown.shares.index(_FIRST[0]), shown.distances.index(_FIRST[1])
    cards = "".join(_card(shown, kind, i, j) for kind in ("user_level", "emd"))
    told = {
        "draws": shown.draws, "truth": shown.truth, "shares": shown.shares, "distances": shown.distances,
        "learnt": shown.learnt, "constant": shown.constant, "better": shown.better, "alarming": shown.alarming,
        "start": _START, "longest": LONGEST,
    }  # fmt: skip
    body = (
        "<main><h1>Move one person. What can anyone learn?</h1>"
        f"<p>How long do {PEOPLE:,} people take to work? Both pictures below are released from the same made-up data "
        "(the outline is the truth). An attacker knows everybody else's data, sees one picture, and must say whether "
        "one person (red) is at the ring or at the dot. Without the picture the guess is 50 %.</p>"
        '<div class="moves">'
        f'<label>How much of this person\'s data moves: <output id="share-said">{_FIRST[0]} %</output>'
        f'<input id="share" type="range" min="0" max="{len(shown.shares) - 1}" value="{i}" '
        f'aria-valuetext="{_FIRST[0]} %"></label>'
        f'<label>How far it moves: <output id="far-said">{_FIRST[1]} minutes</output>'
        f'<input id="far" type="range" min="0" max="{len(shown.distances) - 1}" value="{j}" '
        f'aria-valuetext="{_FIRST[1]} minutes"></label><button id="again" type="button">Draw both again</button></div>'
        f'<div class="two">{cards}</div><p id="verdict" class="verdict" role="status">{_verdict(shown, i, j)}</p>'
        "<h2>Where barrow hides less</h2>"
        "<p>User-level DP hides every move equally well: a person whose whole life is different is as safe as one who "
        "left home five minutes later, and the noise must be large enough for the first. barrow hides small moves "
        "best. A person who moves far with all their data is hidden less, and in the end hardly at all: if that is "
        'the secret, add the promise <code>"all, anywhere, 1"</code>, or use user-level DP, which barrow releases as '
        "well. What is promised is yours to choose, in words, before anything is released.</p>"
        f'<p class="small">Both keep the promise “{", ".join(PROMISE)}”: if all data of one person had been 5 minutes '
        "elsewhere, a 50 % guess becomes at most 55 %. Errors and odds are computed by barrow's planner for these two "
        "releases, odds rounded up; the noise is simulated by the mechanisms that would be released, from fixed seeds. "
        "User-level DP is the most accurate mechanism that barrow knows for it.</p>"
        f'<script type="application/json" id="tables">{json.dumps(told, separators=(",", ":"))}</script></main>'
    )
    css, js = (here.joinpath(f"idea.{kind}").read_text(encoding="utf-8") for kind in ("css", "js"))
    return document("Move one person: what can anyone learn?", body, css=css, js=js)


def _card(shown: Idea, kind: str, i: int, j: int) -> str:
    user = kind == "user_level"
    title = "User-level DP" if user else "barrow (earth mover's distance)"
    first = "hides every move equally well" if user else "hides small moves best"
    odds = shown.constant if user else shown.learnt[i][j]
    return (
        f'<section class="card {kind}"><h2>{title}</h2><p class="small">{first}</p>'
        f'<div id="{kind}-chart">{chart(kind, shown.draws[kind][0], shown.truth, _FIRST[1], _FIRST[0])}</div>'
        f'<p>The guess becomes at most <strong id="{kind}-odds" class="odds">{odds}</strong></p>'
        f"<p>On average, records appear about <b>{shown.errors[kind]}</b> from where they were.</p></section>"
    )


def _verdict(shown: Idea, i: int, j: int) -> str:
    if shown.alarming[i][j]:
        return "Here barrow hides far less than user-level DP: this move can be found out almost surely."
    if shown.better[i][j]:
        return "This move is hidden at least as well as by user-level DP, and the picture is sharper."
    return "This move is hidden less than by user-level DP. That is the price of the sharper picture."
